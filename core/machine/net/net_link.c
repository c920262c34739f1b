#include "core/machine/net/net_link.h"
