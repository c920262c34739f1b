/*
 * run - runs the operation that the words of a command line name.
 */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/home/project.h"
#include "ops.gen.h"
#include "tools/cadre/cli.h"
#include "tools/cadre/screen/progress.h"
#include "tools/cadre/screen/screen.h"
#include "tools/cadre/status.h"

static void spell_paths(struct cli *cli, const struct op *op, json_t *args);

/*
 * The option `--here` of operations whose answer has an agent's identity. The option asks cadre
 * to store this identity as the identity of this directory.
 */

/* Checks that an identity can be stored for this directory. Returns 0 or a fault. */
static int agent_here_check(struct cli *cli, struct fault *f)
{
	return cli_client(cli, HOME_WRITE, f) < 0 ? f->code
						  : home_can_keep(&cli->home, f);
}

/* Stores the agent of the answer as the identity of this directory, and removes the token from
 * the answer. */
static int agent_here_keep(struct cli *cli, json_t *answer, struct fault *f)
{
	const char *name = json_text_at(answer, "name"),
		   *team = json_text_at(answer, "team");
	struct home *h = &cli->home;

	if (home_keep_here(h, team, name, json_text_at(answer, "token"), true, f) < 0)
		return f->code;
	json_object_set_new(answer, "you",
			    json_sprintf("%s of team %s: whenever cadre runs in %s", name,
					 team, h->place));
	json_object_del(answer, "token");
	return 0;
}

/* Prints the commands with which a caller becomes the agent, because the agent's token is not
 * shown. */
static void agent_here_tell(const json_t *answer)
{
	struct arena arena = { 0 };
	const char *name = cli_plain(&arena, json_text_at(answer, "name"), false);

	fprintf(stderr,
		"%s, in a shell:     eval \"$(cadre agent env %s)\"\n"
		"%s, in a worktree:  cadre agent env %s --here\n",
		name, name, name, name);
	arena_release(&arena);
}

/*
 * The end of a command whose answer gives the caller a message or a claim.
 *
 * A message that the caller did not see must not be acknowledged. A claim that the caller did
 * not see must not stay. While the command waits for the answer, a signal ends the command at
 * once. A signal after the answer's arrival is noted. Before the noted signal ends the command,
 * the command tells the host whether all of the output was written.
 */

static const int endings[] = { SIGINT, SIGTERM, SIGHUP, 0 };

/* Gives a call a key, and blocks signals except while the command waits. */
static void deliver_begin(struct cli *cli, const struct op *op, json_t *args)
{
	const char *name = op_key(op);
	char key[37];

	if (!json_object_get(args, name)) {
		client_key(key);
		json_object_set_new(args, name, json_string(key));
	}
	signals_block(endings, &cli->waiting);
	signal(SIGPIPE, SIG_IGN);
	cli->confirms = true;
}

/* Called when the call has ended. A signal after this time is noted, and ends the process only
 * after the answer is printed. */
static void deliver_answer(struct cli *cli)
{
	signals_note(endings);
	sigprocmask(SIG_SETMASK, &cli->waiting, NULL);
}

static bool has_any(const json_t *answer, const char *name)
{
	return json_array_size(json_object_get(answer, name)) > 0;
}

/* Tells the state that the answer was seen, so that this session's next receive acknowledges
 * the messages. If this call fails, the messages are received again, but the command does not
 * fail. */
static void deliver_note_seen(struct cli *cli, const struct op *op, const json_t *args,
			      const json_t *answer)
{
	bool receives = op->flags & OP_REQUEST;
	json_t *name = json_object_get(args, op_key(op));
	struct fault f = { 0 };

	if (!has_any(answer, "messages") && !has_any(answer, "results") &&
	    !json_object_get(answer, "reply"))
		return;
	json_decref(run_args(cli, op_message_seen,
			     json_pack("{s:[O], s:O*, s:O*}", "requests", name, "agent",
				       json_object_get(args, receives ? "agent" : "from"),
				       "team", json_object_get(args, "team")),
			     &f));
}

static void hint_at_undo(const json_t *answer)
{
	bool gave = has_any(answer, "messages") || has_any(answer, "results") ||
		    json_object_get(answer, "task") || json_object_get(answer, "reply");

	if (gave)
		fputs("hint: the messages, results or task of the answer wait again; "
		      "repeat the command\n",
		      stderr);
}

