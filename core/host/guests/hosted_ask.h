/*
 * hosted_ask - calls that a guest has to answer: commands and files of a workspace.
 *
 * The call has already run in the store, which checked the caller's rights. Its arguments are
 * now sent to the guest of the workspace job->call.workspace.asked, and the guest's answer
 * becomes the call's answer.
 */
#ifndef CORE_HOST_GUESTS_HOSTED_ASK_H
#define CORE_HOST_GUESTS_HOSTED_ASK_H

#include "core/host/job.h"

/* Takes the job. conn_answer() is called with the job when the guest has answered, or when the
 * guest could not be reached for some seconds. The outcome of a call with a key is stored
 * first. */
void ask_start(struct host *host, struct job *job);

/* Looks at the calls that wait for a link to their guest. Asks each guest that has a link now.
 * Refuses a call whose time is over or whose caller is gone. Refuses all calls when the host
 * stops. */
void ask_look(struct host *host);

#endif
