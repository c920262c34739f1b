/*
 * Measures `cadre mcp`: the time until its first answer, and a read through it.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "tools/bench/floor.h"
#include "tools/bench/stage.h"

enum { ROUNDS = 5, SPAWNS = 30, CALLS = 600, LINE = 256 << 10 };

/* A child that answers lines with lines. */
struct answerer {
	pid_t pid;
	int to, from;
	char *line; /* the last answer */
	size_t n;
};

static int answerer_start(struct answerer *a, const char *const *argv)
{
	struct start start = { .argv = argv, .extra = -1 };
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		return bench_fail("no pipe");
	start.in = in[0];
	start.out = out[1];
	a->pid = bench_start_program(&start);
	close(in[0]);
	close(out[1]);
	a->to = in[1];
	a->from = out[0];
	return a->pid < 0 ? -1 : 0;
}

static void answerer_stop(struct answerer *a)
{
	int status;

	close(a->to); /* the end of its input ends it */
	close(a->from);
	if (a->pid > 0)
		waitpid(a->pid, &status, 0);
}

static int answerer_ask(struct answerer *a, const char *text, size_t size)
{
	if (load_write_all(a->to, text, size))
		return bench_fail("it does not read");
	for (a->n = 0; a->n == 0 || a->line[a->n - 1] != '\n';) {
		ssize_t got = read(a->from, a->line + a->n, LINE - 1 - a->n);

		if (got <= 0)
			return bench_fail("no answer");
		a->n += (size_t)got;
	}
	a->line[a->n] = '\0';
	return 0;
}

static const char initialize[] =
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
	"\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
	"\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}\n";
static const char initialized[] =
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
static const char peek[] =
	"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{"
	"\"name\":\"inbox\",\"arguments\":{\"action\":\"peek\",\"agent\":\"a1\"}}}\n";

static int start_mcp(struct stage *s, struct answerer *a)
{
	const char *const argv[] = { s->ground->self, "--home", s->dir, "--team", "t",
				     "--operator",    "mcp",    NULL };

	return answerer_start(a, argv);
}

static double bench_mcp_first_answer(struct stage *s, struct answerer *a)
{
	int64_t begun = bench_now();
	double took;

	if (start_mcp(s, a) || answerer_ask(a, initialize, sizeof(initialize) - 1))
		return -1;
	took = (double)(bench_now() - begun) / 1e6;
	return strstr(a->line, "\"result\"") ? took : bench_fail("mcp: %.200s", a->line);
}

/* The median of many, in us. */
static double time_calls(struct answerer *a, const char *text, size_t size, int n)
{
	double *took = xcalloc((size_t)n, sizeof(*took)), us = -1;
	int i;

	for (i = 0; i < n; i++) {
		int64_t begun = bench_now();

		if (answerer_ask(a, text, size))
			break;
		took[i] = (double)(bench_now() - begun) / 1e3;
	}
	if (i == n)
		us = judge_median(took, (size_t)n);
	free(took);
	return us;
}

/* The floor: a child that answers each line with one that is as long as ours. */
static void echo(int in, int out, size_t size)
{
	char line[4096], *answer = malloc(size);

	memset(answer, 'x', size);
	answer[size - 1] = '\n';
	for (ssize_t n; (n = read(in, line, sizeof(line))) > 0;)
		if (line[n - 1] == '\n' && load_write_all(out, answer, size))
			break;
	_exit(0);
}

static int start_echo(struct answerer *a, size_t size)
{
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		return bench_fail("no pipe");
	a->pid = fork();
	if (a->pid == 0) {
		close(in[1]);
		close(out[0]);
		echo(in[0], out[1], size);
	}
	close(in[0]);
	close(out[1]);
	a->to = in[1];
	a->from = out[0];
	return a->pid < 0 ? -1 : 0;
}

/* Ours is greeted, and has answered once; the floor's line is as long as that answer. */
static int open_both(struct stage *s, struct answerer *mcp, struct answerer *floor)
{
	if (bench_mcp_first_answer(s, mcp) < 0 ||
	    load_write_all(mcp->to, initialized, sizeof(initialized) - 1) ||
	    answerer_ask(mcp, peek, sizeof(peek) - 1))
		return -1;
	if (!strstr(mcp->line, "\"result\"") || strstr(mcp->line, "\"isError\":true"))
		return bench_fail("mcp: %.300s", mcp->line);
	return start_echo(floor, mcp->n);
}

static int reads(struct stage *s, struct answerer *mcp, struct judge *j)
{
	struct answerer floor = { .line = xcalloc(1, LINE) };
	int n = s->ground->fast ? CALLS / 4 : CALLS, rc;

	rc = open_both(s, mcp, &floor);
	for (int i = 0; i < ROUNDS && rc == 0; i++) {
		double base = time_calls(&floor, peek, sizeof(peek) - 1, n);
		double ours = time_calls(mcp, peek, sizeof(peek) - 1, n);

		rc = base < 0 || ours < 0 ? -1 : 0;
		if (rc == 0)
			judge_round(j, ours, base);
	}
	if (floor.pid > 0)
		answerer_stop(&floor);
	if (mcp->pid > 0)
		answerer_stop(mcp);
	free(floor.line);
	return rc;
}

/* Compares each start with the start of a process that reads one row. */
static int start_round(struct stage *s, struct answerer *a, const char *file,
		       struct judge *j)
{
	double ours[SPAWNS], base[SPAWNS];
	int n = s->ground->fast ? SPAWNS / 4 : SPAWNS;

	for (int i = 0; i < n; i++) {
		base[i] = floor_process("read", file);
		ours[i] = bench_mcp_first_answer(s, a);
		answerer_stop(a);
		if (ours[i] < 0 || base[i] < 0)
			return -1;
	}
	judge_round(j, judge_median(ours, (size_t)n), judge_median(base, (size_t)n));
	return 0;
}

int bench_mcp(struct bench_ground *g)
{
	struct judge start = { 0 }, read = { 0 };
	struct stage *s = stage_new(g, "mcp", 2, 0, true);
	struct answerer a = { .line = xcalloc(1, LINE) };
	char file[300];
	int rc;

	rc = s ? floor_process_file(g, file) : -1;
	for (int i = 0; i < ROUNDS && rc == 0 && score_due(g, "mcp-start"); i++)
		rc = start_round(s, &a, file, &start);
	if (rc == 0 && score_due(g, "mcp-read"))
		rc = reads(s, &a, &read);
	free(a.line);
	stage_free(s);
	if (rc)
		return -1;
	score_rounds(g, "mcp-start", &start);
	score_rounds(g, "mcp-read", &read);
	return 0;
}
