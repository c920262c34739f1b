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

/* A third kind of socket, beside WIRE_CONTROL and WIRE_RELAY: for commands of the
 * workspace. */
enum { WIRE_DOOR = 4 };

enum {
	LINKS = 64, /* per socket */
	JOBS = 1000,
	AT_ONCE = 4, /* assignments */
	MESSAGE_ID = 128, /* bytes of a message's id */
	BEAT_MS = 5000,
	GREET_MS = 10000, /* a stranger has so long to say Hello */
	/* Bytes of a frame that are left for texts, after a message's own fields and
	 * its id. */
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
	bool cancelled; /* called off: it is being ended */
};

struct guest {
	const struct guest_options *options;
	uv_loop_t loop;
	char *dir; /* the workspace, resolved */
	char *state; /* its own folder, resolved */
	int root; /* and open */
	int lock; /* of the state folder */
	struct spool *spool;
	char boot_id[37];
	uint64_t started; /* loop time */
	bool spool_settled; /* the host knows this spool: assignments may begin */
	bool halted; /* commands stand still, and none begins */
	bool leaves; /* commands have ended, and may have left something behind */
	struct pollfd *dying; /* killed processes that may not have ended */
	size_t n_dying;
	bool stopping;
	bool lost; /* its spool is gone, and so it ends */

	struct listener listeners[3];
	struct peer *peers;
	char buffer[256 << 10]; /* bytes just read from a peer */

	/* guest_door.c: the control line of the host, and whom it says to serve; guest_ask.c:
	 * what it is asked for. */
	struct peer *host;
	char team[72], agent[72];
	char door[600]; /* path of its socket */
	struct asking *asking;
	int64_t last_asking;

	struct guest_http *front; /* guest_http.c; NULL: none */

	struct upload *uploads; /* guest_file.c */
	int n_uploads;

	struct proc *runs; /* all processes */
	struct background_job *jobs;
	int n_jobs, last_job, last_ended;
	int turn_job; /* of the agent's turn that began last; 0: none */
	struct guest_assignment duties[AT_ONCE];

	uv_signal_t on_child, on_term, on_int, on_look;
	uv_timer_t beat, again, end;
};

/* Stops taking work, ends running commands, then the loop.  The next guest reports
 * that the assignments of these commands were interrupted. */
void guest_stop(struct guest *g);

/* Ends the guest if its spool is gone from its folder: the next guest would not know the
 * assignments that this guest accepts. */
void guest_check(struct guest *g);

/* --- guest.c ---------------------------------------------------------------------- */

struct pair;

/* Whether a command may be given this variable. */
int guest_env_check(const char *name, const char *where, struct fault *f);

/* The environment of a command: the guest's, SetEnv's, then `more`. */
int guest_env(struct guest *g, const struct pair *more, size_t n, struct arena *a,
	      char ***out, struct fault *f);

/* --- guest_file.c ----------------------------------------------------------- */

/* A path from the root of the workspace without `.` and `..`; "." for itself.
 * One that leads out is FAULT_DENIED, but an absolute one in a VM, which stays
 * absolute; one into the guest's own folder is FAULT_NOT_FOUND.  Where the workspace's folder is
 * gone, every path is FAULT_NOT_FOUND. */
int guest_path(struct guest *g, const char *path, const char *where, struct arena *a,
	       const char **out, struct fault *f);

/* Whether the guest's own folder is the workspace's, or lies in it. */
bool guest_state_inside(const struct guest *g);

/* Opens a clean path below `root`, or below / if it is absolute; no symlink is
 * followed. */
int guest_path_open(int root, const char *path, int flags, const char *where,
		    struct fault *f);

/* Opens a regular file for reading; no symlink is followed.  Other kinds of files are
 * refused before open(): a pipe would wait, and open() alone may make a device act. */
int guest_file_open(int root, const char *path, struct stat *st, const char *where,
		    struct fault *f);

/* A directory for a command: in the workspace, which /workspace means everywhere, or below /tmp;
 * symlinks that stay below the root are fine. */
int guest_workdir(struct guest *g, const char *path, struct arena *a, struct fault *f);

/* The fault for an errno. */
int guest_path_fault(int error, const char *where, const char *path, struct fault *f);

/* --- guest_serve.c -------------------------------------------------------- */

/* Kills processes of this guest's commands, also commands of an earlier guest; with `turn`, only
 * processes of that turn.  The spool is open.  Killed processes are kept until they have ended,
 * and so are the processes of `group`, if it is not 0. */
void guest_kill_orphans(struct guest *g, int64_t turn, pid_t group);

/* Waits at most `ms` for those that were killed.  True: all have ended. */
bool guest_orphans_ended(struct guest *g, int64_t ms);

#endif
