/*
 * reaper - stores the effects of time: leases that end, and messages that expire.
 *
 * The SQL statements themselves compare times, so a lease ends in time even without the reaper.
 * The reaper only writes rows and events for the effects, by the operation clock.tick
 * (core/overview/clock_tick.c). Once a second, and when a delayed message is due, the reaper
 * reads which effects are due. If the read finds an effect that is due, the reaper calls
 * clock.tick.
 *
 * In a gap nobody can call the host, because the host is down or stands still, or because the
 * machine sleeps. After a gap, the ends of leases are moved by the length of the gap. Until the
 * leases are moved, the writes of callers have to wait. If the clock is set forward or back,
 * leases are moved by the same amount, since a lease counts elapsed time. Other times, such as
 * the expiry of messages, delays, retries and budgets of time, are never moved. So they come
 * earlier or later if the clock is set. A leap of the clock is a change of the difference
 * between the clock and CLOCK_BOOTTIME. CLOCK_BOOTTIME counts sleep, and nobody can set it. How
 * exactly a lease is moved depends on the kind of gap:
 *
 *   the host stood still   The loop, which runs at least once a second, notices the gap. A
 *                          lease is moved by the gap, or by at most a second more. A gap
 *                          under two seconds is ignored, since a busy machine makes such
 *                          gaps too.
 *   the host was down     A row says when a host last ran. The row is written before the first
 *                          write of each second, so leases that this second's writes grant are
 *                          moved too. While leases run, the row is written at least every five
 *                          seconds. A lease is moved by the gap, or by at most six seconds
 *                          more. If the clock was set back to a time before the row's time, no
 *                          lease is moved.
 *   the clock was set     The loop notices the leap and moves leases by the leap. A leap under
 *                          two seconds is ignored, since the adjustment of a clock makes such
 *                          leaps too.
 *
 * So a gap makes a lease at most two seconds shorter than the granted time.
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
	int64_t ran_at; /* wall clock at the last reaper_holds(); 0: not called yet */
	int64_t ran_passed; /* clock_boot_ms() at the last reaper_holds() */
	int64_t noted_at; /* time of the last write of the row that says that the host
			     runs */
	int64_t gap_ms, gap_since; /* gap that is not stored yet; 0: no gap; < 0: the
				      clock was put back */
	int64_t leap_ms; /* the part of gap_ms by which the clock was set */
	bool busy;
	bool began; /* a look has read the gap before the host's start */
	bool holding; /* callers' writes wait until the leases are moved */
	bool stale; /* the look or tick under way began before the gap */
	bool again; /* a look was due while the reaper was busy */
};

/* Ends the host, since one of its connections has lost the state. */
void reaper_lost(struct host *host, const struct fault *why);
/* Whether callers' writes have to wait. This function also notices gaps and leaps of the clock,
 * so it is called before any code that acts on the clock. */
bool reaper_holds(struct host *host);
/* Called before writes are given to the writer. Writes the row which says that the host runs,
 * if the row was last written NOTE_MS ago or earlier. */
void reaper_writes(struct host *host);

#endif