/* Whether --json=NAMES or --columns leaves out the texts of messages that were handed out. */
static bool deliver_is_textless(const struct cli *cli, const struct op *op,
				const json_t *answer)
{
	const char *const *name = cli->json ? cli->members : cli->columns;

	if (!name || !(op->flags & OP_REQUEST) || !has_any(answer, "messages"))
		return false;
	while (*name && strcmp(*name, "content") != 0)
		name++;
	return !*name;
}

/* Called after the last byte of the answer was written. `answer` is NULL if there is no answer.
 * An answer that was written with the texts of its messages is marked as seen. Any other answer
 * is taken back. Returns the exit status. */
static int deliver_end(struct cli *cli, const struct op *op, const json_t *args,
		       const json_t *answer, int status)
{
	const bool written = !cli_unwritten(cli),
		   seen = written && !deliver_is_textless(cli, op, answer);
	int number;

	if (cli->client)
		client_settle_all(cli->client, seen && answer);
	if (answer && written && !seen)
		cli_tell(
			"hint: these messages wait again, since `content` is not among the "
			"names");
	if (answer && !written) {
		hint_at_undo(answer);
		status = fault_info(FAULT_IO)->exit_status;
	}
	if (answer && seen)
		deliver_note_seen(cli, op, args, answer);
	number = signals_next();
	if (number)
		signals_die(cli, number);
	return status;
}

/*
 * Words of a command that have two possible meanings.
 *
 * `cadre send coder tester hi` sends `tester hi` to coder. If the first word of a text is also
 * a receiver's name, the command has two readings. A command with two readings is refused, and
 * the fault explains both readings. A look into another agent's inbox is also refused if the
 * look would take that agent's mail.
 */

/* Returns the field for a list of names, if this field is directly before the field for the
 * text. The text takes all remaining words of the command. `*at` becomes the field's index in
 * op->cli_fields. NULL: the command has no such field. */
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

/* Gets at most three words that are not options, from the word for the field `at` on. Returns
 * the number of words that were found, or 0 if a `--` marks the beginning of the text. */
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

/* Whether the state has an object of the kind `noun` with the name `name`. If the query fails,
 * returns false, so that the command runs without the check. */
static bool misread_is_there(struct cli *cli, const struct noun *noun, const char *name)
{
	const struct op *op = op_find(noun->find);
	json_t *args = json_pack("{s:s}", noun->found_by, name), *answer;
	struct fault f = { 0 };

	if (cli->team && field_find(op->in, "team"))
		json_object_set_new(args, "team", json_string(cli->team));
	answer = run_args(cli, op, args, &f);
	json_decref(answer);
	return answer != NULL;
}

/* Whether a word names a group of things by a common value, such as `role:coder`. */
static bool misread_is_group(const struct field *field, const char *word)
{
	size_t n = field->by ? strlen(field->by) : 0;

	return n && !strncmp(word, field->by, n) && word[n] == ':' && word[n + 1];
}

/* If the caller is the operator, returns the agent whose mail the command would take. Returns
 * NULL if the caller is an agent, or if the command names no agent. */
static const char *here_mail(struct cli *cli, const json_t *args)
{
	const char *agent = json_find_text(args, "agent");
	const struct identity *id = &cli->home.identity;
	struct fault ignored = { 0 }; /* the call itself reports this fault */

	if (!agent)
		agent = cli->as;
	if (!agent || cli_client(cli, HOME_WRITE, &ignored) < 0)
		return NULL;
	return id->agent && !id->as ? NULL : agent;
}

/* Whether mail waits for the agent. If the query fails, returns true. */
static bool here_waits(struct cli *cli, const struct op *op, const char *agent)
{
	/* `inbox peek` looks at the mail that `inbox` takes. */
	char peek[] = "peek", *words[] = { (char *)op->cli[0], peek };
	int taken;
	const struct op *look = op_command(2, words, &taken);
	json_t *args = json_pack("{s:s, s:i}", "agent", agent, "limit", 1), *answer;
	struct fault ignored = { 0 };
	bool waits;

	if (cli->team)
		json_object_set_new(args, "team", json_string(cli->team));
	answer = run_args(cli, look, args, &ignored);
	waits = !answer || json_array_size(json_object_get(answer, "messages"));
	json_decref(answer);
	return waits;
}

/* Refuses to take another agent's mail if the command runs on a terminal and gives no lease,
 * because a person most likely only wants to look. A taken message has a lease, and the other
 * agent does not get the message before the lease ends. */
