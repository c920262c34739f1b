/*
 * sim - a hundred agents make random calls on a virtual clock, and the answers and rows are
 * checked.
 *
 *	sim STEPS [SEED]
 *
 * Calls run in batches, like the calls of a host. Each call has a savepoint, and each batch has
 * one COMMIT. Only committed calls are acknowledged. Now and then a step of the store fails,
 * the clock leaps, a generation is replaced, or the state is closed and opened again.
 *
 * After each COMMIT the rows that the batch touched are compared with the model. Every 1,000
 * steps all open rows are checked, and in a short history also the stored counts. In a long
 * history the stored counts are checked more rarely. Every 100,000 steps and at the end all
 * rows and the file are checked. At the end the events are replayed up to many points in time.
 * Each result is compared with a copy of the rows from that time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "tests/lib/hooks.h"
#include "tests/sim/model.h"

enum { OPEN_EVERY = 1000, LONG = 32000, ALL_EVERY = 100000, RESTART_EVERY = 20000 };

/* --- the state at the start -------------------------------------------------------- */

static void make_place(struct sim *s)
{
	const char *place = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");

	snprintf(s->dir, sizeof(s->dir), "%.60s/cadre-sim.XXXXXX",
		 place ? place : "/tmp");
	if (!mkdtemp(s->dir))
		abort();
}

void remove_place(const struct sim *s)
{
	static const char *const files[] = { "state.db", "state.db-wal", "state.db-shm",
					     "state.lock", "bell" };
	char path[150];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", s->dir, files[i]);
		unlink(path);
	}
	rmdir(s->dir);
}

static void open_state(struct sim *s)
{
	struct fault f = { 0 };

	if (store_open(&s->store, s->dir, STORE_CREATE, NULL, &f) < 0)
		violated(s, "cannot open the state: %s", f.text);
	check_open(s);
}

static void restart(struct sim *s)
{
	check_close(s);
	store_close(s->store);
	open_state(s);
	s->restarts++;
}

static int64_t row_of(struct sim *s, const struct agent *a)
{
	sqlite3_stmt *st;
	int64_t row;

	sqlite3_prepare_v2(s->reader,
			   "SELECT a.id FROM agent a JOIN team t ON t.id = a.team "
			   "WHERE t.name = ? AND a.name = ?",
			   -1, &st, NULL);
	sqlite3_bind_text(st, 1, a->team, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 2, a->name, -1, SQLITE_STATIC);
	row = sqlite3_step(st) == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
	sqlite3_finalize(st);
	return row;
}

static void make_team(struct sim *s, int team)
{
	json_t *args = json_pack("{s:o, s:i, s:[{s:s}, {s:s, s:i}]}", "name",
				 json_sprintf("team-%d", team), "inbox_capacity",
				 team ? 100 : 10, "roles", "name", "lead", "name", "w",
				 "count", MEMBERS - 1);
	struct call call = { .store = s->store,
			     .settings = &s->settings,
			     .identity = { .level = WHO_OPERATOR },
			     .now = s->now };
	const struct team_create_out *out;

	store_set_now(s->store, s->now);
	if (call_decode(&call, op_find("team.create"), args) < 0 || call_run(&call) < 0)
		violated(s, "no team: %s", call.fault.text);
	out = call.out;
	for (size_t i = 0; i < out->n_members; i++) {
		struct agent *a = &s->agents[team * MEMBERS + (int)i];

		snprintf(a->name, sizeof(a->name), "%s", out->members[i].name);
		snprintf(a->team, sizeof(a->team), "%s", out->name);
		snprintf(a->token, sizeof(a->token), "%s", out->members[i].token);
		a->row = row_of(s, a);
	}
	arena_release(&call.arena);
	json_decref(args);
}

/* Makes the top team of the tree. Later acts make teams below the top team. */
static void make_tree(struct sim *s)
{
	json_t *args = json_pack("{s:s, s:i, s:i}", "name", "tree", "max_vms", 20,
				 "max_tokens", 20000);
	struct call call = { .store = s->store,
			     .settings = &s->settings,
			     .identity = { .level = WHO_OPERATOR },
			     .now = s->now };

	store_set_now(s->store, s->now);
	if (call_decode(&call, op_find("team.create"), args) < 0 || call_run(&call) < 0)
		violated(s, "no tree: %s", call.fault.text);
	s->branches[0] =
		(struct branch){ .lives = true,
				 .most = { [BRANCH_VMS] = 20, [BRANCH_TOKENS] = 20000 } };
	arena_release(&call.arena);
	json_decref(args);
}

/* --- batches ---------------------------------------------------------------------------- */

/* Runs a call in a savepoint. Returns false if the transaction is lost or the store is not
 * intact. The whole batch must then run again. */
