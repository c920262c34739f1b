/*
 * prompts - texts with which a person begins a piece of work in the client.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "mcp/extra.h"
#include "mcp/mcp_peer.h"
#include "mcp/uri.h"

struct argument {
	const char *name, *doc;
	bool required;
};

struct prompt {
	const char *name, *title, *doc;
	struct argument arguments[3]; /* an argument with the name NULL ends the list */
	void (*write)(const struct mcp *m, json_t *args, struct text *out);
};

static void write_start(const struct mcp *m, json_t *args, struct text *out)
{
	const char *team = json_find_text(args, "team"),
		   *agent = json_find_text(args, "agent");

	team = team ? team : m->identity.team;
	agent = agent ? agent : m->identity.agent;
	if (agent)
		text_addf(out, "You are agent `%s`", agent);
	else if (m->identity.nobody)
		text_adds(out, "You are nobody yet (`agents` action `register` "
			       "makes you an agent)");
	else
		text_adds(out, "You are the operator");
	if (team)
		text_addf(out, " of team `%s` in cadre. ", team);
	else
		text_adds(out, " in cadre; `team` action `list` shows the teams. ");
	text_adds(out, "Work as a member of the team:\n\n");
	text_adds(
		out,
		"1. `inbox` action `receive`. Answer requests with action `reply`; "
		"acknowledge the rest with action `ack`. Messages without answer or "
		"`ack` come again.\n"
		"2. `task` action `list` with your name as `owner`: finish what you hold "
		"first. Else `task` action `claim` without a task takes the best ready "
		"task. Nobody else can hold the task while you hold it.\n"
		"3. A change of a task without an `epoch` applies to your present claim. A change with "
		"the `epoch` from `claim` applies only to that claim. `conflict` means that the claim is "
		"no longer yours: stop, and look at the task again.\n"
		"4. `task` action `start`, do the work, `tick` each acceptance criterion that "
		"is met, tell others what they should know with `note`, then `complete` "
		"with a `text` of a few lines. If the task cannot be done: `block` with a "
		"reason while you wait for somebody, `fail` to end the task, `release` to "
		"give the task back.\n"
		"5. Ask `lead` or a teammate with `team_message`; a person reads what goes "
		"to `operator`. With `wait_for_reply` the call returns the answer.\n"
		"6. Begin again at 1. When nothing is ready, `inbox` action `wait` ends on mail, on a task for "
		"you, or on a change of what you `follow`.\n");
}

static void write_plan(const struct mcp *m, json_t *args, struct text *out)
{
	const char *team = json_find_text(args, "team");
	const char *members = json_find_text(args, "members");

	team = team ? team : m->identity.team;
	text_addf(out, "Plan and start a team in cadre for this goal:\n\n%s\n\n",
		  json_find_text(args, "goal"));
	text_addf(
		out,
		"1. Split the goal into tasks that one agent can finish in one sitting, "
		"each with a title, a description that stands by itself, and acceptance "
		"criteria that can be checked. Keep dependencies few: only where a "
		"task needs the result of another task.\n"
		"2. Choose %s members by role, no more than there are tasks ready at once.\n",
		members ? members : "the");
	if (team)
		text_addf(
			out,
			"3. Use team `%s`: `team` action `status` shows who is there. If it "
			"does not exist, make it with `team` action `create` and `roles`, "
			"and give each member a worktree of its own, in which a person "
			"runs `cadre agent env NAME --here`.\n",
			team);
	else
		text_adds(
			out,
			"3. Make the team with `team` action `create` and `roles`; give each "
			"member a worktree of its own, in which a person runs `cadre agent "
			"env NAME --here`.\n");
	text_adds(
		out,
		"4. Put the tasks on the board in order with `task` action `create`, and "
		"use the ids that come back in `depends_on`. Show me `task` action "
		"`order` before anybody begins.\n"
		"5. Give a task to one agent with `team_assign` only if no other can do "
		"it; the members claim the rest by themselves.\n"
		"6. Then watch: `inbox` action `receive` for questions and reports, "
		"`events` for what happened, `task` action `list` with status `failed` or "
		"`blocked` for what needs you.\n");
}

static const struct prompt prompts[] = {
	{ .name = "start-session",
	  .title = "Start a session",
	  .doc = "Work as a member of a cadre team: mail first, then tasks.",
	  .arguments = { { "team", "Team; if absent, the session's own team.", false },
			 { "agent", "Agent to work as; if absent, the session's own.",
			   false } },
	  .write = write_start },
	{ .name = "plan-team",
	  .title = "Plan a team",
	  .doc = "Turn a goal into a team, a board of tasks and a way to watch it.",
	  .arguments = { { "goal", "The team's goal.", true },
			 { "team", "Team to use or to make.", false },
			 { "members", "How many members, such as 3.", false } },
	  .write = write_plan },
};

