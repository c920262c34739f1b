/* mirror_renamed - moves the folder of a team that was renamed. */
#include <string.h>

#include "core/mirror/mirror_show.h"

/* Ends a team that is over and whose folder stands where another one's shall. */
static int make_room(struct mirror_show *s, int64_t team)
{
	struct mirror_team_row row;
	int rc = show_begin(s, NULL);

	if (rc < 0)
		return rc;
	rc = sql_row(&s->call, mirror_team, &row, .id = team);
	show_end(s);
	return rc > 0 && row.destroyed_at ? show_end_team(s, &row) : rc;
}

int show_renamed(struct mirror_show *s, int64_t team, const char *was)
{
	char from[FILES_PATH], to[FILES_PATH];
	struct mirror_team_row row;
	int64_t has, there;
	int rc = show_begin(s, NULL);

	if (rc < 0)
		return rc;
	rc = sql_row(&s->call, mirror_team, &row, .id = team);
	show_end(s);
	if (rc <= 0 || strcmp(row.name, was) == 0)
		return rc;
	if ((has = team_folder_row(s, was)) != team)
		return has < 0 ? (int)has : 0;
	team_folder(was, "", from);
	team_folder(row.name, "", to);
	there = team_folder_row(s, row.name);
	if (there < 0 || (there > 0 && there != team && make_room(s, there) < 0))
		return s->call.fault.code;
	if (files_there(&s->files, to) &&
	    (rc = show_archive(s, row.name, s->call.now)) < 0)
		return rc;
	return files_move(&s->files, from, to, &s->call.fault);
}
