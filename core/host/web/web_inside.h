/*
 * web_inside - functions that the files of the HTTP door share.
 */
#ifndef CORE_HOST_WEB_WEB_INSIDE_H
#define CORE_HOST_WEB_WEB_INSIDE_H

#include "core/host/host_inside.h"
#include "core/host/mcp/mcp_door.h"
#include "core/host/web/web.h"

#include "ops.gen.h"

/* --- web.c -------------------------------------------------------------------------- */

/* Begins a request: http_service.begin. */
void web_request(struct http *x);
/* Answers with a fault; 401 stands for a client that has not said who it is. */
void web_refuse(struct http *x, int status, const struct fault *why);
/* The same with a body of another form, in JSON. */
void web_refuse_as(struct http *x, const struct fault *why, const char *body);

/* --- web_who.c ---------------------------------------------------------------------- */

/* Whether the request may come from where it comes: Host and Origin. */
bool web_is_ours(struct http *x, const struct web_door *door, struct fault *f);
/* Fills in who calls: 0, or `denied` at /token where nothing says who.  Texts are the
 * exchange's. */
int web_identity(struct http *x, const struct web_door *door, struct identity *who,
		 struct fault *f);

/* Name of the cookie with a browser's token.  A browser sends a cookie to all ports of a
 * machine, so each host has its own name. */
enum { WEB_COOKIE = 24 };
void web_cookie_name(const struct host *host, char name[WEB_COOKIE]);

/* --- web_login.c -------------------------------------------------------------------- */

/* Gives a browser a token for the code in its query, as a cookie. */
void web_login(struct http *x);

/* --- web_json.c --------------------------------------------------------------------- */

/* Gets what a body says, which is the callee's, or NULL and why it is no JSON. */
typedef void web_parsed(struct http *x, json_t *json, const char *why);

/* Parses the body that was collected (json_take() with `flags`) and drops it, then calls `done`,
 * unless the request is over by then: at once, or behind another thread where it is large. */
void web_parse(struct http *x, size_t flags, web_parsed *done);

/* --- web_call.c --------------------------------------------------------------------- */

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
/* Has a follower who reads slowly leave its group until it has taken what was sent. */
void web_events_wait(struct follower *f);
/* Reads the next page for a follower who is in no group. */
void web_events_read(struct follower *f);

/* --- web_feed.c --------------------------------------------------------------------- */

/* Adds a follower who has all up to f->sent to those who want the same events of a team (row; 0:
 * all): false where the others are further already. */
bool web_feed_join(struct follower *f, int64_t team);
void web_feed_leave(struct follower *f); /* also one who is in no group */
/* Writes to a follower. */
void web_feed_tell(struct follower *f, const char *data, size_t len);
/* Appends an event as streams have it. */
void web_feed_frame(struct text *out, const char *incarnation, const struct event *e);

/* --- web_metrics.c ------------------------------------------------------------------ */

/* Answers with the metrics, for the operator and observers of all teams. */
void web_metrics(struct http *x);

#endif
