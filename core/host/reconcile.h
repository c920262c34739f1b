/*
 * reconcile - makes workspaces be what their rows say.
 *
 * Operations only write rows; this reads them (at start, after each operation
 * on workspaces or teams, and every few seconds), and makes, starts, stops
 * and destroys until both agree.  So a crash in between is finished at the
 * next start, and a guest that lived on is found again by its pid, start time
 * and boot.
 */
#ifndef RECONCILE_H
#define RECONCILE_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "core/machine/backend.h"

struct host;
struct tether;

/* A workspace as the host knows it. */
struct place {
	struct host *host;
	struct place *next;
	int64_t row, team_row, agent_row, generation, state;
	const struct machine *machine; /* of its backend */
	struct spot spot; /* its texts are `texts` */
	char *texts;
	struct tether *tether;
	struct process process; /* pid 0: none that we know of */
	char boot_told[72]; /* of the guest that was told last */
	bool noted; /* the row has a pid */
	bool listed; /* in the rows that were read last */
	bool made; /* its directory is whole */
	bool busy, destroying; /* work is with the thread pool */
	uv_work_t work;
	struct fault fault; /* of that work */
	int64_t start_at, pause_ms, started_at, stop_at;
	int deaths; /* in a row, soon after the start */
};

struct reconcile {
	uv_timer_t timer;
	struct place *places;
	int busy; /* places with the thread pool */
	int64_t read_at;
	bool reading, again, swept;
};

void reconcile_init(struct host *host);
void reconcile_start(struct host *host);
void reconcile_close(struct host *host); /* guests stay */
void reconcile_release(struct host *host); /* once the loop is closed */
/* Rows, or guests, may have changed. */
void reconcile_poke(struct host *host);

/* place.c: takes one step towards the row; true when there is more to come
 * soon. */
bool place_step(struct place *p, int64_t now);
void place_free(struct place *p);

#endif
