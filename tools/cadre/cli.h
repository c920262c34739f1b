/*
 * cli - declarations that the files of the command share.
 *
 * Most verbs are defined by the schema (`cli` lines). Only the verbs in verb_table of main.c
 * have code here, because these verbs act on this machine. For example, such a verb starts a
 * host, follows a file or prints a manual. Results are written to stdout. Faults are written to
 * stderr, or with --json to stdout. The exit status is taken from the table of faults.
 *
 * Read the files in this order: main.c (verbs), cli.c (options and faults), run.c (one
 * operation), fetch.c (texts and files). Next read screen/print.c and screen/screen_table.c
 * (output for people), and one file per verb.
 */
#ifndef TOOLS_CADRE_CLI_H
#define TOOLS_CADRE_CLI_H

#include <signal.h>

#include "core/base/shell.h"
#include "core/client/client.h"

enum { CLI_FLAGS = 32 };

struct cli {
	bool json, direct, color, help, create;
	bool as_operator; /* --operator: overrides the directory's identity */
	bool reminded; /* the user was told of the identity kept for this directory */
	bool unwritten; /* the failure to write output was reported */
	bool terminal; /* stdout is a terminal */
	bool people; /* answers have the form for people: stdout is a terminal, or --table or
			CLICOLOR_FORCE asks for this form. Otherwise tables are for programs */
	const char *const *columns; /* --columns: names, NULL-terminated, or NULL */
	const char *const *members; /* --json=NAMES: names, NULL-terminated, or NULL */
	int ended_by; /* signal that ended the wait for a call; 0: no signal */
	bool waits; /* --wait[=SECONDS] was given: see wait_verb.c */
	int64_t wait_s;
	bool utc; /* --utc: prints times in the form in which they are stored */
	bool clock; /* times are printed as clock times */
	bool unpaged; /* --no-pager */
	int screen; /* descriptor of the terminal while the pager's text is collected; 0:
		       no text is collected */
	const char *narrowed; /* options that select a part of a list; "" without such
				 options */
	int width; /* columns of the form for people; 0: no limit */
	const char *dir, *team, *as, *key; /* values of --home, --team, --as and --key */
	/* Options --section.key=value, stored without the dashes. A NULL ends the list. */
	const char *flags[CLI_FLAGS + 1];
	size_t n_flags;
	const struct op *op; /* operation that is under way, or NULL */
	const char *verb; /* name of the running verb, or NULL, as for `usage` */
	const char *usage; /* usage of the running verb; NULL: the command is not in
			      verb_table */
	struct arena arena; /* memory for the words that the struct stores */
	struct home home; /* filled by cli_home() */
	struct client *client; /* opened by cli_client() */
	bool confirms; /* the client's option `confirms`: see client.h */
	int64_t hurry_ms; /* the client's option `hurry_ms` */
	bool streams; /* stream_begin() has started the command */
	sigset_t waiting; /* signals blocked while the command waits */
};

/* Runs a verb. argv[0] is the verb's name. Returns the exit status. */
typedef int verb_main(struct cli *cli, int argc, char **argv);

struct verb {
	/* A name has one or more words. If `usage` is NULL and the name has several words, the
	 * name is another name for the verb that has the same `run`. */
	const char *name, *usage, *summary;
	const char *topic; /* topic of help, defined in help or in schema/ */
	verb_main *run;
	unsigned flags;
};

/* VERB_OPERATORS: the verb is refused to agents, like operations that the schema reserves for
 * the operator. Such a verb shows texts of all teams, or stops or replaces things that all
 * teams use. Every caller may need the verbs that show the machine and its settings, and the
 * verbs that start the host. Each of the remaining verbs either calls operations that check the
 * caller, or itself refuses a part of its work to agents. */
enum { VERB_OPERATORS = 1 };
/* VERB_COLUMNS: the verb takes --columns. VERB_MEMBERS: the verb takes --json=NAMES. */
enum { VERB_COLUMNS = 2, VERB_MEMBERS = 4 };

extern const struct verb verb_table[]; /* the program's verbs; a NULL name ends the table */

/* Splits a text at blanks. Returns the number of words, at most CLI_SPLIT. */
enum { CLI_SPLIT = 8 };
int cli_split(char *words, char *argv[CLI_SPLIT]);
/* Whether this program has the command. The program in a VM has fewer commands. */
bool cli_has(const char *command);
/* Returns the verb whose name begins argv, or NULL. `*taken` becomes the number of words in the
 * verb's name. */
