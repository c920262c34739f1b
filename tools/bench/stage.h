/*
 * stage - a separate state with agents, and a host that serves the state.
 *
 * A scene holds what the acts of a bench share: the stages, and the servers, files and
 * processes that the acts open.
 */
#ifndef TOOLS_BENCH_STAGE_H
#define TOOLS_BENCH_STAGE_H

#include "core/client/client.h"
#include "tools/bench/bench.h"

struct stage {
	struct bench_ground *ground;
	char dir[256];
	struct home home;
	struct client *client; /* opened when first needed */
	json_t *team; /* the answer of team.create, with the tokens */
	pid_t host;
};

/* Makes a fresh state in the folder `name`. */
int stage_open(struct stage *s, struct bench_ground *g, const char *name);
/* Makes team `t` with agents a0, a1, ... If `capacity` is 0, inboxes have no limit. */
int stage_team(struct stage *s, int agents, int capacity);
/* Closes the client, so that the client does not have the state open beside a host or a direct
 * writer. */
void stage_leave(struct stage *s);
int stage_serve(struct stage *s); /* starts the host and waits until the host is ready */
void stage_stop(struct stage *s); /* ends the host */
void stage_close(struct stage *s); /* ends the host, and removes the folders */

const char *stage_token(const struct stage *s, int agent);
void stage_http(const struct stage *s, char path[120]); /* the host's HTTP socket */
/* Runs one operation as the operator. `json` holds the operation's arguments. */
int stage_call(struct stage *s, const char *op, const char *json, struct text *out);

/* Makes team `g` with the arguments `args`, and waits for the team's workspaces. */
int stage_make_ready(struct stage *s, const char *args);
/* Ends team `g`, if a host serves this team. Without this call the team's guests would outlive
 * the host. */
void stage_end_team(struct stage *s);

/* --- fill.c: rows of a large state ------------------------------------------------- */

/* Fills a board with ready tasks. */
int fill_tasks(struct stage *s, int64_t n);
/* Fills a state with old messages that were all acknowledged. Half of the messages have keys of
 * 16 random bytes. */
int fill_history(struct stage *s, int64_t n);

/* --- the scene ---------------------------------------------------------------------- */

/* A server that the bench has started: Redis or PostgreSQL. */
struct bench_peer {
	pid_t pid;
	char dir[256], socket[300];
};
void peer_close(struct bench_peer *p);

struct bench_floor;
struct guests;

/* A file for writes of 4 KiB. An fdatasync follows each write. */
struct floor_page {
	char path[300];
	int fd, n;
};

struct scene {
	struct bench_ground *ground;
	const struct bench *bench;
	bool skipped; /* this machine cannot open the scene */
	char dir[256]; /* folder for files and guests; made when first needed */
	struct stage stages[2];
	/* The members from `peer` to `echo_fd` are opened by the first act that needs them. */
	struct bench_peer peer;
	struct bench_floor *floor;
	struct floor_page page;
	pid_t echo;
	int echo_fd;
	struct series beside; /* times of the load beside a crowd */
	/* Members for acts with guests. */
	struct guests *guests;
	pid_t guest;
	int fifo;
	int *followers;
	double mib; /* memory of the first host before the act */
};

/* Opens the stages that the bench describes. */
scene_opener scene_open;
int scene_folder(struct scene *s); /* the first call makes the folder s->dir */
void scene_close(struct scene *s); /* ends the scene's processes, and frees the scene */

/* Scenes and acts of the table. */
scene_opener scene_search, scene_limits, scene_broadcast;
scene_opener scene_followers, scene_file, scene_push, scene_fanout, scene_turns,
	scene_boot;
act_run act_command, act_copy, act_mirror, act_plain_files, act_push, act_turn;
act_run act_boot, act_bare_boot, act_resident;

/* Raises this process's limit of open files. */
int stage_allow_files(unsigned n);
/* With `many`, hosts that start after this call let a team have a thousand workspaces. Without
 * `many`, restores the usual limit. */
void stage_let_many(bool many);

/* --- floor.c ------------------------------------------------------------------- */

/* Acts that do the same work as acts of cadre, but without cadre. Such acts measure the costs
 * of SQLite, the disk and the kernel. */
void floor_close(struct scene *s); /* closes the scene's floor and page */

/* Writes messages. Each commit has a.batch messages. A message has four rows, and as many bytes
 * as a message of cadre. If a.batch is 0, writes one message to 1,000 agents in one statement
 * and one commit. */
act_run act_rows;
/* Does the work that a command of cadre cannot avoid. A process that is linked with the
 * command's libraries opens a file, and reads or commits one row (a.text is "read" or
 * "commit"). Then the act makes a.syncs bare calls of fdatasync, and a.trips round trips to
 * another process. */
act_run act_bare;

double floor_sync(struct scene *s); /* ms of a 4 KiB write with its fdatasync, or -1 */
int floor_need_file(struct scene *s); /* makes raw.sqlite in s.dir, with the tables and
					 one row */

/* The main function of `bench floor read|commit FILE`. */
int floor_main(const char *what, const char *path);

/* --- bench_crowd.c ------------------------------------------------------------------- */

/* Processes that do one thing again and again, each at its own pace. */
struct crowd_task {
	int n; /* number of processes */
	double rest; /* pause between two runs, in seconds */
	void *(*open)(struct scene *s); /* called in each process; returns NULL on
					   failure */
	int (*once)(void *own);
};
extern const struct crowd_task crowd_locked; /* 8 processes that take a lock, insert a row
						and sync */
extern const struct crowd_task crowd_direct; /* 8 processes that open the state themselves
						and send messages */
extern const struct crowd_task crowd_syncs; /* one process that calls a bare fdatasync */

/* Measures the times of a.crowd. If a.script is set, the script's load runs at the same time,
 * and s.beside gets the load's times. */
act_run act_crowd;
/* Measures the load's times while a.crowd runs. Without a crowd, returns the times in s.beside. */
act_run act_beside;

/* --- guests.c ------------------------------------------------------------------ */

/* A child process at the other end of a host's connections to guests. The child helps to
 * measure the cost of the host itself. A child of the kind `light guests` answers in place of
 * any number of guests at one folder (unix:FOLDER), and stores nothing. As a tap, the child
 * passes on all traffic between a host and one real guest without a change. Both kinds of child
 * report each answered push. */
/* Listens at control.sock and relay.sock in `folder`. If `behind` is a folder, passes all input
 * on to the sockets of the same names in `behind`. If `behind` is NULL, answers the input
 * itself. */
struct guests *guests_open(const char *folder, const char *behind);
void guests_close(struct guests *g); /* `g` may be NULL */

/* Gives a guest to each of the first `n` agents (a0, a1, ...) of team t. The host reaches these
 * guests at `folder`. */
int guests_attach(struct stage *s, int n, const char *folder);

/* Waits until guests have answered `n` pushes with Ok since the previous call. Returns -1 if no
 * push is answered for a minute. */
int guests_await(struct guests *g, int n);

#endif
