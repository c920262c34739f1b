/*
 * hosted_workspace - a workspace as the host knows it, and the steps that make it match its
 * row.
 *
 * hosted_workspace.c chooses the next step of a workspace, and writes the result into the row.
 * The thread pool does the slow work, at most one piece of work at a time for each workspace.
 */
#ifndef CORE_HOST_WORKSPACES_HOSTED_WORKSPACE_H
#define CORE_HOST_WORKSPACES_HOSTED_WORKSPACE_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "core/base/nic.h"
#include "core/host/queue.h"
#include "core/machine/backend.h"

struct host;
struct hosted_guest;

/*
 * The state in the row is the wanted state. `R`: another writer changed the row. The host takes
 * all other steps, and writes each new state into the row.
 *
 *	             RESTORE, MAKE, START; the guest answers
 *	CREATING ------------------------------------------> READY   START again when
 *	   ^  |                                              |   |    its guest died
 *	   |  |  work failed, the VM ended, no answer,       |   |
 *	   |  |  the guest keeps dying                       |   |
 *	   |  +-----------------> FAILED <-------------------+   |
 *	   |  MAKE: the missing part|                            |
 *	   +-- is there, R: start --+-- STOPPED <--- R: stop ----+
 *
 *	R: destroyed, or no row any more --> DESTROYED --DESTROY--> HOSTED_OVER, freed.
 *
 * Rows are read only now and then, and the host's update of a row may be refused. So a reading
 * can find any state after any other state, with two exceptions. In a row, DESTROYED is final;
 * and no state follows HOSTED_OVER. hosted_become() enforces the steps of this diagram.
 *
 * The thread pool does at most one piece of work (enum work) for a workspace at a time. During
 * the work `busy` is set, and `work`, `fault` and `asking` belong to the work. While a
 * workspace is `busy`, the host takes no step for the workspace and ignores its row, so its
 * state does not change. A workspace is also `busy` while its disk is being forked;
 * `fork_source` of the new workspace then points to the forked workspace.
 *
 *	RESTORE, MAKE, START     only in CREATING and READY, in this order;
 *	                         MAKE also in FAILED, to look for the missing part
 *	DESTROY                  only in DESTROYED
 *	SNAPSHOT, FORGET         in any state: calls ask for them
 *
 *	`made`: MAKE is done, or the directory or disk was found complete. `restored`:
 *	RESTORE is done, and the row is being updated. `noted`: the row contains a pid, which
 *	is removed when the process has ended. `noting` > 0: the row is being updated, so a
 *	row that is read may be stale, and is ignored.
 */
enum { HOSTED_OVER = -1 }; /* the workspace is destroyed; no row has this state */

enum work {
	WORK_MAKE,
	WORK_START,
	WORK_DESTROY,
	WORK_SNAPSHOT,
	WORK_FORGET,
	WORK_RESTORE
};

enum whence { BY_HOST, BY_ROW }; /* what changed a workspace's state */

struct hosted_workspace {
	struct host *host;
	struct hosted_workspace *next;
	int64_t row, team_row, agent_row, parent_row, generation;
	int64_t state; /* enum workspace_state, or HOSTED_OVER */
	int64_t slot; /* number of the VM's place in the network; 0: no place */
	struct nic nic; /* holds the texts to which spec.tap, spec.mac and spec.ip
			   point */
	const struct backend *backend; /* functions for this kind of workspace */
	struct workspace_spec spec; /* the texts of the spec are in `texts` */
	char *texts;
	const char *restore; /* id of the snapshot to restore, in `texts`; or NULL */
	struct hosted_guest *guest;
	struct process process; /* pid 0: no process is known */
	char boot_told[72]; /* boot id of the last guest that got all waiting
			       deliveries */
	char spool[72]; /* id of the guest's spool, which has accepted the assignments; or
			   "" */
	int64_t spool_seq;
	bool stopped; /* the workspace's team is stopped, so the guest's commands are
			 suspended */
	bool noted; /* the row contains a pid */
	bool listed; /* the last reading of the rows found the workspace */
	bool made; /* the directory or disk is complete */
	bool restored; /* RESTORE is done; the update of the row is under way */
	int noting; /* updates of the row under way; above 0: a read row may be stale */
	int64_t stale_round; /* number of a reading that may have found the row as it was
				before an update */
	bool busy; /* work is under way, or a fork copies the disk */
	enum work work;
	struct hosted_workspace *fork_source; /* workspace whose disk is being forked */
	struct chain asked; /* calls that wait for the workspace: snapshots, forks */
	struct job *asking; /* the call that `work` serves */
	uv_work_t request;
	int source_held; /* descriptor that locks the trash entry from which the workspace
			    is copied; -1: no lock */
	int64_t left_out; /* number of entries that the work has not copied */
	struct fault fault; /* fault of `work`; in FAILED, the reason of the failure */
	int64_t start_at, pause_ms, started_at, stop_at;
	int64_t unreached_at; /* since when the guest is out of reach; or 0 */
	int64_t look_at, look_ms; /* time of the next MAKE, or 0; pause before MAKE */
	bool killed; /* this host ended the guest, and will start a new guest */
	bool ran; /* the guest ran since the last stop, so the next start counts as a
		     restart */
	int deaths; /* number of consecutive starts soon after which the guest ended */
};

/* Takes one step towards the state in the row. Returns true if a further step is due soon. */
bool hosted_step(struct hosted_workspace *p, int64_t now);
/* Frees a workspace; calls that still wait for the workspace are answered with `conflict`. */
void hosted_free(struct hosted_workspace *p);
/* Kills the guest of a workspace and logs `why`. The host then starts the guest again. Returns
 * false if no process of the workspace is known. */
bool hosted_workspace_kill(struct host *host, int64_t row, const char *why);
/* Sets the workspace's state; no other function changes the state of a known workspace.
 * `whence` says whether the row or the host decided the change. */
void hosted_become(struct hosted_workspace *p, int64_t state, enum whence whence);

/* Plans a new try to make a workspace that failed because a folder, a disk or an image was
 * missing. */
void hosted_look_again(struct hosted_workspace *p);

/* Locks the trash entry that will be copied to make the workspace. The lock is released once
 * the workspace is made. */
void hosted_hold_source(struct hosted_workspace *p);

/* Answers all calls in `asked` with a fault. */
void hosted_refuse(struct chain *asked, enum fault_code code, const char *why);

/* Whether the workspace of this row is a VM that was started and whose guest is not up yet. */
bool hosted_boots(const struct host *host, int64_t row);

#endif
