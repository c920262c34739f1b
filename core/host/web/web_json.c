/* web_json - parses the body of a request, a large one off the loop. */
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/host/web/web.h"

enum { HERE_MOST = 256 << 10 }; /* bytes that the loop's thread parses itself */

/* A body that another thread parses; it stands in for the owner of its request meanwhile. */
struct parsing {
	uv_work_t work;
	struct http *x; /* NULL: the request is over */
	void *owner; /* of the request */
	void (*gone)(struct http *x);
	web_parsed *done;
	struct http_body body;
	size_t flags;
	json_t *json;
	json_error_t error;
};

static void parsing_run(uv_work_t *work)
{
	struct parsing *p = work->data;

	p->json = json_take(p->body.text.data, p->body.text.len, p->flags, &p->error);
}

static void parsing_gone(struct http *x)
{
	struct parsing *p = x->owner;

	p->x = NULL;
	x->owner = p->owner;
	if (p->gone)
		p->gone(x);
}

static void parsing_done(uv_work_t *work, int status)
{
	struct parsing *p = work->data;

	(void)status; /* nobody cancels it */
	http_give_back(&p->body);
	if (p->x) {
		p->x->owner = p->owner;
		p->x->gone = p->gone;
		p->done(p->x, p->json, p->json ? NULL : p->error.text);
	} else {
		json_decref(p->json);
	}
	free(p);
}

static void parse_here(struct http *x, size_t flags, web_parsed *done)
{
	json_error_t error;
	json_t *json = json_take(x->body.data, x->body.len, flags, &error);

	http_drop_body(x);
	done(x, json, json ? NULL : error.text);
}

void web_parse(struct http *x, size_t flags, web_parsed *done)
{
	const struct web_door *door = x->service;
	struct parsing *p;

	if (x->body.len <= HERE_MOST) {
		parse_here(x, flags, done);
		return;
	}
	p = xcalloc(1, sizeof(*p));
	p->work.data = p;
	p->x = x;
	p->owner = x->owner;
	p->gone = x->gone;
	p->flags = flags;
	p->done = done;
	p->body = http_lend_body(x);
	x->owner = p;
	x->gone = parsing_gone;
	uv_queue_work(&door->host->loop, &p->work, parsing_run, parsing_done);
}
