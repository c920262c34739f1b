/* mirror_check - checks that all files of the mirror are there, and brings lost ones
 * back. */
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/mirror/mirror.h"
#include "core/mirror/mirror_inside.h"

enum {
	CHECK_ROWS = 256, /* in one slice: about 25 ms */
	CHECK_REST_MS = 100, /* between two slices */
	CHECK_EVERY_MS =
		600000, /* between two checks, if some folders cannot be watched */
	LOST_MS = 500, /* wait before a lost file is written: an editor may put it back
			  by itself */
};

/* Begins the check of a stage anew, now. */
static void check_from(struct mirror *m, enum mirror_stage stage)
{
	m->check = (struct mirror_cursor){ .stage = stage };
	m->check_at = 0;
}

int mirror_watch(struct mirror *m)
{
	if (m->watching)
		return m->losses.fd;
	losses_open(&m->losses, m->show.files.root);
	m->watching = true;
	m->show.files.losses = &m->losses;
	check_from(m, STAGE_TEAMS);
	return m->losses.fd;
}

/* Whether files were lost, and the loss is LOST_MS old: an editor may still put them
 * back. */
static bool settled(struct mirror *m, int64_t now)
{
	losses_read(&m->losses);
	if (!losses_any(&m->losses))
		return false;
	if (m->lost_at == 0)
		m->lost_at = now;
	return now - m->lost_at >= LOST_MS;
}

static int mirror_check_bring_back(struct mirror *m)
{
	struct losses *l = &m->losses;
	struct call *call = &m->show.call;
	bool more = false;
	int rc = 0;

	if (l->gone)
		return fault_set(&call->fault, FAULT_UNAVAILABLE, "",
				 "somebody took the vault away: it is made again");
	if (l->all)
		check_from(m, STAGE_TEAMS);
	else if (m->check.stage == STAGE_FOLLOW || m->check.stage == STAGE_MAIL)
		check_from(m, STAGE_MAIL); /* the lost file may have been a day's log
					      of messages */
	for (int i = 0; rc >= 0 && i < l->n_teams; i++) {
		rc = show_complete_team(&m->show, l->teams[i], (size_t)m->batch);
		more |= rc > 0;
	}
	if (rc >= 0)
		rc = files_commit(&m->show.files, &call->fault);
	if (rc < 0)
		return rc;
	if (!more)
		losses_forget(l);
	l->all = false;
	m->lost_at = more ? 1 : 0;
	return 0;
}

static int check_slice(struct mirror *m, int64_t now)
{
	int64_t batch = m->batch;
	int rc;

	m->batch = CHECK_ROWS;
	rc = slice_pass(m, &m->check);
	m->batch = batch;
	m->check_at =
		now + (m->check.stage != STAGE_FOLLOW ? CHECK_REST_MS : CHECK_EVERY_MS);
	return rc;
}

int check_some(struct mirror *m)
{
	struct arena_mark mark = arena_mark(&m->show.call.arena);
	struct files *fs = &m->show.files;
	int64_t now = clock_steady_ms();
	int rc = 0;

	if (!m->watching || m->at.stage != STAGE_FOLLOW)
		return 0;
	fs->spare = SPARE_ALL;
	if (settled(m, now))
		rc = mirror_check_bring_back(m);
	if (rc >= 0 && m->check.stage == STAGE_FOLLOW && m->losses.partial &&
	    now >= m->check_at)
		check_from(m, STAGE_TEAMS);
	if (rc >= 0 && m->check.stage != STAGE_FOLLOW && now >= m->check_at)
		rc = check_slice(m, now);
	fs->spare = SPARE_NOTHING;
	files_forget(fs);
	arena_reset(&m->show.call.arena, mark);
	return rc;
}

int64_t check_due(const struct mirror *m)
{
	bool checks = m->check.stage != STAGE_FOLLOW || m->losses.partial;
	int64_t now = clock_steady_ms(), at = INT64_MAX;

	if (!m->watching || (!checks && m->lost_at == 0))
		return -1;
	if (checks)
		at = m->check_at;
	if (m->lost_at != 0 && m->lost_at + LOST_MS < at)
		at = m->lost_at + LOST_MS;
	return at < now ? 0 : at - now;
}
