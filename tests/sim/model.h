/*
 * model - the simulation's record of what it was told, and so what must be true.
 *
 * Nothing here is read from the state: it is what acknowledged answers said, and
 * every later answer and every committed row is held against it.
 */
#ifndef TESTS_SIM_MODEL_H
#define TESTS_SIM_MODEL_H

#include <sqlite3.h>

#include "core/call/call.h"
#include "ops.gen.h"

enum { TEAMS = 4, MEMBERS = 25, AGENTS = TEAMS * MEMBERS, HELD = 128, BATCH = 80 };

/* A message that an agent was handed. */
struct held {
	char id[37];
	int64_t seq, lease_until;
	int attempt;
};

struct agent {
	char name[16], team[16];
	char token[65], old_token[65];
	int64_t row;
	int64_t fresh[2]; /* newest first hand-out, by urgent and normal */
	struct held held[HELD];
	size_t n_held;
	char request[16]; /* of its last receive with one */
	char seen[4][16]; /* of the last ones, which it says have arrived */
	size_t n_seen; /* so many were there */
	struct held answer[HELD]; /* ... and what it got */
	size_t n_answer;
	int64_t mine[8]; /* numbers of tasks that it claimed */
	size_t n_mine;
	bool touched;
};

/* A task as its owner knows it. */
struct task_note {
	int64_t epoch, lease_until; /* a claim may live longer: calls renew it */
	int owner; /* agent, or -1 */
	bool completed, blocked, touched;
	bool unsure; /* a result may have ended it */
};

struct team_note {
	struct task_note *tasks; /* by number - 1 */
	size_t n_tasks;
	int64_t created; /* the highest number */
};

/* A recipient's copy of a message. */
struct copy {
	uint64_t key; /* message << 8 | agent, plus 1; 0 is free */
	uint8_t attempt;
	bool done;
};

/* An assignment that may get a result. */
struct order {
	char id[37];
	int agent;
	int64_t number; /* of its task, or 0 */
};

/* A team in the tree: the first is above all others, which come and go under their names. */
enum branch_kind { BRANCH_VMS, BRANCH_TOKENS, BRANCH_COST, BRANCH_KINDS };
enum { BRANCHES = 24 };
struct branch {
	bool lives;
	int parent, depth;
	int64_t most[BRANCH_KINDS],
		used[BRANCH_KINDS]; /* with those below that have ended */
};

struct act;

/* A keyed call that went through, to be repeated. */
struct keyed {
	const struct op *op;
	json_t *args;
	int agent;
	int64_t made;
};

/* A board and its inboxes as they were, a line each. */
struct picture {
	int team;
	int64_t seq; /* the newest event then */
	struct text tasks, copies;
};

enum { PICTURES = 16, KEYED = 64, ORDERS = 256, RECENT = 4096 };

struct sim {
	struct store *store;
	struct settings settings;
	struct id_keys ids;
	char dir[100];
	uint64_t seed, random;
	int64_t now;
	int64_t step, steps;
	struct agent agents[AGENTS];
	struct team_note teams[TEAMS];
	struct branch branches[BRANCHES];
	bool branches_touched;
	int64_t spent[BRANCH_KINDS]; /* as all teams of the tree have reported */
	struct copy *copies;
	size_t n_copies, room;
	struct keyed keyed[KEYED];
	size_t n_keyed;
	struct order orders[ORDERS];
	size_t n_orders;
	sqlite3 *reader; /* sees what is committed */
	sqlite3_stmt *counters, *task, *copy, *branch;
	uint64_t sent[RECENT]; /* copies of this batch, as keys */
	size_t n_sent;
	struct {
		int team;
		int64_t number;
	} tasks[RECENT]; /* touched by this batch */
	size_t n_tasks;
	int64_t newest; /* message that was told */
	struct picture pictures[PICTURES];
	int64_t n_pictures; /* that were taken; the last ones are there */
	int64_t acked, refused, commits, retried, restarts;
	int64_t counts[64]; /* of calls that went through, by act */
	bool trouble; /* some steps of the store fail */
};

/* Ends the simulation with the seed and step. */
_Noreturn void violated(const struct sim *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Removes the state's folder. */
void remove_place(const struct sim *s);

uint64_t random_next(struct sim *s);
int64_t random_below(struct sim *s, int64_t n);
bool chance(struct sim *s, int percent);

/* --- model.c: what answers say ------------------------------------------------------ */

struct copy *copy_of(struct sim *s, int64_t message, int agent, bool make);
struct task_note *task_of(struct sim *s, int team, int64_t number);
int agent_named(const struct sim *s, int team, const char *name);
void told_copy(struct sim *s, int64_t message, int to);
void told_sent(struct sim *s, int team, int64_t seq, const struct delivery *d, size_t n);
void told_received(struct sim *s, int agent, const struct message_receive_out *out,
		   bool repeated, bool keep);
void told_acked(struct sim *s, int agent, const char *id);
void told_claimed(struct sim *s, int team, int agent, const struct task *t);
void told_over(struct sim *s, int team, int64_t number, bool completed);
void told_replaced(struct sim *s, int agent, const char *token);
void told_dispatched(struct sim *s, int team, int agent, int64_t number, int64_t lease);
void told_gap(struct sim *s, int64_t gap);

/* Whether the agent's claim must be good now, as far as it was told. */
bool must_hold(struct sim *s, const struct task_note *t, int agent);

/* --- act.c: calls at random -------------------------------------------------------------- */

struct act {
	struct call call;
	json_t *args;
	int kind, agent, other;
	int parent; /* branch that another one is to be below */
	int64_t number; /* of a task */
	char id[37]; /* of a message */
	char token[65]; /* that the caller showed */
	bool again; /* a repeat of a keyed call */
	bool is_operator; /* else, without an agent, the host */
	int64_t made; /* by the first one */
};

void act_choose(struct sim *s, struct act *a);
/* Makes the call of an act ready; once more for another try. */
void act_begin(struct sim *s, struct act *a);
/* The answer of an act is acknowledged: the model learns it, or finds it wrong. */
void act_end(struct sim *s, struct act *a);
const char *act_name(int kind); /* NULL behind the last */

/* --- check.c: what is committed -------------------------------------------------------------- */

void check_open(struct sim *s);
void check_close(struct sim *s);
void check_touched(struct sim *s);
void check_kept_counts(struct sim *s); /* against the rows that they count */
void check_open_rows(struct sim *s); /* all that is open */
void check_all(struct sim *s); /* everything, and the file itself */

/* --- past.c: what the log tells ------------------------------------------------------------ */

void past_take(struct sim *s); /* keeps how a team stands */
void past_check(struct sim *s); /* what was kept is what is replayed */

#endif
