/*
 * help - the list of commands, from the schema and the table of verbs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cadre/help/help_flow.h"
#include "tools/cadre/status.h"

enum {
	ENTRY_WIDTH = 32,
	LINE_WIDTH = 80,
	TOPIC_WIDTH = 12,
	NARROW = 60,
	SHORTEST = 30,
	INDENT = 2
};

static int line_width = LINE_WIDTH; /* of what is printed: a terminal may have less */

const struct option_text option_table[] = {
	{ "--utc", NULL, "Times of the clock as UTC, not as of this place." },
	{ "--json", NULL, "One line of JSON; a fault is an object `error` there." },
	{ "--direct", NULL, "Open the state itself even if a host runs." },
	{ "--home", "DIR", "The state folder." },
	{ "--create", NULL, "Make the state where --home or CADRE_HOME names none." },
	{ "--team", "TEAM", "The team; needed when there are several." },
	{ "--as", "AGENT", "Act as that agent (operator only; events say so)." },
	{ "--operator", NULL, "Act as the operator where this directory is an agent." },
	{ "--key", "KEY", "Idempotency key: the same call again does nothing twice." },
	{ "--section.key", "VALUE", "A key of the configuration: see `cadre config`." },
	{ "--no-color", NULL, "No colour on a terminal." },
	{ "--no-pager", NULL,
	  "No pager ($CADRE_PAGER, $PAGER, less) for a long screen." },
	{ "--help", NULL, "Explain the verb." },
	{ NULL, NULL, NULL },
};

/* Prints a text that was written for help, and releases it. */
static void put_help(struct text *help)
{
	help_flow(line_width, help->data);
	text_release(help);
}

static void put_verb_doc(struct text *out, const char *verb)
{
	const char *doc = verb_doc(verb);

	if (doc)
		text_addf(out, "\n%s", doc);
}

static void list_options(void)
{
	struct text out = { 0 };

	for (const struct option_text *o = option_table; o->name; o++) {
		char line[40];

		snprintf(line, sizeof(line), "%s%s%s", o->name, o->value ? " " : "",
			 o->value ? o->value : "");
		text_addf(&out, "  %-19s  %s\n", line, o->doc);
	}
	put_help(&out);
}

/* The words of a command with its bare arguments: `send TO CONTENT...`. */
static void command_line(const struct op *op, char *out, size_t room)
{
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; op->cli[i] && n < room; i++)
		n += (size_t)snprintf(out + n, room - n, "%s%s", i ? " " : "",
				      op->cli[i]);
	for (size_t i = 0; op->cli_fields && op->cli_fields[i] && n < room; i++) {
		const struct field *field = field_find(op->in, op->cli_fields[i]);
		bool may = field->flags & (FIELD_OPTIONAL | FIELD_DEFAULT);
		char *at = out + n;

		n += (size_t)snprintf(
			out + n, room - n, may ? " [%s%s]" : " %s%s", field->name,
			op->cli_rest && !op->cli_fields[i + 1] ? "..." : "");
		for (; *at; at++)
			*at = (char)(*at >= 'a' && *at <= 'z' ? *at - 32 : *at);
	}
}

/* How many bytes of a text stand on a line of that width: whole words, or one long word. */
static size_t help_line_of(const char *text, size_t width)
{
	size_t n = strlen(text), at = width;

	if (n <= width)
		return n;
	while (at > 0 && text[at] != ' ')
		at--;
	return at ? at : strcspn(text, " ");
}

/* A command and what it does, in two columns; a command too long for its column stands on
 * a line of its own, and the summary goes on below itself. */
static void help_put_entry(const char *line, const char *summary)
{
	const int column = line_width < NARROW ? 2 * INDENT : ENTRY_WIDTH;
	const size_t width = (size_t)(line_width - column - 2 * INDENT);
	const char *before = line;

	if (strlen(line) > (size_t)column) {
		printf("  %s\n", line);
		before = "";
	}
	while (*summary) {
		size_t n = help_line_of(summary, width);

		printf("  %-*s  %.*s\n", column, before, (int)n, summary);
		summary += n + strspn(summary + n, " ");
		before = "";
	}
}

static void put_verb(const struct verb *v)
{
	char line[80];

	snprintf(line, sizeof(line), "%s%s%s", v->name, *v->usage ? " " : "", v->usage);
	help_put_entry(line, v->summary);
}

