#include "core/mirror/mirror_render.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/access/access_door.h"
#include "core/agent/agent.h"
#include "core/base/alloc.h"
#include "core/call/id.h"
#include "ops.gen.h"

/* --- pieces --------------------------------------------------------------------- */

static const char *mirror_render_word(const struct record *r, const char *field,
				      int64_t n)
{
	const struct choice *choice = field_find(r, field)->type->choices;

	while (n-- > 0 && choice->name)
		choice++;
	return choice->name ? choice->name : "?";
}

/* Appends a text as a JSON string, which is also a valid YAML string. */
static void mirror_render_add_quoted(struct text *t, const char *s)
{
	struct text json = { 0 };

	text_add_json(&json, s);
	page_add_json(t, &json);
	text_release(&json);
}

static void mirror_render_add_key(struct text *t, const char *key, const char *value)
{
	text_addf(t, "%s: ", key);
	if (value)
		mirror_render_add_quoted(t, value);
	else
		text_addf(t, "null");
	text_addf(t, "\n");
}

static void add_time(struct text *t, const char *key, int64_t ms)
{
	char at[25];

	time_format(ms, at);
	mirror_render_add_key(t, key, at);
}

/* Appends a text on one line. Newlines and other control characters become spaces. */
static void mirror_render_add_line(struct text *t, const char *s)
{
	size_t from = t->len;

	text_add(t, s, strlen(s));
	for (size_t i = from; i < t->len; i++)
		if ((unsigned char)t->data[i] < ' ')
			t->data[i] = ' ';
}

/* Appends a text on one line, for a cell of a table. */
static void add_cell(struct text *t, const char *s)
{
	for (; *s; s++) {
		if (*s == '|')
			text_add(t, "\\|", 2);
		else
			text_add(t, (unsigned char)*s < ' ' ? " " : s, 1);
	}
}

/* Whether a line would look like the heading of a section in a task's file. */
static bool mirror_render_is_section(const char *line, size_t len)
{
	static const char *const sections[] = { "Description", "Acceptance Criteria",
						"Notes", "Result" };

	while (len > 0 && *line == '\\')
		line++, len--;
	while (len > 0 && strchr(" \t\r", line[len - 1]))
		len--;
	if (len < 3 || memcmp(line, "## ", 3) != 0)
		return false;
	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++)
		if (len - 3 == strlen(sections[i]) &&
		    memcmp(line + 3, sections[i], len - 3) == 0)
			return true;
	return false;
}

/* Appends somebody's text, with `indent` before each line except the first line. */
static void mirror_render_add_prose(struct text *t, const char *s, const char *indent)
{
	for (bool first = true; *s; first = false) {
		size_t len = strcspn(s, "\n");

		if (!first && len > 0)
			text_addf(t, "%s", indent);
		if (mirror_render_is_section(s, len))
			text_add(t, "\\", 1);
		text_add(t, s, len);
		text_add(t, "\n", 1);
		s += len + (s[len] == '\n');
	}
}

/* Marks the place of the lines `rev` and `sum`, and ends the frontmatter. */
static void page_body(struct page *p)
{
	p->split = p->text.len;
	text_addf(&p->text, "---\n\n");
}

/* --- tasks ------------------------------------------------------------------------ */

static void add_deps(struct text *t, const struct task_view *v)
{
	const char *sep = "";

	text_addf(t, "depends_on: [");
	for (size_t i = 0; i < v->n_deps; i++, sep = ", ")
		text_addf(t, "%s\"%03" PRId64 "\"", sep, v->deps[i].number);
	text_addf(t, "]\nblocked_by: [");
	sep = "";
	for (size_t i = 0; i < v->n_deps; i++) {
		int64_t state = v->deps[i].state;

		if (state == TASK_STATE_COMPLETED)
			continue;
		text_addf(t, "%s\"%03" PRId64 "%s\"", sep, v->deps[i].number,
			  state == TASK_STATE_FAILED      ? " (failed)"
			  : state == TASK_STATE_CANCELLED ? " (cancelled)"
							  : "");
		sep = ", ";
	}
	text_addf(t, "]\n");
}

