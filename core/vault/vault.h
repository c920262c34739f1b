/*
 * vault - operations on notes: access to paths, and changes of a file and its rows as one unit.
 *
 * A write that was acknowledged is on the disk exactly once, even if processes are killed at
 * any time. Its steps are:
 *
 *	1. plan     the handler, in a read transaction: access and paths
 *	2. work     with the paths' locks held and no transaction open: the new content is
 *	            staged, whole and synced
 *	3. decide   the handler again, in a write transaction: the event, the idempotency
 *	            key, and a row of vault_move that says which staged file goes where
 *	4. make     the file is moved into place, synced; the locks are released
 *
 * From step 2 on the folder of the team is locked too. So the mirror does not move the folder,
 * and the folder stays that team's: see vault_run.c.
 *
 * The COMMIT of step 3 decides the write. Before the COMMIT, a staged file belongs to nobody,
 * and the next process that finds the file unlocked removes the file. After the COMMIT, the
 * next process that uses the path (or a host) moves the file, unless it was moved already: then
 * the staged file no longer exists. So a call with a repeated key finds its write decided,
 * completes the move if needed, and writes nothing twice. A call that died before COMMIT left
 * nothing.
 */
#ifndef CORE_VAULT_VAULT_H
#define CORE_VAULT_VAULT_H

#include "core/call/call.h"
#include "core/vault/notes.h"
#include "core/vault/vault_text.h"

/* An operation's work on files, between the two runs of its handler. */
struct vault_work {
	/* Step 2.  A write fills `move`; a read fills the call's `out`. */
	int (*run)(struct call *call, struct vault_work *w);
	const char *path, *to; /* notes, resolved; NULL: no note */
	const char *folder, *after; /* a folder to walk through; the walk begins
				       behind the name `after` */
	enum note_mode mode; /* mode of a write */
	const char *content; /* text of a write */
	int64_t team, team_made; /* of a deleted note: its team's row and creation time */
	struct vault_teams_row *living; /* for restored notes: the living teams and
					   their names */
	size_t n_living;
	int64_t teams[2]; /* rows of the teams that owned the folders of `path` and
			     `to` when the lock was taken; 0: no team */
	bool keeps; /* the lock `kept` holds an entry of the trash until the note was
		       taken out */
	int kept;
	int event; /* kind of the event that a write emits */
	struct note_move move;
	bool staged; /* step 3 is due */
	bool rows; /* no file is written: step 3 alone is due */
	const int64_t *done; /* rows of vault_move that have been made */
	size_t n_done;
};

/* Runs an operation on notes from plan to end, as the op->steps of the operation: 0 or a fault. */
int vault_run(struct call *call);

/* Makes changes that were decided but never made, and drops staged files that were never
 * decided, unless another process works on them.  Reads from call->store, outside a
 * transaction. */
int vault_sweep(struct call *call);

/* Makes the changes in the folder teams/NAME that were decided but never made. The caller has
 * an exclusive lock on the folder, and is about to move the folder. 0 or negative. */
int vault_make_in(struct call *call, const char *name);

/* --- paths (vault_path.c) ----------------------------------------------------- */

enum vault_access { VAULT_READ, VAULT_WRITE };

/* Resolves `given` (an argument at `where`) to the path of a note from the root, if the caller
 * has that access to the note: 0 or a fault. */
int vault_note(struct call *call, const char *given, const char *where,
	       enum vault_access access, const char **out);
/* As vault_note(), for a folder to read. NULL: the folder of the agent's team, or the root. */
int vault_folder(struct call *call, const char *given, const char *where,
		 const char **out);
/* Whether the caller may see an entry of a walk. */
bool vault_sees(struct call *call, const struct note_entry *entry);
/* Whether a path is, or is in, a folder that the mirror fills with its files. */
bool vault_is_shown_folder(const char *path);
/* Whether a path has the ending of a note. */
bool vault_is_note(const struct call *call, const char *path);

#endif
