#include "tools/bench/bench.h"
#include "tools/bench/stage.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool bench_is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value && strcmp(value, "0");
}

static void bench_list(void)
{
	for (const struct bench *b = bench_table; b->name; b++) {
		const bool alone = !b->lines[1].name;

		if (!alone)
			printf("%s\n", b->name);
		for (const struct line *l = b->lines; l->name; l++)
			printf("%s%-*s %s\n", alone ? "" : "  ", alone ? 22 : 20, l->name,
			       l->what);
	}
}

static int bench_help(void)
{
	puts("usage: bench [NAME...]\n"
	     "       bench --page FILE    all of it, and a page of docs\n\n"
	     "A NAME is that of a line, or of the bench above it for all of its lines:\n");
	bench_list();
	puts("\nA line tells the medians of ours (value) and of what it stands beside (base),\n"
	     "measured in turns; their ratio; how much the rounds of the base differ\n"
	     "(spread); how much of the machine other processes had (others); and whether\n"
	     "it is as wanted: ok, short, or noisy where the spread is over 1.5 or the\n"
	     "others had over a fifth, since a busy machine proves neither.  What is noisy\n"
	     "is measured again, up to three times.  A line that is short ends it with 1.\n\n"
	     "environment\n"
	     "  PEERS=1    also beside Redis and PostgreSQL (tools/setup --peers)\n"
	     "  FAST=1     shorter rounds, and no page\n"
	     "  MANY=1     growth behind ten million messages, which takes minutes to fill;\n"
	     "             and no page\n"
	     "  BENCH_DIR  where the states are, on a disk: /var/tmp\n"
	     "  CADRE      the command to measure: the one beside this program");
	return 0;
}

/* The command that is measured: $CADRE, or the command in the folder of this program. */
static int bench_find_cadre(char path[4096])
{
	const char *named = getenv("CADRE");
	ssize_t n = named ? snprintf(path, 4096, "%s", named)
			  : readlink("/proc/self/exe", path, 4096 - sizeof("cadre"));

	if (n <= 0 || n >= 4096)
		return bench_fail("/proc/self/exe: %m");
	path[n] = '\0';
	if (!named)
		snprintf(strrchr(path, '/') + 1, sizeof("cadre"), "cadre");
	return access(path, X_OK) ? bench_fail("%s: %m", path) : 0;
}

/* Prepares the bench_ground and a new folder on a disk, since on many machines the temporary
 * folder is in memory. */
static int bench_open_ground(struct bench_ground *g, char self[4096])
{
	const char *base = getenv("BENCH_DIR");

	if (bench_find_cadre(self))
		return -1;
	g->self = self;
	g->fast = bench_is_set("FAST");
	g->many = bench_is_set("MANY");
	g->peers = bench_is_set("PEERS");
	snprintf(g->dir, sizeof(g->dir), "%s/cadre-bench.XXXXXX",
		 base ? base : "/var/tmp");
	/* A server that runs as another user needs to pass through this folder to its own
	 * folder. */
	if (!mkdtemp(g->dir) || chmod(g->dir, 0711))
		return bench_fail("%s: %m", g->dir);
	return 0;
}

/* Measures the chosen lines. If `page` is not NULL, then writes the page. The page is not
 * written if a bench has failed, or if FAST or MANY is set in the environment. */
static int bench_run_all(struct bench_ground *g, const char *page)
{
	int failed = 0;

	for (const struct bench *b = bench_table; b->name; b++)
		failed |= bench_run(g, b);
	if (page && (failed || g->fast || g->many))
		bench_tell("%s stays as it was", page);
	else if (page)
		failed |= page_write(g, page);
	return failed | score_end(g);
}

int main(int argc, char **argv)
{
	static const char *const ours[] = { "CADRE_HOME", "CADRE_SOCKET", "CADRE_TEAM",
					    "CADRE_AGENT" };
	const bool whole = argc == 3 && !strcmp(argv[1], "--page");
	const int first = whole ? argc : 1;
	char self[4096];
	struct bench_ground g = { 0 };
	int failed;

	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return bench_help();
	if (argc == 4 && !strcmp(argv[1], "floor"))
		return floor_main(argv[2], argv[3]);
	if (score_choose(&g, argc - first, argv + first) || bench_open_ground(&g, self))
		return 2;
	others_init();
	signal(SIGPIPE, SIG_IGN); /* a server may close a socket before it has read all
				     requests */
	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		unsetenv(ours[i]);
	failed = bench_run_all(&g, whole ? argv[2] : NULL);
	bench_remove_tree(g.dir);
	return failed ? 1 : 0;
}
