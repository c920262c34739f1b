/*
 * git_index - reads any bytes as the index of a git repository, without a shared index, and
 * with a shared index of the same bytes.
 *
 * tracked_look() returns one of its three results, and returns the same result again for the
 * same index. The checksum of the folder always has its full length.
 */
#include <assert.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/home/git_index.h"
#include "tests/lib/place.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[64], folder[96], own[128], shared[160];

static void remove_root(void)
{
	temp_remove(root);
}

/* Makes a repository with a folder. The name of the shared index has a hash of zeros only,
 * since a split index without a base names this hash. */
static void make_repository(void)
{
	char git[96];

	if (*root)
		return;
	if (temp_make(root, "git_index") < 0 || atexit(remove_root))
		abort();
	snprintf(git, sizeof(git), "%s/.git", root);
	snprintf(folder, sizeof(folder), "%s/a", root);
	snprintf(own, sizeof(own), "%s/index", git);
	snprintf(shared, sizeof(shared), "%s/sharedindex.%040d", git, 0);
	if (mkdir(git, 0700) || mkdir(folder, 0700))
		abort();
}

static void put(const char *path, const uint8_t *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || close(fd))
		abort();
}

static void look(void)
{
	char sum[TRACKED_SUM + 1], again[TRACKED_SUM + 1];
	enum tracked found = tracked_look(folder);

	assert(found == TRACKED_NOTHING || found == TRACKED_SOME ||
	       found == TRACKED_UNREADABLE);
	assert(tracked_look(folder) == found);
	git_tracked_sum(folder, true, sum);
	git_tracked_sum(folder, true, again);
	assert(strlen(sum) == TRACKED_SUM && strcmp(sum, again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	make_repository();
	put(own, data, size);
	unlink(shared);
	look();
	put(shared, data, size);
	look();
	return 0;
}
