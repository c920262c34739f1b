#include "core/home/git_index.h"

#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/home/home_config.h"
#include "core/home/paths.h"
#include "core/home/project.h"

enum {
	BYTES_MOST = 512 << 20, /* bytes of the largest index; a million files take 100
				   MB */
	GIT_ENTRIES_MAX = 4000000,
	ROWS_MOST = 64 << 20, /* maximum size of all entries in memory */
	GIT_HASH_MAX = 32,
	GIT_NAME_MAX = 4096,
	GIT_STAT_SIZE = 40, /* bytes of an entry before the name of its object */
	GIT_MODE_AT = 24, /* offset of the mode in an entry */
	EXTENDED = 0x4000, /* flag of an entry that has two more bytes of flags */
	NAME_BITS = 0x0fff, /* these flag bits hold the name's length, or are all ones */
	LINK = 0x6c696e6b, /* signature of the extension `link`, for a split index */
};

struct git_reader {
	int fd;
	unsigned char data[16384];
	size_t at, len;
	size_t left; /* bytes of the file that are left to read */
	uint32_t version, entries;
	size_t hash; /* bytes of an object's name */
	/* The last entry that was read: the fields before its name, and its name. */
	unsigned char fixed[GIT_STAT_SIZE + GIT_HASH_MAX];
	char name[GIT_NAME_MAX + 1];
	size_t name_len;
};

/* --- bytes ------------------------------------------------------------------------- */

/* Returns the next byte, or -1 at the end of the file. */
static int next_byte(struct git_reader *x)
{
	if (x->at == x->len) {
		ssize_t n = x->left ? read(x->fd, x->data, sizeof(x->data)) : 0;

		if (n <= 0)
			return -1;
		x->left -= (size_t)n < x->left ? (size_t)n : x->left;
		x->at = 0;
		x->len = (size_t)n;
	}
	return x->data[x->at++];
}

/* Reads `n` bytes to `out`, or skips `n` bytes if `out` is NULL. */
static bool git_reader_bytes(struct git_reader *x, unsigned char *out, size_t n)
{
	while (n) {
		size_t here = x->len - x->at < n ? x->len - x->at : n;

		if (out)
			memcpy(out, x->data + x->at, here);
		out = out ? out + here : NULL;
		x->at += here;
		n -= here;
		if (n) {
			if (next_byte(x) < 0)
				return false;
			x->at--;
		}
	}
	return true;
}

/* Reads a number of `n` bytes, the highest byte first. Returns -1 at the end of the file. */
static int64_t git_reader_number(struct git_reader *x, int n)
{
	int64_t value = 0;

	while (n--) {
		int byte = next_byte(x);

		if (byte < 0)
			return -1;
		value = value << 8 | byte;
	}
	return value;
}

/* --- entries ----------------------------------------------------------------------- */

/* Reads a number in the format that version 4 of the index uses. The number says how many bytes
 * at the end of the previous name are missing in the next name. */
static int64_t take_strip(struct git_reader *x)
{
	int64_t value = 0;
	int byte;

	do {
		byte = next_byte(x);
		if (byte < 0 || value > GIT_NAME_MAX)
			return -1;
		value = value << 7 | (byte & 127);
		if (byte & 128)
			value++;
	} while (byte & 128);
	return value;
}

static bool take_name(struct git_reader *x)
{
	size_t keep = 0;
	int byte;

	if (x->version == 4) {
		int64_t strip = take_strip(x);

		if (strip < 0 || (size_t)strip > x->name_len)
			return false;
		keep = x->name_len - (size_t)strip;
	}
	for (x->name_len = keep; (byte = next_byte(x)) > 0;) {
		if (x->name_len == GIT_NAME_MAX)
			return false;
		x->name[x->name_len++] = (char)byte;
	}
	x->name[x->name_len] = '\0';
	return byte == 0;
}

/* Reads the next entry into `x`. */
static bool git_reader_entry(struct git_reader *x)
{
	size_t fixed = GIT_STAT_SIZE + x->hash + 2;
	int64_t flags;

	if (!git_reader_bytes(x, x->fixed, GIT_STAT_SIZE + x->hash) ||
	    (flags = git_reader_number(x, 2)) < 0)
		return false;
	if (flags & EXTENDED) {
		if (x->version < 3 || git_reader_number(x, 2) < 0)
			return false;
		fixed += 2;
	}
	if (!take_name(x))
		return false;
	if ((flags & NAME_BITS) !=
	    (x->name_len < NAME_BITS ? (int64_t)x->name_len : NAME_BITS))
		return false;
	/* NUL bytes pad the entry to a multiple of eight bytes. take_name() has read the first
	 * of these NUL bytes. */
	return x->version == 4 ||
	       git_reader_bytes(x, NULL, 7 - (fixed + x->name_len) % 8);
}

