/*
 * fixture - the tables of tests/opgen/everything.op, compiled into a test.
 *
 * The linker finds these tables before the tables of the library. Therefore a test can run the
 * library's code on tables that use every feature of the grammar.
 */
#ifndef TESTS_OPGEN_FIXTURE_H
#define TESTS_OPGEN_FIXTURE_H

#include "fixture.gen.h"

#include "fixture.gen.c"

/* The operations' handlers, which no test calls. */
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
