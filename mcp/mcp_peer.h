/*
 * mcp_peer - the inside of mcp.h: requests on their way to an answer.
 *
 * A request is made when its message is read. The request is freed by its one answer, in
 * answer_end() or answer_error(). A request without an answer is freed by request_free(). A
 * method answers at once, or starts a call with request_call() and answers at the end of the
 * call. Answers are written as JSON text between answer_begin() and answer_end(). Results of
 * operations are inserted unchanged.
 */
#ifndef MCP_MCP_PEER_H
#define MCP_MCP_PEER_H

#include "core/client/client.h"
#include "core/home/here.h"
#include "core/op/face.h"
#include "mcp/mcp.h"
#include "mcp/rpc.h"

#define META "io.modelcontextprotocol/"

struct answers;
struct mcp_feed;
struct subscription;
struct request;

/* Hints in modern answers: how long an answer may be cached, and by whom. */
enum cache {
	CACHE_NONE, /* no hint: the answer to an action */
	CACHE_NEVER, /* the present state */
	CACHE_SHORT, /* a list that seldom changes */
	CACHE_MINE, /* the same for this caller while the server runs */
	CACHE_ALWAYS, /* the same for everybody while the server runs */
};

enum { ERA_LEGACY = MCP_LEGACY, ERA_MODERN = MCP_MODERN };

struct era {
	unsigned bit;
	int no_resource; /* error code for a resource that does not exist */
	/* Writes the members with which every result begins, with a comma after them. */
	void (*begin)(struct request *r, struct text *out, enum cache cache);
};

extern const struct era era_legacy, era_modern;

/* Levels of log messages with the names of RFC 5424, most urgent first. */
enum level {
	LEVEL_EMERGENCY,
	LEVEL_ALERT,
	LEVEL_CRITICAL,
	LEVEL_ERROR,
	LEVEL_WARNING,
	LEVEL_NOTICE,
	LEVEL_INFO,
	LEVEL_DEBUG,
	LEVEL_NONE = -1,
};

/* The level of this name; LEVEL_NONE if no level has it. */
int level_named(const char *name);

/* Ends a call: `result` is JSON text, borrowed, or NULL when `f` is filled. */
typedef void call_end(struct request *r, const char *result, const struct fault *f);

struct request {
	struct request *next, *prev; /* in mcp.requests while a call runs */
	struct mcp *mcp;
	const struct era *era;
	struct answers *with; /* the batch of the answer, or NULL */
	void *stream;
	int status; /* HTTP status of the answer; 0: 200 */
	bool answered;
	bool asks; /* modern: the answer is input_required */
	char *id; /* id of the request, as JSON text */
	char *token; /* progress token, as JSON text; NULL: no progress */
	enum level level; /* modern: level of the log messages it wants */
	int64_t tokens; /* most tokens of the answer */
	struct form form; /* form of the call's answer */
	bool reads; /* a resource is read: the hint names a tool */

	/* Members for the time while a call runs. */
	const struct op *op;
	json_t *args; /* arguments of the call */
	const struct identity *as; /* caller of the call; NULL: the session */
	const struct face *face; /* form of the answer; NULL: the operation's own */
	json_t *said; /* arguments in the form of the face */
	int64_t number;
	call_end *end;
	int64_t wait_s; /* seconds that the call may wait; 0: no wait */
	int64_t wait_ends; /* clock_steady_ms() of the end of the wait */
	int64_t began, progress_at; /* progress_at 0: no progress is sent */

	char *handout; /* name of the hand-out: mcp_answer.c */
	bool takes; /* the hand-out is taken for good */
	json_t *lost; /* arguments of the call that takes the answer back */

	/* State of the method. */
	const struct noun *noun; /* completion: the noun whose names are listed */
	char *word, *scope;
	json_t *joins; /* arguments of a call by which the session may join */
	bool opening; /* some watches are not open yet */
	bool subscribing; /* the request owns watches */
	bool listening; /* modern subscription, answered when it ends */
};

