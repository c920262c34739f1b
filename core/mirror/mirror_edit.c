/*
 * mirror_edit - holds the texts that somebody saved as files of cards, until the cards are
 * shown again.
 *
 * A text that no person wrote, such as an older file that was copied back, is no edit. The next
 * step replaces a text that is no edit. The next step also checks files that the mirror itself
 * has just placed. A file that somebody is still writing stays, and is checked again when the
 * writing is done.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/mirror/mirror.h"
#include "core/mirror/mirror_file.h"
#include "core/mirror/mirror_inside.h"

static void *grown(void *items, int n, int *room, size_t size)
{
	if (n < *room)
		return items;
	*room = *room ? *room * 2 : 16;
	items = xreallocarray(items, (size_t)*room, size);
	return items;
}

/* --- folders -------------------------------------------------------------------- */

/* Returns the index of the first place whose watch descriptor is at least `wd`. */
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
	else if (errno != ENOENT) /* ENOENT means that the folder was removed */
		l->partial = true;
}

/* Whether the path is "teams/TEAM/cards". */
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

/* Whether a file with this name could be a file of the mirror. Editors make temporary files
 * beside the mirror's files. */
static bool may_be_ours(const struct losses_place *place, const struct inotify_event *e)
{
	const char *dot = strrchr(e->name, '.');

	if (e->name[0] == '.') /* the cursor's file in the root, or a temporary file */
		return *place->path == '\0';
	return e->mask & IN_ISDIR ||
	       (dot && (strcmp(dot, ".md") == 0 || strcmp(dot, ".json") == 0));
}

/* The maximum number of listed edits; if more files are saved, the mirror checks every file. */
enum { EDITS_MOST = 1000 };

