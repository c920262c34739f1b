/*
 * soak - under a steady mixed load, calls must not get slower, and memory and WALs must not
 * grow.
 *
 *	soak [SECONDS [counts]]
 *
 * Each of eight agents of one team makes at most fifty calls a second to a running host. The
 * agents send, receive, claim, complete, create, write notes, list and search. The first part
 * takes two minutes, or a quarter of the run if this is shorter. The last part takes the same
 * time, and its call times are compared with the call times of the first part. Other programs
 * may load the machine. Therefore the test also measures the floor, which is the time of fixed
 * work without cadre (see floor.h). Each ratio of call times (last part to first part) is
 * divided by the same ratio of the floor. If the floor itself drifts, the run is noisy and
 * exits with 77. The run fails if a ratio, the host's memory or the length of a WAL exceeds its
 * bound. With `counts` no call time is judged, so a busy machine cannot make the run fail.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/home/home.h"
#include "tests/lib/child.h"
#include "tests/lib/dice.h"
#include "tests/lib/place.h"
#include "tests/lib/raw.h"
#include "tests/lib/usage.h"
#include "tests/soak/floor.h"

enum {
	AGENTS = 8,
	PACE_MS = 20, /* time between the starts of two successive calls of an agent */
	ANSWER_MS = 60000,
	PART_MOST_MS = 120000,
	MEAN_MS = 30000,
	WAL_MOST = 16 << 20,
	/* A state of this size has filled the page caches of the host's connections. In a
	 * smaller state the caches may still grow, by at most CACHES_KIB in all (see store.c
	 * and search.c). */
	STATE_FULL = 16 << 20,
	CACHES_KIB = 20000,
};

/* The p50 and p99 of the last part may be at most this many times the p50 and p99 of the first
 * part. A difference below slack_ms does not count. */
static const double drift_most = 1.5;
static const double quantiles[2] = { 0.5, 0.99 };
static const double slack_ms[2] = { 0.25, 5.0 };

enum part { FIRST, MIDDLE, LAST, PARTS };

struct client {
	struct raw raw;
	struct dice dice;
	int number, last;
	json_t *tasks; /* the client's claims, each as [task, epoch] */
	int known; /* the newest task that the client has seen */
};

/* --- the mix of calls ----------------------------------------------------------- */

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
	enum floor_kind floor;
} acts[] = {
	{ "send", "message.send", do_send, 20, FLOOR_WRITE },
	{ "receive", "message.receive", do_receive, 18, FLOOR_WRITE },
	{ "create", "task.create", do_create, 7, FLOOR_WRITE },
	{ "claim", "task.claim", do_claim, 10, FLOOR_WRITE },
	{ "complete", "task.complete", do_complete, 10, FLOOR_WRITE },
	{ "note", "task.note", do_note, 8, FLOOR_WRITE },
	{ "list", "task.list", do_list, 8, FLOOR_READ },
	{ "ready", "task.ready", do_ready, 4, FLOOR_READ },
	{ "status", "team.status", do_status, 3, FLOOR_READ },
	{ "search", "search.find", do_search, 8, FLOOR_READ },
	{ "broadcast", "message.send", do_tell_all, 4, FLOOR_WRITE },
};

enum { ACTS = sizeof(acts) / sizeof(*acts) };

struct tally {
	struct times times[ACTS][PARTS], floors[FLOOR_KINDS][PARTS];
	_Atomic long calls, refused;
};

struct scene {
	char base[64], home[100], log[100];
	struct home found;
	struct tally *tally; /* shared with the clients */
	pid_t host;
	int64_t begin, end, part_ms;
	bool counts; /* call times are not judged */
};

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

/* Makes one call. Returns false if no answer arrives. */
static bool call_once(struct scene *s, struct client *c)
{
	const struct act *act = pick(c);
	enum part part = part_at(s, clock_steady_ms());
	json_t *args = act->args(c), *answer;
	double from;

	if (!args)
		args = (act = &acts[0])->args(c);
	from = mono_ms();
	answer = raw_ask(&c->raw, raw_call(++c->last, act->op, args), ANSWER_MS);
	if (!answer)
		return false;
	times_add(&s->tally->times[act - acts][part], mono_ms() - from);
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
	for (int64_t next = clock_steady_ms(); next < s->end; next += PACE_MS) {
		int64_t now = clock_steady_ms();

		if (now < next)
			pause_for((int)(next - now));
		else
			next = now;
		if (!call_once(s, &c))
			_exit(1);
	}
	_exit(0);
}

