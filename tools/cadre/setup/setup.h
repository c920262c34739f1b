/*
 * setup - declarations that the parts of `cadre setup` share.
 *
 * Read the files in this order: clients.c (the table of clients, with the files and parts of
 * each client), setup.c (the verb), setup_plan.c (the files that a run of setup changes). put.c
 * puts one part of a client into one file; jsonc.h edits a text; setup_target.c reads and
 * writes a file. check.c finds parts of clients that are not as setup makes these parts.
 */
#ifndef TOOLS_CADRE_SETUP_SETUP_H
#define TOOLS_CADRE_SETUP_SETUP_H

#include <sys/stat.h>

#include "core/config/toml.h"
#include "tools/cadre/cli.h"
#include "tools/cadre/setup/jsonc.h"

/* --- clients.c ------------------------------------------------------------------------- */

/* The parts of a client, in the order in which setup puts them. setup_plan_cut() removes the
 * hooks first, then the MCP server, then the text. */
enum setup_part { PART_MCP, PART_HOOKS, PART_TEXT, PART_COUNT };

/* The file of a part. `project` or `user` is NULL if the client has no file in that place. */
struct setup_file {
	const char *project; /* path below the project */
	const char *user; /* path below the client's folder */
	bool in_home; /* `user` is a path below the home, unless the client's variable is
			 set */
	const char *end; /* appended to the file's name if only the longer name exists */
};

/* A setting by which a person switches a part off. */
struct setup_off {
	enum setup_part part, file; /* `file`: the part whose file has the setting */
	enum {
		OFF_WHERE_TRUE,
		OFF_WHERE_FALSE,
		OFF_WHERE_NAMED, /* the list contains `word` */
		OFF_UNLESS_NAMED, /* the list does not contain `word` */
	} how;
	const char *key; /* keys from the root, with dots between; NULL ends a list */
	const char *word;
	bool in_project; /* the setting matters only for a project, not for the user's own
			    files */
};

struct setup_client {
	const char *name, *title;
	const char *programs[3]; /* a NULL ends the list */
	const char *variable; /* variable with the client's folder, or NULL */
	const char
		*folder; /* the client's folder in the home, if the variable is not set */
	/* A folder below `folder` that exists if the client is installed; or NULL. */
	const char *trace;
	struct setup_file files[PART_COUNT];
	bool toml; /* the servers are in a TOML file */
	const char *servers; /* the key of the MCP servers */
	const char *entry; /* a server's entry as JSON: @ stands for the command */
	/* The JSON of one item, in which @ stands for the command line. Setup puts such an item
	 * for each event of `cadre hook`. NULL: the client has no hooks, or its hooks are a
	 * file of code that `cadre hook` prints. */
	const char *hook;
	struct jsonc_beside beside[PART_COUNT]; /* members that are put beside a part's
						   first key; a NULL key: no member */
	/* A file of instructions that the client's own file in a project may import; or NULL. */
	const char *import;
	const struct setup_off *off; /* settings that switch parts off, or NULL */
	const char *local; /* project's settings file outside of git, or NULL */
	const char *note; /* advice that a person needs; or NULL */
};

extern const struct setup_client setup_clients[]; /* a NULL name ends the table */

const struct setup_client *setup_client_named(const char *name);
/* What a command runs: no program, a program other than `self`, or the program `self`. */
enum setup_runs { RUNS_NONE, RUNS_ANOTHER, RUNS_SAME };
enum setup_runs setup_runs(const char *command, const char *self);
/* Whether the client is installed: its program is in PATH, or its folder is in the home. */
bool setup_client_there(const struct setup_client *c);
/* Refuses a variable with a relative path, since each working directory would give another
 * folder. */
int setup_client_check(const struct setup_client *c, struct fault *f);
/* The path of a part's file; false: the client has no file of this part. `project` is the
 * project's folder; "" asks for the user's file. */
bool setup_client_path(const struct setup_client *c, enum setup_part part,
		       const char *project, char out[4096]);

/* --- put.c ------------------------------------------------------------------------------ */

/* Counts of the entries of a part. */
struct setup_tally {
	int found, missing; /* numbers of entries */
	int changed; /* found entries with a command or text that setup would not write
			now */
	int yours; /* found entries that a person wrote, which stay */
	char gone[200]; /* an entry's command that runs no program; or "" */
	char other[200]; /* an entry's command that runs another program; or "" */
	bool as_operator; /* the MCP server of the entry acts as the operator */
};

/* Puts a part into a draft. The draft's other text stays. `command` is the command that runs
 * this program. If PATH leads to this program, `command` is `cadre`, else the program's path.
 * Returns 0 or a fault. With a fault, the draft must not be written. */
int setup_put(const struct setup_client *c, enum setup_part part, const char *command,
	      struct setup_draft *d, struct setup_tally *t, struct fault *f);
/* Removes a part from a draft. If there is a fault, some of the part may already be removed. */
int setup_cut(const struct setup_client *c, enum setup_part part, const char *command,
	      struct setup_draft *d, struct fault *f);

/* A value in a file of JSON or TOML. */
struct setup_value {
	json_t *value; /* NULL: there is no value; the caller releases the value */
	size_t at, from; /* offset of the key, and offset of the value */
	struct jsonc *node; /* node of a JSON file */
	/* In TOML, the value in braces around this value. No table can be added to a value in
	 * braces. */
	const struct toml_value *braces;
};

/* Finds the value to which `path` leads; `path` has dots between its keys. */
int setup_find_value(struct arena *a, const struct setup_draft *d, bool toml,
		     const char *path, struct setup_value *out, struct fault *f);

/* Whether instructions without a block of cadre import the file `name`. If the instructions
 * import the file, the block is put into the file. */
