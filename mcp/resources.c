/*
 * resources - teams, boards, inboxes and tasks that a client can read.
 */
#include "mcp/extra.h"
#include "mcp/mcp_peer.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/wire/base64.h"
#include "mcp/uri.h"
#include "ops.gen.h"

enum { PAGE = 50 }; /* maximum number of teams on a page of resources/list */

/* --- templates ----------------------------------------------------------------- */

static void write_template(const struct uri_kind_text *k, struct text *out)
{
	text_addf(out, "{\"uriTemplate\":\"%s\",\"name\":\"%s\",\"title\":\"%s\",",
		  k->template, k->name, k->title);
	text_addf(out, "\"description\":\"%s\",\"mimeType\":\"application/json\"}",
		  k->doc);
}

void resources_templates(struct request *r, json_t *params)
{
	struct text *out;

	if (!cursor_none(r, params))
		return;
	out = answer_begin(r, CACHE_ALWAYS);
	text_adds(out, "\"resourceTemplates\":[");
	for (int i = 0; i < URI_KINDS; i++) {
		if (i)
			text_add(out, ",", 1);
		write_template(&uri_kinds[i], out);
	}
	extra_list(extras.templates, out);
	text_add(out, "]", 1);
	answer_end(r);
}

/* --- resources/list -------------------------------------------------------------- */

/* Writes the cursor of the next page. A cursor contains the name of the last team on the page,
 * so the cursor stays valid when teams are added or removed. Base64 keeps clients
 * from relying on the content of the cursor. */
static void resources_write_cursor(const char *team, struct text *out)
{
	char code[128], name[80];

	snprintf(name, sizeof(name), "team:%.64s", team);
	base64_encode(code, name, strlen(name));
	text_addf(out, ",\"nextCursor\":\"%s\"", code);
}

/* Returns the team that a cursor names, or NULL if the cursor is not from this server. The
 * caller frees the text. */
static char *resources_read_cursor(const char *code)
{
	char name[100];
	ssize_t n = strlen(code) < 128 ? base64_decode(name, code, strlen(code)) : -1;

	if (n <= 5 || memcmp(name, "team:", 5) != 0 || memchr(name, 0, (size_t)n))
		return NULL;
	return strndup(name + 5, (size_t)n - 5);
}

static void write_resource(enum uri_kind kind, const char *team, const char *rest,
			   struct text *out)
{
	const struct uri_kind_text *k = &uri_kinds[kind];

	text_addf(out, "%s{\"uri\":\"%s%s%s%s\",",
		  out->data[out->len - 1] == '[' ? "" : ",", k->scheme, team,
		  rest ? "/" : "", rest ? rest : "");
	text_addf(out, "\"name\":\"%s-%s%s%s\",", k->name, team, rest ? "-" : "",
		  rest ? rest : "");
	text_addf(out, "\"title\":\"%s %s%s%s\",", k->title, team, rest ? "/" : "",
		  rest ? rest : "");
	text_addf(out, "\"description\":\"%s\",\"mimeType\":\"application/json\"}",
		  k->doc);
}

/* Writes the resources of a team that a caller is likely to read: the team, the team's board,
 * and the caller's inbox if the caller has one in this team. */
static void write_team(const struct mcp *m, const char *team, struct text *out)
{
	const struct identity *who = &m->identity;
	bool mine = who->agent && who->team && strcmp(who->team, team) == 0;

	write_resource(URI_TEAM, team, NULL, out);
	write_resource(URI_BOARD, team, NULL, out);
	if (mine)
		write_resource(URI_INBOX, team, who->agent, out);
	else if (!who->agent && !who->nobody)
		write_resource(URI_INBOX, team, "operator", out);
}

static int resources_compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The sorted names of the teams in `list`. The caller frees the array; the names belong to
 * `list`. */
static const char **sort_teams(json_t *list, size_t *n)
{
	const char **names = xcalloc(json_array_size(list) + 1, sizeof(*names));
	json_t *team;
	size_t i;

	*n = 0;
	json_array_foreach(list, i, team) {
		const char *name = json_find_text(team, "name");

		if (name)
			names[(*n)++] = name;
	}
	qsort(names, *n, sizeof(*names), resources_compare_names);
	return names;
}

static void list_end(struct request *r, const char *result, const struct fault *f)
{
	json_t *answer = result ? json_loads(result, 0, NULL) : NULL;
	size_t n, from = 0, shown = 0;
	const char **names;
	struct text *out;

	if (!result) {
		answer_fault(r, f);
		return;
	}
	names = sort_teams(json_object_get(answer, "teams"), &n);
	while (from < n && r->word && strcmp(names[from], r->word) <= 0)
		from++;
	out = answer_begin(r, CACHE_SHORT);
	text_adds(out, "\"resources\":[");
	for (; from < n && shown < PAGE; from++, shown++)
		write_team(r->mcp, names[from], out);
	if (from == n)
		extra_list(extras.resources, out);
	text_add(out, "]", 1);
	if (from < n)
		resources_write_cursor(names[from - 1], out);
	if (r->era == &era_legacy)
		subscription_listed(r->mcp, json_int_at(answer, "event_seq"));
	free(names);
	json_decref(answer);
	answer_end(r);
}

void resources_list(struct request *r, json_t *params)
{
	json_t *cursor = json_object_get(params, "cursor");

	if (cursor) {
		const char *code = json_string_value(cursor);

		r->word = code ? resources_read_cursor(code) : NULL;
		if (!r->word) {
			answer_error(r, RPC_INVALID_PARAMS, NULL,
				     "cursor did not come from this server");
			return;
		}
	}
	/* The answer of state.status lists the teams, and gives the number of the last event
	 * before this list was made. */
	request_call(r, op_state_status, json_object(), list_end);
}

/* --- resources/read ---------------------------------------------------------------- */

void answer_no_resource(struct request *r, const char *uri, const char *why)
{
	struct text data = { 0 };

	text_adds(&data, "{\"uri\":");
	text_add_json(&data, uri);
	text_add(&data, "}", 1);
	answer_error(r, r->era->no_resource, data.data, "%s: %.200s", why, uri);
	text_release(&data);
}

void answer_unread(struct request *r, const char *uri, const struct fault *f)
{
	if (f->code == FAULT_NOT_FOUND || f->code == FAULT_DENIED ||
	    f->code == FAULT_INVALID)
		answer_no_resource(r, uri, f->text);
	else
		answer_fault(r, f);
}

static void resources_read_end(struct request *r, const char *result,
			       const struct fault *f)
{
	struct text *out;

	if (result) {
		out = answer_begin(r, CACHE_NEVER);
		text_adds(out, "\"contents\":[{\"uri\":");
		text_add_json(out, r->word);
		text_adds(out, ",\"mimeType\":\"application/json\",\"text\":");
		result_text(r, result, out);
		text_adds(out, "}]");
		answer_end(r);
	} else {
		answer_unread(r, r->word, f);
	}
}

void resources_read(struct request *r, json_t *params)
{
	const char *text = json_find_text(params, "uri");
	const struct op *op;
	struct uri uri;
	json_t *args;

	if (!text) {
		answer_error(r, RPC_INVALID_PARAMS, NULL, "uri is missing");
		return;
	}
	if (extra_resource(text)) {
		extra_resource(text)->run(r, params);
		return;
	}
	if (!uri_read(&uri, text)) {
		answer_no_resource(r, text, "no such resource");
		return;
	}
	r->word = xstrdup(text);
	op = uri_op(&uri, &args);
	result_form_read(r);
	request_call(r, op, args, resources_read_end);
}
