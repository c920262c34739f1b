#include "core/call/id.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const int64_t mask48 = ((int64_t)1 << 48) - 1;
static const int64_t spread = 2442737;

static int load_keys(struct call *call)
{
	struct state_keys_row k;
	int rc;

	if (call->ids.known)
		return 0;
	if ((rc = sql_row(call, state_keys, &k)) < 0)
		return rc;
	call->ids = (struct id_keys){ true, k.id_a, k.id_b, k.id_c };
	return 0;
}

static char *id_put_hex(char *at, uint64_t v, int digits)
{
	for (int i = digits - 1; i >= 0; i--, v >>= 4)
		at[i] = "0123456789abcdef"[v & 15];
	return at + digits;
}

/* Reads `digits` hexadecimal digits. Returns false if the text does not begin with so many
 * digits. */
static bool take_hex(const char **s, int digits, uint64_t *v)
{
	for (*v = 0; digits > 0; digits--, ++*s) {
		const char c = **s;

		if (c >= '0' && c <= '9')
			*v = *v << 4 | (uint64_t)(c - '0');
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			*v = *v << 4 | (uint64_t)((c | 32) - 'a' + 10);
		else
			return false;
	}
	return true;
}

const char *id_public(struct call *call, enum id_noun noun, int64_t row, int64_t at)
{
	const struct id_keys *k = &call->ids;
	char *id, *p;

	if (load_keys(call) < 0)
		return NULL;
	id = p = arena_alloc(&call->arena, ID_SIZE);
	p = id_put_hex(p, (uint64_t)at >> 16, 8);
	*p++ = '-';
	p = id_put_hex(p, (uint64_t)at, 4);
	*p++ = '-';
	p = id_put_hex(p, (uint64_t)(0x7000 | k->a), 4);
	*p++ = '-';
	p = id_put_hex(p, (uint64_t)(0x8000 | (int64_t)noun << 10 | k->b), 4);
	*p++ = '-';
	p = id_put_hex(p, (uint64_t)(((row + at * spread) & mask48) ^ k->c), 12);
	*p = '\0';
	return id;
}

int id_parse(struct call *call, enum id_noun noun, const char *text, int64_t *row,
	     int64_t *at)
{
	uint64_t high, low, a, b, n;
	const char *s = text;
	int rc;

	if ((rc = load_keys(call)) < 0)
		return rc;
	if (!take_hex(&s, 8, &high) || *s++ != '-' || !take_hex(&s, 4, &low) ||
	    *s++ != '-' || !take_hex(&s, 4, &a) || *s++ != '-' || !take_hex(&s, 4, &b) ||
	    *s++ != '-' || !take_hex(&s, 12, &n) || *s)
		return 0;
	if ((int64_t)a != (0x7000 | call->ids.a) ||
	    (int64_t)b != (0x8000 | (int64_t)noun << 10 | call->ids.b))
		return 0;
	*at = (int64_t)(high << 16 | low);
	*row = (((int64_t)n ^ call->ids.c) - *at * spread) & mask48;
	return 1;
}

/*
 * Finds the team, workspace or snapshot whose id begins with a given text.
 */

/* How many ids a hint lists at most if several ids begin with the text, and how many bytes the
 * ids may fill. */
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

/* Begins a query for the rows that were made between the times `from` and `until`. */
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

/* How many characters at the beginning of the matches' ids are needed to tell the ids apart. */
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

/* Refuses a text with several matches. The hint names as many matches as fit. */
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

const char *id_list(struct arena *a, const int64_t *rows, size_t n)
{
	size_t room = n * 21 + 3, len = 0;
	char *out = arena_alloc(a, room);

	out[len++] = '[';
	for (size_t i = 0; i < n; i++)
		len += (size_t)snprintf(out + len, room - len, "%s%" PRId64, i ? "," : "",
					rows[i]);
	out[len++] = ']';
	out[len] = '\0';
	return out;
}
