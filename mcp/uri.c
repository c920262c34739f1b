#include "mcp/uri.h"

#include <string.h>

const struct uri_kind_text uri_kinds[URI_KINDS] = {
	[URI_TEAM] = {
		.scheme = "cadre://team/",
		.template = "cadre://team/{name}",
		.name = "team",
		.title = "Team",
		.doc = "State, members and their tasks, board counts, budget.",
		.op = "team.status",
		.team_name = "name",
	},
	[URI_INBOX] = {
		.scheme = "cadre://inbox/",
		.template = "cadre://inbox/{team}/{agent}",
		.name = "inbox",
		.title = "Inbox",
		.doc = "Messages that wait for an agent; a read changes nothing.",
		.op = "message.peek",
		.field = "agent",
		.team_name = "team",
		.rest_name = "agent",
	},
	[URI_BOARD] = {
		.scheme = "cadre://board/",
		.template = "cadre://board/{team}",
		.name = "board",
		.title = "Board",
		.doc = "Tasks of a team by priority, with owners and counts.",
		.op = "task.list",
		.team_name = "team",
	},
	[URI_TASK] = {
		.scheme = "cadre://task/",
		.template = "cadre://task/{team}/{id}",
		.name = "task",
		.title = "Task",
		.doc = "One task with its text, criteria, notes and result.",
		.op = "task.show",
		.field = "task",
		.team_name = "team",
		.rest_name = "id",
	},
};

/* Copies the name at the start of `s`. The characters of names need no escapes in a URI.
 * Returns the length of the name, or 0 if the name is empty or too long. */
static size_t uri_read_part(char out[65], const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz"
			     "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-");

	if (n == 0 || n > 64)
		return 0;
	memcpy(out, s, n);
	out[n] = '\0';
	return n;
}

static bool uri_read_path(struct uri *uri, const char *s, bool has_rest)
{
	size_t n = uri_read_part(uri->team, s);

	if (!n || s[n] != (has_rest ? '/' : '\0'))
		return false;
	if (!has_rest)
		return true;
	s += n + 1;
	n = uri_read_part(uri->rest, s);
	return n && s[n] == '\0';
}

bool uri_read(struct uri *uri, const char *text)
{
	*uri = (struct uri){ 0 };
	for (int i = 0; i < URI_KINDS; i++) {
		const struct uri_kind_text *k = &uri_kinds[i];
		size_t n = strlen(k->scheme);

		if (strncmp(text, k->scheme, n) == 0) {
			uri->kind = i;
			return uri_read_path(uri, text + n, k->rest_name != NULL);
		}
	}
	return false;
}

const struct op *uri_op(const struct uri *uri, json_t **args)
{
	const struct uri_kind_text *k = &uri_kinds[uri->kind];

	*args = json_pack("{s:s}", "team", uri->team);
	if (k->field)
		json_object_set_new(*args, k->field, json_string(uri->rest));
	return op_find(k->op);
}
