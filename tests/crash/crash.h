/*
 * crash - the parts of the crash proof; the power proof has them too.
 *
 * crash.c kills, worker.c is one client, journal.c what it may rely on, scene.c
 * the state and its processes, stop.c who stops all teams, settle.c its end, judge.c what must hold then.  Below BASE, a
 * temporary folder: state/ (CADRE_HOME), runtime/ (sockets), journal/NAME,
 * runs/KEY (a line for each run of that command), log.
 */
#ifndef TESTS_CRASH_CRASH_H
#define TESTS_CRASH_CRASH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#include "core/base/fault.h"
#include "tests/lib/dice.h"

enum {
	CLIENTS = 8, /* the first one is the lead */
	DAEMONS = 3, /* members with a workspace, when a host runs */
	LEASE_S = 2, /* of messages */
	CLAIM_S = 5, /* of tasks: the least there is */
};

extern const char *const client_names[CLIENTS];
extern const char *const daemon_names[DAEMONS];

/* --- worker.c: this program as a client ----------------------------------------- */

/* crash --worker BASE NAME SEED HOW: works until its standard input ends.  HOW is
 * made of the letters d (never the socket), r (commands run), s (only settles what
 * it left open, and drains its inbox). */
int worker_main(int argc, char **argv);

/* --- scene.c ------------------------------------------------------------------------ */

struct part {
	pid_t pid; /* 0: not running */
	int in; /* the end of the pipe that keeps a worker at work */
	int64_t respawn_at;
	bool killed; /* by us */
	char token[80];
	int lives;
};

struct scene {
	char base[64], home[80], log[80];
	bool direct_only;
	uint64_t seed;
	struct dice dice;
	struct part host, clients[CLIENTS];
	struct {
		pid_t pid; /* of the command; 0: none runs */
		int64_t kill_at; /* 0: it lives */
		int64_t thaw_at; /* 0: the team is not to be thawed */
		int thaws; /* begun: one at least, since a killed command may stop it late */
	} stop;
	int stops_killed;
	void *db; /* a reader of the state: sqlite3 * */
	int faults; /* of the product's, seen on the way */
};

/* Makes the state, the team and, unless direct_only, the host and its guests. */
int scene_open(struct scene *s);
/* The same in two steps: the folders, then what stands in them. */
int scene_place(struct scene *s);
int scene_begin(struct scene *s);
/* Opens the state's database as a reader, `db`. */
int scene_look(struct scene *s);
/* Ends all processes and, if `remove`, removes the folder; how many were left. */
int scene_close(struct scene *s, bool remove);

void scene_start_host(struct scene *s);
void scene_start_client(struct scene *s, int i, const char *how);
/* Sees who ended and starts what is due; `dead` counts as a fault of its own. */
void scene_tend(struct scene *s, bool respawn);
/* With SIGKILL; false if it does not run, or was killed already. */
bool scene_kill(struct part *p);
/* Makes a call as the operator; `args` is taken over. Returns the answer, or NULL and
 * a fault. */
json_t *scene_ask(struct scene *s, const char *name, json_t *args, struct fault *f);
/* A guest that runs, seen to be the process that its row means; 0: none. */
pid_t scene_guest(struct scene *s);
/* A number that a query gives; -1 when it cannot be asked. */
int64_t scene_number(struct scene *s, const char *sql);
/* Waits until a query gives 0; false when time is up. */
bool scene_await(struct scene *s, const char *sql, int ms);
/* How far the vault is behind the rows when the host has had `ms` for it. */
int64_t scene_mirror_lag(struct scene *s, int ms);
/* Starts the guests of failed workspaces again, as the operator. */
void scene_revive(struct scene *s);

/* --- stop.c ------------------------------------------------------------------------- */

/* Stops the team, and lets it go on after a while. */
void scene_stop(struct scene *s);
/* Stops and goes on when due; scene_tend() calls this function. */
void scene_stop_tend(struct scene *s);
/* The command has ended. */
void scene_stop_ended(struct scene *s);

/* --- settle.c ----------------------------------------------------------------------- */

/* Lets all go on until there is something to judge: mail that was acknowledged,
 * commands that ran. */
void scene_work_on(struct scene *s);
/* Clients end, the host starts once more; open calls are asked again;
 * assigned commands run to their end, and their results are fetched. */
void scene_settle(struct scene *s);

/* --- judge.c ------------------------------------------------------------------------ */

/* Compares the journals with the rows; each finding is printed.  How many. */
int judge(const struct scene *s);

#endif
