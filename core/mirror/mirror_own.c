/* mirror_own - finds out which team a folder belongs to, and has it moved where it is due. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/mirror/mirror.h"
#include "core/mirror/mirror_file_inside.h"
#include "core/mirror/mirror_inside.h"

enum {
	SETTLE_MS = 10000,
	STEP_MS = 50,
	LOOK_MS = 5, /* between two looks at what another process does */
	HEAD = 1024, /* bytes of TEAM.md that tell its row */
};

/* --- whose a folder is ------------------------------------------------------------- */

static int64_t folder_row(const void *self, const char *name, struct fault *f)
{
	const struct home *home = self;
	int root = open(home->vault, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = -1;
	char path[FILES_PATH], head[HEAD];
	ssize_t n = 0;

	(void)f; /* a page that cannot be read says nothing; the mirror writes it anew */
	snprintf(path, sizeof(path), "teams/%.64s/TEAM.md", name);
	if (root >= 0) {
		fd = files_open_below(root, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
		close(root);
	}
	if (fd >= 0) {
		n = read(fd, head, sizeof(head));
		close(fd);
	}
	return n > 0 ? page_number(head, (size_t)n, "row: ") : 0;
}

/* --- bringing it up to date -------------------------------------------------------- */

struct wish {
	const struct home *home;
	struct store *store;
	const char *name;
	int64_t team; /* 0: none */
};

/* Whether the mirror has read all changes of teams: 1, 0, negative. */
static int is_followed(const void *self, struct store *store, struct fault *f)
{
	struct mirror_lag_row lag;
	int rc = mirror_read_lag(self, store, &lag, f);

	return rc > 0 ? lag.folders == 0 : rc;
}

/* Whether the process that mirrors has done all that was to be done, as far as others can
 * see: 1, 0, negative. */
static int mirror_own_is_done(const struct wish *w, struct fault *f)
{
	if (folder_row(w->home, w->name, f) == w->team)
		return 1;
	return is_followed(w->home, w->store, f);
}

/* Ends a step of this process: the team's page is written anew where a person took it away
 * or wrote into it. */
static int own_finish(const struct wish *w, struct mirror *m)
{
	int rc = w->team ? show_team(&m->show, w->team) : 0;

	if (rc >= 0)
		rc = files_commit(&m->show.files, &m->show.call.fault);
	files_forget(&m->show.files);
	return rc < 0 ? rc : mirror_finish_summaries(m);
}

/* Takes a step of the mirror; if another process mirrors, looks whether that process has
 * done the work.  1 when the work is done, 0, or negative. */
static int try_settle(const struct wish *w, struct mirror *m, struct fault *f)
{
	bool more = false;
	int rc = mirror_step(m, w->store, STEP_MS, &more, f);

	if (rc < 0)
		return rc;
	if (!m->locked)
		return mirror_own_is_done(w, f);
	if (more)
		return 0;
	if ((rc = own_finish(w, m)) < 0)
		*f = m->show.call.fault;
	return rc < 0 ? rc : 1;
}

static int own_settle(const void *self, struct store *store, const char *name,
		      int64_t team, struct fault *f)
{
	struct wish w = { .home = self, .store = store, .name = name, .team = team };
	const int64_t end = clock_steady_ms() + SETTLE_MS;
	struct mirror *m = NULL;
	int rc;

	if ((rc = mirror_open(&m, w.home, f)) < 0)
		return rc;
	m->direct = true;
	while (rc >= 0 && (rc = try_settle(&w, m, f)) == 0) {
		if (clock_steady_ms() >= end) {
			rc = fault_set(f, FAULT_UNAVAILABLE, "/path",
				       "the folder teams/%.64s is not up to date yet",
				       name);
			f->retry_after_ms = 1000;
		} else if (!m->locked)
			poll(NULL, 0, LOOK_MS);
	}
	mirror_close(m);
	return rc < 0 ? rc : 0;
}

void mirror_attend(struct home *home)
{
	home->folders = (struct team_folders){
		.self = home,
		.row = folder_row,
		.settle = own_settle,
		.followed = is_followed,
	};
	home->settings.folders = &home->folders;
}
