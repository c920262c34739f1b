#include "tests/power/trees.h"

#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "tests/lib/child.h"
#include "tests/lib/place.h"
#include "tests/power/tree.h"

enum { FORKS_MOST = 4, READY_MS = 60000 };

/* --- calls ---------------------------------------------------------------------- */

/* Makes a call as the operator. If `again`, repeats the call while the host is busy or
 * starting. */
static json_t *ask(struct scene *s, const char *op, json_t *args, bool again)
{
	int64_t until = clock_steady_ms() + READY_MS;
	struct fault f = { 0 };
	json_t *answer;

	do {
		f = (struct fault){ 0 };
		answer = scene_ask(s, op, json_incref(args), &f);
		if (!answer && again)
			pause_for(20);
	} while (!answer && again && clock_steady_ms() < until);
	json_decref(args);
	if (!answer && again)
		printf("%s: %s\n", op, f.text);
	return answer;
}

static json_t *info_of(struct scene *s, const struct tree *t)
{
	return ask(s, "workspace.info",
		   json_pack("{ssss}", "workspace", t->name, "team", "crash"), true);
}

static const char *member(const json_t *answer, const char *record, const char *name)
{
	const json_t *in = json_object_get(answer, record);
	const char *text = json_string_value(json_object_get(in, name));

	return text ? text : "";
}

static bool await_ready(struct scene *s, const struct tree *t)
{
	int64_t until = clock_steady_ms() + READY_MS;

	while (clock_steady_ms() < until) {
		json_t *info = info_of(s, t);
		bool ready = !strcmp(member(info, "workspace", "state"), "ready");

		json_decref(info);
		if (ready)
			return true;
		pause_for(10);
	}
	printf("%s does not come up\n", t->name);
	return false;
}

/* --- making ----------------------------------------------------------------------- */

static int find_places(struct tree *t, struct scene *s)
{
	json_t *info = info_of(s, t);
	const char *path = member(info, "workspace", "path");

	snprintf(t->path, sizeof(t->path), "%s%s%s", *path == '/' ? "" : s->home,
		 *path == '/' ? "" : "/", path);
	snprintf(t->kept, sizeof(t->kept), "%s/snapshots/%s", s->home,
		 member(info, "workspace", "id"));
	json_decref(info);
	return *path ? 0 : -1;
}

static int keep_version(struct tree *t, struct scene *s, int version)
{
	char name[4] = { 'v', (char)('0' + version) };
	json_t *answer = ask(s, "workspace.snapshot",
			     json_pack("{ssssss}", "workspace", t->name, "name", name,
				       "team", "crash"),
			     true);

	snprintf(t->version_kept[version], sizeof(t->version_kept[version]), "%s/%s",
		 t->kept, member(answer, "snapshot", "id"));
	json_decref(answer);
	return answer ? 0 : -1;
}

/* Takes a snapshot of version 0. Then writes version 1 directly to the workspace's files, as a
 * person may do, syncs, and takes a snapshot of version 1. */
static int make_versions(struct tree *t, struct scene *s)
{
	if (!await_ready(s, t) || find_places(t, s) || keep_version(t, s, 0) ||
	    tree_write(t->path, 1))
		return -1;
	sync();
	t->may_hold = 2;
	return keep_version(t, s, 1);
}

int trees_make(struct trees *t, struct scene *s)
{
	char golden[100];
	int rc;

	snprintf(golden, sizeof(golden), "%s/golden", s->base);
	rc = tree_write(golden, 0);
	for (int i = 0; rc == 0 && i < TREES; i++) {
		struct tree *one = &t->trees[i];
		json_t *answer =
			ask(s, "workspace.create",
			    json_pack("{ssss}", "source", golden, "team", "crash"), true);

		snprintf(one->name, sizeof(one->name), "%s",
			 member(answer, "workspace", "name"));
		json_decref(answer);
		rc = make_versions(one, s);
	}
	return rc;
}

/* --- working ----------------------------------------------------------------------- */

static void restore(struct trees *all, struct tree *t, struct scene *s, int version)
{
	char name[4] = { 'v', (char)('0' + version) };
	json_t *answer;

	t->may_hold |= 1u << version;
	answer = ask(s, "workspace.restore",
		     json_pack("{sssssssb}", "workspace", t->name, "snapshot", name,
			       "team", "crash", "confirm", 1),
		     false);
	if (answer && await_ready(s, t)) {
		t->may_hold = 1u << version;
		all->restored++;
	}
	json_decref(answer);
}

