#include "core/home/git_index.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/home/git_reader.h"
#include "core/home/paths.h"

enum {
	ROWS_MOST = 64 << 20, /* bytes of the entries that are kept */
	LINK = 0x6c696e6b, /* the extension of a split index */
};

/* A bit for each entry of a shared index. */
struct bits {
	uint64_t words[GIT_ENTRIES_MAX / 64 + 1];
};

/* The findings about a repository.  A split index names the shared index that it is based
 * on, which entries of that one are removed, and which have other content: that content
 * is in entries without a name, in the same order. */
struct look {
	const char *folder;
	size_t hash; /* bytes of an object's name */
	struct git_rows *rows; /* gets the entries in the folder; NULL: one is enough */
	bool may_split;
	bool is_split;
	unsigned char base[GIT_HASH_MAX];
	struct bits *gone, *replaced;
	struct git_rows nameless;
};

/* Keeps name, mode and object of the entry read last. */
static bool git_index_add_entry(struct git_rows *rows, const struct git_reader *x)
{
	size_t name = x->name_len + 1, len = name + 4 + x->hash;
	struct git_row *row;

	if (rows->bytes + len > ROWS_MOST)
		return false;
	if (rows->n == rows->room) {
		rows->room = rows->room ? 2 * rows->room : 64;
		rows->all =
			xreallocarray(rows->all, rows->room, sizeof(struct git_row *));
	}
	row = xmalloc(sizeof(*row) + len);
	row->len = len;
	memcpy(row->bytes, x->name, name);
	memcpy(row->bytes + name, x->fixed + GIT_MODE_AT, 4);
	memcpy(row->bytes + name + 4, x->fixed + GIT_STAT_SIZE, x->hash);
	rows->all[rows->n++] = row;
	rows->bytes += sizeof(*row) + len;
	return true;
}

void git_rows_release(struct git_rows *rows)
{
	while (rows->n)
		free(rows->all[--rows->n]);
	free(rows->all);
	*rows = (struct git_rows){ 0 };
}

/* Compares the entry that was read last with the folder: 0 if it is in there, else the
 * order of the two names. */
static int git_index_compare(const struct git_reader *x, const char *folder)
{
	size_t n = strlen(folder);
	int order = strncmp(x->name, folder, n);

	return order ? order : x->name[n] ? x->name[n] - '/' : 0;
}

/* --- a split index ------------------------------------------------------------ */

/* A bitmap as git compresses it (EWAH): words of 64 bits, each first one of which says how
 * many follow that are all 0 or all 1, and then how many follow as they are. */
static bool take_run(struct git_reader *x, struct bits *bits, size_t *at, int64_t *left)
{
	int64_t high = git_reader_number(x, 4), low = git_reader_number(x, 4);
	uint64_t run, as_is;

	if (high < 0 || low < 0)
		return false;
	run = (uint64_t)low >> 1 | (uint64_t)(high & 1) << 31;
	as_is = (uint64_t)high >> 1;
	*left -= 1 + (int64_t)as_is;
	if (*left < 0 || *at + run + as_is > sizeof(bits->words) / 8)
		return false;
	memset(bits->words + *at, low & 1 ? 0xff : 0, run * 8);
	for (*at += run; as_is--; ++*at) {
		high = git_reader_number(x, 4);
		low = git_reader_number(x, 4);
		if (high < 0 || low < 0)
			return false;
		bits->words[*at] = (uint64_t)high << 32 | (uint64_t)low;
	}
	return true;
}

static struct bits *take_bits(struct git_reader *x)
{
	struct bits *bits = xcalloc(1, sizeof(*bits));
	int64_t left;
	size_t at = 0;
	bool good;

	good = git_reader_bytes(x, NULL, 4) && (left = git_reader_number(x, 4)) >= 0;
	while (good && left > 0)
		good = take_run(x, bits, &at, &left);
	if (good && git_reader_bytes(x, NULL, 4))
		return bits;
	free(bits);
	return NULL;
}

static bool git_index_is_set(const struct bits *bits, uint32_t i)
{
	return bits && bits->words[i / 64] >> i % 64 & 1;
}

/* Reads the extensions behind the entries, of which one may name a shared index. */
static bool git_index_take_link(struct git_reader *x, struct look *l)
{
	int64_t word, size;

	while ((word = git_reader_number(x, 4)) >= 0 &&
	       (size = git_reader_number(x, 4)) >= 0) {
		if (word != LINK) {
			if (!git_reader_bytes(x, NULL, (size_t)size))
				break;
			continue;
		}
		if (!git_reader_bytes(x, l->base, l->hash))
			return false;
		for (size_t i = 0; i < l->hash; i++)
			l->is_split |= l->base[i] != 0;
		if ((size_t)size == l->hash)
			return true;
		l->gone = take_bits(x);
		l->replaced = l->gone ? take_bits(x) : NULL;
		return l->replaced;
	}
	return true;
}

