/*
 * script - a transcript: what is asked, and what must come of it.
 *
 *	# story                  for readers
 *	at 08:30:00              the clock (of 2026-01-01); + 5s, + 15m, + 2h, + 10ms
 *	as operator|host|nobody|newcomer  who asks; team/agent is proved by its token
 *	as team/agent [kept] [with $t]   ... by another token, as kept for a directory
 *	as operator for team/agent       the operator acting as that agent
 *	session NAME             of the asker; `session -` for none
 *	hosted on|off            whether a host runs
 *	set NAME NUMBER          a setting
 *	key K                    idempotency key (or request_id) of the next call
 *	noun.verb {json}         a call; lines that begin with a blank go on
 *	again                    the same call once more
 *	settles on|off           whether the door says what became of its answers
 *	lost [perhaps]           the last answer reached nobody: answer.undo; perhaps it was
 *	                         sent and seen
 *	arrived                  it arrived: answer.take
 *	resume                   the call that waits is run again
 *	= {json}                 a part of its answer
 *	! code text [at /where]  or the fault: the beginning of its text
 *	~ kind kind …            the events that the call emitted, in order
 *	waits inbox|ready|event|nothing
 *	fails                    the call is tried with each step of the store failing
 *
 * In an expected answer "*" is anything, "-" nothing (an absent key), "@08:15:00"
 * a time, "$name" binds or compares, and a last "..." in a list is all the
 * rest.  In a call "$name" is what was bound, "#team/agent" that agent's row and
 * "x*300" three hundred times x, ["x","*300"] a list of as many.
 */
#ifndef TESTS_RUN_OP_SCRIPT_H
#define TESTS_RUN_OP_SCRIPT_H

#include "tests/lib/world.h"
#include "tests/run_op/coverage.h"

enum { FAULTS_ALL_WAYS = -1 };

struct script {
	const char *path;
	int line;
	struct world world;
	struct arena arena;
	struct coverage *coverage;
	json_t *vars; /* what $names stand for */
	json_t *tokens; /* of team/agent */
	struct identity identity;
	const char *key; /* of the next call */
	struct asked asked; /* the last call */
	struct answer answer;
	struct store *before; /* the state before the last call, if kept */
	struct world world_before; /* clock, settings and notes of that call */
	int64_t events_from; /* events after this are the last call's */
	bool checked; /* somebody has looked at the answer */
	int wrong;
	enum { FAULTS_NONE, FAULTS_LAST, FAULTS_ALL } faults;
	int way; /* in which a step fails, of those in faults.c; or FAULTS_ALL_WAYS */
};

/* Runs a transcript; returns how many lines were wrong. */
int script_run(struct script *s, const char *path);

/* Says what is wrong with the present line. */
void script_wrong(struct script *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* match.c: the text of the first difference, or NULL; binds $names. */
const char *match(struct script *s, json_t *want, json_t *got);
/* Returns a call's arguments with $names and #names replaced; NULL after a complaint. */
json_t *fill_in(struct script *s, json_t *v);

/* faults.c: the last call again, with every step of the store failing, and, of the
 * `last` one of a transcript, every allocation (or a sample, if not `thorough`). */
void faults_run(struct script *s, bool thorough, bool last);

#endif
