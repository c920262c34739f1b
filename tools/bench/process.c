/*
 * What a process of ours costs: `cadre send` and `cadre mcp`.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/bench/rows.h"

enum { SPAWNS = 200, CALLS = 3000, LINE = 256 << 10 };

static struct stage *open_stage(struct ground *g, const char *name, bool hosted)
{
	struct stage *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	if (stage_open(s, g, name) || stage_team(s, 2, 0) || (hosted && stage_serve(s))) {
		stage_close(s);
		free(s);
		return NULL;
	}
	client_close(s->client); /* a direct process is alone */
	s->client = NULL;
	return s;
}

static int close_stage(struct stage *s, int rc)
{
	stage_close(s);
	free(s);
	return rc;
}

/* --- `cadre send` ---------------------------------------------------------------------- */

static double time_send(struct stage *s)
{
	const char *const argv[] = { s->ground->self, "--home", s->dir, "send", "a1",
				     "hello",         "--team", "t",    NULL };
	struct start start = { .argv = argv, .in = -1, .out = -1, .extra = -1 };
	int64_t begun = bench_now();
	pid_t pid = start_program(&start);
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return fail("cadre send failed");
	return (double)(bench_now() - begun) / 1e6;
}

static int send_processes(struct ground *g, const char *name, bool hosted, double *ms)
{
	double took[SPAWNS];
	struct stage *s = open_stage(g, name, hosted);
	int n = g->fast ? SPAWNS / 4 : SPAWNS, rc = 0;

	if (!s)
		return -1;
	for (int i = 0; i < n && rc == 0; i++)
		rc = (took[i] = time_send(s)) < 0 ? -1 : 0;
	if (rc == 0)
		*ms = median(took, (size_t)n);
	return close_stage(s, rc);
}

int bench_process(struct ground *g)
{
	double hosted, direct, sync = floor_sync(g);

	if (sync < 0 || send_processes(g, "hosted", true, &hosted) ||
	    send_processes(g, "alone", false, &direct))
		return -1;
	score_print(&(struct score){ .name = "process-host",
				     .unit = "ms",
				     .value = hosted,
				     .target = "<=3",
				     .ok = hosted <= 3 });
	score_print(&(struct score){ .name = "process-direct",
				     .unit = "ms",
				     .value = direct,
				     .base = sync,
				     .target = "<=4+4x-fdatasync",
				     .ok = direct <= 4 + 4 * sync });
	return 0;
}

/* --- MCP ---------------------------------------------------------------------------------- */

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
		return fail("no pipe");
	start.in = in[0];
	start.out = out[1];
	a->pid = start_program(&start);
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
	if (write_all(a->to, text, size))
		return fail("it does not read");
	for (a->n = 0; a->n == 0 || a->line[a->n - 1] != '\n';) {
		ssize_t got = read(a->from, a->line + a->n, LINE - 1 - a->n);

		if (got <= 0)
			return fail("no answer");
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
				     "mcp",           NULL };

	return answerer_start(a, argv);
}

static double first_answer(struct stage *s, struct answerer *a)
{
	int64_t begun = bench_now();
	double took;

	if (start_mcp(s, a) || answerer_ask(a, initialize, sizeof(initialize) - 1))
		return -1;
	took = (double)(bench_now() - begun) / 1e6;
	return strstr(a->line, "\"result\"") ? took : fail("mcp: %.200s", a->line);
}

/* The median of many, in us. */
static double time_calls(struct answerer *a, const char *text, size_t size, int n)
{
	double *took = calloc((size_t)n, sizeof(*took)), us = -1;
	int i;

	if (!took)
		abort();
	for (i = 0; i < n; i++) {
		int64_t begun = bench_now();

		if (answerer_ask(a, text, size))
			break;
		took[i] = (double)(bench_now() - begun) / 1e3;
	}
	if (i == n)
		us = median(took, (size_t)n);
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
		if (line[n - 1] == '\n' && write_all(out, answer, size))
			break;
	_exit(0);
}

static int start_echo(struct answerer *a, size_t size)
{
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		return fail("no pipe");
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

/* In turns, so that both meet the same machine. */
static int read_calls(struct stage *s, struct answerer *mcp, double *us, double *floor_us)
{
	enum { ROUNDS = 5 };
	struct answerer floor = { .line = calloc(1, LINE) };
	double ours[ROUNDS], theirs[ROUNDS];
	int n = s->ground->fast ? CALLS / 6 : CALLS / ROUNDS, rc = 0;

	if (!floor.line || first_answer(s, mcp) < 0 ||
	    write_all(mcp->to, initialized, sizeof(initialized) - 1) ||
	    answerer_ask(mcp, peek, sizeof(peek) - 1))
		return -1;
	if (!strstr(mcp->line, "\"result\"") || strstr(mcp->line, "\"isError\":true"))
		return fail("mcp: %.300s", mcp->line);
	if (start_echo(&floor, mcp->n))
		return -1;
	for (int i = 0; i < ROUNDS && rc == 0; i++) {
		theirs[i] = time_calls(&floor, peek, sizeof(peek) - 1, n);
		ours[i] = time_calls(mcp, peek, sizeof(peek) - 1, n);
		rc = theirs[i] < 0 || ours[i] < 0 ? -1 : 0;
	}
	*us = median(ours, ROUNDS);
	*floor_us = median(theirs, ROUNDS);
	answerer_stop(&floor);
	free(floor.line);
	return rc;
}

static int spawns(struct stage *s, struct answerer *a, double *ms)
{
	double took[SPAWNS];
	int n = s->ground->fast ? SPAWNS / 4 : SPAWNS;

	for (int i = 0; i < n; i++) {
		took[i] = first_answer(s, a);
		answerer_stop(a);
		if (took[i] < 0)
			return -1;
	}
	*ms = median(took, (size_t)n);
	return 0;
}

int bench_mcp(struct ground *g)
{
	struct stage *s = open_stage(g, "mcp", true);
	struct answerer a = { .line = calloc(1, LINE) };
	double ms = 0, us = 0, floor_us = 0;
	int rc;

	if (!s || !a.line)
		return -1;
	rc = spawns(s, &a, &ms) || read_calls(s, &a, &us, &floor_us) ? -1 : 0;
	if (rc == 0)
		answerer_stop(&a);
	free(a.line);
	if (close_stage(s, rc))
		return -1;
	score_print(&(struct score){ .name = "mcp-start",
				     .unit = "ms",
				     .value = ms,
				     .target = "<=4",
				     .ok = ms <= 4 });
	score_print(&(struct score){ .name = "mcp-read",
				     .unit = "us-p50",
				     .value = us,
				     .base = floor_us,
				     .target = "<=floor+40",
				     .ok = us <= floor_us + 40 });
	return 0;
}
