/*
 * faults - repeats the last call, each time on a copy of the state from before the call. In
 * each repeat another step of the store or another allocation fails.
 *
 * A call that succeeds in spite of the failure must give the answer and rows of the call
 * without a failure. A call that fails must report `unavailable`, `io` or `internal`, and may
 * change only the rows of the caller's rate limit. A call that is repeated with its key after
 * an unknown outcome must give the ids that the first call made.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ops.gen.h"
#include "storage/store_inside.h"
#include "tests/lib/hooks.h"
#include "tests/run_op/script.h"

struct trial {
	struct script *script;
	struct store *store; /* copy of the state for this trial */
	struct asked asked;
	uint64_t digest; /* checksum of the state before the call */
	uint64_t unspent; /* checksum of this state without the table `rate` */
	struct world world; /* clock and settings before the call */
};

static void copy_state(struct trial *t)
{
	struct fault f = { 0 };

	if (store_copy(t->store, t->script->before, &f) < 0) {
		script_wrong(t->script, "cannot copy the state: %s", f.text);
		abort();
	}
}

static bool says_unavailable(const struct fault *f)
{
	return f->code == FAULT_UNAVAILABLE || f->code == FAULT_IO ||
	       f->code == FAULT_INTERNAL;
}

/* Whether a call succeeded in spite of a failure, with the same answer and rows as the script's
 * own call. */
static bool gets_around(const struct trial *t, const struct answer *a)
{
	const struct script *s = t->script;

	return a->rc >= 0 && s->answer.rc >= 0 && json_equal(a->reply, s->answer.reply) &&
	       world_digest(t->store) == world_digest(s->world.store);
}

/* Makes the call while step `n` fails with `result`. Returns false if the call has fewer than n
 * steps. */
static bool try_step(struct trial *t, long n, int result)
{
	struct world w = t->world;
	struct answer a;
	bool reached, around;

	store_fail(t->store, n, result);
	world_ask(&w, t->store, &t->asked, &a);
	reached = t->store->fail_after == 0;
	store_fail(t->store, 0, 0);
	around = reached && gets_around(t, &a);
	if (reached && a.rc >= 0 && !around)
		script_wrong(t->script, "%s succeeds though step %ld fails with %d",
			     t->asked.op->name, n, result);
	else if (reached && a.rc < 0 && t->script->answer.rc >= 0 &&
		 !says_unavailable(&a.fault))
		script_wrong(t->script, "%s: step %ld fails with %d, and it says %s: %s",
			     t->asked.op->name, n, result, fault_info(a.fault.code)->name,
			     a.fault.text);
	if (reached && world_digest(t->store) != t->digest) {
		if (!around && world_digest_without(t->store, "rate") != t->unspent)
			script_wrong(t->script,
				     "%s leaves rows behind when step %ld fails "
				     "with %d",
				     t->asked.op->name, n, result);
		copy_state(t);
	}
	answer_release(&a);
	return reached;
}

static void try_steps(struct trial *t, bool thorough)
{
	static const int results[] = { SQLITE_IOERR, SQLITE_FULL, SQLITE_NOMEM,
				       SQLITE_BUSY };

	for (int i = 0; i < (int)(sizeof(results) / sizeof(results[0])); i++) {
		if (t->script->way != FAULTS_ALL_WAYS && t->script->way != i)
			continue;
		copy_state(t);
		/* The first run with fewer than n steps has no failure, changes the state, and
		 * ends the loop. */
		for (long n = 1; try_step(t, n, results[i]); n++)
			if (!thorough && t->script->wrong > 20)
				return;
	}
}

/* --- keys -------------------------------------------------------------------------- */

static bool same_ids(json_t *a, json_t *b)
{
	static const char *const ids[] = { "message_id", "seq",   "team_id",
					   "name",       "token", "epoch" };

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		json_t *x = json_object_get(a, ids[i]), *y = json_object_get(b, ids[i]);

		if (x && !json_equal(x, y))
			return false;
	}
	return true;
}

/* A repeated call counts as one more call. Therefore the repeat can fail because the caller's
 * limit of calls is reached. */
static bool calls_too_often(const struct answer *a)
{
	return a->rc < 0 && a->fault.code == FAULT_RATE_LIMITED && !*a->fault.where;
}

/* An agent that ends its own team no longer exists, so it cannot repeat the call. */
static bool ends_itself(const struct asked *q)
{
	const char *team = json_string_value(json_object_get(q->args, "team"));

	return q->op == op_team_destroy && q->identity.agent && team &&
	       strcmp(team, q->identity.team) == 0;
}

/* Repeats the call as if the answer was lost after COMMIT. The repeat has the same key, and
 * must give the same ids. */
