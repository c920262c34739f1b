/*
 * web - the host's HTTP door, with the routes of the operations in schema/, and further paths
 * such as /healthz.
 *
 * The door listens at http.address, at the first free one of 100 ports from http.port on, or
 * else at any free port. Anybody on the machine can connect to this port, so a client has to
 * send a token (`Authorization: Bearer`). The door also listens at a Unix socket in the folder
 * of the host's sockets. Only the host's user and root can connect to the Unix socket, and both
 * are the operator. The file `endpoint` in the state folder contains the URL.
 *
 * A browser may show a page of an attacker, and this page can send requests to the door. So a
 * request is refused if its header Host does not name this door, or if its header Origin names
 * another host or port than Host.
 */
#ifndef CORE_HOST_WEB_WEB_H
#define CORE_HOST_WEB_WEB_H

#include "core/host/host_inside.h"
#include "core/http/http.h"
#include "ops.gen.h"

struct host;

enum { WEB_NOTED = 32 };

/* A socket at which the HTTP door listens. */
struct web_door {
	struct host *host;
	struct http_server *server; /* NULL: the socket is not open */
	bool local; /* true for the Unix socket, whose clients are the operator */
};

struct scraper;
struct web_group;

/* Clients that follow the event log. */
struct web_feed {
	struct web_group *groups; /* one group for each team and kind of events */
	int64_t position; /* number of the last event that the groups have got */
	int64_t wanted; /* number of the newest event that a group may want */
	bool reading;
	uv_timer_t alive; /* runs while the feed has any group */
	char incarnation[40]; /* incarnation of the state, as event.list returned it */
};

/* The HTTP door of the host. */
struct web {
	int logins; /* number of logins under way */
	struct web_door tcp, local;
	struct host_socket listener; /* Unix socket of `local` */
	/* Tokens whose use was stored a short time ago: see web_note_use(). */
	struct {
		int64_t row, at;
	} noted[WEB_NOTED];
	unsigned noted_turn;
	char *openapi; /* OpenAPI document; NULL: no request has asked for it yet */
	struct scraper *scrapers; /* clients that wait for metrics_read() */
	bool scraping; /* metrics_read() is under way */
};

/* --- web.c -------------------------------------------------------------------------- */

/* Begins to answer a request; used as http_service.begin. */
void web_request(struct http *x);
/* Answers with a fault. Status 401 means that the client has not proved its identity. If
 * `status` is 0, the answer has the HTTP status of the fault. */
void web_refuse(struct http *x, int status, const struct fault *why);
/* Answers with the HTTP status of the fault `why`, and with the JSON text `body`. */
void web_refuse_as(struct http *x, const struct fault *why, const char *body);

/* Sets the identity of a request's caller. Returns 0, or FAULT_DENIED at /token if nothing
 * proves the caller. The texts of `who` are in the request's memory. */
int web_identity(struct http *x, const struct web_door *door, struct identity *who,
		 struct fault *f);

/* Bytes of the cookie's name, NUL included. The cookie contains a browser's token. A browser
 * sends a cookie to all ports of a machine, so each host has its own cookie name. */
enum { WEB_COOKIE = 24 };

/* --- web_call.c --------------------------------------------------------------------- */

/* Called with a body's JSON value, which the function then owns. `json` NULL: `why` says why
 * the body is not valid JSON. */
typedef void web_parsed(struct http *x, json_t *json, const char *why);

/* Parses the collected body by json_take() with `flags`, and frees the body. Then calls `done`,
 * unless the request has ended. A small body is parsed at once. A large body is parsed by
 * another thread. */
void web_parse(struct http *x, size_t flags, web_parsed *done);

/* Calls the operation of the request's route. */
void web_call(struct http *x);
/* Checks the caller of a request that will be refused for its content. Counts the request as a
 * call with the rate `rate`. `told` is called as in web_start(). */
struct conn *web_judge(struct http *x, enum rate rate,
		       void (*told)(struct conn *c, struct job *job));
/* Starts a call of `op` for the request's caller, and owns `args` from now on. `told` is called
 * with the job of the ended call, and c->owner is the request. Returns NULL if the request was
 * refused. */
struct conn *web_start(struct http *x, const struct op *op, json_t *args,
		       void (*told)(struct conn *c, struct job *job));
/* Does the same as web_start(), for a stream of events. The call takes nothing from a rate
 * bucket. */
struct conn *web_go_on(struct http *x, const struct op *op, json_t *args,
		       void (*told)(struct conn *c, struct job *job));
/* Answers with the fault of a call. The status is 401 if the request has no token or a wrong
 * token. */
void web_refuse_call(struct http *x, const struct fault *f);
/* Whether the header Content-Type says that the body is JSON. */
bool web_is_json(const struct http *x);
/* Stores that a call's token was used, at most once a minute for each token. */
void web_note_use(struct host *host, const struct call *call);

/* --- web_events.c ------------------------------------------------------------------- */

/* A client that follows the event log. The struct is in the memory of the client's request. */
struct follower {
	struct http *x;
	struct host *host;
	const char *team, *kind; /* team and kind of the wanted events; NULL: all teams,
				    or all kinds */
	const char *state; /* incarnation that the client named; NULL: no incarnation */
	int64_t sent; /* number of the last event that was sent */
	bool has_sent; /* false: the client wants only new events */
	bool flows; /* the answer's stream has begun */
	bool waits; /* the client has not yet read all sent bytes */
	struct conn *call; /* call that reads missed events; NULL: no call is under way */
	struct web_group *group; /* NULL: the follower is in no group */
	struct follower *next, **at;
	int64_t agent, bearer, until; /* `agent`, `bearer`: numbers of the rows of the
					 caller and its token; `until`: when the token
					 ends, or 0 */
	uint64_t written_at; /* loop time of the last send */
};

/* Answers with the events after the client's last event, and then with new events. */
void web_events(struct http *x);

/* --- mcp_request.c ------------------------------------------------------------------ */

/* Begins to answer a request at /mcp. */
void mcp_door_request(struct http *x);

/* --- metrics_text.c ----------------------------------------------------------------- */

/* Answers with the metrics, if the caller is the operator or an observer of all teams. */
void web_metrics(struct http *x);

#endif