/* Gives the entry that was read last the content of the n-th entry without a name. */
static bool take_content(struct git_reader *x, const struct git_rows *nameless, size_t n)
{
	if (n >= nameless->n)
		return false;
	memcpy(x->fixed + GIT_MODE_AT, nameless->all[n]->bytes + 1, 4);
	memcpy(x->fixed + GIT_STAT_SIZE, nameless->all[n]->bytes + 5, x->hash);
	return true;
}

static enum tracked look_shared(struct git_reader *x, struct look *l)
{
	enum tracked found = TRACKED_NOTHING;
	size_t nameless = 0;

	for (uint32_t i = 0; i < x->entries; i++) {
		bool other = git_index_is_set(l->replaced, i);
		int order;

		if (!git_reader_entry(x))
			return TRACKED_UNREADABLE;
		order = git_index_compare(x, l->folder);
		if (order > 0)
			break;
		nameless += other;
		if (order < 0 || git_index_is_set(l->gone, i))
			continue;
		found = TRACKED_SOME;
		if (!l->rows)
			break;
		if ((other && !take_content(x, &l->nameless, nameless - 1)) ||
		    !git_index_add_entry(l->rows, x))
			return TRACKED_UNREADABLE;
	}
	return found;
}

/* --- files ------------------------------------------------------------------ */

static enum tracked look_own(struct git_reader *x, struct look *l)
{
	enum tracked found = TRACKED_NOTHING;

	for (uint32_t i = 0; i < x->entries; i++) {
		struct git_rows *to = l->rows; /* where this entry goes */
		int order;

		if (!git_reader_entry(x))
			return TRACKED_UNREADABLE;
		order = git_index_compare(x, l->folder);
		if (order > 0 && !l->may_split)
			return found;
		if (order == 0)
			found = TRACKED_SOME;
		if (order == 0 && !to)
			return found;
		if (!x->name_len)
			to = to ? &l->nameless : NULL;
		else if (order)
			to = NULL;
		if (to && !git_index_add_entry(to, x))
			return TRACKED_UNREADABLE;
	}
	return l->may_split && !git_index_take_link(x, l) ? TRACKED_UNREADABLE : found;
}

static enum tracked look_file(const char *git, const char *name, struct look *l,
			      enum tracked (*how)(struct git_reader *x, struct look *l))
{
	struct git_reader *x = xcalloc(1, sizeof(*x));
	enum tracked found = TRACKED_UNREADABLE;
	char path[4096];
	int fd = paths_join(path, git, name)
			 ? open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
			 : -1;

	if (git_reader_begin(x, fd, l->hash))
		found = how(x, l);
	if (fd >= 0)
		close(fd);
	free(x);
	return found;
}

/* Reads the index, and the shared index that it names. */
static enum tracked look_with(const char *git, const char *folder, size_t hash,
			      bool may_split, struct git_rows *rows)
{
	struct look l = {
		.folder = folder, .hash = hash, .rows = rows, .may_split = may_split
	};
	enum tracked found = look_file(git, "index", &l, look_own), more;
	char name[2 * GIT_HASH_MAX + 20];
	int n = snprintf(name, sizeof(name), "sharedindex.");

	for (size_t i = 0; i < hash; i++)
		n += snprintf(name + n, 3, "%02x", l.base[i]);
	if (l.is_split && found != TRACKED_UNREADABLE) {
		more = look_file(git, name, &l, look_shared);
		found = more == TRACKED_NOTHING ? found : more;
	}
	free(l.gone);
	free(l.replaced);
	git_rows_release(&l.nameless);
	return found;
}

/* Whether shared index files are beside the index: without these it cannot be split, and
 * its end need not be read. */
static bool has_shared(const char *git)
{
	DIR *dir = opendir(git);
	struct dirent *e;
	bool found = !dir;

	while (!found && (e = readdir(dir)))
		found = !strncmp(e->d_name, "sharedindex.", 12);
	if (dir)
		closedir(dir);
	return found;
}

/* The file does not say whether its objects' names have 20 bytes (SHA-1) or 32 (SHA-256):
 * both are tried, and the one with which the entries can be read counts.  Both fit only
 * where no entry has to be read. */
enum tracked git_index_look(const char *git, const char *folder, struct git_rows *rows)
{
	enum tracked a, b = TRACKED_UNREADABLE;
	bool may_split = has_shared(git);
	char path[4096];
	struct stat st;

	if (paths_join(path, git, "index") && stat(path, &st) && errno == ENOENT)
		return TRACKED_NOTHING;
	a = look_with(git, folder, 20, may_split, rows);
	if (a == TRACKED_SOME)
		return a;
	if (rows)
		git_rows_release(rows);
	b = look_with(git, folder, 32, may_split, rows);
	return b == TRACKED_UNREADABLE ? a : b;
}
