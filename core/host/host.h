/*
 * host - the process that serves one state.
 *
 * One loop thread serves all connections, and never touches the database. The writer's thread
 * (writer.h) runs calls that write. A few workers (calls.c) run calls that work on files, and a
 * few readers (readers.h) run all other calls. The host reads the event log (host_follow.h) to
 * react to changes. At most one host runs per state: the host holds a lock on a file that
 * contains the host's pid and start time. `kill -9` is a normal way to end the host.
 *
 * The files, in the order to read them:
 *
 *	host.c, host_inside.h   start and end; the host's parts.
 *	listener.c, conn.c      clients.
 *	job.h, batch.h          calls.
 *	waiters.c, host_follow.c, reaper.c, scribe.c, notifier.c.
 *	guests/                 hosted_guest.c and guest_conn.c (connections to guests),
 *	                        hosted_guest.c, hosted_push.c, hosted_daemon.c, hosted_ask.c.
 *	workspaces/             reconcile.c, hosted_workspace.c, hosted_network.c:
 *	                        make the machine match the rows.
 */
#ifndef CORE_HOST_HOST_H
#define CORE_HOST_HOST_H

#include "core/home/home.h"

struct network;

struct host_options {
	struct home *home; /* borrowed */
	int ready_fd; /* gets "ready\n" when the host begins to serve; -1: unused */
	const char *program; /* program to start as a guest; NULL: this program */
	const struct network *network; /* network of VMs; NULL: this machine's network */
};

/* Serves the state until SIGTERM or SIGINT, then waits for the calls that still run. The host
 * does not stop its guests. Returns 0 or a fault code. FAULT_CONFLICT: another host serves this
 * state. */
int host_run(const struct host_options *options, struct fault *f);

#endif
