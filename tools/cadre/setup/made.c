/*
 * made - the folders that setup made, so that removing takes no other away.
 *
 * A file's bytes tell whether setup made it; a folder has none.  So their paths are noted in
 * the user's state, a line each.  Where that is not possible, they stay.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/home/paths.h"
#include "storage/durable.h"
#include "tools/cadre/setup/setup.h"

enum { MOST = 1 << 20 };

static bool note_path(char out[4096])
{
	char dir[4096];

	return paths_user_state(dir) && paths_join(out, dir, "setup-folders");
}

static void read_notes(const char *path, struct text *out)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	char piece[8192];
	ssize_t n;

	while (fd >= 0 && out->len < MOST && (n = read(fd, piece, sizeof(piece))) > 0)
		text_add(out, piece, (size_t)n);
	if (fd >= 0)
		close(fd);
	text_add(out, "", 0);
}

/* Puts other notes in the place of those that are there. */
static void write_notes(const char *path, const struct text *notes)
{
	char beside[4200];
	int fd;
	bool done;

	snprintf(beside, sizeof(beside), "%s.XXXXXX", path);
	fd = mkostemp(beside, O_CLOEXEC);
	if (fd < 0)
		return;
	done = write(fd, notes->data, notes->len) == (ssize_t)notes->len &&
	       fsync(fd) == 0;
	close(fd);
	if (!done || rename(beside, path))
		unlink(beside);
	else
		dir_sync_above(path);
}

static void note(const char *dir)
{
	struct text notes = { 0 };
	char path[4096], above[4096];

	if (strchr(dir, '\n') || !note_path(path))
		return;
	memcpy(above, path, sizeof(above));
	if (!paths_up(above) || dir_make_all(above, 0700))
		return;
	read_notes(path, &notes);
	text_addf(&notes, "%s\n", dir);
	write_notes(path, &notes);
	text_release(&notes);
}

/* The line of a folder in the notes, or NULL. */
static char *find_line(const struct text *notes, const char *dir)
{
	size_t n = strlen(dir);

	for (char *s = notes->data; *s; s += strcspn(s, "\n"), s += *s == '\n')
		if (!strncmp(s, dir, n) && s[n] == '\n')
			return s;
	return NULL;
}

int setup_made_folders(const char *path, struct fault *f)
{
	char dir[4096];

	snprintf(dir, sizeof(dir), "%s", path);
	if (!paths_up(dir) || !access(dir, F_OK))
		return 0;
	if (setup_made_folders(dir, f) < 0)
		return f->code;
	if (mkdir(dir, 0777))
		return errno == EEXIST ? 0
				       : fault_set(f, FAULT_IO, "",
						   "cannot make %.150s: %m", dir);
	note(dir);
	return dir_sync_above(dir)
		       ? fault_set(f, FAULT_IO, "", "cannot sync %.150s: %m", dir)
		       : 0;
}

void setup_made_remove(const char *path)
{
	struct text notes = { 0 };
	char file[4096], dir[4096], *line;

	if (!note_path(file))
		return;
	read_notes(file, &notes);
	snprintf(dir, sizeof(dir), "%s", path);
	while (paths_up(dir) && (line = find_line(&notes, dir)) && rmdir(dir) == 0) {
		size_t n = strlen(dir) + 1, at = (size_t)(line - notes.data);

		dir_sync_above(dir);
		memmove(line, line + n, notes.len - at - n + 1);
		notes.len -= n;
		write_notes(file, &notes);
	}
	if (!notes.len)
		unlink(file);
	text_release(&notes);
}
