/*
 * stage - a state of its own with agents in it, and a host that serves it.
 */
#ifndef TOOLS_BENCH_STAGE_H
#define TOOLS_BENCH_STAGE_H

#include "core/client/client.h"
#include "tools/bench/bench.h"
#include "tools/bench/load.h"

struct stage {
	struct bench_ground *ground;
	char dir[256];
	bool kept; /* the folder stays */
	struct home home;
	struct client *client; /* opened at need */
	pid_t host;
};

/* A fresh state in the folder `name`. */
int stage_open(struct stage *s, struct bench_ground *g, const char *name);
/* Opens a stage in a folder that exists already, or that is made to stay. */
int stage_open_at(struct stage *s, struct bench_ground *g, const char *dir);
/* Team `t` with agents a0, a1, ...; capacity 0: inboxes without an end. */
int stage_team(struct stage *s, int agents, int capacity);
int stage_serve(struct stage *s); /* starts the host and waits until it is ready */
/* Allocates a stage, and opens it with a team and, if `hosted`, a host: NULL if a step
 * failed. */
struct stage *stage_new(struct bench_ground *g, const char *name, int agents,
			int capacity, bool hosted);
void stage_free(struct stage *s); /* NULL is fine */
void stage_stop(struct stage *s);
void stage_close(struct stage *s); /* ends the host, and removes the folders */

/* Runs one operation as the operator; `json` are its arguments. */
int stage_call(struct stage *s, const char *op, const char *json, struct text *out);

/* Opens the state for statements; *call is for the macros of core/call/call.h. */
int stage_store(struct stage *s, struct call *call);

/* Argument (load.arg) of the functions `script_...` of talk.c. */
struct talk {
	int body; /* bytes of a message */
	bool random_keys; /* half of the keys UUIDv4, else all UUIDv7 */
	const char *team; /* NULL: t */
	const char *op, *args; /* of script_same */
	const char *const *tokens; /* of each agent; NULL: an operator acts as them */
};
extern const struct script script_send; /* to the neighbour */
extern const struct script script_all; /* to everybody */
extern const struct script script_cycle; /* to oneself, receive, ack */
extern const struct script script_claim; /* claim, complete */
extern const struct script script_borrow; /* claim, release */
extern const struct script script_same; /* one call again and again */

#endif
