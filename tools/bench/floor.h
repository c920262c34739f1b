/*
 * floor - the same work without cadre: the costs of SQLite, the disk and the kernel.
 *
 * Every line of the table stands beside one of these, measured in turn with it.
 */
#ifndef TOOLS_BENCH_FLOOR_H
#define TOOLS_BENCH_FLOOR_H

#include "tools/bench/bench.h"

enum { FLOOR_BODY = 256 };

/* A file with the rows that a message takes: its own, its delivery's, its event's and
 * its key's, as many bytes as ours. */
struct bench_floor;

int floor_open(struct bench_floor **out, struct bench_ground *g, int agents);
void floor_close(struct bench_floor *f); /* NULL is fine */

/* Messages a second, `batch` of them a commit, four statements each; or -1. */
double floor_rate(struct bench_floor *f, int batch, double seconds);
/* A message to all agents, in one statement and one commit: ms in the middle, or -1. */
double floor_broadcast(struct bench_floor *f, double seconds);

/* A file for writes of 4 KiB, each with its fdatasync. */
struct floor_page {
	char path[300];
	int fd, n;
};
int floor_page_open(struct floor_page *p, struct bench_ground *g, const char *name);
double floor_page_sync(struct floor_page *p); /* ms, or -1 */
void floor_page_close(struct floor_page *p);

/* The main function of `bench floor read|commit FILE`, which links what the command
 * links: opens the file, reads or commits one row, ends. */
int floor_main(const char *what, const char *path);
/* Runs such a process to its end: ms, or -1.  floor_process_file() makes the file. */
double floor_process(const char *what, const char *path);
int floor_process_file(struct bench_ground *g, char path[300]);

/* --- lock.c: 8 processes of which each takes a lock, inserts a row and syncs -------- */

/* How long the slowest hundredth of their writes takes, in ms; or -1. */
double floor_locked(struct bench_ground *g, int writers, double seconds);

#endif