static bool run_saved(struct sim *s, struct act *a)
{
	struct fault f = { 0 };

	if (store_savepoint(s->store, &f) < 0)
		return false;
	if (op_perform(&a->call) < 0)
		return store_intact(s->store) && store_rewind(s->store, &f) == 0;
	return store_intact(s->store) && store_release(s->store, &f) == 0;
}

static bool run_batch(struct sim *s, struct act *acts, int n)
{
	struct fault f = { 0 };

	for (int i = 0; i < n; i++)
		act_begin(s, &acts[i]);
	if (store_begin(s->store, true, &f) < 0)
		return false;
	for (int i = 0; i < n; i++)
		if (!run_saved(s, &acts[i])) {
			store_rollback(s->store);
			return false;
		}
	return store_commit(s->store, &f) == 0;
}

static void begin_trouble(struct sim *s)
{
	static const int results[] = { SQLITE_FULL, SQLITE_IOERR, SQLITE_NOMEM,
				       SQLITE_BUSY };

	s->trouble = random_below(s, 20) == 0;
	if (s->trouble)
		store_fail(s->store, 1 + random_below(s, 600),
			   results[random_below(s, 4)]);
}

static void step_batch(struct sim *s)
{
	struct act acts[BATCH];
	int n = 1 + (int)random_below(s, BATCH);

	for (int i = 0; i < n; i++)
		act_choose(s, &acts[i]);
	begin_trouble(s);
	while (!run_batch(s, acts, n)) {
		if (!s->trouble)
			violated(s, "a batch failed: %s", acts[0].call.fault.text);
		s->retried++;
		store_fail(s->store, 0, 0);
	}
	store_fail(s->store, 0, 0);
	s->commits++;
	for (int i = 0; i < n; i++) {
		s->step++;
		act_end(s, &acts[i]);
		arena_release(&acts[i].call.arena);
		json_decref(acts[i].args);
	}
	check_touched(s);
}

static bool crosses(int64_t before, int64_t now, int64_t every)
{
	return before / every != now / every;
}

static void run(struct sim *s)
{
	int64_t counted = 0;

	while (s->step < s->steps) {
		int64_t before = s->step;

		step_batch(s);
		if (crosses(before, s->step, OPEN_EVERY))
			check_open_rows(s);
		/* A check of the counts reads all rows. From LONG steps on, the counts are
		 * checked again only when the history has grown by an eighth. */
		if (s->step - counted >= OPEN_EVERY &&
		    (s->step < LONG || s->step - counted >= counted / 8)) {
			check_kept_counts(s);
			counted = s->step;
		}
		if (crosses(before, s->step, ALL_EVERY))
			check_all(s);
		if (crosses(before, s->step, s->steps / PICTURES + 1))
			past_take(s);
		if (crosses(before, s->step, RESTART_EVERY))
			restart(s);
	}
	check_all(s);
	past_check(s);
}

/* --- the end ------------------------------------------------------------------------------- */

static void report(const struct sim *s, const struct timespec *began)
{
	struct timespec end;
	double took;

	clock_gettime(CLOCK_MONOTONIC, &end);
	took = (double)(end.tv_sec - began->tv_sec) +
	       (double)(end.tv_nsec - began->tv_nsec) / 1e9;
	for (int i = 0; act_name(i); i++)
		printf("%s %" PRId64 "%s", act_name(i), s->counts[i],
		       act_name(i + 1) ? ", " : "\n");
	printf("seed %" PRIu64 ": %" PRId64 " steps in %.1f s, %" PRId64 " went through, "
	       "%" PRId64 " refused, %" PRId64 " commits, %" PRId64 " run again, %" PRId64
	       " restarts, %zu copies: sound\n",
	       s->seed, s->step, took, s->acked, s->refused, s->commits, s->retried,
	       s->restarts, s->n_copies);
}

static void release(struct sim *s)
{
	check_close(s);
	store_close(s->store);
	remove_place(s);
	for (size_t i = 0; i < KEYED; i++)
		json_decref(s->keyed[i].args);
	for (int i = 0; i < TEAMS; i++)
		free(s->teams[i].tasks);
	free(s->copies);
	free(s);
}

int main(int argc, char **argv)
{
	struct sim *s = xcalloc(1, sizeof(*s));
	struct timespec began;

	clock_gettime(CLOCK_MONOTONIC, &began);
	s->steps = argc > 1 ? strtoll(argv[1], NULL, 10) : 100000;
	s->seed = argc > 2 ? strtoull(argv[2], NULL, 10)
			   : (uint64_t)(began.tv_nsec / 1000 ^ getpid());
	s->random = s->seed;
	s->now = 1767225600000;
	settings_init(&s->settings);
	printf("sim %" PRId64 " %" PRIu64 "\n", s->steps, s->seed);
	fflush(stdout);
	make_place(s);
	open_state(s);
	for (int i = 0; i < TEAMS; i++)
		make_team(s, i);
	make_tree(s);
	run(s);
	report(s, &began);
	release(s);
	return 0;
}
