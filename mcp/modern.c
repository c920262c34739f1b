/*
 * modern - revision 2026-07-28: every request says all it needs in its _meta.
 */
#include "mcp/peer.h"

#include <string.h>

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

static void begin(struct request *r, struct text *out, enum cache cache)
{
	text_adds(out, "\"resultType\":\"complete\",\"_meta\":{\"" META "serverInfo\":");
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
	.begin = begin,
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
	json_t *meta = json_object_get(params, "_meta");
	const char *version = param_text(meta, META "protocolVersion");
	const char *level = param_text(meta, META "logLevel");

	if (!version)
		answer_error(r, RPC_INVALID_PARAMS, NULL,
			     "_meta has no " META "protocolVersion: say " VERSION
			     " there, or begin with initialize");
	else if (strcmp(version, VERSION) != 0)
		answer_no_version(r, version);
	else if (!json_is_object(json_object_get(meta, META "clientCapabilities")))
		answer_error(r, RPC_INVALID_PARAMS, NULL,
			     "_meta has no " META "clientCapabilities");
	else if (level && r->level == LEVEL_NONE)
		answer_error(r, RPC_INVALID_PARAMS, NULL,
			     "_meta " META "logLevel is no level: %.40s", level);
	else
		return true;
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
