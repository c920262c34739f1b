/*
 * soak - under a plain mixed load nothing gets slower, and nothing grows.
 *
 *	soak [SECONDS]
 *
 * Eight agents of one team each make at most fifty calls a second of a running host:
 * they send, receive, claim, complete, create, write notes, list and search.  A call's
 * time in the first part of the run (two minutes, or a quarter of a short run) is put
 * beside that in the last part of the same length.  Printed for each operation are its
 * p50 and p99 in both parts and their ratios; the run fails when a ratio, the host's
 * memory or the length of a WAL is past its bound.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/host/home.h"
#include "tests/lib/child.h"
#include "tests/lib/dice.h"
#include "tests/lib/place.h"
#include "tests/lib/raw.h"
#include "tests/lib/usage.h"

enum {
	AGENTS = 8,
	PACE_MS = 20, /* between the begins of two calls of an agent */
	ANSWER_MS = 60000,
	PART_MOST_MS = 120000,
	SLOTS = 1600, /* of a histogram: steps of 2 %, from 10 us on */
	WAL_MOST = 16 << 20,
};

/* A part's p50 and p99 may be this many times those of the first part.  What is less
 * than the slack apart is noise of a busy machine. */
static const double drift_most = 1.5;
static const double slack_ms[2] = { 1.0, 15.0 };

enum part { FIRST, MIDDLE, LAST, PARTS };

struct times {
	_Atomic uint32_t n[SLOTS];
};

struct client {
	struct raw raw;
	struct dice dice;
	int number, last;
	json_t *tasks; /* [task, epoch] that it holds */
	int known; /* the newest task that it has seen */
};

/* --- the mix -------------------------------------------------------------------- */

static json_t *do_send(struct client *c)
{
	return json_pack("{sossss}", "to",
			 json_sprintf("w-%d", 1 + dice_below(&c->dice, 8)), "content",
			 "a word about the needle in this haystack", "thread", "work");
}

static json_t *do_tell_all(struct client *c)
{
	(void)c;
	return json_pack("{ssss}", "to", "*", "content", "to all who look for a needle");
}

static json_t *do_receive(struct client *c)
{
	(void)c;
	return json_pack("{sisi}", "limit", 10, "lease_seconds", 0);
}

static json_t *do_create(struct client *c)
{
	return json_pack("{sosssi}", "title",
			 json_sprintf("Find needle %d", dice_below(&c->dice, 1000)),
			 "description", "Look at each straw, then at the next one.",
			 "priority", 1 + dice_below(&c->dice, 5));
}

static json_t *do_claim(struct client *c)
{
	return json_array_size(c->tasks) < 4 ? json_object() : NULL;
}

static json_t *do_complete(struct client *c)
{
	json_t *claim = json_array_get(c->tasks, 0), *args;

	if (!claim)
		return NULL;
	args = json_pack("{sOsOss}", "task", json_array_get(claim, 0), "epoch",
			 json_array_get(claim, 1), "result", "found it");
	json_array_remove(c->tasks, 0);
	return args;
}

static json_t *do_note(struct client *c)
{
	if (!c->known)
		return NULL;
	return json_pack("{soss}", "task",
			 json_sprintf("%03d", 1 + dice_below(&c->dice, c->known)), "text",
			 "no needle in the upper half");
}

static json_t *do_list(struct client *c)
{
	static const char *const states[] = { "pending", "claimed", "completed" };
	json_t *args = json_pack("{si}", "limit", 20);

	if (dice_percent(&c->dice, 40))
		json_object_set_new(args, "status",
				    json_string(states[dice_below(&c->dice, 3)]));
	return args;
}

static json_t *do_ready(struct client *c)
{
	(void)c;
	return json_pack("{si}", "limit", 20);
}

static json_t *do_status(struct client *c)
{
	(void)c;
	return json_object();
}

static json_t *do_search(struct client *c)
{
	(void)c;
	return json_pack("{ss}", "query", "needle");
}

static const struct act {
	const char *name, *op;
	json_t *(*args)(struct client *c);
	int percent;
} acts[] = {
	{ "send", "message.send", do_send, 20 },
	{ "receive", "message.receive", do_receive, 18 },
	{ "create", "task.create", do_create, 7 },
	{ "claim", "task.claim", do_claim, 10 },
	{ "complete", "task.complete", do_complete, 10 },
	{ "note", "task.note", do_note, 8 },
	{ "list", "task.list", do_list, 8 },
	{ "ready", "task.ready", do_ready, 4 },
	{ "status", "team.status", do_status, 3 },
	{ "search", "search.find", do_search, 8 },
	{ "broadcast", "message.send", do_tell_all, 4 },
};

enum { ACTS = sizeof(acts) / sizeof(*acts) };

struct tally {
	struct times times[ACTS][PARTS];
	_Atomic long calls, refused;
};

