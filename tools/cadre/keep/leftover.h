/*
 * leftover - temporary files of copies whose process was killed.
 */
#ifndef TOOLS_CADRE_KEEP_LEFTOVER_H
#define TOOLS_CADRE_KEEP_LEFTOVER_H

/* Removes what processes that have ended left beside `path`: files called PATH.PID.tmp or
 * PATH.secret.PID.tmp, also with -journal or -wal behind. */
void leftovers_remove(const char *path);

#endif
