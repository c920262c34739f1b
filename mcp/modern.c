/*
 * modern - revision 2026-07-28: the _meta of a request replaces a session.
 */
#include "mcp/mcp_peer.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/wire/base64.h"

#define VERSION "2026-07-28"

static const struct {
	const char *scope;
	int ttl_ms;
} caches[] = {
	[CACHE_NONE] = { NULL, 0 },
	[CACHE_NEVER] = { "private", 0 },
	[CACHE_SHORT] = { "private", 1000 },
	[CACHE_MINE] = { "private", 3600000 },
	[CACHE_ALWAYS] = { "public", 3600000 },
};

static void modern_begin(struct request *r, struct text *out, enum cache cache)
{
	text_addf(out, "\"resultType\":\"%s\",\"_meta\":{\"" META "serverInfo\":",
		  r->asks ? "input_required" : "complete");
	mcp_write_server(out);
	if (r->listening)
		text_addf(out, ",\"" META "subscriptionId\":%s", r->id);
	text_adds(out, "},");
	if (caches[cache].scope)
		text_addf(out, "\"ttlMs\":%d,\"cacheScope\":\"%s\",",
			  caches[cache].ttl_ms, caches[cache].scope);
}

const struct era era_modern = {
	.bit = ERA_MODERN,
	.no_resource = RPC_INVALID_PARAMS,
	.begin = modern_begin,
};

bool modern_named(json_t *params)
{
	return json_object_get(json_object_get(params, "_meta"), META "protocolVersion");
}

static void answer_no_version(struct request *r, const char *asked)
{
	struct text data = { 0 };

	text_adds(&data, "{\"supported\":[\"" VERSION "\"],\"requested\":");
	text_add_json(&data, asked);
	text_add(&data, "}", 1);
	answer_error(r, RPC_NO_VERSION, data.data,
		     "protocol version %.40s is not served this way", asked);
	text_release(&data);
}

bool modern_check(struct request *r, json_t *params)
{
	const struct mcp_headers *headers = r->mcp->headers;
	json_t *meta = json_object_get(params, "_meta");
	const char *version = param_text(meta, META "protocolVersion");
	const char *level = param_text(meta, META "logLevel");

	r->status = 400;
	if (!version)
		answer_error(r, RPC_INVALID_PARAMS, NULL,
			     "_meta has no " META "protocolVersion: say " VERSION
			     " there, or begin with initialize");
	else if (!json_is_object(json_object_get(meta, META "clientCapabilities")))
		answer_error(r, RPC_INVALID_PARAMS, NULL,
			     "_meta has no " META "clientCapabilities");
	else if (headers && (!headers->version || strcmp(headers->version, version) != 0))
		answer_error(r, RPC_HEADER, NULL,
			     "MCP-Protocol-Version is not the version of _meta, %.40s",
			     version);
	else if (strcmp(version, VERSION) != 0)
		answer_no_version(r, version);
	else if (level && r->level == LEVEL_NONE)
		answer_error(r, RPC_INVALID_PARAMS, NULL,
			     "_meta " META "logLevel is no level: %.40s", level);
	else {
		r->status = 0;
		return true;
	}
	return false;
}

/* --- headers of HTTP ------------------------------------------------------------------ */

/* Methods whose object a header names, and the parameter that is it. */
static const struct {
	const char *method, *param;
} named[] = {
	{ "tools/call", "name" },
	{ "prompts/get", "name" },
	{ "resources/read", "uri" },
};

/* Whether a header has this value, as it is or as =?base64?...?=. */
static bool header_is(const char *header, const char *value)
{
	static const char begin[] = "=?base64?", end[] = "?=";
	const size_t n = strlen(header), around = strlen(begin) + strlen(end);
	char *text;
	ssize_t len;
	bool same;

	if (n < around || strncmp(header, begin, strlen(begin)) != 0 ||
	    strcmp(header + n - strlen(end), end) != 0)
		return strcmp(header, value) == 0;
	text = xmalloc(n);
	len = base64_decode(text, header + strlen(begin), n - around);
	same = len >= 0 && (size_t)len == strlen(value) &&
	       memcmp(text, value, (size_t)len) == 0;
	free(text);
	return same;
}

bool modern_match(struct request *r, const char *method, json_t *params)
{
	const struct mcp_headers *headers = r->mcp->headers;
	const char *name = NULL;

	if (!headers)
		return true;
	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++)
		if (strcmp(named[i].method, method) == 0)
			name = param_text(params, named[i].param);
	if (headers->method && header_is(headers->method, method) &&
	    (!name || (headers->name && header_is(headers->name, name))))
		return true;
	r->status = 400;
	answer_error(r, RPC_HEADER, NULL, "%s is not the one of the message",
		     headers->method && header_is(headers->method, method)
			     ? "Mcp-Name"
			     : "Mcp-Method");
	return false;
}

void modern_discover(struct request *r, json_t *params)
{
	struct text *out = answer_begin(r, CACHE_MINE); /* instructions name the caller */

	(void)params;
	text_adds(out, "\"supportedVersions\":[\"" VERSION "\"],");
	mcp_write_offer(r->mcp, out);
	answer_end(r);
}

void modern_listen(struct request *r, json_t *params)
{
	json_t *filter = json_object_get(params, "notifications"), *uri;
	json_t *uris = json_object_get(filter, "resourceSubscriptions");
	size_t i;

	if (!json_is_object(filter) || (uris && !json_is_array(uris))) {
		answer_error(r, RPC_INVALID_PARAMS, NULL,
			     "notifications is missing or malformed");
		return;
	}
	/* Tools and prompts never change, and what names nothing is not honoured. */
	r->listening = true;
	if (json_is_true(json_object_get(filter, "resourcesListChanged")))
		subscription_add_list(r);
	json_array_foreach(uris, i, uri)
		if (json_is_string(uri))
			subscription_add(r, json_string_value(uri));
	subscription_open(r);
}
