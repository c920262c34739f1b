/*
 * model - the simulation's record of the answers, with which the state must agree.
 *
 * The model never reads the state. It keeps the contents of acknowledged answers. Every later
 * answer is compared with the model, and so are the committed rows of deliveries, tasks,
 * inboxes and budgets.
 */
#ifndef TESTS_SIM_MODEL_H
#define TESTS_SIM_MODEL_H

#include <sqlite3.h>

#include "core/call/call.h"
#include "ops.gen.h"

enum { TEAMS = 4, MEMBERS = 25, AGENTS = TEAMS * MEMBERS, HELD = 128, BATCH = 80 };

/* A message that was handed out to an agent. */
struct held {
	char id[37];
	int64_t seq, lease_until;
	int attempt;
};

struct agent {
	char name[16], team[16];
	char token[65], old_token[65];
	int64_t row;
	int64_t fresh[2]; /* newest urgent and newest normal message that was delivered
			     for the first time */
	struct held held[HELD];
	size_t n_held;
	char request[16]; /* id of the last receive */
	char seen[4][16]; /* ids of the last receives, for the argument `seen` */
	size_t n_seen; /* number of ids written to `seen` so far */
	struct held answer[HELD]; /* messages that the last receive returned */
	size_t n_answer;
	int64_t mine[8]; /* numbers of tasks that the agent claimed */
	size_t n_mine;
	bool touched;
};

/* A task, as the answers to its owner describe it. */
struct task_note {
	/* The epoch of the claim and the end of its lease, as in the last answer. */
	int64_t epoch, lease_until;
	int owner; /* agent, or -1 */
	bool completed, blocked, touched;
	bool unsure; /* a result may have ended the claim */
};

struct team_note {
	struct task_note *tasks; /* a task's index is its number - 1 */
	size_t n_tasks;
	int64_t created; /* the highest task number */
};

/* A recipient's copy of a message. */
struct copy {
	uint64_t key; /* (message << 8 | agent) + 1, or 0 if the slot is free */
	uint8_t attempt;
	bool done;
};

/* An assignment that may get a result. */
struct order {
	char id[37];
	int agent;
	int64_t number; /* number of the assignment's task, or 0 */
};

/* A team in the tree. The first team is above all others. The other teams are made and ended
 * again and again under fixed names. */
enum branch_kind { BRANCH_VMS, BRANCH_TOKENS, BRANCH_COST, BRANCH_KINDS };
enum { BRANCHES = 24 };
struct branch {
	bool lives;
	int parent, depth;
	/* The limits, and the amounts used. `used` includes the amounts of ended teams below
	 * the team. */
	int64_t most[BRANCH_KINDS], used[BRANCH_KINDS];
};

struct act;

/* A keyed call that succeeded, stored so that a later act can repeat the call. */
struct keyed {
	const struct op *op;
	json_t *args;
	int agent;
	int64_t made;
};

/* A team's tasks and inboxes at one time, as text with a line for each row. */
struct picture {
	int team;
	int64_t seq; /* the newest event at that time */
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
	int64_t spent[BRANCH_KINDS]; /* spending reported by all teams of the tree */
	struct copy *copies;
	size_t n_copies, room;
	struct keyed keyed[KEYED];
	size_t n_keyed;
	struct order orders[ORDERS];
	size_t n_orders;
	sqlite3 *reader; /* reads committed rows */
	sqlite3_stmt *counters, *task, *copy, *branch;
	uint64_t sent[RECENT]; /* keys of copies that this batch sent */
	size_t n_sent;
	struct {
		int team;
		int64_t number;
	} tasks[RECENT]; /* tasks touched by this batch */
	size_t n_tasks;
	int64_t newest; /* the newest message in an answer */
	struct picture pictures[PICTURES];
	int64_t n_pictures; /* number of pictures taken; the last PICTURES are stored */
	int64_t acked, refused, commits, retried, restarts;
	int64_t counts[64]; /* number of successful calls of each act */
	bool trouble; /* a step of the store is set to fail */
};

/* Prints the seed, the step and the message, and ends the program. */
_Noreturn void violated(const struct sim *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Removes the state's folder. */
void remove_place(const struct sim *s);

uint64_t random_next(struct sim *s);
int64_t random_below(struct sim *s, int64_t n);
bool chance(struct sim *s, int percent);

/* --- model.c: answers enter the model ----------------------------------------------- */

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

/* Whether the answers so far promise that the agent's claim is valid now. */
bool must_hold(struct sim *s, const struct task_note *t, int agent);

/* --- act.c: calls at random -------------------------------------------------------------- */

struct act {
	struct call call;
	json_t *args;
	int kind, agent, other;
	int parent; /* index of the team above the new team */
	int64_t number; /* number of a task */
	char id[37]; /* id of a message */
	char token[65]; /* the caller's token */
	bool again; /* the call repeats a keyed call */
	bool is_operator; /* the caller is the operator (if false and agent < 0: the
			     host) */
	int64_t made; /* the row that the first call with this key made */
};

void act_choose(struct sim *s, struct act *a);
/* Prepares the call of an act. Each further try of the batch prepares the call again. */
void act_begin(struct sim *s, struct act *a);
/* Enters the acknowledged answer of an act into the model. A wrong answer ends the simulation. */
void act_end(struct sim *s, struct act *a);
const char *act_name(int kind); /* NULL after the last kind */

/* --- check.c: checks of committed rows ------------------------------------------------------- */

void check_open(struct sim *s);
void check_close(struct sim *s);
void check_touched(struct sim *s);
void check_kept_counts(struct sim *s); /* compares the stored counts with the rows */
void check_open_rows(struct sim *s); /* checks all open rows */
void check_all(struct sim *s); /* checks all rows and the file */

/* --- past.c: replays of the log ------------------------------------------------------------ */

void past_take(struct sim *s); /* takes a picture of a team */
void past_check(struct sim *s); /* compares each picture with a replay */

#endif
