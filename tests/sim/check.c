/* Reads the committed rows over a separate connection, and compares them with the model. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/transfer/rule.h"
#include "tests/lib/counts.h"
#include "tests/sim/model.h"

static sqlite3_stmt *prepare(struct sim *s, const char *sql)
{
	sqlite3_stmt *st = NULL;

	if (sqlite3_prepare_v2(s->reader, sql, -1, &st, NULL) != SQLITE_OK)
		violated(s, "%s: %s", sqlite3_errmsg(s->reader), sql);
	return st;
}

void check_open(struct sim *s)
{
	char path[150];

	snprintf(path, sizeof(path), "%s/state.db", s->dir);
	if (sqlite3_open_v2(path, &s->reader, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		violated(s, "cannot open %s", path);
	/* One query counts the leased copies and the queued copies. A leased copy adds 100,000
	 * to the sum, and a queued copy adds 1. */
	s->counters = prepare(
		s,
		"SELECT queued, leased, assignments, "
		"(SELECT coalesce(sum(CASE WHEN d.state = 2 THEN 100000 ELSE 1 END), 0)"
		" FROM delivery d WHERE d.agent = ?1 AND d.lane < 2 AND d.state < 3), "
		"(SELECT count(*) FROM assignment x WHERE x.agent = ?1 AND x.state < 2) "
		"FROM agent_inbox WHERE agent = ?1");
	s->task = prepare(
		s,
		"SELECT k.state, k.epoch, k.lease_until, a.name FROM task k "
		"LEFT JOIN agent a ON a.id = k.owner WHERE k.team = ? AND k.number = ?");
	/* `spending` has no row for the limit of workspaces. That limit is a column of the
	 * team. */
	s->branch =
		prepare(s, "SELECT t.max_vms, k.most, k.used, k.reserved, c.most, c.used "
			   "FROM team t JOIN spending k ON k.team = t.id AND k.kind = 1 "
			   "JOIN spending c ON c.team = t.id AND c.kind = 2 "
			   "WHERE t.name = ? AND t.destroyed_at IS NULL");
	s->copy = prepare(s, "SELECT state, attempt FROM delivery "
			     "WHERE message = ? AND agent = ?");
}

void check_close(struct sim *s)
{
	sqlite3_finalize(s->counters);
	sqlite3_finalize(s->task);
	sqlite3_finalize(s->copy);
	sqlite3_finalize(s->branch);
	sqlite3_close(s->reader);
	s->reader = NULL;
}

/* --- the rows that a batch touched ----------------------------------------------------- */

static void check_counters(struct sim *s, const struct agent *a)
{
	sqlite3_stmt *st = s->counters;
	int64_t queued, leased, orders, sum;

	sqlite3_bind_int64(st, 1, a->row);
	if (sqlite3_step(st) != SQLITE_ROW)
		violated(s, "%s/%s is gone", a->team, a->name);
	queued = sqlite3_column_int64(st, 0);
	leased = sqlite3_column_int64(st, 1);
	orders = sqlite3_column_int64(st, 2);
	sum = sqlite3_column_int64(st, 3);
	if (queued != sum % 100000 || leased != sum / 100000)
		violated(s,
			 "%s/%s counts %" PRId64 " queued and %" PRId64
			 " leased, but has %" PRId64 " and %" PRId64,
			 a->team, a->name, queued, leased, sum % 100000, sum / 100000);
	if (orders != sqlite3_column_int64(st, 4))
		violated(s, "%s/%s counts %" PRId64 " assignments, but has %lld", a->team,
			 a->name, orders, (long long)sqlite3_column_int64(st, 4));
	sqlite3_reset(st);
}

/* Checks that the owner, epoch and state in a task's row agree with the answers that the task's
 * owner got. */
static void check_task(struct sim *s, int team, int64_t number)
{
	struct task_note *n = &s->teams[team].tasks[number - 1];
	sqlite3_stmt *st = s->task;
	const char *owner;
	int64_t epoch;
	int state;

	n->touched = false;
	sqlite3_bind_int64(st, 1, team + 1);
	sqlite3_bind_int64(st, 2, number);
	if (sqlite3_step(st) != SQLITE_ROW) {
		if (number <= s->teams[team].created)
			violated(s, "task %" PRId64 " is lost", number);
		sqlite3_reset(st);
		return;
	}
	state = sqlite3_column_int(st, 0);
	epoch = sqlite3_column_int64(st, 1);
	owner = (const char *)sqlite3_column_text(st, 3);
	if (epoch < n->epoch)
		violated(s, "task %" PRId64 " went from epoch %" PRId64 " to %" PRId64,
			 number, n->epoch, epoch);
	if (n->completed && !n->unsure && state != TASK_STATE_COMPLETED)
		violated(s, "task %" PRId64 " was completed, and is in state %d", number,
			 state);
	if (n->owner >= 0 && must_hold(s, n, n->owner) &&
	    (!owner || strcmp(owner, s->agents[n->owner].name) != 0))
		violated(s, "task %" PRId64 " is held by %s, but %s was promised it",
			 number, owner ? owner : "nobody", s->agents[n->owner].name);
	/* A result may have ended a claim that is still valid in the model. */
	if (!owner)
		n->owner = -1;
	n->completed = state == TASK_STATE_COMPLETED;
	n->unsure = false;
	n->epoch = epoch;
	sqlite3_reset(st);
}

