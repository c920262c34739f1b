/*
 * attach - guests that run already: somebody else starts and ends them.
 */
#include "core/machine/backend.h"

static int nothing(void *self, const struct spot *spot, struct fault *f)
{
	(void)self;
	(void)spot;
	(void)f;
	return 0;
}

const struct machine machine_attach = {
	.name = "attach",
	.make = nothing,
	.fork = nothing,
	.destroy = nothing,
};
