/*
 * git_reader - reads the entries of a git index, one after the other.
 *
 * Versions 2 to 4.  Every byte may be an enemy's: all is checked and bounded.
 */
#ifndef CORE_HOME_GIT_READER_H
#define CORE_HOME_GIT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GIT_NAME_MAX = 4096,
	GIT_ENTRIES_MAX = 4000000,
	GIT_HASH_MAX = 32,
	GIT_STAT_SIZE = 40, /* bytes of an entry before its object's name */
	GIT_MODE_AT = 24, /* offset of the mode in these bytes */
};

struct git_reader {
	int fd;
	unsigned char data[16384];
	size_t at, len;
	size_t left; /* bytes that may still be read */
	uint32_t version, entries;
	size_t hash; /* bytes of an object's name */
	/* The last entry read: the fields before its name, and its name. */
	unsigned char fixed[GIT_STAT_SIZE + GIT_HASH_MAX];
	char name[GIT_NAME_MAX + 1];
	size_t name_len;
	bool is_skipped;
};

/* Begins to read an open file, or none, and sees that it is an index whose objects have
 * names of `hash` bytes. */
bool git_reader_begin(struct git_reader *x, int fd, size_t hash);

/* Reads the next entry into the reader. */
bool git_reader_entry(struct git_reader *x);

/* Takes `n` bytes; `out` may be NULL. */
bool git_reader_bytes(struct git_reader *x, unsigned char *out, size_t n);

/* Takes a number of `n` bytes, the high one first: -1 behind the end. */
int64_t git_reader_number(struct git_reader *x, int n);

/* An index says of a file how git saw it last (seconds, and the low 32 bits of the size),
 * and whether it is left out of the tree on purpose. */
struct git_entry {
	const char *name;
	uint32_t mode, size, mtime, mtime_ns;
	bool is_skipped;
};

/* Calls `each` for the entries of an open index whose objects have names of `hash` bytes (20
 * or 32), until it returns false.  True if `each` got every entry and the index holds no
 * more.  A split index, or an index with a mandatory extension, gives false. */
bool git_reader_each(int fd, size_t hash,
		     bool (*each)(void *with, const struct git_entry *entry), void *with);

#endif
