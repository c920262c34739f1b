/*
 * units - all unit tests in one program.
 *
 * When the program is called as test_NAME, it runs tests/unit/test_NAME.c. The Makefile lists
 * the units as UNITS, and renames their main() to unit_NAME.
 */
#include <libgen.h>
#include <stdio.h>
#include <string.h>

#define UNIT(name) int unit_##name(void);
UNITS
#undef UNIT

#define UNIT(name) { "test_" #name, unit_##name },
static const struct {
	const char *name;
	int (*run)(void);
} units[] = { UNITS };

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 0 && i < sizeof(units) / sizeof(*units); i++)
		if (strcmp(units[i].name, basename(argv[0])) == 0)
			return units[i].run();
	fprintf(stderr, "units: call it test_NAME, as the links in tests/unit/ do\n");
	return 2;
}