enum { N_PROMPTS = sizeof(prompts) / sizeof(*prompts), N_ARGUMENTS = 3 };

static void write_argument(const struct argument *a, struct text *out)
{
	text_addf(out, "{\"name\":\"%s\",\"description\":\"%s\",\"required\":%s}",
		  a->name, a->doc, a->required ? "true" : "false");
}

static void prompts_write_prompt(const struct prompt *p, struct text *out)
{
	text_addf(
		out,
		"{\"name\":\"%s\",\"title\":\"%s\",\"description\":\"%s\",\"arguments\":[",
		p->name, p->title, p->doc);
	for (int i = 0; i < N_ARGUMENTS && p->arguments[i].name; i++) {
		if (i)
			text_add(out, ",", 1);
		write_argument(&p->arguments[i], out);
	}
	text_adds(out, "]}");
}

void prompts_list(struct request *r, json_t *params)
{
	struct text *out;

	if (!cursor_none(r, params))
		return;
	out = answer_begin(r, CACHE_ALWAYS);
	text_adds(out, "\"prompts\":[");
	for (int i = 0; i < N_PROMPTS; i++) {
		if (i)
			text_add(out, ",", 1);
		prompts_write_prompt(&prompts[i], out);
	}
	extra_list(extras.prompts, out);
	text_add(out, "]", 1);
	answer_end(r);
}

static const struct prompt *prompt_find(const char *name)
{
	for (int i = 0; name && i < N_PROMPTS; i++)
		if (strcmp(prompts[i].name, name) == 0)
			return &prompts[i];
	return NULL;
}

static const struct argument *argument_find(const struct prompt *p, const char *name)
{
	for (int i = 0; i < N_ARGUMENTS && p->arguments[i].name; i++)
		if (strcmp(p->arguments[i].name, name) == 0)
			return &p->arguments[i];
	return NULL;
}

/* Whether the prompt named `prompt` takes the argument. A prompt of the extras takes any
 * argument. If `prompt` is NULL, returns false. */
static bool prompt_has(const char *prompt, const char *argument)
{
	const struct prompt *p = prompt_find(prompt);

	return p ? argument_find(p, argument) != NULL
		 : prompt && extra_find(extras.prompts, prompt);
}

/* Whether each argument is a text that the prompt takes, and no required argument is missing.
 * If an argument is wrong or missing, answers the request with an error. */
static bool prompts_check_arguments(struct request *r, const struct prompt *p,
				    json_t *args)
{
	const char *name;
	json_t *value;

	json_object_foreach(args, name, value) {
		if (argument_find(p, name) && json_is_string(value))
			continue;
		answer_error(r, RPC_INVALID_PARAMS, NULL, "%s takes no text %.60s",
			     p->name, name);
		return false;
	}
	for (int i = 0; i < N_ARGUMENTS && p->arguments[i].name; i++) {
		name = p->arguments[i].name;
		if (!p->arguments[i].required || json_object_get(args, name))
			continue;
		answer_error(r, RPC_INVALID_PARAMS, NULL, "%s needs %s", p->name, name);
		return false;
	}
	return true;
}

void prompts_get(struct request *r, json_t *params)
{
	const char *name = json_find_text(params, "name");
	const struct extra *extra = name ? extra_find(extras.prompts, name) : NULL;
	const struct prompt *p = prompt_find(name);
	json_t *args = json_object_get(params, "arguments");
	struct text said = { 0 };
	struct text *out;

	if (extra) {
		extra->run(r, params);
		return;
	}
	if (!p) {
		answer_error(r, RPC_INVALID_PARAMS, NULL, "no such prompt");
		return;
	}
	if (args && !json_is_object(args)) {
		answer_error(r, RPC_INVALID_PARAMS, NULL, "`arguments` is not an object");
		return;
	}
	if (!prompts_check_arguments(r, p, args))
		return;
	p->write(r->mcp, args, &said);
	out = answer_begin(r, CACHE_NONE);
	text_addf(out, "\"description\":\"%s\",\"messages\":[{\"role\":\"user\",",
		  p->doc);
	text_adds(out, "\"content\":{\"type\":\"text\",\"text\":");
	text_add_json(out, said.data);
	text_adds(out, "}}]");
	answer_end(r);
	text_release(&said);
}

/* --- completion -------------------------------------------------------------- */

