/*
 * reference - one document that describes the interfaces of all doors.
 */
#ifndef TOOLS_CADRE_REFERENCE_H
#define TOOLS_CADRE_REFERENCE_H

#include "core/op/op.h"

/* Parts of the schema that not every program serves or enforces. The reference describes such a
 * part only if `served` names the part. */
enum { REFERENCE_ROUTES = 1 /* HTTP paths */, REFERENCE_RATES = 2 };

/* Writes the Markdown reference of all operations, faults, events and wire messages. */
void reference_write(unsigned served, struct text *out);

#endif
