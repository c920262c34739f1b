/*
 * hosted_workspace - a workspace as the host knows it, and the steps towards its row.
 *
 * hosted_workspace.c decides what comes next, does what takes long on the thread pool, one
 * thing at a time for each workspace, and writes down what became of it.
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
 * The thread pool does at most one work for a workspace at a time.  While it does, `busy`
 * is set, and `work`, `fault` and `asking` belong to that work; no step is taken and
 * no row read, so the state a work ends in is the one that it began in.  While its disk is
 * being forked it is `busy`, too; the fork's `lender` says whose disk it is.
 *
 *	MAKE, RESTORE, START     only CREATING and READY: in this order, each until it is done;
 *	                         MAKE also FAILED, to look for what was missing
 *	DESTROY                  only DESTROYED
 *	SNAPSHOT, FORGET         in any state: calls ask for them
 *
 *	`made`: MAKE is done, or it was found whole.   `restored`: RESTORE is done, and its
 *	note is on its way.   `noted`: the row has a pid, to be taken away when it has ended.
 *	`noting` > 0: rows may be older than what was noted, and are not taken.
 */
enum { HOSTED_OVER = -1 }; /* a state that no row has: nothing is left to do */

enum work {
	WORK_MAKE,
	WORK_START,
	WORK_DESTROY,
	WORK_SNAPSHOT,
	WORK_FORGET,
	WORK_RESTORE
};

enum whence { BY_HOST, BY_ROW }; /* author of a change of state */

struct hosted_workspace {
	struct host *host;
	struct hosted_workspace *next;
	int64_t row, team_row, agent_row, parent_row, generation;
	int64_t state; /* enum workspace_state, or HOSTED_OVER */
	int64_t slot; /* of a VM in the network; 0: none */
	struct nic nic; /* that spec.tap and the like point into */
	const struct backend *backend; /* of its backend */
	struct workspace_spec spec; /* its texts are `texts` */
	char *texts;
	const char *restore; /* of `texts`: snapshot to be put back, or NULL */
	struct hosted_guest *guest;
	struct process process; /* pid 0: none that we know of */
	char boot_told[72]; /* of the guest that was told last */
	char spool[72]; /* that accepted; "": none */
	int64_t spool_seq;
	bool stopped; /* its team is: commands stand still */
	bool noted; /* the row has a pid */
	bool listed; /* in the rows that were read last */
	bool made; /* its directory or disk is whole */
	bool restored; /* the snapshot is put back, but the row does not say so yet */
	int noting; /* notes on their way: rows may be older */
	int64_t stale_round; /* rows of this reading are older than a note */
	bool busy; /* with the thread pool, or lent to a fork: left alone */
	enum work work;
	struct hosted_workspace *fork_source; /* whose disk is being forked */
	struct chain asked; /* calls that wait for it: snapshots, forks */
	struct job *asking; /* the call that `work` serves */
	uv_work_t request;
	int source_held; /* trash_hold() of what it is made of, until it is made; -1: none */
	int64_t left_out; /* sockets, pipes and devices, and the `.cadre`, that were not
			     copied by that work */
	struct fault fault; /* of that work; of a failed hosted workspace: why */
	int64_t start_at, pause_ms, started_at, stop_at;
	int64_t unreached_at; /* when its guest was first seen out of reach; 0: it is not */
	int64_t look_at, look_ms; /* when the host looks for what is missing; 0: never */
	bool killed; /* this host ended its guest, and starts another */
	bool ran; /* its guest, since it was stopped: the next start is a restart */
	int deaths; /* in a row, soon after a start; this host's doing is none */
};

/* Takes one step towards the row; true when there is more to come soon. */
bool hosted_step(struct hosted_workspace *p, int64_t now);
/* Frees a workspace; calls that still wait for it are answered with `conflict`. */
void hosted_free(struct hosted_workspace *p);
/* Kills the guest of a workspace, for the reason that the log is told: it is started again as after
 * any end.  False where no process of it is known. */
bool hosted_workspace_kill(struct host *host, int64_t row, const char *why);
/* Sets the state; no other function changes the state of a workspace that is known.
 * `whence` says whether the row or the host decided it. */
void hosted_become(struct hosted_workspace *p, int64_t state, enum whence whence);

/* Plans a look for what a failed workspace lacks: once that is there the workspace goes
 * on. */
void hosted_look_again(struct hosted_workspace *p);

/* Holds the trash entry that the workspace is made of, as long as it is being made. */
void hosted_hold_source(struct hosted_workspace *p);

/* Answers all these calls with a fault. */
void hosted_refuse(struct chain *asked, enum fault_code code, const char *why);

/* Whether the workspace of this row is a VM that was started and is not there yet. */
bool hosted_boots(const struct host *host, int64_t row);

#endif