struct mcp {
	struct mcp_options options;
	struct identity identity;
	char session[32];
	struct identity nobody; /* caller of calls to become another agent */
	bool lapsed; /* the identity kept for this directory is not valid */
	struct here_call joining; /* the running call to become an agent, if any */
	struct client *client; /* NULL until a request needs the state */
	const char *version; /* negotiated by initialize; NULL: not negotiated */
	enum level level; /* legacy: level of the messages that are logged */
	char client_name[64]; /* legacy: name from initialize */
	struct text tools; /* members of the tools/list result */
	struct text out; /* the message that is being written */
	struct request *requests;
	size_t n_requests;
	size_t n_running; /* requests with a call that does not wait */
	struct arrival *arrivals; /* newest first */
	uint64_t at; /* bytes that the client sent before this message */
	const struct mcp_headers *headers; /* headers of the present message, or NULL */
	bool holds; /* legacy notifications wait for a stream */
	bool renews; /* the agent's claims are renewed */
	struct text watched; /* mcp_session.watches */
	unsigned changes; /* number of changes of the session */
	struct subscription *watches;
	size_t n_watches;
	struct mcp_feed *feeds;
	int64_t keep_at; /* time of the next check of claims; 0: no check */
	bool keeping; /* a check of claims is running */
	int64_t end_by; /* the input has ended: time when waits end; 0: open */
};

/* The client for calls, which is opened at its first use and owned by `m`. NULL on a fault. */
struct client *mcp_client(struct mcp *m, struct fault *f);

/* --- requests and answers (mcp_answer.c) -------------------------------------- */

/* Makes a request, which the caller owns until it is answered or freed; `rpc` is borrowed
 * for the call only. */
struct request *request_new(struct mcp *m, const struct rpc *rpc, const struct era *era,
			    void *stream);

/* Starts an operation; `end` gets the result or the fault, perhaps before request_call()
 * returns. The function takes over `args`. */
void request_call(struct request *r, const struct op *op, json_t *args, call_end *end);
/* Starts anew the operation of a call that has ended. The function takes over `args`. */
void request_again(struct request *r, json_t *args);
/* Keeps a request in the list of requests under way. */
void request_hold(struct request *r);
/* Ends a request, and its call if there is one, without an answer. */
void request_cancel(struct request *r);
/* Sends a progress notification; the request must have a token. */
void request_progress(struct request *r, int64_t now);

/* Begins the result, to which the caller appends members. answer_end() closes the result, sends
 * the answer, and frees the request. */
