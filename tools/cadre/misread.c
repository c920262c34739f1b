/*
 * misread - words of a command that may be meant in two ways.
 *
 * `cadre send coder tester hi` sends `tester hi` to coder.  If the first word of a text is also a
 * receiver's name, the command has two readings: it is refused, and the fault names both.  Refused
 * as well is a look into another agent's inbox that would take that agent's mail.
 */
#include <stdio.h>
#include <string.h>

#include "tools/cadre/cli.h"

/* The field of a list of names that stands just before the text that takes the rest of the
 * words, and its place; NULL where the command has no such fields. */
static const struct field *names_before_text(const struct op *op, size_t *at)
{
	const struct field *field;
	size_t n = 0;

	while (op->cli_fields && op->cli_fields[n])
		n++;
	if (!op->cli_rest || op->runs || n < 2)
		return NULL;
	*at = n - 2;
	field = field_find(op->in, op->cli_fields[n - 2]);
	return field && field->names && field->flags & FIELD_LIST ? field : NULL;
}

/* The bare words from the one that fills the field `at` on; how many.  None if the text was
 * said to begin with `--`. */
static size_t words_from(const struct op *op, size_t at, int argc, char **argv,
			 const char *words[3])
{
	size_t bare = 0, n = 0;

	for (int i = 0; i < argc; i++) {
		if (!strcmp(argv[i], "--"))
			return 0;
		if (argv[i][0] == '-' && argv[i][1])
			i += run_option(op, argv[i]) != NULL;
		else if (bare++ >= at && n < 3)
			words[n++] = argv[i];
	}
	return n;
}

/* Whether a thing of that noun is found by the name.  If this query fails, the command is run all
 * the same. */
static bool misread_is_there(struct cli *cli, const struct noun *noun, const char *name)
{
	const struct op *op = op_find(noun->find);
	json_t *args = json_pack("{s:s}", noun->found_by, name), *answer;
	struct fault f = { 0 };

	if (cli->team && field_find(op->in, "team"))
		json_object_set_new(args, "team", json_string(cli->team));
	answer = run_op(cli, op, args, &f);
	json_decref(answer);
	json_decref(args);
	return answer != NULL;
}

/* Whether a word stands for all of a noun that have something in common. */
static bool misread_is_group(const struct field *field, const char *word)
{
	size_t n = field->by ? strlen(field->by) : 0;

	return n && !strncmp(word, field->by, n) && word[n] == ':' && word[n + 1];
}

/* The agent whose mail the words take, if the operator acts for it; else NULL. */
static const char *here_mail(struct cli *cli, const json_t *args)
{
	const char *agent = json_string_value(json_object_get(args, "agent"));
	const struct identity *id = &cli->home.identity;
	struct fault ignored = { 0 }; /* the call itself meets it */

	if (!agent)
		agent = cli->as;
	if (!agent || cli_client(cli, HOME_WRITE, &ignored) < 0)
		return NULL;
	return id->agent && !id->as ? NULL : agent;
}

/* Refuses to take another agent's mail from a terminal, where a person most likely wants to look.
 * A taken message is held, and its agent does not get the message before the hold ends. */
static int check_taking(struct cli *cli, const struct op *op, const json_t *args,
			struct fault *f)
{
	const char *agent;

	if (!cli->terminal || !(op->flags & OP_REQUEST) ||
	    json_object_get(args, "lease_seconds"))
		return 0;
	agent = here_mail(cli, args);
	if (!agent || !strcmp(agent, "operator"))
		return 0;
	fault_set(f, FAULT_INVALID, "", "that takes the mail of %.60s away from it",
		  agent);
	return fault_hint(
		f, "To look: cadre --as %.60s %s peek. To take it all the same: --take.",
		agent, op->cli[0]);
}

int misread_check(struct cli *cli, const struct op *op, const json_t *args, int argc,
		  char **argv, struct fault *f)
{
	size_t at = 0;
	const struct field *names = names_before_text(op, &at);
	const struct noun *noun = names ? noun_find(names->names) : NULL;
	const char *words[3];
	char where[80];
	int first;

	if (check_taking(cli, op, args, f) < 0)
		return f->code;
	if (!noun || !noun->find || words_from(op, at, argc, argv, words) < 3 ||
	    !(misread_is_group(names, words[1]) || misread_is_there(cli, noun, words[1])))
		return 0;
	snprintf(where, sizeof(where), "/%s", op->cli_fields[at + 1]);
	first = (int)strlen(words[0]);
	first -= first && words[0][first - 1] == ','; /* `coder, tester hi` means both */
	fault_set(
		f, FAULT_INVALID, where,
		"%s is the name of one more %s: is this for %.*s and %s, or does the text "
		"for %.*s begin with that word?",
		words[1], noun->name, first, words[0], words[1], first, words[0]);
	return fault_hint(
		f,
		"For both: cadre %s %.*s,%s …; for %.*s alone: cadre %s %.*s -- "
		"%s …",
		op->cli[0], first, words[0], words[1], first, words[0], op->cli[0], first,
		words[0], words[1]);
}
