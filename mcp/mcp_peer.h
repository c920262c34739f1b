/*
 * mcp_peer - declarations that the files of mcp/ share, mainly of requests and answers.
 *
 * A request is made when its message is read. answer_end() and answer_error() send the only
 * answer and free the request. request_free() frees a request that gets no answer. An MCP
 * method answers at once, or starts a call with request_call() and answers at the end of the
 * call. A method writes its answer as JSON text between answer_begin() and answer_end(). The
 * result of an operation is inserted into the answer unchanged.
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

/* Hints in modern answers: how long an answer may be cached, and for whom. */
enum cache {
	CACHE_NONE, /* no hint: the answer to an action */
	CACHE_NEVER, /* the data may change at any time */
	CACHE_SHORT, /* a list that seldom changes */
	CACHE_MINE, /* this caller's data, unchanged while the server runs */
	CACHE_ALWAYS, /* everybody's data, unchanged while the server runs */
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

/* The level of this name; LEVEL_NONE if no level has the name. */
int level_named(const char *name);

/* Ends a call: `result` is JSON text, borrowed, or NULL when `f` is filled. */
typedef void call_end(struct request *r, const char *result, const struct fault *f);

struct request {
	struct request *next, *prev; /* links in the list mcp.requests, while a call or a
					subscription is under way */
	struct mcp *mcp;
	const struct era *era;
	struct answers *with; /* the array that the answer is put into, or NULL */
	void *stream;
	int status; /* HTTP status of the answer; 0: 200 */
	bool answered;
	bool asks; /* modern: the answer is input_required */
	char *id; /* id of the request, as JSON text */
	char *token; /* progress token, as JSON text; NULL: no progress */
	enum level level; /* modern: log messages up to this level are sent */
	int64_t tokens; /* maximum number of tokens in the answer */
	struct form form; /* the form of the call's answer, such as its maximum size */
	bool reads; /* the request reads a resource, so the hint must name a tool */

	/* These members are used while a call runs. */
	const struct op *op;
	json_t *args; /* arguments of the call */
	const struct identity *as; /* caller of the call; NULL: the session */
	const struct face *face; /* the called face; NULL: no face was called */
	json_t *said; /* arguments of the face, as the client sent them */
	int64_t number;
	call_end *end;
	int64_t wait_s; /* seconds that the call may wait; 0: no wait */
	bool wait_cut; /* the server's limit ends the wait before the client's time */
	int64_t wait_ends; /* clock_steady_ms() of the end of the wait */
	int64_t began, progress_at; /* steady times; progress_at 0: no progress sent */

	char *handout; /* name by which the answer's messages are confirmed */
	bool takes; /* lease 0: messages are acknowledged on arrival */
	json_t *lost; /* arguments of the call that takes the answer back */

