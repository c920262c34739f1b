#include "core/machine/git_refs.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	NAME_MOST = 255, /* bytes of one name in a path */
	TEXT_MOST = 1024, /* bytes of a ref's file, and of a line */
	PACKED_MOST = 16 << 20, /* bytes of packed-refs that are read */
};

static const char branches[] = "refs/heads/", stash[] = "refs/stash";

/* --- files -------------------------------------------------------------------------- */

int git_open(const char *path)
{
	int folder = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), git;

	if (folder < 0)
		return -1;
	git = openat(folder, ".git", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	close(folder);
	return git;
}

/* Opens the name that `path` begins with, and moves it behind that; takes `dir`. */
static int open_next(int dir, const char **path)
{
	size_t n = strcspn(*path, "/");
	bool is_last = !(*path)[n];
	char name[NAME_MOST + 1];
	int fd = -1;

	snprintf(name, sizeof(name), "%.*s", (int)n, *path);
	if (n && n <= NAME_MOST && strcmp(name, ".") && strcmp(name, ".."))
		fd = openat(dir, name,
			    (is_last ? O_RDONLY | O_NONBLOCK | O_NOCTTY
				     : O_PATH | O_DIRECTORY) |
				    O_NOFOLLOW | O_CLOEXEC);
	close(dir);
	*path += is_last ? n : n + 1;
	return fd;
}

int git_open_file(int git, const char *path)
{
	int fd = *path ? fcntl(git, F_DUPFD_CLOEXEC, 0) : -1;
	struct stat st;

	while (fd >= 0 && *path)
		fd = open_next(fd, &path);
	if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))
		return fd;
	close(fd);
	return -1;
}

/* Reads the text of an open file, or of none; takes the descriptor. */
static bool git_refs_read_text(int fd, char text[TEXT_MOST])
{
	ssize_t n = fd < 0 ? -1 : read(fd, text, TEXT_MOST - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* --- refs --------------------------------------------------------------------------- */

/* Takes the name of a commit (SHA-1 or SHA-256) that `text` begins with: its length, or 0. */
static size_t take_id(const char *text, char id[GIT_ID_MAX + 1])
{
	size_t n = strspn(text, "0123456789abcdef");

	if ((n != 40 && n != 64) || (text[n] && !isspace((unsigned char)text[n])))
		return 0;
	memcpy(id, text, n);
	id[n] = '\0';
	return n;
}

/* Looks for a ref among those that git has packed into one file. */
static void read_packed(int git, const char *ref, char id[GIT_ID_MAX + 1])
{
	int fd = git_open_file(git, "packed-refs");
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char line[TEXT_MOST], found[GIT_ID_MAX + 1];
	size_t n, left = PACKED_MOST;

	if (fd >= 0 && !file)
		close(fd);
	while (file && !*id && left && fgets(line, sizeof(line), file)) {
		left -= strlen(line) < left ? strlen(line) : left;
		line[strcspn(line, "\n")] = '\0';
		n = take_id(line, found);
		if (n && line[n] == ' ' && !strcmp(line + n + 1, ref))
			memcpy(id, found, n + 1);
	}
	if (file)
		fclose(file);
}

static void read_ref(int git, const char *ref, char id[GIT_ID_MAX + 1])
{
	char text[TEXT_MOST];

	if (git_refs_read_text(git_open_file(git, ref), text))
		take_id(text, id);
	else
		read_packed(git, ref, id);
}

void git_refs_read(int git, struct git_refs *refs)
{
	char text[TEXT_MOST];

	*refs = (struct git_refs){ 0 };
	read_ref(git, stash, refs->stash);
	if (!git_refs_read_text(git_open_file(git, "HEAD"), text) ||
	    take_id(text, refs->head))
		return;
	text[strcspn(text, "\n")] = '\0';
	if (!strncmp(text, "ref: ", 5) && !strncmp(text + 5, branches, strlen(branches)))
		read_ref(git, text + 5, refs->head);
}

/* --- kept in a file ----------------------------------------------------------------- */

bool git_refs_save(int fd, const struct git_refs *refs)
{
	return dprintf(fd, "%s\n%s\n", refs->head, refs->stash) > 0;
}

void git_refs_load(const char *path, struct git_refs *refs)
{
	char text[TEXT_MOST], *end;

	*refs = (struct git_refs){ 0 };
	if (!git_refs_read_text(open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), text) ||
	    !(end = strchr(text, '\n')))
		return;
	take_id(text, refs->head);
	take_id(end + 1, refs->stash);
}
