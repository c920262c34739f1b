/*
 * complete - what a person may have begun to type: names of teams and agents,
 * ids of tasks.
 */
#include "mcp/peer.h"

#include <string.h>

#include "core/base/alloc.h"
#include "mcp/uri.h"

enum { VALUES_MAX = 100 };

enum noun { NOUN_NONE, NOUN_TEAM, NOUN_AGENT, NOUN_TASK, NOUNS };

static const struct {
	const char *op, *list, *field;
	bool in_team;
} nouns[NOUNS] = {
	[NOUN_TEAM] = { "team.list", "teams", "name", false },
	[NOUN_AGENT] = { "agent.list", "agents", "name", true },
	[NOUN_TASK] = { "task.list", "tasks", "id", true },
};

/* --- answers --------------------------------------------------------------------- */

/* The values of a list's field that begin with `prefix`. */
static void write_values(json_t *list, const char *field, const char *prefix,
			 struct text *out)
{
	size_t i, total = 0, n = strlen(prefix);
	json_t *item;

	text_adds(out, "\"completion\":{\"values\":[");
	json_array_foreach(list, i, item) {
		const char *value = param_text(item, field);

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

/* A team that is not there has nothing to offer; that is no error. */
static void complete_end(struct request *r, const char *result, const struct fault *f)
{
	json_t *answer = result ? json_loads(result, 0, NULL) : NULL;

	(void)f;
	for (int i = NOUN_TEAM; i < NOUNS; i++)
		if (strcmp(nouns[i].op, r->op->name) == 0) {
			answer_values(r, json_object_get(answer, nouns[i].list),
				      nouns[i].field);
			break;
		}
	json_decref(answer);
}

/* --- what is asked for --------------------------------------------------------------- */

static enum noun noun_named(const char *name)
{
	if (strcmp(name, "team") == 0)
		return NOUN_TEAM;
	if (strcmp(name, "agent") == 0)
		return NOUN_AGENT;
	if (strcmp(name, "id") == 0 || strcmp(name, "task") == 0)
		return NOUN_TASK;
	return NOUN_NONE;
}

/* What a template's variable stands for; false if it is no template of ours. */
static bool template_noun(const char *uri, const char *variable, enum noun *noun)
{
	for (int i = 0; uri && i < URI_KINDS; i++) {
		const struct uri_kind_text *k = &uri_kinds[i];

		if (strcmp(k->template, uri) != 0)
			continue;
		if (strcmp(variable, k->team_name) == 0)
			*noun = NOUN_TEAM;
		else if (k->rest_name && strcmp(variable, k->rest_name) == 0)
			*noun = noun_named(variable);
		else
			return false;
		return true;
	}
	return false;
}

static bool find_noun(json_t *ref, const char *argument, enum noun *noun)
{
	const char *type = param_text(ref, "type");

	*noun = NOUN_NONE;
	if (type && strcmp(type, "ref/resource") == 0)
		return template_noun(param_text(ref, "uri"), argument, noun);
	if (!type || strcmp(type, "ref/prompt") != 0 ||
	    !prompt_has(param_text(ref, "name"), argument))
		return false;
	*noun = noun_named(argument);
	return true;
}

static json_t *make_args(struct request *r, json_t *params, enum noun noun)
{
	json_t *context = json_object_get(params, "context");
	const char *team = param_text(json_object_get(context, "arguments"), "team");
	json_t *args = json_object();

	if (nouns[noun].in_team && (team || r->mcp->identity.team))
		json_object_set_new(args, "team",
				    json_string(team ? team : r->mcp->identity.team));
	if (noun == NOUN_TASK)
		json_object_set_new(args, "limit", json_integer(1000));
	return args;
}

void complete_argument(struct request *r, json_t *params)
{
	json_t *argument = json_object_get(params, "argument");
	const char *name = param_text(argument, "name"),
		   *value = param_text(argument, "value");
	enum noun noun;

	if (!name || !value) {
		answer_error(r, RPC_INVALID_PARAMS, NULL,
			     "argument.name or argument.value is missing");
		return;
	}
	if (!find_noun(json_object_get(params, "ref"), name, &noun)) {
		answer_error(r, RPC_INVALID_PARAMS, NULL, "ref has no argument %.60s",
			     name);
		return;
	}
	r->word = xstrdup(value);
	if (noun == NOUN_NONE)
		answer_values(r, NULL, "");
	else
		request_call(r, op_find(nouns[noun].op), make_args(r, params, noun),
			     complete_end);
}