	/* These members belong to the method that runs. */
	const struct noun *noun; /* for a completion: the noun whose names are listed */
	char *word, *scope;
	json_t *joins; /* arguments of a call by which the session may join a team */
	bool opening; /* some watches are not open yet */
	bool subscribing; /* some watches have this request as their owner */
	bool listening; /* a modern subscription: answered when it ends */
};

struct mcp {
	struct mcp_options options;
	struct identity identity;
	char session[32];
	struct identity nobody; /* the caller, without an identity, of a call by which the
				   session becomes another agent */
	bool lapsed; /* the state refused the identity kept for this directory */
	struct here_call joining; /* the running call to become an agent, if any */
	struct client *client; /* NULL until a request needs the state */
	const char *version; /* protocol version; NULL: not negotiated yet */
	enum level level; /* legacy: log messages up to this level are sent */
	char client_name[64]; /* legacy: the client's name from initialize */
	struct text tools; /* JSON members of the tools/list result */
	struct text out; /* the message that is being written */
	struct request *requests;
	size_t n_requests;
	size_t n_running; /* number of requests whose calls run and do not wait */
	struct arrival *arrivals; /* answers that have perhaps not arrived yet, newest
				     first */
	uint64_t at; /* bytes that the client sent before this message */
	const struct mcp_headers *headers; /* headers of the present message, or NULL */
	bool holds; /* legacy: notifications wait until a stream is open */
	bool renews; /* this process renews the agent's claims */
	struct text watched; /* text for the member `watches` of struct mcp_session */
	unsigned changes; /* number of changes of the level and the subscriptions */
	struct subscription *watches;
	size_t n_watches;
	struct mcp_feed *feeds;
	int64_t keep_at; /* time of the next check of claims; 0: no check */
	bool keeping; /* a check of claims is running */
	int64_t end_by; /* time at which waits end, after the end of the input; 0: the
			   input has not ended */
};

/* Returns the client for calls, which `m` owns. The first use opens the client. Returns NULL
 * and fills `f` if the client cannot be opened. */
struct client *mcp_client(struct mcp *m, struct fault *f);

/* --- requests and answers (mcp_answer.c) -------------------------------------- */

/* Makes a request, which the caller owns until the request is answered or freed. request_new()
 * does not keep `rpc`. */
struct request *request_new(struct mcp *m, const struct rpc *rpc, const struct era *era,
			    void *stream);

/* Starts an operation, and passes its result or fault to `end`. `end` may run before
 * request_call() returns. The function takes over `args`. */
void request_call(struct request *r, const struct op *op, json_t *args, call_end *end);
/* Starts a further operation, or the same operation again, for a request whose call has ended.
 * The function takes over `args`. */
void request_next(struct request *r, const struct op *op, json_t *args);
/* Keeps a request in the list of requests under way. */
void request_hold(struct request *r);
/* Ends a request, and its call if there is one, without an answer. */
void request_cancel(struct request *r);
/* Sends a progress notification; the request must have a token. */
void request_progress(struct request *r, int64_t now);

/* Begins the result object of an answer. The caller appends members to the returned text.
 * answer_end() closes the result, sends the answer, and frees the request. */
struct text *answer_begin(struct request *r, enum cache cache);
void answer_end(struct request *r);
/* Answers with an error, and frees the request. `data` is the member `data` of the error as
 * JSON text, or NULL. */
void answer_error(struct request *r, int code, const char *data, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Answers with a JSON-RPC error made from the fault. Only methods without tool results use this
 * function. */
void answer_fault(struct request *r, const struct fault *f);
/* Answers that the resource does not exist, with the reason `why`; frees the request. */
void answer_no_resource(struct request *r, const char *uri, const char *why);
/* Answers that a resource could not be read. The fault decides whether answer_no_resource()
 * answers, or another error is sent. */
void answer_unread(struct request *r, const char *uri, const struct fault *f);

/* Begins a notification. The caller appends the members of the notification's `params` to the
 * returned text, which `m` owns. */
struct text *note_begin(struct mcp *m, const char *method);
/* Closes the notification and sends the notification on `stream`. */
void note_end(struct mcp *m, void *stream);
/* The event log is read in steps. Closes and sends the last notification about the events of
 * one step. After this notification the client has all notifications up to mcp_place(). */
void note_end_last(struct mcp *m);
/* Sends a log message, if the client asked for messages of this level. */
void request_log(struct request *r, enum level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Sends an error as the answer to a message from which no request was made; `id` is JSON text
 * or NULL. */
void mcp_refuse(struct mcp *m, void *stream, struct answers *with, const char *id,
		int code, const char *why);

/* Makes the array for the answers to a batch of messages. The array is sent as one message. */
struct answers *answers_new(struct mcp *m, void *stream);
/* Gives up one reference to the array. When the last reference is given up, the array is sent
 * and freed. */
void answers_drop(struct answers *b);
/* Adds a reference to the array for the request, whose answer is then put into the array. */
void answers_add(struct answers *b, struct request *r);

/* --- methods -------------------------------------------------------------- */

typedef void method_run(struct request *r, json_t *params);

method_run tools_list, tools_call;
method_run resources_list, resources_templates, resources_read;
method_run prompts_list, prompts_get;
method_run complete_argument;

void mcp_write_offer(const struct mcp *m,
		     struct text *out); /* members `capabilities` and `instructions` */
void mcp_write_server(struct text *out); /* name and version */

/* Returns true if the params have no cursor. Otherwise answers with an error and returns false,
 * because the list has only one page. */
bool cursor_none(struct request *r, json_t *params);

/* --- tools ------------------------------------------------------------------ */

/* Checks the names of the tool sets that the options ask for. Returns a fault if one of these
 * names is not the name of a set. */
int tools_open(struct mcp *m, struct fault *f);
/* Whether the client's list of tools shows the tool. */
bool tools_is_offered(const struct mcp *m, const struct tool *tool);
/* Returns the tool's next operation from op_table[*i] on, or NULL if the tool has no further
 * operation. */
const struct op *tools_next_op(const struct tool *tool, size_t *i);

/* --- names of tools (tool_name.c) --------------------------------------------------- */

/* Finds the tool that a client means by `name`. If the name contains an action as well, sets
 * `*action`. Returns NULL if no tool has this name. */
const struct tool *tool_named(const struct mcp *m, const char *name, const char **action);
/* Finds the operation of the tool that a client means by `action`. Returns NULL if the tool has
 * no such operation. */
const struct op *tool_name_action(const struct tool *tool, const char *action);
/* Writes a hint with the actions of the tool. If an action is similar to `action`, the hint
 * begins with this action. `action` may be NULL. */
void tool_name_hint(const struct tool *tool, const char *action, struct text *hint);
/* Answers with an error, because no tool has the name `name`. The error has the similar names. */
void tool_name_refuse(struct request *r, const char *name);

/* --- who (mcp_who.c) --------------------------------------------------------------- */

/* Remembers the arguments of a call by which a session may join a team. */
void who_joins(struct request *r, const struct op *op, json_t *args);
/* Whether a call to join a team failed because the identity kept for this directory is no
 * longer valid. When the function returns true, the session is nobody, and the call runs again. */
bool who_begins_anew(struct request *r, const struct fault *f);
/* Called when a call by which a session may join a team has ended, with a result or with a
 * fault. */
void who_settle(struct request *r);
/* Removes the tokens of agents from the result of a tool's operation. Returns the new text,
 * which the caller frees, or NULL if the result can be sent unchanged. If the session was
 * nobody and has joined a team by this call, the session is an agent from now on. */
char *who_result(struct request *r, const char *result);

/* --- results of tools --------------------------------------------------------- */

/* Maximum number of tokens in an answer to this client; `client` is the name that the client
 * gave, or NULL. */
int64_t result_tokens(const struct mcp *m, const char *client);
/* result_form_read() and result_text() are for reads of resources. result_form_read() limits
 * the answer to as many tokens as a tool's answer may have. result_text() writes the answer as
 * a JSON text, with the hint as its last member. */
void result_form_read(struct request *r);
void result_text(struct request *r, const char *json, struct text *out);

/* --- waits -------------------------------------------------------------------------- */

/* Stores in `r` how long the call will wait. The configured mcp.max_wait_seconds limits the
 * wait, unless the client asked for reports of progress. */
void wait_cut(struct request *r, const struct op *op, json_t *args);
/* If an answer was cut, appends to `hint` how to read the rest: see mcp_follow.c. */
void follow_hint(const struct request *r, const json_t *answer, struct text *hint);
/* If the call's wait ended without a result, or `json` says that no task was claimed, appends
 * to `hint` what the client can do. */
void wait_hint(const struct request *r, const char *json, struct text *hint);

/* --- answers with claims or messages (mcp_answer.c) ------------------------------- */

/* Called when a request is read. The client has received the answers that were written before
 * the client sent this request. */
void mcp_arrive_read(struct mcp *m);
/* Called when the client cancels a request that the server has already answered. */
void mcp_arrive_cancel(struct mcp *m, const char *id);
/* Frees the records of all answers, at the end of `m`. */
void mcp_arrivals_release(struct mcp *m);

/* --- subscriptions (subscription.c) ------------------------------------------- */

/* Adds a watch of `uri` for `r`; returns false if the URI names no resource. When the last
 * watch is added, the caller calls subscription_open(). subscription_open() holds `r` until
 * each watch is open or refused, and then answers `r`. */
bool subscription_add(struct request *r, const char *uri);
void subscription_add_list(struct request *r); /* adds a watch of the resource list */
void subscription_open(struct request *r);
/* Called when a legacy peer got a list of resources that is valid up to event `seq`. From now
 * on the peer is notified of changes of the list, without a subscription. */
void subscription_listed(struct mcp *m, int64_t seq);
void subscription_drop(struct mcp *m, const char *uri); /* ends a legacy subscription */
void subscription_forget(struct mcp *m, const struct request *r);
void subscriptions_run(struct mcp *m, int64_t now);
void subscriptions_release(struct mcp *m);
/* These functions write the watches of a legacy peer as JSON, and make the watches again from
 * that JSON. */
void subscriptions_write(const struct mcp *m, struct text *out);
void subscriptions_restore(struct mcp *m, const char *watches);
int64_t feeds_due(const struct mcp *m); /* time of a feed's next call; 0: no call */

/* --- claims of a running process (mcp_who.c) ------------------------------------ */

/* Plans the next check of the agent's claims, soon after the call `done`, which may have
 * claimed a task. */
void mcp_keep_soon(struct mcp *m, const struct op *done);
/* If a check of claims is due at `now`, checks the claims and renews the leases of the agent's
 * tasks. */
void mcp_keep_run(struct mcp *m, int64_t now);

#endif
