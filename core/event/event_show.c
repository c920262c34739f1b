#include <stdlib.h>
#include <string.h>

#include "core/event/event.h"
#include "core/call/id.h"
#include "core/message/message.h"
#include "core/task/task.h"

static int event_show_name_of(struct call *call, int64_t agent, const char **out)
{
	struct agent_name_row r;
	int rc = agent ? sql_row(call, agent_name, &r, .id = agent) : 0;

	if (rc > 0)
		*out = r.name;
	return rc < 0 ? rc : 0;
}

/* Returns the path in `detail`, the JSON detail of a vault event. */
static const char *detail_path(struct call *call, const char *detail)
{
	json_t *json = json_loads(detail ? detail : "", 0, NULL);
	const char *path = json_find_text(json, "path");

	path = arena_strdup(&call->arena, path);
	json_decref(json);
	return path;
}

static int subject_of(struct call *call, const struct event_line_row *r, struct event *e)
{
	struct message_head_row m;
	struct workspace_row w;
	struct task_row t;
	int rc = 0;

	switch (events_of(r->kind)) {
	case EVENTS_TEAM:
		e->subject = r->team_name;
		break;
	case EVENTS_AGENT:
		rc = event_show_name_of(call, r->subject, &e->subject);
		break;
	case EVENTS_MESSAGE:
	case EVENTS_ASSIGNMENT:
		if ((rc = sql_row(call, message_head, &m, .id = r->subject)) <= 0)
			break;
		e->subject = id_public(call, ID_MESSAGE, m.id, m.at);
		e->has_message = true;
		e->message = m.id;
		if (m.sender != r->actor)
			rc = event_show_name_of(call, m.sender, &e->from);
		break;
	case EVENTS_WORKSPACE:
		if ((rc = sql_row(call, workspace_by_id, &w, .id = r->subject)) > 0)
			e->subject = w.name;
		break;
	case EVENTS_VAULT:
		e->subject = detail_path(call, r->detail);
		break;
	case EVENTS_TOKEN:
	case EVENTS_RESERVATION:
		e->subject = r->detail;
		break;
	case EVENTS_TASK:
		rc = sql_row(call, task_by_id, &t, .id = r->subject, .now = call->now);
		if (rc > 0)
			e->subject = task_name(call, t.number);
		break;
	case EVENTS_TURN:
		e->subject = arena_printf(&call->arena, "%lld", (long long)r->subject);
		break;
	case EVENTS_NONE:
		break;
	}
	/* A brief answer does not repeat that somebody acted on the actor's own row. */
	if (rc < 0 || (call->form.brief && r->target == r->actor))
		return rc < 0 ? rc : 0;
	return event_show_name_of(call, r->target, &e->target);
}

int event_show(struct call *call, const struct event_line_row *r, struct event *e)
{
	/* An agent has one team, so a brief answer does not repeat the team's name. */
	bool own = call->form.brief && call->caller.level < WHO_OPERATOR &&
		   call->caller.agent;

	*e = (struct event){ .seq = r->seq,
			     .at = r->at,
			     .event = event_kind((int)r->kind)->name,
			     .team = own ? NULL : r->team_name,
			     .by = event_actor_name(r->actor, r->actor_name),
			     .has_as_operator = r->via,
			     .as_operator = r->via,
			     .detail = r->detail };
	return subject_of(call, r, e);
}

int event_task_text(struct call *call, int64_t kind, int64_t task, int64_t at,
		    const char *detail, const char **out)
{
	struct event_criterion_text_row criterion;
	struct event_note_text_row note;
	int rc = 0;

	if (kind == EVENT_TASK_NOTED &&
	    (rc = sql_row(call, event_note_text, &note, .task = task, .at = at)) > 0)
		*out = note.text;
	if (kind == EVENT_TASK_TICKED && detail &&
	    (rc = sql_row(call, event_criterion_text, &criterion, .task = task,
			  .n = strtoll(detail, NULL, 10))) > 0)
		*out = criterion.text;
	return rc < 0 ? rc : 0;
}

static int event_show_tell_message(struct call *call, const struct event_line_row *r,
				   struct event *e)
{
	struct event_message_text_row m;
	struct copies c = { 0 };
	int rc =
		sql_row(call, event_message_text, &m, .id = r->subject,
			.agent = call->caller.level >= WHO_LEAD ? 0 : call->caller.agent);

	if (rc <= 0)
		return rc;
	e->text = m.text;
	if (r->kind != EVENT_MESSAGE_SENT || r->target)
		return 0;
	rc = message_copies(call, r->subject, m.to_all, &c);
	e->to = c.to;
	return rc;
}

int event_tell(struct call *call, const struct event_line_row *r, struct event *e)
{
	const enum events noun = events_of(r->kind);
	struct task_row task;
	int rc = 0;

	if (noun == EVENTS_TASK)
		rc = event_task_text(call, r->kind, r->subject, r->at, r->detail,
				     &e->text);
	if (noun == EVENTS_TASK && rc == 0 && !e->text &&
	    (rc = sql_row(call, task_by_id, &task, .id = r->subject, .now = call->now)) >
		    0)
		e->text = task.title;
	if (noun == EVENTS_MESSAGE || noun == EVENTS_ASSIGNMENT)
		rc = event_show_tell_message(call, r, e);
	return rc < 0 ? rc : 0;
}

bool event_kind_is(const struct event_kind *kind, const char *word, size_t n)
{
	return strncmp(kind->name, word, n) == 0 &&
	       (kind->name[n] == '\0' || kind->name[n] == '.');
}
