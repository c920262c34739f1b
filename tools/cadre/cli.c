#include "tools/cadre/cli.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/version.h"
#include "ops.gen.h"

/*
 * If an answer has more lines than the terminal, a pager shows the answer, as in git.
 *
 * First the answer is written to a file in memory. So an answer that fits on the terminal is
 * printed without a pager, and no pipe breaks if the user leaves the pager early. If no pager
 * can be started, the answer is still printed.
 */

enum { ROWS_USUAL = 24, NOT_STARTED = 127 };

static const char *pager_command(void)
{
	const char *own = getenv("CADRE_PAGER"), *any = getenv("PAGER");

	return own ? own : any ? any : "less";
}

/* Collects the output in a file in memory. */
static void pager_collect(struct cli *cli)
{
	int file;

	fflush(stdout);
	file = memfd_create("answer", MFD_CLOEXEC);
	cli->screen = file < 0 ? 0 : fcntl(1, F_DUPFD_CLOEXEC, 3);
	if (cli->screen > 0)
		dup2(file, 1);
	else
		cli->screen = 0;
	if (file >= 0)
		close(file);
}

void pager_begin(struct cli *cli)
{
	const char *command = pager_command();

	if (cli->terminal && !cli->json && !cli->unpaged && !cli->screen && *command &&
	    strcmp(command, "cat") != 0)
		pager_collect(cli);
}

/* The number of terminal rows that a text takes. The lines of the text are already wrapped. */
static size_t pager_count_rows(const char *text, size_t len)
{
	size_t rows = 0;

	for (size_t i = 0; i < len; i++)
		rows += text[i] == '\n';
	return rows;
}

static size_t window_rows(int screen)
{
	struct winsize size;

	return ioctl(screen, TIOCGWINSZ, &size) || !size.ws_row ? ROWS_USUAL
								: size.ws_row;
}

/* Runs the pager, which reads the answer from its standard input. Returns false if no pager
 * could be started. */
static bool run_pager(int file)
{
	pid_t pid;
	int status;

	signal(SIGINT, SIG_IGN); /* only the pager reacts to Ctrl-C */
	signal(SIGQUIT, SIG_IGN);
	lseek(file, 0, SEEK_SET);
	pid = fork();
	if (pid == 0) {
		signal(SIGINT, SIG_DFL);
		signal(SIGQUIT, SIG_DFL);
		setenv("LESS", "FRX", 0);
		dup2(file, 0);
		execl("/bin/sh", "sh", "-c", pager_command(), (char *)NULL);
		_exit(NOT_STARTED);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return true; /* the status is unknown, but the pager has shown the text */
	return pid > 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == NOT_STARTED);
}

/* Makes the terminal the output again. Returns the file with the collected text, and maps the
 * text into memory. `*text` is MAP_FAILED if there is no text. */
