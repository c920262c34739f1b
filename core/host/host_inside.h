/*
 * host_inside - the structs of the running host and its rooms, for the files in core/host.
 *
 * A room is a part of the host. A room consists of a struct and of hooks that the loop calls.
 * The loop knows no room by name. For a new room, add a line to HOST_ROOMS and define the
 * room's hooks. struct host and host.c need no change for a new room.
 *
 * Only the loop thread uses the structs of this file, except where queue.h says otherwise.
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

/* Maximum number of writes under way, and of reads; further calls get `unavailable`. */
enum { WRITES_MOST = 16384 };

/* All rooms, in the order of their open() calls. The hooks close, end and release run in the
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
	FOLLOWS_LATE, /* the room can wait for some ms */
	FOLLOWS_NOW,
};

/* Hooks of a room. A member is NULL if the room does not have the hook. */
struct host_room {
	size_t size; /* size of the struct, which is zeroed; 0: the room allocates the
			struct */
	void (*make)(struct host *host); /* makes the room's libuv handles */
	/* Starts the room's threads or opens its sockets, after make() of all rooms. Returns 0
	 * or a fault. Even if open() of one room returned a fault, the hooks close, end and
	 * release of all rooms are called. */
	int (*open)(struct host *host, struct fault *f);
	/* Reads the state before the host's first call. survey() is not called if the state
	 * cannot be opened. */
	void (*survey)(struct host *host, struct store *store);
	void (*start)(struct host *host); /* called when the host begins to serve */
	void (*tick)(struct host *host); /* called each second */
	void (*look)(struct host *host); /* called before and after each poll of the
					    loop */
	/* event() is called for each committed event. The hook follows() returns how soon the
	 * room needs new events. */
	void (*event)(struct host *host, const struct host_event_row *e);
	enum follows (*follows)(const struct host *host);
	/* Called after all events of a page have been passed to event(). `missed`: some events
	 * were skipped. */
	void (*caught_up)(struct host *host, bool missed);
	void (*close)(struct host *host); /* called when the host begins to stop; calls
					     may still run */
	bool (*is_busy)(const struct host *host); /* true: the host may not end yet */
	void (*end)(struct host *host); /* called when all calls have ended, or when the
					   host has waited long enough for them */
	void (*release)(struct host *host); /* called after the loop was closed */
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
	struct settings settings; /* settings of the state and of the host */
	int lock; /* descriptor of the lock file */
	uv_loop_t loop;
	uv_prepare_t before_poll;
	uv_check_t after_poll;
	uv_signal_t term, interrupt;
	struct log *log;
	bool stopping;
	struct fault lost; /* why the state is lost; code 0: the state is not lost */
	struct job_pool jobs;
	char buffer[64 << 10]; /* bytes of the read that is under way */
	char boot_id[40]; /* id of this run of the host */
	uint64_t seed;
	int64_t pid; /* pid of the host, kept because getpid() is a system call */
	struct id_keys ids; /* keys that make public ids of row ids; set when a call has
			       read them */
	char incarnation[40];
#define ROOM(x) struct x *x;
	HOST_ROOMS(ROOM)
#undef ROOM
};

/* Calls that the threads of the host run. */
struct calls {
	struct writer *writer;
	struct readers *readers;
	struct workers *workers;
	struct queue done; /* jobs that the threads give back */
	uv_async_t answered;
	struct chain writes, reads, works; /* jobs to give to threads before the next
					      poll */
	struct chain early; /* refused jobs, which no thread runs */
	struct chain ahead_writes, ahead_reads; /* jobs of host_ahead() */
	bool parted; /* the writer's thread waits for the rest of a chain of jobs */
	size_t n_writes; /* writes that host_write() or host_ahead() has taken and that
			    have not ended */
	size_t n_reads;
};

/* host_make_rooms() allocates the zeroed structs of all rooms whose `size` is not 0.
 * host_free_rooms() frees these structs. */
void host_make_rooms(struct host *host);
void host_free_rooms(struct host *host);

/* Call the hooks `event` and `caught_up` of each room. */
void host_event(struct host *host, const struct host_event_row *e);
void host_caught_up(struct host *host, bool missed);
/* The most urgent answer that the hook `follows` of any room gives. */
enum follows host_follows(const struct host *host);
/* Calls the hook `tick` of each room, once a second. */
void host_tick(struct host *host);

/* Give a job to a thread. job->done is called with the job later, never before host_write() or
 * host_read() has returned. */
void host_write(struct host *host, struct job *job);
void host_read(struct host *host, struct job *job);

/* Lets a worker's thread run job->read() without a store. */
void host_work(struct host *host, struct job *job);

/* Makes a job for a call that the host itself makes. The input at job->call.in is zeroed. The
 * caller fills this input and gives the job to host_submit(). */
struct job *host_job(struct host *host, const struct op *op,
		     void (*done)(struct job *job), void *owner);
void host_submit(struct host *host, struct job *job);
/* Makes and submits a call of the host itself, such as host_ask(host, turn_next, on_next, host,
 * .most = 8). The texts of the call's input are copied. */
#define host_ask(host, name, done, owner, ...)          \
	host_ask_op((host), op_##name, (done), (owner), \
		    &(const struct name##_in){ __VA_ARGS__ })
void host_ask_op(struct host *host, const struct op *op, void (*done)(struct job *job),
		 void *owner, const void *in);
/* Sets the time and the random seed of a job's call. host_submit() calls host_prepare() by
 * itself. */
void host_prepare(struct host *host, struct job *job);

/* Gives a prepared job to a thread, even while the reaper makes the writes of callers wait. */
void host_ahead(struct host *host, struct job *job);

/* A random seed for one call. */
uint64_t host_seed(struct host *host);

/* The number of the last event that the notifier has handled. */
int64_t notifier_position(const struct notifier *n);

/* The number of the last event that is in the search index; 0: the number is not known yet. */
int64_t scribe_indexed_to(const struct scribe *s);

/* Stops the host as SIGTERM does. */
void host_stop(struct host *host);

#endif
