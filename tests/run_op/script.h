/*
 * script - a transcript: calls and their expected answers, line by line.
 *
 *	# story                  a comment.
 *	at 08:30:00              sets the clock to this time of 2026-01-01.
 *	+ 5s, + 15m, + 2h, + 10ms        moves the clock.
 *	as operator|host|nobody|newcomer  the caller of the next calls.
 *	as team/agent [kept] [with $t]   the agent, with its own token or token $t. With `kept`
 *	                         cadre keeps the token for a directory.
 *	as operator for team/agent       the operator, who acts as this agent.
 *	session NAME             the caller's session, or - for no session.
 *	hosted on|off            whether a host runs.
 *	set NAME NUMBER          a setting.
 *	key K                    idempotency key (or request_id) of the next call.
 *	noun.verb {json}         a call. The call continues on each next line that begins with a blank.
 *	again                    repeats the last call.
 *	settles on|off           whether the door reports the arrival of answers.
 *	lost [perhaps]           the last answer was lost (answer.undo). With `perhaps` the answer
 *	                         may have been sent and seen.
 *	arrived                  the last answer arrived (answer.take).
 *	resume                   runs the waiting call again.
 *	= {json}                 a part of the expected answer.
 *	! code text [at /where]  the expected fault, with the beginning of the fault's text.
 *	~ kind kind …            the events that the call emitted, in order.
 *	waits inbox|ready|event|nothing  the event that the call waits for.
 *	fails                    repeats the call, each time with another failing step of the store.
 *
 * In an expected answer "*" matches anything, "-" matches an absent key, and "@08:15:00"
 * matches this time of 2026-01-01. "$name" binds a value, or compares it with the bound value.
 * A last "..." in a list matches the rest of the list. In a call "$name" is the bound value,
 * and "#team/agent" is the agent's row. In a call "x*300" is three hundred times x, and
 * ["x","*300"] is a list of three hundred x.
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
	json_t *vars; /* values of $names */
	json_t *tokens; /* tokens of agents, by team/agent */
	struct identity identity;
	const char *key; /* key of the next call */
	struct asked asked; /* the last call */
	struct answer answer;
	struct store *before; /* the state before the last call, if kept */
	struct world world_before; /* clock, settings and notes before the last call */
	int64_t events_from; /* number of the newest event before the last call */
	bool checked; /* a line has checked the answer */
	int wrong;
	enum { FAULTS_NONE, FAULTS_LAST, FAULTS_ALL } faults;
	int way; /* index of the result that failing steps return, or FAULTS_ALL_WAYS */
};

/* Runs a transcript. Returns the number of problems that were reported with script_wrong(). */
int script_run(struct script *s, const char *path);

/* Reports a problem in the current line of the transcript. */
void script_wrong(struct script *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* match.c: returns the text of the first difference, or NULL. Binds $names. */
const char *match(struct script *s, json_t *want, json_t *got);
/* Returns a call's arguments with $names and #names replaced, or reports a problem and returns
 * NULL. */
json_t *fill_in(struct script *s, json_t *v);

/* faults.c: repeats the last call, and makes each step of the store fail in turn. If `last`,
 * the call is the last call of a transcript, and allocations fail in turn, too. With
 * `thorough`, each allocation fails once, else only a sample of the allocations. */
void faults_run(struct script *s, bool thorough, bool last);

#endif