/* Makes a fork. If FORKS_MOST forks exist already, destroys the new fork again. */
static void fork_it(struct trees *all, struct tree *t, struct scene *s, int version)
{
	char name[4] = { 'v', (char)('0' + version) }, path[4096];
	json_t *args = json_pack("{ssss}", "workspace", t->name, "team", "crash"), *copy;
	int64_t n = scene_number(s, "SELECT count(*) FROM workspace WHERE state < 4"
				    " AND parent IS NOT NULL");

	if (version < 2)
		json_object_set_new(args, "snapshot", json_string(name));
	copy = ask(s, "workspace.fork", args, false);
	snprintf(path, sizeof(path), "%s", member(copy, "workspace", "name"));
	json_decref(copy);
	all->forked += copy != NULL;
	if (!copy || n < FORKS_MOST)
		return;
	copy = ask(s, "workspace.destroy",
		   json_pack("{sssssb}", "workspace", path, "team", "crash", "confirm",
			     1),
		   false);
	all->destroyed += copy != NULL;
	json_decref(copy);
}

static void snapshot(struct trees *all, struct tree *t, struct scene *s,
		     struct dice *dice)
{
	char name[24];
	json_t *args, *answer;

	snprintf(name, sizeof(name), "x%d", dice_below(dice, 8));
	args = json_pack("{ssssss}", "workspace", t->name, "name", name, "team", "crash");
	answer = ask(s, "workspace.snapshot", args, false);
	all->taken += answer != NULL;
	if (!answer) { /* the call usually fails because the snapshot exists already */
		args = json_pack("{sssssssb}", "workspace", t->name, "snapshot", name,
				 "team", "crash", "confirm", 1);
		answer = ask(s, "workspace.snapshot_remove", args, false);
		all->removed += answer != NULL;
	}
	json_decref(answer);
}

static void back_up(struct trees *all, struct scene *s, struct dice *dice)
{
	char path[200], secret[220];
	const char *const argv[] = {
		cadre_path(), "--home", s->home, "backup", path, NULL
	};
	const struct child c = { .argv = argv, .log = "/dev/null", .in = -1, .fd3 = -1 };

	snprintf(path, sizeof(path), "%s/kept-%d.db", s->home, dice_below(dice, 100000));
	if (child_wait(child_start(&c), READY_MS) != 0)
		return;
	if (all->backup[0]) {
		snprintf(secret, sizeof(secret), "%s.secret", all->backup);
		unlink(secret);
		unlink(all->backup);
	}
	snprintf(all->backup, sizeof(all->backup), "%s", path);
	all->backed_up++;
}

static void note_args(int i, char path[40], char content[100])
{
	snprintf(path, 40, "power/%d/%d.md", i % 50, i);
	snprintf(content, 100, "what was answered is there: %d\n", i);
}

static void write_note(struct trees *all, struct scene *s)
{
	char path[40], content[100];
	int i = all->n_notes;
	json_t *answer;

	if (i == NOTES_MOST)
		return;
	all->n_notes++;
	note_args(i, path, content);
	answer = ask(s, "vault.write",
		     json_pack("{ssss}", "path", path, "content", content), false);
	all->note[i] = answer != NULL;
	all->noted += answer != NULL;
	json_decref(answer);
}

void trees_work(struct trees *t, struct scene *s, uint64_t seed)
{
	struct dice dice = { seed };

	if (scene_look(s) < 0)
		return;
	for (;;) {
		struct tree *one = &t->trees[dice_below(&dice, TREES)];
		int luck = dice_below(&dice, 100);

		if (luck < 30)
			restore(t, one, s, dice_below(&dice, 2));
		else if (luck < 55)
			fork_it(t, one, s, dice_below(&dice, 3));
		else if (luck < 75)
			snapshot(t, one, s, &dice);
		else if (luck < 80)
			back_up(t, s, &dice);
		else
			write_note(t, s);
		pause_for(dice_below(&dice, 20));
	}
}

/* --- judging ------------------------------------------------------------------------- */

/* Checks that the tree holds one of the versions in `may`. Returns the number of findings. */
static int judge_tree(struct trees *t, const char *what, const char *path, unsigned may)
{
	struct tree_look look;

	t->judged++;
	tree_look(path, &look);
	if (look.holds & may)
		return 0;
	printf("  ! %s is not whole: %s: %d of %d files, %d empty, %d torn%s\n", what,
	       path, look.there, TREE_FILES, look.empty, look.strange,
	       look.holds ? ", another version" : "");
	return 1;
}

/* Checks that the tree has at least as many whole snapshot directories as there are rows of
 * ready snapshots. Other directories may belong to snapshots that are being removed. */
