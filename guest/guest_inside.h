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

/* The kind of the door's socket, which commands of the workspace use. The other kinds of
 * sockets are WIRE_CONTROL and WIRE_RELAY. */
enum { WIRE_DOOR = 4 };

enum {
	LINKS = 64, /* connections per socket */
	JOBS = 1000,
	AT_ONCE = 4, /* limit of running assignments */
	MESSAGE_ID = 128, /* bytes of a message's id */
	BEAT_MS = 5000,
	GREET_MS = 10000, /* time in which a stranger (guest_peer.h) must send its
			     Hello */
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
	bool spool_settled; /* the host knows this spool, so assignments may begin */
	bool halted; /* commands are stopped, and no command begins */
	bool leaves; /* ended commands may have left processes behind */
	struct pollfd *dying; /* killed processes that may still exist */
	size_t n_dying;
	bool stopping;
	bool lost; /* the spool is gone, so the guest ends */

	struct listener listeners[3];
	struct peer *peers;
	char buffer[256 << 10]; /* bytes just read from a peer */

	/* The next members belong to guest_door.c: the host's control connection, the team and
	 * the agent that the host named, and the door's path. The members `asking` and
	 * `last_asking` belong to guest_ask.c, which sends requests to the host. */
	struct peer *host;
	char team[72], agent[72];
	char door[600]; /* path of the door's socket */
	struct asking *asking;
	int64_t last_asking;

	struct guest_http *front; /* belongs to guest_http.c; NULL: the guest has no HTTP
				     door */

	struct upload *uploads; /* belongs to guest_file.c */
	int n_uploads;

	struct proc *runs; /* all processes of commands */
	struct background_job *jobs;
	int n_jobs, last_job, last_ended;
	int turn_job; /* job of the agent's running turn; 0: no turn runs */
	struct guest_assignment duties[AT_ONCE];

	uv_signal_t on_child, on_term, on_int, on_look;
	uv_timer_t beat, again, end;
};

/* Refuses new work, ends running commands, and then ends the event loop. The next guest reports
 * that the assignments of the ended commands were interrupted. */
void guest_stop(struct guest *g);

/* Ends the guest if somebody has removed the spool's file from its folder. Without the spool,
 * the next guest would not know the assignments that this guest accepts. */
void guest_check(struct guest *g);

/* --- guest.c ---------------------------------------------------------------------- */

struct pair;

/* Checks that a command may get the variable `name`. Returns 0 or a fault. */
int guest_env_check(const char *name, const char *where, struct fault *f);

/* Makes the environment of a command from the guest's own variables, the variables of SetEnv,
 * and `more`. A later variable replaces an earlier variable of the same name. */
int guest_env(struct guest *g, const struct pair *more, size_t n, struct arena *a,
	      char ***out, struct fault *f);

/* --- guest_file.c ----------------------------------------------------------- */

/* Turns `path` into a path from the root of the workspace without `.` and `..`. The result for
 * the root is ".". A path that leads out of the workspace fails with FAULT_DENIED. In a VM,
 * however, an absolute path may lead out of the workspace and stays absolute. A path into the
 * guest's own folder fails with FAULT_NOT_FOUND. If the workspace's folder is missing, every
 * path fails with FAULT_NOT_FOUND. */
int guest_path(struct guest *g, const char *path, const char *where, struct arena *a,
	       const char **out, struct fault *f);

/* Whether the guest's own folder lies in the workspace's folder or is the workspace's folder. */
bool guest_state_inside(const struct guest *g);

/* Opens a path without `.` and `..`. A relative path begins at the folder `root`. The function
 * follows no symlink. */
int guest_path_open(int root, const char *path, int flags, const char *where,
		    struct fault *f);

/* Opens a regular file for reading. A path with a symlink is refused. Other kinds of files are
 * refused before open(), because open() of a pipe would wait, and open() of a device may make
 * the device act. */
int guest_file_open(int root, const char *path, struct stat *st, const char *where,
		    struct fault *f);

/* Opens a working directory for a command. The directory is in the workspace, below /tmp, or,
 * in a VM, at any path. A path below /workspace means a path below the workspace's folder, also
 * outside a VM. Relative symlinks are followed, unless they lead out of the folder from which
 * the path begins. Absolute symlinks are refused. */
int guest_workdir(struct guest *g, const char *path, struct arena *a, struct fault *f);

/* Fills the fault for the errno `error`, and returns its code. */
int guest_path_fault(int error, const char *where, const char *path, struct fault *f);

/* --- guest_serve.c -------------------------------------------------------- */

/* Kills processes of this guest's commands and of an earlier guest's commands. If `turn` is not
 * 0, kills only processes of that turn. The spool must be open. g->dying holds the killed
 * processes until they have ended. If `group` is not 0, g->dying also holds the processes of
 * the process group `group`. */
void guest_kill_orphans(struct guest *g, int64_t turn, pid_t group);

/* Waits at most `ms` milliseconds until the killed processes have ended. Returns true if all
 * killed processes have ended. */
bool guest_orphans_ended(struct guest *g, int64_t ms);

#endif
