/*
 * notes - the files of a vault: every effect on them, as a table.
 *
 * Paths are relative to the vault's root, as vault_path() makes them.  No path
 * leaves the root, no symlink is followed, and only regular files are notes.
 * A change is made in two steps: its content is staged, whole and synced, and
 * then moved into place; whether that was done can be told afterwards, so that
 * a change which somebody decided can be finished by anybody.  What is told by
 * names is in the caller's arena.  Each function may be called on any thread
 * and may take long.
 */
#ifndef CORE_VAULT_NOTES_H
#define CORE_VAULT_NOTES_H

#include "core/base/arena.h"
#include "core/base/fault.h"
#include "core/op/op.h"

enum {
	NOTE_MOST = 10 << 20, /* bytes */
	NOTE_PATH = 1024, /* bytes of a path */
	NOTE_DEPTH = 32, /* folders */
};

/* Which file it is and how it stands: a write by anybody changes it. */
struct note_stamp {
	int64_t ino; /* 0: none */
	int64_t mtime_ns, size;
};

/* A change as it was decided. */
struct note_move {
	const char *from; /* where the file is */
	const char *to; /* where it goes; NULL: it is removed */
	struct note_stamp is; /* of the file */
	struct note_stamp was; /* of what it replaces; none if nothing was there */
};

/* Where the top-level keys of a frontmatter stand: in order, lines from 0. */
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
	struct note_stamp stamp;
};

/* What a walk does after an entry; another number than these ends it. */
enum { NOTES_PASS = 0, NOTES_ENTER = 1 };

typedef int notes_each(void *with, const struct note_entry *entry, struct fault *f);
typedef bool notes_skip(const char *path);

struct notes {
	const void *self;

	/* One holder at a time over all processes and threads, of one path or
	 * (other not NULL) of two.  Without `wait`, or after 10 s, it is
	 * `unavailable`.  Returns what unlock() takes, or negative. */
	int (*lock)(const void *self, const char *path, const char *other, bool wait,
		    struct fault *f);
	void (*unlock)(const void *self, int lock);

	/* The note's stamp: 1, 0 if there is none, or negative. */
	int (*look)(const void *self, const char *path, struct note_stamp *out,
		    struct fault *f);
	/* Appends a part of it to `out`: as look(). */
	int (*read)(const void *self, const char *path, struct note_part part,
		    struct text *out, struct note_stamp *stamp, struct fault *f);

	/* Stages a content for `path`, whose lock is held; makes its folders.
	 * Fills from, to and is; `was` is the caller's to say. */
	int (*stage)(const void *self, const char *path, const struct text *content,
		     struct note_move *out, struct arena *a, struct fault *f);
	/* Makes the change unless it has been made.  When it returns, it is on the
	 * disk.  A file that took the place meanwhile is kept beside it as
	 * `NAME.conflict.EXTENSION`. */
	int (*make)(const void *self, const struct note_move *move, struct fault *f);
	/* Whether it has been made, as far as can be seen without its lock. */
	bool (*made)(const void *self, const struct note_move *move);
	/* Calls `each` with the path of all that is staged. */
	int (*staged)(const void *self, notes_each *each, void *with, struct fault *f);
	/* The lock of the path that a content is staged for; not waited for. */
	int (*lock_staged)(const void *self, const char *staged, struct fault *f);
	int (*drop)(const void *self, const char *staged, struct fault *f);

	/* A frontmatter, without its fences, as a JSON object: see
	 * core/machine/yaml.h. */
	int (*yaml)(const char *data, size_t len, json_t **out, struct note_keys *keys,
		    struct arena *a, struct fault *f);
	int64_t (*clock_ms)(void); /* monotonic */

	/* Calls `each` for what is in a folder ("" the root), in no order, and
	 * inside the folders that it says NOTES_ENTER to.  Hidden names, symlinks
	 * and paths that `skip` (or NULL) is true of are passed over, the last
	 * without a look at the file.  1, 0 if there is no such folder, or what
	 * ended it. */
	int (*walk)(const void *self, const char *folder, notes_skip *skip,
		    notes_each *each, void *with, struct fault *f);
};

#endif