/* The verbs of a topic, or (NULL) all. */
static void list_verbs(const char *topic)
{
	for (const struct verb *v = verb_table; v->name; v++)
		if (v->usage && (!topic || !strcmp(v->topic, topic)))
			put_verb(v);
}

/* A verb with code of its own stands for the operation of the same name. */
static bool help_is_verb(const struct op *op)
{
	for (const struct verb *v = verb_table; v->name && !op->cli[1]; v++)
		if (!strcmp(v->name, op->cli[0]))
			return true;
	return false;
}

/* Whether the operation's command begins with the word, or is about that noun. */
static bool help_is_about(const struct op *op, const char *word)
{
	return !strcmp(op->cli[0], word) || op_has_noun(op, word);
}

static void help_put_op(const struct op *op)
{
	char line[120];

	command_line(op, line, sizeof(line));
	help_put_entry(line, op->summary);
}

/* The verbs that begin with a word and the operations about it, or (NULL) all of these; how
 * many. */
static int list_ops(const char *word)
{
	size_t len = word ? strlen(word) : 0;
	int n = 0;

	for (const struct verb *v = verb_table; v->name && word; v++)
		if (v->usage && !strncmp(v->name, word, len) && v->name[len] == ' ')
			put_verb(v), n++;
	for (size_t i = 0; i < op_count; i++) {
		const struct op *op = &op_table[i];

		if (!op->cli || help_is_verb(op) || (word && !help_is_about(op, word)))
			continue;
		help_put_op(op);
		n++;
	}
	return n;
}

/* --- topics ------------------------------------------------------------------- */

/* Topics of verbs alone; schema/ has the others. */
static const struct topic own_topics[] = {
	{ .name = "start",
	  .doc = "Set cadre up for a project, start its host, connect clients." },
	{ .name = "keep", .doc = "Copies of the state, and what may be removed." },
};

enum { OWN_TOPICS = sizeof(own_topics) / sizeof(own_topics[0]) };

/* The i-th topic as people need them: to start, to work, to keep; NULL behind the last. */
static const struct topic *topic_at(size_t i)
{
	if (i == 0)
		return &own_topics[0];
	if (i <= topic_count)
		return &topic_table[i - 1];
	return i < topic_count + OWN_TOPICS ? &own_topics[i - topic_count] : NULL;
}

static bool is_of_topic(const struct op *op, const struct topic *t)
{
	return op->cli && !help_is_verb(op) && op_topic(op) == t;
}

/* The topic's command behind `last` (NULL: the first command); NULL behind the last command.  The
 * commands that the topic lists first precede the others, which follow by name. */
static const struct op *help_next_of(const struct topic *t, const struct op *last)
{
	const struct op *next = NULL;

	for (const struct op *op = op_table; op < op_table + op_count; op++) {
		size_t at = topic_rank(t, op);

		if (is_of_topic(op, t) &&
		    (!last || at > topic_rank(t, last) ||
		     (at == topic_rank(t, last) && op > last)) &&
		    (!next || at < topic_rank(t, next)))
			next = op;
	}
	return next;
}

/* A line of words that goes on below its first word. */
struct wrapped {
	int at;
};

/* Writes a word behind `, ` or `|`, of which the sign ends a line. */
static void help_put_word(struct wrapped *w, const char *before, const char *word)
{
	int n = (int)(strlen(before) + strlen(word));

	if (w->at + n + 1 >= line_width) {
		printf("%.1s\n%*s%s", before, TOPIC_WIDTH, "", word);
		w->at = TOPIC_WIDTH + (int)strlen(word);
		return;
	}
	printf("%s%s", before, word);
	w->at += n;
}

/* The commands of two words that share the first one: `team create|destroy|list`. */
static void put_group(struct wrapped *w, const struct topic *t, const struct op *first,
		      const char *before)
{
	char word[80];
	bool begun = false;

	for (const struct op *op = first; op; op = help_next_of(t, op)) {
		if (!op->cli[1] || strcmp(op->cli[0], first->cli[0]))
			continue;
		snprintf(word, sizeof(word), "%s%s%s", begun ? "" : op->cli[0],
			 begun ? "" : " ", op->cli[1]);
		help_put_word(w, begun ? "|" : before, word);
		begun = true;
	}
}

static bool is_first_of_group(const struct topic *t, const struct op *op)
{
	if (!op->cli[1])
		return false;
	for (const struct op *o = help_next_of(t, NULL); o != op; o = help_next_of(t, o))
		if (o->cli[1] && !strcmp(o->cli[0], op->cli[0]))
			return false;
	return true;
}

