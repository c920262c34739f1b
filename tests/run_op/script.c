/* Reads a transcript and runs it line by line. */
#include "tests/run_op/script.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/transfer/rule.h"
#include "ops.gen.h"
#include "storage/store_inside.h"
#include "tests/lib/counts.h"
#include "tests/lib/hooks.h"

static const int64_t first_day = 1767225600000; /* 2026-01-01 */

void script_wrong(struct script *s, const char *fmt, ...)
{
	va_list ap;

	s->wrong++;
	printf("%s:%d: ", s->path, s->line);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

/* --- the settings of a call ------------------------------------------------------- */

static void do_at(struct script *s, const char *rest)
{
	int h = 0, m = 0, sec = 0;

	if (sscanf(rest, "%d:%d:%d", &h, &m, &sec) != 3)
		script_wrong(s, "no time: %s", rest);
	s->world.now = first_day + ((int64_t)h * 3600 + m * 60 + sec) * 1000;
}

static void do_later(struct script *s, const char *rest)
{
	static const struct {
		const char *unit;
		int64_t ms;
	} units[] = { { "ms", 1 },
		      { "s", 1000 },
		      { "m", 60000 },
		      { "h", 3600000 },
		      { "d", 86400000 } };
	char *unit;
	int64_t n = strtoll(rest, &unit, 10);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(unit, units[i].unit) != 0)
			continue;
		s->world.now += n * units[i].ms;
		return;
	}
	script_wrong(s, "no such unit: %s", rest);
}

static void become_agent(struct script *s, const char *address)
{
	const char *slash = strchr(address, '/');

	if (!slash) {
		script_wrong(s, "an agent is team/name, not %s", address);
		return;
	}
	s->identity.team = arena_strndup(&s->arena, address, (size_t)(slash - address));
	s->identity.agent = arena_strdup(&s->arena, slash + 1);
}

static void do_as(struct script *s, const char *rest)
{
	const char *session = s->identity.session;
	const char *with = strstr(rest, " with $"), *as = strstr(rest, "operator for ");
	const char *in = strstr(rest, "operator in ");
	const char *who = arena_strndup(&s->arena, rest, strcspn(rest, " "));

	s->identity = (struct identity){ .level = WHO_OBSERVER, .session = session };
	if (as) {
		become_agent(s, as + strlen("operator for "));
		s->identity.proven = s->identity.as = true;
	} else if (in || strcmp(rest, "operator") == 0) {
		s->identity.level = WHO_OPERATOR;
		s->identity.team =
			in ? arena_strdup(&s->arena, in + strlen("operator in ")) : NULL;
	} else if (strcmp(rest, "host") == 0) {
		s->identity.level = WHO_HOST;
	} else if (strcmp(rest, "newcomer") == 0) {
		s->identity.level = WHO_OPERATOR;
		s->identity.nobody = true;
	} else if (strcmp(who, "nobody") != 0) {
		become_agent(s, who);
		s->identity.token = json_string_value(
			with ? json_object_get(s->vars, with + strlen(" with $"))
			     : json_object_get(s->tokens, who));
		s->identity.token = arena_strdup(&s->arena, s->identity.token);
		s->identity.kept = strstr(rest, " kept") != NULL;
	}
}

static void do_session(struct script *s, const char *rest)
{
	s->identity.session = strcmp(rest, "-") ? arena_strdup(&s->arena, rest) : NULL;
}

static void do_hosted(struct script *s, const char *rest)
{
	s->world.hosted = strcmp(rest, "on") == 0;
}

static void do_settles(struct script *s, const char *rest)
{
	s->world.settles = strcmp(rest, "on") == 0;
}

static int64_t choice_of(const struct type *t, const char *word)
{
	int64_t n = 0;

	while (t->choices[n].name && strcmp(t->choices[n].name, word) != 0)
		n++;
	return n;
}

static void do_set(struct script *s, const char *rest)
{
	size_t n = strcspn(rest, " ");
	const char *name = arena_strndup(&s->arena, rest, n);
	const struct field *key = field_find(&record_config, name);
	int64_t value = strtoll(rest + n, NULL, 10);

	if (strcmp(name, "keep_events") == 0)
		s->world.keep_events = value;
	else if (key && key->type->kind == KIND_BOOL)
		*(bool *)((char *)&s->world.settings.config + key->at) = value != 0;
	else if (key && key->type->kind == KIND_ENUM)
		memcpy((char *)&s->world.settings.config + key->at,
		       &(int64_t){ choice_of(key->type, rest + n + 1) }, sizeof(value));
	else if (key && key->type->kind == KIND_INT)
		memcpy((char *)&s->world.settings.config + key->at, &value,
		       sizeof(value));
	else
		script_wrong(s, "no such number: %s", name);
}

