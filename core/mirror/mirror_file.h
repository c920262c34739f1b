/*
 * mirror_file - placing files below the vault's root, durably, losing nothing
 * that a person typed.
 *
 * A new content is first written whole in the folder `.cadre-stage`, synced, then
 * exchanged with the file that it replaces; the file that came out is checked: if it is
 * as the mirror wrote it, a later content may overwrite it; otherwise it is kept beside
 * the new one as `NAME.conflict.md`.  Names in the stage tell their place, so that the
 * next process can settle all that a crash leaves there.  Paths are resolved below the
 * root and no symlink is followed; a symlink in the place of a mirror's folder is moved
 * aside.  As all of a state, files are 0600 and folders 0700; files and folders that
 * people made keep their modes.
 *
 * One process at a time does this; the holder of the mirror's lock.
 */
#ifndef CORE_MIRROR_MIRROR_FILE_H
#define CORE_MIRROR_MIRROR_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/vault/vault_page.h"

/*
 * Notices when somebody removes files that the mirror has placed, or saves one of
 * a card.
 *
 * inotify on the vault's root and on each folder that the mirror opens, so that nothing
 * is done while nobody does anything.  The mirror's own exchanges and an editor's way
 * to save show up too; an event counts only if a name that could be the mirror's is
 * gone when it is looked for; a card that was saved is one if the mirror did not write it.
 */

enum { LOSSES_PATH = 160, LOSSES_TEAM = 65 };

struct losses_place {
	int wd;
	char path[LOSSES_PATH]; /* "teams/TEAM/tasks" */
};

struct losses {
	int fd; /* inotify; -1: inotify cannot be had */
	int root; /* borrowed */
	struct losses_place *places; /* ascending by wd */
	int n_places, room;
	char (*teams)[LOSSES_TEAM]; /* teams that lost a file or folder, each once */
	int n_teams, teams_room;
	char (*edits)[LOSSES_PATH]; /* files of cards that were saved, each once */
	int n_edits, edits_room;
	bool all; /* losses are known to be, but not where */
	bool gone; /* the root itself was removed */
	bool partial; /* not every folder could be watched */
};

/* Begins to watch the folder open as `root`; never fails: without inotify it is
 * `partial`. */
void losses_open(struct losses *l, int root);
void losses_close(struct losses *l);

/* Watches the folder at `path` below the root, open as `fd`; watching it twice is
 * harmless. */
void losses_folder(struct losses *l, const char *path, int fd);

/* The folder FROM is TO now, and what is below it. */
void losses_moved(struct losses *l, const char *from, const char *to);

/* Reads what happened, and adds it to teams, all and gone. */
void losses_read(struct losses *l);
/* Notes that FOLDER/NAME was saved, if it is a card's file. */
void losses_edited(struct losses *l, const char *folder, const char *name);
/* Whether `teams` or `all` records a loss. */
bool losses_any(struct losses *l);
/* Empties `teams` and `all`. */
void losses_forget(struct losses *l);

enum { FILES_FOLDERS = 8, FILES_PATH = 160, FILES_SPARES = 2048, FILES_EXPECTED = 64 };
enum { FILES_TEXT = 16 << 20 }; /* a text that may be a card, at most */

struct files_folder {
	char path[FILES_PATH]; /* "teams/TEAM/tasks" */
	int fd;
};

/* Files that a person saved in place of the mirror's, or is saving, and files_put() leaves as they
 * are. */
enum files_spare {
	SPARE_NOTHING,
	SPARE_TEXTS, /* what may be a card: see files_is_text() */
	SPARE_ALL,
};

struct files {
	const char *root_path;
	int root, stage; /* descriptors */
	struct files_folder folders[FILES_FOLDERS]; /* open ones; fd -1: none */
	unsigned turn; /* index in `folders` of the one that is closed next */
	uint64_t serial; /* of the next name in the stage */
	struct staged *staged; /* written and not yet placed */
	size_t n_staged, staged_room;
	/* Numbers of files in the stage that a new content may overwrite: `spares` now,
	 * `freed` after the next sync. */
	uint64_t spares[FILES_SPARES], freed[FILES_SPARES];
	size_t n_spares, n_freed;
	struct text old, new; /* scratch */
	struct losses *losses; /* of the folders, borrowed; NULL: none */
	uint64_t expected
		[FILES_EXPECTED]; /* hashes of edits that are on their way into rows */
	unsigned expected_turn;
	enum files_spare spare;
	bool left; /* a file in the stage is still open for writing elsewhere */
	const char *
		attic; /* folder elsewhere, for files that are removed, borrowed; NULL: they go */
	bool made; /* a folder was made or moved since the last sync */
	int64_t placed, kept; /* files written; conflicts kept: since opening */
	char moved[2 * FILES_PATH + 16]; /* the last place to which files_move() moved a
					    folder; "": no move yet */
};