static int pager_take(struct cli *cli, char **text, size_t *len)
{
	off_t end;
	int file;

	fflush(stdout);
	file = fcntl(1, F_DUPFD_CLOEXEC, 3);
	dup2(cli->screen, 1);
	close(cli->screen);
	cli->screen = 0;
	end = lseek(file, 0, SEEK_END);
	*len = end > 0 ? (size_t)end : 0;
	*text = *len ? mmap(NULL, *len, PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
	return file;
}

static void pager_end(struct cli *cli)
{
	char *text;
	size_t len;
	int file;

	if (!cli->screen)
		return;
	file = pager_take(cli, &text, &len);
	if (text != MAP_FAILED &&
	    (pager_count_rows(text, len) < window_rows(STDOUT_FILENO) ||
	     !run_pager(file)))
		fwrite(text, 1, len, stdout);
	if (text != MAP_FAILED)
		munmap(text, len);
	close(file);
}

void frame_begin(struct cli *cli)
{
	cli->width = cli_columns(STDOUT_FILENO);
	pager_collect(cli);
}

/* Each line is erased behind its end, and the screen below the last line. So nothing flickers. */
void frame_end(struct cli *cli, const char *last)
{
	char *text;
	size_t len, rows, at = 0;
	int file;

	if (!cli->screen)
		return;
	file = pager_take(cli, &text, &len);
	rows = window_rows(STDOUT_FILENO);
	printf("\033[H");
	while (text != MAP_FAILED && at < len && rows-- > 1) {
		const char *line = text + at, *end = memchr(line, '\n', len - at);
		const size_t n = end ? (size_t)(end - line) : len - at;

		printf("%.*s\033[K\r\n", (int)n, line);
		at += n + 1;
	}
	printf("\033[2m%s\033[0m\033[J", last);
	fflush(stdout);
	if (text != MAP_FAILED)
		munmap(text, len);
	close(file);
}

/* --- messages beside the answer ------------------------------------------------------ */

/* Tells a person why a call was denied: this directory has a stored identity of an agent. */
static void cli_kept(const struct home *h)
{
	if (h->who == HOME_BY_PLACE || h->who == HOME_BY_SESSION)
		fprintf(stderr,
			"note: you are %s of team %s in this directory: cadre whoami "
			"--help\n",
			h->identity.agent, h->identity.team);
}

bool cli_unwritten(struct cli *cli)
{
	int error = fflush(stdout) == 0 ? 0 : errno;

	if (!error && !ferror(stdout))
		return false;
	if (!cli->unwritten)
		fprintf(stderr, "cadre: io: the answer could not be written%s%s\n",
			error ? ": " : "", error ? strerror(error) : "");
	cli->unwritten = true;
	return true;
}

/* --- options that every verb knows ----------------------------------------------- */

const char *cli_option(int argc, char **argv, int *i, const char *name)
{
	size_t n = strlen(name);

	if (strncmp(argv[*i], name, n))
		return NULL;
	if (argv[*i][n] == '=')
		return argv[*i] + n + 1;
	if (argv[*i][n] || *i + 1 >= argc)
		return NULL;
	return argv[++*i];
}

bool cli_take_word(int *argc, char **argv, const char *word)
{
	int left = 0;
	bool found = false;

	for (int i = 0; i < *argc; i++)
		if (!strcmp(argv[i], word))
			found = true;
		else
			argv[left++] = argv[i];
	*argc = left;
	argv[left] = NULL;
	return found;
}

static bool cli_take_flag(struct cli *cli, const char *word)
{
	const struct {
		const char *name;
		bool *flag, value;
	} flags[] = { { "--utc", &cli->utc, true },
		      { "--json", &cli->json, true },
		      { "--table", &cli->people, true },
		      { "--direct", &cli->direct, true },
		      { "--operator", &cli->as_operator, true },
		      { "--create", &cli->create, true },
		      { "--no-pager", &cli->unpaged, true },
		      { "--no-color", &cli->color, false },
		      { "--help", &cli->help, true },
		      { "-h", &cli->help, true } };

	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (!strcmp(word, flags[i].name)) {
			*flags[i].flag = flags[i].value;
			return true;
		}
	return false;
}

static bool take_value(struct cli *cli, int argc, char **argv, int *i)
{
	const struct {
		const char *name, **value;
	} options[] = { { "--home", &cli->dir },
			{ "--team", &cli->team },
			{ "--as", &cli->as },
			{ "--key", &cli->key } };

	for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); k++) {
		const char *value = cli_option(argc, argv, i, options[k].name);

		if (value) {
			*options[k].value = value;
			return true;
		}
	}
	return false;
}

/* Splits names at commas. */
static const char *const *cli_names(struct arena *a, const char *list)
{
	char *all = arena_strdup(a, list);
	const char **names = arena_alloc(a, (strlen(list) + 2) * sizeof(*names));
	size_t n = 0;

	for (char *end; (end = strchr(all, ',')); all = end + 1) {
		*end = '\0';
		names[n++] = all;
	}
	names[n++] = all;
	names[n] = NULL;
	return names;
}

/* Finds the operation of the command. argv has `left` words of the command line so far. */
static const struct op *op_so_far(int left, char **argv, int *taken)
{
	return op_command(left - 1, argv + 1, taken);
}

