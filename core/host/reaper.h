/*
 * reaper - stores the effects of time: leases that end, and messages that expire.
 *
 * Statements judge times by themselves. The reaper only writes rows and events for the effects,
 * by the operation clock.tick (core/overview/clock_tick.c). The reaper reads what is due once a
 * second, and when a delayed message is due. It writes if the read found an effect that is due.
 *
 * In a gap nobody can call: the host is down or stands still, or the machine sleeps. After a
 * gap leases are first moved by the gap, and callers' calls are held until the leases are
 * moved. If the clock is set forward or back, leases are moved by the same leap, since the rest
 * of a lease is elapsed time, not clock time. A clock that is set also affects times that a gap
 * does not move, such as expiry of messages, delays, retries and budgets of time.
 * CLOCK_BOOTTIME distinguishes elapsed time from a leap of the clock, since CLOCK_BOOTTIME
 * counts sleep, and nobody sets it. The exactness depends on the kind of gap:
 *
 *   the host stood still   The loop, which runs at least once a second, notices the gap. A
 *                          lease is moved by the gap and at most a second more. A gap under
 *                          two seconds looks like a busy machine.
 *   the host was down      A row says when a host last ran. The row is written before the first
 *                          of the writes of a second, so leases that these writes grant are
 *                          moved, and every five seconds while leases run. A lease is moved by
 *                          the gap and at most six seconds more. If the clock was put back past
 *                          the row's time meanwhile, nothing is moved.
 *   the clock was set      The loop notices the leap and moves leases by the leap. A leap under
 *                          two seconds looks like a clock that is being adjusted.
 *
 * So a gap never makes a lease shorter than it was granted, except by up to two seconds.
 */
#ifndef CORE_HOST_REAPER_H
#define CORE_HOST_REAPER_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct fault;
struct host;
struct host_event_row;

struct reaper {
	uv_timer_t timer;
	int64_t ran_at; /* wall clock at the loop's last turn; 0: no turn yet */
	int64_t ran_passed; /* clock_boot_ms() at the loop's last turn */
	int64_t noted_at; /* when the row last said that the host runs */
	int64_t gap_ms, gap_since; /* gap to be stored; 0: no gap; < 0: clock put back */
	int64_t leap_ms; /* the part of gap_ms by which the clock was set */
	bool busy;
	bool began; /* the gap before the host's start is known */
	bool holding; /* callers' writes wait for a look and its effects */
	bool stale; /* the look under way began before the gap */
	bool again; /* a look was due while the reaper was busy */
};

/* Ends the host, since one of its connections has lost the state. */
void reaper_lost(struct host *host, const struct fault *why);
/* Whether calls have to wait. The function itself notices that time has leapt, so code that
 * acts on the clock calls it first. */
bool reaper_holds(struct host *host);
/* Called before writes are given to the writer. First writes the row that says that the host
 * runs. */
void reaper_writes(struct host *host);

#endif