static void do_key(struct script *s, const char *rest)
{
	s->key = arena_strdup(&s->arena, rest);
}

/* --- calls --------------------------------------------------------------------------- */

static void learn_token(struct script *s, const char *team, json_t *from)
{
	const char *name = json_string_value(json_object_get(from, "name"));
	json_t *token = json_object_get(from, "token");

	if (team && name && token)
		json_object_set(s->tokens, arena_printf(&s->arena, "%s/%s", team, name),
				token);
}

static void learn_tokens(struct script *s)
{
	json_t *reply = s->answer.reply, *m;
	const char *name = json_string_value(json_object_get(reply, "name"));
	const char *team = json_string_value(json_object_get(reply, "team"));
	size_t i;

	/* In answers of team.create the field `name` is the team. In answers of member.add and
	 * agent.register the field `team` is the team. */
	json_array_foreach(json_object_get(reply, "members"), i, m)
		learn_token(s, team ? team : name, m);
	if (strcmp(s->asked.op->name, "agent.register") == 0)
		learn_token(s, team, reply);
}

/* Whether the operation may emit the event. Any operation may emit events that depend only on
 * time, since the first call after an event's time writes the event. */
static bool emits(const struct op *op, int kind)
{
	static const int by_any[] = { EVENT_TEAM_STATE, EVENT_MESSAGE_REQUEUED,
				      EVENT_MESSAGE_EXPIRED, EVENT_MESSAGE_DEAD };

	for (size_t i = 0; i < sizeof(by_any) / sizeof(by_any[0]); i++)
		if (by_any[i] == kind)
			return true;
	for (const int *e = op->events; *e; e++)
		if (*e == kind)
			return true;
	return false;
}

static void note_events(struct script *s)
{
	/* `back`: the event says that the caller, which was offline, is ready. Any call of such
	 * a caller may emit the event. */
	static const char events[] = "SELECT kind, kind = ?2 AND subject = target AS back"
				     " FROM event WHERE seq > ?1";
	sqlite3_stmt *st = NULL;

	if (sqlite3_prepare_v2(s->world.store->db, events, -1, &st, NULL) != SQLITE_OK)
		abort();
	sqlite3_bind_int64(st, 1, s->events_from);
	sqlite3_bind_int(st, 2, EVENT_AGENT_STATUS);
	while (sqlite3_step(st) == SQLITE_ROW) {
		int kind = sqlite3_column_int(st, 0);

		s->coverage->events[kind] = true;
		if (!emits(s->asked.op, kind) && !sqlite3_column_int(st, 1))
			script_wrong(s, "%s declares no %s", s->asked.op->name,
				     event_kind(kind)->name);
	}
	sqlite3_finalize(st);
}

/* Whether the operation may answer with the fault. */
static bool is_declared(const struct op *op, const struct fault *f)
{
	if (f->code == FAULT_INVALID || f->code == FAULT_DENIED ||
	    f->code == FAULT_UNAVAILABLE)
		return true;
	if (strcmp(f->where, "/idempotency_key") == 0 || strcmp(f->where, "") == 0 ||
	    strcmp(f->where, "/from") == 0 || strcmp(f->where, "/team") == 0)
		return true; /* any call's key or caller may cause such a fault */
	for (const enum fault_code *c = op->faults; *c; c++)
		if (*c == f->code)
			return true;
	return false;
}

static void note_answer(struct script *s)
{
	struct answer *a = &s->answer;

	if (a->rc < 0) {
		coverage_fault(s->coverage, s->asked.op, a->fault.code);
		if (!is_declared(s->asked.op, &a->fault))
			script_wrong(s, "%s declares no %s (%s)", s->asked.op->name,
				     fault_info(a->fault.code)->name, a->fault.text);
		return;
	}
	s->coverage->ops[s->asked.op->index] = true;
	learn_tokens(s);
	note_events(s);
}

static void check_counts(struct script *s)
{
	char *wrong = counts_wrong(s->world.store->db);

	if (wrong)
		script_wrong(s, "before this line: %s: %s", s->asked.op->name, wrong);
	free(wrong);
}

/* Checks that an import would accept all rows of the state. */
static void judge_rules(struct script *s)
{
	struct fault f = { 0 };
	int64_t row;

	for (size_t i = 0; i < rule_count; i++)
		if (rule_broken(s->world.store, &rule_table[i], 0, &row, &f))
			script_wrong(s, "before this line: %s: %s: %s %lld %s",
				     s->asked.op->name, f.text, rule_table[i].column,
				     (long long)row, rule_table[i].what);
}

