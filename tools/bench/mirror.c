/*
 * The vault of a large board: 10,000 tasks as files, beside the same bytes in
 * as many files of a plain loop.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/host/mirror.h"
#include "tools/bench/rows.h"

enum { TASKS = 10000, FILE_BYTES = 420 };

/* Until all is shown, the summaries too; seconds, or -1. */
static double show_all(struct stage *s, struct store *store)
{
	int64_t begun = bench_now();
	struct mirror *m = NULL;
	struct fault f = { 0 };
	bool more = true;

	if (mirror_open(&m, &s->home, &f) < 0)
		return fail_fault("the mirror", &f);
	while (more || mirror_due(m) >= 0)
		if (mirror_step(m, store, 1000, &more, &f) < 0) {
			mirror_close(m);
			return fail_fault("the mirror", &f);
		}
	mirror_close(m);
	return (double)(bench_now() - begun) / 1e9;
}

/* So many new files and one sync behind them; seconds, or -1. */
static double plain_files(struct ground *g, int n)
{
	char dir[256], path[300], bytes[FILE_BYTES];
	int64_t begun;
	int fd, root;

	memset(bytes, 'x', sizeof(bytes));
	if (ground_folder(g, "plain", dir))
		return -1;
	begun = bench_now();
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%d.md", dir, i);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0 || write_all(fd, bytes, sizeof(bytes)) || close(fd))
			return fail("%s: %m", path);
	}
	root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || syncfs(root))
		return fail("%s: %m", dir);
	close(root);
	return (double)(bench_now() - begun) / 1e9;
}

static int measure(struct ground *g, struct stage *s, struct store *store)
{
	double plain = plain_files(g, TASKS), first, again, after;

	if (plain < 0 || (first = show_all(s, store)) < 0 ||
	    (again = show_all(s, store)) < 0 || (after = plain_files(g, TASKS)) < 0)
		return -1;
	plain = (plain + after) / 2; /* the disk is not the same all the time */
	tell("%d files in %.2f s, a look at them in %.2f s, plain ones in %.2f s", TASKS,
	     first, again, plain);
	score_print(&(struct score){ .name = "mirror",
				     .unit = "s",
				     .value = first,
				     .base = plain,
				     .target = "<=3,or<=1.5x-plain-files",
				     .ok = first <= 3 || first <= 1.5 * plain });
	return 0;
}

int bench_mirror(struct ground *g)
{
	struct stage *s = calloc(1, sizeof(*s));
	struct call call = { 0 };
	int rc;

	if (!s)
		abort();
	rc = stage_open(s, g, "mirror") || stage_team(s, 8, 0) || rows_tasks(s, TASKS) ||
			     stage_store(s, &call) || measure(g, s, call.store)
		     ? -1
		     : 0;
	store_close(call.store);
	arena_release(&call.arena);
	stage_close(s);
	free(s);
	return rc;
}
