/*
 * tether - the host's hold on one guest: its control and relay lines.
 *
 * It dials both until they answer with the workspace's id, again and again
 * with growing pauses, until it is closed.  What goes over the two lines is
 * in push.c (relay), daemon.c and ask.c (control).
 */
#ifndef TETHER_H
#define TETHER_H

#include <uv.h>

#include "core/host/flow.h"
#include "core/host/job.h"
#include "core/link/link.h"
#include "core/wire/frame.h"

struct host;
struct host_event_row;
struct tether;

/* What became of a request: its answer, of a type that belongs to it, or `f`
 * is filled and `answer` NULL. */
typedef void line_done(void *arg, struct packet *answer, struct fault *f);

enum line_state { LINE_IDLE, LINE_DIALING, LINE_GREETING, LINE_UP, LINE_CLOSING };

/* One port of a guest. */
struct line {
	struct tether *tether;
	unsigned port;
	enum line_state state;
	struct link_dial *dial; /* while LINE_DIALING */
	uv_pipe_t pipe;
	int64_t heard_at; /* last bytes */
	bool pinged; /* since then */
	struct frame_reader reader;
	struct flow flow;
	struct asked *asked, **asked_end; /* without an answer yet, in order */
	int64_t last_id;
};

/* Pushes: see push.c. */
struct pushing {
	bool reading; /* or marking what is told */
	bool again; /* look once more when this is done */
	bool anew; /* another guest than before: all again, from `after` */
	int64_t after;
	struct job *page; /* whose rows are being told */
	size_t open; /* of them without an answer */
	int64_t *told; /* of the page's arena */
	size_t n_told;
	bool full; /* the guest has no room */
	int64_t retry_at; /* 0: none */
};

/* What the guest's daemon does: see daemon.c and collect.c. */
struct daemon {
	int64_t heard_at; /* last heartbeat */
	uint64_t beat_hash; /* of what runs, as last written down */
	bool known; /* a heartbeat since the guest is up */
	bool works, offline;
	bool checking; /* one is being written down ... */
	struct job *newer; /* ... and this came meanwhile; NULL: none */
	bool polling, poll_again;
	struct collect *collect; /* results that are being stored */
};

struct tether {
	struct host *host;
	struct tether *next, **at;
	int64_t workspace, team, agent; /* rows; agent 0: none */
	char id[40]; /* the workspace's */
	struct link_address address;
	char token[256]; /* "" where the transport needs none */
	char trouble[256]; /* why it was not reached, as last logged */
	char boot_id[72]; /* of the guest that answers */
	char boot_told[72]; /* of the guest that was told last */
	struct line control, relay;
	int64_t dial_at, pause_ms;
	int64_t pid; /* of the process at the other end; 0: not known */
	bool up, closing;
	int kept; /* handles and jobs that will still use it */
	struct pushing push;
	struct daemon daemon;
};

struct tether_to {
	int64_t workspace, team, agent;
	const char *id, *address, *token, *boot_told;
};

/* Begins to hold a guest; NULL when its address is none. */
struct tether *tether_open(struct host *host, const struct tether_to *to,
			   struct fault *f);
void tether_close(struct tether *t); /* it frees itself; NULL is fine */
/* What comes back later keeps a tether from being freed. */
void tether_keep(struct tether *t);
void tether_let_go(struct tether *t);
void tethers_close(struct host *host);
struct tether *tether_of(struct host *host, int64_t workspace); /* or NULL */

/* Dials, ends what took too long; called by the host's tick. */
void tethers_tick(struct host *host);

/* Sends a request; `done` is called once, always later, unless the tether is
 * closed before. `src` is the type's struct or NULL. */
void line_ask(struct line *line, const char *type, const void *src, int64_t timeout_ms,
	      line_done *done, void *arg);
/* Gives up on the connection; it is dialled anew. */
void line_drop(struct line *line);

/* Looks at an event: some guest may have to be told. */
void tether_event(struct host *host, const struct host_event_row *e);

#endif