static int judge_snapshots(struct trees *t, const struct tree *one, int64_t rows)
{
	DIR *dir = opendir(one->kept);
	int64_t whole = 0;
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		struct tree_look look;
		char path[600];

		if (e->d_name[0] == '.' || strstr(e->d_name, ".half"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", one->kept, e->d_name);
		tree_look(path, &look);
		whole += look.holds != 0;
	}
	if (dir)
		closedir(dir);
	t->judged += (int)rows;
	if (whole >= rows)
		return 0;
	printf("  ! %s: %lld snapshots are ready, %lld are whole\n", one->name,
	       (long long)rows, (long long)whole);
	return 1;
}

/* Checks that each ready fork holds the version of the snapshot that the fork's row names. If
 * the row names no snapshot, either version is right. */
static int judge_forks(struct trees *t, sqlite3 *db, const char *home)
{
	sqlite3_stmt *st = NULL;
	char path[500];
	int bad = 0;

	sqlite3_prepare_v2(db,
			   "SELECT w.path, n.name FROM workspace w LEFT JOIN snapshot n"
			   " ON n.id = w.snapshot WHERE w.state = 1"
			   " AND w.parent IS NOT NULL",
			   -1, &st, NULL);
	while (sqlite3_step(st) == SQLITE_ROW) {
		const char *at = (const char *)sqlite3_column_text(st, 0);
		const char *name = (const char *)sqlite3_column_text(st, 1);

		snprintf(path, sizeof(path), "%s%s%s", *at == '/' ? "" : home,
			 *at == '/' ? "" : "/", at);
		bad += judge_tree(t, "a fork that is ready", path,
				  name ? 1u << (name[1] - '0') : 3);
	}
	sqlite3_finalize(st);
	return bad;
}

static int64_t number(sqlite3 *db, const char *sql, const char *text)
{
	sqlite3_stmt *st = NULL;
	int64_t n = -1;

	sqlite3_prepare_v2(db, sql, -1, &st, NULL);
	sqlite3_bind_text(st, 1, text, -1, SQLITE_STATIC);
	if (sqlite3_step(st) == SQLITE_ROW)
		n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return n;
}

static int judge_rows(struct trees *t, sqlite3 *db)
{
	int bad = 0;

	for (int i = 0; i < TREES; i++) {
		const struct tree *one = &t->trees[i];

		if (number(db, "SELECT state FROM workspace WHERE name = ?", one->name) ==
		    1)
			bad += judge_tree(t, "a workspace that is ready", one->path,
					  one->may_hold);
		for (int version = 0; version < 2; version++)
			bad += judge_tree(t, "a snapshot", one->version_kept[version],
					  1u << version);
		bad += judge_snapshots(
			t, one,
			number(db,
			       "SELECT count(*) FROM snapshot n JOIN workspace w"
			       " ON w.id = n.workspace WHERE n.state = 1 AND w.name = ?",
			       one->name));
	}
	return bad;
}

static bool same_bytes(const char *a, const char *b)
{
	char x[64] = "", y[64] = "";
	FILE *one = fopen(a, "re"), *two = fopen(b, "re");
	size_t n = one ? fread(x, 1, sizeof(x), one) : 0;
	size_t m = two ? fread(y, 1, sizeof(y), two) : 0;

	if (one)
		fclose(one);
	if (two)
		fclose(two);
	return n == 32 && n == m && !memcmp(x, y, n);
}

static int judge_backup(const struct trees *t, const char *home)
{
	char secret[220], own[220];
	sqlite3 *db = NULL;
	bool whole;

	if (!t->backup[0])
		return 0;
	snprintf(secret, sizeof(secret), "%s.secret", t->backup);
	snprintf(own, sizeof(own), "%s/secret", home);
	whole = sqlite3_open_v2(t->backup, &db, SQLITE_OPEN_READONLY, NULL) ==
			SQLITE_OK &&
		number(db, "SELECT count(*) FROM team WHERE name = ?", "crash") == 1 &&
		same_bytes(secret, own);
	sqlite3_close(db);
	if (!whole)
		printf("  ! a backup is not whole: %s\n", t->backup);
	return !whole;
}

int trees_judge(struct trees *t, const char *home)
{
	sqlite3 *db = NULL;
	char path[200];
	int bad = 0;

	snprintf(path, sizeof(path), "%s/state.db", home);
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
	    number(db, "SELECT count(*) FROM team WHERE name = ?", "crash") != 1) {
		printf("  ! the state is gone: %s\n", sqlite3_errmsg(db));
		bad++;
	} else {
		bad += judge_rows(t, db) + judge_forks(t, db, home) +
		       judge_backup(t, home);
	}
	sqlite3_close(db);
	return bad;
}

/* --- the end ---------------------------------------------------------------------------- */

static int judge_note(struct scene *s, int i)
{
	char path[40], content[100];
	const char *text;
	json_t *answer;
	int bad;

	note_args(i, path, content);
	answer = ask(s, "vault.read", json_pack("{ss}", "path", path), false);
	text = json_string_value(json_object_get(answer, "content"));
	bad = !text || strcmp(text, content) != 0;
	if (bad)
		printf("  ! a note that was answered is gone: %s\n", path);
	json_decref(answer);
	return bad;
}

int trees_settle(struct trees *t, struct scene *s)
{
	int bad = 0;

	for (int i = 0; i < TREES; i++)
		bad += !await_ready(s, &t->trees[i]) ||
		       judge_tree(t, "a workspace in the end", t->trees[i].path,
				  t->trees[i].may_hold);
	for (int i = 0; i < t->n_notes; i++)
		if (t->note[i])
			bad += judge_note(s, i);
	return bad;
}
