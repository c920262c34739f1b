/* mirror_verify - compares the files of the mirror with the rows. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/mirror/mirror.h"
#include "core/mirror/mirror_mail.h"
#include "core/mirror/mirror_show.h"

enum { PAGE_ROWS = 256 };

struct check {
	struct mirror_show show;
	struct mirror_mail mail;
	struct text *report;
	int differences, edited;
};

static void mirror_verify_tell(struct check *c, const char *folder, const char *name,
			       const char *what)
{
	text_addf(c->report, "%s/%s: %s\n", folder, name, what);
	c->differences++;
}

/* Compares the page that was just rendered with the page's file. */
static int mirror_verify_check_file(struct check *c, const char *team, const char *below,
				    const char *name)
{
	struct text *old = &c->show.files.old;
	char folder[FILES_PATH];
	int rc;

	team_folder(team, below, folder);
	rc = files_read(&c->show.files, folder, name, old, &c->show.call.fault);
	if (rc == 0) {
		mirror_verify_tell(c, folder, name, "missing");
	} else if (rc > 0 && !page_same(&c->show.page, old->data, old->len)) {
		bool behind = old->len == 0 || page_sealed(old->data, old->len);

		mirror_verify_tell(c, folder, name,
				   behind ? "behind its rows" : "edited by hand");
		c->edited += !behind;
	}
	return rc < 0 ? rc : 0;
}

static int read_ids(struct check *c, enum sql id, const void *in, struct ids *out)
{
	struct call *call = &c->show.call;
	struct mirror_team_ids_row row;
	struct query q;
	int rc;

	out->n = 0;
	store_query(call->store, &q, id, in);
	while ((rc = store_next(&q, &row, sizeof(row), &call->arena, &call->fault)) > 0)
		ids_add(out, row.id);
	return rc;
}

static int check_tasks(struct check *c, const struct ids *ids)
{
	struct call *call = &c->show.call;
	struct task_view *views;
	char name[128];
	size_t n;
	int rc = view_tasks(call, ids_json(ids, 0, ids->n, &call->arena), &views, &n);

	for (size_t i = 0; rc >= 0 && i < n; i++) {
		render_task(&views[i], &c->show.page);
		task_file_name(views[i].row.number, views[i].row.slug, name);
		rc = mirror_verify_check_file(c, views[i].row.team_name, "tasks", name);
	}
	return rc;
}

static int mirror_verify_check_agents(struct check *c, const struct ids *ids)
{
	struct call *call = &c->show.call;
	struct agent_view *views;
	char name[128];
	size_t n;
	int rc = view_agents(call, ids_json(ids, 0, ids->n, &call->arena), &views, &n);

	for (size_t i = 0; rc >= 0 && i < n; i++) {
		if (views[i].row.gone || views[i].row.kind != AGENT_KIND_MEMBER)
			continue;
		render_card(&views[i], &c->show.page);
		snprintf(name, sizeof(name), "%.64s.json", views[i].row.name);
		rc = mirror_verify_check_file(c, views[i].row.team_name, "cards", name);
	}
	return rc;
}

static int check_living(struct check *c, struct team_view *team)
{
	struct board_view board;
	int rc;

	render_team(team, &c->show.page);
	if ((rc = mirror_verify_check_file(c, team->row.name, "", "TEAM.md")) < 0 ||
	    (rc = view_board(&c->show.call, &team->row, &board)) < 0)
		return rc;
	render_board(&board, &c->show.page);
	return mirror_verify_check_file(c, team->row.name, "tasks", "INDEX.md");
}

/* Reports the folder of a destroyed team, which should have been archived or purged. */
static int check_ended(struct check *c, const struct team_view *team)
{
	struct text *old = &c->show.files.old;
	char folder[FILES_PATH];
	int rc;

	team_folder(team->row.name, "", folder);
	rc = files_read(&c->show.files, folder, "TEAM.md", old, &c->show.call.fault);
	if (rc > 0 && page_number(old->data, old->len, "row: ") == team->row.id)
		mirror_verify_tell(c, folder, "TEAM.md", "of a destroyed team");
	return rc < 0 ? rc : 0;
}

