/* mirror_renamed - moves the folder of a team that was renamed. */
#include <inttypes.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/mirror/mirror_show.h"

/* The name of the folder in which a living team waits for its own. */
static const char *aside(struct mirror_show *s, int64_t team)
{
	return arena_printf(&s->call.arena, ".moving-%" PRId64, team);
}

static int mirror_renamed_move_folder(struct mirror_show *s, const char *from,
				      const char *to)
{
	char path[FILES_PATH];

	team_folder(to, "", path);
	return show_move(s, from, path, to);
}

/* Makes room at `name`, where another folder stands, for a team whose folder is still
 * called `was`.  The folder of an ended team is archived or purged.  A living team was
 * renamed too, so its folder steps aside.  The folder of a team without a row is archived;
 * people's files in a folder of no team join the folder `was`.  1 if a team stepped aside,
 * else 0, or negative. */
static int mirror_renamed_make_room(struct mirror_show *s, const char *name,
				    int64_t there, const char *was)
{
	char folder[FILES_PATH];
	struct mirror_team_row row;
	int rc = there ? show_read_team(s, there, &row) : 0;

	/* A living team whose own folder is in its place has a copy here, which a person
	 * made. */
	if (rc > 0 && !row.destroyed_at && strcmp(row.name, name) != 0 &&
	    team_folder_row(s, row.name) == there) {
		rc = show_archive(s, name, s->call.now);
		return rc < 0 ? rc : 0;
	}
	if (rc > 0 && !row.destroyed_at) {
		rc = mirror_renamed_move_folder(s, name, aside(s, there));
		return rc < 0 ? rc : 1;
	}
	if (rc > 0)
		rc = show_end_team(s, &row);
	team_folder(name, "", folder);
	if (rc < 0 || !files_there(&s->files, folder))
		return rc < 0 ? rc : 0;
	rc = there || !files_is_folder(&s->files, folder)
		     ? show_archive(s, name, s->call.now)
		     : show_join(s, name, was);
	return rc < 0 ? rc : 0;
}

/* A team that stepped aside is looked for there, also after a crash. */
int show_renamed(struct mirror_show *s, int64_t team, const char *was)
{
	struct mirror_team_row row;
	int64_t has, there;
	int rc = show_read_team(s, team, &row);

	if (rc <= 0 || strcmp(row.name, was) == 0)
		return rc;
	if ((has = team_folder_row(s, was)) >= 0 && has != team)
		has = team_folder_row(s, was = aside(s, team));
	if (has != team)
		return has < 0 ? (int)has : 0;
	if ((there = team_folder_row(s, row.name)) < 0)
		return (int)there;
	if (there == team) /* a person put it there, or it came twice */
		rc = show_archive(s, row.name, s->call.now);
	else
		rc = mirror_renamed_make_room(s, row.name, there, was);
	if (rc < 0)
		return rc;
	if (mirror_renamed_move_folder(s, was, row.name) < 0)
		return s->call.fault.code;
	return rc ? show_renamed(s, there, aside(s, there)) : 0;
}

/* --- names that no event tells ------------------------------------------------------------ */

struct folder_names {
	struct arena *arena;
	const char *below; /* of teams/ */
	const char **v;
	size_t n;
};

enum { NAME_MOST = 90 }; /* of a folder below teams/, as team_folder() takes it */

static int add_folder(void *with, const char *name)
{
	struct folder_names *names = with;

	if (strlen(names->below) + strlen(name) <= NAME_MOST)
		*(const char **)arena_push(names->arena, &names->v, &names->n,
					   sizeof(*names->v)) =
			arena_printf(names->arena, "%s%s", names->below, name);
	return 0;
}

/* Whether the page of a folder, which team_folder_row() has just read, is about the team of
 * `row`.  Another state's team may have had that number. */
static bool tells_of(struct mirror_show *s, const struct mirror_team_row *row)
{
	const struct text *page = &s->files.old;
	char made[25];

	time_format(row->created_at, made);
	return page_says(page->data, page->len,
			 arena_printf(&s->call.arena, "created_at: \"%s\"", made));
}

/* Whether that page was written for a folder of this name: one in a copy was not.  In the
 * archive it tells of the team's end. */
static bool is_written_for(struct mirror_show *s, const char *name)
{
	const struct text *page = &s->files.old;

	if (strchr(name, '/'))
		return page_says(page->data, page->len, "state: destroyed");
	return page_says(page->data, page->len,
			 arena_printf(&s->call.arena, "team: \"%s\"", name));
}

static int find_renamed(struct mirror_show *s, const char *name, bool copies)
{
	int64_t team = team_folder_row(s, name);
	struct mirror_team_row row;
	int rc = team > 0 ? show_read_team(s, team, &row) : (int)team;

	if (rc <= 0 || row.destroyed_at || strcmp(row.name, name) == 0 ||
	    !tells_of(s, &row) || (!copies && !is_written_for(s, name)))
		return rc;
	if ((team = team_folder_row(s, row.name)) < 0)
		return (int)team;
	return team == row.id ? 0 : show_renamed(s, row.id, name);
}

static int mirror_renamed_find_in(struct mirror_show *s, const char *folder,
				  const char *below, bool copies)
{
	struct folder_names names = { .arena = &s->call.arena, .below = below };
	int rc = files_list(&s->files, folder, add_folder, &names, &s->call.fault);

	for (size_t i = 0; rc >= 0 && i < names.n; i++)
		rc = find_renamed(s, names.v[i], copies);
	return rc;
}

int show_find_renamed(struct mirror_show *s)
{
	struct arena_mark mark = arena_mark(&s->call.arena);
	int rc = mirror_renamed_find_in(s, "teams", "", false);

	if (rc >= 0)
		rc = mirror_renamed_find_in(s, "teams", "", true);
	if (rc >= 0)
		rc = mirror_renamed_find_in(s, "teams/.archive", ".archive/", false);
	arena_reset(&s->call.arena, mark);
	return rc < 0 ? rc : 0;
}
