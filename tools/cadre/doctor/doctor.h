/*
 * doctor - declarations that the checks of a state share.
 *
 * doctor.c has the table of the checks, and runs the checks. Each check looks at one thing and
 * reports the condition of this thing. A fix runs operations as a host does, makes files again
 * from the state, or changes processes and files of this machine. A fix loses no data. If a fix
 * takes a file with data away, the file is kept in HOME/doctor-YYYYMMDD-HHMMSS/.
 */
#ifndef TOOLS_CADRE_DOCTOR_DOCTOR_H
#define TOOLS_CADRE_DOCTOR_DOCTOR_H

#include "tools/cadre/cli.h"

enum verdict { VERDICT_OK, VERDICT_WARN, VERDICT_BAD };

struct doctor {
	struct cli *cli;
	struct store *store; /* read connection; NULL: the state cannot be opened */
	const struct check *check; /* the check that runs */
	json_t *lines; /* lines of all checks so far */
	json_t *fixes; /* acts of the fixes so far; NULL: --fix was not given */
	json_t *known; /* workspaces by their ids; NULL: the list failed */
	enum verdict worst; /* worst verdict of the check that runs */
	bool bad; /* any check found something bad, or a fix failed */
	bool damaged; /* the state has lost rows, so no further fix runs */
	char aside[4300]; /* folder for things that fixes take away; "": no name yet */
};

/* A `todo` begins with this text if the check's fix can do the work. */
#define DOCTOR_FIX "cadre doctor --fix; or: "

/* Reports the finding of a check. `todo`: advice on what to do, or NULL. */
void doctor_say(struct doctor *d, enum verdict v, const char *what, const char *todo,
		const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Reports one thing that a fix has done. */
void doctor_did(struct doctor *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Runs an operation of the host on `store`, as a starting host does. Returns 0 or a fault. The
 * caller releases the arena of `call`, whose `out` is the answer. */
int doctor_call(struct doctor *d, struct store *store, const struct op *op, json_t *args,
		struct call *call, struct fault *f);
/* Opens the state for a fix that writes rows. Returns 0 or a fault. */
int doctor_open(struct doctor *d, struct store **store, struct fault *f);

/* --- the checks, by file, and their fixes: a fix returns 0 or a fault ------------------- */

typedef void check_look(struct doctor *d);
typedef int check_fix(struct doctor *d, struct fault *f);

check_look check_state, check_host, check_socket, check_clock, check_tokens, check_rules,
	check_leases, check_agents;
check_fix fix_socket, fix_leases;

check_look check_guests, check_stuck, check_orphans, check_network, check_taps;
check_fix fix_guests, fix_stuck, fix_orphans, fix_taps;

#endif
