/*
 * cli - declarations that the files of the command share.
 *
 * Verbs come from the schema (`cli` lines); only those in verb_table of
 * main.c have code here, because they act on this machine: start a host, follow a
 * file, print a manual.  Results go to stdout, faults to stderr, and the exit
 * status is the one of the fault table.
 *
 * Read the files in this order: main.c (verbs), cli.c (options and faults), run.c (one
 * operation), fetch.c (texts and files).  Then screen/print.c and
 * screen/screen_table.c (output for people), and one file per verb.
 */
#ifndef TOOLS_CADRE_CLI_H
#define TOOLS_CADRE_CLI_H

#include <signal.h>

#include "core/base/shell.h"
#include "core/client/client.h"

enum { CLI_FLAGS = 32 };

struct cli {
	bool json, direct, color, help, create;
	bool as_operator; /* --operator: overrides this directory's kept identity */
	bool reminded; /* of who this directory is */
	bool unwritten; /* output that could not be written: it was said */
	bool terminal; /* stdout is one */
	int ended_by; /* signal that ended the waiting behind a call; 0: none */
	bool waits; /* --wait[=SECONDS] was given: see wait_verb.c */
	int64_t wait_s;
	bool utc; /* --utc: times as they are stored */
	bool clock; /* times are told by the clock */
	bool unpaged; /* --no-pager */
	int screen; /* the terminal, while the answer is gathered for a pager; 0: none */
	const char *narrowed; /* options that ask for some of a list alone; "": none */
	int width; /* of the terminal in columns; 0: no limit */
	const char *dir, *team, *as, *key; /* --home, --team, --as, --key */
	/* --section.key=value, without the dashes; a NULL ends them. */
	const char *flags[CLI_FLAGS + 1];
	size_t n_flags;
	const struct op *op; /* that is run, or NULL */
	const char *usage; /* of the verb with code of its own that is run, or NULL */
	struct arena arena; /* of what the words are kept in */
	struct home home; /* after cli_home() */
	struct client *client; /* after cli_client() */
	bool confirms; /* as a client does: see client.h */
	int64_t hurry_ms; /* the same */
	bool streams; /* stream_begin() has begun the command */
	sigset_t waiting; /* then: the signals that are blocked while it waits */
};

/* A verb; argv[0] is its name.  The exit status. */
typedef int verb_main(struct cli *cli, int argc, char **argv);

struct verb {
	/* Some words.  Without a usage several are another way to say the verb that runs
	 * the same. */
	const char *name, *usage, *summary;
	const char *topic; /* of help: one of its own or of schema/ */
	verb_main *run;
	unsigned flags;
};

/* VERB_OPERATORS: the verb is refused to agents, like operations that the schema reserves for the
 * operator.  Such a verb shows texts of all teams, or stops or replaces things that all teams use.
 * The other verbs show the machine and its settings, start the host that everybody needs, call
 * operations, which refuse by themselves, or refuse agents a part of their work. */
enum { VERB_OPERATORS = 1 };

extern const struct verb verb_table[]; /* of the program; ends with a NULL name */

/* The verb whose name is the first `*taken` of these words, or NULL. */
const struct verb *cli_verb(int argc, char **argv, int *taken);

/* The whole of a program: its exit status. */
int cli_main(int argc, char **argv);

/* An option that every verb knows. */
struct option_text {
	const char *name, *value, *doc; /* value: NULL for a flag */
};

extern const struct option_text option_table[]; /* ends with a NULL name */

/* Takes the common options out of argv; returns how many words are left. */
int cli_options(struct cli *cli, int argc, char **argv);

/* A state is made by a verb only where somebody says both the place and --create. */
int cli_may_create(const struct cli *cli, struct fault *f);
/* Finds the state, and who asks: --team and --as are part of that.  --create makes the
 * state where none is, whatever `use` says. */
