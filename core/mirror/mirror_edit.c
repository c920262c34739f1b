/* mirror_edit - texts that somebody saved as files of cards, until the cards are shown again. */
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "core/mirror/mirror.h"
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

/* Reads the file of an edit: whether it holds a text that is not the mirror's. */
static bool read_edit(struct mirror *m, struct mirror_edit *e)
{
	char folder[FILES_PATH], name[FILES_PATH];
	struct fault f = { 0 };

	if (!name_parts(e))
		return false;
	team_folder(e->team, "cards", folder);
	snprintf(name, sizeof(name), "%s.json", e->agent);
	return files_read(&m->show.files, folder, name, &e->text, &f) > 0 &&
	       e->text.len <= TEXT_MOST && files_edited(&m->show.files, &e->text);
}

struct mirror_edit *mirror_next_edit(struct mirror *m)
{
	struct mirror_edit *e = xcalloc(1, sizeof(*e));

	while (m->locked && losses_next_edit(&m->losses, e->path, sizeof(e->path)))
		if (read_edit(m, e)) {
			files_expect(&m->show.files, &e->text);
			text_add(&e->text, "", 1);
			e->text.len--;
			return e;
		}
	mirror_edit_free(e);
	return NULL;
}

void mirror_edit_judged(struct mirror *m, struct mirror_edit *edit)
{
	if (edit->code)
		files_unexpect(&m->show.files, &edit->text);
	if (edit->row)
		ids_add(&m->again, edit->row);
	mirror_edit_free(edit);
}

int mirror_show_again(struct mirror *m)
{
	int rc;

	if (!m->again.n)
		return 0;
	ids_settle(&m->again);
	rc = show_agents(&m->show, &m->again);
	if (rc >= 0)
		rc = files_commit(&m->show.files, &m->show.call.fault);
	files_forget(&m->show.files);
	if (rc >= 0)
		m->again.n = 0;
	return rc < 0 ? rc : 0;
}
