/*
 * pid - guests and other processes that may outlive their host.
 *
 * A pid alone does not identify a process, since the system reuses pids. A process is
 * identified by its pid, its start time and the machine's boot id. A signal is sent through a
 * descriptor of the process, so only the process that was checked can get the signal.
 */
#ifndef CORE_MACHINE_PID_H
#define CORE_MACHINE_PID_H

#include "core/machine/backend.h"

/* Fills `process` for the process that has this pid now. process->start is 0 if no process has
 * this pid. */
void pid_find(int64_t pid, struct process *process);
/* The pid of a process's parent; 0 if the process does not exist or has no parent. */
int64_t pid_parent(int64_t pid);
bool pid_alive(const struct process *process);
/* Whether the process exists, but a signal has suspended it. */
bool pid_stopped(const struct process *process);
/* Whether the machine was rebooted after the start of the process. */
bool pid_rebooted(const struct process *process);
/* Sends the signal `number`. Succeeds even if the process has ended. */
int pid_send(const struct process *process, int number, struct fault *f);
/* Sends SIGTERM, or SIGKILL if `now` is set. */
int pid_stop(const struct process *process, bool now, struct fault *f);

#endif
