/*
 * process_stat - what /proc tells of a process, and what the process and its descendants use.
 */
#ifndef CORE_MACHINE_PROCESS_STAT_H
#define CORE_MACHINE_PROCESS_STAT_H

#include <stdbool.h>
#include <stdint.h>

/* The members of /proc/PID/stat that cadre reads. */
struct process_stat {
	char state; /* a letter, such as T for a stopped process */
	long long parent; /* a pid */
	long long start; /* in clock ticks after boot */
	/* Clock ticks of the processor: of the process, and of its children that have ended. */
	long long user, system, children_user, children_system;
	long long pages; /* of memory */
};

/* Returns false if the process does not exist or is a zombie. */
bool process_read_stat(int64_t pid, struct process_stat *p);

/* Finds the milliseconds of the processor and the bytes of memory that a process and its
 * descendants use. A descendant whose parent has ended is not counted. Pages that processes
 * share count for each of the processes. Returns false if the process does not exist. */
bool process_find_usage(int64_t pid, int64_t *cpu_ms, int64_t *memory);

#endif
