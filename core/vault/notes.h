/*
 * notes - the files of a vault: a table with a function for each effect on files.
 *
 * Paths are relative to the vault's root, as vault_path() makes them. No path leaves the root,
 * no symlink is followed, and only regular files are notes. A change is made in two steps: its
 * content is staged, whole and synced, and then moved into place; whether the move was done can
 * be seen afterwards, so that any process can finish a change that another process decided.
 * Names that are returned are in the caller's arena. Each function may be called on any thread
 * and may take long.
 */
#ifndef CORE_VAULT_NOTES_H
#define CORE_VAULT_NOTES_H

#include "core/base/arena.h"
#include "core/base/fault.h"
#include "core/op/op.h"

#define NOTES_TRASH ".trash" /* in the root: see core/vault/vault_trash.h */

enum {
	NOTE_MOST = 10 << 20, /* bytes */
	NOTE_PATH = 1024, /* bytes of a path */
	NOTE_DEPTH = 32, /* folders */
};

/* The identity and state of a file: every write changes the stamp. */
struct note_stamp {
	int64_t ino; /* 0: there is no file */
	int64_t mtime_ns, size;
};

/* A decided change of a file. */
struct note_move {
	const char *from; /* where the file is */
	const char *to; /* where the file is moved; NULL: it is removed */
	struct note_stamp is; /* stamp of the staged file */
	struct note_stamp was; /* stamp of the file that is replaced; zeros if there
				  was no file */
};

/* The top-level keys of a frontmatter with their lines, in order; lines count from 0. */
struct note_keys {
	struct note_key {
		const char *name;
		size_t line;
	} * v;
	size_t n;
};

struct note_part {
	int64_t offset, most; /* bytes */
};

struct note_entry {
	const char *path; /* from the root */
	bool folder;
	int closed; /* errno of a folder that cannot be entered */
	struct note_stamp stamp;
};

/* Whether the mirror keeps the note at `path` equal to rows (vault_path.c). */
bool vault_is_mirrored(const char *path);

struct notes;

/* Whether a file has a person's words, as a note has, or a file of the mirror that somebody
 * edited: 1, 0, or negative. A folder has no words; a folder that cannot be entered is refused
 * (vault_path.c). */
int vault_is_persons(const struct notes *notes, const struct note_entry *entry,
		     struct fault *f);

/* Results of a walk's callback for an entry; any other number ends the walk. */
enum { NOTES_PASS = 0, NOTES_ENTER = 1 };

typedef int notes_each(void *with, const struct note_entry *entry, struct fault *f);
typedef bool notes_skip(const char *path);

struct notes {
	const void *self;

	/* Locks a path, or (other not NULL) two paths, against all processes and threads, and
	 * keeps the folders of their teams from being moved. Fails with `unavailable`: at once
	 * without `wait`, else after 10 s. Returns the number that unlock() takes, or negative. */
	int (*lock)(const void *self, const char *path, const char *other, bool wait,
		    struct fault *f);
	/* Locks the folders of one or two teams (`other` NULL: one folder) as lock() does. With
	 * `alone`, locks out every other user of the folders, before the folders are moved.
	 * Waits and returns as lock() does. */
	int (*lock_teams)(const void *self, const char *team, const char *other,
			  bool alone, struct fault *f);
	void (*unlock)(const void *self, int lock);

	/* Gets the note's stamp: 1, 0 if there is no note, or negative. */
	int (*look)(const void *self, const char *path, struct note_stamp *out,
		    struct fault *f);
	/* Appends a part of the note to `out`; returns as look() does. */
	int (*read)(const void *self, const char *path, struct note_part part,
		    struct text *out, struct note_stamp *stamp, struct fault *f);

	/* Stages a content for `path`, whose lock the caller holds; makes missing
	 * folders.  Fills the fields from, to and is; the caller fills `was`. */
	int (*stage)(const void *self, const char *path, const struct text *content,
		     struct note_move *out, struct arena *a, struct fault *f);
	/* Makes the change durably, unless it was made already. Folders of the trash that
	 * become empty are removed. A file that appeared at the new place meanwhile is kept
	 * beside this place as `NAME.conflict.EXTENSION`. */
	int (*make)(const void *self, const struct note_move *move, struct fault *f);
	/* Whether the change has been made, as far as can be seen without the lock of the path. */
	bool (*made)(const void *self, const struct note_move *move);
	/* Calls `each` with the path of every staged file. */
	int (*staged)(const void *self, notes_each *each, void *with, struct fault *f);
	/* Tries, without waiting, to lock the path for which a content is staged. */
	int (*lock_staged)(const void *self, const char *staged, struct fault *f);
	int (*drop)(const void *self, const char *staged, struct fault *f);

	/* Removes the folder `name` in the trash, with its contents. */
	int (*forget)(const void *self, const char *name, struct fault *f);

	/* A frontmatter, without its fences, as a JSON object: see
	 * core/machine/yaml.h. */
	int (*yaml)(const char *data, size_t len, json_t **out, struct note_keys *keys,
		    struct arena *a, struct fault *f);
	int64_t (*clock_ms)(void); /* monotonic */

	/* Calls `each` for every entry of a folder ("" the root), in no order, and enters the
	 * folders for which `each` returns NOTES_ENTER. Hidden names and symlinks are passed
	 * over, except in the trash. Paths for which `skip` (or NULL) is true are passed over
	 * too, without a look at the file. For a folder that cannot be entered `each` is called
	 * a second time, with `closed`. 1, 0 if there is no such folder, or the number that
	 * ended the walk. */
	int (*walk)(const void *self, const char *folder, notes_skip *skip,
		    notes_each *each, void *with, struct fault *f);
};

struct store;

/* The folders of teams, teams/NAME, which the mirror makes, marks and moves. */
struct team_folders {
	const void *self;
	/* The row of the team to which the folder teams/NAME belongs; 0 if it belongs to no
	 * team; or negative. */
	int64_t (*row)(const void *self, const char *name, struct fault *f);
	/* Lets the mirror apply the changes of teams so far to the folder, until the folder is
	 * `team`'s (0: no team's) or no change is left. `store` is outside a
	 * transaction. 0, or negative, also if the work takes over 10 s. */
	int (*settle)(const void *self, struct store *store, const char *name,
		      int64_t team, struct fault *f);
	/* Whether the log holds no change of teams that the mirror has not read: 1, 0,
	 * or negative.  If the result is 1, a folder without a team by row() belongs to
	 * people, or it belongs to the team of its name and a person has spoiled its page.
	 * `store` is outside a transaction. */
	int (*followed)(const void *self, struct store *store, struct fault *f);
};

#endif
