/*
 * background - commands of the host: how they are started, and those in the background.
 */
#ifndef GUEST_BACKGROUND_H
#define GUEST_BACKGROUND_H

#include "guest/guest_serve.h"

struct background_job {
	struct guest *guest;
	int id;
	struct proc *run; /* its owner is the job */
	int64_t turn; /* the turn that the job runs; 0: none */
	bool seen; /* polled after its end */
	int ended; /* place in the order in which followed ones ended; 0: not over */
	struct background_job *next; /* an older one */
};

struct command {
	const char *const *argv;
	const char *workdir;
	const struct pair *env;
	size_t n_env;
	int64_t timeout_secs;
	int input; /* descriptor of what it reads; 0: nothing */
	bool waits; /* for who reads its output */
};

/* Makes a command's process, which waits for proc_go(); 0 or a fault. */
int command_start(struct guest_request *q, const struct command *c, struct proc **out,
		  struct fault *f);
/* The words that give a command to the shell. */
const char *const *command_shell(struct arena *a, const char *command);
/* The fault of one that could not be started, and of output that is lost. */
int command_not_started(const struct proc *run, const char *what, struct fault *f);
int command_lost(struct fault *f);
/* Bytes of an answer that two streams may take, where the host says so. */
size_t command_room(bool has_room, int64_t room);

/* Sees that there is a place for one more: the oldest one whose end was seen gives way. */
int background_place(struct guest *g, struct fault *f);
/* Takes over a run, which is not over; there is a place. */
struct background_job *background_new(struct guest *g, struct proc *run);
int background_find(struct guest *g, int64_t id, struct background_job **out,
		    struct fault *f);
/* The `done` of a job's run, and of one that is followed. */
void background_done(struct proc *run);
void background_followed_done(struct proc *run);

#endif
