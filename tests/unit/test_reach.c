/* A team's members reach only their own team. The test calls every operation of the table, with
 * every argument that can name a team or an agent in a team. In turn the argument names the
 * team's parent, child, sibling, uncle and cousin, and a stranger. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/place.h"
#include "tests/lib/world.h"

/* The tree of teams: `home`, `sibling` and `uncle` are below `roof`. The team `below` is below
 * `home`, and `cousin` is below `uncle`. `stranger` is outside the tree. The callers are
 * members of `home`. */
static const char *const teams[][2] = {
	{ "roof", NULL },      { "home", "roof" },  { "below", "home" },
	{ "sibling", "roof" }, { "uncle", "roof" }, { "cousin", "uncle" },
	{ "stranger", NULL },
};
static const char *const others[] = { "roof",  "below",  "sibling",
				      "uncle", "cousin", "stranger" };
static const char nowhere[] = "nowhere";

/* --- arguments that an operation takes --------------------------------------------- */

static json_t *sample_of_record(const struct record *r);

static json_t *sample_text(const struct type *t)
{
	static const char *const tries[] = {
		"a1",
		"001",
		"text",
		"019b7894-b410-73ed-852f-991abccb8dfa",
		"/tmp/a",
		"#1",
		"a1.md",
		"10.0.0.0/16",
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
	};

	for (size_t i = 0; i < sizeof(tries) / sizeof(*tries); i++) {
		int64_t n = (int64_t)strlen(tries[i]);

		if (n >= t->min && (!t->max || n <= t->max) && type_matches(t, tries[i]))
			return json_string(tries[i]);
	}
	fail_msg("there is no sample of type %s", t->name);
	return NULL;
}

static json_t *sample_of(const struct type *t)
{
	switch (t->kind) {
	case KIND_TEXT:
		return sample_text(t);
	case KIND_INT:
		return json_integer(t->min > 1 ? t->min : 1);
	case KIND_BOOL:
		return json_true();
	case KIND_TIME:
		return json_string("2026-01-01T08:00:00.000Z");
	case KIND_ENUM:
		return json_string(t->choices[0].name);
	case KIND_JSON:
	case KIND_MAP:
		return json_object();
	case KIND_RECORD:
		return sample_of_record(t->record);
	}
	return NULL;
}

static json_t *value_of(const struct field *f)
{
	json_t *list, *one = sample_of(f->type);

	if (!(f->flags & FIELD_LIST))
		return one;
	list = json_array();
	json_array_append_new(list, one);
	return list;
}

static json_t *sample_of_record(const struct record *r)
{
	json_t *args = json_object();

	for (size_t i = 0; i < r->n_fields; i++) {
		const struct field *f = &r->fields[i];

		if (!(f->flags & (FIELD_OPTIONAL | FIELD_DEFAULT)))
			json_object_set_new(args, f->name, value_of(f));
	}
	return args;
}

static bool names(const struct field *f, const char *noun)
{
	return f->names && strcmp(f->names, noun) == 0;
}

/* --- calls ----------------------------------------------------------------------------- */

static void ask(struct world *w, const struct op *op, json_t *args, const char *agent,
		struct answer *a)
{
	struct asked q = { .op = op,
			   .args = args,
			   .identity = { .level = agent ? WHO_OBSERVER : WHO_OPERATOR,
					 .team = agent ? "home" : NULL,
					 .agent = agent,
					 .proven = true } };

	world_ask(w, w->store, &q, a);
}

static void open_tree(struct world *w)
{
	struct answer a;

	world_open(w);
	w->now = 1000000000;
	w->hosted = true;
	for (size_t i = 0; i < sizeof(teams) / sizeof(*teams); i++) {
		json_t *args = json_pack("{s:s, s:[{s:s}], s:i}", "name", teams[i][0],
					 "roles", "name", "coder", "max_vms",
					 teams[i][1] ? 0 : 10);

		if (teams[i][1])
			json_object_set_new(args, "parent", json_string(teams[i][1]));
		ask(w, op_find("team.create"), args, NULL, &a);
		if (a.rc)
			fail_msg("no team %s: %s", teams[i][0], a.fault.text);
		json_decref(args);
		answer_release(&a);
	}
}

