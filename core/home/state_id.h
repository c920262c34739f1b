/*
 * state_id - the random id of a state folder, in its file `id`.
 *
 * The file's first line is the id, and the folder that it was made for, by inode and time
 * of birth.  Nobody can choose a folder's time of birth on another machine.  So an id
 * from an archive, a clone or a copy differs from an id that cadre made here.
 *
 * A line `db` names the state's database in the same way, so that a replacement by git
 * or an archive is seen: both always make a new file.  A line `next` names the database
 * that a restore is about to put there.  It is written before the restore counts, so
 * that a crash at any point leaves a database that is named. If a file system keeps no
 * times of birth, the inode alone counts; on an overlay, also for a database that was
 * copied up and not written to yet.  An id without these lines is of an older program, or
 * of a state that is being made.
 */
#ifndef CORE_HOME_STATE_ID_H
#define CORE_HOME_STATE_ID_H

#include <stdbool.h>

#include "core/base/fault.h"

enum { STATE_ID = 32 }; /* digits */

/* The id of the folder open as `dir`; false when it has none. */
bool state_id_read(int dir, char id[STATE_ID + 1]);

/* Whether the id was made for this very folder.  False where the file system keeps no
 * times of birth. */
bool state_id_is_ours(int dir);

/* Adds the folder's name to an id that cadre wrote in the older form, without one; the
 * caller knows that it was made for this folder.  0 or a fault. */
int state_id_complete(int dir, const char id[STATE_ID + 1], struct fault *f);

/* Gives the folder a new id, which names no database; waits as the functions below do. */
int state_id_make(int dir, struct fault *f);

/* Whether the database, and that of an interrupted restore, are those that the id names;
 * a missing file does not count as another one. */
enum state_id_db { STATE_ID_SAME, STATE_ID_OTHER, STATE_ID_UNNAMED };
enum state_id_db state_id_look(int dir);

/* Changes what a folder's id names; a folder without an id stays without.
 * bind: the database that is there, if none is named; unbind: none, before a new one
 * is made; adopt: the present database, in any case; expect: `file`, relative to the
 * folder, is about to take its place; settle: if `next` is in place, it becomes `db`; on
 * an overlay, also takes the new name of a file that was copied up.  While another
 * process changes it they wait for two seconds, then `unavailable`.  settle may open and
 * close the database, which ends this process's locks on it: it is not open here then. */
int state_id_bind(int dir, struct fault *f);
int state_id_unbind(int dir, struct fault *f);
int state_id_adopt(int dir, struct fault *f);
int state_id_expect(int dir, const char *file, struct fault *f);
int state_id_settle(int dir, struct fault *f);

#endif