/* Whether the command takes no word but options, and `next` is no word of a longer command. */
static bool takes_no_word(int left, char **argv, char *next)
{
	int taken, longer;
	const struct op *op = op_so_far(left, argv, &taken);
	char *word = argv[left];

	if (!op || op->cli_fields)
		return false;
	argv[left] = next;
	op_so_far(left + 1, argv, &longer);
	argv[left] = word;
	return longer == taken;
}

/* Takes --columns NAMES and --json=NAMES. `--json` is an option without a value, too, so
 * `--json NAMES` is taken only if the command has no other use for a word. argv has `left` words
 * of the command line so far. */
static bool take_names(struct cli *cli, int left, int argc, char **argv, int *i)
{
	const char *names = cli_option(argc, argv, i, "--columns"), *word = argv[*i];
	char none[] = "-", *next = *i + 1 < argc ? argv[*i + 1] : none;

	if (names)
		cli->columns = cli_names(&cli->arena, names);
	if (names || strncmp(word, "--json", 6))
		return names;
	if (!word[6] && isalpha((unsigned char)*next) && takes_no_word(left, argv, next))
		++*i;
	else if (word[6] == '=')
		next = argv[*i] + 7;
	else
		return false;
	cli->json = true;
	cli->members = cli_names(&cli->arena, next);
	return true;
}

/* Takes --section.key=value. If the value is in the word behind the option, the option is still
 * stored in the form with `=`. */
static bool cli_take_key(struct cli *cli, int argc, char **argv, int *i)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz_";
	const char *word = argv[*i] + 2;
	size_t section, key;

	if (strncmp(argv[*i], "--", 2) || cli->n_flags == CLI_FLAGS)
		return false;
	section = strspn(word, letters);
	if (!section || word[section] != '.')
		return false;
	key = section + 1 + strspn(word + section + 1, letters);
	if (word[key] == '=')
		cli->flags[cli->n_flags++] = word;
	else if (!word[key] && *i + 1 < argc)
		cli->flags[cli->n_flags++] =
			arena_printf(&cli->arena, "%s=%s", word, argv[++*i]);
	else
		return false;
	return true;
}

/* Whether the last word of argv ends the options of this program. The options end at `--`, at
 * the first word of a command that runs elsewhere, and at the verb `guest`, whose own options
 * have equal names. argv has `left` words so far. */
static bool ends_options(int left, char **argv)
{
	const char *last = argv[left - 1];

	return !strcmp(last, "--") || (left == 2 && !strcmp(last, "guest")) ||
	       run_is_command(left - 1, argv + 1);
}

/* Whether --operator is also an argument of the command. argv has `left` words of the command
 * line so far. */
static bool takes_operator(int left, char **argv)
{
	int taken;
	const struct op *op = op_so_far(left, argv, &taken);

	return op && field_find(op->in, "operator");
}

int cli_options(struct cli *cli, int argc, char **argv)
{
	int left = 1;
	bool own = false;

	for (int i = 1; i < argc; i++) {
		if (!own && !strcmp(argv[i], "--operator") && takes_operator(left, argv))
			cli->as_operator = true;
		else if (!own && (take_names(cli, left, argc, argv, &i) ||
				  cli_take_flag(cli, argv[i]) ||
				  take_value(cli, argc, argv, &i) ||
				  cli_take_key(cli, argc, argv, &i)))
			continue;
		argv[left++] = argv[i];
		own = own || ends_options(left, argv);
	}
	argv[left] = NULL;
	return left;
}

/* --- the state and the caller ------------------------------------------------------ */

void cli_note(const struct home *h)
{
	struct arena arena = { 0 };

	if (!h->note[0])
		return;
	fprintf(stderr, "cadre: %s\n", cli_plain(&arena, h->note, false));
	arena_release(&arena);
}

int cli_may_create(const struct cli *cli, struct fault *f)
{
	if (cli->dir || getenv("CADRE_HOME"))
		return 0;
	fault_set(f, FAULT_INVALID, "/create", "needs the state's folder");
	return fault_hint(f, "write --home DIR --create; for this project's state: cadre "
			     "init");
}

