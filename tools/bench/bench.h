/*
 * bench - how fast cadre is, beside the best possible.
 *
 * Each bench measures some lines of the speed table, in a state of its own below the
 * ground's folder.  The base, a floor (the same work without cadre) or a peer (another
 * program's), is measured in the same run, in turns with ours, and judge.h judges the
 * ratio.  All processes that a bench starts end with the bench.
 *
 * The findings: bench_table.c (the lines: their bases and limits), score.c (the finding of each
 * line), judge.c (ratio, spread, verdict), bench_page.c (docs/speed.md).
 *
 * The ground: bench_ground.c (clock, folders, children), others.c (load of other programs),
 * stage.c (a state and its host), load.c (clients that are answered).  The clients' texts: talk.c,
 * redis.c and postgres.c.  The limits of storage alone: floor.c, lock.c and rows.c.
 *
 * Then follows one file per group of lines.
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

enum { BENCH_LINES = 6, SCORES_MOST = 64 };

struct bench_ground;

/* A line of the table. */
struct line {
	const char *name, *unit;
	enum want want;
	double limit;
	const char *what, *beside; /* for docs/speed.md; beside NULL: nothing */
};

/* The cores for a program.  ONE_CORE is for a pair of processes of which each wakes the other.  On
 * two cores, the machine uses most of the pair's time to wake a core. */
enum bench_cores { ANY_CORE, ONE_CORE };

/* A program that measures lines. */
struct bench {
	const char *name;
	int (*run)(struct bench_ground *g);
	enum bench_cores cores;
	struct line lines[BENCH_LINES]; /* to the first without a name */
};

extern const struct bench bench_table[]; /* ends with a NULL name */

struct score {
	const struct line *line;
	bool chosen;
	struct finding found;
};

/* The settings, folders and findings that all benches share. */
struct bench_ground {
	const char *self; /* the command, which is measured */
	char dir[200]; /* for states and servers; removed at the end */
	const char *keep_dir; /* for what is slow to make; NULL: not kept */
	bool fast; /* shorter, smaller */
	bool many; /* growth behind ten times as much */
	bool peers; /* Redis and PostgreSQL too */
	struct others others; /* as this bench began */
	struct score scores[SCORES_MOST]; /* in the table's order */
	size_t n_scores;
};

/* --- score.c ----------------------------------------------------------------- */

/* Chooses the lines that are named, or all whose bench is; without names, all. */
int score_choose(struct bench_ground *g, int n, char *const *names);
/* Whether a line is to be measured: it is chosen, and no run has found it quiet. */
bool score_due(const struct bench_ground *g, const char *name);
/* Judges the rounds of a line, after what was started for them has ended.  A line without
 * rounds, or that is not due, stays as it is. */
void score_rounds(struct bench_ground *g, const char *name, const struct judge *j);
/* The same for a value that stands beside nothing. */
void score_alone(struct bench_ground *g, const char *name, double value);

/* Runs a bench for its lines that are due, again for those that are noisy; prints them. */
int score_run(struct bench_ground *g, const struct bench *b);
/* Says how all lines were found: 0 where none is short, and one at least was measured. */
int score_end(const struct bench_ground *g);

/* --- bench_page.c ------------------------------------------------------------------ */

/* Writes all that was found as a page of docs. */
int page_write(const struct bench_ground *g, const char *path);

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
int bench_web_many(struct bench_ground *g);
int bench_followers(struct bench_ground *g);
int bench_strangers(struct bench_ground *g);
int bench_mirror(struct bench_ground *g);
int bench_file(struct bench_ground *g);
int bench_boot(struct bench_ground *g);
int bench_memory(struct bench_ground *g);
double bench_resident(pid_t pid); /* RssAnon and RssFile of a process, in MiB; or -1 */
int bench_push(struct bench_ground *g);
int bench_turns(struct bench_ground *g);
int bench_fanout(struct bench_ground *g);

/* --- bench_ground.c ---------------------------------------------------------------- */

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
