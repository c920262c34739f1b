/*
 * mirror_show - writes each row to its file.
 *
 * Each function that shows rows reads them in a separate transaction, and stages files.
 * files_commit() puts the staged files in place and makes them durable. Failures are stored in
 * show->call.fault.
 */
#ifndef CORE_MIRROR_MIRROR_SHOW_H
#define CORE_MIRROR_MIRROR_SHOW_H

#include "core/mirror/mirror_file.h"
#include "core/mirror/mirror_render.h"

struct mirror_show {
	struct files files;
	struct call call; /* only store, arena, fault, now and settings are used */
	struct page page; /* scratch */
	int64_t rev; /* newest event of the running transaction */
	bool ahead; /* show_begin() moves the folders of renamed teams */
	int64_t moved; /* event up to which the folders of renamed teams were moved */
	bool over_texts; /* show_agents() also replaces files that a person saved */
	struct ids sweep; /* teams whose folders may hold files without a row */
	struct mirror_aside *aside; /* receives the moved folders; borrowed, or NULL */
};

/* Begins a read transaction, and finds the newest event that the transaction sees. If `ahead`
 * is set, first moves the folders of all teams that were renamed since `moved`. Files that are
 * staged for these folders move too. Without the move, the first file for a team's new name
 * would make a second folder. Returns 0 or a negative fault code. */
int show_begin(struct mirror_show *s, struct mirror_head_row *head);
void show_end(struct mirror_show *s);

/* Stage the files of these tasks or agents. Return 0 or a negative fault code. A card that a
 * person saved stays until its text is accepted or refused. */
int show_tasks(struct mirror_show *s, const struct ids *tasks);
int show_agents(struct mirror_show *s, const struct ids *agents);

/* Stages a team's TEAM.md. The folder of a destroyed team is archived or purged. */
int show_team(struct mirror_show *s, int64_t team);

/* Moves the folder `was` of a renamed team to the team's present name. Does nothing if the
 * folder was already moved, or belongs to another team. If another folder has the present name,
 * the other folder is first moved away. */
int show_renamed(struct mirror_show *s, int64_t team, const char *was);

/* Moves each living team's folder to the team's name, if the folder has another name. An
 * archived folder is moved too if its team exists again. The moves are needed after a restore,
 * because no event reports the changes since the backup. The row and the time in the folder's
 * TEAM.md identify the folder's team. */
int show_find_renamed(struct mirror_show *s);

/* Stages TEAM.md and INDEX.md of a living team. */
int show_summary(struct mirror_show *s, int64_t team);

/* Removes from a team's folders the files that the mirror wrote and that no row needs. */
int show_sweep_team(struct mirror_show *s, int64_t team);

/* Writes the files that are missing in a living team's folders, with at most `most` files of
 * tasks. Returns 1 if more files are missing, 0 if no more files are missing, or a fault code. */
int show_complete_team(struct mirror_show *s, const char *name, size_t most);

/* Archives the folders that the mirror made for teams that no longer exist. */
int show_sweep_folders(struct mirror_show *s);

/* Writes a path such as "teams/TEAM", "teams/TEAM/tasks" or "teams/TEAM/cards". */
void team_folder(const char *team, const char *below, char out[FILES_PATH]);

/* Returns the row of the team that TEAM.md names in the folder teams/TEAM. Returns 0 if the
 * folder has no TEAM.md, or a negative fault code on failure. */
int64_t team_folder_row(struct mirror_show *s, const char *team);

/* Frees the memory of `s`, and closes its files. */
void show_release(struct mirror_show *s);

#endif
