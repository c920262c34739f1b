/*
 * mirror_cursor - how far the mirror has come, as a line of text.
 *
 *   {incarnation}.{seq}                 all up to event seq is shown
 *   {incarnation}.{seq} {stage} {row}   all is being shown as of seq: the stage
 *                                       is done up to this row
 */
#ifndef CORE_MIRROR_MIRROR_CURSOR_H
#define CORE_MIRROR_MIRROR_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

/* The stages of showing everything, in order. */
enum mirror_stage {
	STAGE_FOLLOW, /* everything is shown: follow the log */
	STAGE_TEAMS,
	STAGE_AGENTS,
	STAGE_TASKS,
	STAGE_SUMMARIES,
	STAGE_SWEEP,
	STAGE_FOLDERS,
	STAGE_MAIL,
};
enum { LAST_STAGE = STAGE_MAIL };

struct mirror_cursor {
	char incarnation[40];
	int64_t seq;
	enum mirror_stage stage;
	int64_t row;
};

/* Reads the first line of a cursor's file; false if it is no cursor. */
bool cursor_parse(struct mirror_cursor *c, const char *text);
/* Writes the cursor as such a line. */
void cursor_format(const struct mirror_cursor *c, char out[128]);
bool cursor_equal(const struct mirror_cursor *a, const struct mirror_cursor *b);

#endif
