/*
 * reference - the operations that every door offers, as one document.
 */
#ifndef TOOLS_CADRE_REFERENCE_H
#define TOOLS_CADRE_REFERENCE_H

#include "core/op/op.h"

/* Parts of the schema that a program may serve or enforce; the reference names only those
 * that are asked for. */
enum { REFERENCE_ROUTES = 1 /* of HTTP */, REFERENCE_RATES = 2 };

/* Markdown reference of all operations, faults, events and wire messages. */
void reference_write(unsigned served, struct text *out);

#endif