/* Whether the caller already is the agent that --as names. */
static bool says_itself(const struct cli *cli)
{
	const struct identity *id = &cli->home.identity;

	return cli->as && id->agent && !strcmp(cli->as, id->agent) &&
	       (!cli->team || !id->team || !strcmp(cli->team, id->team));
}

/* Sets the caller that --as and --operator name. A variable of the environment, or the identity
 * kept for this directory, may already have made the caller an agent. An agent cannot act as
 * another agent with --as alone. --operator overrides the identity kept for this directory, but
 * not a variable. */
static int take_options(struct cli *cli, struct fault *f)
{
	struct identity *id = &cli->home.identity;

	if (!cli->as_operator && cli_who(cli, f) < 0)
		return f->code;
	if (!cli->as_operator && says_itself(cli))
		return 0;
	if (id->agent) {
		fault_set(f, FAULT_DENIED, cli->as ? "/as" : "/operator",
			  "an agent cannot act as another agent or the operator");
		return fault_hint(
			f,
			cli->home.who == HOME_BY_PLACE || cli->home.who == HOME_BY_SESSION
				? "the operator may act as an agent: add --operator"
				: "only the operator may act as an agent: unset "
				  "CADRE_AGENT");
	}
	cli->home.who = HOME_BY_OPTION;
	id->agent = cli->as;
	id->as = id->proven = cli->as != NULL;
	return 0;
}

int cli_home(struct cli *cli, enum home_use use, struct fault *f)
{
	struct identity *id = &cli->home.identity;

	if (cli->create && cli_may_create(cli, f) < 0)
		return f->code;
	if (home_find_with(&cli->home, cli->dir, cli->create ? HOME_MAKE : use,
			   cli->flags, f) < 0)
		return f->code;
	cli_note(&cli->home);
	if (cli->team && !id->agent)
		id->team = cli->team;
	return cli->as || cli->as_operator ? take_options(cli, f) : 0;
}

int cli_who(struct cli *cli, struct fault *f)
{
	return cli->home.who == HOME_BY_DEFAULT ? home_recall(&cli->home, f) : 0;
}

int cli_folder(struct cli *cli, enum home_use use, struct fault *f)
{
	if (cli_home(cli, use, f) < 0)
		return f->code;
	return cli_outside(cli, f);
}

int cli_outside(struct cli *cli, struct fault *f)
{
	if (cli->home.dir[0])
		return 0;
	fault_set(f, FAULT_UNAVAILABLE, "/home",
		  "this is a workspace; the state is elsewhere");
	return fault_hint(f, "run the command outside the workspace, or name the state "
			     "folder: --home DIR");
}

int cli_client(struct cli *cli, enum home_use use, struct fault *f)
{
	struct client_options o = { .home = &cli->home,
				    .direct = cli->direct,
				    .hurry_ms = cli->hurry_ms };

	if (cli->client)
		return 0;
	if (!cli->home.socket[0] && cli_home(cli, use, f) < 0)
		return f->code;
	if (cli_who(cli, f) < 0)
		return f->code;
	/* A person at a terminal may not know that an agent has kept its identity for this
	 * directory. */
	if (cli->terminal && use == HOME_WRITE && !cli->reminded) {
		cli_kept(&cli->home);
		cli->reminded = true;
	}
	/* A command that prints a line for a shell's prompt must not wait for a host. So the
	 * client of such a command reads the state's file. */
	o.local_reads = cli->op && cli->op->quiet;
	o.identity = cli->home.identity;
	o.confirms = cli->confirms;
	o.waiting = cli->confirms ? &cli->waiting : NULL;
	return client_open(&cli->client, &o, f);
}

