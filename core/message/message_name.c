/*
 * message_name - finds the message that a caller names by its number, its id, or the beginning
 * of its id.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/call/id.h"
#include "core/message/message.h"

/* SHORT_IDS is the maximum number of shortened ids in a call. SHORTEST is the minimum length of
 * a shortened id. LOOKED_AT is the maximum number of messages that are compared with a
 * shortened id. The limits are needed because each shortened id needs a separate search. A
 * shortened id of a message must be longer than a shortened id of a team or workspace
 * (ID_SHORTEST), because there are many messages. A short text of digits is a message's number. */
enum { SHORT_IDS = 20, SHORTEST = 8, LOOKED_AT = 1000 };

/* Reads the number of a message, such as `#102` or `102`. Returns the number, or 0 if the text
 * is not a number. */
static int64_t message_name_number_in(const char *text)
{
	const char *digits = text + (*text == '#');

	if (*digits < '1' || *digits > '9' || strlen(digits) > 16 ||
	    strspn(digits, "0123456789") != strlen(digits))
		return 0;
	return strtoll(digits, NULL, 10);
}

bool message_is_number(const char *text)
{
	return *text == '#' && message_name_number_in(text) > 0;
}

/* Finds the first message that was sent at `from` or later. Messages are numbered in the order
 * in which they are sent, so a binary search finds the message. If the clock was set back, a
 * search by the beginning of an id may miss a message. */
static int first_since(struct call *call, int64_t from, int64_t *id)
{
	struct message_from_row m;
	struct message_newest_row newest;
	int64_t low = 1, high;
	int rc = sql_row(call, message_newest, &newest);

	if (rc < 0)
		return rc;
	high = newest.id + 1;
	while (low < high) {
		int64_t middle = low + (high - low) / 2;

		if ((rc = sql_row(call, message_from, &m, .id = middle)) < 0)
			return rc;
		if (rc > 0 && m.at < from)
			low = m.id + 1;
		else
			high = middle;
	}
	*id = low;
	return 0;
}

static int ambiguous(struct call *call, const char *text, const char *where)
{
	fault_set(&call->fault, FAULT_INVALID, where,
		  "the ids of several messages begin with %s", text);
	return fault_hint(&call->fault, "Give more of the id, or the number: #102.");
}

/* Returns 1 if a message was sent in the caller's team or to the caller's team, 0 if it was
 * not, or a fault code. */
static int message_name_is_here(struct call *call, int64_t message, int64_t team)
{
	struct message_came_row r;

	if (team == call->caller.team)
		return 1;
	return sql_row(call, message_came, &r, .message = message,
		       .team = call->caller.team);
}

/* Finds the message of the caller's team whose id begins with `text`. Returns 1 if the message
 * was found, or 0 if there is no such message. Returns a fault if there are several such
 * messages, or if too many messages would have to be compared. */
static int by_beginning(struct call *call, const char *text, const char *where,
			int64_t *id)
{
	int64_t from, to, at;
	struct message_from_row m;
	int rc, found = 0;

	if (strlen(text) < SHORTEST || !id_times(text, &from, &to))
		return 0;
	if (++call->mail.short_ids > SHORT_IDS)
		return fault_set(&call->fault, FAULT_INVALID, where,
				 "more than %d shortened ids: give numbers or whole ids",
				 SHORT_IDS);
	if ((rc = first_since(call, from, &at)) < 0)
		return rc;
	for (int i = 0; i < LOOKED_AT; i++, at = m.id + 1) {
		const char *name;

		rc = sql_row(call, message_from, &m, .id = at);
		if (rc <= 0 || m.at > to)
			return rc < 0 ? rc : found;
		if ((rc = message_name_is_here(call, m.id, m.team)) < 0)
			return rc;
		if (rc == 0)
			continue;
		if (!(name = id_public(call, ID_MESSAGE, m.id, m.at)))
			return call->fault.code;
		if (strncasecmp(name, text, strlen(text)) != 0)
			continue;
		if (found++)
			return ambiguous(call, text, where);
		*id = m.id;
	}
	return ambiguous(call, text, where);
}

int message_named(struct call *call, const char *text, const char *where,
		  struct message_head_row *m)
{
	int64_t row = message_name_number_in(text), at = -1;
	int rc = row ? 1 : id_parse(call, ID_MESSAGE, text, &row, &at);

	if (rc == 0)
		rc = by_beginning(call, text, where, &row);
	if (rc > 0)
		rc = sql_row(call, message_head, m, .id = row);
	if (rc <= 0)
		return rc;
	return at < 0 || m->at == at ? message_name_is_here(call, m->id, m->team) : 0;
}

int message_find(struct call *call, const char *id, const char *where,
		 struct message_head_row *m)
{
	int rc = message_named(call, id, where, m);

	return rc ? (rc < 0 ? rc : 0) : message_none(call, id, where);
}

int message_none(struct call *call, const char *id, const char *where)
{
	fault_set(&call->fault, FAULT_NOT_FOUND, where, "there is no message %s", id);
	return fault_hint(&call->fault, "See the messages with: {message.list}.");
}
