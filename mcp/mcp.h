/*
 * mcp - the Model Context Protocol for one peer, without a transport.
 *
 * Messages go in through mcp_handle() and come out through options.send.  The
 * transport owns the bytes in between, and a `stream`, a value of its own for a
 * request.  Messages for this request come back with the `stream`; messages for no
 * request have NULL.  Both eras are served side by side: `initialize` makes the
 * peer a legacy one, a request whose _meta names a protocol version is modern
 * and needs no state.
 *
 * The state is opened when the first request needs it, so that a client that
 * only looks at the tools has its answer at once.  One thread; the transport
 * polls mcp_fd() for input and calls mcp_step() then and when mcp_timeout() is
 * over.
 *
 * To read: mcp_peer.h (a request's life), mcp.c (the methods, and the differences of
 * the protocol's eras), then one file per kind of thing that is offered.
 */
#ifndef MCP_MCP_H
#define MCP_MCP_H

#include "core/client/client.h"
#include "core/home/home.h"

struct mcp;

/* A message to the client. */
struct mcp_message {
	const char *text; /* one whole message, newline included */
	size_t len;
	void *stream; /* of the request, or batch, that it belongs to; NULL: of none */
	bool last; /* the answer, and the last message of this stream */
	int status; /* of HTTP, for the last one: 200, 400 or 404 */
	bool places; /* with it the client has all notifications up to mcp_place() */
};

/* Headers of a request of HTTP, which say what its message is; NULL: they do not. */
struct mcp_headers {
	const char *version, *method, *name;
};

enum { MCP_LEGACY = 1, MCP_MODERN = 2 };

struct mcp_options {
	struct home *home; /* borrowed for the peer's life */
	const char *toolsets; /* "core,workspace" or "all"; NULL: core */
	bool output_schemas; /* list what tools answer, too */
	bool direct; /* never use the host */
	bool acts_as_operator; /* without an identity the caller is the operator */
	unsigned eras; /* that a peer may be of; 0: both; MCP_MODERN alone: it may be several clients,
			  whose requests say nothing of each other's answers */
	/* The caller, and the way of its calls; NULL: as the home says. */
	const struct identity *identity;
	const struct client_way *way;
	void (*send)(void *arg, const struct mcp_message *message);
	/* A request was cancelled: its stream ends without an answer.  NULL: nobody asks. */
	void (*drop)(void *arg, void *stream);
	void *arg;
};

/* Makes a peer; texts of `o` are borrowed for its life.  0, or a fault if a toolset is
 * unknown. */
int mcp_open(struct mcp **out, const struct mcp_options *o, struct fault *f);
/* How many tools the peer lists, and the bytes of that list as each client reads it. */
size_t mcp_cost(struct mcp *m, size_t *bytes);
/* Ends all requests without an answer, and frees the peer; NULL is fine. */
void mcp_close(struct mcp *m);

/* Handles a message, or a batch of them, of `len` bytes of JSON.  Answers come now or
 * later, by options.send. */
void mcp_handle(struct mcp *m, const char *message, size_t len, void *stream);
/* The same for JSON that is read already and borrowed; `headers` NULL: there are none.  Whether
 * it is answered, now or later. */
bool mcp_take(struct mcp *m, json_t *message, const struct mcp_headers *headers,
	      void *stream);
/* mcp_handle() for a message before which the client had sent `at` bytes. */
void mcp_handle_at(struct mcp *m, const char *message, size_t len, uint64_t at);
/* Says that a message was longer than the transport takes. */
void mcp_refuse_long(struct mcp *m, void *stream);

/* Says how many bytes, or requests, the client had sent before the next message. */
void mcp_at(struct mcp *m, uint64_t at);
/* Cancels the requests of a stream whose client is gone. */
void mcp_cut(struct mcp *m, void *stream);

/* Whether MCP-Protocol-Version names a revision with sessions. */
bool mcp_is_legacy(const char *version);
/* Whether a message of HTTP without a session begins one. */
bool mcp_begins(const json_t *message);

/* A legacy session is kept in rows, and may go on in another process. */
struct mcp_session {
	const char *version, *client; /* as initialize has said */
	int level; /* of its log */
	const char *watches; /* its subscriptions, as JSON */
};

/* Whether initialize was answered; fills in the session, whose texts are the peer's until it is
 * next called. */
bool mcp_session(struct mcp *m, struct mcp_session *session);
/* How often its level and subscriptions have changed until now. */
unsigned mcp_changes(const struct mcp *m);
/* Gives a new peer the state of this session; false: the session has no legacy version. */
bool mcp_restore(struct mcp *m, const struct mcp_session *session);

/* A legacy peer's notifications are held back while it has no stream for them: */
void mcp_hold(struct mcp *m, bool held);
/* Up to where a client has them, as text: for the id of an event of SSE.  Appends. */
void mcp_place(const struct mcp *m, struct text *out);
/* Whether a handshake agreed on that revision of the protocol. */
bool mcp_is_revision(const struct mcp *m, const char *version);
/* Goes back to there. */
void mcp_go_back(struct mcp *m, const char *place);

/* Takes note that all messages sent so far were written whole (`arrived`), or cannot be,
 * since their reader is gone.  The client had sent `sent` bytes before the
 * messages were written: a request in these bytes does not show that an answer arrived. */
void mcp_wrote(struct mcp *m, bool arrived, uint64_t sent);

/* Whether there are answers that were written, and that the client may not have read. */
bool mcp_has_unread(const struct mcp *m);
/* Takes note that the client has read all written messages, and had sent `sent` bytes until
 * then.  When the client sends further bytes, it already has the answers. */
void mcp_was_read(struct mcp *m, uint64_t sent);

/* Whether there are answers with claims or messages that the client has perhaps not read. */
bool mcp_has_answers(const struct mcp *m);
/* Counts these answers as read by the client. */
void mcp_settle(struct mcp *m);

/* Takes note that there is no more input: ends subscriptions and waits.  mcp_idle()
 * tells when all that was read is answered. */
void mcp_end(struct mcp *m);
bool mcp_idle(const struct mcp *m);
/* Whether so much is under way that reading more should wait. */
bool mcp_full(const struct mcp *m);

int mcp_fd(const struct mcp *m); /* -1: nothing to poll yet */
int mcp_timeout(const struct mcp *m); /* ms until mcp_step() is due; -1: never */
/* Whether it follows anything: the end of a call may be one that it waits for then. */
bool mcp_watches(const struct mcp *m);
/* Does what is due: input of mcp_fd(), progress, leases, subscriptions. */
void mcp_step(struct mcp *m);

/* Whether the claims of the agent are renewed, as they are at first. */
void mcp_renews(struct mcp *m, bool renews);

/* `cadre mcp`: serves stdin and stdout to the end of input.  Returns the exit status. */
int mcp_main(int argc, char **argv, struct home *home);

#endif
