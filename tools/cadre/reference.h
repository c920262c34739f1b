/*
 * reference - what every door offers, as one document.
 */
#ifndef TOOLS_CADRE_REFERENCE_H
#define TOOLS_CADRE_REFERENCE_H

#include "core/op/op.h"

/* Markdown reference of all operations, faults, events and wire messages. */
void op_reference(struct text *out);

#endif
