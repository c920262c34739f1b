/*
 * guest_http_inside - declarations that the files of the workspace's HTTP door share.
 */
#ifndef GUEST_GUEST_HTTP_INSIDE_H
#define GUEST_GUEST_HTTP_INSIDE_H

#include "core/http/http.h"
#include "guest/guest_ask.h"
#include "guest/guest_http.h"

enum { PASSES = 16, PASS_MS = 3000, TOKEN_MOST = 160 };

/* A token that the host has accepted. */
struct http_pass {
	char token[TOKEN_MOST];
	uint64_t until; /* loop time at which the pass ends */
};

struct guest_http {
	struct guest *guest;
	struct http_server *server;
	char address[80];
	struct http_pass passes[PASSES];
	int next_pass;
	int collecting; /* number of bodies held in memory */
	bool shut; /* last answer of the host: the door is closed */
	bool known; /* the host has answered at least once */
	uint64_t known_until; /* loop time until which `shut` is valid */
};

struct http_visit;
typedef void visit_step(struct http_visit *v);

/* A request that is being answered, allocated in the arena of its exchange. */
struct http_visit {
	struct guest_http *front;
	struct http *x;
	const struct route *route;
	const char *token;
	visit_step *then; /* called once the token is proven */
	struct asking *asking;
	void (*heard)(struct http_visit *v, json_t *result);
	bool collecting;
	bool moves_file; /* a file is sent or received */
	struct arrival *arrival; /* the file that file_post() receives */
	int fd; /* the file that file_get() sends */
	int64_t at;
};

#endif
