/*
 * task_part - a task's lists by pages and its texts by ranges, for lists and texts too
 * large for one answer.
 */
#include <string.h>

#include "core/call/space.h"
#include "core/task/task.h"

struct page {
	struct call *call;
	const struct task_part_in *in;
	int64_t task, offset, limit;
	int64_t next; /* of a text: offset behind what came */
	struct task_part_out *out;
};

/* Whether entry number `size` of the list is on the page; all are counted. */
static bool task_part_is_here(const struct page *p)
{
	const struct task_part_out *out = p->out;

	return out->size > p->offset && !out->more && out->size - p->offset <= p->limit;
}

static void page_text(struct page *p, const char *text)
{
	struct task_part_out *out = p->out;

	out->size++;
	if (!task_part_is_here(p))
		return;
	if (!space_take_text(p->call, text))
		out->more = true;
	else
		*(const char **)arena_push(&p->call->arena, &out->entries,
					   &out->n_entries, sizeof(text)) = text;
}

static int page_notes(struct page *p)
{
	struct task_part_out *out = p->out;
	struct task_notes_from_row r;
	struct task_whole_row t = { 0 };
	struct query q;
	int rc = sql_row(p->call, task_whole, &t, .id = p->task, .now = p->call->now);

	out->size = t.notes;
	if (rc < 0)
		return rc;
	sql_query(p->call, &q, task_notes_from, .task = p->task, .offset = p->offset,
		  .limit = p->limit);
	while ((rc = sql_next(p->call, &q, &r)) > 0) {
		struct note note = { .by = r.name,
				     .at = r.at,
				     .text = r.text,
				     .number = p->offset + (int64_t)out->n_notes + 1 };

		if (!note_take(p->call, &note))
			break;
		*(struct note *)arena_push(&p->call->arena, &out->notes, &out->n_notes,
					   sizeof(note)) = note;
	}
	query_end(&q);
	return rc < 0 ? rc : 0;
}

static int page_criteria(struct page *p)
{
	struct task_part_out *out = p->out;
	struct criterion c = { 0 };
	struct query q;
	int rc;

	sql_query(p->call, &q, task_criteria, .task = p->task);
	while ((rc = sql_next(p->call, &q, &c)) > 0) {
		out->size++;
		if (!task_part_is_here(p))
			continue;
		if (!space_take(p->call, &record_criterion, &c))
			out->more = true;
		else
			*(struct criterion *)arena_push(&p->call->arena,
							&out->acceptance_criteria,
							&out->n_acceptance_criteria,
							sizeof(c)) = c;
	}
	return rc;
}

static int page_tags(struct page *p)
{
	struct task_tags_row g;
	struct query q;
	int rc;

	sql_query(p->call, &q, task_tags, .task = p->task);
	while ((rc = sql_next(p->call, &q, &g)) > 0)
		page_text(p, g.tag);
	return rc;
}

static int page_deps(struct page *p)
{
	struct task_deps_row d;
	struct query q;
	int rc;

	sql_query(p->call, &q, task_deps, .task = p->task, .now = p->call->now);
	while ((rc = sql_next(p->call, &q, &d)) > 0)
		page_text(p, task_name(p->call, d.number));
	return rc;
}

/* --- texts ------------------------------------------------------------------------------ */

static void range(struct page *p, const char *whole)
{
	struct space_range r = { .offset = p->offset,
				 .length = (int64_t)space_all(p->call) };

	space_range(p->call, whole, &r);
	p->out->text = r.text;
	p->out->size = r.size;
	p->next = r.next;
}

static int range_whole(struct page *p)
{
	struct task_whole_row t;
	int rc = sql_row(p->call, task_whole, &t, .id = p->task, .now = p->call->now);

	if (rc > 0)
		range(p, p->in->part == TASK_PART_RESULT ? t.result : t.description);
	return rc;
}

static int range_note(struct page *p)
{
	struct task_notes_from_row r;
	struct query q;
	int rc;

	sql_query(p->call, &q, task_notes_from, .task = p->task,
		  .offset = p->in->number - 1, .limit = 1);
	if ((rc = sql_next(p->call, &q, &r)) > 0)
		range(p, r.text);
	query_end(&q);
	if (rc == 0)
		return fault_set(&p->call->fault, FAULT_NOT_FOUND, "/number",
				 "the task has no note %lld", (long long)p->in->number);
	return rc;
}

int task_part(struct call *call, const struct task_part_in *in, struct task_part_out *out)
{
	static int (*const parts[])(struct page *) = {
		[TASK_PART_NOTES] = page_notes,
		[TASK_PART_ACCEPTANCE_CRITERIA] = page_criteria,
		[TASK_PART_TAGS] = page_tags,
		[TASK_PART_DEPENDS_ON] = page_deps,
		[TASK_PART_DESCRIPTION] = range_whole,
		[TASK_PART_RESULT] = range_whole,
		[TASK_PART_NOTE] = range_note,
	};
	struct page p = { .call = call,
			  .in = in,
			  .offset = in->offset,
			  .limit = in->has_limit ? in->limit : INT32_MAX,
			  .out = out };
	struct task_row t;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = task_find(call, in->task, &t)) < 0)
		return rc;
	p.task = t.id;
	rc = parts[in->part](&p);
	out->next = out->text ? p.next
			      : in->offset + (int64_t)(out->n_notes +
						       out->n_acceptance_criteria +
						       out->n_entries);
	out->more = out->next < out->size;
	return rc < 0 ? rc : 0;
}
