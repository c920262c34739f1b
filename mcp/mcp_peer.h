/*
 * mcp_peer - the inside of mcp.h: requests on their way to an answer.
 *
 * A request is made when its message is read and freed by the one answer it
 * gets: answer_end(), answer_error(), or request_free() when it gets none.
 * A method answers at once or starts a call with request_call(), whose end
 * answers.  Answers are written as JSON text between answer_begin() and
 * answer_end(); results of operations are put in as they come.
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

/* Hints of modern answers: how long one may be cached, and by whom. */
enum cache {
	CACHE_NONE, /* not said: the answer of an act */
	CACHE_NEVER, /* the state as it is now */
	CACHE_SHORT, /* a list that seldom changes */
	CACHE_MINE, /* the same for this caller while we run */
	CACHE_ALWAYS, /* the same for everybody while we run */
};

enum { ERA_LEGACY = MCP_LEGACY, ERA_MODERN = MCP_MODERN };

struct era {
	unsigned bit;
	int no_resource; /* code for a resource that is not there */
	/* Writes what every result begins with, a comma behind it. */
	void (*begin)(struct request *r, struct text *out, enum cache cache);
};

extern const struct era era_legacy, era_modern;

/* RFC 5424's names, most urgent first. */
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
	struct answers *with; /* or NULL */
	void *stream;
	int status; /* of HTTP, of its answer; 0: 200 */
	bool answered;
	bool asks; /* modern: its answer is input_required */
	char *id; /* as JSON text */
	char *token; /* of progress, as JSON text; NULL: not wanted */
	enum level level; /* modern: what it wants logged */
	int64_t tokens; /* that its answer may take */
	struct form form; /* of the answer of its call */
	bool reads; /* a resource: a tool reads on, not the same call */

	/* while a call runs */
	const struct op *op;
	json_t *args; /* of the call */
	const struct identity *as; /* its caller; NULL: the session */
	const struct face *face; /* form of the answer; NULL: the operation's own */
	json_t *said; /* arguments as the face has them */
	int64_t number;
	call_end *end;
	int64_t wait_s; /* how long it may wait; 0: it does not */
	int64_t wait_ends; /* clock_steady_ms(), if it waits */
	int64_t began, progress_at; /* 0: no progress to tell */

	char *handout; /* its name: mcp_answer.c */
	bool takes; /* ... which is taken for good */
	json_t *lost; /* arguments of the call that takes it back */

	/* state of the method */
	const struct noun *noun; /* the noun whose names are asked for; NULL: none */
	char *word, *scope;
	json_t *joins; /* arguments of a call that says who the session is */
	bool opening; /* its watches are not all open yet */
	bool subscribing; /* owns watches */
	bool listening; /* modern subscription: answered at its end */
};

struct mcp {
	struct mcp_options options;
	struct identity identity;
	char session[32];
	struct identity nobody; /* caller of a call that asks to be another agent */
	bool lapsed; /* the identity that was kept for this directory is over */
	struct here_call joining; /* its call to become an agent, if one is under way */
	struct client *client; /* NULL until a request needs the state */
	const char *version; /* negotiated by initialize; NULL: it was not */
	enum level level; /* legacy: what is logged */
	char client_name[64]; /* legacy: as initialize gave it */
	struct text tools; /* members of the tools/list result */
	struct text out; /* the message that is being written */
	struct request *requests;
	size_t n_requests;
	size_t n_running; /* of those, calls that do not wait */
	struct arrival *arrivals; /* newest first */
	uint64_t at; /* bytes that the client sent before the message in hand */
	const struct mcp_headers *headers; /* of the message in hand, or NULL */
	bool holds; /* legacy notifications wait for a stream */
	bool renews; /* claims of the agent */
	struct text watched; /* mcp_session.watches */
	unsigned changes; /* of its session */
	struct subscription *watches;
	size_t n_watches;
	struct mcp_feed *feeds;
	int64_t keep_at; /* when claims are looked after again; 0: not yet */
	bool keeping; /* ... and that is going on */
	int64_t end_by; /* not 0: no more input; waits end then */
};

/* The client of the state, opened when it is first needed and owned by `m`; NULL on
 * fault. */
struct client *mcp_client(struct mcp *m, struct fault *f);

/* --- requests and answers (mcp_answer.c) -------------------------------------- */

/* Makes a request, which the caller owns until it is answered or freed; `rpc` is borrowed
 * for the call only. */
struct request *request_new(struct mcp *m, const struct rpc *rpc, const struct era *era,
			    void *stream);

/* Starts an operation; `end` gets its result or fault, perhaps at once.  `args`
 * is stolen. */
void request_call(struct request *r, const struct op *op, json_t *args, call_end *end);
/* Starts the operation of a call that has ended anew; `args` is stolen. */
void request_again(struct request *r, json_t *args);
/* Keeps a request among those under way. */
void request_hold(struct request *r);
/* Ends the call of a request, if it has one, without an answer. */
void request_cancel(struct request *r);
/* Sends a progress notification; the request has a token. */
void request_progress(struct request *r, int64_t now);

/* Begins the result, to which the caller appends members; answer_end() closes and sends
 * it, and frees the request. */
