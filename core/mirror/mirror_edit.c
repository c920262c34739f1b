/* mirror_edit - texts that somebody saved as files of cards, until the cards are shown again. */
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

static bool refuse_unread(struct mirror_edit *e, const char *why)
{
	text_release(&e->text);
	e->unread = why;
	return true;
}

/* Reads the file of an edit: whether it is not the mirror's.  What is no file, too large or no
 * text is not read, but refused. */
static bool read_edit(struct mirror *m, struct mirror_edit *e)
{
	char folder[FILES_PATH], name[FILES_PATH];
	struct fault f = { 0 };
	struct stat st;

	if (!name_parts(e) ||
	    fstatat(m->show.files.root, e->path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (!S_ISREG(st.st_mode))
		return refuse_unread(e, "it is a link or a folder, no file");
	if (st.st_size > FILES_TEXT)
		return refuse_unread(e, "it is larger than a card may be");
	team_folder(e->team, "cards", folder);
	snprintf(name, sizeof(name), "%s.json", e->agent);
	if (files_read(&m->show.files, folder, name, &e->text, &f) <= 0 ||
	    !files_edited(&m->show.files, &e->text))
		return false;
	return files_is_text(&e->text) || refuse_unread(e, "it is no text");
}

struct mirror_edit *mirror_next_edit(struct mirror *m)
{
	struct mirror_edit *e = xcalloc(1, sizeof(*e));

	if (m->watching)
		losses_read(&m->losses);
	while (m->locked && losses_next_edit(&m->losses, e->path, sizeof(e->path)))
		if (read_edit(m, e)) {
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
	if (edit->code == FAULT_UNAVAILABLE || !edit->agent_row) {
		mirror_edit_free(edit); /* the file stays until it is looked at again */
		return;
	}
	edit->next = m->judged;
	m->judged = edit;
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

int mirror_show_again(struct mirror *m)
{
	struct ids in_place = { 0 }, replaced = { 0 };
	int rc = 0;

	if (!m->judged)
		return 0;
	for (const struct mirror_edit *e = m->judged; e && rc >= 0; e = e->next) {
		const bool stays = e->unread || is_in_place(m, e);

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
		if (!e->code && !e->unread)
			files_unexpect(&m->show.files, &e->text);
		mirror_edit_free(e);
	}
	m->judged = NULL;
}
