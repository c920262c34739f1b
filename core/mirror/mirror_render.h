/*
 * mirror_render - rows as the text that people read.
 *
 * Pure functions: they take a view and make a page, the same bytes for the same rows. Strings
 * in the frontmatter are always quoted. A line of somebody's text that would read as a section
 * of the page gets a backslash before it. A printed file must not control the reader's
 * terminal: in a file, control characters and marks of direction become question marks, and in
 * frontmatter and JSON they are escaped. The state keeps the original characters.
 */
#ifndef CORE_MIRROR_MIRROR_RENDER_H
#define CORE_MIRROR_MIRROR_RENDER_H

#include "core/call/call.h"
#include "core/vault/vault_page.h"

/*
 * The rows that each file of the mirror shows, gathered from their
 * tables.
 *
 * Lists are read with one query per table; all rows are in the call's arena. The caller has
 * begun a read transaction on the call's store. The names of files are made here too, so that
 * all users make the same names.
 */

enum { INDEX_ROWS = 1000 }; /* of each status in INDEX.md */
enum { N_TASK_STATES = 7 };

struct task_view {
	struct mirror_tasks_row row;
	const struct mirror_deps_row *deps;
	const struct mirror_tags_row *tags;
	const struct mirror_criteria_row *criteria;
	const struct mirror_notes_row *notes;
	size_t n_deps, n_tags, n_criteria, n_notes;
};

struct agent_view {
	struct mirror_agents_row row;
	const struct mirror_skills_row *skills;
	const struct mirror_protocols_row *protocols;
	size_t n_skills, n_protocols;
	const char *workspace_id; /* public, or NULL */
};

struct team_view {
	struct mirror_team_row row;
	const struct mirror_members_row *members;
	size_t n_members;
	const struct mirror_below_row *below;
	size_t n_below;
	const struct mirror_budgets_row *budgets;
	size_t n_budgets;
};

struct board_view {
	const char *team;
	int64_t counts[N_TASK_STATES], ready;
	const struct mirror_index_row *tasks[N_TASK_STATES];
	size_t n_tasks[N_TASK_STATES]; /* at most INDEX_ROWS each */
};

/* Reads the rows of a list, into the call's arena: `ids` is a JSON array of row ids; ids
 * without a row are left out. 0 or negative. */
int view_tasks(struct call *call, const char *ids, struct task_view **out, size_t *n);
int view_agents(struct call *call, const char *ids, struct agent_view **out, size_t *n);

/* Reads a team: 1, 0 if there is no such team, negative. */
int view_team(struct call *call, int64_t team, struct team_view *out);
int view_board(struct call *call, const struct mirror_team_row *team,
	       struct board_view *out);

/* A list of row ids. */
struct ids {
	int64_t *v; /* malloc'd */
	size_t n, room;
};
void ids_add(struct ids *ids, int64_t id);
void ids_settle(struct ids *ids); /* ascending, each once */
void ids_release(struct ids *ids);
/* The `n` ids from index `from` on, as a JSON array in the arena. */
const char *ids_json(const struct ids *ids, size_t from, size_t n, struct arena *a);

/* Writes "{id}-{slug}.md", a safe name of a file for any slug. */
void task_file_name(int64_t number, const char *slug, char out[128]);

/* Renders a task into `p`, which is zeroed or holds an earlier page. `p` is emptied first. */
void render_task(const struct task_view *v, struct page *p);
void render_card(const struct agent_view *v, struct page *p);
void render_team(const struct team_view *v, struct page *p);
void render_board(const struct board_view *v, struct page *p); /* INDEX.md */

/* Append a message as the log shows the message, or only the message's text. */
void render_mail(const struct mirror_mail_row *row, struct text *out);
void render_mail_text(const char *content, struct text *out);

#endif
