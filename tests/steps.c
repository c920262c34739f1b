/*
 * steps - checks that reads, alone or in write operations, cost about the same in a large state
 * as in a small state.
 *
 *	steps           compares the costs in both states, and the steps in the large state with
 *	                tests/steps/kept
 *	steps WORD      shows the costs of the operations whose names contain the word, and
 *	                the statements that cost more in the large state
 *	steps --renew   writes the steps in the large state to tests/steps/kept
 *
 * SQLite counts the steps of its virtual machine, the steps of full table scans, and its sorts.
 * The test uses no clock, so the numbers are the same on every machine. Each number in the
 * large state may be at most 1.2 times the number in the small state, unless `reasons` gives a
 * reason. The number of steps may be at most 1.1 times the number in tests/steps/kept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/alloc.h"
#include "storage/store_inside.h"
#include "storage/search/search_inside.h"
#include "tests/lib/counts.h"
#include "tests/lib/world.h"

#define KEPT "tests/steps/kept"

static const struct size {
	int rows; /* number of tasks, and also of messages, of events, of notes, of
		     results and of turns */
	int things; /* number of agents, and also of teams, of workspaces and of
		       reservations */
} sizes[] = { { 1000, 200 }, { 30000, 2000 } };

enum { SMALL, LARGE, SIZES };
enum { STEPS, SCANS, SORTS, COUNTS };

static const struct {
	int status;
	const char *name;
} kinds[COUNTS] = { { SQLITE_STMTSTATUS_VM_STEP, "steps" },
		    { SQLITE_STMTSTATUS_FULLSCAN_STEP, "steps along whole tables" },
		    { SQLITE_STMTSTATUS_SORT, "sorts" } };

static struct world *worlds[SIZES];

/* --- the calls --------------------------------------------------------------------------- */

