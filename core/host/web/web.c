/* web - requests by their paths. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/version.h"
#include "core/host/web/web_inside.h"

/* --- requests -------------------------------------------------------------------------- */

static void add_headers(struct http *x, int status, const struct fault *why)
{
	char seconds[24];

	if (status == 401)
		http_add_header(x, "WWW-Authenticate", "Bearer realm=\"cadre\"");
	if (why->retry_after_ms > 0) {
		snprintf(seconds, sizeof(seconds), "%lld",
			 (long long)((why->retry_after_ms + 999) / 1000));
		http_add_header(x, "Retry-After", seconds);
	}
}

void web_refuse(struct http *x, int status, const struct fault *why)
{
	add_headers(x, status, why);
	http_fault(x, status, why);
}

void web_refuse_as(struct http *x, const struct fault *why, const char *body)
{
	struct text line = { 0 };

	add_headers(x, 0, why);
	text_addf(&line, "%s\n", body);
	http_answer(x, fault_info(why->code)->http_status, "application/json", line.data,
		    line.len);
	text_release(&line);
}

static const char places[] = "cadre " CADRE_VERSION "\n\n"
			     "/api/openapi.json  all calls\n"
			     "/api/whoami        who you are\n"
			     "/events            what happens\n"
			     "/metrics           how it does\n"
			     "/mcp               for agents\n"
			     "/healthz /readyz   for watchers\n";

static void answer_word(struct http *x, int status, const char *word)
{
	http_answer(x, status, "text/plain; charset=utf-8", word, strlen(word));
}

/* A host that cannot write is alive, but should get no calls. */
static void tell_ready(struct http *x)
{
	const struct host *host = ((const struct web_door *)x->service)->host;
	bool ready = !host->stopping && !host->lost.code &&
		     host->calls->n_writes < WRITES_MOST;

	answer_word(x, ready ? 200 : 503, ready ? "ready\n" : "not ready\n");
}

/* The document is long and anybody may ask for it, so it is made once. */
static void tell_openapi(struct http *x)
{
	struct web *web = ((const struct web_door *)x->service)->host->web;
	json_t *document = web->openapi ? NULL : openapi_document();

	if (!web->openapi)
		web->openapi = json_dumps(document, JSON_COMPACT | JSON_PRESERVE_ORDER);
	json_decref(document);
	if (!web->openapi)
		out_of_memory();
	http_answer_kept(x, 200, "application/json", web->openapi, strlen(web->openapi));
}

static bool is_get(const struct http *x)
{
	return strcmp(x->method, "GET") == 0 || strcmp(x->method, "HEAD") == 0;
}

void web_request(struct http *x)
{
	const struct web_door *door = x->service;
	struct fault f = { 0 };

	if (!web_is_ours(x, door, &f))
		web_refuse(x, 0, &f);
	else if (is_get(x) && strcmp(x->path, "/healthz") == 0)
		answer_word(x, 200, "ok\n");
	else if (is_get(x) && strcmp(x->path, "/readyz") == 0)
		tell_ready(x);
	else if (is_get(x) && strcmp(x->path, "/") == 0)
		answer_word(x, 200, places);
	else if (strcmp(x->path, "/login") == 0)
		web_login(x);
	else if (is_get(x) && strcmp(x->path, "/metrics") == 0)
		web_metrics(x);
	else if (is_get(x) && strcmp(x->path, "/api/openapi.json") == 0)
		tell_openapi(x);
	else if (is_get(x) && strcmp(x->path, "/events") == 0)
		web_events(x);
	else if (strcmp(x->path, "/mcp") == 0 || strcmp(x->path, "/mcp/") == 0)
		mcp_door_request(x);
	else
		web_call(x);
}
