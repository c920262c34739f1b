/*
 * crash - the parts of the crash proof, which the power proof also uses.
 *
 * crash.c kills processes. worker.c is the program of a client, and journal.c writes the
 * answers that a client got. scene.c makes the state and starts the processes, and stop.c stops
 * and thaws the team. settle.c ends the proof, and judge.c checks the rules.
 *
 * BASE is a temporary folder with state/ (CADRE_HOME), runtime/ (sockets), journal/NAME,
 * runs/KEY (a line for each run of the command that was assigned under KEY) and log.
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
	CLIENTS = 8, /* the first client is the lead */
	DAEMONS = 3, /* members with a workspace, if there is a host */
	LEASE_S = 2, /* lease of a message */
	CLAIM_S = 5, /* the shortest allowed lease of a task */
};

extern const char *const client_names[CLIENTS];
extern const char *const daemon_names[DAEMONS];

/* --- worker.c: this program as a client ----------------------------------------- */

/* `crash --worker BASE NAME SEED HOW` is a client that works until its standard input ends. HOW
 * consists of letters. With d, the client never uses the socket. With r, the client assigns
 * commands. With s, the client only settles its open calls and drains its inbox. */
int worker_main(int argc, char **argv);

/* --- scene.c ------------------------------------------------------------------------ */

struct part {
	pid_t pid; /* 0: the process does not run */
	int in; /* a worker works until this end of a pipe is closed */
	int64_t respawn_at;
	bool killed; /* the test has killed the process */
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
		pid_t pid; /* process of the running command; 0: no command runs */
		int64_t kill_at; /* when to kill the command; 0: never */
		int64_t thaw_at; /* when to thaw the team; 0: never */
		int thaws; /* thaws begun; at least 1 per stop, as a killed stop may act
			      late */
	} stop;
	int stops_killed;
	void *db; /* sqlite3 * that reads the state */
	int faults; /* faults of cadre that were found before judge() runs */
};

/* Makes the state, the team and, unless direct_only, the host and its guests. */
int scene_open(struct scene *s);
/* The two steps of scene_open(). scene_place() makes the folders. scene_begin() starts the host
 * and makes the team. */
int scene_place(struct scene *s);
int scene_begin(struct scene *s);
/* Opens the state's database for reading, as `db`. */
int scene_look(struct scene *s);
/* Ends all processes and, if `remove`, removes the folder BASE. Returns the number of processes
 * that were still running. */
int scene_close(struct scene *s, bool remove);

void scene_start_host(struct scene *s);
void scene_start_client(struct scene *s, int i, const char *how);
/* Reaps the processes that ended. If `respawn`, starts the ended processes that are due to
 * start again. */
void scene_tend(struct scene *s, bool respawn);
/* Kills the process with SIGKILL. Returns false if the process does not run, or was killed
 * before. */
bool scene_kill(struct part *p);
/* Makes a call as the operator, and takes over `args`. Returns the answer, or NULL and a fault. */
json_t *scene_ask(struct scene *s, const char *name, json_t *args, struct fault *f);
/* Returns the process id of a random guest. Returns 0 if no guest runs, or if another process
 * has this id by now. */
pid_t scene_guest(struct scene *s);
/* Returns the number that the query gives, or -1 if the query fails. */
int64_t scene_number(struct scene *s, const char *sql);
/* Waits until the query gives 0. Returns false if the query does not give 0 within `ms`. */
bool scene_await(struct scene *s, const char *sql, int ms);
/* Waits up to `ms` for the host to mirror all rows. Returns the lag of the mirror, as
 * mirror_lag() gives it. */
int64_t scene_mirror_lag(struct scene *s, int ms);
/* Starts the guests of failed workspaces again, by the operator's calls. */
void scene_revive(struct scene *s);

/* --- stop.c ------------------------------------------------------------------------- */

/* Stops the team, and sets a time to thaw the team. */
void scene_stop(struct scene *s);
/* Kills the command at kill_at, and thaws the team at thaw_at. scene_tend() calls this
 * function. */
void scene_stop_tend(struct scene *s);
/* Records that the command that stops or thaws the team has ended. */
void scene_stop_ended(struct scene *s);

/* --- settle.c ----------------------------------------------------------------------- */

/* Lets all processes work on until enough messages are acknowledged and enough commands have
 * run. */
void scene_work_on(struct scene *s);
/* Ends the clients and starts the host once more. Afterwards the clients repeat their open
 * calls, assigned commands run to their end, and the clients fetch the results. */
void scene_settle(struct scene *s);

/* --- judge.c ------------------------------------------------------------------------ */

/* Compares the journals with the rows and prints each finding. Returns the number of findings. */
int judge(const struct scene *s);

#endif
