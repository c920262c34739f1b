/*
 * mirror_file - places files below the vault's root durably, without losing a person's text.
 *
 * New contents are first written to a file in the folder `.cadre-stage`, and synced. The new
 * file is then exchanged with the file in its place, and the replaced file is checked. If the
 * replaced file is still as the mirror wrote it, later contents may overwrite the replaced
 * file. Any other replaced file is kept beside the new file under a name such as
 * `NAME.conflict.md`. The name of a file in the stage contains the file's place. After a crash,
 * the next process can therefore remove or keep every file in the stage.
 *
 * Paths are resolved below the root, and no symlink is followed. A symlink in the place of a
 * mirror's folder is moved aside. As everywhere in a state, files have the mode 0600 and
 * folders have the mode 0700. Files and folders that people made keep their modes.
 *
 * Only one process at a time, the holder of the mirror's lock, places files.
 */
#ifndef CORE_MIRROR_MIRROR_FILE_H
#define CORE_MIRROR_MIRROR_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/vault/vault_page.h"

/*
 * Detects that somebody removed files that the mirror has placed, or saved the file of a card.
 *
 * inotify watches the vault's root and each folder that the mirror opens, so there is no work
 * until somebody changes a file. inotify also reports the mirror's own file exchanges, and the
 * renames by which editors save a file. A removal counts only if the name could be a file of
 * the mirror, and if no file of this name exists when the event is handled. A saved card counts
 * only if the mirror did not write the text.
 */

enum { LOSSES_PATH = 160, LOSSES_TEAM = 65 };

struct losses_place {
	int wd;
	char path[LOSSES_PATH]; /* "teams/TEAM/tasks" */
};

struct losses {
	int fd; /* descriptor of inotify, or -1 if inotify is not available */
	int root; /* descriptor of the vault's root, borrowed */
	struct losses_place *places; /* watched folders, sorted by `wd` */
	int n_places, room;
	char (*teams)[LOSSES_TEAM]; /* teams that lost a file or folder, without
				       duplicates */
	int n_teams, teams_room;
	char (*edits)[LOSSES_PATH]; /* files of cards that were saved, without
				       duplicates */
	int n_edits, edits_room;
	bool all; /* files were lost at an unknown place */
	bool gone; /* the vault's root was removed */
	bool partial; /* some folders could not be watched */
};

/* Begins to watch the folder that is open as `root`. Never fails, but sets l->partial if
 * inotify is not available. */
void losses_open(struct losses *l, int root);
void losses_close(struct losses *l);

/* Watches the folder `path` below the root. `fd` is the folder's descriptor. The call may be
 * repeated for the same folder. */
void losses_folder(struct losses *l, const char *path, int fd);

/* Replaces FROM by TO in the paths of watched folders, after the folder FROM was renamed. */
void losses_moved(struct losses *l, const char *from, const char *to);

/* Reads the events of inotify, and updates `teams`, `edits`, `all` and `gone`. */
void losses_read(struct losses *l);
/* Adds the file FOLDER/NAME to `edits` if the name is a card's file. */
void losses_edited(struct losses *l, const char *folder, const char *name);
/* Whether files were lost, or the root was removed. */
bool losses_any(struct losses *l);
/* Empties `teams` and `all`. */
void losses_forget(struct losses *l);

enum { FILES_FOLDERS = 8, FILES_PATH = 160, FILES_SPARES = 2048, FILES_EXPECTED = 64 };
enum { FILES_TEXT = 16 << 20 }; /* maximum size in bytes of a text that may be a card */

struct files_folder {
	char path[FILES_PATH]; /* "teams/TEAM/tasks" */
	int fd;
};

/* A person may have written a file under the name of a mirror file. The value says which files
 * of this kind files_put() does not replace. */
enum files_spare {
	SPARE_NOTHING,
	SPARE_TEXTS, /* texts that may be a card, see files_is_text() */
	SPARE_ALL,
};

struct files {
	const char *root_path;
	int root, stage; /* descriptors of the vault's root and of `.cadre-stage` */
	struct files_folder folders[FILES_FOLDERS]; /* open folders; unused entries have
						       the fd -1 */
	unsigned turn; /* index in `folders` of the folder to close next */
	uint64_t serial; /* number in the name of the next file in the stage */
	struct staged *staged; /* files in the stage that are written and not yet
				  placed */
	size_t n_staged, staged_room;
	/* Numbers of files in the stage that new contents may overwrite. Files in `spares` may
	 * be overwritten now, and files in `freed` may be overwritten after the next sync. */
	uint64_t spares[FILES_SPARES], freed[FILES_SPARES];
	size_t n_spares, n_freed;
	struct text old, new; /* scratch: the text that was read, and the text to write */
	struct losses *losses; /* watcher of the folders, borrowed, or NULL */
	uint64_t expected[FILES_EXPECTED]; /* hashes of edits that will become rows */
	unsigned expected_turn;
	enum files_spare spare;
	bool left; /* files in the stage wait for files_settle() */
	const char *attic; /* folder for removed files, borrowed, or NULL to delete
			      them */
	bool made; /* a folder was made or moved since the last sync */
	int64_t placed, kept; /* numbers of placed files and of kept conflicts since
				 files_open() */
	char moved[2 * FILES_PATH + 16]; /* the new path of the folder that the last call
					    of files_move() moved; "" if it moved none */
};

