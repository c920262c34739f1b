/*
 * reaper - writes down what the clock did: leases and lives that ran out.
 *
 * Statements judge times by themselves; the reaper only makes rows and events
 * of it, looking once a second and writing when something is due.  While
 * leases live it notes every few seconds that the host is alive: after a gap
 * in which nobody could call (the host was down or stood still, the machine
 * slept, its clock was put forward) leases are first moved by the gap: calls
 * that came meanwhile are held until that is done.
 */
#ifndef REAPER_H
#define REAPER_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct host;

struct reaper {
	uv_timer_t timer;
	int64_t looked_at; /* wall clock of the last look; 0: none yet */
	int64_t gap_ms, gap_since; /* not yet written down; 0: none */
	bool busy;
	bool holding; /* calls, until a look from held_at on has been acted on */
	int64_t held_at;
};

void reaper_init(struct host *host);
void reaper_start(struct host *host);
void reaper_close(struct host *host);
/* Whether calls have to wait; notices by itself when time has leapt. */
bool reaper_holds(struct host *host);

#endif