static int check_teams(struct check *c, const struct ids *ids)
{
	struct team_view team;
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < ids->n; i++) {
		rc = view_team(&c->show.call, ids->v[i], &team);
		if (rc > 0)
			rc = team.row.destroyed_at ? check_ended(c, &team)
						   : check_living(c, &team);
	}
	return rc;
}

/* Checks all rows of one kind in groups of PAGE_ROWS. Each group has a separate read
 * transaction, since a long transaction would prevent checkpoints of the write-ahead log. */
static int mirror_verify_check_all(struct check *c, enum sql id,
				   int (*check)(struct check *c, const struct ids *ids))
{
	struct arena_mark mark = arena_mark(&c->show.call.arena);
	struct sql_mirror_team_ids_in page = { .limit = PAGE_ROWS };
	struct ids ids = { 0 };
	int rc;

	do {
		if ((rc = show_begin(&c->show, NULL)) < 0)
			break;
		rc = read_ids(c, id, &page, &ids);
		if (rc >= 0 && ids.n > 0)
			rc = check(c, &ids);
		show_end(&c->show);
		arena_reset(&c->show.call.arena, mark);
		page.after = ids.n ? ids.v[ids.n - 1] : 0;
	} while (rc >= 0 && ids.n > 0);
	ids_release(&ids);
	return rc;
}

/* Compares a page of messages with its file, unless the report already names the file. A day
 * with many messages is checked more than once. */
static int mirror_verify_check_mail(void *with, const char *team, const char *below,
				    const char *file)
{
	struct check *c = with;
	char line[FILES_PATH + 80];

	snprintf(line, sizeof(line), "teams/%s/%s/%s: ", team, below, file);
	if (c->report->data && strstr(c->report->data, line))
		return 0;
	return mirror_verify_check_file(c, team, below, file);
}

static int check_mail(struct check *c)
{
	int64_t row = 0;
	int rc;

	c->mail.check = mirror_verify_check_mail;
	c->mail.with = c;
	do {
		rc = mail_pass(&c->mail, &c->show, &row, PAGE_ROWS * 16);
	} while (rc >= 0 && row > 0);
	return rc;
}

_Static_assert(sizeof(struct sql_mirror_team_ids_in) ==
		       sizeof(struct sql_mirror_task_ids_in),
	       "after and limit");
_Static_assert(sizeof(struct sql_mirror_team_ids_in) ==
		       sizeof(struct sql_mirror_agent_ids_in),
	       "after and limit");

int mirror_verify(const struct home *home, struct store *store, struct text *report,
		  int *edited, struct fault *f)
{
	struct check c = { .show.call = { .store = store, .now = clock_wall_ms() },
			   .report = report };
	int rc;

	if (access(home->vault, F_OK) < 0) {
		text_addf(report, "%s: there is no vault yet\n", home->vault);
		return 1;
	}
	if ((rc = files_open(&c.show.files, home->vault, f)) < 0)
		return rc;
	if ((rc = mirror_verify_check_all(&c, sql_mirror_team_ids, check_teams)) >= 0 &&
	    (rc = mirror_verify_check_all(&c, sql_mirror_agent_ids,
					  mirror_verify_check_agents)) >= 0)
		rc = mirror_verify_check_all(&c, sql_mirror_task_ids, check_tasks);
	if (rc >= 0 && home->settings.config.vault_messages)
		rc = check_mail(&c);
	if (rc < 0)
		*f = f->code ? *f : c.show.call.fault;
	mail_release(&c.mail);
	show_release(&c.show);
	if (edited)
		*edited = c.edited;
	return rc < 0 ? rc : c.differences;
}
