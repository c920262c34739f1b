/*
 * reconcile - makes workspaces be what their rows say.
 *
 * Operations only write rows; this reads them (at start, after each operation
 * on workspaces or teams, and every few seconds), and makes, starts, stops
 * and destroys until both agree.  So a crash in between is finished at the
 * next start, and a guest that lived on is found again by its pid, start time
 * and boot.
 */
#ifndef CORE_HOST_WORKSPACES_RECONCILE_H
#define CORE_HOST_WORKSPACES_RECONCILE_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "core/host/workspaces/hosted_workspace.h"

struct reconcile {
	uv_timer_t timer;
	struct hosted_workspace *places;
	int busy, slow; /* works with the thread pool; those that copy bytes */
	int64_t read_at, round; /* the last reading: when, and its number */
	struct chain asked; /* calls for places that are not known yet */
	bool reading, again, swept;
	bool sweeping; /* guests of a former state are being ended: nothing is started */
};

/* Rows, or guests, may have changed. */
void reconcile_poke(struct host *host);

/* Takes the job of a call that the workspace's place has to do something for;
 * conn_answer() gets it when that is done. */
void reconcile_ask(struct host *host, struct job *job);

/* The workspace of a row; NULL: it is not known. */
struct hosted_workspace *reconcile_place(struct host *host, int64_t row);
/* Whether a copy of the workspace is still to be made. */
bool reconcile_is_forked(struct host *host, int64_t row);

#endif