static int check_taking(struct cli *cli, const struct op *op, const json_t *args,
			struct fault *f)
{
	const char *agent;

	if (!cli->terminal || !(op->flags & OP_REQUEST) ||
	    json_object_get(args, "lease_seconds"))
		return 0;
	agent = here_mail(cli, args);
	if (!agent || !strcmp(agent, "operator") || !here_waits(cli, op, agent))
		return 0;
	fault_set(f, FAULT_INVALID, "",
		  "this command would take the mail that %.60s needs", agent);
	return fault_hint(f,
			  "To look: cadre --as %.60s %s peek. To take it anyway: "
			  "--take.",
			  agent, op->cli[0]);
}

/* Refuses a word that may either name one more receiver or begin the text. Returns 0, or a
 * negative number with `f` filled. */
static int misread_check(struct cli *cli, const struct op *op, const json_t *args,
			 int argc, char **argv, struct fault *f)
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
	/* In `coder, tester hi` the comma is no part of the name. */
	first -= first && words[0][first - 1] == ',';
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

/* Whether answers tell the caller of waiting mail. Answers tell an agent, but do not tell a
 * person who acts as an agent. */
static bool tells_mail(const struct cli *cli)
{
	return cli->home.identity.agent && !cli->home.identity.as;
}

struct form run_form(const struct cli *cli)
{
	return (struct form){ .tells = tells_mail(cli) };
}

/* Takes the note about waiting mail out of an answer, and prints the note on stderr. */
static void run_tell_mail(json_t *answer)
{
	const char *waiting = json_find_text(answer, "waiting");

	if (!waiting)
		return;
	fprintf(stderr, "cadre: %s for you: cadre inbox\n", waiting);
	json_object_del(answer, "waiting");
}

void awaited_take(void *arg, const char *result, const struct fault *f)
{
	struct awaited *a = arg;

	a->done = true;
	if (result)
		a->answer = json_loads(result, 0, NULL);
	else if (!a->fault->code)
		*a->fault = *f;
	if (!a->answer && !a->fault->code)
		fault_set(a->fault, FAULT_INTERNAL, "", "the answer is not JSON");
}

/* Opens cli->client with the access to the state that the operation needs. */
static int run_client(struct cli *cli, const struct op *op, struct fault *f)
{
	return cli_client(cli, op->flags & OP_WRITE ? HOME_WRITE : HOME_LOOK, f);
}

json_t *run_op(struct cli *cli, const struct op *op, json_t *args, struct fault *f)
{
	struct text out = { 0 };
	json_t *answer = NULL;

	if (run_client(cli, op, f) == 0) {
		client_form(cli->client, run_form(cli));
		client_call(cli->client, op, args, &out, f);
	}
	if (out.len) {
		answer = json_loadb(out.data, out.len, 0, NULL);
		if (!answer)
			fault_set(f, FAULT_INTERNAL, "", "%s gave no JSON", op->name);
	}
	text_release(&out);
	return answer;
}

json_t *run_args(struct cli *cli, const struct op *op, json_t *args, struct fault *f)
{
	json_t *answer = run_op(cli, op, args, f);

	json_decref(args);
	return answer;
}

/* --- words ---------------------------------------------------------------------- */

/* Replaces --wait or --take by the argument that the option stands for. --wait sets the flag
 * op->when, without which the operation does not wait. If there is no such flag, --wait asks
 * for the longest wait. --wait=SECONDS asks for a wait of that many seconds. --take stands for
 * a lease of 0 seconds. */
static char *run_spell_out(const struct op *op, char *word, struct arena *a)
{
	if (!strcmp(word, "--wait") && op->wait)
		return op->when ? arena_printf(a, "--%s", op->when->name)
				: arena_printf(a, "--%s=%lld", op->wait->name,
					       (long long)op->wait->type->max);
	if (!strncmp(word, "--wait=", 7) && op->wait)
		return arena_printf(a, "--%s=%s", op->wait->name, word + 7);
	if (!strcmp(word, "--take") && (op->flags & OP_REQUEST) &&
	    field_find(op->in, "lease_seconds"))
		return arena_printf(a, "--lease_seconds=0");
	return word;
}

static const struct field *run_option_field(const struct op *op, const char *word)
{
	char name[64];

	snprintf(name, sizeof(name), "%s", word + strspn(word, "-"));
	name[strcspn(name, "=")] = '\0';
	for (char *s = name; *s; s++)
		*s = *s == '-' ? '_' : *s;
	return field_find(op->in, name);
}

