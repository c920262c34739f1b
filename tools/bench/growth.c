/*
 * Measures a large state: claims on a board of a million tasks, sends behind a
 * million messages (MANY=1: ten million, which takes minutes to fill).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "tools/bench/rows.h"

enum { CLIENTS = 64, ROUNDS = 3, BODY = 256 };

static const struct talk half_random = { .body = BODY, .random_keys = true };

/* Opens a filled stage; filling takes minutes, so a kept folder is used again. */
static int growth_open_old(struct stage *s, struct bench_ground *g, int64_t messages)
{
	char dir[256], done[300];
	FILE *mark;
	int rc;

	snprintf(dir, sizeof(dir), "%s/cadre-old-%lld",
		 g->keep_dir ? g->keep_dir : g->dir, (long long)messages);
	snprintf(done, sizeof(done), "%s/filled", dir);
	if (access(done, F_OK) == 0)
		return stage_open_at(s, g, dir);
	bench_remove_tree(dir);
	if (mkdir(dir, 0700))
		return bench_fail("%s: %m", dir);
	rc = stage_open_at(s, g, dir) || stage_team(s, CLIENTS, 0) ||
			     rows_history(s, messages)
		     ? -1
		     : 0;
	mark = rc ? NULL : fopen(done, "w");
	if (mark)
		fclose(mark);
	return rc;
}

static int growth_play(struct stage *old, struct stage *fresh, struct judge *j, bool fast)
{
	struct load l = { .script = &script_send,
			  .arg = &half_random,
			  .clients = CLIENTS,
			  .window = 1,
			  .warm = 0.3,
			  .seconds = fast ? 1 : 2 };
	struct outcome o, base;

	for (int i = 0; i < ROUNDS; i++) {
		l.socket = fresh->home.socket;
		if (load_run(&l, &base))
			return -1;
		l.socket = old->home.socket;
		if (load_run(&l, &o))
			return -1;
		judge_round(j, 1e6 / o.rate, 1e6 / base.rate);
	}
	return 0;
}

static int growth_sends(struct bench_ground *g)
{
	struct stage *old = xcalloc(1, sizeof(*old)), *fresh = xcalloc(1, sizeof(*fresh));
	struct judge j = { 0 };
	int rc = -1;

	if (growth_open_old(old, g, g->many ? 10000000 : 1000000) == 0 &&
	    stage_serve(old) == 0 && stage_open(fresh, g, "fresh") == 0 &&
	    stage_team(fresh, CLIENTS, 0) == 0 && stage_serve(fresh) == 0)
		rc = growth_play(old, fresh, &j, g->fast);
	stage_close(old);
	stage_close(fresh);
	free(old);
	free(fresh);
	if (rc == 0)
		score_rounds(g, "growth-send", &j);
	return rc;
}

int bench_growth(struct bench_ground *g)
{
	int claims = score_due(g, "growth-claim") ? growth_claims(g) : 0;
	int sends = score_due(g, "growth-send") ? growth_sends(g) : 0;

	return claims || sends ? -1 : 0;
}
