#include "core/machine/golden.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads the path behind `gitdir:` in the file `.git`. Returns false if the file contains no
 * such path; git refuses such a file too. */
static bool read_gitdir(int dir, char out[PATH_MAX])
{
	static const char key[] = "gitdir:";
	char text[PATH_MAX + 16];
	int fd = openat(dir, ".git", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	const char *at = text + strlen(key);

	if (fd >= 0)
		close(fd);
	if (n < (ssize_t)strlen(key) || strncmp(text, key, strlen(key)) != 0)
		return false;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	at += strspn(at, " ");
	snprintf(out, PATH_MAX, "%.*s", PATH_MAX - 1, at);
	return *out;
}

static bool read_target(int dir, char out[PATH_MAX])
{
	ssize_t n = readlinkat(dir, ".git", out, PATH_MAX - 1);

	out[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* Reads the path to which `.git` leads. Returns false if `.git` is neither a file nor a link. */
static bool read_git(int dir, char out[PATH_MAX])
{
	struct stat st;

	if (fstatat(dir, ".git", &st, AT_SYMLINK_NOFOLLOW))
		return false;
	return S_ISLNK(st.st_mode) ? read_target(dir, out)
				   : S_ISREG(st.st_mode) && read_gitdir(dir, out);
}

/* Makes the path `git` absolute and without `..`, if the path exists. A relative path begins at
 * the folder `path`. */
static void make_whole(const char *path, char git[PATH_MAX])
{
	char joined[2 * PATH_MAX], whole[PATH_MAX];

	snprintf(joined, sizeof(joined), "%s/%s", path, git);
	if (realpath(*git == '/' ? git : joined, whole))
		memcpy(git, whole, sizeof(whole));
}

static int golden_refuse(const char *path, char *git, const char *where, struct fault *f)
{
	const char *what = "uses, by its .git, the folder of";
	char *end;

	if ((end = strstr(git, "/.git/worktrees/")))
		what = "is a linked worktree of";
	else if ((end = strstr(git, "/.git/modules/")))
		what = "is a submodule of";
	if (end)
		*end = '\0';
	fault_set(f, FAULT_INVALID, where,
		  "%.80s %s %.80s: commits in a copy would move the original's branch",
		  path, what, git);
	return fault_hint(f, "`git clone` it to a new folder, and name that folder%s",
			  end ? ", or name the main worktree" : "");
}

int golden_check(const char *path, const char *where, struct fault *f)
{
	int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char git[PATH_MAX];
	bool leads;

	if (dir < 0)
		return 0;
	leads = read_git(dir, git);
	close(dir);
	if (!leads)
		return 0;
	make_whole(path, git);
	return golden_refuse(path, git, where, f);
}

int folder_check(const char *path, const char *where, struct fault *f)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return 0;
	fault_set(f, FAULT_INVALID, where, "%.180s is not a folder", path);
	return fault_hint(f, "Make the folder, or name another one.");
}