const struct field *run_option(const struct op *op, const char *word)
{
	const struct field *field = NULL;

	if (!strncmp(word, "--", 2) && !strchr(word, '='))
		field = run_option_field(op, word);
	return field && field->type->kind != KIND_BOOL ? field : NULL;
}

/* The number of words in front of the command that runs elsewhere. For `exec WORKSPACE COMMAND`
 * the number is 1, and for `exec --all COMMAND` it is 0. -1: the operation runs no command. */
static int words_before_command(const struct op *op, int argc, char **argv)
{
	int n = 0;

	if (!op->runs)
		return -1;
	if (fan_takes_all(op, argc, argv))
		return 0;
	while (op->cli_fields[n + 1])
		n++;
	return n;
}

/* Finds the first word of the command that runs elsewhere. Returns the index of this word among
 * the words behind the verb. Returns -1 if the words contain no command. */
static int command_at(const struct op *op, int argc, char **argv)
{
	int bare = 0, before = words_before_command(op, argc, argv);
	bool over = false;

	for (int i = 0; i < argc && before >= 0; i++) {
		if (!over && argv[i][0] == '-') {
			over = !strcmp(argv[i], "--");
			i += run_option(op, argv[i]) != NULL;
		} else if (bare++ == before) {
			return i;
		}
	}
	return -1;
}

bool run_is_command(int argc, char **argv)
{
	int taken;
	const struct op *op = op_command(argc, argv, &taken);

	return op && command_at(op, argc - taken, argv + taken) >= 0;
}

static json_t *run_read_words(struct cli *cli, const struct op *op, int argc, char **argv,
			      struct fault *f)
{
	struct arena arena = { 0 };
	const struct field *team = field_find(op->in, "team");
	char **words = arena_alloc(&arena, ((size_t)argc * 2 + 2) * sizeof(*words));
	int n = 0, command = command_at(op, argc, argv);
	bool over = false;
	json_t *args;

	/* The operation takes the team as an argument, but --team was read as an option. */
	if (team && !strcmp(team->name, "team") && cli->team)
		words[n++] = arena_printf(&arena, "--team=%s", cli->team);
	for (int i = 0; i < argc; i++) {
		if (i == command && !over)
			words[n++] = arena_strdup(&arena, "--");
		over = over || i == command || !strcmp(argv[i], "--");
		/* A single word is a line for the shell. Several words are a program and its
		 * arguments, which must arrive unchanged. */
		if (!over && op->when && !strncmp(argv[i], "--wait=", 7))
			words[n++] = arena_printf(&arena, "--%s", op->when->name);
		if (command >= 0 && i >= command && argc - command > 1)
			words[n++] = shell_word(&arena, argv[i]);
		else
			words[n++] = over ? argv[i] : run_spell_out(op, argv[i], &arena);
	}
	args = op_args(op, n, words, f);
	arena_release(&arena);
	return args;
}

static void run_set_key(const struct cli *cli, const struct op *op, json_t *args)
{
	if (cli->key && (op->flags & OP_WRITE))
		json_object_set_new(args, op_key(op), json_string(cli->key));
}

/* --- the whole operation -------------------------------------------------------------- */

/* Prints a text without wrapping. On a terminal, control characters are masked. Unless the call
 * named a length, also prints the text's further parts. */
static int print_text(struct cli *cli, const struct op *op, json_t *args,
		      const json_t *answer)
{
	bool all = !json_object_get(args, "length");
	const json_t *part = answer;
	struct fault f = { 0 };
	json_t *own = NULL;
	char *line;

	while (part) {
		cli_text(cli, json_find_text(part, op->prints->name));
		if (!all || !json_is_true(json_object_get(part, "more")) ||
		    !json_object_get(part, "next"))
			break;
		json_object_set(args, "offset", json_object_get(part, "next"));
		json_decref(own);
		part = own = run_op(cli, op, args, &f);
	}
	json_decref(own);
	line = op->says ? screen_line(cli, op, answer) : NULL;
	if (line && *line)
		cli_tell("cadre: %s", line);
	free(line);
	return f.code ? cli_fault(cli, &f) : 0;
}

