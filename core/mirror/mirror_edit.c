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

enum { TEXT_MOST = 1 << 20 };

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

/* Reads the file of an edit: whether it holds a text that is not the mirror's.  What is too
 * large, or no text, stays as a person's file. */
static bool read_edit(struct mirror *m, struct mirror_edit *e)
{
	char folder[FILES_PATH], name[FILES_PATH];
	struct fault f = { 0 };
	struct stat st;

	if (!name_parts(e) ||
	    fstatat(m->show.files.root, e->path, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode) || st.st_size > TEXT_MOST)
		return false;
	team_folder(e->team, "cards", folder);
	snprintf(name, sizeof(name), "%s.json", e->agent);
	return files_read(&m->show.files, folder, name, &e->text, &f) > 0 &&
	       !memchr(e->text.data, 0, e->text.len) &&
	       files_edited(&m->show.files, &e->text);
}

struct mirror_edit *mirror_next_edit(struct mirror *m)
{
	struct mirror_edit *e = xcalloc(1, sizeof(*e));

	if (m->watching)
		losses_read(&m->losses);
	while (m->locked && losses_next_edit(&m->losses, e->path, sizeof(e->path)))
		if (read_edit(m, e)) {
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
	if (edit->code)
		files_unexpect(&m->show.files, &edit->text);
	if (edit->code == FAULT_UNAVAILABLE || !edit->agent_row) {
		mirror_edit_free(edit); /* the file stays until it is looked at again */
		return;
	}
	ids_add(&m->again, edit->agent_row);
	edit->next = m->judged;
	m->judged = edit;
}

/* Keeps a refused text that an event of its agent has pushed out of its place meanwhile. */
static int keep_refused(struct mirror *m, const struct mirror_edit *e)
{
	struct files *fs = &m->show.files;
	char folder[FILES_PATH], name[FILES_PATH];
	int dir;

	team_folder(e->team, "cards", folder);
	snprintf(name, sizeof(name), "%s.json", e->agent);
	if (files_read(fs, folder, name, &fs->old, &m->show.call.fault) > 0 &&
	    fs->old.len == e->text.len &&
	    memcmp(fs->old.data, e->text.data, e->text.len) == 0)
		return 0; /* it is in its place, and is kept when that is taken */
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
	int rc = 0;

	if (!m->again.n)
		return 0;
	for (const struct mirror_edit *e = m->judged; e && rc >= 0; e = e->next)
		if (e->code)
			rc = keep_refused(m, e);
	ids_settle(&m->again);
	if (rc >= 0)
		rc = show_agents(&m->show, &m->again);
	if (rc >= 0)
		rc = files_commit(&m->show.files, &m->show.call.fault);
	files_forget(&m->show.files);
	if (rc < 0)
		return rc;
	m->again.n = 0;
	mirror_forget_edits(m);
	return 0;
}

void mirror_forget_edits(struct mirror *m)
{
	for (struct mirror_edit *e = m->judged, *next; e; e = next) {
		next = e->next;
		if (!e->code)
			files_unexpect(&m->show.files, &e->text);
		mirror_edit_free(e);
	}
	m->judged = NULL;
}
