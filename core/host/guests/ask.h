/*
 * ask - calls that a guest has to answer: commands and files of a workspace.
 *
 * The call has run in the store already, which checked who may; here its
 * arguments go to the guest of job->call.workspace and the guest's answer
 * becomes the call's.
 */
#ifndef CORE_HOST_GUESTS_ASK_H
#define CORE_HOST_GUESTS_ASK_H

#include "core/host/job.h"

/* Takes the job: conn_answer() gets it when the guest has answered, or at once when the
 * guest cannot be asked.  What became of a call with a key is written down first. */
void ask_start(struct host *host, struct job *job);

#endif
