/*
 * reference - what every door offers, as one document.
 */
#ifndef TOOLS_CADRE_REFERENCE_H
#define TOOLS_CADRE_REFERENCE_H

#include "core/op/op.h"

/* What the schema says and some program may serve or enforce; without it the reference
 * says nothing of it. */
enum { REFERENCE_ROUTES = 1 /* of HTTP */, REFERENCE_RATES = 2 };

/* Markdown reference of all operations, faults, events and wire messages. */
void op_reference(unsigned served, struct text *out);

#endif
