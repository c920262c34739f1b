/*
 * fixture - the tables of tests/opgen/everything.op, compiled into a test.
 *
 * They are found before those of the library, so that what reads tables can be
 * tested on every shape that the grammar knows.
 */
#ifndef TESTS_OPGEN_FIXTURE_H
#define TESTS_OPGEN_FIXTURE_H

#include "fixture.gen.h"

#include "fixture.gen.c"

/* Handlers: nobody calls them. */
#define HANDLER(name)                                                                   \
	int name(struct call *call, const struct name##_in *in, struct name##_out *out) \
	{                                                                               \
		(void)call, (void)in, (void)out;                                        \
		return 42;                                                              \
	}
HANDLER(thing_make)
HANDLER(thing_list)
HANDLER(thing_take)
HANDLER(thing_ready)
HANDLER(thing_show)
HANDLER(thing_poke)
HANDLER(thing_note)
HANDLER(bird_sing)

#endif
