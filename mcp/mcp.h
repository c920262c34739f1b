/*
 * mcp - serves the Model Context Protocol to one peer, without a transport.
 *
 * The transport reads and writes the bytes of messages. The transport passes each message of
 * the client to mcp_handle(). For each message that goes to the client, the peer calls
 * options.send. With each request the transport passes a value `stream`, which the transport
 * chooses. All messages that belong to a request are sent with the `stream` of the request.
 * Messages that belong to no request are sent with the stream NULL. The protocol has a legacy
 * and a modern era, and both eras are served side by side. `initialize` makes the peer a legacy
 * peer. A request whose _meta names a protocol version is a modern request, and needs no
 * earlier messages.
 *
 * The state is opened when the first request needs it, so that a client that only lists the
 * tools gets its answer at once. A peer runs on one thread. The transport polls mcp_fd() for
 * input. The transport calls mcp_step() after input, and when the time of mcp_timeout() has
 * passed.
 *
 * Read the files in this order: mcp_peer.h (a request from start to end), mcp.c (the methods,
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
	const char *text; /* a whole message, with the newline at its end */
	size_t len;
	void *stream; /* stream of the message's request or batch; NULL: no request */
	bool last; /* the message is the answer, and the stream's last message */
	int status; /* HTTP status of the last message: 200, 400 or 404 */
	bool places; /* after this message, the client has all notifications up to
			mcp_place() */
};

/* HTTP headers that describe the message in a request's body. NULL: the header is absent. */
struct mcp_headers {
	const char *version, *method, *name;
};

enum { MCP_LEGACY = 1, MCP_MODERN = 2 };

struct mcp_options {
	struct home *home; /* borrowed until mcp_close() */
	const char *toolsets; /* "core,workspace" or "all"; NULL: core */
	bool output_schemas; /* lists of tools contain schemas of answers, too */
	bool direct; /* calls never use the host */
	bool acts_as_operator; /* a caller without an identity is the operator */
	unsigned eras; /* allowed eras; 0: both eras; MCP_MODERN: the peer has several
			  clients */
	/* The identity of the caller, and the way by which the caller's calls are made. NULL:
	 * the identity and the way are those of `home`. */
	const struct identity *identity;
	const struct client_way *way;
	void (*send)(void *arg, const struct mcp_message *message);
	/* Called when a request was cancelled, so that the stream of the request ends without
	 * an answer. NULL: the transport needs no such call. */
	void (*drop)(void *arg, void *stream);
	void *arg;
};

/* Makes a peer. The texts of `o` are borrowed until mcp_close(). Returns 0, or a fault if a
 * toolset is unknown. */
int mcp_open(struct mcp **out, const struct mcp_options *o, struct fault *f);
/* Returns the number of tools that the peer lists, and sets *bytes to the size of this list,
 * which each client reads. */
size_t mcp_cost(struct mcp *m, size_t *bytes);
/* Ends all requests without an answer, and frees the peer. `m` may be NULL. */
void mcp_close(struct mcp *m);

/* Handles a message or a batch of messages, which is `len` bytes of JSON. Answers are passed to
 * options.send, during this call or later. */
void mcp_handle(struct mcp *m, const char *message, size_t len, void *stream);
/* Does the same as mcp_handle() for a message that is already parsed. `message` is borrowed.
 * `headers` may be NULL. Returns whether the message gets an answer, now or later. */
bool mcp_take(struct mcp *m, json_t *message, const struct mcp_headers *headers,
	      void *stream);
/* Does the same as mcp_handle(). `at` is the number of bytes that the client had sent before
 * this message. */
void mcp_handle_at(struct mcp *m, const char *message, size_t len, uint64_t at);
/* Refuses a message that is longer than the transport accepts. */
void mcp_refuse_long(struct mcp *m, void *stream);

/* Sets the number of bytes, or of requests, that the client had sent before the next message. */
void mcp_at(struct mcp *m, uint64_t at);
/* Cancels the requests of the stream `stream`, whose client has left. */
void mcp_cut(struct mcp *m, void *stream);

