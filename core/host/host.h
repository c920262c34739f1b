/*
 * host - the process that serves one state.
 *
 * One loop thread does all input and output and never touches the database;
 * the writer's thread (writer.h) runs what changes it, a few readers (readers.h)
 * what does not.  What follows a change reads the event log (host_follow.h).  At
 * most one host runs per state file: it holds the lock file, in which its pid
 * and start time stand.  `kill -9` is a normal way to end it.
 *
 * The files, in the order to read them: host.c (start and end), host_inside.h (its
 * parts), listener.c and conn.c (clients), job.h and batch.h (calls),
 * waiters.c, host_follow.c, reaper.c, scribe.c, notifier.c; then guests/ (hosted_guest.c and guest_conn.c: connections to
 * guests; uplink.c, hosted_push.c, hosted_daemon.c, hosted_ask.c) and workspaces/ (reconcile.c, hosted_workspace.c,
 * network.c: what is made true on the machine).
 */
#ifndef CORE_HOST_HOST_H
#define CORE_HOST_HOST_H

#include "core/home/home.h"

struct network;

struct host_options {
	struct home *home; /* borrowed */
	int ready_fd; /* "ready\n" is written here once it answers; -1: none */
	const char *program; /* starts guests; NULL: this program itself */
	const struct network *network; /* of VMs; NULL: this machine's own */
};

/* Serves until SIGTERM or SIGINT, then ends what is under way.  Guests stay.
 * 0, or a fault code with `conflict` when another host serves this state. */
int host_run(const struct host_options *options, struct fault *f);

#endif