/* Makes the root and the stage where they are missing. */
int files_open(struct files *fs, const char *root, struct fault *f);
void files_close(struct files *fs); /* of a zeroed struct too */

/* Settles what an earlier process, or files_commit(), left in the stage. */
int files_settle(struct files *fs, struct fault *f);

/* Stages `page` for FOLDER/NAME unless the file shows it already: 1, or 0. */
int files_put(struct files *fs, const char *folder, const char *name,
	      const struct page *page, int64_t rev, struct fault *f);

/* Stages `text` for FOLDER/NAME, which holds a person's text that was just read into fs->old and is
 * not kept: 1 or negative. */
int files_replace(struct files *fs, const char *folder, const char *name,
		  const struct text *text, struct fault *f);
/* Removes what replaced files have left in the stage. */
void files_drop_spares(struct files *fs);

/* Whether `file` may be a card that a person saved: text, and not too large. */
bool files_is_text(const struct text *file);
/* Whether another process has FOLDER/NAME open for writing, so that the file may be
 * incomplete. */
bool files_open_elsewhere(struct files *fs, const char *folder, const char *name);
/* Whether a person wrote `file`; an empty file was left by a crash. */
bool files_is_edit(const struct text *file);
/* Whether a person wrote `file`, and its text is not on the way into rows. */
bool files_edited(const struct files *fs, const struct text *file);
/* An edit is on its way into rows, so no conflict is kept where the mirror replaces it; or is so
 * no longer. */
void files_expect(struct files *fs, const struct text *file);
void files_unexpect(struct files *fs, const struct text *file);

/* Removes a file of the mirror, unless a person edited it.  0 or negative. */
int files_drop(struct files *fs, const char *folder, const char *name, struct fault *f);

/* Places what is staged.  When it returns, all of it is on the disk. */
int files_commit(struct files *fs, struct fault *f);

/* Reads FOLDER/NAME into `out`: 1, 0 if there is no such file, negative. */
int files_read(struct files *fs, const char *folder, const char *name, struct text *out,
	       struct fault *f);

/* Overwrites the first line of a file in the root, without a sync: a crash may leave the
 * older line.  Readers must look at the first line only.  0 or negative. */
int files_note(struct files *fs, const char *name, const char *text, struct fault *f);

/* Whether anything has this path. */
bool files_there(struct files *fs, const char *path);
/* Whether it is a folder, and no link to one. */
bool files_is_folder(struct files *fs, const char *path);

/* Renames folder FROM to TO, or to TO-2, TO-3, … when that is taken. */
int files_move(struct files *fs, const char *from, const char *to, struct fault *f);

/* Opens a folder and everything below it to the owner, and to nobody else, so that its contents
 * are found before the folder goes.  0 or negative. */
int files_open_up(struct files *fs, const char *folder, struct fault *f);

/* Removes a folder and its contents. */
int files_purge(struct files *fs, const char *folder, struct fault *f);

/* Calls `each` for every name in a folder: 0, or the first result of `each` other than 0.
 * A folder that is not there is empty. */
int files_list(struct files *fs, const char *folder,
	       int (*each)(void *with, const char *name), void *with, struct fault *f);

/* Closes the open folders: their names may belong to other folders by now. */
void files_forget(struct files *fs);

/*
 * Paths and descriptors below the vault's root.
 */

/* A fault from errno; `what` names the action on `path`. */
int files_fault(struct fault *f, const char *what, const char *path);

/* openat2() that neither leaves `root` nor follows a symlink. */
int files_open_below(int root, const char *path, int flags);

/* file_keep() that is counted. */
int files_keep(struct files *fs, int from, const char *name, int dir, const char *file);

/* Keeps FOLDER/NAME, if it is there, beside its place as a conflict: 0 or negative. */
int files_set_aside(struct files *fs, const char *folder, const char *name,
		    struct fault *f);

/* Opens (and if `make`, makes) a folder: its descriptor, borrowed until another folder is
 * asked for, or -1 with errno, ENOENT for a missing one. */
int files_folder(struct files *fs, const char *path, bool make);

/* Writes a new file, or overwrites one: whole or not at all, except in a crash.  0, or -1
 * with errno. */
int files_write(int dir, const char *name, const struct text *text, bool sync);

/* files_list() of a folder that is open. */
int files_list_open(int fd, int (*each)(void *with, const char *name), void *with);

#endif
