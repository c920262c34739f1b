#include "core/home/tracked.h"

#include <fcntl.h>
#include <sha2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/home/git_index.h"
#include "core/home/home_config.h"
#include "core/home/paths.h"
#include "core/home/tree.h"

/* The repository's folder, for the tree whose top is `top`. */
static bool git_folder(const char *top, char out[4096])
{
	struct stat st;

	if (!paths_join(out, top, ".git") || stat(out, &st))
		return false;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode);
	return tree_git(top, out);
}

/* Finds the next repository above `top`, which begins as `folder` and becomes the top of
 * that tree, and the folder's place in the tree. */
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

bool tracked_may_be(const char *folder)
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

/* Reads all repositories around the folder, since an outer one can track files in the
 * tree of an inner one and check them out there.  `each` (may be NULL) is called for
 * each. */
static enum tracked tracked_look_around(const char *folder, SHA2_CTX *sum,
					void (*each)(enum tracked found, const char *git,
						     struct git_rows *rows,
						     SHA2_CTX *sum))
{
	enum tracked all = TRACKED_NOTHING;
	char top[4096], git[4096];
	const char *below;

	if (!paths_join(top, folder, ""))
		return TRACKED_UNREADABLE;
	while ((each || all != TRACKED_SOME) && next_git(folder, top, git, &below)) {
		struct git_rows rows = { 0 };
		enum tracked found = git_index_look(git, below, each ? &rows : NULL);

		if (each)
			each(found, git, &rows, sum);
		git_rows_release(&rows);
		if (found == TRACKED_SOME || all == TRACKED_NOTHING)
			all = found;
	}
	return all;
}

enum tracked tracked_look(const char *folder)
{
	return tracked_look_around(folder, NULL, NULL);
}

/* --- the sum ---------------------------------------------------------------- */

/* The sum covers the content of cadre.toml, since a foreign one can be there without an
 * entry: after a checkout back, by a pull that failed halfway, by `git restore`. */
static void add_settings(const char *folder, SHA2_CTX *sum)
{
	char path[4096], *bytes = xmalloc(CONFIG_FILE_MOST);
	int fd = -1;
	ssize_t n;

	if (paths_join(path, folder, config_file_name))
		fd = open(path,
			  O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, bytes, CONFIG_FILE_MOST);
	SHA256Update(sum, (const uint8_t *)&n, sizeof(n));
	if (n >= 0)
		SHA256Update(sum, (const uint8_t *)bytes, (size_t)n);
	if (fd >= 0)
		close(fd);
	free(bytes);
}

/* Orders entries by name; a file that git is merging has several. */
static int tracked_by_name(const void *a, const void *b)
{
	const struct git_row *const *x = a, *const *y = b;
	size_t n = (*x)->len < (*y)->len ? (*x)->len : (*y)->len;

	return memcmp((*x)->bytes, (*y)->bytes, n);
}

/* Adds entries in the order of their names: a split index has them in two files. */
static void add_rows(struct git_rows *rows, SHA2_CTX *sum)
{
	if (rows->n)
		qsort(rows->all, rows->n, sizeof(struct git_row *), tracked_by_name);
	for (size_t i = 0; i < rows->n; i++)
		SHA256Update(sum, rows->all[i]->bytes, rows->all[i]->len);
	SHA256Update(sum, (const uint8_t *)"", 1);
}

/* Adds inode, size and times of an index that cannot be read, so that another file, or a
 * write to this one, is seen. */
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

static void write_sum(SHA2_CTX *c, char sum[TRACKED_SUM + 1])
{
	uint8_t digest[SHA256_DIGEST_LENGTH];

	SHA256Final(digest, c);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(sum + 2 * i, 3, "%02x", digest[i]);
}

void tracked_sum(const char *folder, char sum[TRACKED_SUM + 1])
{
	SHA2_CTX c;

	SHA256Init(&c);
	tracked_look_around(folder, &c, add_index);
	add_settings(folder, &c);
	write_sum(&c, sum);
}

void tracked_sum_settings(const char *folder, char sum[TRACKED_SUM + 1])
{
	SHA2_CTX c;

	SHA256Init(&c);
	add_settings(folder, &c);
	write_sum(&c, sum);
}
