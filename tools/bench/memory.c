/* The memory that a host holds: idle, with guests linked, with followers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "tools/bench/load.h"

enum { FOLLOWERS = 10000 };

/* Memory since scene_followers() has looked first, if it has.  Six seconds settle a host, and
 * bring heartbeats of all its guests. */
int act_resident(struct scene *s, const struct act *a, struct series *out)
{
	(void)a;
	bench_rest(6);
	series_rate(out, stage_resident(&s->stages[0]) - s->mib);
	return 0;
}

/* --- followers ------------------------------------------------------------------------------ */

/* Follows the log of a team in which nothing happens. */
static int memory_follow(const char *socket)
{
	static const char ask[] =
		"GET /events?team=quiet HTTP/1.1\r\nHost: localhost\r\n\r\n";
	int fd = load_connect(socket);
	char in[512];
	ssize_t n;

	if (fd < 0 || load_write_all(fd, ask, sizeof(ask) - 1))
		return bench_fail("a follower cannot ask");
	n = read(fd, in, sizeof(in));
	if (n < 12 || memcmp(in, "HTTP/1.1 200", 12))
		return bench_fail("a follower is refused: %.*s", n > 0 ? (int)n : 0, in);
	return fd;
}

/* A host with silent followers, and one without. */
int scene_followers(struct scene *s)
{
	static const char quiet[] = "{\"name\":\"quiet\",\"roles\":[{\"name\":\"a\"}]}";
	char socket[120];

	if (stage_allow_files(FOLLOWERS + 200) || scene_open(s))
		return -1;
	for (int i = 0; i < 2; i++)
		if (stage_call(&s->stages[i], "team.create", quiet, NULL))
			return -1;
	stage_http(&s->stages[0], socket);
	s->followers = xcalloc(FOLLOWERS + 1, sizeof(*s->followers));
	s->mib = stage_resident(&s->stages[0]);
	for (int i = 0; i < FOLLOWERS; i++)
		if ((s->followers[i] = memory_follow(socket)) < 0)
			return -1;
	return 0;
}
