/*
 * leftover - temporary files of copies whose process was killed, and copies that had no room.
 */
#ifndef TOOLS_CADRE_KEEP_LEFTOVER_H
#define TOOLS_CADRE_KEEP_LEFTOVER_H

#include "core/base/fault.h"

/* Removes what processes that have ended left beside `path`: files called PATH.PID.tmp or
 * PATH.secret.PID.tmp, also with -journal or -wal behind. */
void leftovers_remove(const char *path);

/* Gives a fault that says no more than `unavailable` what helps a copy: its code. */
int keep_hint_room(struct fault *f);

#endif