const struct verb *cli_verb(int argc, char **argv, int *taken);

/* Runs the whole program. Returns the program's exit status. */
int cli_main(int argc, char **argv);

/* An option that every verb knows. */
struct option_text {
	const char *name, *value, *doc; /* NULL `value`: the option is a flag */
};

extern const struct option_text option_table[]; /* a NULL name ends the table */

/* Removes from argv the options that every verb knows. Returns the number of remaining words. */
int cli_options(struct cli *cli, int argc, char **argv);

/* Checks that a verb may make a state. To make a state, a user must give --create and name the
 * state's folder. */
int cli_may_create(const struct cli *cli, struct fault *f);
/* Finds the state and the caller, and applies --team, --as and --operator. With --create, makes
 * a missing state, for any value of `use`. */
int cli_home(struct cli *cli, enum home_use use, struct fault *f);
/* Like cli_home(), for verbs that work on the state's folder. Inside a workspace this call
 * fails, since a workspace does not see the state's folder. */
int cli_folder(struct cli *cli, enum home_use use, struct fault *f);
/* Prints the note for the user that home_find_with() has stored in `h`. */
void cli_note(const struct home *h);
/* Refuses to run a verb inside a workspace. */
int cli_outside(struct cli *cli, struct fault *f);
/* Finds the caller if no variable and no option names the caller. Called after cli_home(). */
int cli_who(struct cli *cli, struct fault *f);
int cli_client(struct cli *cli, enum home_use use, struct fault *f);
/* Refuses a verb of the operator if the caller is an agent. Returns 0 or a fault. This function
 * does not store the state that it finds, so the verb must call cli_home() or cli_client()
 * afterwards. */
int cli_refuse_agent(struct cli *cli, const char *verb, struct fault *f);

/* Prints a text. Masks control characters if the output is a terminal. */
void cli_text(const struct cli *cli, const char *s);

/* Whether some output could not be written. Only the first call that finds the failure reports
 * it. If a write before this call failed, the report gives no reason. */
bool cli_unwritten(struct cli *cli);

/* Prints a fault as text on stderr or, with --json, as JSON on stdout. Returns the exit status. */
int cli_fault(const struct cli *cli, const struct fault *f);
/* Prints a fault as text on stderr. Even with --json the fault is a text, since stdout holds
 * the answer already. Returns the exit status. */
