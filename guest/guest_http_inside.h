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
	uint64_t until; /* loop time until which the guest remembers the token */
};

struct guest_http {
	struct guest *guest;
	struct http_server *server;
	char address[80];
	struct http_pass passes[PASSES];
	int next_pass;
	int collecting; /* number of JSON bodies in memory */
	bool shut; /* whether the door is closed, as the host's last answer says */
	bool known; /* whether the host has answered at least once */
	uint64_t known_until; /* loop time until which `shut` is valid */
};

struct http_visit;
typedef void visit_step(struct http_visit *v);

/* A request that is being answered. This struct is in the arena of the HTTP exchange `x`. */
struct http_visit {
	struct guest_http *front;
	struct http *x;
	const struct route *route;
	const char *token;
	visit_step *then; /* called when the host has accepted the token */
	struct asking *asking;
	void (*heard)(struct http_visit *v, json_t *result);
	bool collecting;
	bool moves_file; /* the request sends or receives a file */
	struct arrival *arrival; /* the file that file_post() receives */
	int fd; /* descriptor of the file that file_get() sends */
	int64_t at;
};

#endif