int cli_home(struct cli *cli, enum home_use use, struct fault *f);
/* cli_home() for verbs that act on the state's folder, which workspaces do not have. */
int cli_folder(struct cli *cli, enum home_use use, struct fault *f);
/* Tells a person what is to be told of the search. */
void cli_note(const struct home *h);
/* Refuses a verb inside a workspace. */
int cli_outside(struct cli *cli, struct fault *f);
/* Finds who calls, behind cli_home(), where no variable or option says it. */
int cli_who(struct cli *cli, struct fault *f);
int cli_client(struct cli *cli, enum home_use use, struct fault *f);
/* Refuses an agent a verb that is for the operator: 0 or a fault.  The state is not kept as
 * found: the verb calls cli_home() or cli_client() afterwards. */
int cli_refuse_agent(struct cli *cli, const char *verb, struct fault *f);

/* Prints a text unchanged; on a terminal, control characters in the text are masked. */
void cli_text(const struct cli *cli, const char *s);

/* Whether something that was printed could not be written, which is said once; why is not
 * known when it was an earlier write. */
bool cli_unwritten(struct cli *cli);

/* Prints a fault, as JSON on stdout with --json; the exit status. */
int cli_fault(const struct cli *cli, const struct fault *f);
/* Tells a fault on stderr, also with --json, where stdout holds the answer already; the
 * exit status. */