int cli_refuse_agent(struct cli *cli, const char *verb, struct fault *f)
{
	struct fault none = { 0 };

	home_find_with(&cli->home, cli->dir, HOME_LOOK, cli->flags, &none);
	if (!cli->home.dir[0] || (none.code && !cli->home.gone))
		return 0; /* the verb reports the fault itself */
	if ((cli->as || cli->as_operator) && take_options(cli, f) < 0)
		return f->code;
	if (cli_who(cli, f) < 0)
		return f->code;
	if (!cli->home.identity.agent) {
		memset(&cli->home, 0, sizeof(cli->home)); /* cli_home() refills `home` */
		return 0;
	}
	return fault_set(f, FAULT_DENIED, "", "%s is for the operator", verb);
}

/* --- verbs ----------------------------------------------------------------------- */

/* The number of words of `name`, if argv begins with these words; 0 if argv begins with other
 * words. */
static int count_words(const char *name, int argc, char **argv)
{
	for (int n = 0; n < argc; n++) {
		size_t len = strcspn(name, " ");

		if (strlen(argv[n]) != len || strncmp(argv[n], name, len) != 0)
			return 0;
		name += len;
		if (!*name++)
			return n + 1;
	}
	return 0;
}

const struct verb *cli_verb(int argc, char **argv, int *taken)
{
	const struct verb *v = verb_table;

	while (v->name && !(*taken = count_words(v->name, argc, argv)))
		v++;
	return v->name ? v : NULL;
}

int cli_split(char *words, char *argv[CLI_SPLIT])
{
	int argc = 0;
	char *rest;

	for (char *w = strtok_r(words, " ", &rest); w && argc < CLI_SPLIT;
	     w = strtok_r(NULL, " ", &rest))
		argv[argc++] = w;
	return argc;
}

bool cli_has(const char *command)
{
	struct arena a = { 0 };
	char *argv[CLI_SPLIT];
	int argc = cli_split(arena_strdup(&a, command), argv), taken;
	bool has;

	has = cli_verb(argc, argv, &taken) || op_command(argc, argv, &taken);
	arena_release(&a);
	return has;
}

/* Refuses --columns and --json=NAMES if the verb does not take them. */
static int cli_check_names(const struct cli *cli, const struct verb *verb,
			   struct fault *f)
{
	if (cli->columns && !(verb->flags & VERB_COLUMNS))
		fault_set(f, FAULT_INVALID, "/columns", "%s prints no table", verb->name);
	if (cli->members && !(verb->flags & VERB_MEMBERS))
		fault_set(f, FAULT_INVALID, "/json",
			  "%s prints no rows with members to "
			  "choose from",
			  verb->name);
	return f->code ? fault_hint(f, "see `cadre help %s`", verb->name) : 0;
}

/* Whether there is a state to show. If a state is there but refused, the status gives the
 * reason. */
static bool cli_is_in_project(struct cli *cli)
{
	struct fault f = { 0 };
	bool gone;

	home_find_with(&cli->home, cli->dir, HOME_LOOK, cli->flags, &f);
	gone = cli->home.gone;
	memset(&cli->home, 0, sizeof(cli->home)); /* cli_home() refills `home` */
	return f.code != FAULT_NOT_FOUND || gone;
}

/* Answers `cadre` without any word by the status, and by the way to the help. */
static int cli_begin(struct cli *cli)
{
	char word[] = "status", *words[] = { word, NULL };
	const int status = status_main(cli, 1, words);

	if (!status && !cli->json)
		puts("\nThe commands: cadre help");
	return status;
}

static int cli_run(struct cli *cli, int argc, char **argv)
{
	const struct verb *verb;
	const struct op *op;
	struct fault f = { 0 };
	int taken = 0;

	if (argc == 0 && !cli->help && cli_is_in_project(cli))
		return cli_begin(cli);
	if (argc == 0 || cli->help)
		return help_main(cli, argc + 1, argv - 1);
	verb = cli_verb(argc, argv, &taken);
	if (verb) {
		cli->usage = verb->usage;
		cli->verb = verb->name;
		if (verb->flags & VERB_OPERATORS &&
		    cli_refuse_agent(cli, verb->name, &f) < 0)
			return cli_fault(cli, &f);
		if (cli_check_names(cli, verb, &f) < 0)
			return cli_fault(cli, &f);
		return verb->run(cli, argc - taken + 1, argv + taken - 1);
	}
	op = op_command(argc, argv, &taken);
	if (op)
		return run_words(cli, op, argc - taken, argv + taken);
	if (argc == 1 && cli_group(argv[0]))
		return help_main(cli, 2, argv - 1);
	if (!strcmp(argv[0], "--version"))
		return version_main(cli, argc, argv);
	if (argv[0][0] == '-')
		return cli_usage(cli, "%s is not an option, or lacks its value", argv[0]);
	return cli_no_verb(cli, argc, argv);
}