int cli_say_fault(const struct cli *cli, const struct fault *f);
/* Prints a fault about the wrong use of a verb. Returns the exit status. */
int cli_usage(const struct cli *cli, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Whether `word` is the first word of a command. */
bool cli_group(const char *word);
/* Prints a fault about words that name no verb, and suggests a verb. Returns the exit status. */
int cli_no_verb(const struct cli *cli, int argc, char **argv);

/* Returns the VALUE of `--NAME VALUE`, `--NAME=VALUE` or `-x VALUE` at argv[*i], and sets *i to
 * the last word of the option. Returns NULL if argv[*i] is another word. */
const char *cli_option(int argc, char **argv, int *i, const char *name);
/* Removes a flag from any position in argv. Returns whether argv contained the flag. */
bool cli_take_word(int *argc, char **argv, const char *word);

/* --- run.c ----------------------------------------------------------------------- */

/* Runs an operation and prints the answer. argv holds the words behind the operation's name. */
int run_words(struct cli *cli, const struct op *op, int argc, char **argv);
/* Whether the last word of argv belongs to a command that runs elsewhere. All later words also
 * belong to the command that runs elsewhere, even words that look like options. */
bool run_is_command(int argc, char **argv);
/* The field whose value is the word behind the option `word`. NULL: `word` is no option, or is
 * a flag, or contains the value, as in --NAME=VALUE. */
const struct field *run_option(const struct op *op, const char *word);
/* The form in which the host has to write answers for this caller. */
struct form run_form(const struct cli *cli);
/* A call under way. awaited_take() stores the answer as JSON in this struct, or stores the
 * first fault. The caller frees the JSON. */
struct awaited {
	json_t *answer;
	struct fault *fault;
	bool done;
};
void awaited_take(void *arg, const char *result, const struct fault *f);
/* Runs an operation with arguments. Returns the answer, or NULL with the fault filled. */
json_t *run_op(struct cli *cli, const struct op *op, json_t *args, struct fault *f);
/* Like run_op(), but also frees `args`. */
json_t *run_args(struct cli *cli, const struct op *op, json_t *args, struct fault *f);
/* Asks a person at a terminal whether to go on. If the person says no, returns false with a fault
 * without a text, for the exit status alone. */
bool run_asks(struct fault *f);
/* If the fault says that an act was refused because it would lose work, asks a person at a
 * terminal whether to do the act. */
bool run_goes_on(const struct cli *cli, struct fault *f);
/* Returns the rows of all pages of a list. The operation is called with `value` as the argument
 * `arg`, unless `value` is NULL. */
json_t *run_rows(struct cli *cli, const struct op *op, const char *rows, const char *arg,
		 json_t *value, struct fault *f);

/* --- wait_verb.c ---------------------------------------------------------------------- */

/* Removes `--wait` and `--wait=SECONDS` from argv, if the operation can be called with
 * `--wait`. An operation can be called with `--wait` if the operation itself waits, or begins
 * work for whose end a caller can wait. */
void wait_take(struct cli *cli, const struct op *op, int *argc, char **argv,
	       struct fault *f);
/* Repeats a call of a reading operation until the answer meets the awaited condition. Returns
 * the answer that meets the condition. Returns NULL with a fault if a call failed. The fault's
 * code is `timeout` if the time ran out. Returns NULL without a fault if a signal was caught
 * (see wait_end()). */
json_t *wait_for(struct cli *cli, const struct op *op, json_t *args, struct fault *f);
/* The command's exit status for an answer that wait_for() has returned. */
int wait_status(const struct op *op, const json_t *answer);
/* With --wait, waits for the end of the work that a call has begun. Prints the result, or with
 * --json adds the result to `answer`. Returns the exit status. */
int wait_behind(struct cli *cli, const struct op *op, const json_t *args, json_t *answer);
/* If a signal ended the wait, ends the process by the same signal. If no signal came, returns
 * `status`. */
int wait_end(struct cli *cli, int status);

/* --- signals.c: a 0 ends each list of numbers --------------------------------------- */

/* Blocks the signals in `numbers`. `before` gets the former signal mask. */
void signals_block(const int *numbers, sigset_t *before);
/* After this call, a signal in `numbers` is recorded and does not end the process. A signal
 * that was ignored at the start of the process, as under nohup, stays ignored. */
void signals_note(const int *numbers);
/* After this call, a signal in `numbers` ends the process again. Sets the signal mask to
 * `before`. */
void signals_release(const int *numbers, const sigset_t *before);
/* Both functions return a recorded signal, or 0. signals_next() also removes the signal from
 * the record. */
int signals_came(void);
int signals_next(void);
/* Closes the client, and ends the process by a signal. */
void signals_die(struct cli *cli, int number);

/* --- stream.c --------------------------------------------------------------------- */

/* Starts a command. stream_print() prints the command's output while the command runs. Returns
 * the first answer, or NULL with the fault filled. After this call, signals are blocked until
 * stream_print() handles them. */
json_t *stream_begin(struct cli *cli, const struct op *op, json_t *args, struct fault *f);
/* Prints the command's output until the command ends, and returns the command's exit status.
 * With --json the whole output is printed as one answer at the end, and the status is 0. */
int stream_print(struct cli *cli, const struct op *op, const json_t *args,
		 const json_t *answer);

/* --- fan.c ------------------------------------------------------------------------ */

/* Whether the option --all is among the words in front of the command that runs elsewhere. */
bool fan_takes_all(const struct op *op, int argc, char **argv);
/* If the words ask for a command in many workspaces, by --all or by a glob in the place of the
 * name, runs the command in all of them, and sets the exit status. Returns false if the words
 * ask for nothing of this kind. */
bool fan_run(struct cli *cli, const struct op *op, int argc, char **argv, int *status);

/* --- fetch.c ---------------------------------------------------------------------- */

/* In arguments that take texts of any length, replaces each word `-`, `@file` or `@@text` by
 * the text that the word stands for. */
int fetch_texts(const struct op *op, json_t *args, struct fault *f);
/* Reads a text file of at most 4 MiB. The text must be UTF-8. */
int fetch_file(const char *path, struct text *out, struct fault *f);

/* --- editor/editor.c --------------------------------------------------------------------- */

/* A file that a person edits in an editor. */
struct scratch {
	char path[4200]; /* "": there is no file */
};

/* Removes the file. With `keep`, leaves the file and prints the file's path, unless the editor
 * has removed the file. */
void scratch_end(struct scratch *d, bool keep);
/* If no argument has the text that the operation needs, lets a person at a terminal write the
 * text. Returns 0 or a fault. */
int editor_take(struct cli *cli, const struct op *op, json_t *args, struct scratch *d,
		struct fault *f);

/* --- fetch.c: many calls ----------------------------------------------------------------------- */

/* Whether the arguments say that standard input lists the items, as in `cadre task create -`. */
bool fetch_many_asked(const struct op *op, const json_t *args);
/* Makes one call for all lines of standard input. Returns the answer, or NULL with a fault that
 * names the line. The caller sets *called to an operation. After the call, *called is the
 * operation that answered. For several lines, the `many` of the caller's operation answers. For
 * a single line, the caller's operation itself may answer. */
json_t *fetch_many(struct cli *cli, const struct op **called, json_t *args,
		   struct fault *f);

/* Prints the bytes of an answer. If `args` gives no length, also fetches and prints all later
 * bytes. Returns the exit status. */
int fetch_print_bytes(struct cli *cli, const struct op *op, json_t *args,
		      const json_t *answer);
/* Sends a large file in parts, if `args` names such a file as content. Returns the answer.
 * Returns NULL without a fault if the file is not large, and NULL with a fault after a failure. */
json_t *fetch_send_bytes(struct cli *cli, const struct op *op, json_t *args,
			 struct fault *f);

/* --- screen/print.c --------------------------------------------------------------- */

struct layout; /* columns of a table that is printed piece by piece */

void print_answer(const struct cli *cli, const struct op *op, const json_t *answer);
void print_json(const json_t *json);
/* Like print_json(), but also frees `json`. */
void print_json_new(json_t *json);
/* Makes a JSON string of a text. U+FFFD replaces bytes that are not UTF-8. For example, a
 * file's name may have such bytes. */
json_t *json_text(const char *s);
/* Refuses names that --columns or --json=NAMES gives, and that no row of the answer has. Returns
 * 0, or prints a fault and the names that exist, and returns the exit status. */
int columns_check(const struct cli *cli, const struct op *op);
/* Prints an answer as JSON. The rows have only the members that --json=NAMES names. */
void columns_print(const struct cli *cli, const struct op *op, const json_t *answer);
/* Removes the members that --json=NAMES does not name from a row. */
void columns_trim_one(const struct cli *cli, json_t *row);
/* Prints a sentence about a table. For programs the sentence is printed on stderr, because
 * stdout has only the rows of the table. */
void print_beside(const struct cli *cli, const char *text);
/* Prints rows of a list that is printed piece by piece. The first rows are printed under a
 * heading. Later rows use the columns of the first rows. If later rows need wider columns, the
 * heading is printed again. */
void print_more_rows(const struct cli *cli, const struct op *op, const struct record *r,
		     const json_t *rows, struct layout *kept);
/* Writes a time relative to `now`: "3 min ago", "in 2 h". */
void print_ago(int64_t ms, int64_t now, char out[32]);

/* --- screen/screen_table.c --------------------------------------------------------------- */

enum { TABLE_COLUMNS = 64 };

struct table_column {
	size_t width; /* 0: the column is left out */
	bool prose; /* some text of the column is long or contains a blank, so the column
		       may be cut */
};

/* The columns of a list that is printed piece by piece. `needed`: the widths that all rows so
 * far need. `shown`: the widths of the last printed rows. The caller zeroes the struct before
 * the first rows. */
struct layout {
	struct table_column needed[TABLE_COLUMNS], shown[TABLE_COLUMNS];
	bool begun; /* some rows are printed */
	char team[65]; /* of the first row */
	bool teams; /* other rows are of other teams */
};

struct table {
	struct arena arena;
	struct layout *kept; /* NULL: the table holds all rows of the list */
	const char **cells; /* n_columns cells for each row */
	size_t n_cells, n_columns;
	const char *const *names; /* of the columns; NULL: print.c has chosen the columns */
	/* Sets of columns, one bit for each column. `whole`: columns that are never cut.
	 * `words`: columns whose cells are names of states. `stay`: columns that are left out
	 * only after all other columns. `zeros`: columns that stay even if each cell is 0. */
	uint64_t whole, words, stay, zeros;
};

/* Returns the name of a state, in the state's colour if the terminal shows colours. */
const char *cli_colored(const struct cli *cli, struct arena *a, const char *word);
/* Copies a text to one line, without control characters. With `lines`, the copy keeps the
 * newlines. */
char *cli_plain(struct arena *a, const char *s, bool lines);
/* Prints a line without control characters, since names of folders and settings may contain any
 * byte. */
void cli_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Begins a table with these columns, and adds the heading. Returns 0, or a fault if --columns
 * names another column. */
int table_begin(const struct cli *cli, struct table *t, const char *const *names,
		size_t n, struct fault *f);
void table_cell(struct table *t, const char *text); /* copies the text */
/* Prints and empties a table. `head`: the first row is the heading. */
void table_print(const struct cli *cli, struct table *t, bool head, int indent);

/* --- screen/screen_table.c: widths --------------------------------------------------------------- */

/* The number of columns that a text takes on a terminal. */
size_t cli_width(const char *s);
/* The number of bytes at the beginning of `s` that fit into `width` columns. */
size_t cli_fit(const char *s, size_t width);
/* The number of columns of the terminal that `fd` refers to. 0: `fd` is no terminal. */
int cli_columns(int fd);
/* The number of columns of the form for people on stdout. If stdout is no terminal, the variable
 * COLUMNS gives the number. */
int cli_room(void);
/* Prints a text wrapped at words, with `indent` blanks before each line. */
void cli_prose(const struct cli *cli, const char *text, int indent);
/* Prints a text on a line of which `at` columns are printed already. All further lines of the
 * text also begin at column `at`. */
void cli_item(const struct cli *cli, const char *text, int at);
/* Like cli_item(), but wraps at `width` columns instead of the terminal's width. */
void cli_wrap(int width, const char *text, int at);
/* Prints lines on stderr. Wraps the lines at words if stderr is a terminal. */
void cli_tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* --- cli.c: the pager -------------------------------------------------------------------- */

/* After this call, an answer for a terminal is collected in a file. pager_end() shows the
 * answer on the terminal, through a pager if the answer is longer than the terminal. */
void pager_begin(struct cli *cli);
/* A frame is an answer that takes the place of the answer before on the terminal. After
 * frame_begin(), the answer is collected in a file. frame_end() shows the part of the answer
 * that fits on the terminal, with the line `last` below. */
void frame_begin(struct cli *cli);
void frame_end(struct cli *cli, const char *last);

/* --- up.c --------------------------------------------------------------------- */

/* Counts the guests that run on this machine and belong to the state in the folder `home`. */
size_t guests_running(const char *home);
/* Removes the network of VMs. A host that ends does not remove the network, since VMs may still
 * run. Returns 1 if the network was removed, 0 if there was no network, or a fault. */
int guests_end_network(const struct home *home, struct fault *f);

/* --- help/help.c ----------------------------------------------------------------- */

/* Writes the words of a command and the arguments that need no option, as in `send TO
 * CONTENT...`. */
void help_command(const struct op *op, char *out, size_t room);
/* The help that is printed after the summary of a verb. NULL: there is no such help. */
const char *help_verb_doc(const char *verb);

/* --- completion.c ----------------------------------------------------------------- */

extern const char *const completion_shells[]; /* a NULL ends the list */

/* --- the verbs ---------------------------------------------------------------------- */

verb_main init_main, setup_main, trust_main, up_main, serve_main, down_main, restart_main,
	status_main, events_main, agent_run_main, agent_worktree_main, watch_main,
	say_main, gc_main, edit_main, undo_main, logs_main, config_main, use_main,
	restore_main, backup_main, export_main, import_main, image_main, whoami_main,
	page_main, doctor_main, prime_main, hook_main, mcp_verb, guest_verb,
	completion_main, version_main, complete_main, help_main, man_main, docs_main;
/* Calls `put` with each name that `cadre undo` can restore. Used by completion. */
void undo_names(struct cli *cli, const char *begun,
		void (*put)(const char *begun, const char *word, const char *doc));

/* --- when.c ---------------------------------------------------------------------------- */

/* Replaces the times in the arguments that have a form for people, such as `10m`, `14:00` or
 * `yesterday`, by times that the operation takes. Other texts stay. */
void when_spell(const struct op *op, json_t *args);

#endif
