/*
 * place - a workspace as the host knows it, and the steps towards its row.
 *
 * place.c decides what comes next; place_work.c does what takes long on the
 * thread pool, one thing at a time for each place; place_note.c writes down
 * what became of it.
 */
#ifndef CORE_HOST_WORKSPACES_PLACE_H
#define CORE_HOST_WORKSPACES_PLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "core/base/nic.h"
#include "core/host/queue.h"
#include "core/machine/backend.h"

struct host;
struct tether;

enum work {
	WORK_MAKE,
	WORK_START,
	WORK_DESTROY,
	WORK_SNAPSHOT,
	WORK_FORGET,
	WORK_RESTORE
};

struct place {
	struct host *host;
	struct place *next;
	int64_t row, team_row, agent_row, parent_row, generation, state;
	int64_t slot; /* of a VM in the network; 0: none */
	struct nic nic; /* that spot.tap and the like point into */
	const struct machine *machine; /* of its backend */
	struct spot spot; /* its texts are `texts` */
	char *texts;
	const char *restore; /* of `texts`: snapshot to be put back, or NULL */
	struct tether *tether;
	struct process process; /* pid 0: none that we know of */
	char boot_told[72]; /* of the guest that was told last */
	char spool[72]; /* that accepted; "": none */
	int64_t spool_seq;
	bool noted; /* the row has a pid */
	bool listed; /* in the rows that were read last */
	bool made; /* its directory or disk is whole */
	bool restored; /* what is to be put back is, but its row does not say so yet */
	int noting; /* notes on their way: rows may be older */
	int64_t stale_round; /* rows of this reading are older than a note */
	bool busy; /* with the thread pool, or lent to a fork: left alone */
	enum work work;
	struct place *lender; /* whose disk is being forked */
	struct chain asked; /* calls that wait for it: snapshots, forks */
	struct job *asking; /* the one that `work` is for */
	uv_work_t request;
	int64_t left_out; /* sockets, pipes and devices, and the `.cadre`, that were not
			     copied by that work */
	struct fault fault; /* of that work; of a failed place: why */
	int64_t start_at, pause_ms, started_at, stop_at;
	int deaths; /* in a row, soon after the start */
};

/* Takes one step towards the row; true when there is more to come soon. */
bool place_step(struct place *p, int64_t now);
void place_free(struct place *p);

/* --- place_work.c --------------------------------------------------------------- */

/* False when as much slow work is under way as may be. */
bool place_work(struct place *p, enum work work);
/* Does what calls ask of it, if it can now. */
void place_serve(struct place *p, int64_t now);
/* Answers them all with a fault. */
void place_refuse(struct chain *asked, enum fault_code code, const char *why);
/* A job is back: what follows from it for the place is in place.c. */
void place_worked(struct place *p);

/* Whether the workspace of this row is a VM that was started and is not there yet. */
bool place_boots(const struct host *host, int64_t row);

/* --- place_note.c --------------------------------------------------------------- */

void place_note_process(struct place *p, bool restarted);
/* Only what was being made becomes ready: a stop that came in between stays. */
void place_note_ready(struct place *p);
/* `died`: its VM is gone, and with it what its agent held. */
void place_note_failed(struct place *p, const char *why, bool died);
void place_note_restored(struct place *p);
/* `made` is the row of the snapshot; the call of `job` is answered after that. */
void place_note_snapshot(struct job *job, int64_t made, int64_t state);

#endif