/* Whether a program has no command of the topic, as the one in a VM. */
static bool is_empty(const struct topic *t)
{
	for (const struct verb *v = verb_table; v->name; v++)
		if (v->usage && !strcmp(v->topic, t->name))
			return false;
	return !help_next_of(t, NULL);
}

/* A topic with all its commands, as few lines as they need. */
static void put_topic(const struct topic *t)
{
	struct wrapped w = { TOPIC_WIDTH };
	const char *before = "";

	if (is_empty(t))
		return;
	printf("%-*s", TOPIC_WIDTH, t->name);
	for (const struct verb *v = verb_table; v->name; v++)
		if (v->usage && !strchr(v->name, ' ') && !strcmp(v->topic, t->name)) {
			help_put_word(&w, before, v->name);
			before = ", ";
		}
	for (const struct op *op = help_next_of(t, NULL); op; op = help_next_of(t, op))
		if (!op->cli[1]) {
			help_put_word(&w, before, op->cli[0]);
			before = ", ";
		}
	for (const struct op *op = help_next_of(t, NULL); op; op = help_next_of(t, op))
		if (is_first_of_group(t, op)) {
			put_group(&w, t, op, before);
			before = ", ";
		}
	for (const struct verb *v = verb_table; v->name; v++)
		if (v->usage && strchr(v->name, ' ') && !strcmp(v->topic, t->name))
			help_put_word(&w, ", ", v->name);
	putchar('\n');
}

/* Whether this program makes states, as the one in a VM does not. */
static bool makes_states(void)
{
	const struct verb *v = verb_table;

	while (v->name && strcmp(v->name, "init"))
		v++;
	return v->name != NULL;
}

static int overview(const struct cli *cli)
{
	printf("usage: cadre [OPTIONS] VERB [WORDS]\n\n");
	for (size_t i = 0; topic_at(i); i++)
		put_topic(topic_at(i));
	putchar('\n');
	cli_prose(
		cli,
		!makes_states()
			? "cadre inbox && cadre claim\n"
			  "cadre done 001 \"it parses\" && cadre send lead \"The parser is there\""
			: "cadre init && cadre team create shop --roles coder,tester\n"
			  "cadre task create \"Write the parser\" && cadre --as coder claim\n"
			  "cadre send coder \"Tests first, please\" && cadre --as coder inbox peek",
		INDENT);
	putchar('\n');
	cli_prose(cli,
		  "cadre help VERB, help TOPIC (a word on the left), help all; docs: man "
		  "cadre",
		  0);
	return 0;
}

/* Everything, as a page to search in. */
static int explain_all(void)
{
	printf("usage: cadre [OPTIONS] VERB [WORDS]\n\nThis machine:\n");
	list_verbs(NULL);
	printf("\nTeams, messages, tasks and workspaces:\n");
	list_ops(NULL);
	printf("\nOptions of every verb:\n");
	list_options();
	printf("\n`cadre help VERB` explains one.  A text may be - (standard input) or @FILE.\n");
	return 0;
}

static const struct topic *topic_named(const char *word)
{
	size_t i = 0;

	while (topic_at(i) && strcmp(topic_at(i)->name, word))
		i++;
	return topic_at(i);
}

/* The exit statuses of the commands that wait. */
static void explain_ends(struct text *out)
{
	text_addf(
		out,
		"\nIt waits for an hour, or --timeout.  The exit status is 0 where it is so,\n"
		"%d where it ended otherwise or is gone, %d when the time is up, or no host\n"
		"runs that has to do it, %d where there is no such thing.\n",
		STATUS_OTHERWISE, fault_info(FAULT_TIMEOUT)->exit_status,
		fault_info(FAULT_NOT_FOUND)->exit_status);
}

/* The same behind the list of the commands that begin with a word, if they wait. */
static void put_ends(const char *word)
{
	struct text help = { 0 };

	for (size_t i = 0; i < op_count && !help.len; i++)
		if (op_table[i].cli && op_table[i].reached &&
		    !strcmp(op_table[i].cli[0], word))
			explain_ends(&help);
	if (help.len)
		put_help(&help);
}

/* The topic of that name, or the one with the commands of a noun or a first word. */
static bool explain_topic(const char *word)
{
	const struct topic *t = topic_named(word);

	if (t) {
		printf("%s\n\n", t->doc);
		list_verbs(t->name);
		for (const struct op *op = help_next_of(t, NULL); op;
		     op = help_next_of(t, op))
			help_put_op(op);
	} else if (!list_ops(word)) {
		return false;
	}
	put_ends(word);
	printf("\n`cadre help VERB` explains one.\n");
	return true;
}

