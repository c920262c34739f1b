#include "tools/build/opgen.h"

#include <string.h>

int main(int argc, char **argv)
{
	bool header = argc > 1 && strcmp(argv[1], "-h") == 0;
	struct schema s;
	int failed;

	schema_init(&s, stderr);
	for (int i = header ? 2 : 1; i < argc; i++)
		schema_read(&s, argv[i]);
	/* The parser leaves out a declaration with a wrong line, so the checks would report
	 * errors that do not exist. */
	if (!s.n_errors)
		schema_check_all(&s);
	if (!s.n_errors)
		(header ? schema_write_header : schema_write_source)(&s, stdout);
	failed = s.n_errors || fflush(stdout) || ferror(stdout);
	schema_release(&s);
	return failed;
}
