/*
 * stage - a host whose disk fails when the test says so, and one client of it.
 *
 * The client keeps what it was told.  A call that got no answer is open: it may
 * have been done or not, and the same call with its key settles that.
 */
#ifndef TESTS_IOFAULT_STAGE_H
#define TESTS_IOFAULT_STAGE_H

#include "core/client/client.h"
#include "tests/lib/fault_vfs.h"

enum { ASKED_MOST = 20000 };

enum said { SAID_NOTHING, SAID_YES, SAID_UNAVAILABLE, SAID_NO };

struct asked {
	char key[24];
	const struct op *op;
	json_t *args;
	json_t *answer; /* NULL while it is open */
};

struct stage {
	char base[64], home[160], log[80], disk_file[80];
	pid_t host;
	struct fault_control *disk;
	struct home found;
	struct client *client; /* as the agent ann */
	struct asked *asked;
	int n_asked;
	int received; /* the newest receive that was answered; 0: none */
	struct fault fault; /* of the last call */
};

/* Makes a temporary folder; the state in it, or in `home` if that is not NULL. */
void stage_open(struct stage *s, const char *home);
void stage_close(struct stage *s);
/* A host of the test build with the failing disk, and team and agents. */
void stage_start(struct stage *s);
/* SIGKILL, if `hard`; else SIGTERM, which must end it well. */
void stage_stop(struct stage *s, bool hard);

/* Every n-th operation of these kinds fails from now on, or only the next n-th. */
void disk_break(struct stage *s, int kinds, int result, long after, bool lasting);
void disk_mend(struct stage *s);

/* A write under a new key.  What is remembered until the end: SAID_YES and
 * SAID_UNAVAILABLE.  `args` is taken over; *answer (or NULL) is borrowed. */
enum said stage_write(struct stage *s, const char *name, json_t *args, json_t **answer);
/* A read; *answer is the caller's. */
enum said stage_read(struct stage *s, const char *name, json_t *args, json_t **answer);
enum said stage_send(struct stage *s);
/* Send, make a task, receive, acknowledge, claim, complete; how many said yes. */
int stage_round(struct stage *s);
/* Asks again what is open, until there is an answer to all. */
void stage_settle(struct stage *s);
/* The host lives. */
void stage_alive(struct stage *s);
/* With the host ended: all that was acknowledged is there, once, and the file and
 * its counters are sound. */
void stage_judge(struct stage *s);

#endif
