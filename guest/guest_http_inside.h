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

#endif
