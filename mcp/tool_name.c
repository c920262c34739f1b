/*
 * tool_name - finds the tool and the action that a client means.
 *
 * A client may write the server's name before a tool's name. A model may write capitals, or the
 * tool and the action as one name, as earlier systems did. A name that is only similar is not
 * taken, since the call could do what nobody wants, but the error tells the similar names.
 */
#include <ctype.h>
#include <string.h>

#include "core/base/near.h"
#include "mcp/mcp_peer.h"

enum {
	NAME_SIZE = 80,
	NEAR_MOST = 3, /* distance of two similar names */
	NEAR_NAMES = 3, /* number of names in an error */
};

/* Copies a name in small letters, with `_` for each separator. */
static void tool_name_plain(const char *name, char out[NAME_SIZE])
{
	size_t i = 0;

	for (; name[i] && i + 1 < NAME_SIZE; i++)
		out[i] = strchr("-.:/ ", name[i]) ? '_'
						  : (char)tolower((unsigned char)name[i]);
	out[i] = '\0';
}

/* Returns the plain name without the server's name. */
static const char *tool_name_bare(const char *name)
{
	static const char *const before[] = { "mcp__cadre__", "mcp_cadre_", "cadre__",
					      "cadre_" };

	for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++)
		if (strncmp(name, before[i], strlen(before[i])) == 0)
			return name + strlen(before[i]);
	return name;
}

static bool tool_name_is_taken(const struct mcp *m, const struct tool *tool)
{
	return tool->unlisted || tools_is_offered(m, tool);
}

/* Returns the part of `name` behind the tool's name and `_`, or NULL if `name` does not begin
 * so. */
static const char *tool_name_behind(const struct tool *tool, const char *name)
{
	size_t n = strlen(tool->name);

	return strncmp(name, tool->name, n) == 0 && name[n] == '_' ? name + n + 1 : NULL;
}

static const char *tool_name_own(const struct tool *tool, const char *action)
{
	const struct op *op = op_tool(tool->name, action);
	const struct face *face = op ? NULL : face_tool(tool->name, action);

	return op ? op->action : face ? face->action : NULL;
}

const struct tool *tool_named(const struct mcp *m, const char *name, const char **action)
{
	char plain[NAME_SIZE];
	const char *bare, *own;

	tool_name_plain(name, plain);
	bare = tool_name_bare(plain);
	for (size_t i = 0; i < tool_count; i++)
		if (strcmp(tool_table[i].name, bare) == 0)
			return tool_name_is_taken(m, &tool_table[i]) ? &tool_table[i]
								     : NULL;
	for (size_t i = 0; i < tool_count; i++) {
		const char *behind = tool_name_behind(&tool_table[i], bare);

		own = behind && tools_is_offered(m, &tool_table[i])
			      ? tool_name_own(&tool_table[i], behind)
			      : NULL;
		if (own) {
			*action = own;
			return &tool_table[i];
		}
	}
	return NULL;
}

static bool tool_name_is_also(const struct op *op, const char *word)
{
	for (const char *const *also = op->also; also && *also; also++)
		if (strcmp(*also, word) == 0)
			return true;
	return false;
}

/* Returns the operation with a tool whose command consists of these words, or NULL. `second` may
 * be NULL; then only the first word of a command counts, and no other word for it. */
static const struct op *tool_name_command(const char *first, const char *second)
{
	char *words[] = { (char *)first, (char *)second, NULL };
	int n = second ? 2 : 1, taken;
	const struct op *op = op_command(n, words, &taken);

	return op && taken == n && op->tool && (second || !strcmp(op->cli[0], first))
		       ? op
		       : NULL;
}

const struct op *tool_name_action(const struct tool *tool, const char *action)
{
	const struct op *op = op_tool(tool->name, action);
	char plain[NAME_SIZE];
	const char *behind;
	size_t i = 0;

	tool_name_plain(action, plain);
	behind = tool_name_behind(tool, plain);
	op = op ? op : op_tool(tool->name, behind ? behind : plain);
	if (op || face_tool(tool->name, action))
		return op;
	while ((op = tools_next_op(tool, &i)) && !tool_name_is_also(op, plain))
		;
	if (!op && (op = tool_name_command(tool->name, plain)) &&
	    op_tool(tool->name, op->action) != op)
		op = NULL;
	return op;
}

/* Returns the distance of a word from the operation's action, or from another word of the
 * operation's command. */