static void check_copy(struct sim *s, uint64_t key)
{
	int64_t message = (int64_t)((key - 1) >> 8);
	const struct agent *a = &s->agents[(key - 1) & 0xff];
	sqlite3_stmt *st = s->copy;

	sqlite3_bind_int64(st, 1, message);
	sqlite3_bind_int64(st, 2, a->row);
	if (sqlite3_step(st) != SQLITE_ROW)
		violated(s, "message %" PRId64 " to %s/%s was acknowledged and is lost",
			 message, a->team, a->name);
	sqlite3_reset(st);
}

/* Checks that a team's rows have the limits, spending and reservations that the model has. */
static void check_branch(struct sim *s, int i)
{
	const struct branch *b = &s->branches[i];
	sqlite3_stmt *st = s->branch;
	char name[24];
	int64_t reserved = 0;
	bool lives;

	snprintf(name, sizeof(name), i ? "branch-%d" : "tree", i);
	sqlite3_bind_text(st, 1, name, -1, SQLITE_STATIC);
	lives = sqlite3_step(st) == SQLITE_ROW;
	if (lives != b->lives)
		violated(s, "team %s %s", name, lives ? "lives" : "is gone");
	for (int k = 0; k < BRANCHES; k++)
		if (s->branches[k].lives && k > 0 && s->branches[k].parent == i)
			reserved += s->branches[k].most[BRANCH_TOKENS];
	if (lives && (sqlite3_column_int64(st, 0) != b->most[BRANCH_VMS] ||
		      sqlite3_column_int64(st, 1) != b->most[BRANCH_TOKENS] ||
		      sqlite3_column_int64(st, 2) != b->used[BRANCH_TOKENS] ||
		      sqlite3_column_int64(st, 3) != reserved ||
		      sqlite3_column_int64(st, 4) != b->most[BRANCH_COST] ||
		      sqlite3_column_int64(st, 5) != b->used[BRANCH_COST]))
		violated(s,
			 "team %s has used %lld of %lld tokens and reserved %lld, not "
			 "%" PRId64 " of %" PRId64 " and %" PRId64,
			 name, sqlite3_column_int64(st, 2), sqlite3_column_int64(st, 1),
			 sqlite3_column_int64(st, 3), b->used[BRANCH_TOKENS],
			 b->most[BRANCH_TOKENS], reserved);
	sqlite3_reset(st);
}

/* Checks that the living teams together count each reported token exactly once. */
static void check_tree(struct sim *s)
{
	int64_t tokens = 0;

	for (int i = 0; i < BRANCHES; i++) {
		check_branch(s, i);
		if (s->branches[i].lives)
			tokens += s->branches[i].used[BRANCH_TOKENS];
	}
	if (tokens != s->spent[BRANCH_TOKENS])
		violated(s, "%" PRId64 " tokens were spent, %" PRId64 " are counted",
			 s->spent[BRANCH_TOKENS], tokens);
	s->branches_touched = false;
}

void check_touched(struct sim *s)
{
	if (s->branches_touched)
		check_tree(s);
	for (size_t i = 0; i < s->n_sent && i < RECENT; i++)
		check_copy(s, s->sent[i]);
	for (size_t i = 0; i < s->n_tasks; i++)
		check_task(s, s->tasks[i].team, s->tasks[i].number);
	for (int i = 0; i < AGENTS; i++)
		if (s->agents[i].touched) {
			check_counters(s, &s->agents[i]);
			s->agents[i].touched = false;
		}
	s->n_sent = s->n_tasks = 0;
}

/* --- all rows ----------------------------------------------------------------------------- */

static void check_none(struct sim *s, const char *what, const char *sql)
{
	sqlite3_stmt *st = prepare(s, sql);

	if (sqlite3_step(st) == SQLITE_ROW && sqlite3_column_int64(st, 0) != 0)
		violated(s, "%s: %lld", what, (long long)sqlite3_column_int64(st, 0));
	sqlite3_finalize(st);
}

