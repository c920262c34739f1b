/*
 * access_session - MCP sessions over HTTP, stored as rows so that a restarted host finds the
 * sessions.
 */
#include "core/call/call.h"

#include "sql.gen.h"

enum {
	SESSIONS_MOST = 10000,
	SESSIONS_OF_ONE = 500, /* maximum number of sessions that are kept for one
				  token */
	UNUSED_S = 30 * 86400,
};

int session_open(struct call *call, const struct session_open_in *in,
		 struct session_open_out *out)
{
	const struct session *s = &in->session;
	int rc = sql_run(call, session_add, .name = in->name, .proof = s->proof,
			 .version = s->version, .client = s->client,
			 .toolsets = s->toolsets, .structured = s->structured,
			 .level = s->level, .watches = s->watches, .now = call->now);

	(void)out;
	if (rc >= 0)
		rc = sql_run(call, session_drop_old,
			     .before = call->now - UNUSED_S * 1000LL,
			     .most = SESSIONS_MOST);
	if (rc >= 0)
		rc = sql_run(call, session_drop_more, .proof = s->proof,
			     .most = SESSIONS_OF_ONE);
	return rc < 0 ? rc : 0;
}

int session_keep(struct call *call, const struct session_keep_in *in,
		 struct session_keep_out *out)
{
	int rc = sql_run(call, session_note, .name = in->name, .level = in->level,
			 .watches = in->watches, .now = call->now);

	(void)out;
	return rc < 0 ? rc : 0;
}

int session_find(struct call *call, const struct session_find_in *in,
		 struct session_find_out *out)
{
	struct session_by_name_row s;
	int rc = sql_row(call, session_by_name, &s, .name = in->name);

	if (rc < 0)
		return rc;
	if (rc == 0)
		return fault_set(&call->fault, FAULT_NOT_FOUND, "/name",
				 "there is no such session");
	out->session = (struct session){
		.proof = s.proof,
		.version = s.version,
		.client = s.client,
		.toolsets = s.toolsets,
		.structured = s.structured,
		.level = s.level,
		.watches = s.watches,
	};
	return 0;
}

int session_close(struct call *call, const struct session_close_in *in,
		  struct session_close_out *out)
{
	int rc = sql_run(call, session_end, .name = in->name);

	(void)out;
	return rc < 0 ? rc : 0;
}
