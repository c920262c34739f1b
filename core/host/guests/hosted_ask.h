/*
 * hosted_ask - calls that a guest has to answer: commands and files of a workspace.
 *
 * The call has run in the store already, which checked who may; here its
 * arguments go to the guest of job->call.workspace.asked and the guest's answer
 * becomes the call's.
 */
#ifndef CORE_HOST_GUESTS_HOSTED_ASK_H
#define CORE_HOST_GUESTS_HOSTED_ASK_H

#include "core/host/job.h"

/* Takes the job: conn_answer() gets it when the guest has answered, or when the guest was
 * not to be reached for some seconds.  The outcome of a call with a key is stored first. */
void ask_start(struct host *host, struct job *job);

/* Looks at the calls that wait for a link to their guest.  If the link is there now, asks the
 * guest.  Refuses a call whose time is over or whose caller is gone, and all calls when the host
 * stops. */
void ask_look(struct host *host);

#endif
