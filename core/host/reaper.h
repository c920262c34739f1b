/*
 * reaper - writes down what the clock did: leases and lives that ran out.
 *
 * Statements judge times by themselves; the reaper only makes rows and events of it, by
 * op clock.tick (core/overview/clock_tick.c).  The reaper looks once a second, and when a
 * delayed message comes, and writes when something is due.
 *
 * After a gap in which nobody could call (the host was down or stood still, the
 * machine slept) leases are first moved by the gap: calls that came meanwhile are held
 * until that is done.  A clock that is set, forward or back, moves leases too, by the same
 * leap: the rest of a lease is elapsed time, not clock time.  A set clock also moves times
 * that a gap does not move: lives of messages, delays, retries and budgets of time.
 * Time that passed and the clock's leap are told apart by CLOCK_BOOTTIME, which
 * counts sleep and which nobody sets.  How exact that is:
 *
 *   the host stood still   known from the loop, which runs once a second at least.
 *                          A lease is moved by the gap and at most a second more;
 *                          a gap under two seconds is not told from a busy machine.
 *   it was down            known from the row that says when a host lived last.
 *                          That is written before the first of the writes of a
 *                          second, so what they grant is moved, and every five
 *                          seconds while leases live: by the gap and at most six
 *                          seconds more.  A clock that was put back meanwhile past
 *                          that moment moves nothing.
 *   its clock was set      known from the loop: by the leap.  Less than two seconds
 *                          are not told from a clock that is kept right.
 *
 * So a lease is never shorter by a gap than granted, but for the two seconds.
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
	int64_t ran_at; /* wall clock when the loop ran last; 0: not yet */
	int64_t ran_passed; /* clock_boot_ms() then */
	int64_t noted_at; /* when it was last written that the host lives */
	int64_t gap_ms, gap_since; /* not yet written down; 0: none, < 0: put back */
	int64_t leap_ms; /* of it, how far the clock was set */
	bool busy;
	bool began; /* the gap before the start is known */
	bool holding; /* calls, until a look from then on has been acted on */
	bool stale; /* the look under way began before the gap */
	bool again; /* a look was due while it was busy */
};

/* Ends the host, since one of its connections has lost the state. */
void reaper_lost(struct host *host, const struct fault *why);
/* Whether calls have to wait; notices by itself when time has leapt.  Code that acts on
 * the clock calls reaper_holds() first. */
bool reaper_holds(struct host *host);
/* Writes are about to be handed over: the row says first that the host lives. */
void reaper_writes(struct host *host);

#endif
