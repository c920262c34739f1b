/*
 * guest_inside - declarations that the guest's own files share.
 */
#ifndef GUEST_GUEST_INSIDE_H
#define GUEST_GUEST_INSIDE_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <uv.h>

#include "core/base/arena.h"
#include "core/base/fault.h"
#include "core/link/link.h"
#include "core/wire/frame.h"
#include "guest/guest.h"
#include "guest/proc.h"
#include "storage/spool/spool.h"

/* A third kind of socket besides WIRE_CONTROL and WIRE_RELAY. The door's socket is used by
 * commands of the workspace. */
enum { WIRE_DOOR = 4 };

enum {
	LINKS = 64, /* connections per socket */
	JOBS = 1000,
	AT_ONCE = 4, /* limit of running assignments */
	MESSAGE_ID = 128, /* bytes of a message's id */
	BEAT_MS = 5000,
	GREET_MS = 10000, /* a stranger's time limit for its Hello */
	/* Bytes of a frame that texts may take. The other bytes of the frame are for the
	 * message's fields and id. */
	FRAME_ROOM = FRAME_MAX - 4096,
};

struct guest;

struct listener {
	struct guest *guest;
	struct link_ear *ear;
	unsigned port; /* WIRE_CONTROL, WIRE_RELAY or WIRE_DOOR */
	int n_peers;
};

/* An assignment that runs, or whose result waits to be stored. */
struct guest_assignment {
	struct guest *guest;
	struct proc *run; /* NULL: the place is free */
	char *message_id, *task_id;
	bool cancelled; /* the assignment was cancelled */
};

struct guest {
	const struct guest_options *options;
	uv_loop_t loop;
	char *dir; /* resolved path of the workspace */
	char *state; /* resolved path of the guest's own folder */
	int root; /* descriptor of the workspace's folder */
	int lock; /* descriptor of the lock in the state folder */
	struct spool *spool;
	char boot_id[37];
	uint64_t started; /* loop time of the start */
	bool spool_settled; /* the host knows this spool: assignments may begin */
	bool halted; /* commands are stopped, and no command begins */
	bool leaves; /* ended commands may have left processes behind */
	struct pollfd *dying; /* killed processes that may still exist */
	size_t n_dying;
	bool stopping;
	bool lost; /* the spool is gone, so the guest ends */

	struct listener listeners[3];
	struct peer *peers;
	char buffer[256 << 10]; /* bytes just read from a peer */

	/* guest_door.c: the host's control connection, the team and agent named by the host,
	 * and the door's path. guest_ask.c: the requests to the host. */
	struct peer *host;
	char team[72], agent[72];
	char door[600]; /* path of the door's socket */
	struct asking *asking;
	int64_t last_asking;

	struct guest_http *front; /* guest_http.c; NULL: no HTTP door */

	struct upload *uploads; /* guest_file.c */
	int n_uploads;

	struct proc *runs; /* all processes */
	struct background_job *jobs;
	int n_jobs, last_job, last_ended;
	int turn_job; /* job of the agent's newest turn; 0: no turn */
	struct guest_assignment duties[AT_ONCE];

	uv_signal_t on_child, on_term, on_int, on_look;
	uv_timer_t beat, again, end;
};

/* Stops taking work, ends running commands, and then ends the loop. The next guest reports that
 * the assignments of these commands were interrupted. */
void guest_stop(struct guest *g);

/* Ends the guest if its spool is gone from its folder: without the spool the next guest would
 * not know the assignments that this guest accepts. */
void guest_check(struct guest *g);

/* --- guest.c ---------------------------------------------------------------------- */

struct pair;

/* Checks that a command may get this variable: 0 or a fault. */
int guest_env_check(const char *name, const char *where, struct fault *f);

/* Makes the environment of a command: the guest's own variables, then the variables of SetEnv,
 * then `more`. */
int guest_env(struct guest *g, const struct pair *more, size_t n, struct arena *a,
	      char ***out, struct fault *f);

/* --- guest_file.c ----------------------------------------------------------- */

/* Turns `path` into a path from the root of the workspace without `.` and `..`. The result for
 * the root is ".". A path that leads out of the workspace is FAULT_DENIED. In a VM, however, an
 * absolute path may lead out and stays absolute. A path into the guest's own folder is
 * FAULT_NOT_FOUND. If the workspace's folder is gone, every path is FAULT_NOT_FOUND. */
int guest_path(struct guest *g, const char *path, const char *where, struct arena *a,
	       const char **out, struct fault *f);

/* Whether the guest's own folder is, or lies in, the workspace's folder. */
bool guest_state_inside(const struct guest *g);

/* Opens a clean path below `root`, or an absolute path below `/`. Follows no symlink. */
int guest_path_open(int root, const char *path, int flags, const char *where,
		    struct fault *f);

/* Opens a regular file for reading. Follows no symlink. Other kinds of files are refused before
 * open(), because open() of a pipe would wait, and open() of a device may make the device act. */
int guest_file_open(int root, const char *path, struct stat *st, const char *where,
		    struct fault *f);

/* Opens a working directory for a command, in the workspace or below /tmp. A path below
 * /workspace always means the workspace, also outside a VM. Symlinks are allowed if they stay
 * below the root. */
int guest_workdir(struct guest *g, const char *path, struct arena *a, struct fault *f);

/* The fault for an errno. */
int guest_path_fault(int error, const char *where, const char *path, struct fault *f);

/* --- guest_serve.c -------------------------------------------------------- */

/* Kills processes of this guest's commands and of an earlier guest's commands. If `turn` is not
 * 0, kills only processes of that turn. The spool must be open. Killed processes are kept in
 * g->dying until they have ended. If `group` is not 0, the processes of `group` are kept in
 * g->dying, too. */
void guest_kill_orphans(struct guest *g, int64_t turn, pid_t group);

/* Waits at most `ms` for the end of the killed processes. Returns true if all have ended. */
bool guest_orphans_ended(struct guest *g, int64_t ms);

#endif