struct text *answer_begin(struct request *r, enum cache cache);
void answer_end(struct request *r);
/* Answers with an error and frees the request; `data` is JSON text or NULL. */
void answer_error(struct request *r, int code, const char *data, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Answers with a fault as a JSON-RPC error, since no tool result can hold it. */
void answer_fault(struct request *r, const struct fault *f);
/* Answers that there is no such resource, and why; frees the request. */
void answer_no_resource(struct request *r, const char *uri, const char *why);
/* answer_no_resource(), or another error if the fault of reading it says so. */
void answer_unread(struct request *r, const char *uri, const struct fault *f);

/* Begins a notification: the caller appends the members of its params.  The text belongs
 * to `m`. */
struct text *note_begin(struct mcp *m, const char *method);
/* Closes the notification and sends it on the stream. */
void note_end(struct mcp *m, void *stream);
/* The same for the last one of what happened: behind it mcp_place() is right. */
void note_end_last(struct mcp *m);
/* Sends a log message, if the client wants this level. */
void request_log(struct request *r, enum level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Answers a message that made no request with an error; `id` is JSON text or NULL. */
void mcp_refuse(struct mcp *m, void *stream, struct answers *with, const char *id,
		int code, const char *why);

/* Messages whose answers go back as one array. */
struct answers *answers_new(struct mcp *m, void *stream);
/* Gives up one hold on the array; the last one sends and frees it. */
void answers_drop(struct answers *b);
/* Puts the answer of a request into the array, which waits for it. */
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

/* Whether the cursor is right for a list of a single page: absent. */
bool cursor_none(struct request *r, json_t *params);

/* --- tools ------------------------------------------------------------------ */

/* Writes the tools of the sets; a fault if a set is not known. */
int tools_open(struct mcp *m, struct fault *f);

/* --- who (mcp_who.c) --------------------------------------------------------------- */

/* Remembers the arguments of a call by which a session may join. */
void who_joins(struct request *r, const struct op *op, json_t *args);
/* Whether a call to join failed since the identity that is kept for this directory is
 * over: then the session is nobody, and the call begins anew. */
bool who_begins_anew(struct request *r, const struct fault *f);
/* A call by which a session may join was answered, whatever came of it. */
void who_settle(struct request *r);
/* The result of a tool's operation as a model is told it, to be freed: no token is in it.
 * A session that was nobody, and has joined, is that agent from here on.  NULL: the result, as
 * it is. */
char *who_result(struct request *r, const char *result);

/* --- results of tools --------------------------------------------------------- */

/* Tokens that an answer to this client may take; `client` is the name it gave itself, or
 * NULL. */
int64_t result_tokens(const struct mcp *m, const char *client);
/* The same for a resource, which takes no arguments, and its answer as a text in JSON: within
 * the same bound, with the same hint as its last member. */
void result_form_read(struct request *r);
void result_text(struct request *r, const char *json, struct text *out);

/* --- waits -------------------------------------------------------------------------- */

/* Notes how long the call will wait, and cuts what is over mcp.max_wait_seconds. */
void wait_cut(struct request *r, const struct op *op, json_t *args);
/* Appends how to read on where an answer is not whole; nothing where it is. (mcp_follow.c) */
void follow_hint(const struct request *r, const json_t *answer, struct text *hint);
/* Appends how to wait, or to go on waiting, where the call `json` answers got nothing. */
void wait_hint(const struct request *r, const char *json, struct text *hint);

/* --- answers with claims or messages (mcp_answer.c) ------------------------------- */

/* Called when a request is read: answers written before it was sent have arrived. */
void mcp_arrive_read(struct mcp *m);
/* Called when a request that was answered already is cancelled. */
void mcp_arrive_cancel(struct mcp *m, const char *id);
/* Frees the record of all answers; `m` ends. */
void mcp_arrivals_release(struct mcp *m);

/* --- subscriptions (subscription.c) ------------------------------------------- */

/* Watches `uri` for r; false when it names no resource.  subscription_open(), after
 * the last one, holds r until all are open or refused, then answers it. */
bool subscription_add(struct request *r, const char *uri);
void subscription_add_list(struct request *r); /* the list of resources */
void subscription_open(struct request *r);
/* A legacy peer was told the list as of event `seq`; from now on it hears when
 * that changes, unasked. */
void subscription_listed(struct mcp *m, int64_t seq);
void subscription_drop(struct mcp *m, const char *uri); /* of a legacy subscription */
void subscription_forget(struct mcp *m, const struct request *r);
void subscriptions_run(struct mcp *m, int64_t now);
void subscriptions_release(struct mcp *m);
/* Legacy watches as JSON, and back. */
void subscriptions_write(const struct mcp *m, struct text *out);
void subscriptions_restore(struct mcp *m, const char *watches);
int64_t feeds_due(const struct mcp *m); /* when subscriptions_run() is; 0: not */

/* --- claims of a living process (mcp_who.c) ------------------------------------- */

/* Plans the next look at the agent's claims: soon after a call that may have claimed a
 * task. */
void mcp_keep_soon(struct mcp *m, const struct op *done);
/* Looks after the claims if that is due at `now`: renews the leases of the agent's tasks. */
void mcp_keep_run(struct mcp *m, int64_t now);

#endif
