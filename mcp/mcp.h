/*
 * mcp - the Model Context Protocol for one peer, without a transport.
 *
 * A message of the client is passed to mcp_handle(). Messages to the client are passed to
 * options.send. The transport reads and writes the bytes. With each request the transport
 * passes a `stream`, a value of its choice. Messages that belong to this request are sent with
 * the same `stream`. Messages that belong to no request are sent with NULL. Both eras of the
 * protocol are served side by side. `initialize` makes the peer a legacy peer. A request whose
 * _meta names a protocol version is modern and needs no earlier messages.
 *
 * The state is opened when the first request needs it, so that a client that only lists the
 * tools gets its answer at once. A peer runs on one thread. The transport polls mcp_fd() for
 * input, and calls mcp_step() after input and when the time of mcp_timeout() has passed.
 *
 * The order to read the files: mcp_peer.h (a request from start to end), mcp.c (the methods,
 * and the differences of the protocol's eras), then the files for tools, resources, prompts and
 * subscriptions.
 */
#ifndef MCP_MCP_H
#define MCP_MCP_H

#include "core/client/client.h"
#include "core/home/home.h"

struct mcp;

/* A message to the client. */
struct mcp_message {
	const char *text; /* a whole message, with its newline */
	size_t len;
	void *stream; /* stream of its request or batch; NULL: no request */
	bool last; /* the answer, and the last message of this stream */
	int status; /* HTTP status of the last message: 200, 400 or 404 */
	bool places; /* completes the notifications up to mcp_place() */
};

/* Headers of an HTTP request that describe its message. NULL: the header is absent. */
struct mcp_headers {
	const char *version, *method, *name;
};

enum { MCP_LEGACY = 1, MCP_MODERN = 2 };

struct mcp_options {
	struct home *home; /* borrowed until mcp_close() */
	const char *toolsets; /* "core,workspace" or "all"; NULL: core */
	bool output_schemas; /* lists of tools have schemas of answers, too */
	bool direct; /* never use the host */
	bool acts_as_operator; /* without an identity the caller is the operator */
	unsigned eras; /* eras the peer may have; 0: both; MCP_MODERN: several clients */
	/* The caller, and the way by which its calls are made. NULL: the caller and the way
	 * that the home gives. */
	const struct identity *identity;
	const struct client_way *way;
	void (*send)(void *arg, const struct mcp_message *message);
	/* Called when a request was cancelled: its stream ends without an answer. NULL: no
	 * call. */
	void (*drop)(void *arg, void *stream);
	void *arg;
};

/* Makes a peer; texts of `o` are borrowed until mcp_close(). Returns 0, or a fault if a toolset
 * is unknown. */
int mcp_open(struct mcp **out, const struct mcp_options *o, struct fault *f);
/* Returns the number of tools that the peer lists, and sets *bytes to the size of the list that
 * each client reads. */
size_t mcp_cost(struct mcp *m, size_t *bytes);
/* Ends all requests without an answer, and frees the peer; NULL is fine. */
void mcp_close(struct mcp *m);

/* Handles a message, or a batch of them, of `len` bytes of JSON. Answers are sent by
 * options.send, during the call or later. */
void mcp_handle(struct mcp *m, const char *message, size_t len, void *stream);
/* As mcp_handle(), for JSON that is already parsed; borrowed. `headers` may be NULL. Returns
 * whether the message gets an answer, now or later. */
bool mcp_take(struct mcp *m, json_t *message, const struct mcp_headers *headers,
	      void *stream);
/* As mcp_handle(), for a message before which the client had sent `at` bytes. */
void mcp_handle_at(struct mcp *m, const char *message, size_t len, uint64_t at);
/* Called for a message that was longer than the transport accepts. */
void mcp_refuse_long(struct mcp *m, void *stream);

/* Sets the number of bytes, or of requests, that the client had sent before the next message. */
void mcp_at(struct mcp *m, uint64_t at);
/* Cancels the requests of a stream whose client is gone. */
void mcp_cut(struct mcp *m, void *stream);

/* Whether MCP-Protocol-Version names a revision with sessions. */
bool mcp_is_legacy(const char *version);
/* Whether an HTTP message without a session begins a session. */
bool mcp_begins(const json_t *message);

/* A legacy session. A session is stored in rows of the state, and may be continued in another
 * process. */
struct mcp_session {
	const char *version, *client; /* from the `initialize` request */
	int level; /* level of its log messages */
	const char *watches; /* its subscriptions, as JSON */
};

/* Whether `initialize` was answered. If so, fills `session`. The texts of `session` belong to
 * the peer and are valid until the next call of mcp_session(). */
bool mcp_session(struct mcp *m, struct mcp_session *session);
/* The number of changes of the session's level and subscriptions so far. */
unsigned mcp_changes(const struct mcp *m);
/* Gives a new peer the state of this session. Returns false if the version of the session is
 * not a legacy version. */
bool mcp_restore(struct mcp *m, const struct mcp_session *session);

/* `held`: holds back a legacy peer's notifications, while the peer has no stream for them. */
void mcp_hold(struct mcp *m, bool held);
/* Appends, as text, the place up to which a client has the notifications. The text is used as
 * the id of an SSE event. */
void mcp_place(const struct mcp *m, struct text *out);
/* Whether the handshake agreed on this revision of the protocol. */
bool mcp_is_revision(const struct mcp *m, const char *version);
/* Goes back to a place of mcp_place(): later notifications are sent again. */
void mcp_go_back(struct mcp *m, const char *place);

/* Takes note that all messages sent so far were written whole (`arrived`), or cannot be written
 * because their reader is gone. The client had sent `sent` bytes before the messages were
 * written. A request within these bytes does not prove that an answer arrived. */
void mcp_wrote(struct mcp *m, bool arrived, uint64_t sent);

/* Whether some written answers may not have been read by the client. */
bool mcp_has_unread(const struct mcp *m);
/* Takes note that the client has read all written messages, and had sent `sent` bytes by that
 * time. When the client sends further bytes, it already has the answers. */
void mcp_was_read(struct mcp *m, uint64_t sent);

/* Whether some answers with claims or messages may not have been read by the client. */
bool mcp_has_answers(const struct mcp *m);
/* Counts all answers with claims or messages as read by the client. */
void mcp_settle(struct mcp *m);

/* Called at the end of the input: ends subscriptions and waits. mcp_idle() returns true when
 * all requests are answered. */
void mcp_end(struct mcp *m);
bool mcp_idle(const struct mcp *m);
/* Whether so many calls are under way that the transport should stop reading for now. */
bool mcp_full(const struct mcp *m);

int mcp_fd(const struct mcp *m); /* -1: nothing to poll yet */
int mcp_timeout(const struct mcp *m); /* ms until mcp_step() is due; -1: never */
/* Whether the peer watches a resource. If so, the end of a call may change this resource, and
 * the peer must then notify its client. */
bool mcp_watches(const struct mcp *m);
/* Does the work that is due: input of mcp_fd(), progress, leases, subscriptions. */
void mcp_step(struct mcp *m);

/* Sets whether the agent's claims are renewed; a new peer renews them. */
void mcp_renews(struct mcp *m, bool renews);

/* `cadre mcp`: serves stdin and stdout until the end of input. Returns the exit status. */
int mcp_main(int argc, char **argv, struct home *home);

#endif
