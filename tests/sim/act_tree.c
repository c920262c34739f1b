/*
 * Calls about teams below a team: the calls make teams, end teams, change budgets and report
 * spending. The model has a branch for each team, and predicts for every call whether the state
 * accepts the call. After each COMMIT the budget rows must match the branches.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/act.h"

enum { DEEPEST = 3 };

static int64_t reserved(const struct sim *s, int of, enum branch_kind kind)
{
	int64_t sum = 0;

	for (int i = 1; i < BRANCHES; i++)
		if (s->branches[i].lives && s->branches[i].parent == of)
			sum += s->branches[i].most[kind];
	return sum;
}

static int64_t left(const struct sim *s, int of, enum branch_kind kind)
{
	const struct branch *b = &s->branches[of];

	return b->most[kind] - b->used[kind] - reserved(s, of, kind);
}

/* Whether one of the team's budgets is used up. Then no team can be made below this team. */
static bool is_over(const struct sim *s, int of)
{
	return left(s, of, BRANCH_TOKENS) <= 0 ||
	       (s->branches[of].most[BRANCH_COST] && left(s, of, BRANCH_COST) <= 0);
}

static const char *name_of(struct act *a, int branch)
{
	snprintf(a->id, sizeof(a->id), branch ? "branch-%d" : "tree", branch);
	return a->id;
}

static void must_be(struct sim *s, struct act *a, bool goes)
{
	enum fault_code code = a->call.fault.code;

	if (goes != (code == FAULT_NONE))
		violated(s, "%s of branch %d %s (%s), and should%s", a->call.op->name,
			 a->other, code ? "was refused" : "went through",
			 code ? a->call.fault.text : "", goes ? "" : " not");
	s->branches_touched = true;
}

/* Returns a random team of the tree, most often a team that has not ended. */
static int some_branch(struct sim *s)
{
	int at = (int)random_below(s, BRANCHES);

	if (chance(s, 80))
		while (!s->branches[at].lives)
			at = (at + 1) % BRANCHES;
	return at;
}

/* The operator makes all calls of this file. */
static void as_operator(struct act *a)
{
	a->agent = -1;
	a->is_operator = true;
}

/* --- making teams ------------------------------------------------------------------- */

void choose_found(struct sim *s, struct act *a)
{
	as_operator(a);
	a->other = 1 + (int)random_below(s, BRANCHES - 1);
	a->parent = some_branch(s);
	act_text(a, "parent", name_of(a, a->parent));
	act_text(a, "name", name_of(a, a->other));
	act_int(a, "max_vms", random_below(s, 8));
	act_int(a, "max_tokens", random_below(s, 4000));
	if (chance(s, 60))
		act_int(a, "max_cost", random_below(s, 400));
	act_key(s, a);
}

void end_found(struct sim *s, struct act *a)
{
	const struct team_create_in *in = a->call.in;
	const struct branch *above = &s->branches[a->parent];
	struct branch *b = &s->branches[a->other];
	bool cost = above->most[BRANCH_COST] == 0 ||
		    (in->max_cost > 0 && left(s, a->parent, BRANCH_COST) >= in->max_cost);

	must_be(s, a,
		above->lives && !b->lives && above->depth < DEEPEST &&
			!is_over(s, a->parent) && in->max_tokens > 0 &&
			left(s, a->parent, BRANCH_TOKENS) >= in->max_tokens && cost &&
			left(s, a->parent, BRANCH_VMS) >= in->max_vms);
	if (a->call.fault.code)
		return;
	*b = (struct branch){ .lives = true,
			      .parent = a->parent,
			      .depth = above->depth + 1,
			      .most = { [BRANCH_VMS] = in->max_vms,
					[BRANCH_TOKENS] = in->max_tokens,
					[BRANCH_COST] = in->max_cost } };
}

/* --- spending ----------------------------------------------------------------------- */

/* Counts `n` as spent by a team. The part of `n` over the team's limit counts in the team
 * above. */
static void count(struct sim *s, int of, enum branch_kind kind, int64_t n)
{
	struct branch *b = &s->branches[of];
	int64_t own = n, rest = left(s, of, kind);

	if (of && b->most[kind] && rest < own)
		own = rest > 0 ? rest : 0;
	b->used[kind] += own;
	if (n > own)
		count(s, b->parent, kind, n - own);
}

void choose_spend(struct sim *s, struct act *a)
{
	as_operator(a);
	a->other = some_branch(s);
	act_text(a, "team", name_of(a, a->other));
	act_int(a, "tokens_in", random_below(s, 100));
	act_int(a, "tokens_out", random_below(s, 100));
	act_int(a, "cost", random_below(s, 10));
	act_key(s, a);
}

void end_spend(struct sim *s, struct act *a)
{
	const struct team_usage_in *in = a->call.in;
	const struct team_usage_out *out = a->call.out;
	struct branch *b = &s->branches[a->other];

	must_be(s, a, b->lives);
	if (a->call.fault.code)
		return;
	count(s, a->other, BRANCH_TOKENS, in->tokens_in + in->tokens_out);
	count(s, a->other, BRANCH_COST, in->cost);
	s->spent[BRANCH_TOKENS] += in->tokens_in + in->tokens_out;
	s->spent[BRANCH_COST] += in->cost;
	if (out->tokens != b->used[BRANCH_TOKENS] || out->cost != b->used[BRANCH_COST])
		violated(s, "branch %d is told %" PRId64 " tokens and cost %" PRId64,
			 a->other, out->tokens, out->cost);
}

/* --- changing budgets --------------------------------------------------------------- */

void choose_allow(struct sim *s, struct act *a)
{
	as_operator(a);
	a->other = some_branch(s);
	act_text(a, "team", name_of(a, a->other));
	act_int(a, "max_tokens",
		a->other ? random_below(s, 6000) : 20000 + random_below(s, 1000000));
}

void end_allow(struct sim *s, struct act *a)
{
	const struct team_update_in *in = a->call.in;
	struct branch *b = &s->branches[a->other];
	int64_t own = b->used[BRANCH_TOKENS] + reserved(s, a->other, BRANCH_TOKENS);
	int64_t more = in->max_tokens - b->most[BRANCH_TOKENS];
	/* A smaller limit gives budget back to the team above, even if that team has overspent. */
	bool above = a->other == 0 || more <= 0 ||
		     left(s, b->parent, BRANCH_TOKENS) >= more;

	must_be(s, a,
		b->lives && in->max_tokens > 0 && (in->max_tokens >= own || more >= 0) &&
			above);
	if (!a->call.fault.code)
		b->most[BRANCH_TOKENS] = in->max_tokens;
}

/* --- ending teams ------------------------------------------------------------------- */

/* Ends a team and all teams below it, the lowest teams first. */
static void fall(struct sim *s, int of)
{
	struct branch *b = &s->branches[of];

	for (int i = 1; i < BRANCHES; i++)
		if (s->branches[i].lives && s->branches[i].parent == of)
			fall(s, i);
	b->lives = false;
	for (int k = BRANCH_TOKENS; k <= BRANCH_COST; k++)
		s->branches[b->parent].used[k] += b->used[k];
}

void choose_fall(struct sim *s, struct act *a)
{
	as_operator(a);
	a->other = 1 + (int)random_below(s, BRANCHES - 1);
	act_text(a, "team", name_of(a, a->other));
	json_object_set_new(a->args, "confirm", json_true());
}

void end_fall(struct sim *s, struct act *a)
{
	must_be(s, a, s->branches[a->other].lives);
	if (!a->call.fault.code)
		fall(s, a->other);
}