static int explain_verb(const struct verb *v)
{
	struct text help = { 0 }, *out = &help;

	text_addf(out, "usage: cadre %s%s%s\n\n%s\n", v->name,
		  v->usage && *v->usage ? " " : "", v->usage ? v->usage : "", v->summary);
	put_verb_doc(out, v->name);
	for (const struct verb *other = verb_table; other->name; other++)
		if (other != v && other->run == v->run && strchr(other->name, ' '))
			text_addf(out, "\nThe same is `cadre %s`.\n", other->name);
	text_addf(out, "\n`cadre help all` lists the options of every verb.\n");
	put_help(out);
	return 0;
}

/* Lists the commands whose first word is this command, such as `inbox peek` for `inbox`. */
static void list_longer(const struct op *op, struct text *out)
{
	bool any = false;

	for (size_t i = 0; i < op_count; i++) {
		const struct op *other = &op_table[i];

		if (!other->cli || other == op || op->cli[1] ||
		    strcmp(other->cli[0], op->cli[0]))
			continue;
		text_addf(out, "%s `cadre %s %s`", any ? "," : "\nSee also",
			  other->cli[0], other->cli[1]);
		any = true;
	}
	if (any)
		text_addf(out, ".\n");
}

/* Explains --wait, and the exit statuses that are no faults. */
static void explain_wait(const struct op *op, struct text *out)
{
	if (op->until)
		text_addf(
			out,
			"\n--wait, --wait=SECONDS: then it waits for an hour, or so long, as "
			"`cadre %s %s`\ndoes, and its exit status is that one's.\n",
			op->until->cli[0], op->until->cli[1]);
	else if (op->reached)
		explain_ends(out);
	else if (op->wait)
		text_addf(
			out,
			"\n--wait stands for the longest wait, --wait=SECONDS for that.%s\n",
			op->flags & OP_REQUEST ? "  --take receives for good." : "");
	if (op->awaits)
		text_addf(out, "The exit status is %d where no %s came in that time.\n",
			  fault_info(FAULT_TIMEOUT)->exit_status, op->awaits[0]);
	if (op->misses)
		text_addf(out, "\nThe exit status is %d where there is no %s.\n",
			  STATUS_NOTHING, op->misses->name);
}

static int explain_op(const struct op *op)
{
	struct text help = { 0 }, *out = &help;

	op_usage(op, out);
	list_longer(op, out);
	if (!op->cli[1])
		put_verb_doc(out, op->cli[0]);
	if (op->editor)
		text_addf(
			out,
			"\nAt a terminal an editor opens for a %s that is not given: $VISUAL, "
			"$EDITOR, else vi.\n",
			op->editor->name);
	if (op->flags & OP_IDENTIFIES)
		text_addf(
			out,
			"\n--here: from now on `cadre` in this worktree is that agent.\n");
	explain_wait(op, out);
	text_addf(out, "\n`cadre help all` lists the options of every verb.\n");
	put_help(out);
	return 0;
}

/* argv[1...] are the words to be explained. */
int help_main(struct cli *cli, int argc, char **argv)
{
	const struct verb *v;
	const struct op *op;
	int taken = 0, words = 0;

	pager_begin(cli);
	if (cli->width && cli->width < LINE_WIDTH)
		line_width = cli->width > SHORTEST ? cli->width : SHORTEST;
	if (argc < 2)
		return overview(cli);
	v = cli_verb(argc - 1, argv + 1, &taken);
	if (v && !v->usage && op_command(argc - 1, argv + 1, &words))
		v = NULL; /* an operation has the word too, and is what people mean */
	if (v && (v->usage || taken == 1) && strcmp(v->name, "events") &&
	    strcmp(v->name, "gc"))
		return explain_verb(v);
	op = op_command(argc - 1, argv + 1, &taken);
	if (op && argc == 2 && topic_named(argv[1])) {
		explain_op(op);
		printf("\nThe topic of that name:\n\n");
		return explain_topic(argv[1]) ? 0 : 1;
	}
	if (op)
		return explain_op(op);
	if (!strcmp(argv[1], "all"))
		return explain_all();
	if (argc == 2 && explain_topic(argv[1]))
		return 0;
	return cli_no_verb(cli, argc - 1, argv + 1);
}
