/*
 * message_list - shows sent messages, as threads and as a list.
 */
#include <string.h>

#include "core/call/id.h"
#include "core/message/inbox.h"
#include "core/call/space.h"

/* Returns the agent whose messages the caller may see. Returns 0 for the lead and the operator,
 * who may see all messages. */
static int64_t message_list_sees(const struct call *call)
{
	return call->caller.level >= WHO_LEAD ? 0 : call->caller.agent;
}

enum { NAMES = 20 }; /* recipients that `to` names */

struct page {
	struct envelope *items;
	size_t n;
	int64_t limit;
	bool more;
	int failed; /* fault code of a row that could not be read, or 0 */
};

int message_copies(struct call *call, int64_t message, bool all, struct copies *out)
{
	struct message_head_row m;
	struct message_copies_row r;
	int rc = sql_row(call, message_head, &m, .id = message);

	if (rc <= 0 ||
	    (rc = sql_row(call, message_copies, &r, .message = message,
			  .abroad = m.abroad, .all = all)) <= 0 ||
	    !r.n)
		return rc < 0 ? rc : 0;
	out->to =
		all ? "*"
		: r.n > NAMES
			? arena_printf(&call->arena, "%s, +%lld", r.names,
				       (long long)(r.total > r.n ? r.total : r.n) - NAMES)
			: r.names;
	out->read = r.queued  ? READ_MARK_QUEUED
		    : r.held  ? READ_MARK_SEEN
		    : r.acked ? READ_MARK_ACKED
			      : READ_MARK_LOST;
	out->n = r.n;
	out->acked = r.acked;
	return 1;
}

/* Adds a row to the page, with all recipients of the message. If the page is full, returns
 * false and leaves the row for the next page. */
static bool page_add(struct call *call, struct page *p, const struct envelope_row *row)
{
	struct copies c = { 0 };
	struct envelope e;
	int rc;

	envelope_fill(call, row, &e);
	rc = message_copies(call, row->id, row->to_all, &c);
	if (rc > 0) {
		e.to = c.to;
		e.read = c.read;
		e.has_read = true;
		e.has_recipients = e.has_acked_by = c.n > 1 && c.n < 100;
		e.recipients = c.n;
		e.acked_by = c.acked;
	}
	if (rc < 0) {
		p->failed = rc;
		return false;
	}
	if ((int64_t)p->n == p->limit || !envelope_take(call, &e)) {
		p->more = true;
		return false;
	}
	arena_add(&call->arena, p->items, p->n, e);
	return true;
}

/* Converts the argument `thread` to the name of a thread, and stores the name in *name. If
 * `thread` is the number or id of a message in a thread, *name is the name of the message's
 * thread. A message outside any thread begins a new thread, whose name is the message's id. The
 * message that begins a thread is also added to the page if its number is above `after`. */
static int begin_thread(struct call *call, const char *thread, int64_t after,
			const char **name, struct page *p)
{
	struct envelope_row e = { 0 };
	struct message_head_row first;
	int64_t row, at;
	int rc = message_is_number(thread)
			 ? 1
			 : id_parse(call, ID_MESSAGE, thread, &row, &at);

	*name = thread;
	if (rc > 0)
		rc = message_named(call, thread, "/thread", &first);
	if (rc > 0)
		rc = sql_row(call, envelope_one, &e, .id = first.id,
			     .team = call->caller.team, .agent = message_list_sees(call));
	if (rc <= 0)
		return rc;
	*name = e.thread ? e.thread : id_public(call, ID_MESSAGE, first.id, first.at);
	if (!e.thread && after < first.id)
		page_add(call, p, &e);
	return p->failed;
}

static int list_thread(struct call *call, const char *thread, int64_t after,
		       struct page *p)
{
	struct envelope_row e;
	const char *name;
	struct query q = { 0 };
	int rc = begin_thread(call, thread, after, &name, p);

	if (rc < 0)
		return rc;
	while ((rc = sql_each(call, &q, envelopes_thread, &e, .team = call->caller.team,
			      .thread = name, .after = after,
			      .agent = message_list_sees(call), .limit = p->limit + 1)) >
		       0 &&
	       page_add(call, p, &e))
		;
	rc = query_over(&q, rc);
	return p->failed ? p->failed : rc;
}

/* Returns 1 if the caller may see a message in the thread `name`, 0 if there is no such
 * message, or a fault code. */
static int is_thread(struct call *call, const char *name)
{
	struct envelope_row e;

	return sql_row(call, envelopes_thread, &e, .team = call->caller.team,
		       .thread = name, .agent = message_list_sees(call), .limit = 1);
}

/* Shows a thread. A number without `#` names a thread if a thread of that name exists, and
 * otherwise names a message. */
int message_thread(struct call *call, const struct message_thread_in *in,
		   struct message_thread_out *out)
{
	const bool plain = strspn(in->thread, "0123456789") == strlen(in->thread);
	struct page p = { .limit = in->limit };
	const char *thread = in->thread;
	int rc = who_team(call, in->team);

	if (rc >= 0 && plain && (rc = is_thread(call, thread)) == 0)
		thread = arena_printf(&call->arena, "#%s", thread);
	if (rc < 0 || (rc = list_thread(call, thread, in->after, &p)) < 0)
		return rc;
	out->messages = p.items;
	out->n_messages = p.n;
	out->more = p.more;
	if (p.n || in->after)
		return 0;
	fault_set(&call->fault, FAULT_NOT_FOUND, "/thread", "there is no thread %s",
		  in->thread);
	return fault_hint(&call->fault, "See the messages with: {message.list}.");
}

int message_list(struct call *call, const struct message_list_in *in,
		 struct message_list_out *out)
{
	struct page p = { .limit = in->limit };
	struct agent_row other = { 0 };
	struct team_born_row born;
	struct envelope_row e;
	struct query q = { 0 };
	int rc;

	if ((rc = who_team_of(call, in->team, in->agent, "/agent")) < 0 ||
	    (rc = sql_row(call, team_born, &born, .team = call->caller.team)) < 0 ||
	    (in->agent && (rc = who_agent(call, in->agent, "/agent", &other)) < 0))
		return rc;
	while ((rc = sql_each(call, &q, envelopes_before, &e,
			      .before = in->has_before ? in->before : INT64_MAX,
			      .since = born.first_message, .team = call->caller.team,
			      .agent = message_list_sees(call), .other = other.id,
			      .limit = in->limit + 1)) > 0 &&
	       page_add(call, &p, &e))
		;
	query_end(&q);
	out->messages = p.items;
	out->n_messages = p.n;
	out->more = p.more;
	return rc < 0 ? rc : p.failed;
}

int message_part(struct call *call, const struct message_part_in *in,
		 struct message_part_out *out)
{
	struct envelope_row e;
	struct space_range r = { .offset = in->offset,
				 .length = in->has_length ? in->length
							  : (int64_t)space_all(call) };
	struct message_head_row m;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = message_named(call, in->message_id, "/message_id", &m)) < 0)
		return rc;
	if (rc > 0)
		rc = sql_row(call, envelope_one, &e, .id = m.id,
			     .team = call->caller.team, .agent = message_list_sees(call));
	if (rc < 0)
		return rc;
	if (rc == 0)
		return message_none(call, in->message_id, "/message_id");
	space_range(call, in->part == MESSAGE_PART_CONTENT ? e.content : e.metadata, &r);
	out->text = r.text;
	out->size = r.size;
	out->next = r.next;
	out->more = r.next < r.size;
	return 0;
}
