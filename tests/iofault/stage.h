/*
 * stage - a host whose disk fails when the test says so, and a client of the host.
 *
 * The client keeps its calls and their answers. A call without an answer is open, since the
 * host may have done the call or not. A repeat of the call with the same key settles the call.
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
	json_t *answer; /* NULL while the call is open */
};

struct stage {
	char base[64], home[160], log[80], disk_file[80];
	pid_t host;
	struct fault_control *disk;
	struct home found;
	struct client *client; /* acts as the agent ann */
	struct asked *asked;
	int n_asked;
	int received; /* number of the last answered receive; 0: no receive yet */
	struct fault fault; /* fault of the last call */
};

/* Makes a temporary folder. The state's folder is `home`, or a folder in the temporary folder
 * if `home` is NULL. */
void stage_open(struct stage *s, const char *home);
void stage_close(struct stage *s);
/* Starts a host of the test build with the failing disk, and makes the team and agents. */
void stage_start(struct stage *s);
/* Ends the host by SIGKILL if `hard`. Otherwise sends SIGTERM, and the host must exit with 0. */
void stage_stop(struct stage *s, bool hard);

/* Counts the disk operations of these kinds from this call on, and makes operation number
 * `after` fail. If `lasting`, all later operations of these kinds fail, too. */
void disk_break(struct stage *s, int kinds, int result, long after, bool lasting);
void disk_mend(struct stage *s);

/* Makes a call that writes, under a new key, and stores the call in the stage. Returns SAID_YES
 * or SAID_UNAVAILABLE. Takes over `args`. `answer` may be NULL. The stage owns *answer. */
enum said stage_write(struct stage *s, const char *name, json_t *args, json_t **answer);
/* Makes a call that only reads. The caller frees *answer. */
enum said stage_read(struct stage *s, const char *name, json_t *args, json_t **answer);
enum said stage_send(struct stage *s);
/* Sends a message, makes a task, receives and acknowledges messages, and claims and completes a
 * task. Returns how many of these calls succeeded. */
int stage_round(struct stage *s);
/* Repeats the open calls until all calls have an answer. */
void stage_settle(struct stage *s);
/* Checks that the host still runs. */
void stage_alive(struct stage *s);
/* Checks, after the host's end, that each acknowledged write is stored once, and that state.db
 * and its counters are sound. */
void stage_judge(struct stage *s);

#endif
