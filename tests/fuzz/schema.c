/*
 * schema - any bytes as a schema: opgen refuses the bytes and names the place, or writes C.
 */
#include <stdint.h>
#include <stdio.h>

#include "tools/build/opgen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *in, *nowhere = fopen("/dev/null", "w");
	struct schema s;

	if (!nowhere)
		return 0;
	schema_init(&s, nowhere);
	in = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;
	if (in) {
		schema_parse(&s, "fuzz.op", in);
		fclose(in);
	}
	if (!s.n_errors)
		schema_check_all(&s);
	if (!s.n_errors) {
		schema_write_header(&s, nowhere);
		schema_write_source(&s, nowhere);
	}
	schema_release(&s);
	fclose(nowhere);
	return 0;
}
