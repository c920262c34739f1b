/*
 * assignment - commands for an agent's daemon, and their results.
 */
#ifndef CORE_ASSIGNMENT_ASSIGNMENT_H
#define CORE_ASSIGNMENT_ASSIGNMENT_H

#include "core/message/message.h"

/* Reads the payload of a task_assignment message; texts are in the arena. */
int assignment_parse(struct call *call, const char *content, const char *where,
		     struct task_payload *out);

/* Stores an assignment for `to`: message, delivery, payload; a board task that it
 * names is claimed for `to`.  Returns the message's row, or a negative fault. */
int64_t assignment_send(struct call *call, const struct draft *d,
			const struct agent_row *to, const struct task_payload *p);

/* Calls off what waits of a task whose claim is over, and what runs, too, when
 * `running`: daemons are told so, and end it.  `actor` did it. */
int assignment_call_off(struct call *call, int64_t task, bool running, int64_t actor);

/* Ends each command that an agent's daemon has or may have, running or waiting, with a
 * result that says `why`: the daemon will send no result any more, and nobody else may
 * run the command. 0 or negative. */
int assignment_interrupt(struct call *call, int64_t agent, const char *why);

/* assignment_interrupt() for all open commands of an agent, also those that its daemon has not
 * heard of. */
int assignment_end_all(struct call *call, int64_t agent, const char *why);

/* assignment_interrupt() for the open commands of all agents; returns how many, or
 * negative. */
int assignments_end(struct call *call, const char *why);

/* Finds the message of the assignment that `id` means: that message, or the last assignment
 * of a task, by its id or the name that the sender gave it; with `ended` the last whose
 * result is there.  1 with *message set, 0, or negative and a fault at /id. */
int assignment_named(struct call *call, const char *id, bool ended, int64_t *message);

/* A collection of results and its receiver: see inbox_name() for the names. */
struct collecting {
	const struct agent_row *agent;
	int64_t request; /* name of the request; 0: none */
	int64_t session; /* 0: nobody confirms that the answer has arrived, ... */
	bool takes; /* ... unless the results are taken for good once it has */
	bool unseen; /* earlier results may be among the agent's whose answer did not
			arrive */
};

/* Collects results for a receiver: its own as a sender and, when the lead or the
 * operator receives for it, those that it made.  `*more` is set where the answer had
 * no room for all; the rest is collected by the next one. */
int result_collect(struct call *call, const struct collecting *c,
		   struct result_line **out, size_t *n, bool *more);

/* The results that the same request collected in the last day: its answer may have been
 * lost.  Fills `*out` (in the arena), `*n` and `*more`; 0 or negative. */
int result_again(struct call *call, const struct agent_row *a, int64_t request,
		 struct result_line **out, size_t *n, bool *more);
enum { RESULT_REPEAT_MS = 86400000 };

#endif