struct scene {
	char base[64], home[100], log[100];
	struct home found;
	struct tally *tally; /* shared with the clients */
	pid_t host;
	int64_t begin, end, part_ms;
};

/* --- times ------------------------------------------------------------------------ */

static double slot_ms(int slot)
{
	double ms = 0.01;

	while (slot-- > 0)
		ms *= 1.02;
	return ms;
}

static int slot_of(double ms)
{
	int slot = 0;

	for (double at = 0.01; at < ms && slot < SLOTS - 1; at *= 1.02)
		slot++;
	return slot;
}

static long count_of(const struct times *t)
{
	long n = 0;

	for (int i = 0; i < SLOTS; i++)
		n += t->n[i];
	return n;
}

static double quantile(const struct times *t, double q)
{
	long left = (long)(q * (double)count_of(t));
	int i = 0;

	while (i < SLOTS - 1 && (left -= t->n[i]) >= 0)
		i++;
	return slot_ms(i);
}

static enum part part_at(const struct scene *s, int64_t now)
{
	return now < s->begin + s->part_ms ? FIRST
	       : now < s->end - s->part_ms ? MIDDLE
					   : LAST;
}

/* --- a client ----------------------------------------------------------------------- */

static const struct act *pick(struct client *c)
{
	int at = dice_below(&c->dice, 100);
	size_t i = 0;

	while (i < ACTS - 1 && (at -= acts[i].percent) >= 0)
		i++;
	return &acts[i];
}

static void learn(struct client *c, const json_t *result)
{
	json_t *task = json_object_get(result, "task"), *claim;
	const char *id = json_string_value(json_object_get(task, "id"));
	int number = id ? (int)strtol(id, NULL, 10) : 0;

	if (number > c->known)
		c->known = number;
	if (!json_object_get(result, "lease_until") || !id)
		return;
	claim = json_pack("[sO]", id, json_object_get(result, "epoch"));
	json_array_append_new(c->tasks, claim);
}

static double mono_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* False when the host is gone. */
static bool call_once(struct scene *s, struct client *c)
{
	const struct act *act = pick(c);
	enum part part = part_at(s, tick_ms());
	json_t *args = act->args(c), *answer;
	double from;

	if (!args)
		args = (act = &acts[0])->args(c);
	from = mono_ms();
	answer = raw_ask(&c->raw, raw_call(++c->last, act->op, args), ANSWER_MS);
	if (!answer)
		return false;
	s->tally->times[act - acts][part].n[slot_of(mono_ms() - from)]++;
	s->tally->calls++;
	if (!json_object_get(answer, "result") && s->tally->refused++ < 3) {
		json_dumpf(answer, stderr, 0);
		fputc('\n', stderr);
	}
	learn(c, json_object_get(answer, "result"));
	json_decref(answer);
	return true;
}

static pid_t client_start(struct scene *s, int number)
{
	struct client c = { .number = number, .dice = { (uint64_t)number * 7919 } };
	char name[16];
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(name, sizeof(name), "w-%d", number);
	c.tasks = json_array();
	if (!raw_dial(&c.raw, s->found.socket) ||
	    !raw_say(&c.raw, raw_hello("hay", name)))
		_exit(1);
	json_decref(raw_hear(&c.raw, ANSWER_MS));
	for (int64_t next = tick_ms(); next < s->end; next += PACE_MS) {
		int64_t now = tick_ms();

		if (now < next)
			pause_for((int)(next - now));
		else
			next = now;
		if (!call_once(s, &c))
			_exit(1);
	}
	_exit(0);
}

/* --- what grows ------------------------------------------------------------------------ */

struct growth {
	long memory[2]; /* KiB, at the end of the first part and of the run */
	long long wal[2]; /* the longest that state.db's and search.db's were */
};

static long long size_of(const struct scene *s, const char *name)
{
	char path[200];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", s->home, name);
	return stat(path, &st) ? 0 : (long long)st.st_size;
}

static void watch(struct scene *s, struct growth *g)
{
	static const char *const wals[] = { "state.db-wal", "search.db-wal" };

	while (tick_ms() < s->end) {
		pause_for(100);
		for (int i = 0; i < 2; i++)
			if (size_of(s, wals[i]) > g->wal[i])
				g->wal[i] = size_of(s, wals[i]);
		if (part_at(s, tick_ms()) == FIRST)
			g->memory[0] = memory_of(s->host);
	}
	g->memory[1] = memory_of(s->host);
}

/* --- the verdict ------------------------------------------------------------------------- */

static int verdict(bool bad, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	printf("%s\n", bad ? "  DRIFT" : "");
	return bad;
}