/* Opens the vault's root and the stage, and makes them if they are missing. */
int files_open(struct files *fs, const char *root, struct fault *f);
void files_close(struct files *fs); /* `fs` may be zeroed */

/* Removes the files that an earlier process, or files_commit(), left in the stage. If a file
 * has a person's text, the file is kept as a conflict. */
int files_settle(struct files *fs, struct fault *f);

/* Stages `page` for FOLDER/NAME. Returns 1 if the page was staged, 0 if the file stays, or a
 * fault code. The file stays if it already has the page's text, or if fs->spare protects the
 * file. */
int files_put(struct files *fs, const char *folder, const char *name,
	      const struct page *page, int64_t rev, struct fault *f);

/* Stages `text` for FOLDER/NAME. Returns 1 or a negative fault code. The caller has just read a
 * person's text from FOLDER/NAME into fs->old. The person's text is not kept. */
int files_replace(struct files *fs, const char *folder, const char *name,
		  const struct text *text, struct fault *f);
/* Removes the replaced files that were kept in the stage so that later contents could overwrite
 * them. */
void files_drop_spares(struct files *fs);

/* Whether `file` may be a card that a person saved, because it is text and not too large. */
bool files_is_text(const struct text *file);
/* Whether another process has FOLDER/NAME open for writing, so that the file may be
 * incomplete. */
bool files_open_elsewhere(struct files *fs, const char *folder, const char *name);
/* Whether a person wrote `file`. An empty file is treated as the result of a crash. */
bool files_is_edit(const struct text *file);
/* Whether a person wrote `file`, and the file's text is not an expected edit. */
bool files_edited(const struct files *fs, const struct text *file);
/* files_expect() marks an edit whose text is about to be stored in rows. The mirror may replace
 * a marked edit without keeping a conflict. files_unexpect() removes the mark. */
void files_expect(struct files *fs, const struct text *file);
void files_unexpect(struct files *fs, const struct text *file);

/* Removes a file of the mirror. If a person edited the file, the file is kept as a conflict.
 * Returns 0 or a negative fault code. */
int files_drop(struct files *fs, const char *folder, const char *name, struct fault *f);

/* Places the staged files. When the function returns 0, all placed files are on the disk. */
int files_commit(struct files *fs, struct fault *f);

/* Reads FOLDER/NAME into `out`. Returns 1 if the file was read, 0 if there is no such file, or
 * a fault code. */
int files_read(struct files *fs, const char *folder, const char *name, struct text *out,
	       struct fault *f);

/* Overwrites the first line of a file in the root, without a sync. After a crash, the file may
 * have its older line. Readers must read only the first line. Returns 0 or a negative fault
 * code. */
int files_note(struct files *fs, const char *name, const char *text, struct fault *f);

/* Whether a file or folder has this path. */
bool files_there(struct files *fs, const char *path);
/* Whether the path names a folder itself, not a link to a folder. */
bool files_is_folder(struct files *fs, const char *path);

/* Renames folder FROM to TO, or to TO-2, TO-3, … if TO is taken. */
int files_move(struct files *fs, const char *from, const char *to, struct fault *f);

/* Gives the owner, and nobody else, access to a folder and all its contents. Without this
 * access, a search for a person's files before the folder's removal might miss some files.
 * Returns 0 or a negative fault code. */
int files_open_up(struct files *fs, const char *folder, struct fault *f);

/* Removes a folder and its contents. Hidden files stay, and each folder that holds a hidden
 * file at any depth stays, too. */
int files_purge(struct files *fs, const char *folder, struct fault *f);

/* Calls `each` for every name in a folder. Returns 0, or the first result of `each` other than
 * 0. A missing folder is treated as empty. */
int files_list(struct files *fs, const char *folder,
	       int (*each)(void *with, const char *name), void *with, struct fault *f);

/* Closes the open folders, since other folders may have their names now. */
void files_forget(struct files *fs);

/*
 * Paths and descriptors below the vault's root.
 */

/* Makes a fault from errno. `what` names the action on `path` that failed. */
int files_fault(struct fault *f, const char *what, const char *path);

/* Opens `path` by openat2(), without leaving `root` and without following a symlink. */
int files_open_below(int root, const char *path, int flags);

/* Works like file_keep(), and counts the kept file in fs->kept. */
int files_keep(struct files *fs, int from, const char *name, int dir, const char *file);

/* Renames FOLDER/NAME, if it exists, to a conflict's name in the same folder. Returns 0 or a
 * negative fault code. */
int files_set_aside(struct files *fs, const char *folder, const char *name,
		    struct fault *f);

/* Opens a folder. If `make` is set, makes a missing folder first. Returns the folder's
 * descriptor, or -1 with errno. If the folder is missing, errno is ENOENT. The caller borrows
 * the descriptor until the next call of this function. */
int files_folder(struct files *fs, const char *path, bool make);

/* Writes a text to a new file, or over an existing file. If the write fails, the file is
 * removed. After a crash, the file may hold a part of the text. Returns 0, or -1 with errno. */
int files_write(int dir, const char *name, const struct text *text, bool sync);

/* Works like files_list(), for a folder that is open as `fd`. */
int files_list_open(int fd, int (*each)(void *with, const char *name), void *with);

#endif
