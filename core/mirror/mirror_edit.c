/*
 * mirror_edit - texts that somebody saved as files of cards, until the cards are shown again.
 *
 * Texts that nobody wrote, as older ones that were copied back, are no edits: they are replaced
 * by the next step.  Files that the mirror has just placed itself are looked at in the same way,
 * and so are those that are being written: they stay until that is done, and are looked at again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "core/mirror/mirror.h"
#include "core/mirror/mirror_file_inside.h"
#include "core/mirror/mirror_inside.h"

/* Takes "teams/TEAM/cards/AGENT.json" apart; a conflict's file has a dot in its name. */
static bool name_parts(struct mirror_edit *e)
{
	return sscanf(e->path, "teams/%71[^/]/cards/%71[^/.].json", e->team, e->agent) ==
		       2 &&
	       strlen(e->path) ==
		       strlen("teams//cards/.json") + strlen(e->team) + strlen(e->agent);
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

/* Reads the file of an edit: whether there is anything to do.  An edit that is no file, is too
 * large or is no text is refused unread. */
static bool read_edit(struct mirror *m, struct mirror_edit *e)
{
	char folder[FILES_PATH], name[FILES_PATH];
	struct fault f = { 0 };
	struct stat st;

	if (!name_parts(e) ||
	    fstatat(m->show.files.root, e->path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (!S_ISREG(st.st_mode))
		return mirror_edit_refuse_unread(e, "it is a link or a folder, no file");
	team_folder(e->team, "cards", folder);
	snprintf(name, sizeof(name), "%s.json", e->agent);
	e->own = files_open_elsewhere(&m->show.files, folder, name);
	if (e->own)
		return true;
	if (files_read(&m->show.files, folder, name, &e->text, &f) <= 0)
		return false;
	/* A size asked for before the file was read may be that of the half written by then. */
	if (e->text.len > FILES_TEXT)
		return mirror_edit_refuse_unread(e, "it is larger than a card may be");
	e->own = !files_is_edit(&e->text);
	if (e->own || !files_edited(&m->show.files, &e->text))
		return e->own;
	return files_is_text(&e->text) || mirror_edit_refuse_unread(e, "it is no text");
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
		mirror_edit_free(edit); /* the file stays until it is looked at again */
		return;
	}
	add_judged(m, edit);
}

/* Whether the file still holds the text; if not, somebody saved another one meanwhile. */
static bool is_in_place(struct mirror *m, const struct mirror_edit *e)
{
	struct files *fs = &m->show.files;
	char folder[FILES_PATH], name[FILES_PATH];
	struct fault f = { 0 };

	team_folder(e->team, "cards", folder);
	snprintf(name, sizeof(name), "%s.json", e->agent);
	return files_read(fs, folder, name, &fs->old, &f) > 0 &&
	       fs->old.len == e->text.len &&
	       memcmp(fs->old.data, e->text.data, e->text.len) == 0;
}

/* Keeps a refused text that somebody has saved another one over meanwhile. */
static int keep_refused(struct mirror *m, const struct mirror_edit *e)
{
	struct files *fs = &m->show.files;
	char folder[FILES_PATH], name[FILES_PATH];
	int dir;

	team_folder(e->team, "cards", folder);
	snprintf(name, sizeof(name), "%s.json", e->agent);
	dir = files_folder(fs, folder, false);
	if (dir < 0)
		return 0;
	if (files_write(fs->stage, "refused", &e->text, true) < 0 ||
	    files_keep(fs, fs->stage, "refused", dir, name) < 0)
		return files_fault(&m->show.call.fault, "keep", name);
	return 0;
}

/* `*agent`: the row of the card's agent, 0 if the team has no such agent.  Returns 1, 0 if the
 * team does not exist, or negative. */
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

/* Puts the card that somebody wrote for an agent that there is not out of the place of the next
 * one's. */
static int put_aside(struct mirror *m, const struct mirror_edit *e)
{
	struct files *fs = &m->show.files;
	char folder[FILES_PATH], name[FILES_PATH];
	int64_t agent;
	int rc, dir;

	if (!e->unread && !is_in_place(m, e))
		return 0;
	if ((rc = mirror_edit_find_agent(m, e, &agent)) <= 0 || agent)
		return rc;
	team_folder(e->team, "cards", folder);
	snprintf(name, sizeof(name), "%s.json", e->agent);
	dir = files_folder(fs, folder, false);
	if (dir < 0)
		return 0;
	fs->made = true;
	return files_keep(fs, dir, name, dir, name) == 0 || errno == ENOENT
		       ? 0
		       : files_fault(&m->show.call.fault, "keep", name);
}

/* Removes the card of an agent that there is not; an empty file of that name is a person's. */
static int drop_own(struct mirror *m, const struct mirror_edit *e)
{
	struct files *fs = &m->show.files;
	struct fault *f = &m->show.call.fault;
	char folder[FILES_PATH], name[FILES_PATH];
	int rc;

	team_folder(e->team, "cards", folder);
	snprintf(name, sizeof(name), "%s.json", e->agent);
	rc = files_read(fs, folder, name, &fs->old, f);
	return rc > 0 && page_sealed(fs->old.data, fs->old.len)
		       ? files_drop(fs, folder, name, f)
		       : rc;
}

/* Whether the file holds nobody's text yet; somebody's is looked at as any edit. */
static bool is_own_still(struct mirror *m, const struct mirror_edit *e)
{
	struct files *fs = &m->show.files;
	char folder[FILES_PATH], name[FILES_PATH];
	struct fault f = { 0 };
	struct stat st;

	if (fstatat(fs->root, e->path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false; /* which is a loss */
	team_folder(e->team, "cards", folder);
	snprintf(name, sizeof(name), "%s.json", e->agent);
	if (S_ISREG(st.st_mode) && !files_open_elsewhere(fs, folder, name) &&
	    files_read(fs, folder, name, &fs->old, &f) > 0 && !files_is_edit(&fs->old))
		return true;
	losses_edited(&m->losses, folder, name);
	return false;
}

/* Has the card of a file that holds nobody's text shown. */
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

/* Shows the cards of files that hold nobody's text, if that is not the newest. */
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
