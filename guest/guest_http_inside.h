/*
 * guest_http_inside - declarations that the files of the workspace's HTTP door share.
 */
#ifndef GUEST_GUEST_HTTP_INSIDE_H
#define GUEST_GUEST_HTTP_INSIDE_H

#include "core/http/http.h"
#include "guest/guest_ask.h"
#include "guest/guest_http.h"

enum { PASSES = 16, PASS_MS = 3000, TOKEN_MOST = 160 };

/* A token that the host found good. */
struct http_pass {
	char token[TOKEN_MOST];
	uint64_t until; /* loop time */
};

struct guest_http {
	struct guest *guest;
	struct http_server *server;
	char address[80];
	struct http_pass passes[PASSES];
	int next_pass;
	int collecting; /* bodies that are held in memory */
	bool shut; /* as the host said last: allow_inter_vm does not hold */
	bool known; /* it has said */
	uint64_t known_until; /* loop time */
};

struct http_visit;
typedef void visit_step(struct http_visit *v);

/* A request on its way; of the exchange's arena. */
struct http_visit {
	struct guest_http *front;
	struct http *x;
	const struct route *route;
	const char *token;
	visit_step *then; /* once the token is proven */
	struct asking *asking;
	void (*heard)(struct http_visit *v, json_t *result);
	bool collecting;
	bool moves_file; /* a file comes or goes */
	struct arrival *arrival; /* file_post() */
	int fd; /* file_get() */
	int64_t at;
};

/* Ends the visit with a fault; `status` 0: the fault's own status. */
void visit_fail(struct http_visit *v, int status, const struct fault *why);
/* Ends the visit with a document, which is stolen. */
void visit_answer_json(struct http_visit *v, int status, json_t *json);

/* Has the host run an operation as the member that the token proves; `args` is stolen.
 * NULL token: as the workspace's own agent. */
void visit_call(struct http_visit *v, const char *op, json_t *args, const char *token,
		void (*heard)(struct http_visit *v, json_t *result));

/* Fills a fault from the host's Error message; the fault's place is one of the body's
 * fields. */
void visit_read_error(json_t *error, struct fault *f);
/* Calls `then` once the host has said whose token it is; without the host no visit goes
 * on. */
void visit_prove(struct http_visit *v, visit_step *then);

/* guest_http_mail.c */
void guest_http_get_health(struct http_visit *v);
void guest_http_get_card(struct http_visit *v);
void guest_http_get_messages(struct http_visit *v);
void guest_http_post_message(struct http_visit *v);
void guest_http_post_task(struct http_visit *v);

#endif