/* Begins to read the open file `fd`. Returns false if `fd` is negative. Checks that the file
 * begins like an index. The caller assumes that an object's name has `hash` bytes. */
static bool git_reader_begin(struct git_reader *x, int fd, size_t hash)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > BYTES_MOST)
		return false;
	x->fd = fd;
	x->hash = hash;
	x->left = (size_t)st.st_size;
	if (git_reader_number(x, 4) != 0x44495243 /* DIRC */)
		return false;
	x->version = (uint32_t)git_reader_number(x, 4);
	x->entries = (uint32_t)git_reader_number(x, 4);
	return x->version >= 2 && x->version <= 4 && x->entries <= GIT_ENTRIES_MAX;
}

/* --- the entries of a folder ------------------------------------------------------- */

/* An entry in memory. `bytes` holds the name, a NUL, the mode (4 bytes) and the object's name.
 * A struct git_rows holds its entries in no order. */
struct git_row {
	size_t len;
	unsigned char bytes[];
};
struct git_rows {
	struct git_row **all;
	size_t n, room, bytes;
};

/* A bit for each entry of a shared index. */
struct bits {
	uint64_t words[GIT_ENTRIES_MAX / 64 + 1];
};

/* A search in a repository's index, and the results of the search. A split index names the
 * shared index on which it is based. The split index also lists which entries of the shared
 * index are removed, and which entries have new content. The new content is stored in entries
 * without a name, in the order of the shared index. */
struct look {
	const char *folder;
	size_t hash; /* bytes of an object's name */
	struct git_rows *rows; /* the folder's entries; NULL: stop at the first entry */
	bool may_split;
	bool is_split;
	unsigned char base[GIT_HASH_MAX];
	struct bits *gone, *replaced;
	struct git_rows nameless;
};

/* Stores the name, mode and object of the entry that was read last. */
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

static void git_rows_release(struct git_rows *rows)
{
	while (rows->n)
		free(rows->all[--rows->n]);
	free(rows->all);
	*rows = (struct git_rows){ 0 };
}

/* Compares the entry that was read last with the folder. Returns 0 if the entry is in the
 * folder. Returns a negative number if the entry is sorted before the folder's entries, and a
 * positive number if the entry is sorted behind the folder's entries. */
static int git_index_compare(const struct git_reader *x, const char *folder)
{
	size_t n = strlen(folder);
	int order = strncmp(x->name, folder, n);

	return order ? order : x->name[n] ? x->name[n] - '/' : 0;
}

/* --- a split index ----------------------------------------------------------------- */

/* Reads one run of a compressed bitmap of git (EWAH), which has words of 64 bits. The first
 * word of a run holds two counts: the number of words whose bits are all equal, and the number
 * of uncompressed words that follow. */
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

/* Reads the extensions that follow the entries. One extension may name a shared index. */
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

/* Copies the content of the n-th nameless entry into the entry that was read last. */
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

/* --- files ------------------------------------------------------------------------- */

static enum tracked look_own(struct git_reader *x, struct look *l)
{
	enum tracked found = TRACKED_NOTHING;