/* An operation and the arguments of a call. */
static const struct ask {
	const char *op, *args;
} asks[] = {
	{ "agent.door", "{'name':'a1'}" },
	{ "agent.env", "{'name':'lead'}" },
	{ "agent.history", "{'name':'a1','limit':20}" },
	{ "agent.history", "{'name':'a55','limit':20}" },
	{ "agent.list", "{}" },
	{ "agent.list", "{'role':'tester'}" },
	{ "agent.part", "{'name':'a1'}" },
	{ "agent.start", "{}" },
	{ "agent.wait", "{'name':'a1','wait_seconds':0}" },
	{ "agent.whois", "{'name':'a1'}" },
	{ "assignment.list", "{'limit':20}" },
	{ "assignment.list", "{'limit':20,'open':true}" },
	{ "assignment.list", "{'limit':20,'agent':'a1'}" },
	{ "delivery.waiting", "{'agent':1001,'limit':20}" },
	{ "event.wait", "{'follow':['011','a1'],'wait_seconds':0}" },
	{ "event.list", "{'limit':20}" },
	{ "event.list", "{'limit':20,'after':0}" },
	{ "event.list", "{'limit':20,'kind':'task'}" },
	{ "event.list", "{'limit':20,'by':'a1'}" },
	{ "event.list", "{'limit':20,'by':'operator'}" },
	{ "event.list", "{'limit':20,'kind':'task.claimed'}" },
	{ "event.replay", "{'limit':20,'until':500}" },
	{ "limit.list", "{'limit':20}" },
	{ "message.list", "{'limit':20}" },
	{ "message.list", "{'limit':20,'agent':'a1'}" },
	{ "message.list", "{'limit':20,'agent':'a55'}" },
	{ "message.news", "{}" },
	{ "message.news", "{'paths':['src/1/x','src/2/x','other']}" },
	{ "message.overdue", "{'limit':20}" },
	{ "message.part", "{'message_id':'#15'}" },
	{ "message.peek", "{'limit':20}" },
	{ "message.receipt", "{'message_id':'#15'}" },
	{ "message.thread", "{'thread':'long','limit':20}" },
	{ "message.thread", "{'thread':'short0','limit':20}" },
	{ "reservation.list", "{'limit':20}" },
	{ "reservation.list", "{'limit':20,'path':'src/1/x'}" },
	{ "reservation.list", "{'limit':20,'agent':'a1'}" },
	{ "result.list", "{'limit':20}" },
	{ "result.list", "{'limit':20,'agent':'a1'}" },
	{ "result.show", "{'id':'#15'}" },
	{ "result.show", "{'id':'work 20'}" },
	{ "result.wait", "{'id':'#15','wait_seconds':0}" },
	{ "search.find", "{'query':'parser','limit':20,'scope':'messages'}" },
	{ "search.find", "{'query':'parser','limit':20,'scope':'tasks'}" },
	{ "search.find", "{'query':'parser','limit':20,'scope':'notes'}" },
	{ "session.find", "{'name':'s1'}" },
	{ "state.line", "{}" },
	{ "state.status", "{}" },
	{ "task.history", "{'task':'011','limit':20}" },
	{ "task.list", "{'limit':20}" },
	{ "task.list", "{'limit':20,'after':'500'}" },
	{ "task.list", "{'limit':20,'all':true}" },
	{ "task.list", "{'limit':20,'closed':true}" },
	{ "task.list", "{'limit':20,'status':['failed','blocked']}" },
	{ "task.list", "{'limit':20,'status':'pending'}" },
	{ "task.list", "{'limit':20,'mine':true}" },
	{ "task.list", "{'limit':20,'owner':'a2'}" },
	{ "task.list", "{'limit':20,'tag':'common'}" },
	{ "task.list", "{'limit':20,'tag':'rare','all':true}" },
	{ "task.list", "{'limit':20,'tag':'common','status':'blocked'}" },
	{ "task.order", "{}" },
	{ "task.graph", "{}" },
	{ "task.part", "{'task':'011','limit':20}" },
	{ "task.ready", "{'limit':20}" },
	{ "task.show", "{'task':'011'}" },
	{ "task.show", "{'task':'016'}" },
	{ "task.wait", "{'task':'011','wait_seconds':0}" },
	{ "team.budget", "{}" },
	{ "team.list", "{}" },
	{ "team.list", "{'all':true}" },
	{ "team.list", "{'tree':true}" },
	{ "team.status", "{}" },
	{ "team.wait", "{'wait_seconds':0}" },
	{ "token.list", "{'limit':20}" },
	{ "token.who", "{}" },
	{ "turn.list", "{'limit':20}" },
	{ "turn.list", "{'limit':20,'agent':'a1'}" },
	{ "turn.list", "{'limit':20,'agent':'a55'}" },
	{ "turn.read", "{'turn':15}" },
	/* Makes the note that the next operations read. */
	{ "vault.write", "{'path':'note.md','content':'the parser'}" },
	{ "vault.frontmatter", "{'path':'note.md'}" },
	{ "vault.list", "{}" },
	{ "vault.read", "{'path':'note.md'}" },
	{ "vault.removed", "{}" },
	{ "vault.search", "{'query':'parser'}" },
	{ "vault.stats", "{}" },
	{ "vault.tags", "{}" },
	{ "workspace.info", "{'workspace':'w5'}" },
	{ "workspace.list", "{}" },
	{ "workspace.list", "{'all':true}" },
	{ "workspace.network_rows", "{}" },
	{ "workspace.rows", "{}" },
	{ "workspace.snapshots", "{'workspace':'w5'}" },
	{ "workspace.wait", "{'workspace':'w5','wait_seconds':0}" },
	/* Write operations that also read. Daily work and hooks call these operations often. */
	{ "message.show", "{}" },
	{ "message.receive", "{'limit':20}" },
	{ "message.send", "{'to':'a2','content':'x'}" },
	{ "task.create", "{'title':'x'}" },
	{ "task.claim", "{}" },
	{ "task.heartbeat", "{}" },
	{ "task.note", "{'text':'x'}" },
	{ "task.complete", "{}" },
};

enum { ASKS = sizeof(asks) / sizeof(*asks) };

/* The reasons (`why`) why some calls may cost more in the large state. A reason holds for calls
 * of `op` whose arguments contain the text `args`. */
static const struct reason {
	const char *op, *args, *why;
} reasons[] = {
	{ "agent.history", "a55",
	  "one with little mail is found in its team's: see message.list" },
	{ "event.list", "'by':'operator'",
	  "an index of actors costs each change 5 %; the rare one is looked for" },
	{ "event.list", "'kind':'task.claimed'",
	  "an index of kinds costs each change 5 %; the rare one is looked for" },
	{ "event.replay", "",
	  "what was is found out from the whole log, for a person who asks" },
	{ "message.list", "a55",
	  "an index of all copies by agent costs a message 9 %, a broadcast 17 %; "
	  "one with little mail is found in its team's" },
	{ "search.find", "messages",
	  "words on more than a page have a tree above the pages" },
	{ "search.find", "tasks",
	  "both indexes, of titles and of texts, have a tree above the pages" },
	{ "task.list", "'status':'blocked'",
	  "the tasks of a tag are looked through for a status" },
	{ "task.order", "", "it is asked for all there is" },
	{ "task.graph", "", "it reads at most 501 tasks of each open state" },
	{ "vault.removed", "",
	  "the folders of the trash are those of any team that lives" },
	{ "workspace.network_rows", "", "the host makes its rules of all its VMs" },
	{ "workspace.rows", "",
	  "a page is 1,000 of the host's workspaces, and the small state has 200" },
};

