/*
 * hosted_ask_inside - shared parts of ask's files: how each kind of message is asked, and the calls
 * that wait for their guest.
 */
#ifndef CORE_HOST_GUESTS_HOSTED_ASK_INSIDE_H
#define CORE_HOST_GUESTS_HOSTED_ASK_INSIDE_H

#include "core/host/guests/hosted_ask.h"
#include "core/host/guests/gather.h"
#include "core/host/guests/guest_conn.h"

/* An answer that is being gathered: job->owner, in the call's arena. */
struct gather {
	struct answer_parts parts;
	struct output stream[2];
	int64_t written[2]; /* bytes of the streams, where the guest keeps fewer; else 0 */
	bool replaced; /* bytes of them were no text */
	int64_t job_id; /* under which the guest keeps the rest */
	size_t room; /* of a directory: JSON that still fits */
};

struct gather *gather_of(struct job *job);

/* Whether the caller waits no more: the guest is asked no further then. */
bool ask_is_gone(struct job *job);

/* Asks the guest by a message of this type for a further part; or by the call's own message
 * once more. */
void ask_guest(struct job *job, struct guest_conn *conn, const char *type,
	       const void *src, int64_t ms);
void ask_fields(struct job *job, struct guest_conn *conn, int64_t ms);

/* The functions below are those of struct ask_kind: a fill completes the message; a check sets
 * the call's fault, or mends the answer; a take fills the call's answer or its fault, and is true when it has
 * asked for the rest. */

/* --- hosted_ask_command.c ---------------------------------------------------------------- */

bool ask_take_exec(struct job *job, struct packet *answer, struct guest_conn *conn);
void ask_check_background(struct job *job, void *answer);
void ask_check_poll(struct job *job, void *answer);
void ask_check_set_env(struct job *job, void *answer);

/* --- hosted_ask_file.c ------------------------------------------------------------------- */

void ask_fill_read(struct job *job, void *message);
void ask_check_content(struct job *job, void *answer);
void ask_fill_write(struct job *job, void *message);
void ask_fill_list(struct job *job, void *message);
bool ask_take_list(struct job *job, struct packet *answer, struct guest_conn *conn);

#endif
