/*
 * rig - the part of a host that talks with a guest, and a guest that sends any answer.
 *
 * The host's own code for lines, errands, pushes and collecting runs over a real link. The
 * guest's end of the link belongs to the test and runs in the same loop. There is no store:
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

/* Handles a frame from the host. The guest may answer with rig_say(). */
typedef void rig_heard(void *arg, struct rig_peer *peer, json_t *request);

struct rig {
	struct host host;
	struct hosted_guest *guest;
	struct conn conn; /* the connection of a caller */
	struct link_ear *ears[RIG_PORTS];
	struct rig_peer *peers;
	bool old; /* the guest speaks the older dialect */
	int pushes; /* messages that wait for the guest */
	bool unoffered; /* these messages are assignments that no guest has seen */
	bool asked_again; /* the last question also asked for messages sent before */
	int asked_for_all, asked_for_assignments, asked_for_texts; /* question counts */
	int offered, told, refused; /* numbers of messages, as the host noted them */
	char boot_noted[72]; /* noted boot id of the guest that got all messages */
	int stored; /* number of results that arrived */
	int failures; /* number of results of failed commands */
	char why[200]; /* error output of the last result */
	int acked; /* results that the host has acknowledged, counted by the test */
	bool strays; /* results count as not stored, as if they belonged to no assignment */
	bool works_held; /* jobs for workers do not run */
	bool reads_held; /* calls that only read do not run */
	enum fault_code page_fault; /* fault of the next page of messages; 0: no fault */
	size_t printed; /* noted number of bytes that turns have printed */
	size_t printed_by_end; /* the same number when the last turn's end was noted */
	int ends; /* number of noted ends of turns */
	enum fault_code store_fault; /* fault of storing a result; 0: storing succeeds */
	rig_heard *heard;
	void *arg;
};

/* Makes a guest that listens at one address, and a host that dials another address, which may
 * be the same. Returns false if the guest cannot listen there. */
bool rig_open(struct rig *r, const char *listen, const char *dial, bool old,
	      rig_heard *heard, void *arg);
void rig_close(struct rig *r);

/* Runs the loop once. With `wait`, the call then waits a moment for an event. */
void rig_step(struct rig *r, bool wait);
/* Runs the loop until the guest is linked. Returns false after `ms`. */
bool rig_link(struct rig *r, int ms);
/* Lets the host drop its link to the guest, and dial the guest anew without a pause. */
void rig_unlink(struct rig *r);

/* Begins a call that the guest has to answer. rig_answer() returns the answer, which the caller
 * frees, or NULL while there is no answer. */
bool rig_call(struct rig *r, const char *op, json_t *args);
json_t *rig_answer(struct rig *r);
/* Makes a call and waits for the answer, at most `ms`; NULL: no answer arrived. */
json_t *rig_ask(struct rig *r, const char *op, json_t *args, int ms);
/* The caller closes its connection. */
void rig_forsake(struct rig *r);

/* Sends a frame with these bytes unchanged. */
void rig_say(struct rig_peer *peer, const char *body, size_t size);
/* Sends a frame of JSON under the id of `request` (NULL: without an id), and takes over `json`. */
void rig_reply(struct rig_peer *peer, json_t *json, const json_t *request);

/* Returns a message of this type with every field filled as far as possible. */
json_t *rig_brim(const struct wire *wire);
/* Returns the answer of an honest guest to a request; the caller owns it. */
json_t *rig_honest(const json_t *request);

#endif
