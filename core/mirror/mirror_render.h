/*
 * mirror_render - makes the files of the mirror from rows.
 *
 * The functions are pure: the same rows always give the same bytes. Strings in the frontmatter
 * are always quoted. If a line of somebody's text looks like the heading of a section, a
 * backslash is written before the line. A printed file must not control the reader's terminal.
 * Control characters and marks of text direction are escaped in frontmatter and JSON. Elsewhere
 * they become question marks or spaces. The state keeps the original characters.
 */
#ifndef CORE_MIRROR_MIRROR_RENDER_H
#define CORE_MIRROR_MIRROR_RENDER_H

#include "core/call/call.h"
#include "core/vault/vault_page.h"

/*
 * The rows that each file of the mirror shows, gathered from their tables.
 *
 * Lists are read with one query per table. All rows are in the call's arena. The caller has
 * begun a read transaction on the call's store. File names are also made here, so that all
 * callers use the same names.
 */

enum { INDEX_ROWS = 1000 }; /* maximum number of rows of each status in INDEX.md */
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
	const char *workspace_id; /* public id of the agent's workspace, or NULL if the
				     agent has no workspace */
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
	size_t n_tasks[N_TASK_STATES]; /* numbers of rows in `tasks`, at most INDEX_ROWS
					  each */
};

/* Reads the rows whose ids are in the JSON array `ids`, into the call's arena. Ids without a
 * row are left out. Returns 0 or a negative fault code. */
int view_tasks(struct call *call, const char *ids, struct task_view **out, size_t *n);
int view_agents(struct call *call, const char *ids, struct agent_view **out, size_t *n);

/* Reads a team. Returns 1 if the team was read, 0 if there is no such team, or a fault code. */
int view_team(struct call *call, int64_t team, struct team_view *out);
int view_board(struct call *call, const struct mirror_team_row *team,
	       struct board_view *out);

/* A list of row ids. */
struct ids {
	int64_t *v; /* allocated by malloc() */
	size_t n, room;
};
void ids_add(struct ids *ids, int64_t id);
void ids_settle(struct ids *ids); /* sorts the ids and removes duplicates */
void ids_release(struct ids *ids);
/* Returns `n` ids from index `from` on, as a JSON array in the arena. */
const char *ids_json(const struct ids *ids, size_t from, size_t n, struct arena *a);

/* Writes "{number}-{slug}.md", which is a safe file name for any slug. */
void task_file_name(int64_t number, const char *slug, char out[128]);

/* Renders a task into `p`, which is zeroed or holds an earlier page. `p` is emptied first. */
void render_task(const struct task_view *v, struct page *p);
void render_card(const struct agent_view *v, struct page *p);
void render_team(const struct team_view *v, struct page *p);
void render_board(const struct board_view *v, struct page *p); /* INDEX.md */

/* render_mail() appends a message as the log of messages shows it. render_mail_text() appends
 * only the message's text. */
void render_mail(const struct mirror_mail_row *row, struct text *out);
void render_mail_text(const char *content, struct text *out);

#endif
