/*
 * git_refs - any bytes as `HEAD`, as `packed-refs` behind the first NUL, and as a stamp.
 *
 * The answer is the name of a commit, or none.
 */
#include <assert.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/machine/git_refs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/fuzz-git-refs.XXXXXX";

static void leave(void)
{
	int dir = open(folder, O_PATH | O_CLOEXEC);

	unlinkat(dir, ".git/HEAD", 0);
	unlinkat(dir, ".git/packed-refs", 0);
	unlinkat(dir, ".git", AT_REMOVEDIR);
	close(dir);
	rmdir(folder);
}

static int begin(void)
{
	int dir;

	assert(mkdtemp(folder));
	atexit(leave);
	dir = open(folder, O_PATH | O_CLOEXEC);
	assert(dir >= 0 && mkdirat(dir, ".git", 0700) == 0);
	close(dir);
	return git_open(folder);
}

static void put(int git, const char *name, const uint8_t *data, size_t size)
{
	int fd = openat(git, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
}

static void see(const struct git_refs *refs)
{
	const char *const ids[] = { refs->head, refs->stash };

	for (int i = 0; i < 2; i++) {
		size_t n = strnlen(ids[i], GIT_ID_MAX + 1);

		assert(n == 0 || n == 40 || n == 64);
		assert(strspn(ids[i], "0123456789abcdef") == n);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int git = -1;
	const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
	size_t head = nul ? (size_t)(nul - data) : size;
	char path[sizeof(folder) + 16];
	struct git_refs refs;

	if (git < 0)
		git = begin();
	put(git, "HEAD", data, head);
	put(git, "packed-refs", data + head + (nul != NULL), size - head - (nul != NULL));
	git_refs_read(git, &refs);
	see(&refs);
	snprintf(path, sizeof(path), "%s/.git/HEAD", folder);
	git_refs_load(path, &refs);
	see(&refs);
	return 0;
}
