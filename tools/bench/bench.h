/*
 * bench - how fast cadre is, beside the best possible.
 *
 * A line of the speed table names two acts: ours, and the base's.  The base is a floor (the same
 * work without cadre) or a peer (another program's work).  The driver measures both acts in turn,
 * in the scene of the line's bench, and the judge judges their ratio.  All processes that a bench
 * starts end with the bench.
 *
 * The table: bench_table.c (each line with its acts, limits and scene).
 * The driver: driver.c (rounds in turn, again while noisy), score.c (the finding of each line),
 * bench_page.c (docs/speed.md).
 * The judge: judge.c (ratio, spread, verdict), others.c (the load of other programs).
 *
 * The ground: bench_ground.c (clock, folders, children), stage.c (a state and its host, the scene
 * of a bench), fill.c (rows of a large state).
 *
 * The acts: load.c (clients that are answered), bench_doors.c and peers.c (the protocols),
 * floor.c (SQLite, the disk, the kernel), bench_crowd.c (processes that do one thing at once).
 * Each further file has the acts of one group of lines.
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

/* The findings of one round: times, or a rate. */
struct series {
	double *ms;
	size_t n, room;
	double rate; /* the sum of so many rates */
	int rates;
};
void series_add(struct series *s, double ms);
void series_rate(struct series *s, double rate);

/* Measures a thing once; a load, for some seconds: 0, or it has failed. */
typedef int act_run(struct scene *s, const struct act *a, struct series *out);
/* Opens a scene. */
typedef int scene_opener(struct scene *s);

/* A thing that is measured, and its parameters.  A parameter that an act does not use is 0. */
struct act {
	act_run *run;
	const struct script *script; /* of a load */
	int clients, window; /* of a load; 0: one */
	int stage; /* the scene's stage whose host is asked */
	double seconds; /* of a load; 0: 1.2 */
	double scale; /* what a cycle counts; 0: one */
	int batch; /* rows in a commit */
	const struct crowd_task *crowd; /* processes beside a load */
	int syncs, trips; /* of a floor */
	const char *text; /* arguments of a call, a runner, the work of a floor's process */
	const char *const *words; /* of a command */
};

/* A line of the table. */
struct line {
	const char *name, *unit;
	enum want want;
	double limit;
	const char *what, *beside; /* for docs/speed.md; beside NULL: nothing */
	bool peer; /* measured with PEERS=1 only */
	int rounds, times; /* 0: five rounds, each act once a round */
	double share; /* of all times that counts, 0.5 for the median; 0: the rate counts */
	struct act ours,
		base; /* ours without `run`: the rounds of the line before count */
};

/* The cores for a program.  ONE_CORE is for a pair of processes of which each wakes the other.  On
 * two cores, the machine uses most of the pair's time to wake a core. */
enum bench_cores { ANY_CORE, ONE_CORE };

/* Lines that share a scene. */
struct bench {
	const char *name;
	scene_opener *open; /* NULL: scene_open() */
	enum bench_cores cores;
	int stages, agents, capacity; /* of scene_open() */
	int hostless; /* so many stages, the last ones, have no host */
	int64_t tasks[2], messages[2]; /* rows of the stages */
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
	bool fast; /* shorter, smaller */
	bool many; /* growth behind ten times as much */
	bool peers; /* Redis and PostgreSQL too */
	struct others others; /* as this bench began */
	struct score scores[SCORES_MOST]; /* in the table's order */
	size_t n_scores;
};

/* --- driver.c ---------------------------------------------------------------- */

/* Runs a bench for its lines that are due, again for those that are noisy; prints them. */
int bench_run(struct bench_ground *g, const struct bench *b);

/* --- score.c ----------------------------------------------------------------- */

/* Chooses the lines that are named, or all whose bench is; without names, all. */
int score_choose(struct bench_ground *g, int n, char *const *names);
struct score *score_of(struct bench_ground *g, const struct line *l);
/* Whether a line is to be measured: it is chosen, and no run has found it quiet. */
bool score_due(struct bench_ground *g, const struct line *l);
/* Judges the rounds of a line, after what was started for them has ended.  A line without
 * rounds, or that is not due, stays as it is. */
void score_rounds(struct bench_ground *g, const struct line *l, const struct judge *j);
void score_print(const struct score *s);
/* Says how all lines were found: 0 where none is short, and one at least was measured. */
int score_end(const struct bench_ground *g);

/* Writes all that was found as a page of docs. */
int page_write(const struct bench_ground *g, const char *path);

/* --- bench_ground.c ---------------------------------------------------------------- */

/* Says on stderr what is under way; the table is on stdout. */
void bench_tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same, and gives -1. */
int bench_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int bench_fail_fault(const char *what, const struct fault *f);

int64_t bench_now(void); /* ns, monotonic */
double bench_ms(int64_t since); /* from a bench_now() on */
uint64_t bench_random(uint64_t *state); /* fast, not secret */
void bench_rest(double seconds);

/* A new folder below the ground's. */
int ground_folder(struct bench_ground *g, const char *name, char out[256]);
void bench_remove_tree(const char *path);

/* Starts a program with these standard descriptors (0: /dev/null); fd 3 of the child is
 * `extra` if that is not 0.  `quiet` sends its errors to /dev/null, too. */
struct start {
	const char *const *argv;
	int in, out, extra;
	bool quiet;
	uid_t uid; /* 0: as we are */
};
pid_t bench_start_program(const struct start *s);
/* Runs a program to its end: 0 if the program says so. */
int bench_run_program(const struct start *s);
/* A child of this program that ends with the bench: fork(). */
pid_t bench_fork(void);
/* Ends a child: `signal`, then SIGKILL after 20 s.  Without a pid, nothing. */
void bench_stop_program(pid_t pid, int signal);

#endif