/* Returns the reason why the call may cost more in the large state, or NULL if there is no
 * reason. */
static const char *reason_of(const struct ask *q)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (strcmp(reasons[i].op, q->op) == 0 && strstr(q->args, reasons[i].args))
			return reasons[i].why;
	return NULL;
}

static const struct caller_as {
	const char *name;
	struct identity id;
} callers[] = {
	{ "operator", { .level = WHO_OPERATOR, .team = "t" } },
	{ "operator of all", { .level = WHO_OPERATOR } },
	{ "lead",
	  { .level = WHO_OBSERVER, .team = "t", .agent = "lead", .proven = true } },
	{ "member",
	  { .level = WHO_OBSERVER, .team = "t", .agent = "a1", .proven = true } },
	{ "lead of a young team",
	  { .level = WHO_OBSERVER, .team = "q", .agent = "lead", .proven = true } },
	{ "host", { .level = WHO_HOST } },
};

enum { CALLERS = sizeof(callers) / sizeof(*callers) };

static json_t *args_of(const char *text)
{
	char *json = strdup(text);
	json_t *args;

	for (char *c = json; *c; c++)
		if (*c == '\'')
			*c = '"';
	args = json_loads(json, 0, NULL);
	assert_non_null(args);
	free(json);
	return args;
}

static void ask(struct world *w, const char *op, const char *args,
		const struct identity *id, struct answer *a)
{
	struct asked q = { .op = op_find(op),
			   .args = args_of(args),
			   .identity = *id,
			   .form = { .most = 4000 } };

	world_ask(w, w->store, &q, a);
	json_decref(q.args);
}

/* --- the states -------------------------------------------------------------------------- */

/* The SQL function enum(): the number of a word in the table `word`, such as
 * task_state.pending. */
static void sql_enum(sqlite3_context *ctx, int n, sqlite3_value **args)
{
	sqlite3_stmt *st;

	(void)n;
	sqlite3_prepare_v2(sqlite3_context_db_handle(ctx),
			   "SELECT n FROM word WHERE list || '.' || word = ?", -1, &st,
			   NULL);
	sqlite3_bind_value(st, 1, args[0]);
	if (sqlite3_step(st) == SQLITE_ROW)
		sqlite3_result_int(ctx, sqlite3_column_int(st, 0));
	else
		sqlite3_result_error(ctx, "there is no such word", -1);
	sqlite3_finalize(st);
}

