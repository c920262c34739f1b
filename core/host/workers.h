/*
 * workers - the threads of a host that run calls which may take long: those on
 * the vault's files, and the reading of what turns print.
 *
 * Each has a connection of its own and takes its turn to write as any process
 * does.  They are few, so that they do not eat the machine.  A call that waits for
 * another one's lock keeps its thread, and the jobs queued behind it wait.
 */
#ifndef CORE_HOST_WORKERS_H
#define CORE_HOST_WORKERS_H

#include "core/home/home.h"
#include "core/host/readers.h"

enum { WORKERS = 4 };

struct workers;

/* `done` gets each job when it has run, on its thread.  A thread opens the state
 * at its first call. */
int workers_open(struct workers **out, const struct home *home, batch_done *done,
		 void *arg, struct fault *f);
void workers_close(struct workers *all); /* runs what is queued; NULL is fine */

void workers_push(struct workers *all, struct chain *jobs); /* leaves it empty */

#endif
