/*
 * front - what the files of the workspace's HTTP door share.
 */
#ifndef GUEST_HTTP_INSIDE_H
#define GUEST_HTTP_INSIDE_H

#include "core/http/http.h"
#include "guest/ask.h"
#include "guest/http.h"

enum { PASSES = 16, PASS_MS = 3000, TOKEN_MOST = 160 };

/* A token that the host found good. */
struct pass {
	char token[TOKEN_MOST];
	uint64_t until; /* loop time */
};

struct front {
	struct guest *guest;
	struct http_server *server;
	char address[80];
	struct pass passes[PASSES];
	int next_pass;
	int collecting; /* bodies that are held in memory */
	bool shut; /* as the host said last: allow_inter_vm does not hold */
	bool known; /* it has said */
	uint64_t known_until; /* loop time */
};

struct visit;
typedef void visit_step(struct visit *v);

/* A request on its way; of the exchange's arena. */
struct visit {
	struct front *front;
	struct http *x;
	const struct route *route;
	const char *token;
	visit_step *then; /* once the token is proven */
	struct asking *asking;
	void (*heard)(struct visit *v, json_t *result);
	bool collecting;
	bool moves_file; /* one comes or goes */
	struct arrival *arrival; /* file_post() */
	int fd; /* file_get() */
	int64_t at;
};

/* Ends the visit with a fault. */
void visit_fail(struct visit *v, int status, const struct fault *why);
void visit_answer_json(struct visit *v, int status, json_t *json); /* stolen */

/* Has the host run an operation as the member whose token this is; `args` is
 * stolen.  NULL token: as the workspace's own. */
void visit_call(struct visit *v, const char *op, json_t *args, const char *token,
		void (*heard)(struct visit *v, json_t *result));

/* Fills a fault from the host's Error message; the fault's place is one of the body's
 * fields. */
void visit_read_error(json_t *error, struct fault *f);
/* Goes on once the host says whose token it is; without the host nobody goes on. */
void visit_prove(struct visit *v, visit_step *then);

/* http_mail.c */
void front_get_health(struct visit *v);
void front_get_card(struct visit *v);
void front_get_messages(struct visit *v);
void front_post_message(struct visit *v);
void front_post_task(struct visit *v);

/* http_file.c: what follows /files/. */
void file_get(struct visit *v);
void file_post(struct visit *v);
void file_gone(struct visit *v); /* the peer is */

#endif
