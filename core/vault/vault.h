/*
 * vault - operations on notes: who may reach which path, and how a change of a
 * file and the rows that tell of it are one.
 *
 * What a caller is told was written is there, once, whatever is killed when:
 *
 *	1. plan      the handler, in a read transaction: who may, which paths
 *	2. work      with the paths' locks held and no transaction open: the new
 *	             content is staged, whole and synced
 *	3. decide    the handler again, in a write transaction: the event, the
 *	             idempotency key, and a row of vault_move that says which
 *	             staged file goes where
 *	4. make      the file is moved into place, synced; the locks are let go
 *
 * COMMIT of step 3 is the moment of truth.  Before it, what is staged belongs
 * to nobody and is dropped by whoever finds it unlocked; after it, whoever
 * comes next to the path (or a host) makes the move, if it was not made: the
 * staged file is gone from its place exactly when it was.  So a key that is
 * repeated finds its write decided, sees to it that it is made, and does not
 * do it twice; one that died before COMMIT left nothing.
 */
#ifndef CORE_VAULT_VAULT_H
#define CORE_VAULT_VAULT_H

#include "core/call.h"
#include "core/vault/notes.h"

/* An operation's work on files, between the two runs of its handler. */
struct vault_work {
	/* Step 2.  A write fills `move`, and `out` of the call; a read all of
	 * its answer. */
	int (*run)(struct call *call, struct vault_work *w);
	const char *path, *to; /* notes, resolved; NULL: none */
	const char *folder, *after; /* of what looks into folders */
	int event; /* of a write */
	struct note_move move;
	bool staged; /* step 3 is due */
	const int64_t *done; /* rows of vault_move that have been made */
	size_t n_done;
};

/* The whole of an operation on notes: its op->steps. */
int vault_run(struct call *call);

/* Makes what was decided and never made, and drops what was never decided,
 * where nobody is at it.  Reads from call->store, in no transaction. */
int vault_sweep(struct call *call);

/* --- paths (vault_path.c) ----------------------------------------------------- */

enum vault_access { VAULT_READ, VAULT_WRITE };

/* `given` at `where` as the path of a note from the root, if the caller may
 * reach it so. */
int vault_note(struct call *call, const char *given, const char *where,
	       enum vault_access access, const char **out);
/* The same for a folder to look into; NULL: the agent's team's, or the root. */
int vault_folder(struct call *call, const char *given, const char *where,
		 const char **out);
/* Whether the caller may see an entry of a walk. */
bool vault_sees(struct call *call, const struct note_entry *entry);
/* Whether the mirror keeps that note equal to rows. */
bool vault_is_mirrored(const char *path);
/* Whether a path is, or is in, a folder that the mirror fills with such notes. */
bool vault_is_shown_folder(const char *path);
/* Whether a path ends as notes do. */
bool vault_is_note(const struct call *call, const char *path);

#endif
