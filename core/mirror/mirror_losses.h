/*
 * mirror_losses - notices that somebody takes away what the mirror has placed.
 *
 * inotify on the vault's root and on each folder that the mirror opens, so that
 * nothing is done while nobody does anything.  The mirror's own exchanges and
 * an editor's way to save show up too; what counts is that a name which could
 * be the mirror's is gone when it is looked for.
 */
#ifndef CORE_MIRROR_MIRROR_LOSSES_H
#define CORE_MIRROR_MIRROR_LOSSES_H

#include <stdbool.h>

enum { LOSSES_PATH = 160, LOSSES_TEAM = 65 };

struct losses_place {
	int wd;
	char path[LOSSES_PATH]; /* "teams/TEAM/tasks" */
};

struct losses {
	int fd; /* inotify; -1: there is none to be had */
	int root; /* borrowed */
	struct losses_place *places; /* ascending by wd */
	int n_places, room;
	char (*teams)[LOSSES_TEAM]; /* that lost something, each once */
	int n_teams, teams_room;
	bool all; /* what was lost is not known */
	bool gone; /* the root itself */
	bool partial; /* not every folder could be watched */
};

/* Never fails: without inotify it is `partial`. */
void losses_open(struct losses *l, int root);
void losses_close(struct losses *l);

/* `fd` is the folder at `path` below the root; once is enough. */
void losses_folder(struct losses *l, const char *path, int fd);

/* Reads what happened, and adds it to teams, all and gone. */
void losses_read(struct losses *l);
/* Whether there is something in them. */
bool losses_any(struct losses *l);
/* Empties teams and all. */
void losses_forget(struct losses *l);

#endif
