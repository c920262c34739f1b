/*
 * state_id - the random id of a state folder, in its file `id`.
 *
 * The file is one line: the id, and the folder that it was made for, by inode and time
 * of birth.  Nobody chooses when a folder is born on another machine, so an id that
 * came with an archive, a clone or a copy is told from one that cadre made here.
 */
#ifndef STATE_ID_H
#define STATE_ID_H

#include <stdbool.h>

#include "core/fault.h"

enum { STATE_ID = 32 }; /* digits */

/* The id of the folder open as `dir`; false when it has none. */
bool state_id_read(int dir, char id[STATE_ID + 1]);

/* Whether the id was made for this very folder.  False where the file system keeps no
 * times of birth. */
bool state_id_is_ours(int dir);

/* Says in the file that the id `id` was made for this very folder, if the file is of
 * the form without a folder, which cadre wrote before.  The caller knows that it was. */
int state_id_adopt(int dir, const char id[STATE_ID + 1], struct fault *f);

/* Gives the folder a new id. */
int state_id_make(int dir, struct fault *f);

#endif
