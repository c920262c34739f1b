#include "core/home/git_work.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/home/git_reader.h"
#include "core/machine/git_refs.h"
#include "core/machine/work.h"

enum {
	FILES_MOST = 1000000, /* of an index */
	NAMES_MOST = 64 << 20, /* bytes of their names */
	FIRST_NAMES = 4096,
};

struct tracked_file {
	size_t name; /* its place in the names */
	uint32_t size, mtime, mtime_ns;
	bool is_skipped, is_there;
};

struct git_work {
	struct tracked_file *files; /* sorted by name */
	size_t n, room;
	char *names;
	size_t names_len, names_room;
	size_t changed, removed, untracked, written;
	bool has_commits, has_stash, head_stayed;
};

/* --- the index ---------------------------------------------------------------------- */

static const char *git_work_name_of(const struct git_work *w,
				    const struct tracked_file *file)
{
	return w->names + file->name;
}

static bool git_work_add_name(struct git_work *w, const char *name)
{
	size_t n = strlen(name) + 1;

	if (w->names_len + n > NAMES_MOST)
		return false;
	while (w->names_len + n > w->names_room) {
		w->names_room = w->names_room ? 2 * w->names_room : FIRST_NAMES;
		w->names = xreallocarray(w->names, w->names_room, 1);
	}
	memcpy(w->names + w->names_len, name, n);
	w->names_len += n;
	return true;
}

/* Keeps one entry.  A file that is being merged has several, of which the first counts.  An
 * entry that is not a file (a nested repository, or a folder of a sparse index) gives false. */
static bool add_file(void *with, const struct git_entry *entry)
{
	struct git_work *w = with;
	int order = w->n ? strcmp(entry->name, git_work_name_of(w, &w->files[w->n - 1]))
			 : 1;

	if (order == 0)
		return true;
	if (order < 0 || (!S_ISREG(entry->mode) && !S_ISLNK(entry->mode)) ||
	    w->n == FILES_MOST)
		return false;
	if (w->n == w->room) {
		w->room = w->room ? 2 * w->room : 64;
		w->files = xreallocarray(w->files, w->room, sizeof(*w->files));
	}
	w->files[w->n++] = (struct tracked_file){ .name = w->names_len,
						  .size = entry->size,
						  .mtime = entry->mtime,
						  .mtime_ns = entry->mtime_ns,
						  .is_skipped = entry->is_skipped };
	return git_work_add_name(w, entry->name);
}

/* The index does not say how long the names of its objects are. */
static bool git_work_read_index(struct git_work *w, int git)
{
	int fd = git_open_file(git, "index");
	bool good = fd >= 0 && git_reader_each(fd, 20, add_file, w);

	if (fd >= 0 && !good) {
		w->n = w->names_len = 0;
		good = git_reader_each(fd, 32, add_file, w);
	}
	if (fd >= 0)
		close(fd);
	return good;
}

/* --- files -------------------------------------------------------------------------- */

static struct tracked_file *git_work_find(const struct git_work *w, const char *path)
{
	size_t from = 0, to = w->n;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		int order = strcmp(path, git_work_name_of(w, &w->files[middle]));

		if (order == 0)
			return &w->files[middle];
		if (order < 0)
			to = middle;
		else
			from = middle + 1;
	}
	return NULL;
}

/* Fractions of a second are compared only if both are known. */
static bool is_as_git_saw(const struct tracked_file *file, const struct stat *st)
{
	uint32_t ns = (uint32_t)st->st_mtim.tv_nsec;

	return file->size == (uint32_t)st->st_size &&
	       file->mtime == (uint32_t)st->st_mtim.tv_sec &&
	       (file->mtime_ns == ns || !file->mtime_ns || !ns);
}

/* Whether git itself keeps the file, of this repository or of one in it. */
static bool is_of_git(const char *path)
{
	return !strncmp(path, ".git/", 5) || strstr(path, "/.git/");
}

static void count_file(void *with, const char *path, const struct stat *st, bool written)
{
	struct git_work *w = with;
	struct tracked_file *file = git_work_find(w, path);

	if (file)
		file->is_there = true;
	if (!written || is_of_git(path))
		return;
	if (!file)
		w->untracked++;
	else if (is_as_git_saw(file, st))
		w->written++;
	else
		w->changed++;
}

static void count_removed(struct git_work *w)
{
	for (size_t i = 0; i < w->n; i++) {
		const struct tracked_file *file = &w->files[i];

		w->removed += !file->is_there && !file->is_skipped &&
			      strncmp(git_work_name_of(w, file), ".cadre/", 7) != 0;
	}
}

/* --- commits ------------------------------------------------------------------------ */

/* Compares with what there was when the workspace was made; without a stamp, or where it
 * cannot be read, that is not known. */
static void compare_refs(struct git_work *w, int git, const char *stamp)
{
	struct git_refs now, then = { 0 };
	bool known;

	git_refs_read(git, &now);
	if (stamp)
		git_refs_load(stamp, &then);
	known = *now.head && *then.head;
	w->head_stayed = known && !strcmp(now.head, then.head);
	w->has_commits = known && !w->head_stayed;
	w->has_stash = *now.stash && strcmp(now.stash, then.stash) != 0;
}

/* --- words -------------------------------------------------------------------------- */

static void add_count(struct arena *a, const char **text, size_t n, const char *what)
{
	const char *files = **text ? "" : n == 1 ? " file" : " files";

	if (n)
		*text = arena_printf(a, "%s%s%zu%s %s", *text, **text ? ", " : "", n,
				     files, what);
}

static void add_fact(struct arena *a, const char **text, bool is_so, const char *what)
{
	if (is_so)
		*text = arena_printf(a, "%s%s%s", *text, **text ? ", " : "", what);
}

/* Files that were written and are as the index says were staged, or checked out; or they
 * are in the commits, of which is told then. */
static const char *in_words(struct arena *a, const struct git_work *w)
{
	const char *text = "";
	bool more = w->changed || w->removed || w->untracked;

	add_count(a, &text, w->changed, "changed");
	add_count(a, &text, w->removed, "removed");
	add_count(a, &text, w->untracked, "not tracked");
	if (w->head_stayed)
		add_count(a, &text, w->written, more ? "more written" : "written");
	add_fact(a, &text, w->has_commits, "commits of its own");
	add_fact(a, &text, w->has_stash, "a stash");
	return *text ? text : NULL;
}

const char *git_work_tell(struct arena *a, const char *path, const char *stamp,
			  int64_t since, long most)
{
	struct git_work w = { 0 };
	const char *text = NULL;
	int git = git_open(path);

	if (git >= 0 && git_work_read_index(&w, git) &&
	    work_walk(path, stamp, since, most, count_file, &w)) {
		count_removed(&w);
		compare_refs(&w, git, stamp);
		text = in_words(a, &w);
	}
	if (git >= 0)
		close(git);
	free(w.files);
	free(w.names);
	return text;
}
