/*
 * git_index - any bytes as a git index, with names of objects of 20 and of 32 bytes.
 *
 * Every entry that is told has a name that ends, and only an index that can be read to its
 * last byte is told as whole.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/home/git_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct told {
	size_t n, most;
};

static bool count(void *with, const struct git_entry *entry)
{
	struct told *told = with;
	size_t len = strnlen(entry->name, GIT_NAME_MAX + 1);

	assert(len && len <= GIT_NAME_MAX);
	return ++told->n < told->most;
}

/* How many entries the header says there are. */
static uint32_t entries_of(const uint8_t *data)
{
	return (uint32_t)data[8] << 24 | (uint32_t)data[9] << 16 |
	       (uint32_t)data[10] << 8 | data[11];
}

static void read_it(int fd, const uint8_t *data, size_t size, size_t hash)
{
	struct told told = { .most = SIZE_MAX };

	if (!git_reader_each(fd, hash, count, &told))
		return;
	assert(size >= 12 + hash && !memcmp(data, "DIRC", 4));
	assert(told.n == entries_of(data));
	/* The reading ends where that is wished. */
	if (told.n) {
		told = (struct told){ .most = 1 };
		assert(!git_reader_each(fd, hash, count, &told) && told.n == 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("index", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, data, size) == (ssize_t)size) {
		read_it(fd, data, size, 20);
		read_it(fd, data, size, 32);
	}
	if (fd >= 0)
		close(fd);
	return 0;
}
