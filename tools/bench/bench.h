/*
 * bench - how fast it is, beside what it could be at best.
 *
 * Each bench measures some rows of the speed table, in a state of its own
 * below the ground's folder, and prints a line per row.  The base, a floor (the
 * same work without cadre) or a peer (another program's), is measured in the
 * same run, in turns with ours, and judge.h judges the ratio.  Nothing that a
 * bench has started outlives it.
 *
 * The files: judge.c (ratio, spread, verdict), others.c (how much of the
 * machine was not ours), ground.c (clock, folders, children), stage.c (a state
 * and its host), load.c (clients that are answered), talk.c, redis.c and
 * postgres.c (what they say), floor.c, lock.c and rows.c (what storage alone
 * can do), then one file per group of rows.
 */
#ifndef TOOLS_BENCH_BENCH_H
#define TOOLS_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/fault.h"
#include "tools/bench/judge.h"
#include "tools/bench/others.h"

/* Settings and folders that all benches share. */
struct bench_ground {
	const char *self; /* the command, which is measured */
	char dir[200]; /* for states and servers; removed at the end */
	const char *keep_dir; /* for what is slow to make; NULL: not kept */
	bool fast; /* shorter, smaller */
	bool many; /* growth behind ten times as much */
	bool peers; /* Redis and PostgreSQL too */
	struct others others; /* as this bench began */
};

struct bench {
	const char *name, *doc;
	int (*run)(struct bench_ground *g);
};

extern const struct bench bench_table[]; /* ends with a NULL name */

/* Prints a line of the table: the medians of ours and of the base, their ratio, how much
 * the base's rounds differ (spread), how much of the machine others had, and whether the
 * ratio is what is wanted.  What the bench has started has ended before. */
void score_rounds(struct bench_ground *g, const char *name, const char *unit,
		  const struct judge *j, enum want want, double limit);

/* A line whose figure stands for itself, or has been judged. */
struct score {
	const char *name, *unit, *target;
	double value, base; /* base 0: compared with nothing */
	double ratio, spread; /* 0: value / base; unknown */
	double others; /* the share of the machine that others had */
	bool ok, noisy;
};
void score_print(const struct score *s);

/* Says on stderr what is under way; the table is on stdout. */
void bench_tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same, and gives -1. */
int bench_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int bench_fail_fault(const char *what, const struct fault *f);

/* The benches, a file for each group. */
int bench_send_one(struct bench_ground *g);
int bench_rows(struct bench_ground *g);
int bench_send_many(struct bench_ground *g);
int bench_send_deep(struct bench_ground *g);
int bench_cycle(struct bench_ground *g);
int bench_limits(struct bench_ground *g);
int bench_claim(struct bench_ground *g);
int bench_broadcast(struct bench_ground *g);
int bench_tail(struct bench_ground *g);
int bench_direct(struct bench_ground *g);
int bench_growth(struct bench_ground *g);
int growth_claims(struct bench_ground *g); /* a part of it */
int bench_reads(struct bench_ground *g);
int bench_process(struct bench_ground *g);
int bench_mcp(struct bench_ground *g);
int bench_web(struct bench_ground *g);
int bench_mirror(struct bench_ground *g);
int bench_file(struct bench_ground *g);
int bench_boot(struct bench_ground *g);
int bench_memory(struct bench_ground *g);
double bench_resident(pid_t pid); /* RssAnon and RssFile of a process, in MiB; or -1 */
int bench_push(struct bench_ground *g);
int bench_turns(struct bench_ground *g);
int bench_fanout(struct bench_ground *g);

/* --- ground.c ---------------------------------------------------------------- */

int64_t bench_now(void); /* ns, monotonic */
uint64_t bench_random(uint64_t *state); /* fast, not secret */

/* A new folder below the ground's. */
int ground_folder(struct bench_ground *g, const char *name, char out[256]);
void bench_remove_tree(const char *path);

/* Starts a program with these standard descriptors (-1: /dev/null); fd 3 of
 * the child is `extra` if that is not negative.  `quiet` sends its errors there
 * too. */
struct start {
	const char *const *argv;
	const char *const *env; /* added to the environment, NULL-terminated; or NULL */
	int in, out, extra;
	bool quiet;
	uid_t uid; /* 0: as we are */
};
pid_t bench_start_program(const struct start *s);
/* Ends a child: `signal`, then SIGKILL after 20 s. */
void bench_stop_program(pid_t pid, int signal);

#endif
