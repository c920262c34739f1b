/* Scenes that the numbers in the table of benches do not describe completely, and the
 * measurement of a host's memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "tools/bench/load.h"

enum { FOLLOWERS = 10000 };

/* Opens a scene with tasks, and then builds the search index. Each search builds one slice of
 * the index. */
int scene_search(struct scene *s)
{
	int rc = scene_open(s);

	for (int i = 0; i < 2 && rc == 0; i++) {
		bool whole = false;

		for (int n = 0; n < 2400 && rc == 0 && !whole; n++) {
			struct text out = { 0 };

			rc = stage_call(&s->stages[i], "search.find",
					"{\"query\":\"task\",\"limit\":1,\"team\":\"t\"}",
					&out);
			whole = rc == 0 && !strstr(out.data, "\"indexed_to\":0");
			text_release(&out);
			bench_rest(0.05);
		}
		rc = rc || !whole ? bench_fail("the index is not made") : 0;
	}
	return rc;
}

/* Opens a scene with two hosts. The first host has limits, which the host reads from the
 * environment. */
int scene_limits(struct scene *s)
{
	static const char *const names[] = { "CADRE_LIMITS_ENABLED",
					     "CADRE_LIMITS_TEAM_MESSAGE_BURST",
					     "CADRE_LIMITS_TEAM_MESSAGE_PER_MINUTE" };
	int rc = 0;

	for (int i = 0; i < 2 && rc == 0; i++) {
		setenv(names[0], i == 0 ? "true" : "false", 1);
		setenv(names[1], "1000000", 1);
		setenv(names[2], "1000000", 1);
		rc = stage_open(&s->stages[i], s->ground, i == 0 ? "limits" : "free") ||
		     stage_team(&s->stages[i], s->bench->agents, 0) ||
		     stage_serve(&s->stages[i]);
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unsetenv(names[i]);
	return rc;
}

/* Sends messages to all agents until the inboxes are full. */
int scene_broadcast(struct scene *s)
{
	const struct act *act = &s->bench->lines[0].ours;
	struct series sent = { 0 };
	int rc = scene_open(s);

	while (rc == 0 && sent.n < 2 * (size_t)s->bench->capacity)
		rc = act_load(s, act, &sent);
	free(sent.ms);
	return rc;
}

/* --- memory ------------------------------------------------------------------------------ */

/* The resident memory of a host, in MiB. */
static double scene_resident(const struct stage *s)
{
	char path[64];
	long pages = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", s->host);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%*d %ld", &pages) != 1)
		bench_fail("%s: %m", path);
	if (f)
		fclose(f);
	return (double)(pages * sysconf(_SC_PAGESIZE)) / (1 << 20);
}

/* Measures the memory of the first host. The result is reduced by scene.mib, the memory that
 * scene_followers() measured before the act. After six seconds a host's memory is stable, and
 * all guests have sent heartbeats. */
int act_resident(struct scene *s, const struct act *a, struct series *out)
{
	(void)a;
	bench_rest(6);
	series_rate(out, scene_resident(&s->stages[0]) - s->mib);
	return 0;
}

/* Follows the log of a team in which no events happen. */
static int scene_follow(const char *socket)
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

/* Opens a scene with two hosts. One host has followers that get no events, and the other host
 * has no followers. */
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
	s->mib = scene_resident(&s->stages[0]);
	for (int i = 0; i < FOLLOWERS; i++)
		if ((s->followers[i] = scene_follow(socket)) < 0)
			return -1;
	return 0;
}
