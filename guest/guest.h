/*
 * guest - the program inside a workspace.
 *
 * A guest listens on two ports, control (5000) and relay (5001), at an address of
 * core/base/link_address.h. The guest runs commands and assignments, and keeps work that must
 * not be lost in its spool. A guest outlives the host that started it, and waits until a host
 * dials again. The files, in the order to read them:
 *
 *	guest.c         start and end.
 *	guest_peer.c    sockets and frames.
 *	guest_serve.c   the table of messages and their handlers.
 *	proc.c          a process group, and its output, kept as text.
 *	guest_exec.c    commands and turns, and waits for their output.
 *	guest_file.c, guest_daemon.c.
 *	guest_door.c    requests to the host.
 *	guest_http.c    requests of teammates.
 */
#ifndef GUEST_GUEST_H
#define GUEST_GUEST_H

#include <stdbool.h>

struct guest_options {
	/* The workspace's uuid. NULL: the uuid in the spool is used, or, if the spool has no
	 * uuid, the uuid from the first host that says Hello. */
	const char *workspace;
	const char *name; /* the workspace's name, for people; may be NULL */
	const char *dir; /* root of the workspace */
	const char *state; /* the guest's own folder: spool, lock */
	bool state_inside; /* `state` may lie in `dir`, within reach of git and copies */
	/* The number of times that the workspace was put back to a snapshot, in digits. A spool
	 * with another number is not used. NULL: the number is not known. */
	const char *restores;
	const char *listen; /* an address; NULL: unix:STATE */
	const char *token; /* required in a stranger's Hello; may be NULL */
	const char *http; /* ADDRESS:PORT of the door for teammates; NULL: no door */
	const char *team, *agent; /* owners of the workspace; may be NULL */
	bool vm; /* the guest runs in its own VM */
	const char *version;
	const char *const *env; /* NAME=value for the guest's commands; may be NULL */
};

/* Runs until Shutdown or SIGTERM; returns the exit status. A failed start prints one line on
 * stderr and returns 1. If another guest already uses the state folder, returns 4. */
int guest_main(const struct guest_options *options);

#endif
