/* Keeps pictures of tasks and inboxes, and compares each picture with a replay of the events. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tests/lib/hooks.h"
#include "tests/sim/model.h"

static void add_rows(struct sim *s, struct text *out, const char *sql, int team)
{
	sqlite3_stmt *st = NULL;

	if (sqlite3_prepare_v2(s->reader, sql, -1, &st, NULL) != SQLITE_OK)
		violated(s, "%s: %s", sqlite3_errmsg(s->reader), sql);
	sqlite3_bind_int(st, 1, team + 1);
	while (sqlite3_step(st) == SQLITE_ROW)
		text_addf(out, "%s\n", (const char *)sqlite3_column_text(st, 0));
	sqlite3_finalize(st);
}

void past_take(struct sim *s)
{
	struct picture *p = &s->pictures[s->n_pictures % PICTURES];
	sqlite3_stmt *st = NULL;

	s->n_pictures++;
	text_release(&p->tasks);
	text_release(&p->copies);
	*p = (struct picture){ .team = (int)random_below(s, TEAMS) };
	sqlite3_prepare_v2(s->reader, "SELECT max(seq) FROM event", -1, &st, NULL);
	sqlite3_step(st);
	p->seq = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	add_rows(s, &p->tasks,
		 "SELECT k.number || ' ' || k.state || ' ' || coalesce(a.name, '-') "
		 "FROM task k LEFT JOIN agent a ON a.id = k.owner WHERE k.team = ? "
		 "ORDER BY k.number",
		 p->team);
	add_rows(
		s, &p->copies,
		"SELECT a.name || ' ' || d.message || ' ' || d.state "
		"FROM delivery d JOIN agent a ON a.id = d.agent "
		"WHERE a.team = ? AND d.lane < 2 AND d.state < 3 ORDER BY a.name, d.message",
		p->team);
}

/* Appends a page of the replay to `out`. Returns the offset of the next page, or 0 after the
 * last page. */
static int64_t replay(struct sim *s, const struct picture *p, int64_t offset,
		      struct picture *out)
{
	json_t *args = json_pack("{s:I, s:I, s:s}", "until", (json_int_t)p->seq, "offset",
				 (json_int_t)offset, "team",
				 s->agents[p->team * MEMBERS].team);
	struct call call = { .store = s->store,
			     .settings = &s->settings,
			     .identity = { .level = WHO_OPERATOR },
			     .now = s->now };
	const struct event_replay_out *o;
	int64_t next;

	if (call_decode(&call, op_find("event.replay"), args) < 0 || call_run(&call) < 0)
		violated(s, "no replay until %" PRId64 ": %s", p->seq, call.fault.text);
	o = call.out;
	for (size_t i = 0; i < o->n_tasks; i++)
		text_addf(&out->tasks, "%lld %d %s\n", strtoll(o->tasks[i].id, NULL, 10),
			  o->tasks[i].has_status ? (int)o->tasks[i].status : -1,
			  o->tasks[i].owner ? o->tasks[i].owner : "-");
	for (size_t i = 0; i < o->n_messages; i++)
		text_addf(&out->copies, "%s %" PRId64 " %d\n", o->messages[i].to,
			  o->messages[i].seq,
			  o->messages[i].has_state ? (int)o->messages[i].state : -1);
	next = o->more ? o->next : 0;
	arena_release(&call.arena);
	json_decref(args);
	return next;
}

/* Fails the simulation if `was` and `is` differ, and prints the first line that differs. */
static void compare(struct sim *s, const struct picture *p, const struct text *was,
		    const struct text *is)
{
	const char *a = was->data ? was->data : "", *b = is->data ? is->data : "";
	size_t n = 0, line = 0;

	for (; a[n] && a[n] == b[n]; n++)
		if (a[n] == '\n')
			line = n + 1;
	if (a[n] != b[n])
		violated(s, "behind event %" PRId64 " team-%d had `%.*s`, and not `%.*s`",
			 p->seq, p->team, (int)strcspn(a + line, "\n"), a + line,
			 (int)strcspn(b + line, "\n"), b + line);
}

void past_check(struct sim *s)
{
	store_set_now(s->store, s->now);
	for (int64_t i = 0; i < s->n_pictures && i < PICTURES; i++) {
		struct picture *p = &s->pictures[i], is = { 0 };
		int64_t offset = 0;

		do
			offset = replay(s, p, offset, &is);
		while (offset);
		compare(s, p, &p->tasks, &is.tasks);
		compare(s, p, &p->copies, &is.copies);
		text_release(&is.tasks);
		text_release(&is.copies);
		text_release(&p->tasks);
		text_release(&p->copies);
	}
}
