/*
 * mirror_file - placing files below the vault's root, durably, losing nothing that a person
 * typed.
 *
 * A new content is first written whole in the folder `.cadre-stage`, and synced. It is then
 * exchanged with the file that it replaces, and the replaced file is checked. If that file is
 * as the mirror wrote it, a later content may overwrite it; otherwise it is kept beside the new
 * file as `NAME.conflict.md`. The name of a file in the stage tells the file's place, so that
 * after a crash the next process can settle every file in the stage.
 *
 * Paths are resolved below the root, and no symlink is followed; a symlink in the place of a
 * mirror's folder is moved aside. As everywhere in a state, files are 0600 and folders 0700;
 * files and folders that people made keep their modes.
 *
 * One process at a time places files: the holder of the mirror's lock.
 */
#ifndef CORE_MIRROR_MIRROR_FILE_H
#define CORE_MIRROR_MIRROR_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/vault/vault_page.h"

/*
 * Notices when somebody removes files that the mirror has placed, or saves the file of a card.
 *
 * inotify watches the vault's root and each folder that the mirror opens, so no work is done
 * while nobody changes a file. inotify also reports the mirror's own exchanges and an editor's
 * way to save. So a removal counts only if the name could be a file of the mirror, and no such
 * file exists when the event is handled. A saved card counts only if the mirror did not write
 * the text.
 */

enum { LOSSES_PATH = 160, LOSSES_TEAM = 65 };

struct losses_place {
	int wd;
	char path[LOSSES_PATH]; /* "teams/TEAM/tasks" */
};

struct losses {
	int fd; /* inotify; -1: inotify is not available */
	int root; /* borrowed */
	struct losses_place *places; /* ascending by wd */
	int n_places, room;
	char (*teams)[LOSSES_TEAM]; /* teams that lost a file or folder, each once */
	int n_teams, teams_room;
	char (*edits)[LOSSES_PATH]; /* files of cards that were saved, each once */
	int n_edits, edits_room;
	bool all; /* something was lost, at an unknown place */
	bool gone; /* the root itself was removed */
	bool partial; /* not every folder could be watched */
};

/* Begins to watch the folder that is open as `root`. Never fails: without inotify it sets
 * `partial`. */
void losses_open(struct losses *l, int root);
void losses_close(struct losses *l);

/* Watches the folder at `path` below the root, which is open as `fd`. To watch a folder twice
 * is harmless. */
void losses_folder(struct losses *l, const char *path, int fd);

/* Notes that the folder FROM, with all folders below, was renamed to TO. */
void losses_moved(struct losses *l, const char *from, const char *to);

/* Reads the events of inotify, and updates teams, all and gone. */
void losses_read(struct losses *l);
/* Notes that FOLDER/NAME was saved, if it is a card's file. */
void losses_edited(struct losses *l, const char *folder, const char *name);
/* Whether `teams` or `all` records a loss. */
bool losses_any(struct losses *l);
/* Empties `teams` and `all`. */
void losses_forget(struct losses *l);

enum { FILES_FOLDERS = 8, FILES_PATH = 160, FILES_SPARES = 2048, FILES_EXPECTED = 64 };
enum { FILES_TEXT = 16 << 20 }; /* the most bytes of a text that may be a card */

struct files_folder {
	char path[FILES_PATH]; /* "teams/TEAM/tasks" */
	int fd;
};

/* Which files a person saved, or is saving, in the place of the mirror's files, and files_put()
 * does not replace. */
enum files_spare {
	SPARE_NOTHING,
	SPARE_TEXTS, /* texts that may be a card: see files_is_text() */
	SPARE_ALL,
};

struct files {
	const char *root_path;
	int root, stage; /* descriptors */
	struct files_folder folders[FILES_FOLDERS]; /* open folders; fd -1: unused */
	unsigned turn; /* index in `folders` of the folder to close next */
	uint64_t serial; /* number of the next name in the stage */
	struct staged *staged; /* contents that are written and not yet placed */
	size_t n_staged, staged_room;
	/* Numbers of files in the stage that a new content may overwrite: `spares` now,
	 * `freed` after the next sync. */
	uint64_t spares[FILES_SPARES], freed[FILES_SPARES];
	size_t n_spares, n_freed;
	struct text old, new; /* scratch */
	struct losses *losses; /* watches the folders; borrowed, or NULL */
	uint64_t expected[FILES_EXPECTED]; /* hashes of edits that will become rows */
	unsigned expected_turn;
	enum files_spare spare;
	bool left; /* another process is still writing a file in the stage */
	const char *attic; /* folder for removed files, borrowed; NULL: they are deleted */
	bool made; /* a folder was made or moved since the last sync */
	int64_t placed, kept; /* files written; conflicts kept: since opening */
	char moved[2 * FILES_PATH + 16]; /* the last place to which files_move() moved a
					    folder; "": no move yet */
};

