/*
 * complete - words that a person may have begun to type: names of teams and agents,
 * ids of tasks.
 */
#include "mcp/mcp_peer.h"

#include <string.h>

#include "core/base/alloc.h"
#include "mcp/uri.h"

enum { VALUES_MAX = 100 };

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
	answer_values(r, json_object_get(answer, r->noun->rows), r->noun->called);
	json_decref(answer);
}

/* --- what is asked for --------------------------------------------------------------- */

/* Finds the noun that a template's variable stands for: a team, or what its operation's
 * argument names.  False if no template of ours has it. */
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

/* An argument of a prompt is called as what it names. */
static bool complete_find_noun(json_t *ref, const char *argument,
			       const struct noun **noun)
{
	const char *type = param_text(ref, "type"), *name = argument;

	if (type && strcmp(type, "ref/resource") == 0) {
		if (!template_noun(param_text(ref, "uri"), argument, &name))
			return false;
	} else if (!type || strcmp(type, "ref/prompt") != 0 ||
		   !prompt_has(param_text(ref, "name"), argument)) {
		return false;
	}
	*noun = noun_find(name);
	return true;
}

/* The arguments of the call that lists the values: as many as an answer holds, of the
 * team that is meant. */
static json_t *make_args(struct request *r, json_t *params, const struct op *op)
{
	json_t *context = json_object_get(params, "context");
	const char *team = param_text(json_object_get(context, "arguments"), "team");
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
	const char *name = param_text(argument, "name"),
		   *value = param_text(argument, "value");
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