/*
 * complete - completes names of teams, names of agents and ids of tasks that a person has begun
 * to type.
 */

enum { VALUES_MAX = 100 };

/* --- answers --------------------------------------------------------------------- */

/* Writes the values of a field from the rows of a list. Writes only values that begin with
 * `prefix`, and at most VALUES_MAX of them. */
static void write_values(json_t *list, const char *field, const char *prefix,
			 struct text *out)
{
	size_t i, total = 0, n = strlen(prefix);
	json_t *item;

	text_adds(out, "\"completion\":{\"values\":[");
	json_array_foreach(list, i, item) {
		const char *value = json_find_text(item, field);

		if (!value || strncasecmp(value, prefix, n) != 0 || ++total > VALUES_MAX)
			continue;
		if (total > 1)
			text_add(out, ",", 1);
		text_add_json(out, value);
	}
	text_addf(out, "],\"total\":%zu,\"hasMore\":%s}", total,
		  total > VALUES_MAX ? "true" : "false");
}

static void answer_values(struct request *r, json_t *list, const char *field)
{
	write_values(list, field, r->word, answer_begin(r, CACHE_NONE));
	answer_end(r);
}

/* Answers with the names or ids that begin with the typed word. If the call failed, for example
 * because the team does not exist, the answer is an empty list, not an error. */
static void complete_end(struct request *r, const char *result, const struct fault *f)
{
	json_t *answer = result ? json_loads(result, 0, NULL) : NULL;

	(void)f;
	answer_values(r, json_object_get(answer, r->noun->rows), r->noun->called);
	json_decref(answer);
}

/* --- the noun that is completed ------------------------------------------------------ */

/* Finds the noun that a template's variable stands for. The first variable stands for a team.
 * For the other variable, the schema names the noun in the argument of the operation that reads
 * the resource. Returns false if no template of this server has the variable. */
static bool template_noun(const char *uri, const char *variable, const char **noun)
{
	for (int i = 0; uri && i < URI_KINDS; i++) {
		const struct uri_kind_text *k = &uri_kinds[i];

		if (strcmp(k->template, uri) != 0)
			continue;
		if (strcmp(variable, k->team_name) == 0)
			*noun = "team";
		else if (k->rest_name && strcmp(variable, k->rest_name) == 0)
			*noun = field_find(op_find(k->op)->in, k->field)->names;
		else
			return false;
		return true;
	}
	return false;
}

/* Finds the noun that an argument stands for. A prompt's argument is named like the noun that
 * it stands for. */
static bool complete_find_noun(json_t *ref, const char *argument,
			       const struct noun **noun)
{
	const char *type = json_find_text(ref, "type"), *name = argument;

	if (type && strcmp(type, "ref/resource") == 0) {
		if (!template_noun(json_find_text(ref, "uri"), argument, &name))
			return false;
	} else if (!type || strcmp(type, "ref/prompt") != 0 ||
		   !prompt_has(json_find_text(ref, "name"), argument)) {
		return false;
	}
	*noun = noun_find(name);
	return true;
}

/* Makes the arguments of the call that lists the values. The team is the request's team, or
 * else the caller's team. The argument `limit` gets the highest value that the operation
 * allows. */
static json_t *make_args(struct request *r, json_t *params, const struct op *op)
{
	json_t *context = json_object_get(params, "context");
	const char *team = json_find_text(json_object_get(context, "arguments"), "team");
	const struct field *limit = field_find(op->in, "limit");
	json_t *args = json_object();

	if (field_find(op->in, "team") && (team || r->mcp->identity.team))
		json_object_set_new(args, "team",
				    json_string(team ? team : r->mcp->identity.team));
	if (limit)
		json_object_set_new(args, limit->name, json_integer(limit->type->max));
	return args;
}

void complete_argument(struct request *r, json_t *params)
{
	json_t *argument = json_object_get(params, "argument");
	const char *name = json_find_text(argument, "name"),
		   *value = json_find_text(argument, "value");
	const struct op *op;

	if (!name || !value) {
		answer_error(r, RPC_INVALID_PARAMS, NULL,
			     "argument.name or argument.value is missing");
		return;
	}
	if (!complete_find_noun(json_object_get(params, "ref"), name, &r->noun)) {
		answer_error(r, RPC_INVALID_PARAMS, NULL, "ref has no argument %.60s",
			     name);
		return;
	}
	r->word = xstrdup(value);
	op = r->noun ? op_find(r->noun->list) : NULL;
	if (op)
		request_call(r, op, make_args(r, params, op), complete_end);
	else
		answer_values(r, NULL, "");
}
