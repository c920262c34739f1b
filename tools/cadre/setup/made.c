/*
 * made - the folders that setup made, so that removing takes no other away.
 *
 * A file's bytes tell whether setup made it; a folder has none.  So the paths of folders are noted
 * in the user's state, a line each, before the folders are made: a setup may be killed at any
 * moment.  Folders whose paths cannot be noted stay.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/home/paths.h"
#include "storage/durable.h"
#include "tools/cadre/setup/setup.h"

enum { PATIENCE_MS = 60000 };

/* --- one at a time ------------------------------------------------------------------------ */

int setup_lock(bool make, struct fault *f)
{
	char dir[4096], notes[4096];
	int fd, rc = 0;

	if (!paths_user_state(dir) || !paths_join(notes, dir, "setup-folders") ||
	    (make && dir_make_all(dir, 0700)))
		return -1;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	for (int left = PATIENCE_MS; left > 0 && (rc = flock(fd, LOCK_EX | LOCK_NB)) &&
				     (errno == EWOULDBLOCK || errno == EINTR);
	     left -= 10)
		poll(NULL, 0, 10);
	if (rc && (errno == EWOULDBLOCK || errno == EINTR)) {
		close(fd);
		fault_set(f, FAULT_UNAVAILABLE, "", "another cadre setup is at work");
		fault_hint(f, "Try again when it has ended; lslocks shows it.");
		return -1;
	}
	setup_target_sweep(notes);
	return fd;
}

/* --- notes ---------------------------------------------------------------------------------- */

static bool made_read_notes(struct setup_target *t)
{
	char dir[4096], path[4096];
	struct fault ignored = { 0 };

	return paths_user_state(dir) && !access(dir, W_OK) &&
	       paths_join(path, dir, "setup-folders") &&
	       setup_target_find(t, path, path, NULL, &ignored) == 0 &&
	       setup_target_read(t, &ignored) == 0;
}

/* The offset of a folder's line in the notes; SIZE_MAX: the folder has no line. */
static size_t made_find_line(const struct text *notes, const char *dir)
{
	size_t n = strlen(dir);

	for (const char *s = notes->len ? notes->data : ""; *s;
	     s += strcspn(s, "\n"), s += *s == '\n')
		if (!strncmp(s, dir, n) && s[n] == '\n')
			return (size_t)(s - notes->data);
	return SIZE_MAX;
}

static bool is_noted(const char *dir)
{
	struct setup_target t = { 0 };
	bool is = made_read_notes(&t) && made_find_line(&t.before, dir) != SIZE_MAX;

	setup_target_release(&t);
	return is;
}

/* Notes a folder, or takes it out of the notes. */
static void made_note(const char *dir, bool made)
{
	struct setup_target t = { 0 };
	struct fault ignored = { 0 };
	size_t at;

	if (!strchr(dir, '\n') && made_read_notes(&t)) {
		at = made_find_line(&t.before, dir);
		if (made && at == SIZE_MAX)
			text_addf(&t.draft.text, "%s\n", dir);
		if (!made && at != SIZE_MAX)
			draft_splice(&t.draft, at, at + strlen(dir) + 1, "", 0);
		t.draft.there = t.draft.text.len > 0;
		if (setup_target_changed(&t))
			setup_target_write(&t, &ignored);
	}
	setup_target_release(&t);
}

/* --- folders --------------------------------------------------------------------------------- */

int setup_made_folders(const char *path, struct fault *f)
{
	char dir[4096];

	snprintf(dir, sizeof(dir), "%s", path);
	if (!paths_up(dir) || !access(dir, F_OK))
		return 0;
	if (setup_made_folders(dir, f) < 0)
		return f->code;
	made_note(dir, true);
	if (mkdir(dir, 0777)) {
		int why = errno;

		made_note(dir, false);
		errno = why;
		return why == EEXIST ? 0
				     : fault_set(f, FAULT_IO, "",
						 "cannot make %.150s: %m", dir);
	}
	return dir_sync_above(dir)
		       ? fault_set(f, FAULT_IO, "", "cannot sync %.150s: %m", dir)
		       : 0;
}

void setup_made_remove(const char *path)
{
	char dir[4096];

	snprintf(dir, sizeof(dir), "%s", path);
	/* A folder that is gone may be noted: setup was killed between the two. */
	while (paths_up(dir) && is_noted(dir) && (!rmdir(dir) || errno == ENOENT)) {
		dir_sync_above(dir);
		made_note(dir, false);
	}
}
