/*
 * hosted_ask - calls about a workspace's commands and files; the guest has to answer these
 * calls.
 *
 * The store has already run the call and checked the caller's rights. The host now sends the
 * call's arguments to the guest of the workspace job->call.workspace.asked. The guest's answer
 * becomes the call's answer.
 */
#ifndef CORE_HOST_GUESTS_HOSTED_ASK_H
#define CORE_HOST_GUESTS_HOSTED_ASK_H

#include "core/host/job.h"

/* Owns `job` from now on. conn_answer() gets the job when the guest has answered, or when the
 * guest could not be reached for some seconds. If the call has a key, the outcome is stored
 * before conn_answer() is called. */
void ask_start(struct host *host, struct job *job);

/* Looks at the calls that wait for a link to their guest. Sends each call whose guest has a
 * link now. Refuses a call whose time is over or whose caller is gone. When the host stops,
 * refuses all waiting calls. */
void ask_look(struct host *host);

#endif
