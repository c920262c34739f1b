#include "tools/bench/bench.h"
#include "tools/bench/floor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* clang-format off */
const struct bench bench_table[] = {
	{ "send-1", "one client, each send answered before the next", bench_send_one },
	{ "rows", "send's own statements in a plain loop", bench_rows },
	{ "send-64", "64 clients, each waits for its answer", bench_send_many },
	{ "send-64x16", "64 clients, 16 in flight each", bench_send_deep },
	{ "limits", "what limits cost a send", bench_limits },
	{ "cycle-64", "send, receive and ack by 64 clients", bench_cycle },
	{ "claim-64", "claim and complete by 64 clients", bench_claim },
	{ "broadcast", "to 1,000 agents with full inboxes", bench_broadcast },
	{ "tail", "how slow the slowest are over a long run", bench_tail },
	{ "direct", "8 processes that write beside a busy host", bench_direct },
	{ "growth", "what a large state costs", bench_growth },
	{ "reads", "what a page, a count and a search of a large board cost", bench_reads },
	{ "process", "`cadre send` as a process", bench_process },
	{ "mcp", "MCP over stdio", bench_mcp },
	{ "web", "HTTP, MCP over it, and followers of events", bench_web },
	{ "mirror", "10,000 tasks as files", bench_mirror },
	{ "file", "files of a workspace, read and written over its socket", bench_file },
	{ "push", "from a message's commit to its place in a guest", bench_push },
	{ "turns", "from a message to the first thing that its runner does", bench_turns },
	{ "fanout", "a message to 200 guests", bench_fanout },
	{ "boot", "a workspace that is a VM, until its guest answers", bench_boot },
	{ "memory", "of an idle host, with 200 guests, with 200 runners, and with 1,000 guests", bench_memory },
	{ NULL, NULL, NULL },
};
/* clang-format on */

void score_print(const struct score *s)
{
	char base[32] = "none", ratio[32] = "none", spread[32] = "none";

	if (s->base > 0)
		snprintf(base, sizeof(base), "%.4g", s->base);
	if (s->ratio > 0 || s->base > 0)
		snprintf(ratio, sizeof(ratio), "%.3f",
			 s->ratio > 0 ? s->ratio : s->value / s->base);
	if (s->spread > 0)
		snprintf(spread, sizeof(spread), "%.2f", s->spread);
	printf("BENCH name=%s value=%.*f unit=%s base=%s ratio=%s spread=%s others=%.2f "
	       "target=%s verdict=%s\n",
	       s->name, s->value >= 1000 ? 0 : 3, s->value, s->unit, base, ratio, spread,
	       s->others, s->target,
	       s->noisy ? "noisy"
	       : s->ok  ? "ok"
			: "short");
	fflush(stdout);
}

void score_rounds(struct bench_ground *g, const char *name, const char *unit,
		  const struct judge *j, enum want want, double limit)
{
	struct finding f = judge_find(j, want, limit);
	double others = others_since(&g->others);
	char target[32];

	for (size_t i = 0; i < j->n; i++)
		bench_tell("%s round %zu: %.4g %s, base %.4g, ratio %.3f", name, i + 1,
			   j->value[i], unit, j->base[i], j->value[i] / j->base[i]);
	snprintf(target, sizeof(target), "%s%gx", want == AT_LEAST ? ">=" : "<=", limit);
	score_print(&(struct score){ .name = name,
				     .unit = unit,
				     .target = target,
				     .value = f.value,
				     .base = f.base,
				     .ratio = f.ratio,
				     .spread = f.spread,
				     .ok = f.verdict == VERDICT_OK,
				     .others = others,
				     .noisy = f.verdict == VERDICT_NOISY ||
					      others > OTHERS_MOST });
}

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value && strcmp(value, "0");
}

static bool chosen(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return argc < 2;
}

static void list_names(FILE *out)
{
	for (const struct bench *b = bench_table; b->name; b++)
		fprintf(out, "%-12s %s\n", b->name, b->doc);
}

static void print_help(void)
{
	puts("usage: bench [NAME...]\n");
	list_names(stdout);
	puts("\nA line of the table tells the medians of ours (value) and of what it stands\n"
	     "beside (base), measured in turns; their ratio; how much the rounds of the base\n"
	     "differ (spread); how much of the machine other processes had (others); and\n"
	     "whether the ratio is what is wanted: ok, short, or noisy where the spread is\n"
	     "over 1.5 or the others had over a fifth, since a busy machine proves neither.\n\n"
	     "environment\n"
	     "  PEERS=1    also beside Redis and PostgreSQL (tools/setup --peers)\n"
	     "  FAST=1     shorter rounds\n"
	     "  MANY=1     growth behind ten million messages, which takes minutes to fill\n"
	     "  KEEP=1     such a state is kept for the next run\n"
	     "  BENCH_DIR  where the states are, on a disk: /var/tmp\n"
	     "  CADRE      the command to measure: the one beside this program");
}

/* Checks that all words are names of benches. */
static int check_names(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const struct bench *b = bench_table;

		while (b->name && strcmp(b->name, argv[i]))
			b++;
		if (b->name)
			continue;
		list_names(stderr);
		return bench_fail("there is no bench %s", argv[i]);
	}
	return 0;
}

/* The command that is measured: $CADRE, or the one beside this program. */
static int find_cadre(char path[4096])
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

/* Opens the ground on a disk: the temporary folder is memory on many machines. */
static int ground_open(struct bench_ground *g, char self[4096])
{
	const char *base = getenv("BENCH_DIR");

	if (find_cadre(self))
		return -1;
	g->self = self;
	g->fast = is_set("FAST");
	g->many = is_set("MANY");
	g->peers = is_set("PEERS");
	g->keep_dir = is_set("KEEP") ? (base ? base : "/var/tmp") : NULL;
	snprintf(g->dir, sizeof(g->dir), "%s/cadre-bench.XXXXXX",
		 base ? base : "/var/tmp");
	/* A server that runs as another user goes through it to its own folder. */
	if (!mkdtemp(g->dir) || chmod(g->dir, 0711))
		return bench_fail("%s: %m", g->dir);
	return 0;
}

static int run_timed(const struct bench *b, struct bench_ground *g)
{
	int64_t begun = bench_now();
	int rc;

	others_now(&g->others);
	rc = b->run(g);

	bench_tell("%s took %.1f s", b->name, (double)(bench_now() - begun) / 1e9);
	return rc ? bench_fail("%s", b->name) : 0;
}

int main(int argc, char **argv)
{
	char self[4096];
	struct bench_ground g = { 0 };
	int failed = 0;

	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		print_help();
		return 0;
	}
	if (argc == 4 && !strcmp(argv[1], "floor"))
		return floor_main(argv[2], argv[3]);
	if (check_names(argc, argv) || ground_open(&g, self))
		return 2;
	others_init();
	unsetenv("CADRE_HOME");
	unsetenv("CADRE_SOCKET");
	unsetenv("CADRE_TEAM");
	unsetenv("CADRE_AGENT");
	for (const struct bench *b = bench_table; b->name; b++)
		if (chosen(b->name, argc, argv) && run_timed(b, &g))
			failed = 1;
	bench_remove_tree(g.dir);
	return failed ? 1 : 0;
}