static size_t tool_name_distance(const struct op *op, const char *word)
{
	size_t best = near_distance(op->action, word), far;

	for (const char *const *also = op->also; also && *also; also++)
		if ((far = near_distance(*also, word)) < best)
			best = far;
	return best;
}

void tool_name_hint(const struct tool *tool, const char *action, struct text *hint)
{
	const char *meant = NULL;
	const struct op *op = action ? tool_name_command(tool->name, action) : NULL;
	size_t best = NEAR_MOST, far;

	if (op && !op->action)
		meant = op->tool;
	for (size_t i = 0; action && !meant && (op = tools_next_op(tool, &i));)
		if ((far = tool_name_distance(op, action)) < best)
			best = far, meant = op->action;
	if (meant)
		text_addf(hint, "Did you mean %s? ", meant);
	text_adds(hint, "Use one of: ");
	for (size_t i = 0, n = 0; (op = tools_next_op(tool, &i)); n++)
		text_addf(hint, "%s%s", n ? ", " : "", op->action);
	for (size_t i = 0; i < face_count; i++)
		if (face_table[i].action && strcmp(face_table[i].tool, tool->name) == 0)
			text_addf(hint, ", %s", face_table[i].action);
	text_adds(hint, ".");
}

/* --- similar names -------------------------------------------------------------------- */

/* The names that are most similar to a name, as far as they are compared. */
struct tool_nearest {
	const char *name;
	size_t far, n; /* the distance and the number of the names */
	struct text names;
};

static void tool_nearest_add(struct tool_nearest *s, size_t far, const struct tool *tool,
			     const char *action)
{
	if (far > s->far || far > NEAR_MOST)
		return;
	if (far < s->far) {
		s->far = far;
		s->n = s->names.len = 0;
	}
	if (s->n++ < NEAR_NAMES)
		text_addf(&s->names, "%s%s%s%s", s->n > 1 ? " or " : "", tool->name,
			  action ? " action=" : "", action ? action : "");
}

/* Compares the name with an action, which may stand alone, or before the tool's name, or behind
 * it. */
static void tool_nearest_try_action(struct tool_nearest *s, const struct tool *tool,
				    const char *action)
{
	char names[2][NAME_SIZE];
	size_t far = strcmp(s->name, action) == 0 ? 0 : NEAR_MOST + 1, other;

	snprintf(names[0], NAME_SIZE, "%s_%s", action, tool->name);
	snprintf(names[1], NAME_SIZE, "%s_%s", tool->name, action);
	for (size_t i = 0; i < 2; i++)
		if ((other = near_distance(names[i], s->name)) < far && other < NEAR_MOST)
			far = other;
	tool_nearest_add(s, far, tool, action);
}

static void tool_nearest_try(struct tool_nearest *s, const struct tool *tool)
{
	bool holds = strlen(s->name) > 3 &&
		     (strstr(tool->name, s->name) || strstr(s->name, tool->name));
	const struct op *op;

	tool_nearest_add(s, holds ? 1 : near_distance(tool->name, s->name), tool, NULL);
	for (size_t i = 0; (op = tools_next_op(tool, &i));)
		if (op->action)
			tool_nearest_try_action(s, tool, op->action);
}

void tool_name_refuse(struct request *r, const char *name)
{
	struct tool_nearest s = { .far = NEAR_MOST + 1 };
	const struct op *op;
	char plain[NAME_SIZE];
	struct text all = { 0 };

	if (!name) {
		answer_error(r, RPC_INVALID_PARAMS, NULL, "name is missing");
		return;
	}
	tool_name_plain(name, plain);
	s.name = tool_name_bare(plain);
	op = tool_name_command(s.name, NULL);
	for (size_t i = 0; i < tool_count; i++) {
		if (!tools_is_offered(r->mcp, &tool_table[i]))
			continue;
		if (op && !strcmp(tool_table[i].name, op->tool))
			tool_nearest_add(&s, 0, &tool_table[i], op->action);
		else
			tool_nearest_try(&s, &tool_table[i]);
		text_addf(&all, "%s%s", all.len ? ", " : "", tool_table[i].name);
	}
	if (s.n)
		answer_error(r, RPC_INVALID_PARAMS, NULL,
			     "no tool %.100s: did you mean %s?", name, s.names.data);
	else
		answer_error(r, RPC_INVALID_PARAMS, NULL,
			     "no tool %.100s; the tools are %s", name,
			     all.len ? all.data : "none");
	text_release(&s.names);
	text_release(&all);
}
