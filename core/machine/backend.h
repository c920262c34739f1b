/*
 * backend - what makes workspaces: every effect on the machine, as a table.
 *
 * make, fork and destroy may take long and run on any thread; the others are
 * short.  All of them may be repeated: what is done already is success.
 */
#ifndef BACKEND_H
#define BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "core/fault.h"

/* Where a workspace is to be, and who works in it.  Texts are borrowed. */
struct spot {
	const char *id, *name; /* of the workspace */
	const char *path; /* its directory, absolute */
	const char *source; /* directory to copy; NULL: none */
	const char *sockets; /* folder of its guest's sockets */
	const char *address; /* of its guest: see core/link_address.h */
	const char *link_token; /* that its guest asks for; NULL: none */
	const char *team, *agent, *token; /* agent may be NULL */
	const char *home; /* of the state */
	const char *door; /* socket of the host */
	const char *program; /* cadre */
	/* A VM's card, when this machine gave it a network; else tap is NULL and
	 * it has none.  The tap exists and is named so. */
	const char *tap, *mac, *ip, *gateway;
	int prefix;
};

/* A guest's process.  A pid alone says nothing: it is used again. */
struct process {
	int64_t pid, start; /* in clock ticks after boot */
	char boot[40]; /* boot id of the machine */
};

struct machine {
	const char *name;
	void *self;
	int (*make)(void *self, const struct spot *spot, struct fault *f);
	int (*fork)(void *self, const struct spot *spot, struct fault *f);
	/* NULL, with stop, alive and find: guests come and go by themselves. */
	int (*start)(void *self, const struct spot *spot, struct process *process,
		     struct fault *f);
	/* Asks it to end (or ends it); alive() tells when it has. */
	int (*stop)(void *self, const struct process *process, bool now, struct fault *f);
	bool (*alive)(void *self, const struct process *process);
	/* A process that is known to be a guest by its pid alone. */
	void (*find)(void *self, int64_t pid, struct process *process);
	int (*destroy)(void *self, const struct spot *spot, struct fault *f);
};

/* Directories with a guest as a process of this machine. */
extern const struct machine machine_process;

/* Guests that run already, elsewhere: they are reached, and let go of. */
extern const struct machine machine_attach;

#endif
