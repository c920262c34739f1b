/*
 * web - the host's HTTP door: every operation of schema/ by its route, health, and who calls.
 *
 * It listens at http.address, the first free port from http.port on, where a client shows a
 * token (`Authorization: Bearer`), for anybody on the machine can connect there; and at a Unix
 * socket beside the host's own, whose clients are this user and so the operator.  The file
 * `endpoint` in the state folder holds the URL.
 *
 * A page in a browser may be anybody's, and sends what its visitor's browser can reach: a
 * request whose Host is not one of ours, or with an Origin of another place, is refused.
 */
#ifndef CORE_HOST_WEB_WEB_H
#define CORE_HOST_WEB_WEB_H

#include "core/host/host_inside.h"
#include "core/http/http.h"
#include "ops.gen.h"

struct host;

enum { WEB_NOTED = 32 };

/* A place where it listens. */
struct web_door {
	struct host *host;
	struct http_server *server; /* NULL: none */
	bool local; /* the Unix socket: its clients are the operator */
};

struct scraper;
struct web_group;

/* Clients who follow the event log. */
struct web_feed {
	struct web_group *groups; /* one per team and kind of events */
	int64_t position; /* events up to this one are told */
	int64_t wanted; /* the newest event so far that somebody may want */
	bool reading;
	uv_timer_t alive; /* runs while there are groups */
	char incarnation[40]; /* of the state, as event.list tells it */
};

/* The host's. */
struct web {
	int logins; /* codes that are being exchanged */
	struct web_door tcp, local;
	struct host_socket listener; /* of `local` */
	/* Tokens whose use was written down of late. */
	struct {
		int64_t row, at;
	} noted[WEB_NOTED];
	unsigned noted_turn;
	char *openapi; /* made on first request; NULL: not yet */
	struct scraper *scrapers; /* clients that wait for the rows */
	bool scraping; /* the rows are being read */
};

/* --- web.c -------------------------------------------------------------------------- */

/* Begins a request: http_service.begin. */
void web_request(struct http *x);
/* Answers with a fault; 401 stands for a client that has not said who it is. */
void web_refuse(struct http *x, int status, const struct fault *why);
/* The same with a body of another form, in JSON. */
void web_refuse_as(struct http *x, const struct fault *why, const char *body);

/* Fills in who calls: 0, or `denied` at /token where nothing says who.  Texts are the
 * exchange's. */
int web_identity(struct http *x, const struct web_door *door, struct identity *who,
		 struct fault *f);

/* Name of the cookie with a browser's token.  A browser sends a cookie to all ports of a
 * machine, so each host has its own name. */
enum { WEB_COOKIE = 24 };

/* --- web_call.c --------------------------------------------------------------------- */

/* Gets what a body says, which is the callee's, or NULL and why it is no JSON. */
typedef void web_parsed(struct http *x, json_t *json, const char *why);

/* Parses the body that was collected (json_take() with `flags`) and drops it, then calls `done`,
 * unless the request is over by then: at once, or behind another thread where it is large. */
void web_parse(struct http *x, size_t flags, web_parsed *done);

/* Calls the operation of the request's route. */
void web_call(struct http *x);
/* Asks whom a request is from that is refused for what it says, and counts it as a call with that
 * rate.  Otherwise as web_start(). */
struct conn *web_judge(struct http *x, enum rate rate,
		       void (*told)(struct conn *c, struct job *job));
/* Starts a call of `op` with `args`, which are taken over, as whom the request says; `told` is
 * called with its answer, and finds the exchange as c->owner.  NULL: the request is refused. */
struct conn *web_start(struct http *x, const struct op *op, json_t *args,
		       void (*told)(struct conn *c, struct job *job));
/* The same for a stream of events, which no bucket of calls pays for. */
struct conn *web_go_on(struct http *x, const struct op *op, json_t *args,
		       void (*told)(struct conn *c, struct job *job));
/* Answers with the fault of a call. */
void web_refuse_call(struct http *x, const struct fault *f);
/* Whether the body is said to be JSON. */
bool web_is_json(const struct http *x);
/* Writes down that a call's token was used, once a minute. */
void web_note_use(struct host *host, const struct call *call);

/* --- web_events.c ------------------------------------------------------------------- */

/* A client that follows; in the arena of its exchange. */
struct follower {
	struct http *x;
	struct host *host;
	const char *team, *kind; /* as asked for; NULL: all */
	const char *state; /* incarnation of which it knows; NULL: it does not say */
	int64_t sent; /* number of the last event that was sent */
	bool has_sent; /* false: it wants to know from now on */
	bool flows; /* its answer has begun */
	bool waits; /* the client has not yet read all sent bytes */
	struct conn *call; /* reads the missed events; NULL: not under way */
	struct web_group *group; /* NULL: not yet */
	struct follower *next, **at;
	int64_t agent, bearer, until; /* who it is; when its token ends, 0: never */
	uint64_t written_at; /* loop time */
};

/* Answers with the events from where the client left off, and those to come. */
void web_events(struct http *x);

/* --- mcp_request.c ------------------------------------------------------------------ */

/* Begins a request at /mcp: http_service.begin. */
void mcp_door_request(struct http *x);

/* --- metrics_text.c ----------------------------------------------------------------- */

/* Answers with the metrics, for the operator and observers of all teams. */
void web_metrics(struct http *x);

#endif
