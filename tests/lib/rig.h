/*
 * rig - the part of a host that talks with a guest, and a guest that lies.
 *
 * The host's own lines, errands, pushes and collecting run over a real link, in
 * one loop with the guest's end of it, which is the test's.  There is no store:
 * rows that the host would write count as written.
 */
#ifndef TESTS_LIB_RIG_H
#define TESTS_LIB_RIG_H

#include "core/host/host_inside.h"
#include "core/wire/frame.h"
#include "ops.gen.h"

enum { RIG_PORTS = 2 };

struct rig;

/* The guest's end of a connection. */
struct rig_peer {
	struct rig_peer *next;
	struct rig *rig;
	uv_pipe_t pipe;
	struct frame_reader in;
	struct flow flow;
	unsigned port;
	bool closing;
};

/* A frame of the host's; the guest answers with rig_say(), or does not. */
typedef void rig_heard(void *arg, struct rig_peer *peer, json_t *request);

struct rig {
	struct host host;
	struct hosted_guest *guest;
	struct conn conn; /* the caller's */
	struct link_ear *ears[RIG_PORTS];
	struct rig_peer *peers;
	bool old; /* the guest speaks the older dialect */
	int pushes; /* messages that wait for it */
	bool unoffered; /* ... which are assignments that no guest was told of */
	bool asked_again; /* the last question asked for messages told before, too */
	int asked_for_all, asked_for_assignments, asked_for_texts; /* how often */
	int offered, told, refused; /* messages that were written down so */
	char boot_noted[72]; /* of the guest that was told all, as written down */
	int stored; /* results that came to be stored, ... */
	int failures; /* ... the results of failed commands among them, ... */
	char why[200]; /* ... and the errors of the last */
	int acked; /* results that the host has acknowledged: the test counts them */
	bool strays; /* no result belongs to anything */
	bool works_held; /* no worker runs */
	size_t printed; /* bytes that turns have printed, as written down, ... */
	size_t printed_by_end; /* ... before the last turn's end was written down */
	int ends; /* of turns */
	enum fault_code store_fault; /* comes of storing a result; 0: it is done */
	rig_heard *heard;
	void *arg;
};

/* A guest that listens at one address and is dialled at another, which may be
 * the same; false when it cannot listen there. */
bool rig_open(struct rig *r, const char *listen, const char *dial, bool old,
	      rig_heard *heard, void *arg);
void rig_close(struct rig *r);

/* Runs once what is ready, and waits for something up to a moment if asked. */
void rig_step(struct rig *r, bool wait);
/* Until the guest is linked; false after `ms`. */
bool rig_link(struct rig *r, int ms);
/* The host gives the guest up, and dials it anew without a pause. */
void rig_unlink(struct rig *r);

/* A call that the guest has to answer; rig_answer() has its answer, the
 * caller's to free, or NULL while there is none. */
bool rig_call(struct rig *r, const char *op, json_t *args);
json_t *rig_answer(struct rig *r);
/* Calls and waits for the answer, `ms` at most; NULL: it did not come. */
json_t *rig_ask(struct rig *r, const char *op, json_t *args, int ms);
/* The caller is gone. */
void rig_forsake(struct rig *r);

/* A frame with these bytes, as they are. */
void rig_say(struct rig_peer *peer, const char *body, size_t size);
/* A frame of JSON, which is taken over, under the id of a request (or NULL). */
void rig_reply(struct rig_peer *peer, json_t *json, const json_t *request);

/* A message of this type with every field filled, with all that there is room for. */
json_t *rig_brim(const struct wire *wire);
/* Returns the answer of an honest guest to a request; the caller owns it. */
json_t *rig_honest(const json_t *request);

#endif
