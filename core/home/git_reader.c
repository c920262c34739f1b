#include "core/home/git_reader.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"

enum {
	BYTES_MOST =
		512 << 20, /* of one index; git's own of a million files has 100 MB */
	MTIME_AT = 8, /* offsets in the bytes before the object's name */
	SIZE_AT = 36,
	EXTENDED = 0x4000, /* flag: two more bytes of flags */
	NAME_BITS = 0x0fff, /* flag: the length of the name, if that is less */
	SKIPPED = 0x4000, /* flag of the two more: the file is not to be there */
};

/* --- bytes ------------------------------------------------------------------ */

/* The next byte, or -1 behind the last. */
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

bool git_reader_bytes(struct git_reader *x, unsigned char *out, size_t n)
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

int64_t git_reader_number(struct git_reader *x, int n)
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

/* Reads how many bytes of the previous name are dropped, as version 4 writes it. */
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

bool git_reader_entry(struct git_reader *x)
{
	size_t fixed = GIT_STAT_SIZE + x->hash + 2;
	int64_t flags, more = 0;

	if (!git_reader_bytes(x, x->fixed, GIT_STAT_SIZE + x->hash) ||
	    (flags = git_reader_number(x, 2)) < 0)
		return false;
	if (flags & EXTENDED) {
		if (x->version < 3 || (more = git_reader_number(x, 2)) < 0)
			return false;
		fixed += 2;
	}
	x->is_skipped = more & SKIPPED;
	if (!take_name(x))
		return false;
	if ((flags & NAME_BITS) !=
	    (x->name_len < NAME_BITS ? (int64_t)x->name_len : NAME_BITS))
		return false;
	/* Up to the next multiple of eight, one NUL of which is read. */
	return x->version == 4 ||
	       git_reader_bytes(x, NULL, 7 - (fixed + x->name_len) % 8);
}

bool git_reader_begin(struct git_reader *x, int fd, size_t hash)
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

/* --- all entries -------------------------------------------------------------- */

static size_t bytes_left(const struct git_reader *x)
{
	return x->left + x->len - x->at;
}

/* Whether the entries need no extension to be understood.  The extensions follow the
 * entries; the file's checksum is last.  An extension whose name begins with no capital
 * letter changes the meaning of the entries. */
static bool git_reader_is_whole(struct git_reader *x)
{
	while (bytes_left(x) > x->hash) {
		int64_t word = git_reader_number(x, 4), size = git_reader_number(x, 4);

		if (word >> 24 < 'A' || word >> 24 > 'Z' || size < 0 ||
		    !git_reader_bytes(x, NULL, (size_t)size))
			return false;
	}
	return bytes_left(x) == x->hash;
}

static uint32_t git_reader_number_at(const unsigned char *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
	       (uint32_t)bytes[2] << 8 | bytes[3];
}

static bool tell_entry(const struct git_reader *x,
		       bool (*each)(void *with, const struct git_entry *entry),
		       void *with)
{
	const unsigned char *fixed = x->fixed;
	const struct git_entry entry = {
		.name = x->name,
		.mode = git_reader_number_at(fixed + GIT_MODE_AT),
		.size = git_reader_number_at(fixed + SIZE_AT),
		.mtime = git_reader_number_at(fixed + MTIME_AT),
		.mtime_ns = git_reader_number_at(fixed + MTIME_AT + 4),
		.is_skipped = x->is_skipped,
	};

	return x->name_len && each(with, &entry);
}

bool git_reader_each(int fd, size_t hash,
		     bool (*each)(void *with, const struct git_entry *entry), void *with)
{
	struct git_reader *x = xcalloc(1, sizeof(*x));
	bool good = lseek(fd, 0, SEEK_SET) == 0 && git_reader_begin(x, fd, hash);

	for (uint32_t i = 0; good && i < x->entries; i++)
		good = git_reader_entry(x) && tell_entry(x, each, with);
	good = good && git_reader_is_whole(x);
	free(x);
	return good;
}
