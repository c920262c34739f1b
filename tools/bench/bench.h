/*
 * bench - measures the speed of cadre, and compares this speed with a base.
 *
 * A line of the speed table names an act of cadre, and most lines also name an act of a base.
 * The base is a floor (the same work without cadre), a peer (another program's work), or
 * another act of cadre. The driver measures both acts, one after the other, in the scene of the
 * line's bench. The judge compares the ratio of the two figures with the line's limit. All
 * processes that a bench starts end with the bench.
 *
 * The table: bench_table.c (each line with its acts, limits and scene). The driver: driver.c
 * (measures the acts in rounds, and measures a noisy line again), score.c (the finding of each
 * line), bench_page.c (docs/speed.md). The judge: judge.c (ratio, spread, verdict), others.c
 * (the load of other programs).
 *
 * The ground: bench_ground.c (clock, folders, children), stage.c (a state and its host, the scene
 * of a bench), fill.c (rows of a large state).
 *
 * The acts: load.c (clients that send requests and read answers), bench_doors.c and peers.c
 * (the protocols), floor.c (SQLite, the disk, the kernel), bench_crowd.c (many processes that
 * do the same thing at the same time). Each other file has the acts of one group of lines.
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

struct act;
struct bench_ground;
struct scene; /* stage.h */
struct script; /* load.h */
struct crowd_task; /* stage.h */

/* The figures of one round: times, or a rate. */
struct series {
	double *ms;
	size_t n, room;
	double rate; /* the sum of the rates of all runs; `rates` counts the runs */
	int rates;
};
void series_add(struct series *s, double ms);
void series_rate(struct series *s, double rate);

/* Measures an act once, or a load for some seconds. Returns 0, or another number after a
 * failure. */
typedef int act_run(struct scene *s, const struct act *a, struct series *out);
/* Opens a scene. */
typedef int scene_opener(struct scene *s);

/* An act to measure, and its parameters. A parameter that an act does not use is 0. */
struct act {
	act_run *run;
	const struct script *script; /* script of a load */
	int clients, window; /* parameters of a load; 0 means 1 */
	int stage; /* index of the stage whose host gets the calls */
	double seconds; /* duration of a load; 0 means 1.2 */
	double scale; /* number of units that a cycle counts as; 0 means 1 */
	int batch; /* rows in a commit */
	const struct crowd_task *crowd; /* processes that run beside a load */
	int syncs, trips; /* how many syncs and round trips a floor makes */
	const char *text; /* arguments of a call, name of a runner, or work of a floor's
			     process */
	const char *const *words; /* words of a command */
};

/* A line of the table. */
struct line {
	const char *name, *unit;
	enum want want;
	double limit;
	const char *what, *beside; /* texts for docs/speed.md; `beside` is NULL if there
				      is no base */
	bool peer; /* measured with PEERS=1 only */
	int rounds, times; /* 0 means five rounds, with one run of each act in a round */
	double share; /* the figure is this quantile of the times (0.5: the median); 0:
			 the figure is the rate */
	struct act ours, base; /* if `ours` has no `run`, this line uses the rounds of the
			 preceding line */
};

/* The cores for a program. ONE_CORE is for two processes that wake each other again and again.
 * On two cores, such processes would spend most of the time on waking a core. */
enum bench_cores { ANY_CORE, ONE_CORE };

/* Lines that share a scene. */
struct bench {
	const char *name;
	scene_opener *open; /* NULL: scene_open() */
	enum bench_cores cores;
	int stages, agents, capacity; /* parameters of scene_open() */
	int hostless; /* number of stages without a host; they are the last stages */
	int64_t tasks[2], messages[2]; /* number of rows in each stage */
	struct line lines[BENCH_LINES]; /* ends before the first line without a name */
};

extern const struct bench bench_table[]; /* a NULL name ends the table */

struct score {
	const struct line *line;
	bool chosen;
	struct finding found;
};

/* The settings, folders and findings that all benches share. */
struct bench_ground {
	const char *self; /* path of the command that is measured */
	char dir[200]; /* folder for states and servers; removed at the end */
	bool fast; /* runs are shorter, and stages have less data */
	bool many; /* stages get ten times as many old messages */
	bool peers; /* measures Redis and PostgreSQL too */
	struct others others; /* counted processor times at the start of this bench */
	struct score scores[SCORES_MOST]; /* in the table's order */
	size_t n_scores;
};

/* --- driver.c ---------------------------------------------------------------- */

/* Runs a bench for its due lines, runs it again for noisy lines, and prints the lines. */
int bench_run(struct bench_ground *g, const struct bench *b);

/* --- score.c ----------------------------------------------------------------- */

/* Chooses the named lines, and all lines of each named bench. Without names, chooses all lines. */
int score_choose(struct bench_ground *g, int n, char *const *names);
struct score *score_of(struct bench_ground *g, const struct line *l);
/* Whether a line is to be measured. A line is to be measured if the line is chosen and has no
 * final verdict yet. A line with a peer also needs PEERS=1. */
bool score_due(struct bench_ground *g, const struct line *l);
/* Judges the rounds of a line, after the processes of these rounds have ended. The finding of a
 * line without rounds, or of a line that is not due, does not change. */
void score_rounds(struct bench_ground *g, const struct line *l, const struct judge *j);
void score_print(const struct score *s);
/* Prints a summary of all lines. Returns 0 if no line misses its limit and at least one line
 * was measured. */
int score_end(const struct bench_ground *g);

/* Writes all findings as a page of docs. */
int page_write(const struct bench_ground *g, const char *path);

/* --- bench_ground.c ---------------------------------------------------------------- */

/* Reports progress on stderr; the table is printed on stdout. */
void bench_tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Reports a failure like bench_tell(), and returns -1. */
int bench_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int bench_fail_fault(const char *what, const struct fault *f);

int64_t bench_now(void); /* ns, monotonic */
double bench_ms(int64_t since); /* ms since a result of bench_now() */
uint64_t bench_random(uint64_t *state); /* fast, not secret */
void bench_rest(double seconds);

/* Makes a new folder in the ground's folder. */
int ground_folder(struct bench_ground *g, const char *name, char out[256]);
void bench_remove_tree(const char *path);

/* A program to start, and its standard descriptors (0: /dev/null). If `extra` is not 0, the
 * child gets `extra` as fd 3. With `quiet`, the child's stderr is /dev/null, too. */
struct start {
	const char *const *argv;
	int in, out, extra;
	bool quiet;
	uid_t uid; /* 0: the user of this process */
};
pid_t bench_start_program(const struct start *s);
/* Runs a program to its end. Returns 0 if the program's exit status is 0. */
int bench_run_program(const struct start *s);
/* Like fork(), but the child ends when the bench ends. */
pid_t bench_fork(void);
/* Ends a child by `signal`, and by SIGKILL if the child still runs after 20 s. Does nothing if
 * `pid` is 0 or negative. */
void bench_stop_program(pid_t pid, int signal);

#endif
