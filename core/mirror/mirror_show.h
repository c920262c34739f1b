/*
 * mirror_show - writes each row to its file.
 *
 * Every function reads in a transaction of its own and stages files; the files are in place and
 * durable after files_commit(). Failures are in show->call.fault.
 */
#ifndef CORE_MIRROR_MIRROR_SHOW_H
#define CORE_MIRROR_MIRROR_SHOW_H

#include "core/mirror/mirror_file.h"
#include "core/mirror/mirror_render.h"

struct mirror_show {
	struct files files;
	struct call call; /* store, arena, fault, now */
	struct page page; /* scratch */
	int64_t rev; /* newest event of the running transaction */
	bool ahead; /* folders are moved before rows are read: see show_begin() */
	int64_t moved; /* event up to which folders of renamed teams were moved */
	bool over_texts; /* show_agents() also replaces files that a person saved */
	struct ids sweep; /* teams whose folders may hold files without a row */
	struct mirror_aside *aside; /* borrowed; NULL: not wanted */
};

/* Begins a read transaction and finds the newest event that the transaction sees: 0 or
 * negative. If `ahead` is set, the function first makes each team's folder have the name in the
 * team's row: a folder whose team was renamed since `moved` is moved first, with the folder's
 * staged files. Without this, the first file for the new name would make a second folder. */
int show_begin(struct mirror_show *s, struct mirror_head_row *head);
void show_end(struct mirror_show *s);

/* Write the files of these tasks or agents: 0 or negative. A card that a person saved stays
 * until its text is accepted or refused. */
int show_tasks(struct mirror_show *s, const struct ids *tasks);
int show_agents(struct mirror_show *s, const struct ids *agents);

/* Shows a team's TEAM.md; the folder of a destroyed team is archived or purged. */
int show_team(struct mirror_show *s, int64_t team);

/* Moves a renamed team's folder from its old name to the team's present name. Does nothing if
 * the folder was moved already, or is not the team's. A folder already at the new name is
 * archived. */
int show_renamed(struct mirror_show *s, int64_t team, const char *was);

/* Moves every folder that has another name than its living team to the team's name, as
 * show_renamed() does. A folder in the archive is moved too if its team lives again. This is
 * needed since after a restore, no event tells of the changes since the backup. The team of a
 * folder is found by the row and the time in the folder's TEAM.md. */
int show_find_renamed(struct mirror_show *s);

/* Shows TEAM.md and INDEX.md of a living team. */
int show_summary(struct mirror_show *s, int64_t team);

/* Removes the files of the mirror in a team's folders that no row needs. */
int show_sweep_team(struct mirror_show *s, int64_t team);

/* Writes the files that are missing in a living team's folders, with at most `most` files of
 * tasks. Returns 1 if more files are missing, else 0, or negative. */
int show_complete_team(struct mirror_show *s, const char *name, size_t most);

/* Archives folders that the mirror made for teams that have no row any more. */
int show_sweep_folders(struct mirror_show *s);

/* Paths: "teams/TEAM", "teams/TEAM/tasks", "teams/TEAM/cards". */
void team_folder(const char *team, const char *below, char out[FILES_PATH]);

/* The row of the team that the folder "teams/NAME" belongs to, as its TEAM.md says: 0 if the
 * folder has no TEAM.md, negative on failure. */
int64_t team_folder_row(struct mirror_show *s, const char *team);

/* Frees the memory of the show. */
void show_release(struct mirror_show *s);

#endif
