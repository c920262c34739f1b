/*
 * guest - the program in a workspace that runs commands for a host.
 *
 * A guest listens on two ports, control (5000) and relay (5001). core/base/link_address.h
 * describes the forms of the guest's address. The guest runs commands and assignments.
 * Assignments and results that must not be lost are stored in the guest's spool. When a host
 * ends, its guests go on running and wait until a host dials again. These are the guest's
 * files, in the order in which to read them:
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
	/* The workspace's uuid. NULL: the guest uses the uuid in its spool. If the spool has no
	 * uuid, the guest uses the uuid in the first host's Hello. */
	const char *workspace;
	const char *name; /* the workspace's name, which people read; may be NULL */
	const char *dir; /* root of the workspace */
	const char *state; /* the guest's own folder: spool, lock */
	bool state_inside; /* allows `state` to be in `dir`, although git and copies find
			      `state` there */
	/* The number of times that the workspace was put back to a snapshot, in digits. The
	 * guest does not use a spool that contains another number. NULL: the number is not
	 * known. */
	const char *restores;
	const char *listen; /* the guest's address; NULL: the address is unix:STATE */
	const char *token; /* token that the Hello of a stranger (guest_peer.h) must
			      contain; may be NULL */
	const char *http; /* ADDRESS:PORT of the HTTP door for teammates; NULL: no HTTP
			     door */
	const char *team, *agent; /* owners of the workspace; may be NULL */
	bool vm; /* the guest runs in its own VM */
	const char *version;
	const char *const *env; /* NAME=value for the guest's commands; may be NULL */
};

/* Runs a guest until Shutdown, SIGTERM or SIGINT arrives or the spool is lost. Returns the exit
 * status. If the start fails, prints the reason on stderr and returns 1. Returns 4 if another
 * guest already uses the state folder. */
int guest_main(const struct guest_options *options);

#endif