/* Returns the fault of a call in which the field `f` has the value `value`. A refused call must
 * leave the rows unchanged. */
static struct fault refusal(struct world *w, const struct op *op, const struct field *f,
			    const char *value, const char *agent)
{
	json_t *args = sample_of_record(op->in), *said = json_string(value);
	uint64_t before = world_digest(w->store);
	struct fault fault;
	struct answer a;

	if (f->flags & FIELD_LIST) {
		json_object_set_new(args, f->name, json_array());
		json_array_append_new(json_object_get(args, f->name), said);
	} else {
		json_object_set_new(args, f->name, said);
	}
	ask(w, op, args, agent, &a);
	fault = a.fault;
	if (a.rc && world_digest(w->store) != before)
		fail_msg("%s leaves a trace where it is refused", op->name);
	json_decref(args);
	answer_release(&a);
	return fault;
}

/* Removes a name from a text, so that texts about two names can be compared. */
static void without(char *text, const char *name)
{
	for (char *at; (at = strstr(text, name));)
		memmove(at, at + strlen(name), strlen(at + strlen(name)) + 1);
}

/* Whether a member of `home` may name this team, or an agent in this team. */
static bool may(const struct op *op, const struct field *f, const char *team,
		const char *agent)
{
	bool leads = strcmp(agent, "lead") == 0, below = strcmp(team, "below") == 0;

	/* Members may send mail to the lead of a team directly below their own team. A lead may
	 * send mail to members of the team directly above. */
	if (op == op_message_send && names(f, "agent"))
		return strcmp(team, "roof") == 0 ? leads : below;
	/* A lead may read, change and end teams below its own team. */
	return leads && below && names(f, "team") &&
	       ((op->flags & OP_ABOVE) || op == op_team_destroy || op == op_team_update ||
		op == op_team_estop || op == op_team_thaw);
}

/* Checks that a refusal has the same text for a team that exists and for a team that does not
 * exist. */
static void check_same(struct world *w, const struct op *op, const struct field *f,
		       const char *form, const char *team, const char *agent)
{
	char value[100], none[100];
	struct fault a, b;

	snprintf(value, sizeof(value), form, team);
	snprintf(none, sizeof(none), form, nowhere);
	if (may(op, f, team, agent))
		return;
	a = refusal(w, op, f, value, agent);
	b = refusal(w, op, f, none, agent);
	if (!a.code)
		fail_msg("%s by %s reaches %s by /%s", op->name, agent, value, f->name);
	without(a.text, team);
	without(b.text, nowhere);
	if (a.code != b.code || strcmp(a.text, b.text) || strcmp(a.where, b.where))
		fail_msg(
			"%s by %s tells by /%s of %s: %s (%s) at %s, of %s: %s (%s) at %s",
			op->name, agent, f->name, value, a.text, fault_info(a.code)->name,
			a.where, none, b.text, fault_info(b.code)->name, b.where);
}

static void check_op(struct world *w, const struct op *op, const char *agent,
		     int *checked)
{
	for (size_t i = 0; i < op->in->n_fields; i++) {
		const struct field *f = &op->in->fields[i];

		for (size_t t = 0; t < sizeof(others) / sizeof(*others); t++) {
			if (strcmp(f->name, "team") == 0 || names(f, "team")) {
				check_same(w, op, f, "%s", others[t], agent);
				++*checked;
			}
			if (names(f, "agent") && type_matches(f->type, "a/b")) {
				check_same(w, op, f, "%s/coder", others[t], agent);
				check_same(w, op, f, "%s/lead", others[t], agent);
				++*checked;
			}
		}
	}
}

static void nobody_reaches_another_team(void **state)
{
	static const char *const callers[] = { "coder", "lead" };
	long each = 3, first = first_of(&each);
	int checked = 0;
	struct world w;

	(void)state;
	open_tree(&w);
	for (size_t i = (size_t)first; i < op_count; i += (size_t)each)
		for (size_t k = 0; k < 2; k++)
			if (op_table[i].who < WHO_OPERATOR)
				check_op(&w, &op_table[i], callers[k], &checked);
	world_close(&w);
	if (checked < 500 / each)
		fail_msg("only %d were checked", checked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_reaches_another_team),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
