/*
 * The floor of writers that take turns: processes that do no more than that.
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "tools/bench/floor.h"
#include "tools/bench/judge.h"

enum { WRITERS = 8, SAMPLES = 20000 };

/* Shared with the children. */
struct shared {
	atomic_bool ending;
	size_t n[WRITERS];
	float ms[WRITERS][SAMPLES];
};

static int lock_set(int fd, short type)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET, .l_len = 1 };

	return fcntl(fd, F_OFD_SETLKW, &l);
}

static int lock_insert(sqlite3_stmt *st)
{
	int rc = sqlite3_step(st);

	sqlite3_reset(st);
	return rc == SQLITE_DONE ? 0 : -1;
}

/* Locks, inserts, unlocks, rests 5 ms. */
static int lock_write_on(const char *path, struct shared *w, int me)
{
	static const struct timespec rest = { .tv_nsec = 5 * 1000 * 1000 };
	char turn[320];
	sqlite3_stmt *st = NULL;
	sqlite3 *db = NULL;
	int fd, rc;

	snprintf(turn, sizeof(turn), "%s.turn", path);
	fd = open(turn, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	/* All writers open the file at once, and the first may hold it to recover the log. */
	rc = fd < 0 || sqlite3_open(path, &db) != SQLITE_OK ||
	     sqlite3_busy_timeout(db, 10000) != SQLITE_OK ||
	     sqlite3_exec(db, "PRAGMA synchronous = FULL", NULL, NULL, NULL) !=
		     SQLITE_OK ||
	     sqlite3_prepare_v2(db, "INSERT INTO message (content) VALUES ('hello')", -1,
				&st, NULL) != SQLITE_OK;
	while (rc == 0 && !atomic_load(&w->ending) && w->n[me] < SAMPLES) {
		int64_t begun = bench_now();

		rc = lock_set(fd, F_WRLCK) || lock_insert(st) || lock_set(fd, F_UNLCK);
		w->ms[me][w->n[me]++] = (float)((double)(bench_now() - begun) / 1e6);
		nanosleep(&rest, NULL);
	}
	sqlite3_finalize(st);
	sqlite3_close(db);
	return rc;
}

static double lock_slow_of(const struct shared *w, int writers)
{
	double *all = xmalloc(sizeof(*all) * WRITERS * SAMPLES), p99;
	size_t n = 0;

	for (int i = 0; i < writers; i++)
		for (size_t k = 0; k < w->n[i]; k++)
			all[n++] = w->ms[i][k];
	p99 = n ? judge_share(all, n, 0.99) : -1;
	free(all);
	return p99;
}

double floor_locked(struct bench_ground *g, int writers, double seconds)
{
	const struct timespec run = { .tv_sec = (time_t)seconds,
				      .tv_nsec =
					      (long)((seconds - (time_t)seconds) * 1e9) };
	struct shared *w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char path[300];
	pid_t pids[WRITERS];
	double p99 = -1;
	int status, rc = 0;

	if (w == MAP_FAILED || floor_process_file(g, path))
		return -1;
	for (int i = 0; i < writers; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			_exit(lock_write_on(path, w, i) ? 1 : 0);
	}
	nanosleep(&run, NULL);
	atomic_store(&w->ending, true);
	for (int i = 0; i < writers; i++)
		if (waitpid(pids[i], &status, 0) < 0 || status)
			rc = bench_fail("a writer of the floor failed");
	if (rc == 0)
		p99 = lock_slow_of(w, writers);
	munmap(w, sizeof(*w));
	return p99;
}
