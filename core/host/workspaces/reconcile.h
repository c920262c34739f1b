/*
 * reconcile - makes workspaces match their rows.
 *
 * Operations only write rows. The reconciler reads the rows at start, after each operation on
 * workspaces or teams, and every few seconds. The reconciler makes, starts, stops and destroys
 * workspaces until they match the rows. So work that a crash has interrupted is finished at the
 * next start. A guest that still runs is found again by its pid, start time and boot.
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
	int busy, slow; /* works in the thread pool; works that copy bytes */
	int64_t read_at, round; /* time and number of the last reading */
	struct chain asked; /* calls for workspaces that are not known yet */
	bool reading, again, swept;
	bool sweeping; /* guests of a former state are being ended, so no step is taken */
};

/* Reads the rows, since rows or guests may have changed. */
void reconcile_poke(struct host *host);

/* Takes the job of a call that needs work on a workspace. conn_answer() is called with the job
 * when the work is done. */
void reconcile_ask(struct host *host, struct job *job);

/* The workspace of a row; NULL: the workspace is not known. */
struct hosted_workspace *reconcile_place(struct host *host, int64_t row);
/* Whether a copy of the workspace still has to be made. */
bool reconcile_is_forked(struct host *host, int64_t row);

#endif
