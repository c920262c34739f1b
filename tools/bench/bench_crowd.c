
#include <fcntl.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/bench/load.h"

enum { MOST = 64, SAMPLES = 20000 };

/* Memory that the processes of the crowd share. */
struct crowd {
	atomic_bool go, ending;
	atomic_int ready;
	int n[MOST];
	float ms[MOST][SAMPLES];
};

static int crowd_live(struct crowd *c, const struct crowd_task *task, struct scene *s,
		      int me)
{
	void *own = task->open(s);
	int rc = own ? 0 : -1;

	atomic_fetch_add(&c->ready, 1);
	while (!atomic_load(&c->go))
		bench_rest(0.001);
	while (rc == 0 && !atomic_load(&c->ending) && c->n[me] < SAMPLES) {
		int64_t begun = bench_now();

		rc = task->once(own);
		c->ms[me][c->n[me]++] = (float)bench_ms(begun);
		bench_rest(task->rest);
	}
	return rc;
}

/* Runs the load while the crowd works. Without a load, sleeps for two seconds, or for one
 * second if `fast` is set. */
static int crowd_meanwhile(struct scene *s, const struct act *a)
{
	s->beside.n = 0;
	if (a->script)
		return act_load(s, a, &s->beside);
	bench_rest(s->ground->fast ? 1 : 2);
	return 0;
}

int act_crowd(struct scene *s, const struct act *a, struct series *out)
{
	struct crowd *c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pids[MOST];
	int rc, status;

	if (c == MAP_FAILED || floor_need_file(s))
		return -1;
	for (int i = 0; i < a->crowd->n; i++)
		if ((pids[i] = bench_fork()) == 0)
			_exit(crowd_live(c, a->crowd, s, i) ? 1 : 0);
	while (atomic_load(&c->ready) < a->crowd->n)
		bench_rest(0.001);
	atomic_store(&c->go, true);
	rc = crowd_meanwhile(s, a);
	atomic_store(&c->ending, true);
	for (int i = 0; i < a->crowd->n; i++) {
		if (waitpid(pids[i], &status, 0) < 0 || status)
			rc = bench_fail("one of a crowd failed");
		for (int k = 0; k < c->n[i]; k++)
			series_add(out, c->ms[i][k]);
	}
	munmap(c, sizeof(*c));
	return rc;
}

int act_beside(struct scene *s, const struct act *a, struct series *out)
{
	struct series crowd = { 0 };
	int rc = a->crowd ? act_crowd(s, a, &crowd) : 0;

	for (size_t i = 0; i < s->beside.n; i++)
		series_add(out, s->beside.ms[i]);
	free(crowd.ms);
	return rc;
}

/* --- writers that only take turns ---------------------------------------------------------- */

struct crowd_lock {
	int fd;
	sqlite3_stmt *insert;
};

static void *crowd_lock_open(struct scene *s)
{
	static struct crowd_lock l;
	static char path[300], turn[320];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/raw.sqlite", s->dir);
	snprintf(turn, sizeof(turn), "%s.turn", path);
	l.fd = open(turn, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	/* All writers open the file at once, and the first writer may lock the file to recover
	 * the WAL. */
	return l.fd < 0 || sqlite3_open(path, &db) || sqlite3_busy_timeout(db, 10000) ||
			       sqlite3_exec(db, "PRAGMA synchronous = FULL", NULL, NULL,
					    NULL) ||
			       sqlite3_prepare_v2(db,
						  "INSERT INTO message (content) "
						  "VALUES ('hello')",
						  -1, &l.insert, NULL)
		       ? NULL
		       : &l;
}

static int crowd_lock_once(void *own)
{
	struct crowd_lock *l = own;
	int rc = flock(l->fd, LOCK_EX) || sqlite3_step(l->insert) != SQLITE_DONE;

	sqlite3_reset(l->insert);
	return rc || flock(l->fd, LOCK_UN);
}

/* --- writers that open the state themselves --------------------------------------------- */

static void *crowd_direct_open(struct scene *s)
{
	struct stage *direct = &s->stages[0];

	direct->client = NULL;
	direct->host = 0; /* without a host, the client opens the files itself */
	return direct;
}

static int crowd_direct_once(void *own)
{
	return stage_call(own, "message.send",
			  "{\"team\":\"t\",\"to\":[\"a1\"],\"content\":\"hello\"}", NULL);
}

static void *crowd_self(struct scene *s)
{
	return s;
}

static int crowd_sync_once(void *own)
{
	return floor_sync(own) < 0 ? -1 : 0;
}

const struct crowd_task crowd_locked = { 8, 0.005, crowd_lock_open, crowd_lock_once };
const struct crowd_task crowd_direct = { 8, 0.005, crowd_direct_open, crowd_direct_once };
const struct crowd_task crowd_syncs = { 1, 0.005, crowd_self, crowd_sync_once };