bool setup_imports(const struct setup_draft *d, const char *name);

/* --- setup_target.c -------------------------------------------------------------------------------- */

/* A file that is read, and may be changed. */
struct setup_target {
	char shown[4096]; /* path as shown to people */
	char path[4096]; /* path without links */
	struct setup_draft draft; /* text to be written */
	struct text before; /* text that was read */
	bool was; /* the file existed when it was read */
	struct stat st; /* the file's status when the file was read */
	bool told; /* the file has leftover instructions, and this was reported */
};

/* Finds a file's path without links. The file need not exist. If `project` is not "" and not
 * NULL, the path must not lead out of the folder `project`. */
int setup_target_find(struct setup_target *t, const char *path, const char *shown,
		      const char *project, struct fault *f);
/* Reads the file, or notes that there is no file. */
int setup_target_read(struct setup_target *t, struct fault *f);
bool setup_target_changed(const struct setup_target *t);
/* Refuses to change a file that is read-only. */
int setup_target_check(const struct setup_target *t, struct fault *f);
/* Reverts all edits of the draft. */
void setup_target_undo(struct setup_target *t);
/* Writes the draft to the disk in one step, or removes the file. Also makes the missing folders
 * above the file, and notes these folders. The mode, the owner and the access list stay. */
int setup_target_write(struct setup_target *t, struct fault *f);
/* Removes the files that a killed setup has left beside the file at `path`. */
void setup_target_sweep(const char *path);
void setup_target_release(struct setup_target *t);

/* Removes the empty folders above a file, but only folders that setup made. */
void setup_target_remove_folders(const char *path);
/* Writes the change of a file in the form of `diff -u`. Without the program `diff`, writes only
 * the names of the files, and says that the change is not shown. */
void setup_diff(const struct setup_target *t, struct text *out);

/* Waits until no other setup of the user changes files, but gives up with a fault after
 * PATIENCE_MS. Other setups wait until the returned descriptor is closed. Returns -1 if there
 * is a fault, or if there is no folder for setup's notes. With `make`, makes this folder if the
 * folder is missing. */
int setup_lock(bool make, struct fault *f);

/* --- setup_plan.c ------------------------------------------------------------------------------------ */

enum { SETUP_CLIENTS = 16 };

struct setup_plan {
	struct arena arena;
	char project[4096]; /* "": the user's files are meant */
	char home[4096]; /* the user's home */
	const struct setup_client *clients[SETUP_CLIENTS + 1]; /* a NULL ends the list */
	struct setup_target **targets;
	size_t n_targets;
	const char *command; /* see setup_put() */
	bool passing; /* files that cannot be edited are noted and skipped */
	json_t *left; /* paths of skipped files that may have setup's parts */
	json_t *notes; /* notes for the user about things that were not changed */
};

/* Finds this program, and the project around the working directory. False: there is no project.
 * `project` is then the working directory, or "" if the working directory is unknown. */
bool setup_plan_begin(struct setup_plan *p);
/* Chooses all clients of the table. */
void setup_plan_all(struct setup_plan *p);
/* The file of a part; NULL: the client has no file of this part, or the fault is filled. */
struct setup_target *setup_plan_target(struct setup_plan *p, const struct setup_client *c,
				       enum setup_part part, struct fault *f);
/* Counts the entries of a part in its draft, by putting the part into a copy of the draft. */
int setup_plan_look(struct setup_plan *p, const struct setup_client *c,
		    enum setup_part part, struct setup_tally *t, struct fault *f);
/* A path in the form that people write; in the plan's arena, or a part of `path`. */
const char *setup_plan_shown(struct setup_plan *p, const char *path);
/* Removes the files that killed setups have left beside the files of any client. */
void setup_plan_sweep(const struct setup_plan *p);
/* Whether a file that could not be edited may have parts that setup has put. `t` is NULL if the
 * file could not be read. */
bool setup_plan_may_have(const struct setup_plan *p, const struct setup_target *t,
			 const struct fault *f);
/* setup_plan_put() edits the drafts of all files of the chosen clients, and puts the parts.
 * setup_plan_cut() removes the parts from the same drafts. */
int setup_plan_put(struct setup_plan *p, struct fault *f);
int setup_plan_cut(struct setup_plan *p, struct fault *f);
void setup_plan_release(struct setup_plan *p);

/* Notes the settings that switch the clients' parts off. */
void setup_plan_note_off(struct setup_plan *p);

/* --- check.c ------------------------------------------------------------------------------------ */

struct setup_found_off {
	const char *text; /* names the place and the key; a NULL ends the list */
	const char *file;
};

/* Finds the settings that switch the parts of a client off, in the files on the disk. Returns a
 * list in the plan's arena. */
struct setup_found_off *setup_plan_off(struct setup_plan *p,
				       const struct setup_client *c);

/* Reports the condition of a client. `ok`: the client is set up completely. */
typedef void setup_say(void *arg, bool ok, const struct setup_client *c,
		       const char *found, const char *todo);

/* Reports the condition of each client of the plan. A client without any part of setup is
 * reported only if `asked`. Returns the number of clients that were reported as not completely
 * set up. */
int setup_check(struct setup_plan *p, bool asked, setup_say *say, void *arg);

/* --- setup_run.c ---------------------------------------------------------------------------- */

/* Whether setup_run() gives a client its entries. */
bool setup_run_knows(const char *client);
/* If words[0] is the program of such a client, gives the client the MCP server and the hooks of
 * cadre, by options and by variables of this process. Files for the client have paths that begin
 * with `beside`. If `beside` is NULL, no file can be made. The new words are in the arena.
 * Returns 0 or a fault. For a client that takes neither options nor variables, prints a note. */
int setup_run(struct arena *a, const char *beside, char ***words, struct fault *f);

#endif
