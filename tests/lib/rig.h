/*
 * rig - the part of a host that talks with a guest, and a guest whose answers the test makes.
 *
 * The host's own code for connections, calls, pushes and results runs over a real link. The
 * guest's end of the link belongs to the test and runs in the same loop. There is no store. The
 * host is told that its rows are written.
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
	int pushes; /* number of messages that wait for the guest */
	bool unoffered; /* the waiting messages are assignments that no guest has seen */
	bool asked_again; /* the host's last query included messages that were sent before */
	int asked_for_all, asked_for_assignments, asked_for_texts; /* counts of the host's
								      queries for waiting
								      messages */
	int offered, told, refused; /* counts of messages in the host's notes */
	char boot_noted[72]; /* the guest's boot id in the host's last note */
	int stored; /* number of results that arrived */
	int failures; /* number of results of failed commands */
	char why[200]; /* error output of the last result */
	int acked; /* number of acknowledged results, counted by the test */
	bool strays; /* the host is told that no result was stored, as if the results had
			no assignment */
	bool works_held; /* jobs for workers do not run */
	bool reads_held; /* calls that only read do not run */
	enum fault_code page_fault; /* fault of the next page of messages; 0: no fault */
	size_t printed; /* number of bytes that turns have printed, as noted by the host */
	size_t printed_by_end; /* value of `printed` when the host noted the last turn's end */
	int ends; /* number of ends of turns that the host noted */
	enum fault_code store_fault; /* fault of storing a result; 0: storing succeeds */
	rig_heard *heard;
	void *arg;
};

/* Makes a guest, which listens at the address `listen`, and a host, which dials the address
 * `dial`. Returns false if this fails. */
bool rig_open(struct rig *r, const char *listen, const char *dial, bool old,
	      rig_heard *heard, void *arg);
void rig_close(struct rig *r);

/* Runs the loop once. With `wait`, the function then waits up to a millisecond for an event. */
void rig_step(struct rig *r, bool wait);
/* Runs the loop until the guest is linked. Returns false if the guest is not linked within
 * `ms`. */
bool rig_link(struct rig *r, int ms);
/* Lets the host drop its link to the guest, and dial the guest anew without a pause. */
void rig_unlink(struct rig *r);

/* Begins a call that the guest has to answer. rig_answer() returns the answer, or NULL while
 * there is no answer. The caller frees the answer. */
bool rig_call(struct rig *r, const char *op, json_t *args);
json_t *rig_answer(struct rig *r);
/* Makes a call, and returns the answer, or NULL if no answer arrives within `ms`. */
json_t *rig_ask(struct rig *r, const char *op, json_t *args, int ms);
/* Marks the caller's calls as if the caller had closed its connection. */
void rig_forsake(struct rig *r);

/* Sends a frame with the bytes of `body`, unchanged. */
void rig_say(struct rig_peer *peer, const char *body, size_t size);
/* Sends `json` as a frame, and takes over `json`. The frame has the id of `request`, or no id
 * if `request` is NULL. */
void rig_reply(struct rig_peer *peer, json_t *json, const json_t *request);

/* Returns a message of the type `wire` that has every field, with large values. */
json_t *rig_brim(const struct wire *wire);
/* Returns the answer of an honest guest to a request. The caller frees the answer. */
json_t *rig_honest(const json_t *request);

#endif
