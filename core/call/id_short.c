/*
 * id_short - which team, workspace or snapshot is meant by the beginning of its id.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "core/call/id.h"

/* How many are told where several ids begin so, and the room for them in a hint. */
enum { TOLD = 5, TOLD_SIZE = 170 };

struct match {
	const char *id, *name;
};

static const char *const nouns[] = {
	[ID_MESSAGE] = "messages",
	[ID_TEAM] = "teams",
	[ID_WORKSPACE] = "workspaces",
	[ID_SNAPSHOT] = "snapshots",
};

bool id_times(const char *text, int64_t *from, int64_t *until)
{
	static const char dashes[] = "00000000-0000-0000-0000-000000000000";
	size_t length = strlen(text);
	int64_t time = 0;
	int digits = 0;

	if (length < ID_SHORTEST || length > ID_SIZE - 1)
		return false;
	for (size_t i = 0; i < length; i++) {
		char c = text[i];
		bool digit = isxdigit((unsigned char)c);

		if (dashes[i] == '-' ? c != '-' : !digit)
			return false;
		if (digit && digits < 12) {
			time = time << 4 | (c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
			digits++;
		}
	}
	*from = time << 4 * (12 - digits);
	*until = *from + ((int64_t)1 << 4 * (12 - digits)) - 1;
	return true;
}

/* Begins to read the rows that were made in that time. */
static void id_short_look(struct call *call, struct query *q, const struct id_among *a,
			  int64_t from, int64_t until)
{
	if (a->noun == ID_TEAM)
		sql_query(call, q, team_made, .from = from, .until = until, .own = a->own,
			  .ended = a->ended);
	else if (a->noun == ID_WORKSPACE)
		sql_query(call, q, workspace_made, .from = from, .until = until,
			  .own = a->own, .ended = a->ended);
	else
		sql_query(call, q, snapshot_made, .from = from, .until = until,
			  .own = a->own);
}

/* How many characters of their ids tell them apart. */
static int tell_apart(const struct match *m, int n)
{
	int most = 0;

	for (int i = 1; i < n; i++) {
		for (int j = 0, same; j < i; j++) {
			for (same = 0; m[i].id[same] == m[j].id[same]; same++)
				;
			most = same > most ? same : most;
		}
	}
	return most + 1;
}

/* Names those of them for which a hint has room. */
static int several(struct call *call, const struct id_among *a, const char *text,
		   const struct match *m, int n)
{
	const int length = tell_apart(m, n);
	const char *list = "";
	int i;

	for (i = 0; i < n && i < TOLD; i++) {
		const char *longer = arena_printf(&call->arena, "%s%s%s %.*s", list,
						  i ? ", " : "", m[i].name, length,
						  m[i].id);

		if (strlen(longer) > TOLD_SIZE)
			break;
		list = longer;
	}
	fault_set(&call->fault, FAULT_INVALID, a->where,
		  "the ids of several %s begin with %s", nouns[a->noun], text);
	return fault_hint(&call->fault, "Name one of them: %s%s", list,
			  i < n ? ", …" : ".");
}

int id_short(struct call *call, const struct id_among *among, const char *text,
	     const char **id)
{
	struct match found[TOLD + 1];
	struct made_row r;
	struct query q;
	int64_t from, until;
	int n = 0, rc;

	if (!id_times(text, &from, &until))
		return 0;
	id_short_look(call, &q, among, from, until);
	while (n <= TOLD && (rc = sql_next(call, &q, &r)) > 0) {
		const char *full = id_public(call, among->noun, r.id, r.created_at);

		if (!full) {
			rc = call->fault.code;
			break;
		}
		if (strncasecmp(full, text, strlen(text)) == 0)
			found[n++] = (struct match){ full, r.name };
	}
	query_end(&q);
	if (rc < 0 || n == 0)
		return rc < 0 ? rc : 0;
	*id = found[0].id;
	return n == 1 ? 1 : several(call, among, text, found, n);
}
