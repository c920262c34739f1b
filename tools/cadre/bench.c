/*
 * bench - the verb, whose work is in tools/bench/.
 */
#include "tools/bench/bench.h"
#include "tools/cadre/cli.h"

int bench_verb(struct cli *cli, int argc, char **argv)
{
	(void)cli;
	return bench_main(argc, argv);
}