static void run_sql(struct world *w, const char *sql)
{
	char *why = NULL;

	if (sqlite3_exec(w->store->db, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %.300s", why, sql);
}

static void run_file(struct world *w, const char *path)
{
	FILE *f = fopen(path, "r");
	char *sql = NULL;
	size_t room = 0;

	if (!f || getdelim(&sql, &room, '\0', f) < 0)
		fail_msg("cannot read %s", path);
	fclose(f);
	run_sql(w, sql);
	free(sql);
}

static void make_team(struct world *w, const char *args)
{
	struct answer a;

	ask(w, "team.create", args, &(const struct identity){ .level = WHO_OPERATOR },
	    &a);
	if (a.rc < 0)
		fail_msg("no team: %s", a.fault.text);
	answer_release(&a);
}

static void fill(struct world *w, const struct size *size)
{
	sqlite3 *db;
	char *sql, *wrong;

	world_open(w);
	w->now = 1767225600000;
	db = w->store->db;
	sqlite3_create_function(db, "enum", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
				sql_enum, NULL, NULL);
	make_team(w, "{'name':'t','inbox_capacity':0,'roles':[{'name':'lead'}]}");
	sql = sqlite3_mprintf(
		"BEGIN; CREATE TEMP TABLE size AS SELECT %d AS rows, %d AS things, "
		"%lld AS now, %lld AS past, %lld AS far",
		size->rows, size->things, w->now, w->now - 864000000, w->now + 86400000);
	run_sql(w, sql);
	sqlite3_free(sql);
	run_file(w, "tests/steps/fill.sql");
	run_sql(w, "COMMIT");
	kept_forget(&w->store->kept);
	if (size == &sizes[SMALL] && (wrong = counts_wrong(db)))
		fail_msg("tests/steps/fill.sql: %s", wrong);
	make_team(w, "{'name':'q','roles':[{'name':'lead'}]}");
}

/* Searches until the index has all rows and its parts are merged. */
static void make_index(struct world *w)
{
	struct answer a;
	bool whole;

	do {
		ask(w, "search.find", "{'query':'parser','limit':1}", &callers[0].id, &a);
		whole = json_integer_value(json_object_get(a.reply, "indexed_to")) > 0;
		answer_release(&a);
	} while (!whole || w->store->search->parts);
}

/* --- counting ---------------------------------------------------------------------------- */

static void count_db(sqlite3 *db, int64_t counts[COUNTS])
{
	sqlite3_stmt *st = NULL;

	while ((st = sqlite3_next_stmt(db, st)))
		for (int c = 0; c < COUNTS; c++)
			counts[c] += sqlite3_stmt_status(st, kinds[c].status, 1);
}

static void count_all(struct world *w, int64_t counts[COUNTS])
{
	memset(counts, 0, COUNTS * sizeof(*counts));
	count_db(w->store->db, counts);
	if (w->store->search)
		count_db(w->store->search->side.db, counts);
}

/* The costs of a caller's call in each state, and whether the call succeeded. */
struct outcome {
	int64_t counts[SIZES][COUNTS];
	int64_t statements[SIZES][SQL_COUNT]; /* steps of each statement */
	bool answered;
	struct fault fault;
};

static void run(const struct ask *q, const struct caller_as *as, struct outcome *o)
{
	struct answer a;

	for (int s = SMALL; s < SIZES; s++) {
		struct world *w = worlds[s];

		count_all(w, o->counts[s]); /* resets the counters to 0 */
		ask(w, q->op, q->args, &as->id, &a);
		for (int i = 0; i < SQL_COUNT; i++)
			o->statements[s][i] =
				w->store->stmts[i].stmt
					? sqlite3_stmt_status(w->store->stmts[i].stmt,
							      kinds[STEPS].status, 0)
					: 0;
		count_all(w, o->counts[s]);
		if (s > SMALL && o->answered != (a.rc >= 0))
			fail_msg("%s %s as %s: only one of the states answers", q->op,
				 q->args, as->name);
		o->answered = a.rc >= 0;
		o->fault = a.fault;
		answer_release(&a);
	}
}

static bool grows(const int64_t counts[SIZES][COUNTS], int c)
{
	return counts[LARGE][c] * 5 > counts[SMALL][c] * 6;
}

static void tell(const struct ask *q, const struct caller_as *as, const struct outcome *o)
{
	printf("%s %s as %s%s%s\n", q->op, q->args, as->name, o->answered ? "" : ": ",
	       o->answered ? "" : o->fault.text);
	for (int c = 0; c < COUNTS; c++)
		printf("    %s %lld, in the large state %lld%s\n", kinds[c].name,
		       (long long)o->counts[SMALL][c], (long long)o->counts[LARGE][c],
		       grows(o->counts, c) ? " !" : "");
	if (reason_of(q))
		printf("    may cost more: %s\n", reason_of(q));
	for (int i = 0; i < SQL_COUNT; i++)
		if (o->statements[LARGE][i] * 5 > o->statements[SMALL][i] * 6)
			printf("        %s: %lld, %lld\n", statement_table[i].name,
			       (long long)o->statements[SMALL][i],
			       (long long)o->statements[LARGE][i]);
}

/* --- the kept steps ------------------------------------------------------------------------- */

/* Values in `now` and `kept` for calls that have no number of steps. */
enum { NOT_ASKED = -1, REFUSED = -2 };
static int64_t now[ASKS][CALLERS], kept[ASKS][CALLERS];

/* Writes the file tests/steps/kept. A line has a number, `-` or `refused` for each caller, and
 * then the operation and its arguments. */
static void kept_write(void)
{
	FILE *f = fopen(KEPT, "w");

	if (!f)
		fail_msg("cannot write %s", KEPT);
	fputs("# Steps of an ask in the large state, as each caller in turn: see tests/steps.c.\n"
	      "# A change that has a reason to cost more writes them anew, with --renew, and its\n"
	      "# commit says why.\n#",
	      f);
	for (size_t k = 0; k < CALLERS; k++)
		fprintf(f, "%s %s", k ? "," : "", callers[k].name);
	fputc('\n', f);
	for (size_t i = 0; i < ASKS; i++) {
		for (size_t k = 0; k < CALLERS; k++)
			if (now[i][k] < 0)
				fprintf(f, " %7s",
					now[i][k] == REFUSED ? "refused" : "-");
			else
				fprintf(f, " %7lld", (long long)now[i][k]);
		fprintf(f, "  %s %s\n", asks[i].op, asks[i].args);
	}
	fclose(f);
}

static void kept_take(char *line)
{
	int64_t steps[CALLERS];
	char *at = line;

	for (size_t k = 0; k < CALLERS; k++) {
		at += strspn(at, " ");
		steps[k] = *at == '-'   ? NOT_ASKED
			   : *at == 'r' ? REFUSED
					: strtoll(at, NULL, 10);
		at += strcspn(at, " ");
	}
	at += strspn(at, " ");
	for (size_t i = 0; i < ASKS; i++) {
		size_t n = strlen(asks[i].op);

		if (strncmp(at, asks[i].op, n) == 0 &&
		    strcmp(at + n + 1, asks[i].args) == 0)
			memcpy(kept[i], steps, sizeof(steps));
	}
}

static void kept_read(void)
{
	FILE *f = fopen(KEPT, "r");
	char line[512];

	if (!f)
		fail_msg("cannot read %s", KEPT);
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (*line != '#')
			kept_take(line);
	}
	fclose(f);
}

/* --- judging -------------------------------------------------------------------------------- */

static bool may_ask(const struct ask *q, const struct caller_as *as)
{
	return (op_find(q->op)->who == WHO_HOST) == (as->id.level == WHO_HOST);
}

static int compare(size_t i, const char *word)
{
	struct outcome *o = xcalloc(1, sizeof(*o));
	bool answered = false, grown = false;
	int bad = 0;

	for (size_t k = 0; k < CALLERS; k++) {
		bool more = false;

		now[i][k] = NOT_ASKED;
		if (!may_ask(&asks[i], &callers[k]))
			continue;
		run(&asks[i], &callers[k], o);
		answered |= o->answered;
		now[i][k] = o->answered ? o->counts[LARGE][STEPS] : REFUSED;
		for (int c = 0; c < COUNTS; c++)
			more |= grows(o->counts, c);
		grown |= more;
		if (word || (more && !reason_of(&asks[i])))
			tell(&asks[i], &callers[k], o);
		bad += more && !reason_of(&asks[i]);
	}
	if (!answered && ++bad)
		printf("%s %s is refused to all\n", asks[i].op, asks[i].args);
	if (reason_of(&asks[i]) && !grown && ++bad)
		printf("%s %s costs no more, and needs no reason to\n", asks[i].op,
		       asks[i].args);
	free(o);
	return bad;
}

/* Compares the steps of a call with its steps in tests/steps/kept. */
static int compare_kept(size_t i)
{
	int bad = 0;

	for (size_t k = 0; k < CALLERS; k++) {
		const bool refused = now[i][k] == REFUSED, was = kept[i][k] == REFUSED;

		if (refused != was && ++bad)
			printf("%s %s as %s is %s\n", asks[i].op, asks[i].args,
			       callers[k].name, refused ? "refused" : "no more refused");
		else if (now[i][k] > 0 && now[i][k] * 10 > kept[i][k] * 11 && ++bad)
			printf("%s %s as %s: %lld steps, %lld are kept; if that has a reason: "
			       "build/tests/steps --renew\n",
			       asks[i].op, asks[i].args, callers[k].name,
			       (long long)now[i][k], (long long)kept[i][k]);
	}
	return bad;
}

/* Prints each read operation that `asks` lacks, and returns the number of these operations. */
static int find_missing(void)
{
	int bad = 0;

	for (size_t o = 0; o < op_count; o++) {
		bool found = op_table[o].flags & OP_WRITE;

		for (size_t i = 0; i < ASKS; i++)
			found |= strcmp(asks[i].op, op_table[o].name) == 0;
		if (!found && ++bad)
			printf("%s reads, and has no line in tests/steps.c\n",
			       op_table[o].name);
	}
	return bad;
}

int main(int argc, char **argv)
{
	const bool renew = argc > 1 && strcmp(argv[1], "--renew") == 0;
	const char *word = argc > 1 && !renew ? argv[1] : NULL;
	int bad = find_missing(), asked = 0;

	for (int s = SMALL; s < SIZES; s++) {
		worlds[s] = xcalloc(1, sizeof(*worlds[s]));
		fill(worlds[s], &sizes[s]);
		make_index(worlds[s]);
	}
	if (!word && !renew)
		kept_read();
	for (size_t i = 0; i < ASKS; i++) {
		if (word && !strstr(asks[i].op, word))
			continue;
		asked++;
		bad += compare(i, word);
		if (!word && !renew)
			bad += compare_kept(i);
	}
	if (renew)
		kept_write();
	printf("%d asks, %d bad\n", asked, bad);
	for (int s = SMALL; s < SIZES; s++) {
		world_close(worlds[s]);
		free(worlds[s]);
	}
	return bad || !asked;
}
