/*
 * background - commands of the host: how they are started, and those in the background.
 */
#ifndef GUEST_BACKGROUND_H
#define GUEST_BACKGROUND_H

#include "guest/guest_peer.h"
#include "guest/guest_serve.h"

/* Requests that wait for the output of a command: ExecPoll, of turns as well.
 *
 * Each waits until there is output behind its offsets or the command is over, but so long
 * at most as it says.  Output of about the same time is sent together: many short lines
 * become few answers, and the output of a short command comes with its end.
 */

/* Answers the request, or fails it; the run may not be over. */
typedef void follow_tell(struct guest_request *q, struct proc *run);

/* Makes a request wait: `tell` is called once, and not from here.  The run is not over.
 * From here on q->owner is taken, and q->gone ends the wait. */
void follow_begin(struct guest_request *q, struct proc *run, const size_t offset[2],
		  int64_t ms, follow_tell *tell);
/* Ends the wait of a request that goes without an answer; what it waited for. */
struct proc *follow_end(struct guest_request *q);

/* Called when the run has printed something, and when it is over. */
void follow_printed(struct proc *run);

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
	int input; /* descriptor of the command's input; 0: no input */
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
void background_followed_done(struct proc *run);

#endif
