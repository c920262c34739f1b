/*
 * pid - processes that outlive the host that started them.
 *
 * A pid alone says nothing, since it is used again: it is believed only
 * together with the time at which its process started and the boot of the
 * machine.  A signal goes through a descriptor that pins what was looked at.
 */
#ifndef CORE_MACHINE_PID_H
#define CORE_MACHINE_PID_H

#include "core/machine/backend.h"

/* The process that has this pid now; `start` is 0 when there is none. */
void pid_find(int64_t pid, struct process *process);
/* The parent of a process, by which the process was started or taken over; 0: none. */
int64_t pid_parent(int64_t pid);
bool pid_alive(const struct process *process);
/* Whether a signal has stopped a process that is alive. */
bool pid_stopped(const struct process *process);
/* Whether the process ended with the machine, which has started anew since. */
bool pid_rebooted(const struct process *process);
/* Sends a signal; a process that is gone is success. */
int pid_send(const struct process *process, int number, struct fault *f);
/* Sends SIGTERM, or SIGKILL when `now`. */
int pid_stop(const struct process *process, bool now, struct fault *f);

#endif