/* Makes the root and the stage if they are missing. */
int files_open(struct files *fs, const char *root, struct fault *f);
void files_close(struct files *fs); /* also takes a zeroed struct */

/* Settles the files that an earlier process, or files_commit(), left in the stage. */
int files_settle(struct files *fs, struct fault *f);

/* Stages `page` for FOLDER/NAME and returns 1; returns 0 if the file has this text already. */
int files_put(struct files *fs, const char *folder, const char *name,
	      const struct page *page, int64_t rev, struct fault *f);

/* Stages `text` for FOLDER/NAME, 1 or negative. The file holds a person's text, which was just
 * read into fs->old and is not kept. */
int files_replace(struct files *fs, const char *folder, const char *name,
		  const struct text *text, struct fault *f);
/* Removes the replaced files that are still in the stage. */
void files_drop_spares(struct files *fs);

/* Whether `file` may be a card that a person saved: text, and not too large. */
bool files_is_text(const struct text *file);
/* Whether another process has FOLDER/NAME open for writing, so that the file may be
 * incomplete. */
bool files_open_elsewhere(struct files *fs, const char *folder, const char *name);
/* Whether a person wrote `file`; an empty file counts as left by a crash. */
bool files_is_edit(const struct text *file);
/* Whether a person wrote `file`, and its text is not an expected edit. */
bool files_edited(const struct files *fs, const struct text *file);
/* Marks an edit as expected: its text is about to be stored in rows, so the mirror may replace
 * the file without keeping a conflict. The other function takes the mark away. */
void files_expect(struct files *fs, const struct text *file);
void files_unexpect(struct files *fs, const struct text *file);

/* Removes a file of the mirror, unless a person edited it.  0 or negative. */
int files_drop(struct files *fs, const char *folder, const char *name, struct fault *f);

/* Places what is staged. When the function returns, all placed files are on the disk. */
int files_commit(struct files *fs, struct fault *f);

/* Reads FOLDER/NAME into `out`: 1, 0 if there is no such file, negative. */
int files_read(struct files *fs, const char *folder, const char *name, struct text *out,
	       struct fault *f);

/* Overwrites the first line of a file in the root, without a sync: a crash may leave the
 * older line.  Readers must look at the first line only.  0 or negative. */
int files_note(struct files *fs, const char *name, const char *text, struct fault *f);

/* Whether a file or folder has this path. */
bool files_there(struct files *fs, const char *path);
/* Whether the path names a folder itself, not a link to a folder. */
bool files_is_folder(struct files *fs, const char *path);

/* Renames folder FROM to TO, or to TO-2, TO-3, … if TO is taken. */
int files_move(struct files *fs, const char *from, const char *to, struct fault *f);

/* Gives the owner, and nobody else, access to a folder and everything below, so that all
 * contents are found before the folder is removed. 0 or negative. */
int files_open_up(struct files *fs, const char *folder, struct fault *f);

/* Removes a folder and its contents. */
int files_purge(struct files *fs, const char *folder, struct fault *f);

/* Calls `each` for every name in a folder: 0, or the first result of `each` other than 0.
 * A folder that is not there is empty. */
int files_list(struct files *fs, const char *folder,
	       int (*each)(void *with, const char *name), void *with, struct fault *f);

/* Closes the open folders: other folders may have their names now. */
void files_forget(struct files *fs);

/*
 * Paths and descriptors below the vault's root.
 */

/* A fault from errno; `what` names the action on `path`. */
int files_fault(struct fault *f, const char *what, const char *path);

/* openat2() that neither leaves `root` nor follows a symlink. */
int files_open_below(int root, const char *path, int flags);

/* As file_keep(), and counts the kept file. */
int files_keep(struct files *fs, int from, const char *name, int dir, const char *file);

/* Renames FOLDER/NAME, if it exists, to a conflict's name beside its place: 0 or negative. */
int files_set_aside(struct files *fs, const char *folder, const char *name,
		    struct fault *f);

/* Opens a folder, and makes it first if `make`. Returns the folder's descriptor, which is
 * borrowed until the next call of this function; or -1 with errno, which is ENOENT for a
 * missing folder. */
int files_folder(struct files *fs, const char *path, bool make);

/* Writes a new file, or overwrites one: writes all of the text or nothing, except in a crash.
 * 0, or -1 with errno. */
int files_write(int dir, const char *name, const struct text *text, bool sync);

/* files_list() of a folder that is open. */
int files_list_open(int fd, int (*each)(void *with, const char *name), void *with);

#endif
