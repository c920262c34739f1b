/*
 * The vault of a large board: 10,000 tasks as files, beside the same bytes in
 * as many files of a plain loop.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/mirror/mirror.h"
#include "tools/bench/rows.h"

enum { TASKS = 10000, FILE_BYTES = 420, ROUNDS = 3 };

/* Mirrors until all is shown, the summaries too; seconds, or -1. */
static double show_all(struct stage *s, struct store *store)
{
	int64_t begun = bench_now();
	struct mirror *m = NULL;
	struct fault f = { 0 };
	bool more = true;

	if (mirror_open(&m, &s->home, &f) < 0)
		return bench_fail_fault("the mirror", &f);
	while (more || mirror_due(m) >= 0)
		if (mirror_step(m, store, 1000, &more, &f) < 0) {
			mirror_close(m);
			return bench_fail_fault("the mirror", &f);
		}
	mirror_close(m);
	return (double)(bench_now() - begun) / 1e9;
}

/* Writes `n` new files; seconds, or -1.  Pages are made anew where they are lost, so
 * nobody syncs them; the disk is at rest before ours begin. */
static double plain_files(struct bench_ground *g, int n)
{
	char dir[256], path[300], bytes[FILE_BYTES];
	int64_t begun, took;
	int fd, root;

	memset(bytes, 'x', sizeof(bytes));
	if (ground_folder(g, "plain", dir))
		return -1;
	begun = bench_now();
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%d.md", dir, i);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0 || load_write_all(fd, bytes, sizeof(bytes)) || close(fd))
			return bench_fail("%s: %m", path);
	}
	took = bench_now() - begun;
	root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || syncfs(root))
		return bench_fail("%s: %m", dir);
	close(root);
	return (double)took / 1e9;
}

/* Shows a fresh state: a file that is shown already would not be written again. */
static double show_fresh(struct bench_ground *g)
{
	struct stage *s = stage_new(g, "mirror", 8, 0, false);
	struct call call = { 0 };
	double seconds = -1;

	if (s && rows_tasks(s, TASKS) == 0 && stage_store(s, &call) == 0)
		seconds = show_all(s, call.store);
	store_close(call.store);
	arena_release(&call.arena);
	stage_free(s);
	return seconds;
}

int bench_mirror(struct bench_ground *g)
{
	struct judge j = { 0 };

	for (int i = 0; i < ROUNDS; i++) {
		double base = plain_files(g, TASKS);
		double ours = base < 0 ? -1 : show_fresh(g);

		if (ours < 0)
			return -1;
		judge_round(&j, ours, base);
	}
	score_rounds(g, "mirror", &j);
	return 0;
}
