/*
 * setup - declarations that the parts of `cadre setup` share.
 *
 * Read the files in this order: clients.c (the table of clients: their files and the parts for
 * them), setup.c (the verb), setup_plan.c (the files that an act changes).  put.c puts one part of
 * a client into one file; jsonc.h edits a text; setup_target.c reads and writes a file.  check.c
 * finds deviations from the set-up state.
 */
#ifndef TOOLS_CADRE_SETUP_SETUP_H
#define TOOLS_CADRE_SETUP_SETUP_H

#include <sys/stat.h>

#include "core/config/toml.h"
#include "tools/cadre/cli.h"
#include "tools/cadre/setup/jsonc.h"

/* --- clients.c ------------------------------------------------------------------------- */

/* The parts of a client, in the order in which they are put; taken away in the other. */
enum setup_part { PART_MCP, PART_HOOKS, PART_TEXT, PART_COUNT };

/* Where a part is; each name NULL: the client has none there. */
struct setup_file {
	const char *project; /* below the project */
	const char *user; /* below the client's folder */
	bool in_home; /* `user` is in the home, unless the variable says a folder */
	const char *end; /* of another name, which is taken where it is there */
};

/* A setting of a person that switches a part off. */
struct setup_off {
	enum setup_part part, file; /* the file is that of a part */
	enum {
		OFF_WHERE_TRUE,
		OFF_WHERE_FALSE,
		OFF_WHERE_NAMED, /* a list has `word` */
		OFF_UNLESS_NAMED, /* a list has it not */
	} how;
	const char *key; /* from the root, with dots between; NULL ends a list */
	const char *word;
	bool in_project; /* of a project's files alone */
};

struct setup_client {
	const char *name, *title;
	const char *programs[3]; /* a NULL ends them */
	const char *variable; /* of the environment, with the client's folder; or NULL */
	const char *folder; /* else: in the home */
	const char *trace; /* a folder below that one which is there where the client is */
	struct setup_file files[PART_COUNT];
	bool toml; /* its servers are in TOML */
	const char *servers; /* the key of the MCP servers */
	const char *entry; /* of a server, as JSON: @ stands for the command */
	/* An item of each event of `cadre hook`, as JSON: @ stands for the command line.  NULL: its
	 * hooks, if it has any, are a file of code, which `cadre hook` prints. */
	const char *hook;
	struct jsonc_beside beside[PART_COUNT]; /* with a NULL key: nothing */
	const char *import; /* instructions of a project that its own may import, or NULL */
	const struct setup_off *off; /* NULL: none is known */
	const char *local; /* settings of the project beside those of its hooks, or NULL */
	const char *note; /* things that a person has to do or to know; or NULL */
};

extern const struct setup_client setup_clients[]; /* ends with a NULL name */

const struct setup_client *setup_client_named(const char *name);
/* What a command runs: no program, another than `self` does, or the same file. */
enum setup_runs { RUNS_NONE, RUNS_ANOTHER, RUNS_SAME };
enum setup_runs setup_runs(const char *command, const char *self);
/* Whether it is installed: its program is in PATH, or its folder is in the home. */
bool setup_client_there(const struct setup_client *c);
/* Refuses a variable that names the user's folder of the client from where that is started. */
int setup_client_check(const struct setup_client *c, struct fault *f);
/* The path of a part's file; false: the client has none there.  `project` is its folder, or
 * "": the user's files. */
bool setup_client_path(const struct setup_client *c, enum setup_part part,
		       const char *project, char out[4096]);

/* --- put.c ------------------------------------------------------------------------------ */

/* A count of what was found of a part. */
struct setup_tally {
	int found, missing; /* of its entries */
	int changed; /* that were found, but have another command or text */
	int yours; /* that were found, but a person wrote them: they stay */
	char gone[200]; /* a command that an entry names and that is not there; or "" */
	char other[200]; /* a command that is there, but is another program; or "" */
	bool as_operator; /* the entry makes its agents act as the operator */
};

/* Puts a part into a file; what is there already stays.  `command` is this program: `cadre` where
 * PATH leads to it, else its path.  0, or a fault: the file is not to be written then. */
int setup_put(const struct setup_client *c, enum setup_part part, const char *command,
	      struct setup_draft *d, struct setup_tally *t, struct fault *f);
/* Takes a part out of a file; with a fault some of it may be out. */
int setup_cut(const struct setup_client *c, enum setup_part part, const char *command,
	      struct setup_draft *d, struct fault *f);

/* A value in a file of JSON or TOML. */
struct setup_value {
	json_t *value; /* NULL: there is none; the caller releases it */
	size_t at, from; /* the first byte with its key, and without */
	struct jsonc *node; /* in JSON */
	const struct toml_value *braces; /* around it in TOML: no table can be added */
};

/* Finds the value that keys with dots between lead to. */
int setup_find_value(struct arena *a, const struct setup_draft *d, bool toml,
		     const char *path, struct setup_value *out, struct fault *f);

