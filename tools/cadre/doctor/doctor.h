/*
 * doctor - declarations that the checks of a state share.
 *
 * doctor.c has their table, and runs them; each looks at one thing and says how that is.
 * A fix makes what was found right by the operations that a host uses, or from what the
 * state holds.  A fix loses nothing: if it takes away a thing that held data, the thing is kept in
 * HOME/doctor-YYYYMMDD-HHMMSS/.
 */
#ifndef TOOLS_CADRE_DOCTOR_DOCTOR_H
#define TOOLS_CADRE_DOCTOR_DOCTOR_H

#include "tools/cadre/cli.h"

enum verdict { VERDICT_OK, VERDICT_WARN, VERDICT_BAD };

struct doctor {
	struct cli *cli;
	struct store *store; /* a read connection; NULL when it cannot be opened */
	const struct check *check; /* that runs */
	json_t *lines; /* what all have said */
	json_t *fixes; /* what was done; NULL: --fix was not given */
	json_t *known; /* workspaces by their ids; NULL: they could not be listed */
	enum verdict worst; /* of the check that runs */
	bool bad; /* any check found something bad, or a fix failed */
	bool damaged; /* rows of the state are lost: nothing is made from the rest */
	char aside[4300]; /* folder of what fixes take away, once there is one; "": no name yet */
};

/* Begins what is to be done where the check's fix does it. */
#define DOCTOR_FIX "cadre doctor --fix; or: "

/* Says what a check found, and what is to be done, or NULL. */
void doctor_say(struct doctor *d, enum verdict v, const char *what, const char *todo,
		const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Says what a fix did. */
void doctor_did(struct doctor *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Runs an operation of the host's on `store`, as one does that starts: 0 or a fault.  The
 * caller releases the arena of `call`, whose `out` is the answer. */
int doctor_call(struct doctor *d, struct store *store, const struct op *op, json_t *args,
		struct call *call, struct fault *f);
/* Opens the state for a fix that writes rows: 0 or a fault. */
int doctor_open(struct doctor *d, struct store **store, struct fault *f);

/* --- the checks, by file, and their fixes: 0 or a fault --------------------------------- */

typedef void check_look(struct doctor *d);
typedef int check_fix(struct doctor *d, struct fault *f);

check_look check_state, check_host, check_socket, check_clock, check_tokens, check_rules,
	check_leases, check_agents;
check_fix fix_socket, fix_leases;

check_look check_guests, check_stuck, check_orphans, check_network, check_taps;
check_fix fix_guests, fix_stuck, fix_orphans, fix_taps;

#endif
