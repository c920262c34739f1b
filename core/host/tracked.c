#include "core/host/tracked.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/host/paths.h"

enum {
	NAME_MOST = 4096,
	ENTRIES_MOST = 4000000,
	BYTES_MOST =
		512 << 20, /* of one index; git's own of a million files has 100 MB */
	STAT_SIZE = 40, /* what an entry begins with */
	EXTENDED = 0x4000, /* flag: two more bytes of flags */
	NAME_BITS = 0x0fff, /* flag: the length of the name, if that is less */
};

/* --- bytes ------------------------------------------------------------------ */

struct index {
	int fd;
	unsigned char data[16384];
	size_t at, len;
	size_t left; /* bytes that may still be read */
	uint32_t version, entries;
	size_t hash; /* bytes of an object's name */
	char name[NAME_MOST + 1]; /* of the entry that was read last */
	size_t name_len;
};

/* The next byte, or -1 behind the last. */
static int next_byte(struct index *x)
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

static bool skip(struct index *x, size_t n)
{
	while (n > x->len - x->at) {
		n -= x->len - x->at;
		x->at = x->len;
		if (next_byte(x) < 0)
			return false;
		n--;
	}
	x->at += n;
	return true;
}

/* A number of `n` bytes, the high one first; -1 behind the end. */
static int64_t take_number(struct index *x, int n)
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

/* --- entries ---------------------------------------------------------------- */

/* How much of the name before this one is left out, as version 4 writes it. */
static int64_t take_strip(struct index *x)
{
	int64_t value = 0;
	int byte;

	do {
		byte = next_byte(x);
		if (byte < 0 || value > NAME_MOST)
			return -1;
		value = value << 7 | (byte & 127);
		if (byte & 128)
			value++;
	} while (byte & 128);
	return value;
}

static bool take_name(struct index *x)
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
		if (x->name_len == NAME_MOST)
			return false;
		x->name[x->name_len++] = (char)byte;
	}
	x->name[x->name_len] = '\0';
	return byte == 0;
}

static bool take_entry(struct index *x)
{
	size_t fixed = STAT_SIZE + x->hash + 2;
	int64_t flags;

	if (!skip(x, STAT_SIZE + x->hash) || (flags = take_number(x, 2)) < 0)
		return false;
	if (flags & EXTENDED) {
		if (x->version < 3 || !skip(x, 2))
			return false;
		fixed += 2;
	}
	if (!take_name(x))
		return false;
	if ((flags & NAME_BITS) !=
	    (x->name_len < NAME_BITS ? (int64_t)x->name_len : NAME_BITS))
		return false;
	/* Up to the next multiple of eight, one NUL of which is read. */
	return x->version == 4 || skip(x, 7 - (fixed + x->name_len) % 8);
}

static enum tracked look_for(struct index *x, const char *folder)
{
	size_t n = strlen(folder);

	for (uint32_t i = 0; i < x->entries; i++) {
		int order;

		if (!take_entry(x))
			return TRACKED_UNREADABLE;
		order = strncmp(x->name, folder, n);
		if (order == 0 && (x->name[n] == '/' || !x->name[n]))
			return TRACKED_SOME;
		if (order > 0 || (order == 0 && x->name[n] > '/'))
			return TRACKED_NOTHING;
	}
	return TRACKED_NOTHING;
}

/* --- files ------------------------------------------------------------------ */

static enum tracked look_with(const char *path, const char *folder, size_t hash)
{
	struct index *x = calloc(1, sizeof(*x));
	enum tracked found = TRACKED_UNREADABLE;
	struct stat st;

	if (!x)
		abort();
	x->hash = hash;
	x->left = BYTES_MOST;
	x->fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (x->fd >= 0 && !fstat(x->fd, &st) && S_ISREG(st.st_mode) &&
	    take_number(x, 4) == 0x44495243 /* DIRC */) {
		x->version = (uint32_t)take_number(x, 4);
		x->entries = (uint32_t)take_number(x, 4);
		if (x->version >= 2 && x->version <= 4 && x->entries <= ENTRIES_MOST)
			found = look_for(x, folder);
	}
	if (x->fd >= 0)
		close(x->fd);
	free(x);
	return found;
}

/* The file does not say whether its objects' names have 20 bytes (SHA-1) or 32
 * (SHA-256): both are tried, and the one with which the entries can be read counts.
 * With both that is so only where no entry has to be read. */
static enum tracked look_file(const char *path, const char *folder)
{
	enum tracked a = look_with(path, folder, 20), b;

	if (a == TRACKED_SOME)
		return a;
	b = look_with(path, folder, 32);
	return a == TRACKED_NOTHING && b == TRACKED_UNREADABLE ? a : b;
}

/* The index, and what a split index shares. */
static enum tracked look_folder(const char *git, const char *folder)
{
	enum tracked found = TRACKED_NOTHING;
	char path[4096];
	struct dirent *e;
	DIR *dir = opendir(git);

	if (!dir)
		return TRACKED_UNREADABLE;
	while (found == TRACKED_NOTHING && (e = readdir(dir)))
		if ((!strcmp(e->d_name, "index") ||
		     !strncmp(e->d_name, "sharedindex.", 12)) &&
		    paths_join(path, git, e->d_name))
			found = look_file(path, folder);
	closedir(dir);
	return found;
}

/* The repository's own folder, of the tree whose top is `top`. */
static bool git_folder(const char *top, char out[4096])
{
	char line[4096];
	struct stat st;

	if (!paths_join(out, top, ".git") || stat(out, &st))
		return false;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode);
	if (!paths_line(out, line, sizeof(line)) || strncmp(line, "gitdir: ", 8))
		return false;
	return line[8] == '/' ? paths_join(out, line + 8, "")
			      : paths_join(out, top, line + 8);
}

enum tracked tracked_look(const char *folder)
{
	char top[4096], git[4096];

	if (!paths_join(top, folder, ""))
		return TRACKED_UNREADABLE;
	while (paths_up(top))
		if (git_folder(top, git))
			return look_folder(git, folder + strlen(top) + (top[1] != '\0'));
	return TRACKED_NOTHING;
}
