/*
 * crash - the parts of the crash proof, which the power proof also uses.
 *
 * crash.c kills processes. worker.c is one client, and journal.c writes the answers that the
 * client got. scene.c makes the state and starts the processes, and stop.c stops all teams.
 * settle.c ends the proof, and judge.c checks the rules.
 *
 * BASE is a temporary folder with state/ (CADRE_HOME), runtime/ (sockets), journal/NAME,
 * runs/KEY (a line for each run of the command) and log.
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
	DAEMONS = 3, /* members with a workspace, if there is a host */
	LEASE_S = 2, /* lease of a message */
	CLAIM_S = 5, /* lease of a task: the shortest that is allowed */
};

extern const char *const client_names[CLIENTS];
extern const char *const daemon_names[DAEMONS];

/* --- worker.c: this program as a client ----------------------------------------- */

/* crash --worker BASE NAME SEED HOW: works until its standard input ends. HOW has the letters d
 * (never uses the socket), r (assigns commands) and s (only settles its open calls and drains
 * its inbox). */
int worker_main(int argc, char **argv);

/* --- scene.c ------------------------------------------------------------------------ */

struct part {
	pid_t pid; /* 0: not running */
	int in; /* the pipe's end that, while open, keeps a worker at work */
	int64_t respawn_at;
	bool killed; /* by the test */
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
		pid_t pid; /* of the running command; 0: no command runs */
		int64_t kill_at; /* when to kill the command; 0: never */
		int64_t thaw_at; /* when to thaw the team; 0: do not thaw it */
		int thaws; /* thaws begun; at least one, as a killed stop may act late */
	} stop;
	int stops_killed;
	void *db; /* connection that reads the state: sqlite3 * */
	int faults; /* faults of the product seen before the judge runs */
};

/* Makes the state, the team and, unless direct_only, the host and its guests. */
int scene_open(struct scene *s);
/* scene_open() in two steps: scene_place() makes the folders, scene_begin() fills them. */
int scene_place(struct scene *s);
int scene_begin(struct scene *s);
/* Opens the state's database for reading, as `db`. */
int scene_look(struct scene *s);
/* Ends all processes and, if `remove`, removes the folder. Returns how many processes were
 * still running. */
int scene_close(struct scene *s, bool remove);

void scene_start_host(struct scene *s);
void scene_start_client(struct scene *s, int i, const char *how);
/* Collects the processes that ended. If `respawn`, starts those that are due again. */
void scene_tend(struct scene *s, bool respawn);
/* Kills the process with SIGKILL. False if the process does not run, or was killed before. */
bool scene_kill(struct part *p);
/* Makes a call as the operator; `args` is taken over. Returns the answer, or NULL and
 * a fault. */
json_t *scene_ask(struct scene *s, const char *name, json_t *args, struct fault *f);
/* Returns the process of a running guest after checking that its row names this process; 0 if
 * no guest runs. */
pid_t scene_guest(struct scene *s);
/* Returns the number that the query gives, or -1 if the query fails. */
int64_t scene_number(struct scene *s, const char *sql);
/* Waits until the query gives 0. False after `ms`. */
bool scene_await(struct scene *s, const char *sql, int ms);
/* Waits up to `ms` for the host to mirror all rows. Returns how far the vault is behind. */
int64_t scene_mirror_lag(struct scene *s, int ms);
/* Starts the guests of failed workspaces again, by the operator's calls. */
void scene_revive(struct scene *s);

/* --- stop.c ------------------------------------------------------------------------- */

/* Stops the team, and sets a time to thaw it. */
void scene_stop(struct scene *s);
/* Kills the command or thaws the team when due. scene_tend() calls this function. */
void scene_stop_tend(struct scene *s);
/* Notes that the command has ended. */
void scene_stop_ended(struct scene *s);

/* --- settle.c ----------------------------------------------------------------------- */

/* Lets all processes go on until enough messages were acknowledged and enough commands ran. */
void scene_work_on(struct scene *s);
/* Ends the clients and starts the host once more. Then the clients repeat their open calls,
 * assigned commands run to their end, and the clients fetch the results. */
void scene_settle(struct scene *s);

/* --- judge.c ------------------------------------------------------------------------ */

/* Compares the journals with the rows and prints each finding. Returns the number of findings. */
int judge(const struct scene *s);

#endif
