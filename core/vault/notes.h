/*
 * notes - a table of functions that read, change and lock the files of a vault.
 *
 * Paths are relative to the vault's root, as vault_note() makes them. No path leaves the root,
 * no symlink is followed, and only regular files are notes. A change takes two steps. First the
 * new content is staged as a whole file, which is synced. Then the staged file is moved into
 * place. Every process can see whether the move was made. So any process can finish a change
 * that another process decided. Returned names are in the caller's arena. Each function may be
 * called on any thread and may take long.
 */
#ifndef CORE_VAULT_NOTES_H
#define CORE_VAULT_NOTES_H

#include "core/base/arena.h"
#include "core/base/fault.h"
#include "core/op/op.h"

#define NOTES_TRASH ".trash" /* folder in the root (core/vault/vault_trash.h) */

enum {
	NOTE_MOST = 10 << 20, /* maximum number of bytes in a note */
	NOTE_PATH = 1024, /* maximum number of bytes in a path */
	NOTE_DEPTH = 32, /* maximum number of names in a path */
};

/* The identity and state of a file. Every write to the file changes the stamp. */
struct note_stamp {
	int64_t ino; /* 0: there is no file */
	int64_t mtime_ns, size;
};

/* A change of one file. The file is moved to another path, or is removed. */
struct note_move {
	const char *from; /* path of the file before the change */
	const char *to; /* path after the change; NULL: the file is removed */
	struct note_stamp is; /* stamp of the file at `from` */
	struct note_stamp was; /* stamp of the replaced file; 0: there was no file */
};

/* The top-level keys of a frontmatter in order, each with the number of its line. Line numbers
 * begin at 0. */
struct note_keys {
	struct note_key {
		const char *name;
		size_t line;
	} * v;
	size_t n;
};

struct note_part {
	int64_t offset, most; /* first byte, and maximum number of bytes */
};

struct note_entry {
	const char *path; /* path relative to the root */
	bool folder;
	int closed; /* errno of a folder that cannot be entered */
	struct note_stamp stamp;
};

/* Whether the mirror keeps the note at `path` equal to rows (vault_path.c). */
bool vault_is_mirrored(const char *path);

struct notes;

/* Whether a file contains a person's words (vault_path.c). Notes contain a person's words, and
 * so do files of the mirror that somebody edited. Folders contain no words. Returns 1 if the
 * file contains such words, 0 if not, or a negative fault code. A folder that cannot be entered
 * causes a fault. */
int vault_is_persons(const struct notes *notes, const struct note_entry *entry,
		     struct fault *f);

/* Results of a walk's callback. Any other number ends the walk. */
enum { NOTES_PASS = 0, NOTES_ENTER = 1 };

typedef int notes_each(void *with, const struct note_entry *entry, struct fault *f);
typedef bool notes_skip(const char *path);

struct notes {
	const void *self;

	/* Locks a path, or two paths if `other` is not NULL, against all processes and threads.
	 * While the lock is held, the folders of the paths' teams cannot be moved. Fails with
	 * `unavailable` if the lock is taken. With `wait`, waits up to 10 s for the lock.
	 * Returns the number that unlock() takes, or a negative fault code. */
	int (*lock)(const void *self, const char *path, const char *other, bool wait,
		    struct fault *f);
	/* Locks the folder of one team, or the folders of two teams if `other` is not NULL.
	 * With `alone`, nobody else can use the folders until unlock(), so the caller can move
	 * the folders. Waits up to 10 s for the lock. Returns the number that unlock() takes,
	 * or a negative fault code. */
	int (*lock_teams)(const void *self, const char *team, const char *other,
			  bool alone, struct fault *f);
	void (*unlock)(const void *self, int lock);

	/* Gets the note's stamp. Returns 1 if there is a note, 0 if not, or a negative fault
	 * code. */
	int (*look)(const void *self, const char *path, struct note_stamp *out,
		    struct fault *f);
	/* Appends a part of the note to `out`. Returns 1 if there is a note, 0 if not, or a
	 * negative fault code. */
	int (*read)(const void *self, const char *path, struct note_part part,
		    struct text *out, struct note_stamp *stamp, struct fault *f);

	/* Stages a content for `path`, and makes missing folders. The caller must hold the lock
	 * of `path`. Fills `from`, `to` and `is` of `*out`. The caller fills `was`. */
	int (*stage)(const void *self, const char *path, const struct text *content,
		     struct note_move *out, struct arena *a, struct fault *f);
	/* Makes the change durably, unless the change has been made already. Removes folders of
	 * the trash that become empty. If a new file has appeared at the path `to`, the new
	 * file is kept beside the path as `NAME.conflict.EXTENSION`. */
	int (*make)(const void *self, const struct note_move *move, struct fault *f);
	/* Whether the change has been made, as far as can be seen without the lock of the path. */
	bool (*made)(const void *self, const struct note_move *move);
	/* Calls `each` with the path of every staged file. */
	int (*staged)(const void *self, notes_each *each, void *with, struct fault *f);
	/* Locks the path for which the file `staged` was staged, without waiting for the lock. */
	int (*lock_staged)(const void *self, const char *staged, struct fault *f);
	int (*drop)(const void *self, const char *staged, struct fault *f);

	/* Removes the folder `name` of the trash, with its contents. */
	int (*forget)(const void *self, const char *name, struct fault *f);

	/* Reads a frontmatter, without its fences, into a JSON object (core/machine/yaml.h). */
	int (*yaml)(const char *data, size_t len, json_t **out, struct note_keys *keys,
		    struct arena *a, struct fault *f);
	int64_t (*clock_ms)(void); /* monotonic clock */

	/* Calls `each` for every entry of a folder ("" is the root), in no fixed order. Enters
	 * the folders for which `each` returns NOTES_ENTER. Symlinks are left out. Hidden names
	 * are left out, except teams/.archive and the names in the trash. Paths for which
	 * `skip` returns true are left out, too, and their files are not opened (`skip` may be
	 * NULL). For a folder that cannot be entered, `each` is called a second time, with
	 * `closed` set. Returns 1 after a complete walk, 0 if there is no such folder, or the
	 * number that ended the walk. */
	int (*walk)(const void *self, const char *folder, notes_skip *skip,
		    notes_each *each, void *with, struct fault *f);
};

struct store;

/* The folders of teams, teams/NAME, which the mirror makes, marks and moves. */
struct team_folders {
	const void *self;
	/* Returns the number of the row of the team that owns the folder teams/NAME. Returns 0
	 * if no team owns the folder, or a negative fault code. */
	int64_t (*row)(const void *self, const char *name, struct fault *f);
	/* Lets the mirror apply the changes of teams to the folder teams/NAME. Returns when the
	 * team `team` owns the folder, or, if `team` is 0, when no team owns the folder. Also
	 * returns when no change is left to apply. `store` must be outside a transaction.
	 * Returns 0 or negative. Fails also if the work takes over 10 s. */
	int (*settle)(const void *self, struct store *store, const char *name,
		      int64_t team, struct fault *f);
	/* Whether the mirror has read all changes of teams in the log. Returns 1, 0 or
	 * negative. After the result 1, a folder for which row() returns 0 belongs to people.
	 * There is one exception. If a person has removed or damaged the page of a team, the
	 * folder with the team's name still belongs to the team. `store` must be outside a
	 * transaction. */
	int (*followed)(const void *self, struct store *store, struct fault *f);
};

#endif
