/*
 * task_part - the lists of a task by pages: for those that have no room in one answer.
 */
#include <string.h>

#include "core/room.h"
#include "core/task/task.h"

struct page {
	struct call *call;
	int64_t task, offset, limit;
	struct task_part_out *out;
};

/* Whether entry number `size` of the list is on the page; all are counted. */
static bool is_here(const struct page *p)
{
	const struct task_part_out *out = p->out;

	return out->size > p->offset && !out->more && out->size - p->offset <= p->limit;
}

static void page_text(struct page *p, const char *text)
{
	struct task_part_out *out = p->out;

	out->size++;
	if (!is_here(p))
		return;
	if (!room_take_text(p->call, text))
		out->more = true;
	else
		*(const char **)arena_push(&p->call->arena, &out->entries,
					   &out->n_entries, sizeof(text)) = text;
}

static int page_notes(struct page *p)
{
	struct task_part_out *out = p->out;
	struct task_count_notes_row count;
	struct task_notes_from_row r;
	struct query q;
	int rc = sql_row(p->call, task_count_notes, &count, .task = p->task);

	out->size = count.n;
	if (rc < 0)
		return rc;
	sql_query(p->call, &q, task_notes_from, .task = p->task, .offset = p->offset,
		  .limit = p->limit);
	while ((rc = sql_next(p->call, &q, &r)) > 0) {
		struct note note = { r.name, r.at, r.text };

		if (!room_take(p->call, &record_note, &note))
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
		if (!is_here(p))
			continue;
		if (!room_take(p->call, &record_criterion, &c))
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

int task_part(struct call *call, const struct task_part_in *in, struct task_part_out *out)
{
	static int (*const lists[])(struct page *) = {
		[TASK_PART_NOTES] = page_notes,
		[TASK_PART_ACCEPTANCE_CRITERIA] = page_criteria,
		[TASK_PART_TAGS] = page_tags,
		[TASK_PART_DEPENDS_ON] = page_deps,
	};
	struct page p = { .call = call,
			  .offset = in->offset,
			  .limit = in->has_limit ? in->limit : INT32_MAX,
			  .out = out };
	struct task_row t;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = task_find(call, in->task, &t)) < 0)
		return rc;
	p.task = t.id;
	rc = lists[in->part](&p);
	out->next = in->offset +
		    (int64_t)(out->n_notes + out->n_acceptance_criteria + out->n_entries);
	out->more = out->next < out->size;
	return rc < 0 ? rc : 0;
}