static void add_frontmatter(struct text *t, const struct task_view *v)
{
	text_addf(t, "id: \"%03" PRId64 "\"\nstatus: %s\n", v->row.number,
		  mirror_render_word(&record_task, "status", v->row.state));
	mirror_render_add_key(t, "owner", v->row.ended_at ? NULL : v->row.holder_name);
	if (v->row.assignee_name)
		mirror_render_add_key(t, "assignee", v->row.assignee_name);
	text_addf(t, "priority: %" PRId64 "\n", v->row.priority);
	add_deps(t, v);
	mirror_render_add_key(t, "created_by", v->row.creator_name);
	add_time(t, "created_at", v->row.created_at);
	add_time(t, "updated_at", v->row.updated_at);
	if (v->row.ended_at) {
		mirror_render_add_key(t, "ended_by", v->row.holder_name);
		add_time(t, "ended_at", v->row.ended_at);
	}
	text_addf(t, "tags: [");
	for (size_t i = 0; i < v->n_tags; i++) {
		text_addf(t, i ? ", " : "");
		mirror_render_add_quoted(t, v->tags[i].tag);
	}
	text_addf(t, "]\nepoch: %" PRId64 "\n", v->row.epoch);
}

static void add_section(struct text *t, const char *name)
{
	text_addf(t, "\n## %s\n\n", name);
}

void render_task(const struct task_view *v, struct page *p)
{
	struct text *t = page_start(p, PAGE_MARKDOWN);
	char at[25];

	add_frontmatter(t, v);
	page_body(p);
	text_addf(t, "# ");
	mirror_render_add_line(t, v->row.title);
	text_addf(t, "\n");
	add_section(t, "Description");
	mirror_render_add_prose(t, v->row.description, "");
	add_section(t, "Acceptance Criteria");
	for (size_t i = 0; i < v->n_criteria; i++) {
		text_addf(t, "- [%c] ", v->criteria[i].done ? 'x' : ' ');
		mirror_render_add_line(t, v->criteria[i].text);
		text_addf(t, "\n");
	}
	add_section(t, "Notes");
	for (size_t i = 0; i < v->n_notes; i++) {
		time_format(v->notes[i].at, at);
		text_addf(t, "- %s **%s**: ", at, v->notes[i].name);
		mirror_render_add_prose(t, v->notes[i].text, "  ");
	}
	add_section(t, "Result");
	mirror_render_add_prose(t, v->row.result ? v->row.result : "", "");
	text_mask(t, p->split);
}

/* --- cards ------------------------------------------------------------------------ */

void render_card(const struct agent_view *v, struct page *p)
{
	const struct mirror_agents_row *row = &v->row;
	const char **texts = xcalloc(v->n_skills + v->n_protocols + 1, sizeof(*texts));
	const struct card card = {
		.name = row->name,
		.role = row->role,
		.description = row->description,
		.skills = texts,
		.n_skills = v->n_skills,
		.protocols = texts + v->n_skills,
		.n_protocols = v->n_protocols,
		.endpoints = card_endpoints(row->http, row->cid, row->address),
		.input_schema = row->input_schema,
		.output_schema = row->output_schema,
		.status = agent_status_now(row->status, row->holds),
		.fault = row->fault,
		.team = row->team_name,
		.parent_team = row->parent_name,
		.workspace_id = v->workspace_id,
		.project = row->project,
		.generation = row->generation,
	};

	for (size_t i = 0; i < v->n_skills; i++)
		texts[i] = v->skills[i].skill;
	for (size_t i = 0; i < v->n_protocols; i++)
		texts[v->n_skills + i] = v->protocols[i].protocol;
	card_page(&card, p);
	free(texts);
}

/* --- teams ------------------------------------------------------------------------ */

/* Adds links to the parent team and to the child teams. */
static void add_kin(struct text *t, const struct team_view *v)
{
	const char *parent = v->row.parent_name;

	if (parent)
		text_addf(t, "Above it: [%s](../%s/TEAM.md).\n\n", parent, parent);
	for (size_t i = 0; i < v->n_below; i++)
		text_addf(t, "%s[%s](../%s/TEAM.md)%s",
			  i ? ", " : "Below it: ", v->below[i].name, v->below[i].name,
			  i + 1 == v->n_below ? ".\n\n" : "");
}

