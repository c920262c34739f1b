#include "tests/lib/bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/lib/place.h"

void bench_open(void **state, size_t size, const char *name, rig_heard *heard)
{
	struct bench *b = test_calloc(1, size);
	char address[100];

	assert_int_equal(temp_make(b->base, name), 0);
	snprintf(address, sizeof(address), "unix:%s", b->base);
	assert_true(rig_open(&b->rig, address, address, false, heard, b));
	*state = b;
}

int bench_close(void **state)
{
	struct bench *b = *state;

	rig_close(&b->rig);
	temp_remove(b->base);
	test_free(b);
	return 0;
}
