/* Stops and thaws the whole team by the commands `cadre estop` and `cadre thaw`. Some runs of
 * the two commands are killed at a random time. */
#include <signal.h>
#include <stddef.h>

#include "core/base/clock.h"
#include "tests/crash/crash.h"
#include "tests/lib/child.h"

static const char is_stopped[] = "SELECT count(*) FROM team WHERE stopped_at IS NOT NULL "
				 "AND name = 'crash'";

/* Starts `cadre WORD crash`. The command is killed after `ms`, unless `ms` is 0. */
static void command(struct scene *s, const char *word, int ms)
{
	const char *const argv[] = {
		cadre_path(), "--home", s->home, word, "crash", NULL
	};
	const struct child c = { .argv = argv, .log = s->log, .in = -1, .fd3 = -1 };

	s->stop.pid = child_start(&c);
	s->stop.kill_at = ms ? clock_steady_ms() + ms : 0;
}

void scene_stop(struct scene *s)
{
	if (s->stop.thaw_at)
		return;
	s->stop.thaws = 0;
	command(s, "estop",
		dice_percent(&s->dice, 50) ? 1 + dice_below(&s->dice, 40) : 0);
	s->stop.thaw_at = clock_steady_ms() + 50 + dice_below(&s->dice, 800);
}

void scene_stop_ended(struct scene *s)
{
	s->stop.pid = 0;
	s->stop.kill_at = 0;
}

void scene_stop_tend(struct scene *s)
{
	int64_t now = clock_steady_ms();

	if (s->stop.kill_at && now >= s->stop.kill_at) {
		s->stop.kill_at = 0;
		s->stops_killed += kill(s->stop.pid, SIGKILL) == 0;
	}
	if (!s->stop.thaw_at || now < s->stop.thaw_at || s->stop.pid)
		return;
	if (s->stop.thaws++ && scene_number(s, is_stopped) == 0)
		s->stop.thaw_at = 0;
	else
		command(s, "thaw",
			dice_percent(&s->dice, 30) ? 1 + dice_below(&s->dice, 40) : 0);
}