	for (uint32_t i = 0; i < x->entries; i++) {
		struct git_rows *to = l->rows; /* the list to which the entry is added */
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

/* Reads the index, and the shared index that the index names. */
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

/* Whether shared index files are beside the index. Without shared index files the index cannot
 * be split, so the end of the index need not be read. */
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

/* Finds which files the repository `git` tracks in `folder`, a path relative to the
 * repository's tree. The caller passes empty `rows`, and `rows` gets the entries. `rows` may
 * get some entries even if the index cannot be read to its end. If `rows` is NULL, the search
 * ends at the first entry.
 *
 * An index file does not say whether the names of its objects have 20 bytes (SHA-1) or 32 bytes
 * (SHA-256). So this function tries both lengths, and uses the length with which the entries
 * can be read. Both lengths can be right only if no entry has to be read. */
static enum tracked git_index_look(const char *git, const char *folder,
				   struct git_rows *rows)
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

/* --- folders ----------------------------------------------------------------------- */

/* Finds the repository's folder (.git) for the tree whose top is `top`. */
static bool git_folder(const char *top, char out[4096])
{
	struct stat st;

	if (!paths_join(out, top, ".git") || stat(out, &st))
		return false;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode);
	return project_git(top, out);
}

/* Finds the next repository above `top`. For the first call, the caller sets `top` to `folder`.
 * Each call sets `top` to the top of the repository's tree. `*below` gets the path of `folder`
 * in the repository's tree. */
static bool next_git(const char *folder, char top[4096], char git[4096],
		     const char **below)
{
	while (paths_up(top))
		if (git_folder(top, git)) {
			*below = folder + strlen(top) + (top[1] != '\0');
			return true;
		}
	return false;
}

bool git_may_track(const char *folder)
{
	char top[4096], git[4096];
	struct stat st;

	if (!paths_join(top, folder, ""))
		return true;
	while (paths_up(top))
		if (!paths_join(git, top, ".git") || !lstat(git, &st))
			return true;
	return false;
}

/* --- the sum ----------------------------------------------------------------------- */

/* The sum covers the content of cadre.toml, since git can write a cadre.toml of another person
 * into the folder without an entry in the index. This happens at a checkout of an earlier
 * commit, at a pull that fails halfway, or at `git restore`. */
static void add_settings(const char *folder, SHA2_CTX *sum)
{
	char path[4096], *bytes = xmalloc(CONFIG_FILE_MOST + 1);
	ssize_t n = -1;

	if (paths_join(path, folder, config_file_name))
		n = paths_read(AT_FDCWD, path, O_NOFOLLOW, bytes, CONFIG_FILE_MOST + 1,
			       NULL);
	SHA256Update(sum, (const uint8_t *)&n, sizeof(n));
	if (n >= 0)
		SHA256Update(sum, (const uint8_t *)bytes, (size_t)n);
	free(bytes);
}

/* Compares two entries by name. A file that git is merging has several entries with the same
 * name. */
static int tracked_by_name(const void *a, const void *b)
{
	const struct git_row *const *x = a, *const *y = b;
	size_t n = (*x)->len < (*y)->len ? (*x)->len : (*y)->len;

	return memcmp((*x)->bytes, (*y)->bytes, n);
}

/* Adds entries to the sum in the order of their names, since a split index has its entries in
 * two files. */
static void add_rows(struct git_rows *rows, SHA2_CTX *sum)
{
	if (rows->n)
		qsort(rows->all, rows->n, sizeof(struct git_row *), tracked_by_name);
	for (size_t i = 0; i < rows->n; i++)
		SHA256Update(sum, rows->all[i]->bytes, rows->all[i]->len);
	SHA256Update(sum, (const uint8_t *)"", 1);
}

/* Adds to the sum the inode, size and times of an index that cannot be read. So the sum changes
 * if the index is written or replaced. */
static void add_unread(const char *git, SHA2_CTX *sum)
{
	char path[4096], text[200] = "?";
	struct stat st;

	if (paths_join(path, git, "index") && !stat(path, &st))
		snprintf(text, sizeof(text), "? %jd %jd %jd.%09ld %jd.%09ld",
			 (intmax_t)st.st_ino, (intmax_t)st.st_size,
			 (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
			 (intmax_t)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
	SHA256Update(sum, (const uint8_t *)text, strlen(text) + 1);
}

static void add_index(enum tracked found, const char *git, struct git_rows *rows,
		      SHA2_CTX *sum)
{
	if (found == TRACKED_UNREADABLE)
		add_unread(git, sum);
	else if (found == TRACKED_SOME)
		add_rows(rows, sum);
}

/* Reads all repositories around the folder, since an outer repository can track files, and
 * check out files, in the tree of an inner repository. `sum` (may be NULL) gets the entries. */
static enum tracked tracked_look_around(const char *folder, SHA2_CTX *sum)
{
	enum tracked all = TRACKED_NOTHING;
	char top[4096], git[4096];
	const char *below;

	if (!paths_join(top, folder, ""))
		return TRACKED_UNREADABLE;
	while ((sum || all != TRACKED_SOME) && next_git(folder, top, git, &below)) {
		struct git_rows rows = { 0 };
		enum tracked found = git_index_look(git, below, sum ? &rows : NULL);

		if (sum)
			add_index(found, git, &rows, sum);
		git_rows_release(&rows);
		if (found == TRACKED_SOME || all == TRACKED_NOTHING)
			all = found;
	}
	return all;
}

enum tracked tracked_look(const char *folder)
{
	return tracked_look_around(folder, NULL);
}

void git_tracked_sum(const char *folder, bool files, char sum[TRACKED_SUM + 1])
{
	SHA2_CTX c;

	SHA256Init(&c);
	if (files)
		tracked_look_around(folder, &c);
	add_settings(folder, &c);
	SHA256End(&c, sum);
}