/* Whether the call waited and its time ran out. */
static bool ran_out(const struct op *op, const json_t *args, const json_t *answer)
{
	const json_t *waits =
		json_object_get(args, (op->when ? op->when : op->wait)->name);

	for (const char *const *name = op->awaits; *name; name++)
		if (!screen_is_empty(json_object_get(answer, *name)))
			return false;
	return json_is_true(waits) || json_integer_value(waits) > 0;
}

/* Reports that the time ran out. Prints nothing for a list, because the command has already
 * reported that the list is empty. */
static int run_tell_late(const struct cli *cli, const struct op *op)
{
	struct fault f = { 0 };

	fault_set(&f, FAULT_TIMEOUT, "", "no %s came in that time", op->awaits[0]);
	if (op->empty)
		fault_hint(&f, "%s", op->empty);
	return screen_is_list(&op->out->fields[0]) ? fault_info(f.code)->exit_status
						   : cli_say_fault(cli, &f);
}

/* The exit status for an answer that is not a fault. */
static int status_of(const struct op *op, const json_t *answer)
{
	if (op->reached)
		return wait_status(op, answer);
	return op->misses && !json_object_get(answer, op->misses->name) ? STATUS_NOTHING
									: 0;
}

/* Whether an argument asks for a part of a list, as --status does. An optional argument asks
 * for a part of the list, unless the argument sets the owner, the length or the form of the
 * list. */
static bool is_narrowing(const struct op *op, const struct field *field)
{
	static const char *const others[] = { "team", "agent", "limit", "all" };

	for (const char *const *bare = op->cli_fields; bare && *bare; bare++)
		if (!strcmp(*bare, field->name))
			return false;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(field->name, others[i]))
			return false;
	return !(op->flags & OP_REQUEST) && field != op->wait && !field_is_key(field) &&
	       field->flags & (FIELD_OPTIONAL | FIELD_DEFAULT);
}

/* Adds an option and its value to a line of options. A flag has no value. */
static const char *narrowed_add(struct cli *cli, const char *all,
				const struct field *field, const json_t *value)
{
	char *name = arena_strdup(&cli->arena, field->name);

	for (char *s = name; *s; s++)
		*s = (char)(*s == '_' ? '-' : *s);
	return arena_printf(
		&cli->arena, "%s%s--%s%s%s", all, *all ? " " : "", name,
		json_is_boolean(value) ? "" : " ",
		json_is_boolean(value)
			? ""
			: cli_plain(&cli->arena,
				    screen_value(cli, &cli->arena, field, value), false));
}

/* The options of the call that ask for a part of the list, such as `--status failed --mine`. */
static const char *narrowed_by(struct cli *cli, const struct op *op, const json_t *args)
{
	const char *all = "";

	for (size_t i = 0; i < op->in->n_fields; i++) {
		const struct field *field = &op->in->fields[i];

		if (json_object_get(args, field->name) && is_narrowing(op, field))
			all = narrowed_add(cli, all, field,
					   json_object_get(args, field->name));
	}
	return all;
}

/* Prints the answer. With --wait, a person sees the first answer before the wait. A program
 * (--json) gets a single answer, which also has the result of the wait. */
static int run_finish(struct cli *cli, const struct op *op, json_t *args, json_t *answer)
{
	int status = status_of(op, answer);
	const bool late = op->awaits && ran_out(op, args, answer);

	if (!(op->flags & OP_WRITE) && !op->until)
		pager_begin(cli);
	if (cli->streams)
		return stream_print(cli, op, args, answer);
	if (cli->json) {
		status = op->until ? wait_behind(cli, op, args, answer) : status;
		columns_print(cli, op, answer);
		return wait_end(cli, late ? run_tell_late(cli, op) : status);
	}
	if (op->bytes_out)
		return fetch_print_bytes(cli, op, args, answer);
	else if (json_object_get(answer, "you"))
		cli_say("you are %s", json_find_text(answer, "you"));
	else if (op->prints && op->prints->type->kind == KIND_TEXT)
		return print_text(cli, op, args, answer);
	else
		cli->clock = op->clock, cli->narrowed = narrowed_by(cli, op, args),
		print_answer(cli, op, answer);
	if (!json_object_get(answer, "you") && op->flags & OP_IDENTIFIES)
		agent_here_tell(answer);
	if (op->flags & OP_WRITE || cli->people)
		screen_next(cli, op, answer);
	if (op->until)
		status = wait_behind(cli, op, args, answer);
	return wait_end(cli, late ? run_tell_late(cli, op) : status);
}

/* Adds a hint at --help to a fault about the command's words, unless the fault has a better
 * hint. */
