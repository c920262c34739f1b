/*
 * line - one port of a guest: a link, and the requests on it.
 *
 * A guest that answers Hello gets requests with ids, many at once.  One of the
 * older dialect knows neither: it is asked one thing at a time.
 */
#ifndef CORE_HOST_GUESTS_LINE_H
#define CORE_HOST_GUESTS_LINE_H

#include <uv.h>

#include "core/host/flow.h"
#include "core/host/guests/chatter.h"
#include "core/link/link.h"
#include "core/wire/frame.h"
#include "core/wire/wire.h"

struct tether;

/* Reports the end of a request: `answer` has the one type that wire_answer() gives
 * for the request, or `f` is filled and `answer` is NULL. */
typedef void line_done(void *arg, struct packet *answer, struct fault *f);

/*
 * A line, as often as its guest is dialled:
 *
 *	        line_dial()            connected                the guest has said who it is
 *	IDLE --------------> DIALING ------------> GREETING --------------------> UP
 *	  ^                     |                      |                          |
 *	  |  not reached, or    |                      |  line_close()            |
 *	  |  line_close()       |                      v                          |
 *	  +---------------------+                   CLOSING <---------------------+
 *	  ^                                            |
 *	  +----------- the handle is closed -----------+
 *
 * `dial` is there in DIALING, `pipe` from GREETING to CLOSING.  Nothing is heard nor sent
 * in IDLE, DIALING and CLOSING; in GREETING the only request is the greeting, and the
 * guest has no requests of its own before UP.  Both lines of a guest close together.
 */
enum line_state { LINE_IDLE, LINE_DIALING, LINE_GREETING, LINE_UP, LINE_CLOSING };

/* Connection to one port of a guest. */
struct line {
	struct tether *tether;
	unsigned port;
	enum line_state state; /* line.c sets it, in one place */
	struct link_dial *dial; /* while LINE_DIALING */
	uv_pipe_t pipe;
	int64_t heard_at; /* last bytes */
	bool pinged; /* since then */
	struct frame_reader reader;
	struct flow flow;
	struct chatter chatter;
	bool deaf; /* it is not read from, for its chatter */
	struct asked *asked, **asked_end; /* without an answer yet, in order */
	int64_t last_id;
};

void line_init(struct line *line, struct tether *t, unsigned port);

/* Begins to reach the guest's port; tether_greeted() or line_drop() follows. */
void line_dial(struct line *line);

/* Sends a request; `done` is called once, always later, unless the tether is
 * closed before. `src` is the type's struct or NULL. */
void line_ask(struct line *line, const char *type, const void *src, int64_t timeout_ms,
	      line_done *done, void *arg);

/* Sends a frame that is whole, or an Error: answers to the guest's own requests.
 * False when the guest should read before it is sent more. */
bool line_pass(struct line *line, const char *body, size_t size);
void line_pass_fault(struct line *line, const struct fault *why, const json_t *id);

/* Ends what took too long, and a line that is open but dead. */
void line_tick(struct line *line, int64_t now);

/* Time has leapt: what is waited for is waited for longer. */
void line_leap(struct line *line, int64_t ms);

/* Gives up on the connection, and with it on the guest's other one; both are
 * dialled anew. */
void line_drop(struct line *line);

/* For the tether: closes it, and fails all that has no answer. */
void line_close(struct line *line);
void line_fail_all(struct line *line);

#endif
