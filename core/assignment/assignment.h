/*
 * assignment - commands for an agent's daemon, and their results.
 */
#ifndef CORE_ASSIGNMENT_ASSIGNMENT_H
#define CORE_ASSIGNMENT_ASSIGNMENT_H

#include "core/message/message.h"

/* Reads the payload of a task_assignment message. The texts are in the arena. */
int assignment_parse(struct call *call, const char *content, const char *where,
		     struct task_payload *out);

/* Stores an assignment for `to`: message, delivery and payload. If the assignment names a board
 * task, the task is claimed for `to`. Returns the message's row, or a negative fault code. */
int64_t assignment_send(struct call *call, const struct draft *d,
			const struct agent_row *to, const struct task_payload *p);

/* Calls off the waiting commands of a task whose claim has ended. If `running` is set, the
 * function also calls off running commands: the daemons are ordered to end the running
 * commands. `actor` is the agent whose operation called off the commands. */
int assignment_call_off(struct call *call, int64_t task, bool running, int64_t actor);

/* Ends each running or waiting command that an agent's daemon has received or has perhaps
 * received. The result of each command gives the reason `why`. The daemon will send no result
 * for the command, and no other daemon may run the command. Returns 0 or negative. */
int assignment_interrupt(struct call *call, int64_t agent, const char *why);

/* Does the same as assignment_interrupt() for all open commands of an agent, even commands that
 * the agent's daemon has not received. */
int assignment_end_all(struct call *call, int64_t agent, const char *why);

/* Does the same as assignment_interrupt() for the open commands of all agents. Returns the
 * number of commands, or a negative fault code. */
int assignments_end(struct call *call, const char *why);

/* Finds the message of the assignment that `id` names. `id` is the id of the message or of a
 * task, or the name that the sender gave the task. For a task, the function finds the last
 * assignment, or with `ended` the last assignment that has a result. Returns 1 with *message
 * set, 0 if there is no such assignment, or a negative fault code, with the fault at /id. */
int assignment_named(struct call *call, const char *id, bool ended, int64_t *message);

/* A request to collect results, and the receiver of the results. inbox_name() makes the names
 * of the request and the session. */
struct collecting {
	const struct agent_row *agent;
	int64_t request; /* name of the request; 0: the request has no name */
	int64_t session; /* 0: no session; then the client confirms an answer's arrival
			    only if `takes` is set */
	bool takes; /* once the answer has arrived, the results are taken for good */
	bool unseen; /* also collects the results of earlier answers that the client has
			perhaps not received */
};

/* Collects the results of commands that the receiver sent. If the lead or the operator makes
 * the call on behalf of the receiver, the results of the commands that the receiver ran are
 * collected, too. `*more` is set if the answer had no room for all results. The next request
 * collects the remaining results. */
int result_collect(struct call *call, const struct collecting *c,
		   struct result_line **out, size_t *n, bool *more);

/* Collects again the results that a request with the same name collected in the last day: the
 * answer with these results may have been lost. Fills `*out` (in the arena), `*n` and `*more`.
 * Returns 0 or negative. */
int result_again(struct call *call, const struct agent_row *a, int64_t request,
		 struct result_line **out, size_t *n, bool *more);
enum { RESULT_REPEAT_MS = 86400000 };

#endif
