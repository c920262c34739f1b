#include "core/mirror/mirror_losses.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"

static void *grown(void *items, int n, int *room, size_t size)
{
	if (n < *room)
		return items;
	*room = *room ? *room * 2 : 16;
	items = xreallocarray(items, (size_t)*room, size);
	return items;
}

/* --- folders -------------------------------------------------------------------- */

/* The first place whose wd is not below this one. */
static int mirror_losses_find_place(const struct losses *l, int wd)
{
	int low = 0, high = l->n_places;

	while (low < high) {
		int mid = (low + high) / 2;

		if (l->places[mid].wd < wd)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct losses_place *mirror_losses_place_of(struct losses *l, int wd)
{
	int i = mirror_losses_find_place(l, wd);

	return i < l->n_places && l->places[i].wd == wd ? &l->places[i] : NULL;
}

static void mirror_losses_remember(struct losses *l, int wd, const char *path)
{
	struct losses_place *place = mirror_losses_place_of(l, wd);
	int i = mirror_losses_find_place(l, wd);

	if (!place) {
		l->places = grown(l->places, l->n_places, &l->room, sizeof(*l->places));
		place = &l->places[i];
		memmove(place + 1, place, (size_t)(l->n_places++ - i) * sizeof(*place));
		place->wd = wd;
	}
	snprintf(place->path, sizeof(place->path), "%s", path);
}

static void mirror_losses_forget(struct losses *l, struct losses_place *place)
{
	l->n_places--;
	memmove(place, place + 1,
		(size_t)(l->n_places - (place - l->places)) * sizeof(*place));
}

static void mirror_losses_add(struct losses *l, const char *path, int fd, uint32_t mask)
{
	char name[40];
	int wd;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	wd = inotify_add_watch(l->fd, name, mask | IN_ONLYDIR);
	if (wd >= 0)
		mirror_losses_remember(l, wd, path);
	else if (errno != ENOENT) /* ENOENT: the folder is gone already */
		l->partial = true;
}

/* "teams/TEAM/cards" */
static bool holds_cards(const char *path)
{
	const char *last = strrchr(path, '/');

	return last && strcmp(last, "/cards") == 0;
}

void losses_folder(struct losses *l, const char *path, int fd)
{
	if (l->fd >= 0 && strncmp(path, "teams", 5) == 0)
		mirror_losses_add(l, path, fd,
				  IN_DELETE | IN_MOVED_FROM |
					  (holds_cards(path)
						   ? IN_CREATE | IN_CLOSE_WRITE |
							     IN_MOVED_TO
						   : 0));
}

void losses_moved(struct losses *l, const char *from, const char *to)
{
	size_t n = strlen(from);

	for (int i = 0; i < l->n_places; i++) {
		char *path = l->places[i].path, rest[LOSSES_PATH];

		if (strncmp(path, from, n) != 0 || (path[n] && path[n] != '/'))
			continue;
		snprintf(rest, sizeof(rest), "%s", path + n);
		snprintf(path, sizeof(l->places[i].path), "%.90s%.64s", to, rest);
	}
}

/* --- what happened ----------------------------------------------------------------- */

static void lost(struct losses *l, const char *team)
{
	for (int i = 0; i < l->n_teams; i++)
		if (strcmp(l->teams[i], team) == 0)
			return;
	l->teams = grown(l->teams, l->n_teams, &l->teams_room, sizeof(*l->teams));
	snprintf(l->teams[l->n_teams++], LOSSES_TEAM, "%s", team);
}

/* Whether a name could be a file of the mirror's: editors make temporary files beside
 * these. */
static bool may_be_ours(const struct losses_place *place, const struct inotify_event *e)
{
	const char *dot = strrchr(e->name, '.');

	if (e->name[0] == '.') /* the cursor and the like, or an editor's file */
		return *place->path == '\0';
	return e->mask & IN_ISDIR ||
	       (dot && (strcmp(dot, ".md") == 0 || strcmp(dot, ".json") == 0));
}

enum {
	EDITS_MOST = 1000
}; /* saved files noted; after more, the mirror checks every file */

void losses_edited(struct losses *l, const char *folder, const char *name)
{
	const char *dot = strrchr(name, '.');
	char path[LOSSES_PATH];

	/* A card's file has one dot in its name, and the file of a conflict has more. */
	if (!holds_cards(folder) || name[0] == '.' || !dot || strcmp(dot, ".json") != 0 ||
	    strchr(name, '.') != dot)
		return;
	l->all |= l->n_edits == EDITS_MOST;
	if (l->n_edits == EDITS_MOST ||
	    snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		return;
	for (int i = 0; i < l->n_edits; i++)
		if (strcmp(l->edits[i], path) == 0)
			return;
	l->edits = grown(l->edits, l->n_edits, &l->edits_room, sizeof(*l->edits));
	memcpy(l->edits[l->n_edits++], path, sizeof(path));
}

bool losses_next_edit(struct losses *l, char *path, size_t size)
{
	if (!l->n_edits)
		return false;
	snprintf(path, size, "%s", l->edits[--l->n_edits]);
	return true;
}

/* The team is the second part of the path. */
static void lost_at(struct losses *l, const char *path)
{
	char copy[LOSSES_PATH + 260], *rest = copy, *team;

	snprintf(copy, sizeof(copy), "%s", path);
	team = strsep(&rest, "/") ? strsep(&rest, "/") : NULL;
	if (!team)
		l->all = true;
	else if (team[0] != '.' && strlen(team) < LOSSES_TEAM)
		lost(l, team);
}

static void notice(struct losses *l, const struct inotify_event *e)
{
	struct losses_place *place = mirror_losses_place_of(l, e->wd);
	char path[LOSSES_PATH + 260];
	struct stat st;

	l->all |= (e->mask & IN_Q_OVERFLOW) != 0;
	if (!place)
		return;
	if (e->mask & IN_IGNORED)
		return mirror_losses_forget(l, place);
	if (e->mask & IN_MOVE_SELF)
		l->gone = true;
	if (e->len == 0)
		return;
	snprintf(path, sizeof(path), "%s%s%s", place->path, *place->path ? "/" : "",
		 e->name);
	if (e->mask & (IN_CLOSE_WRITE | IN_MOVED_TO)) {
		losses_edited(l, place->path, e->name);
	} else if (e->mask & IN_CREATE) { /* a file that is made is written yet */
		if (fstatat(l->root, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    !S_ISREG(st.st_mode))
			losses_edited(l, place->path, e->name);
	} else if (may_be_ours(place, e) &&
		   fstatat(l->root, path, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		lost_at(l, path);
	}
}

void losses_read(struct losses *l)
{
	_Alignas(struct inotify_event) char buffer[16384];
	ssize_t n;

	if (l->fd < 0)
		return;
	while ((n = read(l->fd, buffer, sizeof(buffer))) > 0) {
		const struct inotify_event *e;

		for (char *at = buffer; at < buffer + n; at += sizeof(*e) + e->len) {
			e = (const struct inotify_event *)(void *)at;
			notice(l, e);
		}
	}
}

bool losses_any(struct losses *l)
{
	struct stat st;

	/* inotify does not report the end of a folder that is open here, so its links are
	 * counted. */
	if (l->all && (fstat(l->root, &st) < 0 || st.st_nlink == 0))
		l->gone = true;
	return l->n_teams > 0 || l->all || l->gone;
}

void losses_forget(struct losses *l)
{
	l->n_teams = 0;
	l->all = false;
}

/* --- opening ------------------------------------------------------------------------- */

void losses_open(struct losses *l, int root)
{
	*l = (struct losses){ .root = root };
	l->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (l->fd < 0)
		l->partial = true;
	else
		mirror_losses_add(l, "", root, IN_DELETE | IN_MOVED_FROM | IN_MOVE_SELF);
}

void losses_close(struct losses *l)
{
	if (l->fd >= 0)
		close(l->fd);
	free(l->places);
	free(l->teams);
	free(l->edits);
	*l = (struct losses){ .fd = -1 };
}