/* Adds the table of budgets. For time and messages the page does not show how much is used,
 * since the used amounts change all the time. */
static void add_budgets(struct text *t, const struct team_view *v)
{
	if (v->n_budgets)
		text_addf(t, "## Budget\n\n"
			     "| what | limit | used | reserved for teams below |\n"
			     "| --- | --- | --- | --- |\n");
	for (size_t i = 0; i < v->n_budgets; i++) {
		const struct mirror_budgets_row *b = &v->budgets[i];

		text_addf(t, "| %s | ",
			  mirror_render_word(&record_budget_line, "kind", b->kind));
		if (b->most)
			text_addf(t, "%" PRId64, b->most);
		text_addf(t, " | ");
		if (b->kind == BUDGET_KIND_TOKENS || b->kind == BUDGET_KIND_COST)
			text_addf(t, "%" PRId64, b->used);
		text_addf(t, " | %" PRId64 " |\n", b->reserved);
	}
	if (v->n_budgets)
		text_addf(t, "\n");
}

void render_team(const struct team_view *v, struct page *p)
{
	struct text *t = page_start(p, PAGE_MARKDOWN);

	mirror_render_add_key(t, "team", v->row.name);
	text_addf(t, "row: %" PRId64 "\nstate: %s\n", v->row.id,
		  mirror_render_word(&record_team_line, "state", v->row.state));
	add_time(t, "created_at", v->row.created_at);
	if (v->row.destroyed_at)
		add_time(t, "destroyed_at", v->row.destroyed_at);
	text_addf(t, "max_vms: %" PRId64 "\n", v->row.max_vms);
	page_body(p);
	text_addf(t, "# %s\n\nThe board is in [tasks](tasks/INDEX.md).\n\n", v->row.name);
	add_kin(t, v);
	add_budgets(t, v);
	text_addf(t, "## Members\n\n");
	text_addf(t, "| name | role | status | description |\n"
		     "| --- | --- | --- | --- |\n");
	for (size_t i = 0; i < v->n_members; i++) {
		const struct mirror_members_row *m = &v->members[i];

		text_addf(t, "| [%s](cards/%s.json) | ", m->name, m->name);
		add_cell(t, m->role);
		text_addf(t, " | %s | ",
			  mirror_render_word(&record_card, "status",
					     agent_status_now(m->status, m->holds)));
		add_cell(t, m->description);
		text_addf(t, " |\n");
	}
	text_mask(t, p->split);
}

/* The states of tasks, in the order in which a board lists them. */
static const struct {
	int state;
	const char *title;
} board_order[N_TASK_STATES] = {
	{ TASK_STATE_IN_PROGRESS, "In progress" }, { TASK_STATE_CLAIMED, "Claimed" },
	{ TASK_STATE_BLOCKED, "Blocked" },         { TASK_STATE_PENDING, "Pending" },
	{ TASK_STATE_FAILED, "Failed" },           { TASK_STATE_COMPLETED, "Completed" },
	{ TASK_STATE_CANCELLED, "Cancelled" },
};

static void add_board_rows(struct text *t, const struct board_view *v, int state)
{
	const bool over = state == TASK_STATE_COMPLETED || state == TASK_STATE_FAILED ||
			  state == TASK_STATE_CANCELLED;
	char file[128], at[25];

	text_addf(t,
		  "| id | title | priority | %s |\n"
		  "| --- | --- | --- | --- | --- | --- |\n",
		  over ? "ended by | blocked by | ended"
		       : "owner | blocked by | updated");
	for (size_t i = 0; i < v->n_tasks[state]; i++) {
		const struct mirror_index_row *row = &v->tasks[state][i];

		task_file_name(row->number, row->slug, file);
		time_format(row->at, at);
		text_addf(t, "| [%03" PRId64 "](%s) | ", row->number, file);
		add_cell(t, row->title);
		text_addf(t, " | %" PRId64 " | %s | %s | %s |\n", row->priority,
			  row->holder_name ? row->holder_name : "",
			  row->blockers ? row->blockers : "", at);
	}
	if (v->counts[state] > (int64_t)v->n_tasks[state])
		text_addf(t, "\nand %" PRId64 " more\n",
			  v->counts[state] - (int64_t)v->n_tasks[state]);
}

