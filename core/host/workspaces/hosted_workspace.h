/*
 * hosted_workspace - a workspace as the host knows it, and the steps towards its row.
 *
 * hosted_workspace.c chooses the next step of a workspace, and notes the result in the row. The
 * thread pool does the slow work, at most one work at a time for each workspace.
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
 * The row's state is the wanted state.  `R`: another writer changed the row.  The host
 * takes all other steps, and notes them in the row.
 *
 *	             MAKE, RESTORE, START; the guest answers
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
 * Rows are read only now and then, and a note may be refused.  So a reading can find any
 * state after any other state, with two exceptions: DESTROYED is final, and HOSTED_OVER
 * has no next state.  hosted_become() knows the same steps.
 *
 * The thread pool does at most one work for a workspace at a time. During the work `busy` is
 * set, and `work`, `fault` and `asking` belong to the work. During a work no step is taken and
 * no row is read, so the state does not change. A workspace is also `busy` while its disk is
 * being forked; `fork_source` of the fork points to this workspace.
 *
 *	MAKE, RESTORE, START     only CREATING and READY: in this order, each until it succeeds;
 *	                         MAKE also FAILED, to look for what was missing
 *	DESTROY                  only DESTROYED
 *	SNAPSHOT, FORGET         in any state: calls ask for them
 *
 *	`made`: MAKE is done, or the directory or disk was found whole. `restored`: RESTORE
 *	is done, and its note is being written. `noted`: the row has a pid, which is removed
 *	when the process has ended. `noting` > 0: notes are being written, so rows that are
 *	read may be stale, and are ignored.
 */
enum { HOSTED_OVER = -1 }; /* a state that no row has; the workspace is destroyed */

enum work {
	WORK_MAKE,
	WORK_START,
	WORK_DESTROY,
	WORK_SNAPSHOT,
	WORK_FORGET,
	WORK_RESTORE
};

enum whence { BY_HOST, BY_ROW }; /* what changed a state: the host or a row */

struct hosted_workspace {
	struct host *host;
	struct hosted_workspace *next;
	int64_t row, team_row, agent_row, parent_row, generation;
	int64_t state; /* enum workspace_state, or HOSTED_OVER */
	int64_t slot; /* number of a VM in the network; 0: no number */
	struct nic nic; /* memory of the texts spec.tap, spec.mac, spec.ip */
	const struct backend *backend; /* functions for this kind of workspace */
	struct workspace_spec spec; /* the texts of the spec are in `texts` */
	char *texts;
	const char *restore; /* snapshot to restore, in `texts`; or NULL */
	struct hosted_guest *guest;
	struct process process; /* pid 0: no process is known */
	char boot_told[72]; /* boot id of the guest that got the deliveries last */
	char spool[72]; /* spool that accepted assignments; "": none did */
	int64_t spool_seq;
	bool stopped; /* the team is stopped: commands stand still */
	bool noted; /* the row has a pid */
	bool listed; /* the last reading of the rows found the workspace */
	bool made; /* the directory or disk is whole */
	bool restored; /* the snapshot is put back, but the row does not say so yet */
	int noting; /* number of notes being written; above 0: rows may be stale */
	int64_t stale_round; /* number of a reading whose rows are older than a note */
	bool busy; /* work is under way, or a fork copies the disk */
	enum work work;
	struct hosted_workspace *fork_source; /* workspace whose disk is being forked */
	struct chain asked; /* calls that wait for the workspace: snapshots, forks */
	struct job *asking; /* the call that `work` serves */
	uv_work_t request;
	int source_held; /* lock of the source in the trash, until `made`; -1: none */
	int64_t left_out; /* number of files that the work did not copy, such as sockets */
	struct fault fault; /* fault of `work`; in FAILED, the reason */
	int64_t start_at, pause_ms, started_at, stop_at;
	int64_t unreached_at; /* when the guest was first out of reach; 0: the guest is in reach */
	int64_t look_at, look_ms; /* next look for the missing part, 0: none; the pause */
	bool killed; /* this host ended the guest, and starts another */
	bool ran; /* the guest ran since the last stop, so a start is a restart */
	int deaths; /* number of ends in a row, soon after a start and not by this host */
};

/* Takes one step towards the row's state. True: a further step is due soon. */
bool hosted_step(struct hosted_workspace *p, int64_t now);
/* Frees a workspace; calls that still wait for it are answered with `conflict`. */
void hosted_free(struct hosted_workspace *p);
/* Kills the guest of a workspace and logs `why`. The guest is then started again, as after
 * every end of a guest. False: no process of the workspace is known. */
bool hosted_workspace_kill(struct host *host, int64_t row, const char *why);
/* Sets the state; no other function changes the state of a known workspace. `whence` says
 * whether the row or the host decided the change. */
void hosted_become(struct hosted_workspace *p, int64_t state, enum whence whence);

/* Plans a look for the missing part of a failed workspace. When the part exists, the workspace
 * is made. */
void hosted_look_again(struct hosted_workspace *p);

/* Locks the trash entry that the workspace is made from, until the workspace is made. */
void hosted_hold_source(struct hosted_workspace *p);

/* Answers all calls in `asked` with a fault. */
void hosted_refuse(struct chain *asked, enum fault_code code, const char *why);

/* Whether the workspace of this row is a VM that was started and whose guest is not up yet. */
bool hosted_boots(const struct host *host, int64_t row);

#endif
