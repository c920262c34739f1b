/*
 * legacy - revisions 2024-11-05 to 2025-11-25: a handshake, then a session.
 */
#include "mcp/extra.h"
#include "mcp/mcp_peer.h"

#include <stdlib.h>
#include <string.h>

/* Protocol versions, newest first: the first is offered to a client that asks for one we
 * do not know. */
static const char *const versions[] = { "2025-11-25", "2025-06-18", "2025-03-26",
					"2024-11-05" };

static void legacy_begin(struct request *r, struct text *out, enum cache cache)
{
	(void)r, (void)out, (void)cache;
}

const struct era era_legacy = {
	.bit = ERA_LEGACY,
	.no_resource = RPC_NO_RESOURCE,
	.begin = legacy_begin,
};

const char *legacy_version(const char *name)
{
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++)
		if (strcmp(versions[i], name) == 0)
			return versions[i];
	return NULL;
}

void legacy_initialize(struct request *r, json_t *params)
{
	const char *asked = param_text(params, "protocolVersion");
	const char *client = param_text(json_object_get(params, "clientInfo"), "name");
	struct mcp *m = r->mcp;
	struct text *out;

	if (!asked) {
		answer_error(
			r, RPC_INVALID_PARAMS, NULL,
			"protocolVersion is missing; known are 2025-11-25 to 2024-11-05");
		return;
	}
	m->version = legacy_version(asked);
	if (!m->version)
		m->version = versions[0];
	if (client)
		snprintf(m->client_name, sizeof(m->client_name), "%s", client);
	out = answer_begin(r, CACHE_NONE);
	text_addf(out, "\"protocolVersion\":\"%s\",\"serverInfo\":", m->version);
	mcp_write_server(out);
	text_add(out, ",", 1);
	mcp_write_offer(m, out);
	answer_end(r);
}

void legacy_ping(struct request *r, json_t *params)
{
	(void)params;
	answer_begin(r, CACHE_NONE);
	answer_end(r);
}

void legacy_set_level(struct request *r, json_t *params)
{
	const char *name = param_text(params, "level");
	int level = name ? level_named(name) : LEVEL_NONE;

	if (level == LEVEL_NONE) {
		answer_error(r, RPC_INVALID_PARAMS, NULL,
			     "level is none of debug, info, notice, warning, error, "
			     "critical, alert, emergency");
		return;
	}
	r->mcp->level = level;
	r->mcp->changes++;
	legacy_ping(r, params);
}

void legacy_subscribe(struct request *r, json_t *params)
{
	const char *uri = param_text(params, "uri");

	if (!uri) {
		answer_error(r, RPC_INVALID_PARAMS, NULL, "uri is missing");
	} else if (extra_resource(uri)) {
		legacy_ping(r, params); /* it never changes */
	} else if (!subscription_add(r, uri)) {
		answer_no_resource(r, uri, "no such resource");
	} else {
		subscription_open(r);
	}
}

void legacy_unsubscribe(struct request *r, json_t *params)
{
	const char *uri = param_text(params, "uri");

	if (!uri) {
		answer_error(r, RPC_INVALID_PARAMS, NULL, "uri is missing");
		return;
	}
	subscription_drop(r->mcp, uri);
	legacy_ping(r, params);
}

/* --- sessions in rows ------------------------------------------------------------ */

bool mcp_session(struct mcp *m, struct mcp_session *session)
{
	if (!m->version)
		return false;
	m->watched.len = 0;
	subscriptions_write(m, &m->watched);
	*session = (struct mcp_session){ .version = m->version,
					 .client = m->client_name,
					 .level = (int)m->level,
					 .watches = m->watched.data };
	return true;
}

unsigned mcp_changes(const struct mcp *m)
{
	return m->changes;
}

bool mcp_restore(struct mcp *m, const struct mcp_session *session)
{
	m->version = legacy_version(session->version);
	if (!m->version)
		return false;
	m->level = (enum level)session->level;
	snprintf(m->client_name, sizeof(m->client_name), "%s", session->client);
	subscriptions_restore(m, session->watches);
	return true;
}

bool mcp_is_revision(const struct mcp *m, const char *version)
{
	return m->version && strcmp(m->version, version) == 0;
}

bool mcp_is_legacy(const char *version)
{
	return legacy_version(version) != NULL;
}

bool mcp_begins(const json_t *message)
{
	const char *method = json_string_value(json_object_get(message, "method"));

	return method && strcmp(method, "initialize") == 0;
}