void check_kept_counts(struct sim *s)
{
	char *wrong = counts_wrong(s->reader);

	if (wrong)
		violated(s, "%s", wrong);
}

void check_open_rows(struct sim *s)
{
	for (int i = 0; i < AGENTS; i++)
		check_counters(s, &s->agents[i]);
	check_none(s, "open tasks whose open_deps are not what they wait for",
		   "SELECT count(*) FROM task k WHERE k.state < 4 AND k.team IN "
		   "(SELECT id FROM team) AND k.open_deps <> "
		   "(SELECT count(*) FROM task_dep d JOIN task o ON o.id = d.dep "
		   "WHERE d.task = k.id AND o.state <> 4)");
	check_none(s, "claims by an earlier generation",
		   "SELECT count(*) FROM task k JOIN agent a ON a.id = k.owner "
		   "WHERE k.owner IS NOT NULL AND k.owner_generation <> a.generation");
	check_none(s, "claimed tasks with dependencies in the way",
		   "SELECT count(*) FROM task WHERE owner IS NOT NULL AND open_deps > 0");
	check_none(s, "open assignments whose delivery is done with",
		   "SELECT count(*) FROM assignment x JOIN delivery d ON "
		   "d.message = x.message AND d.agent = x.agent "
		   "WHERE x.state < 2 AND d.state > 2");
	check_none(
		s, "teams below others that have spent more than was left to them",
		"SELECT count(*) FROM spending s JOIN team t ON t.id = s.team "
		"WHERE t.parent IS NOT NULL AND s.most > 0 AND s.used + s.reserved > s.most");
	check_none(s, "teams that count other limits than they have",
		   "SELECT count(*) FROM team t WHERE t.limits <> "
		   "(SELECT count(*) FROM budget b WHERE b.team = t.id AND b.most > 0)");
	check_none(s, "open assignments without a delivery",
		   "SELECT count(*) FROM assignment x WHERE x.state < 2 AND NOT EXISTS "
		   "(SELECT 1 FROM delivery d WHERE d.message = x.message)");
}

static void check_kept_rules(struct sim *s)
{
	struct fault f = { 0 };
	int64_t row;

	for (size_t i = 0; i < rule_count; i++)
		if (rule_broken(s->store, &rule_table[i], 0, &row, &f))
			violated(s, "%s: %s %" PRId64 " %s", f.text, rule_table[i].column,
				 row, rule_table[i].what);
}

void check_all(struct sim *s)
{
	struct fault f = { 0 };
	sqlite3_stmt *st;
	int64_t n = 0;

	check_open_rows(s);
	check_kept_counts(s);
	check_kept_rules(s);
	st = prepare(s,
		     "SELECT d.message, d.agent, d.state, d.attempt FROM delivery d "
		     "JOIN message m ON m.id = d.message WHERE m.type <> 'task_update'");
	while (sqlite3_step(st) == SQLITE_ROW) {
		int64_t row = sqlite3_column_int64(st, 1);
		int agent = 0;
		struct copy *c;

		while (agent < AGENTS && s->agents[agent].row != row)
			agent++;
		if (agent == AGENTS)
			continue; /* the copy is for an operator */
		n++;
		c = copy_of(s, sqlite3_column_int64(st, 0), agent, false);
		if (!c || c->attempt > sqlite3_column_int(st, 3) ||
		    (c->done && sqlite3_column_int(st, 2) < 3))
			violated(s, "message %lld to %s: %s",
				 (long long)sqlite3_column_int64(st, 0),
				 s->agents[agent].name,
				 c ? "handed out more often than its row says"
				   : "nobody was told of it");
	}
	sqlite3_finalize(st);
	if (n != (int64_t)s->n_copies)
		violated(s, "%zu copies were acknowledged, %" PRId64 " are there",
			 s->n_copies, n);
	check_none(s, "closed tasks whose open_deps are not what they wait for",
		   "SELECT count(*) FROM task k WHERE k.open_deps <> "
		   "(SELECT count(*) FROM task_dep d JOIN task o ON o.id = d.dep "
		   "WHERE d.task = k.id AND o.state <> 4)");
	check_none(
		s, "a task with two completions",
		"SELECT count(*) FROM (SELECT subject FROM event INDEXED BY event_task "
		"WHERE kind BETWEEN 200 AND 299 AND kind = 205 "
		"GROUP BY subject HAVING count(*) > 1)");
	if (store_check(s->store, &f) < 0)
		violated(s, "the file is not sound: %s", f.text);
}