void render_board(const struct board_view *v, struct page *p)
{
	struct text *t = page_start(p, PAGE_MARKDOWN);
	int64_t total = 0;

	mirror_render_add_key(t, "team", v->team);
	page_body(p);
	text_addf(t, "# Board of %s\n\n| status | tasks |\n| --- | ---: |\n", v->team);
	for (int i = 0; i < N_TASK_STATES; i++) {
		int state = board_order[i].state;

		text_addf(t, "| %s | %" PRId64 " |\n",
			  mirror_render_word(&record_task, "status", state),
			  v->counts[state]);
		total += v->counts[state];
	}
	text_addf(t, "| total | %" PRId64 " |\n\n%" PRId64 " can be claimed now.\n",
		  total, v->ready);
	for (int i = 0; i < N_TASK_STATES; i++) {
		if (v->counts[board_order[i].state] == 0)
			continue;
		text_addf(t, "\n## %s (%" PRId64 ")\n\n", board_order[i].title,
			  v->counts[board_order[i].state]);
		add_board_rows(t, v, board_order[i].state);
	}
	text_mask(t, p->split);
}

/* --- messages --------------------------------------------------------------------- */

void render_mail_text(const char *content, struct text *out)
{
	const size_t start = out->len;

	for (const char *s = content; *s;) {
		size_t len = strcspn(s, "\n");

		text_addf(out, len > 0 ? "> " : ">");
		text_add(out, s, len);
		text_add(out, "\n", 1);
		s += len + (s[len] == '\n');
	}
	text_mask(out, start);
}

/* Appends a message as a heading, a list of its unusual properties, and a quotation of its
 * text. The heading ends with the message's number. No line of the quotation can begin like a
 * heading. */
void render_mail(const struct mirror_mail_row *row, struct text *out)
{
	const size_t start = out->len;
	char at[25];

	time_format(row->at, at);
	text_addf(out, "## %.12s %s", at + 11, row->sender_name);
	if (row->to_all || row->receivers)
		text_addf(out, " -> %s", row->to_all ? "all" : row->receivers);
	text_addf(out, " <!-- %" PRId64 " -->\n\n", row->id);
	if (row->urgent)
		text_addf(out, "- urgent\n");
	if (strcmp(row->type, "text") != 0) {
		text_addf(out, "- type: ");
		mirror_render_add_line(out, row->type);
		text_addf(out, "\n");
	}
	if (row->thread) {
		text_addf(out, "- thread: ");
		mirror_render_add_line(out, row->thread);
		text_addf(out, "\n");
	}
	if (row->reply_at) {
		time_format(row->reply_at, at);
		text_addf(out, "- reply to: %s\n", at);
	}
	if (row->urgent || row->thread || row->reply_at || strcmp(row->type, "text") != 0)
		text_addf(out, "\n");
	text_mask(out, start);
	render_mail_text(row->content, out);
	text_add(out, "\n", 1);
}

/* --- lists of ids ----------------------------------------------------------- */

void ids_add(struct ids *ids, int64_t id)
{
	if (ids->n > 0 && ids->v[ids->n - 1] == id)
		return;
	if (ids->n == ids->room) {
		ids->room = ids->room ? ids->room * 2 : 64;
		ids->v = xreallocarray(ids->v, ids->room, sizeof(*ids->v));
	}
	ids->v[ids->n++] = id;
}

