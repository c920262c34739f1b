/*
 * inside - functions that the files of the HTTP door share.
 */
#ifndef CORE_HOST_WEB_INSIDE_H
#define CORE_HOST_WEB_INSIDE_H

#include "core/host/inside.h"
#include "core/host/web/web.h"

/* --- web.c -------------------------------------------------------------------------- */

/* Begins a request: http_service.begin. */
void web_request(struct http *x);
/* Answers with a fault; 401 stands for a client that has not said who it is. */
void web_refuse(struct http *x, int status, const struct fault *why);

/* --- web_who.c ---------------------------------------------------------------------- */

/* Whether the request may come from where it comes: Host and Origin. */
bool web_is_ours(struct http *x, const struct web_door *door, struct fault *f);
/* Fills in who calls: 0, or `denied` at /token where nothing says who.  Texts are the
 * exchange's. */
int web_identity(struct http *x, const struct web_door *door, struct identity *who,
		 struct fault *f);

/* --- web_call.c --------------------------------------------------------------------- */

/* Calls the operation of the request's route. */
void web_call(struct http *x);
/* Starts a call of `op` with `args`, which are taken over, as whom the request says; `told` is
 * called with its answer, and finds the exchange as c->owner.  NULL: the request is refused. */
struct conn *web_start(struct http *x, const struct op *op, json_t *args,
		       void (*told)(struct conn *c, struct job *job));
/* Answers with the fault of a call. */
void web_refuse_call(struct http *x, const struct fault *f);
/* Writes down that a call's token was used, once a minute. */
void web_note_use(struct host *host, const struct call *call);

/* --- web_events.c ------------------------------------------------------------------- */

/* Answers with the events from where the client left off, and those to come. */
void web_events(struct http *x);
void web_events_open(struct host *host);
void web_events_close(struct host *host);

#endif
