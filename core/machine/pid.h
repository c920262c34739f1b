/*
 * pid - processes that outlive the host that started them.
 *
 * A pid alone is not enough, since the system uses pids again. A pid counts only together with
 * the start time of its process and the boot id of the machine. A signal is sent through a
 * descriptor, so it reaches exactly the process that was checked.
 */
#ifndef CORE_MACHINE_PID_H
#define CORE_MACHINE_PID_H

#include "core/machine/backend.h"

/* The process that has this pid now; `start` is 0 if there is no such process. */
void pid_find(int64_t pid, struct process *process);
/* The parent of a process: the process that started or adopted it; 0: there is no parent. */
int64_t pid_parent(int64_t pid);
bool pid_alive(const struct process *process);
/* Whether the process lives, but is suspended by a signal. */
bool pid_stopped(const struct process *process);
/* Whether the machine was rebooted after the process started, so that the process has ended. */
bool pid_rebooted(const struct process *process);
/* Sends a signal; also succeeds if the process has ended. */
int pid_send(const struct process *process, int number, struct fault *f);
/* Sends SIGTERM, or SIGKILL if `now` is set. */
int pid_stop(const struct process *process, bool now, struct fault *f);

#endif