static void hint_at_help(const struct op *op, struct fault *f)
{
	if (f->code == FAULT_INVALID && !strcmp(f->hint, fault_info(FAULT_INVALID)->hint))
		fault_hint(f, "see `cadre %s%s%s --help`", op->cli[0],
			   op->cli[1] ? " " : "", op->cli[1] ? op->cli[1] : "");
}

json_t *run_rows(struct cli *cli, const struct op *op, const char *rows, const char *arg,
		 json_t *value, struct fault *f)
{
	json_t *all = json_array(), *args = json_object(), *answer;
	bool more = true;

	if (value)
		json_object_set(args, arg, value);
	while (more && (answer = run_op(cli, op, args, f))) {
		json_array_extend(all, json_object_get(answer, rows));
		more = json_is_true(json_object_get(answer, "more"));
		json_object_set(args, "offset", json_object_get(answer, "next"));
		json_decref(answer);
	}
	json_decref(args);
	return all;
}

bool run_asks(struct fault *f)
{
	char line[16] = "";

	fflush(stdout);
	fputs("Go on? [y/N] ", stderr);
	if (fgets(line, sizeof(line), stdin) && (*line == 'y' || *line == 'Y'))
		return true;
	f->code = FAULT_CONFLICT; /* for the exit status; the person has decided */
	cli_tell("nothing was done");
	return false;
}