static int mirror_rows_compare_ids(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

void ids_settle(struct ids *ids)
{
	size_t kept = 0;

	if (ids->n > 1)
		qsort(ids->v, ids->n, sizeof(*ids->v), mirror_rows_compare_ids);
	for (size_t i = 0; i < ids->n; i++)
		if (i == 0 || ids->v[i] != ids->v[i - 1])
			ids->v[kept++] = ids->v[i];
	ids->n = kept;
}

void ids_release(struct ids *ids)
{
	free(ids->v);
	*ids = (struct ids){ 0 };
}

const char *ids_json(const struct ids *ids, size_t from, size_t n, struct arena *a)
{
	return id_list(a, n ? ids->v + from : NULL, n);
}

/* --- rows --------------------------------------------------------------------- */

/* read_list() needs statements whose only parameter is a list of ids. */
_Static_assert(sizeof(struct sql_mirror_tasks_in) == sizeof(char *), "ids only");
_Static_assert(sizeof(struct sql_mirror_deps_in) == sizeof(char *), "ids only");
_Static_assert(sizeof(struct sql_mirror_tags_in) == sizeof(char *), "ids only");
_Static_assert(sizeof(struct sql_mirror_criteria_in) == sizeof(char *), "ids only");
_Static_assert(sizeof(struct sql_mirror_notes_in) == sizeof(char *), "ids only");
_Static_assert(sizeof(struct sql_mirror_agents_in) == sizeof(char *), "ids only");
_Static_assert(sizeof(struct sql_mirror_skills_in) == sizeof(char *), "ids only");
_Static_assert(sizeof(struct sql_mirror_protocols_in) == sizeof(char *), "ids only");

struct list {
	char *items;
	size_t n, size, at;
};

/* Reads all rows of a statement. */
static int mirror_rows_read(struct call *call, enum sql id, const void *in, size_t size,
			    struct list *out)
{
	struct query q;
	int rc;

	*out = (struct list){ .size = size };
	store_query(call->store, &q, id, in);
	do {
		void *row = arena_push(&call->arena, &out->items, &out->n, size);

		rc = store_next(&q, row, size, &call->arena, &call->fault);
	} while (rc > 0);
	out->n--;
	return rc;
}

static int read_list(struct call *call, enum sql id, const char *ids, size_t size,
		     struct list *out)
{
	const struct sql_mirror_tasks_in in = { .ids = ids };

	return mirror_rows_read(call, id, &in, size, out);
}

/* Returns the rows whose first column is `key`, from a list that is sorted by its first column. */
static const void *take_rows(struct list *list, int64_t key, size_t *n)
{
	const char *first;
	int64_t has;

	for (; list->at < list->n; list->at++) {
		memcpy(&has, list->items + list->at * list->size, sizeof(has));
		if (has >= key)
			break;
	}
	first = list->items + list->at * list->size;
	for (*n = 0; list->at < list->n; list->at++, (*n)++) {
		memcpy(&has, list->items + list->at * list->size, sizeof(has));
		if (has != key)
			break;
	}
	return *n ? first : NULL;
}

int view_tasks(struct call *call, const char *ids, struct task_view **out, size_t *n)
{
	struct list rows, deps, tags, criteria, notes;
	int rc;

	if ((rc = read_list(call, sql_mirror_tasks, ids, sizeof(struct mirror_tasks_row),
			    &rows)) < 0 ||
	    (rc = read_list(call, sql_mirror_deps, ids, sizeof(struct mirror_deps_row),
			    &deps)) < 0 ||
	    (rc = read_list(call, sql_mirror_tags, ids, sizeof(struct mirror_tags_row),
			    &tags)) < 0 ||
	    (rc = read_list(call, sql_mirror_criteria, ids,
			    sizeof(struct mirror_criteria_row), &criteria)) < 0 ||
	    (rc = read_list(call, sql_mirror_notes, ids, sizeof(struct mirror_notes_row),
			    &notes)) < 0)
		return rc;
	*n = rows.n;
	*out = arena_alloc(&call->arena, (rows.n + 1) * sizeof(**out));
	for (size_t i = 0; i < rows.n; i++) {
		struct task_view *v = &(*out)[i];

		v->row = ((const struct mirror_tasks_row *)rows.items)[i];
		v->deps = take_rows(&deps, v->row.id, &v->n_deps);
		v->tags = take_rows(&tags, v->row.id, &v->n_tags);
		v->criteria = take_rows(&criteria, v->row.id, &v->n_criteria);
		v->notes = take_rows(&notes, v->row.id, &v->n_notes);
	}
	return 0;
}

/* Hides the address of a member's door unless the policy lets teammates use the door. */
static int hide_shut_door(struct call *call, struct mirror_agents_row *row)
{
	bool open = true;
	int rc = row->http ? door_is_open(call, row->team, row->id, &open) : 0;

	if (!open)
		row->http = NULL;
	return rc;
}

int view_agents(struct call *call, const char *ids, struct agent_view **out, size_t *n)
{
	struct list rows, skills, protocols;
	int rc;

	if ((rc = read_list(call, sql_mirror_agents, ids,
			    sizeof(struct mirror_agents_row), &rows)) < 0 ||
	    (rc = read_list(call, sql_mirror_skills, ids,
			    sizeof(struct mirror_skills_row), &skills)) < 0 ||
	    (rc = read_list(call, sql_mirror_protocols, ids,
			    sizeof(struct mirror_protocols_row), &protocols)) < 0)
		return rc;
	*n = rows.n;
	*out = arena_alloc(&call->arena, (rows.n + 1) * sizeof(**out));
	for (size_t i = 0; i < rows.n; i++) {
		struct agent_view *v = &(*out)[i];

		v->row = ((const struct mirror_agents_row *)rows.items)[i];
		v->skills = take_rows(&skills, v->row.id, &v->n_skills);
		v->protocols = take_rows(&protocols, v->row.id, &v->n_protocols);
		if (v->row.workspace && v->row.workspace_at &&
		    !(v->workspace_id = id_public(call, ID_WORKSPACE, v->row.workspace,
						  v->row.workspace_at)))
			return call->fault.code;
		if ((rc = hide_shut_door(call, &v->row)) < 0)
			return rc;
	}
	return 0;
}

int view_team(struct call *call, int64_t team, struct team_view *out)
{
	struct list members, below, budgets;
	int rc;

	if ((rc = sql_row(call, mirror_team, &out->row, .id = team)) <= 0)
		return rc;
	rc = mirror_rows_read(call, sql_mirror_members,
			      &(const struct sql_mirror_members_in){
				      .team = team, .gone = out->row.destroyed_at != 0 },
			      sizeof(struct mirror_members_row), &members);
	if (rc < 0)
		return rc;
	rc = mirror_rows_read(call, sql_mirror_below,
			      &(const struct sql_mirror_below_in){ .team = team },
			      sizeof(struct mirror_below_row), &below);
	if (rc < 0)
		return rc;
	rc = mirror_rows_read(call, sql_mirror_budgets,
			      &(const struct sql_mirror_budgets_in){ .team = team },
			      sizeof(struct mirror_budgets_row), &budgets);
	if (rc < 0)
		return rc;
	out->members = (const void *)members.items;
	out->n_members = members.n;
	out->below = (const void *)below.items;
	out->n_below = below.n;
	out->budgets = (const void *)budgets.items;
	out->n_budgets = budgets.n;
	return 1;
}

int view_board(struct call *call, const struct mirror_team_row *team,
	       struct board_view *out)
{
	struct board_counts n;
	struct list tasks;
	int rc;

	/* At the time 0 no lease has ended, so states are counted as the rows store them. */
	rc = sql_row(call, team_board, &n, .team = team->id, .now = 0);
	if (rc == 0)
		rc = fault_set(&call->fault, FAULT_INTERNAL, "", "team %s has no board",
			       team->name);
	if (rc < 0)
		return rc;
	*out = (struct board_view){
		.team = team->name,
		.ready = n.ready,
		.counts = { [TASK_STATE_PENDING] = n.pending,
			    [TASK_STATE_CLAIMED] = n.claimed,
			    [TASK_STATE_IN_PROGRESS] = n.in_progress,
			    [TASK_STATE_BLOCKED] = n.blocked,
			    [TASK_STATE_COMPLETED] = n.completed,
			    [TASK_STATE_FAILED] = n.failed,
			    [TASK_STATE_CANCELLED] = n.cancelled },
	};
	for (int state = 0; rc >= 0 && state < N_TASK_STATES; state++) {
		rc = mirror_rows_read(
			call, sql_mirror_index,
			&(const struct sql_mirror_index_in){
				.team = team->id, .state = state, .limit = INDEX_ROWS },
			sizeof(struct mirror_index_row), &tasks);
		out->tasks[state] = (const void *)tasks.items;
		out->n_tasks[state] = tasks.n;
	}
	return rc;
}

void task_file_name(int64_t number, const char *slug, char out[128])
{
	int at = snprintf(out, 128, "%03" PRId64 "-%.90s.md", number, slug ? slug : "");
	char *c = strchr(out, '-') + 1;

	for (; c < out + at - 3; c++)
		if (!isalnum((unsigned char)*c) || (unsigned char)*c > 126)
			*c = '-';
}