struct text *answer_begin(struct request *r, enum cache cache);
void answer_end(struct request *r);
/* Answers with an error and frees the request; `data` is JSON text or NULL. */
void answer_error(struct request *r, int code, const char *data, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Answers with a fault as a JSON-RPC error, for methods without a tool result. */
void answer_fault(struct request *r, const struct fault *f);
/* Answers that the resource does not exist, with the reason `why`; frees the request. */
void answer_no_resource(struct request *r, const char *uri, const char *why);
/* Answers that a resource could not be read: as answer_no_resource(), or, depending on the
 * fault, with another error. */
void answer_unread(struct request *r, const char *uri, const struct fault *f);

/* Begins a notification: the caller appends the members of its params.  The text belongs
 * to `m`. */
struct text *note_begin(struct mcp *m, const char *method);
/* Closes the notification and sends it on the stream. */
void note_end(struct mcp *m, void *stream);
/* As note_end(), for the last notification about a batch of events. After this notification the
 * client has all notifications up to mcp_place(). */
void note_end_last(struct mcp *m);
/* Sends a log message, if the client wants this level. */
void request_log(struct request *r, enum level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Answers with an error a message from which no request was made; `id` is JSON text or NULL. */
void mcp_refuse(struct mcp *m, void *stream, struct answers *with, const char *id,
		int code, const char *why);

/* Makes the array for a batch of messages, whose answers are sent together. */
struct answers *answers_new(struct mcp *m, void *stream);
/* Gives up one reference to the array. When the last reference is given up, the array is sent
 * and freed. */
void answers_drop(struct answers *b);
/* Puts the answer of a request into the array, which waits for this answer. */
void answers_add(struct answers *b, struct request *r);

/* --- methods -------------------------------------------------------------- */

typedef void method_run(struct request *r, json_t *params);

method_run tools_list, tools_call;
method_run resources_list, resources_templates, resources_read;
method_run prompts_list, prompts_get;
method_run complete_argument;

void mcp_write_offer(const struct mcp *m,
		     struct text *out); /* capabilities, instructions */
void mcp_write_server(struct text *out); /* name and version */

/* Whether the cursor is valid for a list of a single page: it must be absent. If not, answers
 * with an error. */
bool cursor_none(struct request *r, json_t *params);

/* --- tools ------------------------------------------------------------------ */

/* Checks the sets of tools that were asked for. Returns a fault if a set is not known. */
int tools_open(struct mcp *m, struct fault *f);

/* --- who (mcp_who.c) --------------------------------------------------------------- */

/* Remembers the arguments of a call by which a session may join. */
void who_joins(struct request *r, const struct op *op, json_t *args);
/* Whether a call to join failed because the identity kept for this directory is no longer
 * valid. If so, the session becomes nobody, and the call is started anew. */
bool who_begins_anew(struct request *r, const struct fault *f);
/* Called when a call by which a session may join was answered, with a result or a fault. */
void who_settle(struct request *r);
/* Returns the result of a tool's operation without its tokens, as a model gets it; the caller
 * frees the text. Returns NULL if the result can be sent unchanged. If the session was nobody
 * and has joined by this call, the session is that agent from now on. */
char *who_result(struct request *r, const char *result);

/* --- results of tools --------------------------------------------------------- */

/* Tokens that an answer to this client may take; `client` is the client's own name, or NULL. */
int64_t result_tokens(const struct mcp *m, const char *client);
/* Both functions serve the reading of resources. result_form_read() sets the form of the
 * answer, with the same limit as for tools. result_text() writes the answer as a JSON text,
 * with the hint as its last member. */
void result_form_read(struct request *r);
void result_text(struct request *r, const char *json, struct text *out);

/* --- waits -------------------------------------------------------------------------- */

/* Notes how long the call will wait, and limits the wait to mcp.max_wait_seconds. */
void wait_cut(struct request *r, const struct op *op, json_t *args);
/* If an answer was cut, appends how to read the rest. (mcp_follow.c) */
void follow_hint(const struct request *r, const json_t *answer, struct text *hint);
/* If the call answered by `json` got nothing, appends how to wait, or how to go on waiting. */
void wait_hint(const struct request *r, const char *json, struct text *hint);

/* --- answers with claims or messages (mcp_answer.c) ------------------------------- */

/* Called when a request is read: answers that were written before the client sent the request
 * have arrived. */
void mcp_arrive_read(struct mcp *m);
/* Called when the client cancels a request that is already answered. */
void mcp_arrive_cancel(struct mcp *m, const char *id);
/* Frees the records of all answers, at the end of `m`. */
void mcp_arrivals_release(struct mcp *m);

/* --- subscriptions (subscription.c) ------------------------------------------- */

/* Adds a watch of `uri` for `r`; returns false if the URI names no resource. After the last
 * watch, the caller calls subscription_open(): it holds `r` until all watches are open or
 * refused, and then answers `r`. */
bool subscription_add(struct request *r, const char *uri);
void subscription_add_list(struct request *r); /* watches the list of resources */
void subscription_open(struct request *r);
/* Called when a legacy peer got the list of resources as of event `seq`. From now on the peer
 * is notified of changes of the list, without a subscription. */
void subscription_listed(struct mcp *m, int64_t seq);
void subscription_drop(struct mcp *m, const char *uri); /* ends a legacy subscription */
void subscription_forget(struct mcp *m, const struct request *r);
void subscriptions_run(struct mcp *m, int64_t now);
void subscriptions_release(struct mcp *m);
/* Write the watches of a legacy peer as JSON, and read them back. */
void subscriptions_write(const struct mcp *m, struct text *out);
void subscriptions_restore(struct mcp *m, const char *watches);
int64_t feeds_due(const struct mcp *m); /* time of subscriptions_run(); 0: never */

/* --- claims of a running process (mcp_who.c) ------------------------------------ */

/* Plans the next check of the agent's claims, for a time soon after a call that may have
 * claimed a task. */
void mcp_keep_soon(struct mcp *m, const struct op *done);
/* If a check of claims is due at `now`, checks the claims and renews the leases of the agent's
 * tasks. */
void mcp_keep_run(struct mcp *m, int64_t now);

#endif