bool run_goes_on(const struct cli *cli, struct fault *f)
{
	static const char option[] = "Add --yes to do it. ";
	struct arena arena = { 0 };
	struct text hint = { 0 };
	const char *said;

	if (f->code != FAULT_CONFLICT || strcmp(f->where, "/confirm") != 0 || cli->json ||
	    !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return false;
	cli_tell("%s", cli_plain(&arena, f->text, false));
	hint_write(f->hint, HINT_COMMAND, &hint);
	text_add(&hint, "", 1);
	said = cli_plain(&arena, hint.data, false);
	if (strncmp(said, option, sizeof(option) - 1) == 0)
		said += sizeof(option) -
			1; /* the answer to the question replaces the option */
	cli_tell("%s", said);
	text_release(&hint);
	arena_release(&arena);
	*f = (struct fault){ 0 };
	return run_asks(f);
}

/* A command that runs elsewhere gives several answers. Returns whether only the first answer is
 * printed. A program (--json) gets only the first answer if the program gives a key, or if the
 * program states whether to follow the command. The state stores only one answer for a key. */
static bool is_one_answer(const struct cli *cli, const struct op *op, const json_t *args)
{
	return cli->json && (cli->key || json_object_get(args, op->follows->name));
}

/* Performs the call. With --wait, the operation itself may work for a long time, for example to
 * copy files. The host may then take as long as --wait allows to answer, and a line of progress
 * is shown meanwhile. */
static json_t *call_op(struct cli *cli, const struct op *op, json_t *args,
		       struct fault *f)
{
	struct progress *p;
	json_t *answer;

	if (op->reached)
		return wait_for(cli, op, args, f);
	if (op->follows && !is_one_answer(cli, op, args))
		return stream_begin(cli, op, args, f);
	if (!cli->waits)
		return run_op(cli, op, args, f);
	if (op->within && cli->wait_s && !json_object_get(args, op->within->name))
		json_object_set_new(args, op->within->name,
				    json_integer(cli->wait_s < op->within->type->max
							 ? cli->wait_s
							 : op->within->type->max));
	p = progress_begin(cli, op->summary);
	answer = run_op(cli, op, args, f);
	progress_end(p);
	return answer;
}

/* Performs the call with arguments that were read from words. If the answer gives the caller a
 * message or a claim, signals are blocked except during waits. */
static json_t *call_words(struct cli *cli, const struct op *op, json_t *args,
			  struct fault *f)
{
	json_t *answer;

	spell_paths(cli, op, args);
	when_spell(op, args);
	run_set_key(cli, op, args);
	if (op->gives)
		deliver_begin(cli, op, args);
	answer = call_op(cli, op, args, f);
	if (!answer && run_goes_on(cli, f)) {
		*f = (struct fault){ 0 };
		json_object_set_new(args, "confirm", json_true());
		answer = call_op(cli, op, args, f);
	}
	if (op->gives)
		deliver_answer(cli);
	return answer;
}

/*~ Words become a call.  Station 2 of 12.
 *
 * `op` is the row of `claim` in the table of operations. cli.c found this row by the words of
 * the command. run_read_words() reads the rest of the command line, and finds the field of
 * op->in for each word. So the 60 of `--lease-seconds 60` becomes an integer, and a word that
 * is no integer is refused at once. The result is a JSON object, the same object that an MCP
 * client would send. No code here knows what a task is.
 *
 * A claim is special, because the answer to a claim gives the caller a task. If our shell dies
 * before the answer is printed, nobody knows that the task is ours. No agent could work on the
 * task until the lease of the claim ends. deliver_begin() and deliver_end() tell the state
 * whether the answer has arrived. If the answer has not arrived, the claim is taken back.
 *
 * run_op() hands the arguments over to a client, which looks for a host.
 *
 * Next: core/client/client.c
 */
int run_words(struct cli *cli, const struct op *op, int argc, char **argv)
{
	struct fault f = { 0 };
	struct scratch scratch = { "" };
	bool here = op->flags & OP_IDENTIFIES && cli_take_word(&argc, argv, "--here");
	bool gives = op->gives; /* a lost answer would lose a message or a claim */
	json_t *args, *answer = NULL;
	int status;

	cli->op = op;
	if ((status = columns_check(cli, op)))
		return status;
	if (fan_run(cli, op, argc, argv, &status))
		return status;
	wait_take(cli, op, &argc, argv, &f);
	args = f.code ? NULL : run_read_words(cli, op, argc, argv, &f);
	if (args && here && agent_here_check(cli, &f) < 0)
		json_decref(args), args = NULL;
	if (args && fetch_many_asked(op, args))
		answer = fetch_many(cli, &op, args, &f);
	else if (args && misread_check(cli, op, args, argc, argv, &f) == 0)
		answer = fetch_send_bytes(cli, op, args, &f);
	if (args && !answer && !f.code && fetch_texts(op, args, &f) == 0 &&
	    editor_take(cli, op, args, &scratch, &f) == 0)
		answer = call_words(cli, op, args, &f);
	scratch_end(&scratch, !answer);
	if (!answer && !f.code)
		wait_end(cli, 0); /* a signal ended the wait */
	if (!answer)
		hint_at_help(op, &f);
	if (answer && here && agent_here_keep(cli, answer, &f) < 0)
		json_decref(answer), answer = NULL;
	if (answer && tells_mail(cli))
		run_tell_mail(answer);
	if (!answer && op->quiet && !strcmp(f.where, "/home"))
		status = 0;
	else
		status = answer ? run_finish(cli, op, args, answer) : cli_fault(cli, &f);
	if (gives)
		status = deliver_end(cli, op, args, answer, status);
	json_decref(answer);
	json_decref(args);
	return status;
}

/*
 * Paths in arguments. The process that uses a path may have another working directory than the
 * command.
 */

/* Whether an argument is a directory. An argument that may also name a workspace is a directory
 * if it looks like a path. */
static bool names_directory(const struct field *f, const char *given)
{
	return f->type->given == GIVEN_PATH ||
	       (f->type->given == GIVEN_PLACE && (*given == '.' || *given == '/'));
}

/* Turns a path relative to this directory into a path relative to the project's top. A path
 * outside the project stays unchanged, and the operation refuses it. */
static json_t *from_top(const struct project *p, json_t *given)
{
	const char *text = json_string_value(given);
	char path[4096];
	json_t *item;
	size_t i;

	json_array_foreach(given, i, item)
		json_array_set_new(given, i, from_top(p, item));
	return text && project_path(p, text, path) && *path ? json_string(path)
							    : json_incref(given);
}

/* Changes arguments that are paths, so that a host with another working directory can open
 * these paths. */
static void spell_paths(struct cli *cli, const struct op *op, json_t *args)
{
	for (size_t i = 0; i < op->in->n_fields; i++) {
		const struct field *f = &op->in->fields[i];
		json_t *value = json_object_get(args, f->name);
		const char *given = json_string_value(value);
		struct fault none = { 0 };
		struct project p;
		char path[PATH_MAX];

		if (value && f->type->given == GIVEN_TREE) {
			run_client(cli, op, &none); /* the later call reports the fault */
			if (project_here(&p, &cli->home))
				json_object_set_new(args, f->name, from_top(&p, value));
		} else if (given && names_directory(f, given) && realpath(given, path)) {
			json_object_set_new(args, f->name, json_string(path));
		}
	}
}