static void try_repeat(struct trial *t)
{
	struct world w = t->world;
	struct asked q = t->asked;
	struct answer first, second;
	uint64_t digest;

	if (t->script->answer.rc < 0 || t->script->answer.guest || q.made ||
	    ends_itself(&q) || !(q.op->flags & OP_WRITE) ||
	    !field_find(q.op->in, "idempotency_key"))
		return;
	q.args = json_copy(q.args);
	if (!json_object_get(q.args, "idempotency_key"))
		json_object_set_new(q.args, "idempotency_key", json_string("a lost one"));
	copy_state(t);
	world_ask(&w, t->store, &q, &first);
	digest = world_digest_without(t->store, "rate");
	world_ask(&w, t->store, &q, &second);
	if (first.rc >= 0 && calls_too_often(&second))
		goto out;
	if (first.rc >= 0 && second.rc < 0)
		script_wrong(t->script, "%s repeated with its key fails: %s", q.op->name,
			     second.fault.text);
	else if (first.rc >= 0 && first.made && !second.replayed)
		script_wrong(t->script, "%s repeated with its key runs again",
			     q.op->name);
	else if (first.rc >= 0 && !same_ids(first.reply, second.reply))
		script_wrong(t->script, "%s repeated with its key has other ids",
			     q.op->name);
	else if (second.replayed && world_digest_without(t->store, "rate") != digest)
		script_wrong(t->script, "%s repeated with its key changes rows",
			     q.op->name);
out:
	answer_release(&first);
	answer_release(&second);
	json_decref(q.args);
}

/* --- memory --------------------------------------------------------------------------- */

/* Makes the call in a child process, on a state in a file. Returns 0 if the n-th allocation
 * aborted the child, 1 if the call ended without an n-th allocation, and 2 for any other end. */
static int die_at(struct trial *t, const char *dir, long n)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		abort();
	if (pid == 0) {
		struct rlimit none = { 0, 0 };
		struct world w = t->world;
		struct asked q = t->asked;
		struct fault f = { 0 };
		struct store *store;
		struct answer a;

		setrlimit(RLIMIT_CORE, &none);
		signal(SIGABRT, SIG_DFL);
		if (!freopen("/dev/null", "w", stderr) ||
		    store_open(&store, dir, 0, NULL, &f) < 0)
			_exit(3);
		q.fail_after = n;
		world_ask(&w, store, &q, &a);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid)
		abort();
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT)
		return 0;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1 : 2;
}

static void remove_files(const char *dir)
{
	static const char *const files[] = { "state.db", "state.db-wal", "state.db-shm",
					     "state.lock", "bell" };
	char path[200];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		unlink(path);
	}
	rmdir(dir);
}

/* Returns the digest of the state in a folder, or 0 if the state is not sound. */
static uint64_t digest_in(const char *dir)
{
	struct fault f = { 0 };
	struct store *store = NULL;
	uint64_t digest = 0;

	if (store_open(&store, dir, 0, NULL, &f) == 0 && store_check(store, &f) == 0)
		digest = world_digest(store);
	store_close(store);
	return digest;
}

static void try_memory(struct trial *t, bool thorough)
{
	const char *temp = getenv("TMPDIR");
	char dir[120], path[160];
	struct fault f = { 0 };
	uint64_t before;
	long n = 1;
	int died;

	snprintf(dir, sizeof(dir), "%.80s/op.XXXXXX", temp ? temp : "/tmp");
	if (!mkdtemp(dir))
		abort();
	snprintf(path, sizeof(path), "%s/state.db", dir);
	if (store_backup(t->script->before, path, &f) < 0) {
		script_wrong(t->script, "cannot copy the state: %s", f.text);
		goto out;
	}
	before = digest_in(dir);
	/* Unless `thorough`, the number of skipped allocations grows with each try. */
	while ((died = die_at(t, dir, n)) == 0) {
		if (!before || digest_in(dir) != before) {
			script_wrong(t->script,
				     "%s leaves rows behind when allocation "
				     "%ld aborts",
				     t->asked.op->name, n);
			goto out;
		}
		n += thorough ? 1 : 1 + n;
	}
	if (died == 2)
		script_wrong(t->script, "%s dies of something else at allocation %ld",
			     t->asked.op->name, n);
out:
	remove_files(dir);
}

/* --- all failures ----------------------------------------------------------------------- */

void faults_run(struct script *s, bool thorough, bool last)
{
	struct trial t = { .script = s, .asked = s->asked, .world = s->world_before };

	t.digest = world_digest(s->before);
	t.unspent = world_digest_without(s->before, "rate");
	t.store = world_store();
	try_steps(&t, thorough);
	try_repeat(&t);
	store_close(t.store);
	if (last)
		try_memory(&t, thorough);
}