int version_main(struct cli *cli, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (cli->json)
		printf("{\"version\":\"%s\"}\n", CADRE_VERSION);
	else
		printf("cadre %s\n", CADRE_VERSION);
	return 0;
}

/* Opens /dev/null in the place of each standard descriptor that is closed. If descriptor 1
 * stayed closed, a socket could get the number 1, and the answer would be printed into the
 * socket. */
static void hold_standard(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd < 3);
	if (fd >= 3)
		close(fd);
}

/* Chooses the form of the answer. As usual in other programs, CLICOLOR_FORCE asks for the form of
 * a terminal, with colours, and NO_COLOR for a form without colours. */
static void cli_form(struct cli *cli)
{
	const char *term = getenv("TERM"), *without = getenv("NO_COLOR"),
		   *force = getenv("CLICOLOR_FORCE");
	const bool forced = force && *force && strcmp(force, "0");

	cli->people = cli->terminal || forced;
	cli->color = !(without && *without) &&
		     (forced || (cli->terminal && term && strcmp(term, "dumb")));
}

int cli_main(int argc, char **argv)
{
	struct cli cli = { .terminal = isatty(1) };
	int status;

	hold_standard();
	/* The umask must not take away the user's own rights. */
	umask(umask(077) & 077);
	cli_form(&cli);
	argc = cli_options(&cli, argc, argv);
	cli.width = cli.people ? cli_room() : 0;
	status = cli_run(&cli, argc - 1, argv + 1);
	if (cli.screen) {
		client_close(cli.client); /* no connection stays open while the user reads
					     the answer */
		cli.client = NULL;
		pager_end(&cli);
	}
	if (cli_unwritten(&cli) && !status)
		status = fault_info(FAULT_IO)->exit_status;
	client_close(cli.client); /* updates the mirror after direct writes */
	arena_release(&cli.arena);
	return status;
}

/*
 * Prints a fault as text for people, or as JSON for programs.
 */

static void fault_as_json(const struct fault *f)
{
	struct text out = { 0 };

	text_addf(&out, "{\"error\":");
	fault_write(f, HINT_COMMAND, &out);
	text_addf(&out, "}\n");
	fwrite(out.data, 1, out.len, stdout);
	text_release(&out);
}

static bool fault_print_is_bare(const struct cli *cli, const char *name)
{
	const char *const *n = cli->op ? cli->op->cli_fields : NULL;

	while (n && *n && strcmp(*n, name))
		n++;
	return n && *n;
}

/* Whether the command has the option `option`, a name with its dashes. */
static bool fault_print_is_option(const struct cli *cli, const char *option,
				  const char *field)
{
	const struct option_text *o = option_table;

	while (o->name && strcmp(o->name, option))
		o++;
	return o->name || (cli->op && field_find(cli->op->in, field)) ||
	       (cli->usage && strstr(cli->usage, option));
}

/* The word that a user types for the argument of a fault, in the form that help prints: NAME or
 * --team. A part of a list is written like `--roles 2 name`. NULL: no word stands for the
 * argument. */
