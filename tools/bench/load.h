/*
 * load - clients of a server, driven by one thread with epoll.
 *
 * Each connection is a speaker that goes through the steps of a cycle (send;
 * or send, receive, ack), `window` cycles at a time.  A script writes the requests and
 * tells where an answer ends.  The load shares the machine's cores with the server, so
 * everything that can be prepared beforehand is prepared.
 */
#ifndef TOOLS_BENCH_LOAD_H
#define TOOLS_BENCH_LOAD_H

#include "tools/bench/bench.h"

enum { LOAD_WINDOW = 64, LOAD_IN = 64 << 10, LOAD_OUT = 32 << 10, LOAD_ID = 64 };

struct load;

struct speaker {
	const struct load *load;
	int fd, number;
	int step; /* the step that waits for its answer */
	uint64_t random;
	char id[LOAD_ID]; /* a script's: what the last answer named */
	size_t n_id;
	long epoch;
	char *own; /* a script's; freed at the end */
	size_t n_own, at;
	size_t n_in, n_out;
	unsigned head, tail; /* of begun: a ring of cycles under way */
	int64_t begun[LOAD_WINDOW];
	char in[LOAD_IN];
	char out[LOAD_OUT];
};

struct script {
	int n_steps;
	/* Connects and greets; the socket, or -1. */
	int (*join)(struct speaker *s);
	/* Appends the request of a step with say(). */
	void (*ask)(struct speaker *s, int step);
	/* How long the answer at `data` is; 0 if more is needed. */
	size_t (*whole)(const char *data, size_t size);
	/* Takes an answer; false if it is a failure. */
	bool (*heard)(struct speaker *s, int step, const char *data, size_t size);
};

struct load {
	const struct script *script;
	const char *socket; /* path of a Unix socket */
	const void *arg; /* the script's */
	int clients, window;
	double warm, seconds;
};

struct outcome {
	double rate; /* cycles a second */
	double p50_ms, p99_ms, p999_ms, max_ms;
	uint64_t cycles, failed;
};

int load_run(const struct load *l, struct outcome *out);

/* For scripts: */
void load_say(struct speaker *s, const char *data, size_t size);
int load_join(const char *path);
int load_write_all(int fd, const char *data, size_t size);
/* The bytes that would begin at `data`, read until `whole` of them are there;
 * how many, or -1. */
ssize_t load_read_answer(int fd, char *data, size_t room,
			 size_t (*whole)(const char *data, size_t size));

#endif
