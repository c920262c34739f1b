#include "core/host/tracked.h"

#include <dirent.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdint.h>
#include <stdio.h>
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
	MODE_AT = 24, /* in it */
	HASH_MOST = 32,
	SETTINGS_MOST = 64 << 10,
	EXTENDED = 0x4000, /* flag: two more bytes of flags */
	NAME_BITS = 0x0fff, /* flag: the length of the name, if that is less */
};

/* The entries that one reading of a file has found in the folder. */
struct sum {
	SHA2_CTX c;
	size_t n;
};

/* --- bytes ------------------------------------------------------------------ */

struct index {
	int fd;
	unsigned char data[16384];
	size_t at, len;
	size_t left; /* bytes that may still be read */
	uint32_t version, entries;
	size_t hash; /* bytes of an object's name */
	unsigned char
		fixed[STAT_SIZE + HASH_MOST]; /* what the entry read last begins with */
	char name[NAME_MOST + 1]; /* of the entry that was read last */
	size_t name_len;
	struct sum *sum; /* of the entries in the folder; NULL: the first is enough */
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

static bool take_bytes(struct index *x, unsigned char *out, size_t n)
{
	while (n) {
		size_t here = x->len - x->at < n ? x->len - x->at : n;

		memcpy(out, x->data + x->at, here);
		x->at += here;
		out += here;
		n -= here;
		if (n) {
			int byte = next_byte(x);

			if (byte < 0)
				return false;
			*out++ = (unsigned char)byte;
			n--;
		}
	}
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

	if (!take_bytes(x, x->fixed, STAT_SIZE + x->hash) ||
	    (flags = take_number(x, 2)) < 0)
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

/* Its name, mode and object. */
static void add_entry(struct index *x)
{
	SHA256Update(&x->sum->c, (const uint8_t *)x->name, x->name_len + 1);
	SHA256Update(&x->sum->c, x->fixed + MODE_AT, 4);
	SHA256Update(&x->sum->c, x->fixed + STAT_SIZE, x->hash);
	x->sum->n++;
}

/* Whether the entry read last is in the folder: 0; else how its name is ordered. */
static int compare(const struct index *x, const char *folder, size_t n)
{
	int order = strncmp(x->name, folder, n);

	return order ? order : x->name[n] ? x->name[n] - '/' : 0;
}

static enum tracked look_for(struct index *x, const char *folder)
{
	enum tracked found = TRACKED_NOTHING;
	size_t n = strlen(folder);

	for (uint32_t i = 0; i < x->entries; i++) {
		int order;

		if (!take_entry(x))
			return TRACKED_UNREADABLE;
		order = compare(x, folder, n);
		if (order > 0)
			break;
		/* One without a name takes the place of any that is in a shared index. */
		if (x->sum && (order == 0 || !x->name_len))
			add_entry(x);
		if (order == 0)
			found = TRACKED_SOME;
		if (order == 0 && !x->sum)
			break;
	}
	return found;
}

/* --- files ------------------------------------------------------------------ */

static enum tracked look_with(const char *path, const char *folder, size_t hash,
			      struct sum *sum)
{
	struct index *x = calloc(1, sizeof(*x));
	enum tracked found = TRACKED_UNREADABLE;
	struct stat st;

	if (!x)
		abort();
	x->hash = hash;
	x->sum = sum;
	x->left = BYTES_MOST;
	x->fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (x->fd >= 0 && !fstat(x->fd, &st) && S_ISREG(st.st_mode) &&
	    st.st_size <= BYTES_MOST && take_number(x, 4) == 0x44495243 /* DIRC */) {
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

/* In no order, since a folder lists its files in any. */
static void add_sum(uint8_t total[SHA256_DIGEST_LENGTH], struct sum *x)
{
	uint8_t digest[SHA256_DIGEST_LENGTH];

	SHA256Final(digest, &x->c);
	for (size_t i = 0; x->n && i < sizeof(digest); i++)
		total[i] = (uint8_t)(total[i] + digest[i]);
}

/* The file does not say whether its objects' names have 20 bytes (SHA-1) or 32
 * (SHA-256): both are tried, and the one with which the entries can be read counts.
 * With both that is so only where no entry has to be read. */
static enum tracked look_file(const char *path, const char *folder, uint8_t *total)
{
	struct sum x = { 0 }, y = { 0 };
	enum tracked a, b = TRACKED_UNREADABLE;

	SHA256Init(&x.c);
	SHA256Init(&y.c);
	a = look_with(path, folder, 20, total ? &x : NULL);
	if (a != TRACKED_SOME)
		b = look_with(path, folder, 32, total ? &y : NULL);
	if (total)
		add_sum(total, b == TRACKED_UNREADABLE ? &x : &y);
	return b == TRACKED_UNREADABLE ? a : b;
}

/* The index, and what a split index shares. */
static enum tracked look_folder(const char *git, const char *folder, uint8_t *total)
{
	enum tracked found = TRACKED_NOTHING, one = TRACKED_NOTHING;
	char path[4096];
	struct dirent *e;
	DIR *dir = opendir(git);

	if (!dir)
		return TRACKED_UNREADABLE;
	while ((one == TRACKED_NOTHING || (total && one == TRACKED_SOME)) &&
	       (e = readdir(dir)))
		if ((!strcmp(e->d_name, "index") ||
		     !strncmp(e->d_name, "sharedindex.", 12)) &&
		    paths_join(path, git, e->d_name)) {
			one = look_file(path, folder, total);
			found = one ? one : found;
		}
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

/* `total`, zeroed, gets the sum; NULL: whether anything is tracked is enough. */
static enum tracked look(const char *folder, uint8_t *total)
{
	char top[4096], git[4096];

	if (!paths_join(top, folder, ""))
		return TRACKED_UNREADABLE;
	while (paths_up(top))
		if (git_folder(top, git))
			return look_folder(git, folder + strlen(top) + (top[1] != '\0'),
					   total);
	return TRACKED_NOTHING;
}

enum tracked tracked_look(const char *folder)
{
	return look(folder, NULL);
}

/* --- the sum ---------------------------------------------------------------- */

/* A branch of one's own goes back to its entries, but leaves the settings of another one
 * that was there: they count as they are. */
static void add_settings(const char *folder, uint8_t total[SHA256_DIGEST_LENGTH])
{
	char path[4096], *bytes = malloc(SETTINGS_MOST);
	struct sum x = { .n = 1 };
	int fd = -1;
	ssize_t n;

	if (!bytes)
		abort();
	if (paths_join(path, folder, "cadre.toml"))
		fd = open(path,
			  O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, bytes, SETTINGS_MOST);
	SHA256Init(&x.c);
	if (n >= 0)
		SHA256Update(&x.c, (const uint8_t *)bytes, (size_t)n);
	add_sum(total, &x);
	if (fd >= 0)
		close(fd);
	free(bytes);
}

void tracked_sum(const char *folder, char sum[TRACKED_SUM + 1])
{
	uint8_t total[SHA256_DIGEST_LENGTH] = { 0 };
	enum tracked found = look(folder, total);

	snprintf(sum, TRACKED_SUM + 1, "%s", found == TRACKED_UNREADABLE ? "?" : "-");
	if (found != TRACKED_SOME)
		return;
	add_settings(folder, total);
	for (size_t i = 0; i < sizeof(total); i++)
		snprintf(sum + 2 * i, 3, "%02x", total[i]);
}