/* If no line of the transcript has checked the answer, the call must have succeeded. */
static void end_call(struct script *s)
{
	if (s->asked.op) {
		check_counts(s);
		judge_rules(s);
	}
	if (s->asked.op && !s->checked && s->answer.rc < 0)
		script_wrong(s, "before this line: %s: %s (%s) at '%s'",
			     s->asked.op->name, fault_info(s->answer.fault.code)->name,
			     s->answer.fault.text, s->answer.fault.where);
	s->checked = true;
}

/* Ends the last call before the next call begins. With `--faults`, then repeats the last call
 * with failures. */
static void next_call(struct script *s)
{
	end_call(s);
	if (s->faults == FAULTS_ALL && s->asked.op)
		faults_run(s, true, false);
}

static void keep_before(struct script *s)
{
	struct fault f = { 0 };

	if (s->faults == FAULTS_NONE)
		return;
	s->world_before = s->world;
	if (!s->before)
		s->before = world_store();
	if (store_copy(s->before, s->world.store, &f) < 0)
		script_wrong(s, "cannot copy the state: %s", f.text);
}

static void ask(struct script *s)
{
	answer_release(&s->answer);
	keep_before(s);
	s->events_from =
		world_number(s->world.store, "SELECT coalesce(max(seq), 0) FROM event");
	world_ask(&s->world, s->world.store, &s->asked, &s->answer);
	s->checked = false;
	note_answer(s);
}

static void do_call(struct script *s, const char *name, const char *rest)
{
	const struct op *op = op_find(name);
	json_t *args = json_loads(*rest ? rest : "{}", 0, NULL);
	json_t *full;

	next_call(s);
	if (!op || !args) {
		script_wrong(s, op ? "no JSON: %s" : "no such call: %s",
			     op ? rest : name);
		json_decref(args);
		return;
	}
	full = fill_in(s, args);
	json_decref(args);
	json_decref(s->asked.args);
	if (s->key)
		json_object_set_new(
			full, op->flags & OP_REQUEST ? "request_id" : "idempotency_key",
			json_string(s->key));
	s->key = NULL;
	s->asked = (struct asked){ .op = op, .args = full, .identity = s->identity };
	ask(s);
}

static void do_again(struct script *s, const char *rest)
{
	(void)rest;
	next_call(s);
	s->asked.made = 0;
	s->asked.replayed = false;
	s->asked.identity = s->identity;
	ask(s);
}

static void do_lost(struct script *s, const char *rest)
{
	const struct given *g = &s->answer.given;
	json_t *args = json_pack("{sIsIsIsIsb}", "agent", (json_int_t)g->agent, "request",
				 (json_int_t)g->request, "task", (json_int_t)g->task,
				 "epoch", (json_int_t)g->epoch, "sent",
				 strcmp(rest, "perhaps") == 0);

	next_call(s);
	json_decref(s->asked.args);
	s->asked = (struct asked){ .op = op_answer_undo,
				   .args = args,
				   .identity = { .level = WHO_HOST } };
	ask(s);
}

static void do_arrived(struct script *s, const char *rest)
{
	const struct given *g = &s->answer.given;
	json_t *args = json_pack("{sIsI}", "agent", (json_int_t)g->agent, "request",
				 (json_int_t)g->request);

	(void)rest;
	next_call(s);
	json_decref(s->asked.args);
	s->asked = (struct asked){ .op = op_answer_take,
				   .args = args,
				   .identity = { .level = WHO_HOST } };
	ask(s);
}

static void do_resume(struct script *s, const char *rest)
{
	(void)rest;
	next_call(s);
	s->asked.made = s->answer.made;
	s->asked.replayed = s->answer.replayed;
	ask(s);
}

/* --- expectations ------------------------------------------------------------------------ */

static void do_equals(struct script *s, const char *rest)
{
	json_error_t error;
	json_t *want = json_loads(rest, JSON_DECODE_ANY, &error);
	const char *bad;

	s->checked = true;
	if (!want)
		script_wrong(s, "no JSON (%s): %s", error.text, rest);
	else if (s->answer.rc < 0)
		script_wrong(s, "%s: %s (%s) at '%s'", s->asked.op->name,
			     fault_info(s->answer.fault.code)->name, s->answer.fault.text,
			     s->answer.fault.where);
	else if ((bad = match(s, want, s->answer.reply)))
		script_wrong(s, "%s", bad);
	json_decref(want);
}

