/*
 * meant - finds the commands that a wrong command may mean, for the hint of its fault.
 */
#include <string.h>

#include "core/base/near.h"
#include "tools/cadre/cli.h"

bool cli_group(const char *word)
{
	for (size_t i = 0; i < op_count; i++)
		if (op_table[i].cli && !strcmp(op_table[i].cli[0], word))
			return true;
	return false;
}

/* A command, or the first word of several commands, whose spelling is near to a typed word. */
struct near {
	const char *first, *second; /* NULL `second`: a command of one word, or `first`
				       begins several commands */
	size_t distance;
};

/* Words of commands that end something, take something away or bring back a former state.
 * Commands with these words are never suggested, since the person may have meant another
 * command. */
static const char *const meant_grave[] = { "cancel", "down",    "estop",   "fail",
					   "forget", "gc",      "kill",    "leave",
					   "redact", "restart", "restore", "stop" };

static bool meant_is_grave(const char *word)
{
	for (size_t i = 0; i < sizeof(meant_grave) / sizeof(*meant_grave); i++)
		if (!strcmp(meant_grave[i], word))
			return true;
	return false;
}

/* Stores a command in `n` if `named` is nearer to `word` than the stored command, and begins
 * with the same letter as `word`. Commands that destroy something, and the words in `meant_grave`,
 * are not stored. */
static void meant_try(struct near *n, const struct op *op, const char *named,
		      const char *word)
{
	size_t d = near_distance(named, word);

	if (d < n->distance && *named == *word && !meant_is_grave(named) &&
	    !(op && op->flags & OP_DESTRUCTIVE))
		*n = (struct near){ op ? op->cli[0] : named, op ? op->cli[1] : NULL, d };
}

/* Finds the command nearest to a single word. A verb, or the first word of a command, may
 * differ by at most two letters. Less than half of the word's letters may differ. */
static struct near meant_near_first(const char *word)
{
	size_t most = strlen(word) > 4 ? 2 : strlen(word) > 2;
	struct near n = { .distance = most + 1 };

	for (const struct verb *v = verb_table; v->name; v++)
		if (v->usage)
			meant_try(&n, NULL, v->name, word);
	for (size_t i = 0; i < op_count; i++)
		if (op_table[i].cli && !op_table[i].cli[1])
			meant_try(&n, &op_table[i], op_table[i].cli[0], word);
		else if (op_table[i].cli)
			meant_try(&n, NULL, op_table[i].cli[0], word);
	return n;
}

/* Of the commands of a group, finds the command whose second word is nearest to `word`. */
static struct near meant_near_second(const char *group, const char *word)
{
	struct near n = { .distance = strlen(word) < 4 ? 2 : 3 };

	for (size_t i = 0; i < op_count; i++)
		if (op_table[i].cli && op_table[i].cli[1] &&
		    !strcmp(op_table[i].cli[0], group))
			meant_try(&n, &op_table[i], op_table[i].cli[1], word);
	return n;
}

/* Words of other programs, and what they mean: a command, or the second word of a command. A
 * guess only hints; a word of `also` in schema/ acts. So a word stands in `also` if it has one
 * meaning, and stands here if it has several, or if other groups than that of `also` need it. */
static const struct {
	const char *typed, *meant;
} guesses[] = {
	{ "add", "create" },
	{ "add", "register" },
	{ "broadcast", "send '*'" },
	{ "chat", "send" },
	{ "create", "register" },
	{ "find", "search" },
	{ "follow", "events -f" },
	{ "get", "show" },
	{ "get", "whois" },
	{ "grep", "search" },
	{ "lock", "reserve" },
	{ "locks", "reservations" },
	{ "login", "register" },
	{ "ls", "list" },
	{ "make", "create" },
	{ "new", "create" },
	{ "new", "register" },
	{ "next", "claim" },
	{ "peers", "agents" },
	{ "ps", "agents" },
	{ "read", "thread" },
	{ "say", "send" },
	{ "tail", "events -f" },
	{ "tell", "send" },
	{ "todo", "ready" },
	{ "unlock", "unreserve" },
	{ "view", "show" },
	{ "view", "whois" },
	{ "watch", "status --watch" },
};

/* A hint while it is written. */
struct meant {
	struct arena arena;
	const char *hint, *rest; /* `rest`: the words behind the command */
};

static void meant_add(struct meant *m, const char *first, const char *second)
{
	m->hint = arena_printf(&m->arena, "%s`cadre %s%s%s%s`",
			       m->hint ? arena_printf(&m->arena, "%s or ", m->hint)
				       : "did you mean ",
			       first, second ? " " : "", second ? second : "", m->rest);
}

/* Adds what a word of another program means, alone or behind the first word of a group. */
static void meant_guess(struct meant *m, const char *group, const char *word)
{
	for (size_t i = 0; i < sizeof(guesses) / sizeof(*guesses); i++) {
		const char *command;

		if (strcmp(guesses[i].typed, word) != 0)
			continue;
		command = arena_printf(&m->arena, "%s%s%s", group, *group ? " " : "",
				       guesses[i].meant);
		if (cli_has(command))
			meant_add(m, command, NULL);
	}
}

/* Adds the commands whose second word is `word`. */
static void meant_second(struct meant *m, const char *word)
{
	for (const struct verb *v = verb_table; v->name; v++)
		if (v->usage && strchr(v->name, ' ') &&
		    !strcmp(strchr(v->name, ' ') + 1, word))
			meant_add(m, v->name, NULL);
	for (const struct op *op = op_table; op < op_table + op_count; op++)
		if (op->cli && op->cli[1] && !strcmp(op->cli[1], word) &&
		    !(op->flags & OP_DESTRUCTIVE) && !meant_is_grave(word))
			meant_add(m, op->cli[0], word);
}

static void meant_find(struct meant *m, const char *group, const char *word)
{
	struct near near;

	if (*word && !word[strspn(word, "0123456789")])
		meant_add(m, "task show", word);
	else
		meant_guess(m, group, word);
	if (!m->hint && !*group)
		meant_second(m, word);
	if (m->hint)
		return;
	near = *group ? meant_near_second(group, word) : meant_near_first(word);
	if (near.first)
		meant_add(m, near.first, near.second);
}

/* Suggests `cadre task show 3` for `cadre 3`, and `cadre task edit 3` for `cadre edit 3`. */
int cli_no_verb(const struct cli *cli, int argc, char **argv)
{
	const char *group = cli_group(argv[0]) && argc > 1 ? argv[0] : "";
	struct meant m = { .rest = "" };
	struct fault f = { 0 };

	for (int i = 1 + !!*group; i < argc; i++)
		m.rest = arena_printf(&m.arena, "%s %s", m.rest,
				      shell_word(&m.arena, argv[i]));
	if (strlen(m.rest) > 60)
		m.rest = " …";
	meant_find(&m, group, argv[!!*group]);
	fault_set(&f, FAULT_INVALID, "", "there is no verb `%.60s%s%.60s`", argv[0],
		  *group ? " " : "", *group ? argv[1] : "");
	fault_hint(&f, "%s%ssee `cadre help%s%.60s`", m.hint ? m.hint : "",
		   m.hint ? "? " : "", *group ? " " : "", group);
	arena_release(&m.arena);
	return cli_fault(cli, &f);
}