/* Prints the line, with the word DRIFT behind it if `bad`, and returns `bad`. */
static int verdict(bool bad, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	printf("%s\n", bad ? "  DRIFT" : "");
	return bad;
}

/* --- growth ---------------------------------------------------------------------------- */

struct growth {
	/* The host's memory in KiB after the first part and at the end of the run. If the
	 * caches got full, memory[0] is the mean of the MEAN_MS after full_at, and memory[1]
	 * the mean of the last MEAN_MS. Means are used because a single measurement may include
	 * the memory for an answer of some MB. */
	double memory[2];
	long n_looks[2];
	int64_t full_at; /* time when the caches got full, or 0 */
	long long wal[2]; /* longest WAL of state.db and of search.db */
};

static long long size_of(const struct scene *s, const char *name)
{
	char path[200];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", s->home, name);
	return stat(path, &st) ? 0 : (long long)st.st_size;
}

static void add_to_mean(double *mean, long *n, double value)
{
	*mean = *n ? *mean + (value - *mean) / (double)(*n + 1) : value;
	++*n;
}

static void look(struct scene *s, struct growth *g)
{
	static const char *const wals[] = { "state.db-wal", "search.db-wal" };
	const int64_t now = clock_steady_ms();
	const bool first = part_at(s, now) == FIRST;
	const double memory = (double)memory_of(s->host);

	for (int i = 0; i < 2; i++)
		if (size_of(s, wals[i]) > g->wal[i])
			g->wal[i] = size_of(s, wals[i]);
	if (!g->full_at && !first && size_of(s, "state.db") >= STATE_FULL) {
		g->full_at = now;
		g->n_looks[0] = g->n_looks[1] = 0;
	}
	if (!g->full_at) {
		g->memory[first ? 0 : 1] = memory;
		return;
	}
	if (now < g->full_at + MEAN_MS)
		add_to_mean(&g->memory[0], &g->n_looks[0], memory);
	if (now >= s->end - MEAN_MS)
		add_to_mean(&g->memory[1], &g->n_looks[1], memory);
}

static int watch(struct scene *s, struct growth *g)
{
	struct tally *t = s->tally;
	struct soak_floor floor;

	if (floor_open(&floor, s->base) < 0)
		return verdict(true, "no floor to measure");
	while (clock_steady_ms() < s->end) {
		enum part part = part_at(s, clock_steady_ms());

		pause_for(100);
		floor_step(&floor, &t->floors[FLOOR_READ][part],
			   &t->floors[FLOOR_WRITE][part]);
		look(s, g);
	}
	floor_close(&floor);
	return 0;
}

/* --- times ------------------------------------------------------------------------------- */

struct drift {
	double was[2], is[2]; /* p50 and p99, in ms */
};

static struct drift drift_of(const struct times parts[PARTS])
{
	struct drift d;

	for (int i = 0; i < 2; i++) {
		d.was[i] = times_quantile(&parts[FIRST], quantiles[i]);
		d.is[i] = times_quantile(&parts[LAST], quantiles[i]);
	}
	return d;
}

static bool is_noisy(const struct drift *floor, int i)
{
	double ratio = floor->is[i] / floor->was[i];

	return ratio > drift_most || ratio * drift_most < 1;
}

static void tell_row(const char *name, const struct times parts[PARTS],
		     const double ratio[2], const char *word)
{
	struct drift d = drift_of(parts);

	printf("%-11s %8ld %9.2f %9.2f %6.2f %9.2f %9.2f %6.2f  %s\n", name,
	       times_count(&parts[FIRST]) + times_count(&parts[LAST]), d.was[0], d.is[0],
	       ratio[0], d.was[1], d.is[1], ratio[1], word);
}

