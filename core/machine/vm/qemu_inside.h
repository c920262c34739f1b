/*
 * qemu_inside - declarations that the files of the QEMU backend share.
 *
 * qemu.c: disks and the table; qemu_vm.c: a VM's process and its words.
 */
#ifndef CORE_MACHINE_VM_QEMU_INSIDE_H
#define CORE_MACHINE_VM_QEMU_INSIDE_H

#include "core/base/arena.h"
#include "core/machine/backend.h"

/* The process of the VM of workspace `id` of the state `home`, by the words of
 * its command line: nobody else's VM has both.  False when there is none. */
bool vm_find(const char *home, const char *id, struct process *process);

/* Starts a VM on a disk; `dir` is its image's folder. */
int vm_start(const struct workspace_spec *spec, const char *dir, const char *disk,
	     struct process *process, struct fault *f);

/* The socket of its monitor. */
const char *vm_monitor(struct arena *a, const char *sockets);

/* Ends a process at once and waits until it is gone. */
int vm_kill(const struct process *process, struct fault *f);

#endif
