/*
 * running - the parts of a running host, for the files of this folder.
 *
 * All of it belongs to the loop thread, except where queue.h says otherwise.
 */
#ifndef CORE_HOST_HOST_INSIDE_H
#define CORE_HOST_HOST_INSIDE_H

#include <uv.h>

#include "core/home/config_watch.h"
#include "core/host/conn.h"
#include "core/host/crowd.h"
#include "core/host/edits.h"
#include "core/host/host_follow.h"
#include "core/host/guests/hosted_guest.h"
#include "core/host/host.h"
#include "core/host/listener.h"
#include "core/host/log.h"
#include "core/host/queue.h"
#include "core/host/reaper.h"
#include "core/host/turns/host_turns.h"
#include "core/host/waiters.h"
#include "core/host/workspaces/hosted_network.h"
#include "core/host/web/web.h"
#include "core/host/workspaces/reconcile.h"

struct metrics;
struct writer;
struct readers;
struct scribe;
struct notifier;
struct workers;

enum {
	WRITES_MOST = 16384, /* under way; above: `unavailable` */
	RETRY_MS = 100,
};

struct host {
	const struct host_options *options;
	const struct home *home;
	struct settings settings; /* the state's, with what only a host has */
	uv_loop_t loop;
	uv_prepare_t before_poll;
	uv_check_t after_poll;
	uv_async_t answered;
	uv_signal_t term, interrupt;
	struct host_socket listener;
	uv_timer_t look; /* whether the sockets are there */
	struct log_pause swept; /* they are gone, and cannot be made anew */
	int lock; /* that it holds */
	struct web web;
	struct log *log;
	enum log_level level; /* its */
	struct config_watch configured;
	struct log_pause failed; /* calls, by a fault of ours or of the machine */
	struct metrics *metrics;
	bool stopping;
	struct fault lost; /* why the state is not where it was; else no fault */

	struct job_pool jobs;
	struct writer *writer;
	struct readers *readers;
	struct workers *workers;
	struct scribe *scribe;
	struct notifier *notifier;
	struct edits edits;
	struct queue done; /* what the threads hand back */
	struct chain writes, reads, works; /* to be handed over before the next poll */
	struct chain early; /* refused here: done at once */
	struct chain ahead_writes, ahead_reads; /* the clock's: see host_ahead() */
	bool parted; /* the writer's thread waits for the rest of what is read now */
	size_t n_writes; /* given to the writer and not back */
	size_t n_reads;

	struct conn *conns, *dirty;
	size_t n_jobs; /* calls of all connections that are not answered yet */
	bool crowded; /* they were too many, and are not few again */
	struct unread_all unread;
	struct crowd crowd;
	char buffer[64 << 10]; /* of the read that is under way */

	struct waiters waiters;
	struct follow follow;
	struct hosted_guest *guests;
	struct chain
		unlinked; /* calls that wait for the link to their guest: hosted_ask.c's */
	struct link_ear *vm_ear; /* what VMs dial; NULL: none */
	size_t n_linked; /* guests that answer */
	struct reaper reaper;
	struct rates *rates;
	uv_timer_t spending; /* writes what they owe */
	struct reconcile reconcile;
	struct turns turns;
	struct host_network network;
	char boot_id[40]; /* new at every start */
	uint64_t seed;
	int64_t pid; /* ours; asked for once, it is a system call */
	struct id_keys ids; /* of the state, once a call has read them */
	char incarnation[40];
};

/* Hands a job over; job->done gets it back, always later. */
void host_write(struct host *host, struct job *job);
void host_read(struct host *host, struct job *job);

/* A job of the host itself for `op`, with op's input zeroed at job->call.in:
 * the caller fills it, sets done and owner, and gives it to host_submit(). */
struct job *host_job(struct host *host, const struct op *op,
		     void (*done)(struct job *job), void *owner);
void host_submit(struct host *host, struct job *job);
/* The part of it that comes before the handing over: time and randomness. */
void host_prepare(struct host *host, struct job *job);

/* The same, also while calls are held until leases are moved by a gap. */
void host_ahead(struct host *host, struct job *job);

/* Randomness for one call. */
uint64_t host_seed(struct host *host);

/* Stops as SIGTERM does. */
void host_stop(struct host *host);

#endif