int cli_say_fault(const struct cli *cli, const struct fault *f);
/* The same for a wrong use of a verb. */
int cli_usage(const struct cli *cli, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The same where the words name no verb: suggests a verb that may be meant. */
int cli_no_verb(const struct cli *cli, int argc, char **argv);

/* Takes `--NAME VALUE` or `--NAME=VALUE` (or `-x VALUE`) at argv[*i] and moves
 * *i to its last word; NULL when it is another word. */
const char *cli_option(int argc, char **argv, int *i, const char *name);
/* Takes a flag out of the words wherever it stands; whether it was there. */
bool cli_take_word(int *argc, char **argv, const char *word);

/* --- run.c ----------------------------------------------------------------------- */

/* Runs the operation with the words behind its own and prints the answer. */
int run_words(struct cli *cli, const struct op *op, int argc, char **argv);
/* Whether the last word so far begins a command that is run elsewhere.  All later words then belong
 * to that command, even words that look like options. */
bool run_is_command(int argc, char **argv);
/* The field whose value is the word behind this one; NULL if that is no option
 * or has its value in it. */
const struct field *run_option(const struct op *op, const char *word);
/* How answers are to be written for who calls. */
struct form run_form(const struct cli *cli);
/* A call under way, and what client_start() is told to do with its end: the answer as JSON,
 * to be freed, or the first fault. */
struct awaited {
	json_t *answer;
	struct fault *fault;
	bool done;
};
void awaited_take(void *arg, const char *result, const struct fault *f);
/* Runs an operation with arguments; the answer, or NULL with the fault filled. */
json_t *run_op(struct cli *cli, const struct op *op, json_t *args, struct fault *f);
/* The same with arguments that are taken over. */
json_t *run_args(struct cli *cli, const struct op *op, json_t *args, struct fault *f);
/* Asks a person at a terminal whether to go on; false, with the fault filled: no. */
bool run_asks(struct fault *f);
/* Asks a person at a terminal whether to do what was refused since it would lose work. */
bool run_goes_on(const struct cli *cli, struct fault *f);
/* The rows of all pages of a list, which is called with the argument `arg`, unless its value
 * is NULL. */
json_t *run_rows(struct cli *cli, const struct op *op, const char *rows, const char *arg,
		 json_t *value, struct fault *f);

/* --- wait_verb.c ---------------------------------------------------------------------- */

/* Takes `--wait` and `--wait=SECONDS` out of the words of an operation behind which
 * something can be waited for, or that waits itself. */
void wait_take(struct cli *cli, const struct op *op, int *argc, char **argv,
	       struct fault *f);
/* Calls a read that waits until it is answered: its answer.  NULL with the fault filled, of
 * code `timeout` when the time is up, or with none when a signal came: see wait_end(). */
json_t *wait_for(struct cli *cli, const struct op *op, json_t *args, struct fault *f);
/* The exit status that tells such an answer. */
int wait_status(const struct op *op, const json_t *answer);
/* Waits for what a call began, with --wait, and prints or (--json) adds to `answer` how
 * that ended; the exit status. */
int wait_behind(struct cli *cli, const struct op *op, const json_t *args, json_t *answer);
/* Ends the process by the signal that ended its waiting; returns the status without one. */
int wait_end(struct cli *cli, int status);

/* --- signals.c: lists of their numbers end with 0 ----------------------------------- */

/* Blocks the signals; `before` gets the mask of signals blocked until now. */
void signals_block(const int *numbers, sigset_t *before);
/* Notes the signals instead of ending.  Signals ignored from the start, as by nohup, stay so. */
void signals_note(const int *numbers);
/* From here on the signals end the process again; `before` is the mask again. */
void signals_release(const int *numbers, const sigset_t *before);
/* A signal that was noted and is not taken yet, or 0; next takes it. */
int signals_came(void);
int signals_next(void);
/* Ends the process by a signal, once its client is closed. */
void signals_die(struct cli *cli, int number);

/* --- stream.c --------------------------------------------------------------------- */

/* Starts a command that is followed while it runs: its first answer, or NULL with the fault
 * filled.  From here on signals wait for stream_print(). */
json_t *stream_begin(struct cli *cli, const struct op *op, json_t *args, struct fault *f);
/* Prints the command's output until its end, and returns the command's exit status.  With --json
 * the whole output is one answer at the end, and the status is 0. */
int stream_print(struct cli *cli, const struct op *op, const json_t *args,
		 const json_t *answer);

/* --- fetch.c ---------------------------------------------------------------------- */

/* Puts in what `-`, `@file` and `@@text` stand for in texts of any length. */
int fetch_texts(const struct op *op, json_t *args, struct fault *f);
/* Reads a file of at most 4 MiB that is to be a text in UTF-8. */
int fetch_file(const char *path, struct text *out, struct fault *f);

/* --- editor/editor.c --------------------------------------------------------------------- */

/* A file that a person edits, while there is one. */
struct scratch {
	char path[4200]; /* "": there is none */
};

/* Removes the file, or (`keep`, unless the editor removed it) says where it is. */
void scratch_end(struct scratch *d, bool keep);
/* Lets a person at a terminal write the text that the operation needs, where no word gave
 * it: 0 or a fault. */
int editor_take(struct cli *cli, const struct op *op, json_t *args, struct scratch *d,
		struct fault *f);

/* --- fetch.c: many calls ----------------------------------------------------------------------- */

/* Whether the words mean what standard input lists: `cadre task create -`. */
bool fetch_many_asked(const struct op *op, const json_t *args);
/* The answer for the lines of standard input, or NULL with the fault filled, which names
 * the line.  `called` becomes the operation whose answer it is: op->many, or the same for
 * one line. */
json_t *fetch_many(struct cli *cli, const struct op **called, json_t *args,
		   struct fault *f);

/* Prints an answer's bytes, and all that is behind them unless `args` says how many
 * are wanted; the exit status. */
int fetch_print_bytes(struct cli *cli, const struct op *op, json_t *args,
		      const json_t *answer);
/* Sends the file that `args` names as content in parts, if it is large: its answer, or
 * NULL, with a fault if that is why. */
json_t *fetch_send_bytes(struct cli *cli, const struct op *op, json_t *args,
			 struct fault *f);

/* --- screen/print.c --------------------------------------------------------------- */

struct layout; /* columns of a table that grows: below */

void print_answer(const struct cli *cli, const struct op *op, const json_t *answer);
void print_json(const json_t *json);
/* The same with a value that is taken over. */
void print_json_new(json_t *json);
/* A text in JSON; U+FFFD replaces bytes that are no UTF-8, as in a file's name. */
json_t *json_text(const char *s);
/* Rows of a list that goes on: the first ones under a heading, the others below them in the same
 * columns.  Rows that need wider columns have the heading above them once more. */
void print_more_rows(const struct cli *cli, const struct record *r,
		     const char *const *columns, const json_t *rows, struct layout *kept);
/* Writes a time as a person says it: "3 min ago", "in 2 h". */
void print_ago(int64_t ms, int64_t now, char out[32]);

/* --- screen/screen_table.c --------------------------------------------------------------- */

enum { TABLE_COLUMNS = 64 };

struct table_column {
	size_t width; /* 0: it has no room */
	bool prose; /* only what has several words, or is long, is cut: nobody copies a
		       part of an id */
};

/* The columns of a list that grows while it is looked at: as its rows so far need them, and as
 * the last rows were printed.  Zeroed before these. */
struct layout {
	struct table_column needed[TABLE_COLUMNS], shown[TABLE_COLUMNS];
};

struct table {
	struct arena arena;
	struct layout *kept; /* NULL: all rows are here */
	const char **cells; /* n_columns each row */
	size_t n_cells, n_columns;
	uint64_t whole, words, stay; /* bits of the columns that are never cut, that hold
				      * words of states, that are left out last */
};

/* The word of a state in its colour, on a terminal that has some. */
const char *cli_colored(const struct cli *cli, struct arena *a, const char *word);
/* A copy on one line (`lines`: newlines stay) in which no byte drives a
 * terminal. */
char *cli_plain(struct arena *a, const char *s, bool lines);
/* Prints a line of its own in which no byte drives a terminal: names of folders and
 * settings may be anybody's. */
void cli_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

void table_cell(struct table *t, const char *text); /* copied, made plain */
/* Prints and empties a table; the first row is the heading if `head`. */
void table_print(const struct cli *cli, struct table *t, bool head, int indent);

/* --- screen/screen_table.c: widths --------------------------------------------------------------- */

/* Columns that a text takes on a terminal. */
size_t cli_width(const char *s);
/* Bytes of `s` that fit into `width` columns. */
size_t cli_fit(const char *s, size_t width);
/* Columns of the terminal that a descriptor leads to; 0 where it leads to none. */
int cli_columns(int fd);
/* Prints a text, its lines behind `indent` blanks and wrapped at words. */
void cli_prose(const struct cli *cli, const char *text, int indent);
/* Prints a text behind the `at` columns of its line that are printed already; it goes on
 * below itself. */
void cli_item(const struct cli *cli, const char *text, int at);
/* The same at a width that need not be the terminal's. */
void cli_wrap(int width, const char *text, int at);
/* Prints lines on stderr, wrapped at words where that is a terminal. */
void cli_tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* --- cli.c: the pager -------------------------------------------------------------------- */

/* From here on the answer is gathered, if it is for a terminal: pager_end() shows it there,
 * through a pager where it is longer than the terminal. */
void pager_begin(struct cli *cli);

/* --- up.c --------------------------------------------------------------------- */

/* Guests of the state in the folder `home` that run on this machine. */
size_t guests_running(const char *home);
/* Ends the network of VMs, which a host leaves to those that outlive it.  0 or a fault. */
int guests_end_network(const struct home *home, struct fault *f);

/* --- help/help.c ----------------------------------------------------------------- */

/* Writes the words of a command with its bare arguments: `send TO CONTENT...`. */
void help_command(const struct op *op, char *out, size_t room);

/* --- completion.c ----------------------------------------------------------------- */

extern const char *const completion_shells[]; /* ends with NULL */

/* --- the verbs ---------------------------------------------------------------------- */

verb_main init_main, setup_main, trust_main, up_main, serve_main, down_main, restart_main,
	events_main, agent_run_main, watch_main, say_main, gc_main, edit_main, undo_main,
	logs_main, config_main, restore_main, backup_main, export_main, import_main,
	image_main, whoami_main, page_main, doctor_main, prime_main, hook_main, mcp_verb,
	guest_verb, completion_main, version_main, complete_main, help_main, man_main,
	docs_main;
/* Offers the names of what may be brought back, for completion. */
void undo_names(struct cli *cli, const char *begun,
		void (*put)(const char *begun, const char *word, const char *doc));

#endif
