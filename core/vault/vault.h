/*
 * vault - operations on notes. An operation checks the access to its paths. A write changes a
 * file and its rows as one unit.
 *
 * A write that was acknowledged is on the disk exactly once, even if processes are killed at
 * any time. A write takes four steps:
 *
 *	1. plan: The handler checks the access and the paths, in a read transaction.
 *	2. work: The new content is staged, whole and synced, with the locks of the paths
 *	   held and no transaction open.
 *	3. decide: The handler runs again, in a write transaction, and writes the event, the
 *	   idempotency key, and a row of vault_move for the staged file.
 *	4. make: The file is moved into place and synced, and the locks are released.
 *
 * From step 2 on the folder of the team is locked, too. So the mirror does not move the folder,
 * and no other team gets the folder (vault_run.c).
 *
 * The COMMIT of step 3 decides the write. Before the COMMIT, a staged file belongs to nobody,
 * and the next process that finds the file unlocked removes the file. If the process dies after
 * the COMMIT, a host or the next process that uses the path moves the staged file. If the
 * staged file does not exist, the move was made already. So a repeated call with the same key
 * finds that its write was decided. The call completes the move if needed, and writes nothing
 * twice. A call that died before the COMMIT leaves no change behind.
 */
#ifndef CORE_VAULT_VAULT_H
#define CORE_VAULT_VAULT_H

#include "core/call/call.h"
#include "core/vault/notes.h"
#include "core/vault/vault_text.h"

/* An operation's work on files, between the two runs of its handler. */
struct vault_work {
	/* Does the work of step 2. A write fills `move`, and a read fills the call's `out`. */
	int (*run)(struct call *call, struct vault_work *w);
	const char *path, *to; /* resolved paths of notes; NULL: no note */
	const char *folder, *after; /* folder of a walk that begins behind `after` */
	enum note_mode mode; /* mode of a write */
	const char *content; /* text of a write */
	int64_t team, team_made; /* row and creation time of a deleted note's team */
	struct vault_teams_row *living; /* living teams, for a restore of notes */
	size_t n_living;
	int64_t teams[2]; /* rows of the teams that owned the folders of `path` and
			     `to` when the lock was taken; 0: no team */
	bool keeps; /* `kept` is a lock on an entry of the trash, and is held */
	int kept;
	int event; /* kind of the event that a write emits */
	struct note_move move;
	bool staged; /* a file is staged, so step 3 follows */
	bool rows; /* only rows are written, so steps 2 and 4 are left out */
	const int64_t *done; /* rows of vault_move whose moves have been made */
	size_t n_done;
};

/* Runs an operation on notes from step 1 to step 4. op->steps is vault_run() for every
 * operation on notes. Returns 0 or a fault. */
int vault_run(struct call *call);

/* Makes changes that were decided but never made, and drops staged files that were never
 * decided. Leaves out changes and files on which another process works. Reads from call->store,
 * outside a transaction. */
int vault_sweep(struct call *call);

/* Makes the changes in the folder teams/NAME that were decided but never made. The caller holds
 * an exclusive lock on the folder during the call, and can move the folder after the call.
 * Returns 0 or negative. */
int vault_make_in(struct call *call, const char *name);

/* --- paths (vault_path.c) ----------------------------------------------------- */

enum vault_access { VAULT_READ, VAULT_WRITE };

/* Resolves the argument `given` at `where` to the path of a note from the root. The caller must
 * have the access `access` to the note. Returns 0 or a fault. */
int vault_note(struct call *call, const char *given, const char *where,
	       enum vault_access access, const char **out);
/* Like vault_note(), but for a folder that is to be read. If `given` is NULL, the folder is the
 * folder of the agent's team, or the root for other callers. */
int vault_folder(struct call *call, const char *given, const char *where,
		 const char **out);
/* Whether the caller may see an entry of a walk. */
bool vault_sees(struct call *call, const struct note_entry *entry);
/* Whether `path` is a folder that the mirror fills with files, or lies in such a folder. */
bool vault_is_shown_folder(const char *path);
/* Whether a path ends with the extension of a note. */
bool vault_is_note(const struct call *call, const char *path);

#endif
