#include "core/machine/vm/disk_layer.h"

#include <dirent.h>
#include <endian.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The head of the file as docs/interop/qcow2.txt of QEMU has it, big-endian. */
struct head {
	uint32_t magic, version;
	uint64_t below_at;
	uint32_t below_size, cluster_bits;
	uint64_t size;
	uint32_t crypt, l1_size;
	uint64_t l1_at;
};

enum { MAGIC = 0x514649fb };

int layer_number(const char *name)
{
	char *end;
	long n = name[0] >= '0' && name[0] <= '9' ? strtol(name, &end, 10) : -1;

	return n >= 0 && n < INT_MAX && !strcmp(end, ".qcow2") ? (int)n : -1;
}

int layer_highest(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int highest = -1;

	while (d && (e = readdir(d))) {
		int n = layer_number(e->d_name);

		highest = n > highest ? n : highest;
	}
	if (d)
		closedir(d);
	return highest;
}

static int open_head(const char *path, struct head *h)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && pread(fd, h, sizeof(*h), 0) == sizeof(*h) &&
	    be32toh(h->magic) == MAGIC)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int64_t layer_size(const char *path)
{
	struct head h;
	int fd = open_head(path, &h);

	if (fd < 0)
		return -1;
	close(fd);
	return (int64_t)be64toh(h.size);
}

const char *layer_below(struct arena *a, const char *path)
{
	char name[1024] = "", full[PATH_MAX];
	const char *slash = strrchr(path, '/');
	struct head h;
	int fd = open_head(path, &h);
	uint32_t size = fd < 0 ? 0 : be32toh(h.below_size);

	if (size >= sizeof(name) ||
	    (size && pread(fd, name, size, (off_t)be64toh(h.below_at)) != (ssize_t)size))
		size = 0;
	if (fd >= 0)
		close(fd);
	if (!size || !slash)
		return NULL;
	name[size] = '\0';
	if (!realpath(name[0] == '/' ? name
				     : arena_printf(a, "%.*s/%s", (int)(slash - path),
						    path, name),
		      full))
		return NULL;
	return arena_strdup(a, full);
}

/* A layer is empty if no entry of its first table leads to a second one. */
bool layer_is_empty(const char *path)
{
	struct head h;
	int fd = open_head(path, &h);
	uint64_t entry;
	bool empty = fd >= 0;

	for (uint32_t i = 0; empty && i < be32toh(h.l1_size); i++)
		empty = pread(fd, &entry, sizeof(entry),
			      (off_t)be64toh(h.l1_at) + i * 8) == sizeof(entry) &&
			entry == 0;
	if (fd >= 0)
		close(fd);
	return empty;
}
