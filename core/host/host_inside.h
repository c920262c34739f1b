/*
 * host_inside - the running host and its rooms, for the files of this folder.
 *
 * A room is a part of the host: its own struct, and hooks that the loop calls.  The loop
 * knows no room by name.  A new room adds a line to HOST_ROOMS and defines its hooks; struct
 * host and host.c stay as they are.
 *
 * All of it belongs to the loop thread, except where queue.h says otherwise.
 */
#ifndef CORE_HOST_HOST_INSIDE_H
#define CORE_HOST_HOST_INSIDE_H

#include <uv.h>

#include "core/host/conn.h"
#include "core/host/host_follow.h"
#include "core/host/guests/hosted_guest.h"
#include "core/host/host.h"
#include "core/host/listener.h"
#include "core/host/log.h"
#include "core/host/queue.h"
#include "core/host/reaper.h"
#include "core/host/turns/hosted_turn.h"
#include "core/host/waiters.h"
#include "core/host/workspaces/hosted_network.h"
#include "core/host/workspaces/reconcile.h"

enum { WRITES_MOST = 16384 }; /* under way; above: `unavailable` */

/* Rooms in the order in which they open.  Hooks that end something run in the reverse order.
 * ROOM(x) stands for `struct x`, the member `x` of the host, and the hooks `room_x`. */
#define HOST_ROOMS(ROOM)     \
	ROOM(metrics)        \
	ROOM(spending)       \
	ROOM(calls)          \
	ROOM(clients)        \
	ROOM(edits)          \
	ROOM(scribe)         \
	ROOM(notifier)       \
	ROOM(log_watch)      \
	ROOM(follow)         \
	ROOM(waiters)        \
	ROOM(guests)         \
	ROOM(reaper)         \
	ROOM(reconcile)      \
	ROOM(hosted_network) \
	ROOM(turns)          \
	ROOM(sockets)        \
	ROOM(web_feed)       \
	ROOM(mcp_door)       \
	ROOM(web)

/* How urgently a room wants to know of events. */
enum follows {
	FOLLOWS_NOT,
	FOLLOWS_LATE, /* a pause of some ms is fine */
	FOLLOWS_NOW,
};

/* Hooks of a room; NULL: the room has nothing to do there. */
struct host_room {
	size_t size; /* of the struct, which begins zeroed; 0: the room makes the struct */
	void (*make)(struct host *host); /* handles of the loop, and the like */
	/* Begins threads and the like, once all rooms are made: 0 or a fault.  The hooks that
	 * end something also run behind a fault, of this room or of another. */
	int (*open)(struct host *host, struct fault *f);
	/* Reads the state as it is before the first call, if it can be read. */
	void (*survey)(struct host *host, struct store *store);
	void (*start)(struct host *host); /* the host begins to serve */
	void (*tick)(struct host *host); /* each second */
	void (*look)(struct host *host); /* before the loop sleeps */
	/* An event was committed; follows() says whether the room wants to know. */
	void (*event)(struct host *host, const struct host_event_row *e);
	enum follows (*follows)(const struct host *host);
	/* The events that were read have been passed on; `missed`: earlier ones were not. */
	void (*caught_up)(struct host *host, bool missed);
	void (*close)(struct host *host); /* the host stops; calls under way go on */
	bool (*is_busy)(const struct host *host); /* the end waits for this room */
	void (*end)(struct host *host); /* no call is under way any more */
	void (*release)(struct host *host); /* the loop is closed */
};

#define ROOM(x) struct x;
HOST_ROOMS(ROOM)
#undef ROOM

#define ROOM(x) extern const struct host_room room_##x;
HOST_ROOMS(ROOM)
#undef ROOM

struct host {
	const struct host_options *options;
	const struct home *home;
	struct settings settings; /* the state's, with what only a host has */
	int lock; /* that it holds */
	uv_loop_t loop;
	uv_prepare_t before_poll;
	uv_check_t after_poll;
	uv_signal_t term, interrupt;
	struct log *log;
	bool stopping;
	struct fault lost; /* why the state is not where it was; else no fault */
	struct job_pool jobs;
	char buffer[64 << 10]; /* of the read that is under way */
	char boot_id[40]; /* new at every start */
	uint64_t seed;
	int64_t pid; /* ours; asked for once, it is a system call */
	struct id_keys ids; /* of the state, once a call has read them */
	char incarnation[40];
#define ROOM(x) struct x *x;
	HOST_ROOMS(ROOM)
#undef ROOM
};

/* Calls on their way through the threads. */
struct calls {
	struct writer *writer;
	struct readers *readers;
	struct workers *workers;
	struct queue done; /* what the threads hand back */
	uv_async_t answered;
	struct chain writes, reads, works; /* to be handed over before the next poll */
	struct chain early; /* refused here: done at once */
	struct chain ahead_writes, ahead_reads; /* the clock's: see host_ahead() */
	bool parted; /* the writer's thread waits for the rest of what is read now */
	size_t n_writes; /* given to the writer and not back */
	size_t n_reads;
};

/* Makes the structs of all rooms, zeroed; frees them. */
void host_make_rooms(struct host *host);
void host_free_rooms(struct host *host);

/* Call this hook of each room: an event was committed; events were passed on. */
void host_event(struct host *host, const struct host_event_row *e);
void host_caught_up(struct host *host, bool missed);
/* The most urgent answer of the rooms. */
enum follows host_follows(const struct host *host);
/* A second has passed. */
void host_tick(struct host *host);

/* Hands a job over; job->done gets it back, always later. */
void host_write(struct host *host, struct job *job);
void host_read(struct host *host, struct job *job);

/* Has a worker's thread run job->read(), without the store. */
void host_work(struct host *host, struct job *job);

/* A job of the host itself for `op`, with op's input zeroed at job->call.in:
 * the caller fills it, sets done and owner, and gives it to host_submit(). */
struct job *host_job(struct host *host, const struct op *op,
		     void (*done)(struct job *job), void *owner);
void host_submit(struct host *host, struct job *job);
/* host_ask(host, turn_next, on_next, host, .most = 8): starts an operation of the host's own;
 * texts are copied. */
#define host_ask(host, name, done, owner, ...)          \
	host_ask_op((host), op_##name, (done), (owner), \
		    &(const struct name##_in){ __VA_ARGS__ })
void host_ask_op(struct host *host, const struct op *op, void (*done)(struct job *job),
		 void *owner, const void *in);
/* The part of it that comes before the handing over: time and randomness. */
void host_prepare(struct host *host, struct job *job);

/* The same, also while calls are held until leases are moved by a gap. */
void host_ahead(struct host *host, struct job *job);

/* Randomness for one call. */
uint64_t host_seed(struct host *host);

/* Events up to this one are told. */
int64_t notifier_position(const struct notifier *n);

/* The event up to which the search index has read the log; 0: not known yet. */
int64_t scribe_indexed_to(const struct scribe *s);

/* Stops as SIGTERM does. */
void host_stop(struct host *host);

#endif
