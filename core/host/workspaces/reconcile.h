/*
 * reconcile - makes workspaces match their rows.
 *
 * Operations only write rows. The reconciler reads the rows at start, after each operation on
 * workspaces or teams, and every few seconds. The reconciler makes, starts, stops and destroys
 * workspaces until they match the rows. So the next host finishes the work that a crash has
 * interrupted. The next host also finds a guest that still runs, by the guest's pid, its start
 * time and the machine's boot id.
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
	int busy, slow; /* `busy`: pieces of work in the thread pool; `slow`: how many of
			   them are slow */
	int64_t read_at, round; /* time and number of the last reading of the rows */
	struct chain asked; /* calls for workspaces that are not known yet */
	bool reading, again, swept;
	bool sweeping; /* guests of a former state are being ended; no step is taken */
};

/* Reads the workspaces' rows soon, since a row or a guest may have changed. */
void reconcile_poke(struct host *host);

/* Queues the job of a call that needs work on a workspace. When the work is done, conn_answer()
 * is called with the job. */
void reconcile_ask(struct host *host, struct job *job);

/* The workspace with this row; NULL: no such workspace is known. */
struct hosted_workspace *reconcile_place(struct host *host, int64_t row);
/* Whether a fork still has to be copied from the workspace. */
bool reconcile_is_forked(struct host *host, int64_t row);

#endif