void losses_edited(struct losses *l, const char *folder, const char *name)
{
	const char *dot = strrchr(name, '.');
	char path[LOSSES_PATH];

	/* A card's file has one dot in its name, and the file of a conflict has more dots. */
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

/* Takes the path of the last edit off the list. Returns false if the list is empty. */
static bool losses_next_edit(struct losses *l, char *path, size_t size)
{
	if (!l->n_edits)
		return false;
	snprintf(path, size, "%s", l->edits[--l->n_edits]);
	return true;
}

/* Adds to l->teams the team that lost the file `path`. The second part of the path is the
 * team's name. */
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
	} else if (e->mask & IN_CREATE) { /* a new file is handled when its writer closes
					     the file */
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

	/* inotify does not report the removal of a folder that is open in this process, so the
	 * folder's link count is checked. */
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

/* Splits e->path, such as "teams/TEAM/cards/AGENT.json", into its parts. Returns false for a
 * conflict's file, which has another dot in its name. */
static bool name_parts(struct mirror_edit *e)
{
	if (sscanf(e->path, "teams/%71[^/]/cards/%71[^/.].json", e->team, e->agent) != 2)
		return false;
	team_folder(e->team, "cards", e->folder);
	snprintf(e->name, sizeof(e->name), "%s.json", e->agent);
	return strlen(e->path) == strlen(e->folder) + 1 + strlen(e->name);
}

void mirror_edit_free(struct mirror_edit *edit)
{
	text_release(&edit->text);
	free(edit);
}

static bool mirror_edit_refuse_unread(struct mirror_edit *e, const char *why)
{
	text_release(&e->text);
	e->unread = why;
	return true;
}

/* Reads the file of an edit, and returns whether the edit needs work. An edit that is no file,
 * is too large, or is no text is refused, and its contents are dropped. */
static bool read_edit(struct mirror *m, struct mirror_edit *e)
{
	struct fault f = { 0 };
	struct stat st;

	if (!name_parts(e) ||
	    fstatat(m->show.files.root, e->path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (!S_ISREG(st.st_mode))
		return mirror_edit_refuse_unread(e,
						 "it is a link or a folder, not a file");
	e->own = files_open_elsewhere(&m->show.files, e->folder, e->name);
	if (e->own)
		return true;
	if (files_read(&m->show.files, e->folder, e->name, &e->text, &f) <= 0)
		return false;
	/* The size is checked after the file was read, since a size before the read may be the
	 * size of a half written file. */
	if (e->text.len > FILES_TEXT)
		return mirror_edit_refuse_unread(e, "it is larger than a card may be");
	e->own = !files_is_edit(&e->text);
	if (e->own || !files_edited(&m->show.files, &e->text))
		return e->own;
	return files_is_text(&e->text) ||
	       mirror_edit_refuse_unread(e, "it is not a text");
}

static void add_judged(struct mirror *m, struct mirror_edit *e)
{
	e->next = m->judged;
	m->judged = e;
}

struct mirror_edit *mirror_next_edit(struct mirror *m)
{
	struct mirror_edit *e = xcalloc(1, sizeof(*e));

	if (m->watching)
		losses_read(&m->losses);
	while (m->locked && losses_next_edit(&m->losses, e->path, sizeof(e->path))) {
		if (!read_edit(m, e))
			continue;
		if (e->own) {
			text_release(&e->text);
			add_judged(m, e);
			e = xcalloc(1, sizeof(*e));
			continue;
		}
		if (!e->unread)
			files_expect(&m->show.files, &e->text);
		text_add(&e->text, "", 1);
		e->text.len--;
		return e;
	}
	files_forget(&m->show.files);
	mirror_edit_free(e);
	return NULL;
}

void mirror_edit_judged(struct mirror *m, struct mirror_edit *edit)
{
	if (edit->code && !edit->unread)
		files_unexpect(&m->show.files, &edit->text);
	if (edit->code == FAULT_UNAVAILABLE ||
	    (!edit->agent_row && edit->code != FAULT_NOT_FOUND)) {
		mirror_edit_free(edit); /* the file stays until it is checked again */
		return;
	}
	add_judged(m, edit);
}

/* Whether the file still holds the edit's text. The result is false if somebody has saved
 * another text meanwhile. */
static bool is_in_place(struct mirror *m, const struct mirror_edit *e)
{
	struct files *fs = &m->show.files;
	struct fault f = { 0 };

	return files_read(fs, e->folder, e->name, &fs->old, &f) > 0 &&
	       fs->old.len == e->text.len &&
	       memcmp(fs->old.data, e->text.data, e->text.len) == 0;
}

/* Keeps a refused text that somebody has overwritten with another text meanwhile. */
static int keep_refused(struct mirror *m, const struct mirror_edit *e)
{
	struct files *fs = &m->show.files;
	int dir;

	dir = files_folder(fs, e->folder, false);
	if (dir < 0)
		return 0;
	if (files_write(fs->stage, "refused", &e->text, true) < 0 ||
	    files_keep(fs, fs->stage, "refused", dir, e->name) < 0)
		return files_fault(&m->show.call.fault, "keep", e->name);
	return 0;
}

/* Sets *agent to the row of the card's agent, or to 0 if the team has no such agent. Returns 1
 * if the team exists, 0 if the team does not exist, or a fault code. */
static int mirror_edit_find_agent(struct mirror *m, const struct mirror_edit *e,
				  int64_t *agent)
{
	struct mirror_agent_called_row row;
	int rc = show_begin(&m->show, NULL);

	if (rc < 0)
		return rc;
	rc = sql_row(&m->show.call, mirror_agent_called, &row, .team_name = e->team,
		     .name = e->agent);
	show_end(&m->show);
	*agent = rc > 0 ? row.id : 0;
	return rc;
}

/* Renames a card that somebody wrote for an agent that does not exist. If an agent later gets
 * this name, the mirror needs the file's path for the agent's card. */
static int put_aside(struct mirror *m, const struct mirror_edit *e)
{
	int64_t agent;
	int rc;

	if (!e->unread && !is_in_place(m, e))
		return 0;
	if ((rc = mirror_edit_find_agent(m, e, &agent)) <= 0 || agent)
		return rc;
	return files_set_aside(&m->show.files, e->folder, e->name, &m->show.call.fault);
}

/* Removes the card of an agent that does not exist, if the mirror wrote the card. An empty file
 * with the card's name stays, since a person may have made the file. */
static int drop_own(struct mirror *m, const struct mirror_edit *e)
{
	struct files *fs = &m->show.files;
	struct fault *f = &m->show.call.fault;
	int rc;

	rc = files_read(fs, e->folder, e->name, &fs->old, f);
	return rc > 0 && page_sealed(fs->old.data, fs->old.len)
		       ? files_drop(fs, e->folder, e->name, f)
		       : rc;
}

/* Whether the file still holds a text that no person wrote. If a person has saved a text
 * meanwhile, adds the file to the list of edits. */
static bool is_own_still(struct mirror *m, const struct mirror_edit *e)
{
	struct files *fs = &m->show.files;
	struct fault f = { 0 };
	struct stat st;

	if (fstatat(fs->root, e->path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false; /* a removed file is handled as a lost file */
	if (S_ISREG(st.st_mode) && !files_open_elsewhere(fs, e->folder, e->name) &&
	    files_read(fs, e->folder, e->name, &fs->old, &f) > 0 &&
	    !files_is_edit(&fs->old))
		return true;
	losses_edited(&m->losses, e->folder, e->name);
	return false;
}

/* Adds the card's agent to `own` if no person wrote the text in the card's file. If the agent
 * does not exist, removes the mirror's card. */
static int replace_own(struct mirror *m, const struct mirror_edit *e, struct ids *own)
{
	int64_t agent;
	int rc;

	if (!is_own_still(m, e))
		return 0;
	if ((rc = mirror_edit_find_agent(m, e, &agent)) <= 0)
		return rc;
	if (!agent)
		return drop_own(m, e);
	ids_add(own, agent);
	return rc;
}

/* Shows again each card whose file is out of date and was not written by a person. */
static int show_over_own(struct mirror *m)
{
	struct files *fs = &m->show.files;
	struct ids own = { 0 };
	int rc = 0;

	for (const struct mirror_edit *e = m->judged; e && rc >= 0; e = e->next)
		if (e->own)
			rc = replace_own(m, e, &own);
	ids_settle(&own);
	fs->spare = SPARE_ALL;
	if (rc >= 0)
		rc = show_agents(&m->show, &own);
	fs->spare = SPARE_NOTHING;
	ids_release(&own);
	return rc < 0 ? rc : files_commit(fs, &m->show.call.fault);
}

int mirror_show_again(struct mirror *m)
{
	struct ids in_place = { 0 }, replaced = { 0 };
	int rc = 0;

	if (!m->judged)
		return 0;
	for (const struct mirror_edit *e = m->judged; e && rc >= 0; e = e->next) {
		const bool stays = e->unread || (!e->own && is_in_place(m, e));

		if (e->own)
			continue;
		if (!e->agent_row) {
			rc = put_aside(m, e);
			continue;
		}
		ids_add(stays ? &in_place : &replaced, e->agent_row);
		if (!stays && e->code)
			rc = keep_refused(m, e);
	}
	ids_settle(&in_place);
	ids_settle(&replaced);
	m->show.over_texts = true;
	if (rc >= 0)
		rc = show_agents(&m->show, &in_place);
	m->show.over_texts = false;
	if (rc >= 0)
		rc = show_agents(&m->show, &replaced);
	if (rc >= 0)
		rc = files_commit(&m->show.files, &m->show.call.fault);
	if (rc >= 0)
		rc = show_over_own(m);
	files_forget(&m->show.files);
	ids_release(&in_place);
	ids_release(&replaced);
	if (rc >= 0)
		mirror_forget_edits(m);
	return rc < 0 ? rc : 0;
}

void mirror_forget_edits(struct mirror *m)
{
	for (struct mirror_edit *e = m->judged, *next; e; e = next) {
		next = e->next;
		if (!e->code && !e->unread && !e->own)
			files_unexpect(&m->show.files, &e->text);
		mirror_edit_free(e);
	}
	m->judged = NULL;
}