static int judge_act(const struct scene *s, int n)
{
	static const double quantiles[2] = { 0.5, 0.99 };
	const struct times *first = &s->tally->times[n][FIRST],
			   *last = &s->tally->times[n][LAST];
	double was[2], is[2];
	bool bad = count_of(first) < 100 || count_of(last) < 100;

	for (int i = 0; i < 2; i++) {
		was[i] = quantile(first, quantiles[i]);
		is[i] = quantile(last, quantiles[i]);
		bad = bad ||
		      (is[i] > was[i] * drift_most && is[i] - was[i] > slack_ms[i]);
	}
	return verdict(bad, "%-10s %8ld %9.2f %9.2f %6.2f %9.2f %9.2f %6.2f",
		       acts[n].name, count_of(first) + count_of(last), was[0], is[0],
		       is[0] / was[0], was[1], is[1], is[1] / was[1]);
}

static int judge(const struct scene *s, const struct growth *g, long tasks)
{
	int bad = 0;

	printf("%-10s %8s %9s %9s %6s %9s %9s %6s\n", "operation", "calls", "p50 ms",
	       "last", "ratio", "p99 ms", "last", "ratio");
	for (int i = 0; i < ACTS; i++)
		bad += judge_act(s, i);
	bad += verdict((double)g->memory[1] > 1.1 * (double)g->memory[0] + 1024,
		       "memory of the host %ld KiB, at the end %ld", g->memory[0],
		       g->memory[1]);
	bad += verdict(g->wal[0] > WAL_MOST || g->wal[1] > WAL_MOST,
		       "longest WAL: state %.1f MiB, search %.1f MiB",
		       (double)g->wal[0] / 1048576, (double)g->wal[1] / 1048576);
	bad += verdict(s->tally->refused > 0, "%ld calls, %ld refused, %ld tasks",
		       (long)s->tally->calls, (long)s->tally->refused, tasks);
	return bad;
}

/* --- the scene --------------------------------------------------------------------------- */

static json_t *ask(struct scene *s, const char *op, json_t *args)
{
	struct raw r;
	json_t *answer, *result;

	if (!raw_dial(&r, s->found.socket) || !raw_say(&r, raw_hello("hay", NULL)))
		return NULL;
	answer = raw_ask(&r, raw_call(1, op, args), ANSWER_MS);
	result = json_incref(json_object_get(answer, "result"));
	json_decref(answer);
	raw_hang_up(&r);
	return result;
}

static bool set_up(struct scene *s)
{
	struct fault f = { 0 };

	child_adopt();
	if (temp_make(s->base, "soak"))
		return false;
	snprintf(s->home, sizeof(s->home), "%s/state", s->base);
	snprintf(s->log, sizeof(s->log), "%s/log", s->base);
	setenv("XDG_RUNTIME_DIR", s->base, 1);
	if (home_find(&s->found, s->home, true, &f) < 0) {
		fprintf(stderr, "soak: %s\n", f.text);
		return false;
	}
	s->host = host_start(s->home, NULL, s->log, 20000);
	if (s->host < 0)
		return false;
	json_decref(ask(s, "team.create",
			json_pack("{sss[{sssi}]}", "name", "hay", "roles", "name", "w",
				  "count", AGENTS)));
	s->tally = mmap(NULL, sizeof(*s->tally), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return s->tally != MAP_FAILED;
}

static int run(struct scene *s, int64_t ms)
{
	struct growth g = { 0 };
	pid_t clients[AGENTS];
	json_t *board;
	long tasks;
	int bad = 0;

	s->part_ms = ms / 4 < PART_MOST_MS ? ms / 4 : PART_MOST_MS;
	s->begin = tick_ms();
	s->end = s->begin + ms;
	for (int i = 0; i < AGENTS; i++)
		clients[i] = client_start(s, i + 1);
	watch(s, &g);
	for (int i = 0; i < AGENTS; i++)
		if (child_wait(clients[i], ANSWER_MS) != 0)
			bad += verdict(true, "agent %d was not answered", i + 1);
	board = ask(s, "task.list", json_pack("{sssi}", "team", "hay", "limit", 1));
	tasks = 0;
	if (board) {
		const char *key;
		json_t *n;

		json_object_foreach(json_object_get(board, "counts"), key,
				    n) if (strcmp(key, "ready") != 0)
			tasks += (long)json_integer_value(n);
		json_decref(board);
	}
	return bad + judge(s, &g, tasks);
}

int main(int argc, char **argv)
{
	struct scene s = { 0 };
	long seconds = argc > 1 ? strtol(argv[1], NULL, 10) : 120;
	int bad = 1;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (seconds >= 8 && set_up(&s))
		bad = run(&s, seconds * 1000);
	if (s.host > 0)
		child_end(s.host, 20000);
	child_end_all();
	temp_remove(s.base);
	printf("soak: %s\n", bad ? "it drifts" : "steady");
	return bad != 0;
}