static void do_fault(struct script *s, const char *rest)
{
	const struct fault *f = &s->answer.fault;
	size_t n = strcspn(rest, " ");
	const char *code = arena_strndup(&s->arena, rest, n);
	const char *text = rest[n] ? rest + n + 1 : "";
	const char *where = strstr(text, " at /");
	size_t len = where ? (size_t)(where - text) : strlen(text);

	s->checked = true;
	if (strncmp(text, "at /", 4) == 0) {
		where = text - 1;
		len = 0;
	}
	if (s->answer.rc >= 0) {
		script_wrong(s, "it succeeded");
		return;
	}
	if (strcmp(fault_info(f->code)->name, code) != 0 ||
	    strncmp(f->text, text, len) != 0 ||
	    (where && strcmp(where + 4, f->where) != 0))
		script_wrong(s, "it failed with: %s %s at %s", fault_info(f->code)->name,
			     f->text, f->where);
}

static void do_events(struct script *s, const char *rest)
{
	const char *got = "";
	sqlite3_stmt *st = NULL;

	if (sqlite3_prepare_v2(s->world.store->db, "SELECT kind FROM event WHERE seq > ?",
			       -1, &st, NULL) != SQLITE_OK)
		abort();
	sqlite3_bind_int64(st, 1, s->events_from);
	while (sqlite3_step(st) == SQLITE_ROW)
		got = arena_printf(&s->arena, "%s%s%s", got, *got ? " " : "",
				   event_kind(sqlite3_column_int(st, 0))->name);
	sqlite3_finalize(st);
	if (strcmp(got, strcmp(rest, "nothing") ? rest : "") != 0)
		script_wrong(s, "it emitted: %s", *got ? got : "nothing");
}

static void do_waits(struct script *s, const char *rest)
{
	static const char *const names[] = { "nothing", "inbox", "ready", "event" };

	if (strcmp(names[s->answer.wait_on], rest) != 0)
		script_wrong(s, "it waits for %s", names[s->answer.wait_on]);
}

/* Repeats the last call with failures. The last call of a transcript is repeated with failures
 * even without a line `fails`. */
static void do_fails(struct script *s, const char *rest)
{
	(void)rest;
	if (s->faults == FAULTS_LAST)
		faults_run(s, false, false);
}

/* --- lines ---------------------------------------------------------------------------------- */

static const struct {
	const char *word;
	void (*run)(struct script *s, const char *rest);
} words[] = {
	{ "at", do_at },           { "+", do_later },       { "as", do_as },
	{ "session", do_session }, { "hosted", do_hosted }, { "set", do_set },
	{ "key", do_key },         { "again", do_again },   { "resume", do_resume },
	{ "=", do_equals },        { "!", do_fault },       { "~", do_events },
	{ "waits", do_waits },     { "lost", do_lost },     { "arrived", do_arrived },
	{ "settles", do_settles }, { "fails", do_fails },
};

static void run_line(struct script *s, char *line)
{
	size_t n = strcspn(line, " ");
	char *rest = line + n + strspn(line + n, " ");

	if (line[n])
		line[n] = '\0';
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(words[i].word, line) != 0)
			continue;
		words[i].run(s, rest);
		return;
	}
	do_call(s, line, rest);
}

/* A line that begins with a blank continues the line above it. */
static void run_file(struct script *s, FILE *f)
{
	char *line = NULL, *whole = NULL;
	size_t room = 0;
	ssize_t n;
	int at = 0;

	do {
		n = getline(&line, &room, f);
		if (n > 0 && line[n - 1] == '\n')
			line[--n] = '\0';
		at++;
		if (n > 0 && (line[0] == ' ' || line[0] == '\t') && whole) {
			size_t len = strlen(whole);

			whole = realloc(whole, len + (size_t)n + 1);
			if (!whole)
				abort();
			memcpy(whole + len, line, (size_t)n + 1);
			continue;
		}
		if (whole && *whole && *whole != '#')
			run_line(s, whole);
		free(whole);
		whole = n < 0 ? NULL : strdup(line);
		s->line = at;
	} while (n >= 0);
	free(whole);
	free(line);
}

int script_run(struct script *s, const char *path)
{
	FILE *f = fopen(path, "r");

	s->path = path;
	if (!f) {
		perror(path);
		return 1;
	}
	world_open(&s->world);
	s->world.now = first_day + 8 * 3600 * 1000;
	s->vars = json_object();
	s->tokens = json_object();
	s->identity = (struct identity){ .level = WHO_OPERATOR };
	run_file(s, f);
	fclose(f);
	end_call(s);
	if (s->faults != FAULTS_NONE && s->asked.op)
		faults_run(s, s->faults == FAULTS_ALL, true);
	answer_release(&s->answer);
	json_decref(s->asked.args);
	json_decref(s->vars);
	json_decref(s->tokens);
	store_close(s->before);
	world_close(&s->world);
	arena_release(&s->arena);
	return s->wrong;
}
