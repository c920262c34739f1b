#include "core/mirror/mirror_cursor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool cursor_parse(struct mirror_cursor *c, const char *text)
{
	struct mirror_cursor read = { .stage = STAGE_FOLLOW };
	char line[128];
	int stage = 0, n;

	/* The file may still hold the end of a longer line behind a shorter one. */
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "\n"), text);
	n = sscanf(line, "%39[0-9a-f].%" SCNd64 " %d %" SCNd64, read.incarnation,
		   &read.seq, &stage, &read.row);
	if (n != 2 && n != 4)
		return false;
	if (stage < STAGE_FOLLOW || stage > LAST_STAGE || read.seq < 0 || read.row < 0)
		return false;
	read.stage = (enum mirror_stage)stage;
	*c = read;
	return true;
}

void cursor_format(const struct mirror_cursor *c, char out[128])
{
	if (c->stage == STAGE_FOLLOW)
		snprintf(out, 128, "%s.%" PRId64 "\n", c->incarnation, c->seq);
	else
		snprintf(out, 128, "%s.%" PRId64 " %d %" PRId64 "\n", c->incarnation,
			 c->seq, (int)c->stage, c->row);
}

bool cursor_equal(const struct mirror_cursor *a, const struct mirror_cursor *b)
{
	return strcmp(a->incarnation, b->incarnation) == 0 && a->seq == b->seq &&
	       a->stage == b->stage && a->row == b->row;
}