/* Whether instructions without a block of cadre import another file: the block stands there. */
bool setup_imports(const struct setup_draft *d, const char *name);

/* --- setup_target.c -------------------------------------------------------------------------------- */

/* A file that is looked at, and may be changed. */
struct setup_target {
	char shown[4096]; /* as people know it */
	char path[4096]; /* without links */
	struct setup_draft draft; /* as it is to be */
	struct text before; /* as it is */
	bool was; /* there */
	struct stat st; /* then */
	bool told; /* that its instructions are of no client that is set up */
};

/* Finds where a file is without links, which need not be there.  `project` (may be "" or NULL) is
 * the folder that it may not lead out of. */
int setup_target_find(struct setup_target *t, const char *path, const char *shown,
		      const char *project, struct fault *f);
/* Reads the file, or notes that there is no file. */
int setup_target_read(struct setup_target *t, struct fault *f);
bool setup_target_changed(const struct setup_target *t);
/* Refuses to change a file that is read-only. */
int setup_target_check(const struct setup_target *t, struct fault *f);
/* Takes the edits of a draft back. */
void setup_target_undo(struct setup_target *t);
/* Makes the file on the disk what the draft says, in one step, and the folders above the file,
 * which it notes.  The mode, the owner and the access list stay. */
int setup_target_write(struct setup_target *t, struct fault *f);
/* Removes what a setup that was killed while it wrote a file has left beside it. */
void setup_target_sweep(const char *path);
void setup_target_release(struct setup_target *t);

/* Removes the empty folders above a file that setup made. */
void setup_target_remove_folders(const char *path);
/* Writes how a file changes, as `diff -u` does; only the names, and why, where no `diff` is there. */
void setup_diff(const struct setup_target *t, struct text *out);

/* Waits until no other setup of the user changes files; until the descriptor is closed others
 * wait.  -1: a fault, or there is no folder for notes, which it makes if `make`. */
int setup_lock(bool make, struct fault *f);

/* --- setup_plan.c ------------------------------------------------------------------------------------ */

enum { SETUP_CLIENTS = 16 };

struct setup_plan {
	struct arena arena;
	char project[4096]; /* "": the user's files */
	char home[4096]; /* of the user */
	const struct setup_client *clients[SETUP_CLIENTS + 1]; /* a NULL ends them */
	struct setup_target **targets;
	size_t n_targets;
	const char *command; /* see setup_put() */
	bool passing; /* over files that cannot be edited, which are noted */
	json_t *left; /* paths of those in which something of ours may be */
	json_t *notes; /* of what was left as it is */
};

/* Finds this program and the project around the working directory: false, where there is
 * none; `project` is the working directory then, or "" where that cannot be told. */
bool setup_plan_begin(struct setup_plan *p);
/* Takes all clients of the table. */
void setup_plan_all(struct setup_plan *p);
/* The file of a part; NULL: the client has none, or a fault. */
struct setup_target *setup_plan_target(struct setup_plan *p, const struct setup_client *c,
				       enum setup_part part, struct fault *f);
/* Counts what the drafts have of a part, by putting it into a copy. */
int setup_plan_look(struct setup_plan *p, const struct setup_client *c,
		    enum setup_part part, struct setup_tally *t, struct fault *f);
/* A path as people write it; of the plan's arena, or `path`. */
const char *setup_plan_shown(struct setup_plan *p, const char *path);
/* Removes what setups that were killed have left beside the files of any client. */
void setup_plan_sweep(const struct setup_plan *p);
/* Whether a file that could not be edited may have something of ours; `t` is NULL where it
 * could not be read. */
bool setup_plan_may_have(const struct setup_plan *p, const struct setup_target *t,
			 const struct fault *f);
/* Edits the drafts of all files of the clients. */
int setup_plan_put(struct setup_plan *p, struct fault *f);
int setup_plan_cut(struct setup_plan *p, struct fault *f);
void setup_plan_release(struct setup_plan *p);

/* Notes what switches the clients' parts off. */
void setup_plan_note_off(struct setup_plan *p);

/* --- check.c ------------------------------------------------------------------------------------ */

struct setup_found_off {
	const char *text; /* with the place and the key; NULL ends a list */
	const char *file;
};

/* Finds what switches the parts of a client off, in files as they are on the disk: a list of the
 * plan's arena. */
struct setup_found_off *setup_plan_off(struct setup_plan *p,
				       const struct setup_client *c);

/* Something of a client that is not as it was set up. */
typedef void setup_say(void *arg, bool ok, const struct setup_client *c,
		       const char *found, const char *todo);

/* Says of each client of the plan how it is; one of which nothing is left is passed over unless
 * `asked`.  The number of those that are not as they were set up. */
int setup_check(struct setup_plan *p, bool asked, setup_say *say, void *arg);

#endif