/* Whether a floor drifts so much that call times cannot be judged. */
static bool judge_floors(const struct scene *s)
{
	static const char *const names[] = { "floor read", "floor write" };
	bool noisy = false;

	for (int k = 0; k < FLOOR_KINDS; k++) {
		struct drift d = drift_of(s->tally->floors[k]);
		double ratio[2] = { d.is[0] / d.was[0], d.is[1] / d.was[1] };
		bool bad = is_noisy(&d, 0) || is_noisy(&d, 1);

		tell_row(names[k], s->tally->floors[k], ratio, bad ? "noisy" : "");
		noisy = noisy || bad;
	}
	return noisy;
}

static int judge_act(const struct scene *s, int n)
{
	const struct times *parts = s->tally->times[n];
	struct drift floor = drift_of(s->tally->floors[acts[n].floor]);
	struct drift d = drift_of(parts);
	bool few = times_count(&parts[FIRST]) < 100 || times_count(&parts[LAST]) < 100;
	bool bad = few && !s->counts;
	double ratio[2];

	for (int i = 0; i < 2; i++) {
		double due = d.was[i] * floor.is[i] / floor.was[i];

		ratio[i] = d.is[i] / due;
		bad = bad || (!s->counts && !is_noisy(&floor, i) &&
			      ratio[i] > drift_most && d.is[i] - due > slack_ms[i]);
	}
	tell_row(acts[n].name, parts, ratio, !bad ? "" : few ? "TOO FEW" : "DRIFT");
	return bad;
}

/* --- the verdict ------------------------------------------------------------------------- */

static int judge_memory(const struct growth *g)
{
	const double most = 1.1 * g->memory[0] + (g->full_at ? 1024 : CACHES_KIB);

	return verdict(g->memory[1] > most,
		       "memory of the host %.0f KiB%s, at the end %.0f (at most %.0f)",
		       g->memory[0], g->full_at ? " with its caches full" : "",
		       g->memory[1], most);
}

static int judge(const struct scene *s, const struct growth *g, long tasks, bool *noisy)
{
	int bad = 0;

	printf("%-11s %8s %9s %9s %6s %9s %9s %6s\n", "operation", "calls", "p50 ms",
	       "last", "ratio", "p99 ms", "last", "ratio");
	*noisy = judge_floors(s) && !s->counts;
	for (int i = 0; i < ACTS; i++)
		bad += judge_act(s, i);
	bad += judge_memory(g);
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
	if (home_find(&s->found, s->home, HOME_MAKE, &f) < 0) {
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

static long count_tasks(struct scene *s)
{
	json_t *board =
		ask(s, "task.list", json_pack("{sssi}", "team", "hay", "limit", 1));
	long tasks = 0;
	const char *key;
	json_t *n;

	json_object_foreach(json_object_get(board, "counts"), key, n)
		if (strcmp(key, "ready") != 0)
			tasks += (long)json_integer_value(n);
	json_decref(board);
	return tasks;
}

static int run(struct scene *s, int64_t ms, bool *noisy)
{
	struct growth g = { 0 };
	pid_t clients[AGENTS];
	int bad;

	s->part_ms = ms / 4 < PART_MOST_MS ? ms / 4 : PART_MOST_MS;
	s->begin = clock_steady_ms();
	s->end = s->begin + ms;
	for (int i = 0; i < AGENTS; i++)
		clients[i] = client_start(s, i + 1);
	bad = watch(s, &g);
	for (int i = 0; i < AGENTS; i++)
		if (child_wait(clients[i], ANSWER_MS) != 0)
			bad += verdict(true, "agent %d was not answered", i + 1);
	return bad + judge(s, &g, count_tasks(s), noisy);
}

int main(int argc, char **argv)
{
	struct scene s = { .counts = argc > 2 && strcmp(argv[2], "counts") == 0 };
	long seconds = argc > 1 ? strtol(argv[1], NULL, 10) : 120;
	bool noisy = false;
	int bad = 1;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (seconds >= 8 && set_up(&s))
		bad = run(&s, seconds * 1000, &noisy);
	if (s.host > 0)
		child_end(s.host, 20000);
	child_end_all();
	temp_remove(s.base);
	printf("soak: %s\n", bad     ? "it drifts"
			     : noisy ? "noisy, so times are not judged: run it again"
				     : "steady");
	return bad ? 1 : noisy ? 77 : 0;
}