static const char *fault_word(const struct cli *cli, struct arena *a, const char *where)
{
	const size_t n = strcspn(where + 1, "/");
	const char *field = arena_strndup(a, where + 1, n), *rest = where + 1 + n;
	char *option = arena_printf(a, "--%s", field), *name = arena_strdup(a, field);
	const char *word;

	for (size_t i = 0; i < n; i++) {
		option[i + 2] = (char)(field[i] == '_' ? '-' : field[i]);
		name[i] = (char)(field[i] >= 'a' && field[i] <= 'z' ? field[i] - 32
								    : field[i]);
	}
	if (fault_print_is_bare(cli, field) || (cli->usage && strstr(cli->usage, name)))
		word = name;
	else if (fault_print_is_option(cli, option, field))
		word = option;
	else
		return NULL;
	while (*rest) {
		const size_t part = strcspn(rest + 1, "/");
		const char *text = arena_strndup(a, rest + 1, part);
		char *end;
		const long number = strtol(text, &end, 10);

		word = *end ? arena_printf(a, "%s %s", word, text)
			    : arena_printf(a, "%s %ld", word, number + 1);
		rest += part + 1;
	}
	return word;
}

/* Whether a text contains the word in upper or lower case. A part of a longer word or of a
 * path, such as the TO of "tool", does not count. */
static bool fault_print_has_word(const char *text, const char *word)
{
	static const char inside[] = "abcdefghijklmnopqrstuvwxyz"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-/";
	const size_t n = strlen(word);

	for (const char *p = text; (p = strcasestr(p, word)); p++)
		if ((p == text || !strchr(inside, p[-1])) &&
		    (!p[n] || !strchr(inside, p[n])))
			return true;
	return false;
}

/* Prints a fault as a line of text. A text that begins with "is" or "must" follows the
 * argument's name: for the argument `to`, the line says "to is required". Any other text ends
 * with the name in parentheses, unless the text contains the name. */
static void fault_as_text(const struct cli *cli, const struct fault *f)
{
	bool follows = f->where[0] &&
		       (!strncmp(f->text, "is ", 3) || !strncmp(f->text, "must ", 5));
	struct arena arena = { 0 };
	struct text hint = { 0 };
	const char *text = cli_plain(&arena, f->text, false);
	/* For /confirm, the hint explains how to confirm. */
	bool named = f->where[0] && strcmp(f->where, "/confirm") != 0;
	const char *word = named ? fault_word(cli, &arena, f->where) : NULL;

	if (!f->text[0])
		return; /* the person knows: see run_asks() */
	if (follows && !word)
		word = f->where + 1;
	word = word ? cli_plain(&arena, word, false) : NULL;
	if (follows)
		text = arena_printf(&arena, "%s %s", word, text);
	else if (word && !fault_print_has_word(text, word))
		text = arena_printf(&arena, "%s (%s)", text, word);
	cli_tell("cadre: %s: %s", fault_info(f->code)->name, text);
	hint_write(f->hint, HINT_COMMAND, &hint);
	if (f->hint[0])
		cli_tell("hint: %s", cli_plain(&arena, hint.data, false));
	text_release(&hint);
	arena_release(&arena);
}

int cli_say_fault(const struct cli *cli, const struct fault *f)
{
	fflush(stdout);
	fault_as_text(cli, f);
	return fault_info(f->code)->exit_status;
}

/* Whether the caller is an agent that is no more, or the operator may do what was refused. */
static bool fault_is_of_caller(const struct fault *f)
{
	return !strcmp(f->where, "/from") ||
	       (f->code == FAULT_DENIED && strstr(f->text, "operator"));
}

int cli_fault(const struct cli *cli, const struct fault *f)
{
	fflush(stdout);
	if (cli->json)
		fault_as_json(f);
	else
		fault_as_text(cli, f);
	if (!cli->json && !cli->reminded && fault_is_of_caller(f))
		cli_kept(&cli->home);
	return fault_info(f->code)->exit_status;
}

int cli_usage(const struct cli *cli, const char *fmt, ...)
{
	struct fault f = { 0 };
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fault_set(&f, FAULT_INVALID, "", "%s", text);
	if (cli->verb)
		fault_hint(&f, "see `cadre %s --help`", cli->verb);
	else
		fault_hint(&f, "see `cadre help`");
	return cli_fault(cli, &f);
}
