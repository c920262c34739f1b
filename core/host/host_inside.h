/*
 * host_inside - the running host and its rooms, for the files of this folder.
 *
 * A room is a part of the host: its own struct, and hooks that the loop calls.  The loop
 * knows no room by name.  A new room adds a line to HOST_ROOMS and defines its hooks; struct
 * host and host.c stay as they are.
 *
 * Only the loop thread uses these structs, except where queue.h says otherwise.
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

enum { WRITES_MOST = 16384 }; /* maximum of writes under way; above: `unavailable` */

/* All rooms, in the order in which they open. The hooks close, end and release run in the
 * reverse order. ROOM(x) stands for `struct x`, the member `x` of the host, and the hooks
 * `room_x`. */
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

/* How soon a room needs new events. */
enum follows {
	FOLLOWS_NOT,
	FOLLOWS_LATE, /* a pause of some ms does no harm */
	FOLLOWS_NOW,
};

/* Hooks of a room. A member is NULL if the room does not have the hook. */
struct host_room {
	size_t size; /* size of the zeroed struct; 0: the room allocates it */
	void (*make)(struct host *host); /* makes the room's handles of the loop */
	/* Called when all rooms are made; starts the room's threads. Returns 0 or a fault. The
	 * hooks close, end and release are also called after open() of this room or of another
	 * room returned a fault. */
	int (*open)(struct host *host, struct fault *f);
	/* Reads the state before the first call; not called if the state cannot be opened. */
	void (*survey)(struct host *host, struct store *store);
	void (*start)(struct host *host); /* the host begins to serve */
	void (*tick)(struct host *host); /* called each second */
	void (*look)(struct host *host); /* called before the loop sleeps */
	/* event() is called for each committed event. The hook follows() returns how soon the
	 * room needs new events. */
	void (*event)(struct host *host, const struct host_event_row *e);
	enum follows (*follows)(const struct host *host);
	/* All events read so far have been passed to event(); `missed`: some events were
	 * skipped. */
	void (*caught_up)(struct host *host, bool missed);
	void (*close)(struct host *host); /* the host stops; calls under way still run */
	bool (*is_busy)(const struct host *host); /* true: the host may not end yet */
	void (*end)(struct host *host); /* all calls are over */
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
	struct settings settings; /* settings of the state, and of the host */
	int lock; /* descriptor of the lock file */
	uv_loop_t loop;
	uv_prepare_t before_poll;
	uv_check_t after_poll;
	uv_signal_t term, interrupt;
	struct log *log;
	bool stopping;
	struct fault lost; /* why the state is lost; no code: state not lost */
	struct job_pool jobs;
	char buffer[64 << 10]; /* bytes of the read that is under way */
	char boot_id[40]; /* a new id at every start of the host */
	uint64_t seed;
	int64_t pid; /* pid of the host; getpid() is a system call */
	struct id_keys ids; /* keys of the state's ids, after a call has read them */
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
	struct queue done; /* jobs that the threads give back */
	uv_async_t answered;
	struct chain writes, reads, works; /* given to threads before the next poll */
	struct chain early; /* refused jobs, which no thread has to run */
	struct chain ahead_writes, ahead_reads; /* jobs of host_ahead() */
	bool parted; /* the writer's thread waits for the rest of a chain of jobs */
	size_t n_writes; /* writes that were given to the writer and have not ended */
	size_t n_reads;
};

/* Makes the zeroed structs of all rooms, and frees these structs. */
void host_make_rooms(struct host *host);
void host_free_rooms(struct host *host);

/* Call the hooks `event` and `caught_up` of each room. */
void host_event(struct host *host, const struct host_event_row *e);
void host_caught_up(struct host *host, bool missed);
/* The most urgent follows() of all rooms. */
enum follows host_follows(const struct host *host);
/* Calls the hook `tick` of each room; called each second. */
void host_tick(struct host *host);

/* Gives a job to a thread. job->done is called with the job, but never before the function has
 * returned. */
void host_write(struct host *host, struct job *job);
void host_read(struct host *host, struct job *job);

/* Lets a worker's thread run job->read(), without the store. */
void host_work(struct host *host, struct job *job);

/* Makes a job of the host itself for `op`. The input at job->call.in is zeroed: the caller
 * fills the input and gives the job to host_submit(). */
struct job *host_job(struct host *host, const struct op *op,
		     void (*done)(struct job *job), void *owner);
void host_submit(struct host *host, struct job *job);
/* host_ask(host, turn_next, on_next, host, .most = 8): starts an operation of the host itself.
 * The texts of the operation's input are copied. */
#define host_ask(host, name, done, owner, ...)          \
	host_ask_op((host), op_##name, (done), (owner), \
		    &(const struct name##_in){ __VA_ARGS__ })
void host_ask_op(struct host *host, const struct op *op, void (*done)(struct job *job),
		 void *owner, const void *in);
/* Sets the time and the randomness of a job, as host_submit() does first. */
void host_prepare(struct host *host, struct job *job);

/* Does what host_submit() does, but also while the reaper holds the writes of callers. */
void host_ahead(struct host *host, struct job *job);

/* Randomness for one call. */
uint64_t host_seed(struct host *host);

/* The number of the last event that the notifier has handled. */
int64_t notifier_position(const struct notifier *n);

/* The number of the last event that is in the search index; 0: the number is not known yet. */
int64_t scribe_indexed_to(const struct scribe *s);

/* Stops the host as SIGTERM does. */
void host_stop(struct host *host);

#endif