/* Whether `version`, the header MCP-Protocol-Version, names a revision with sessions. */
bool mcp_is_legacy(const char *version);
/* Whether the HTTP message `message`, which has no session, begins a session. */
bool mcp_begins(const json_t *message);

/* A legacy session. A session is stored in rows of the state, so that another process can
 * continue the session. */
struct mcp_session {
	const char *version, *client; /* the agreed version, and the client's name from
					 `initialize` */
	int level; /* lowest level of the log messages for the client */
	const char *watches; /* subscriptions of the session, as JSON */
};

/* Whether the peer has answered `initialize`. If the peer has answered, fills `session`. The
 * texts of `session` belong to the peer and are valid until the next call of mcp_session(). */
bool mcp_session(struct mcp *m, struct mcp_session *session);
/* Returns how often the session's level and subscriptions have changed until now. */
unsigned mcp_changes(const struct mcp *m);
/* Continues the session `session` in a new peer. Returns false if the version of the session is
 * not a legacy version. */
bool mcp_restore(struct mcp *m, const struct mcp_session *session);

/* If `held` is true, holds back the notifications of a legacy peer that has no stream for
 * notifications. If `held` is false, sends notifications again. */
void mcp_hold(struct mcp *m, bool held);
/* Appends a text that names a place in the event logs. The client has all notifications up to
 * this place. This text is the id of an SSE event. */
void mcp_place(const struct mcp *m, struct text *out);
/* Whether the handshake agreed on the revision `version` of the protocol. */
bool mcp_is_revision(const struct mcp *m, const char *version);
/* Goes back to `place`, a text of mcp_place(). Notifications after this place are sent again. */
void mcp_go_back(struct mcp *m, const char *place);

/* Reports that all messages sent until now were written whole, or cannot be written because
 * their reader has left. `arrived` is true if the messages were written. `sent` is the number
 * of bytes that the client had sent before the messages were written. A request within these
 * bytes does not prove that an answer arrived. */
void mcp_wrote(struct mcp *m, bool arrived, uint64_t sent);

/* Reports the fate of the answers that mcp_wrote() reported under `sent`. A lost answer is taken
 * back. Only a door whose values `sent` differ may call this function. For a peer of the modern
 * era the door has to call this function. */
void mcp_told(struct mcp *m, uint64_t sent, bool arrived);

/* Whether there are written answers that the client has perhaps not read yet. */
bool mcp_has_unread(const struct mcp *m);
/* Reports that the client has read all written messages. `sent` is the number of bytes that the
 * client had sent by that time. Bytes that the client sends later prove that the client has the
 * answers. */
void mcp_was_read(struct mcp *m, uint64_t sent);

/* Whether the client has perhaps not read some answers yet that contain claims or messages. */
bool mcp_has_answers(const struct mcp *m);
/* Counts all answers with claims or messages as read by the client. */
void mcp_settle(struct mcp *m);

/* Called at the end of the input. Ends subscriptions, and waiting requests that do not write.
 * Waiting requests that may still write go on for a short time. After mcp_end(), mcp_idle()
 * returns true when all requests have ended. */
void mcp_end(struct mcp *m);
bool mcp_idle(const struct mcp *m);
/* Whether so many calls are running that the transport should not read now. */
bool mcp_full(const struct mcp *m);

int mcp_fd(const struct mcp *m); /* -1: there is nothing to poll yet */
int mcp_timeout(const struct mcp *m); /* ms until mcp_step() is due; -1: never */
/* Whether the peer watches a resource. A call may change a watched resource, and after such a
 * call the peer must notify its client. */
bool mcp_watches(const struct mcp *m);
/* Does the work that is due. The work is input of mcp_fd(), reports of progress, renewals of
 * leases, and notifications of subscriptions. */
void mcp_step(struct mcp *m);

/* Sets whether the peer renews the agent's claims. A new peer renews the agent's claims. */
void mcp_renews(struct mcp *m, bool renews);

/* Runs `cadre mcp`, which serves a client on stdin and stdout until the end of input. Returns
 * the exit status. */
int mcp_main(int argc, char **argv, struct home *home);

#endif
