/*
 * mirror_losses - notices when somebody removes files that the mirror has placed, or saves one of
 * a card.
 *
 * inotify on the vault's root and on each folder that the mirror opens, so that nothing
 * is done while nobody does anything.  The mirror's own exchanges and an editor's way
 * to save show up too; an event counts only if a name that could be the mirror's is
 * gone when it is looked for; a card that was saved is one if the mirror did not write it.
 */
#ifndef CORE_MIRROR_MIRROR_LOSSES_H
#define CORE_MIRROR_MIRROR_LOSSES_H

#include <stdbool.h>
#include <stddef.h>

enum { LOSSES_PATH = 160, LOSSES_TEAM = 65 };

struct losses_place {
	int wd;
	char path[LOSSES_PATH]; /* "teams/TEAM/tasks" */
};

struct losses {
	int fd; /* inotify; -1: inotify cannot be had */
	int root; /* borrowed */
	struct losses_place *places; /* ascending by wd */
	int n_places, room;
	char (*teams)[LOSSES_TEAM]; /* teams that lost a file or folder, each once */
	int n_teams, teams_room;
	char (*edits)[LOSSES_PATH]; /* files of cards that were saved, each once */
	int n_edits, edits_room;
	bool all; /* losses are known to be, but not where */
	bool gone; /* the root itself was removed */
	bool partial; /* not every folder could be watched */
};

/* Begins to watch the folder open as `root`; never fails: without inotify it is
 * `partial`. */
void losses_open(struct losses *l, int root);
void losses_close(struct losses *l);

/* Watches the folder at `path` below the root, open as `fd`; watching it twice is
 * harmless. */
void losses_folder(struct losses *l, const char *path, int fd);

/* The folder FROM is TO now, and what is below it. */
void losses_moved(struct losses *l, const char *from, const char *to);

/* Reads what happened, and adds it to teams, all and gone. */
void losses_read(struct losses *l);
/* Notes that FOLDER/NAME was saved, if it is a card's file. */
void losses_edited(struct losses *l, const char *folder, const char *name);
/* Takes one of these: false where there is none. */
bool losses_next_edit(struct losses *l, char *path, size_t size);
/* Whether `teams` or `all` records a loss. */
bool losses_any(struct losses *l);
/* Empties `teams` and `all`. */
void losses_forget(struct losses *l);

#endif
