#include "mcp/extra.h"

static const struct extra none[] = { { 0 } };

const struct extras extras = { .tools = none,
			       .prompts = none,
			       .resources = none,
			       .templates = none };
