/*
 * call - an operation on its way through: caller, arguments and time.
 *
 * Clock, randomness and identity are values here, so that core/ is a function
 * of its inputs and the database.  A door fills the upper part; op_perform()
 * runs the handler inside a transaction that somebody else began; nothing is
 * acknowledged before that transaction is committed.
 *
 * A handler may be run again until COMMIT: it has no effect outside the
 * database and the arena, which is reset in between.
 */
#ifndef CORE_CALL_CALL_H
#define CORE_CALL_CALL_H

#include "core/access/rate.h"
#include "ops.gen.h"
#include "storage/store.h"

/* The caller's identity, as a door has proved it. */
struct identity {
	enum who level; /* WHO_OPERATOR for a local user, WHO_HOST inside,
			      else WHO_OBSERVER until the agent's row is read */
	const char *team; /* NULL: none (an operator without a default) */
	const char *agent; /* NULL: the operator as such */
	const char *token; /* proves agent; NULL where the door proved it */
	int64_t generation; /* the agent's, as the door knows it; 0: not */
	const char *door; /* token of the agent at whose HTTP door the call came in,
			     and where `token` proves `agent`; NULL: the call did not
			     come so */
	const char *bearer; /* token shown by a client over HTTP: the token proves a caller,
			       who is then filled in here */
	bool proven; /* the door (channel, operator's --as) proved agent */
	bool as; /* an operator acting as agent; events say so */
	bool inside; /* it called from a workspace, which has no choice of states */
	bool looks; /* its bearer only reads, in all teams */
	bool nobody; /* a session of a local user that has not said who it is: it looks,
			and may join */
	bool kept; /* by cadre itself, for a directory, a workspace or a session: the agent
		      may have another name by now, and another agent its old one */
	const char *session; /* names the receiver's session; NULL: none */
};

/* The caller's rows, filled by op_perform(). */
struct caller {
	enum who level;
	int64_t team, agent; /* row ids; 0: none */
	int64_t own_team; /* of the agent, also where the call is in one below */
	int64_t self; /* the calling agent, even where it acts in a lead's place */
	int64_t generation;
	int64_t inbox_capacity; /* of the team */
	int64_t team_state; /* as last announced */
	int64_t team_stopped; /* when team.estop did it; 0: it is not */
	int64_t team_limits; /* number of the team's budgets with a limit */
	int64_t active_at; /* of the agent, as its row says */
	int64_t chain; /* of the calling agent: core/turn/chain.h */
	const char *name, *team_name; /* "operator" without an agent */
};

/* The keys that scramble row ids into public ids; see core/call/id.h. */
struct id_keys {
	bool known;
	int64_t a, b, c;
};

/* Settings of a process and its state, the same for all calls. */
struct settings {
	struct config config; /* see schema/config.op */
	const char *home; /* the state folder, absolute */
	const struct notes *notes; /* files of the vault; NULL: there are none */
	const struct team_folders *folders; /* NULL: nobody makes or moves them */
	/* Looks at a person's folder before workspaces are made as copies of it; a fault is
	 * at `where`.  NULL: nobody looks. */
	int (*check_golden)(const char *path, const char *where, struct fault *f);
	/* Looks whether there is a folder before an agent is sent there; a fault is at `where`.
	 * NULL: nobody looks. */
	int (*check_folder)(const char *path, const char *where, struct fault *f);
	/* Looks for a host of the state folder `home` and tells its process, 0 where none
	 * runs, and whether its socket is gone (`deaf`).  NULL: nobody looks. */
	int64_t (*find_host)(const char *home, bool *deaf);
	/* Tells whether somebody worked in a folder since it was made, in which files, and
	 * how large it is: see core/machine/work.h.  NULL: nobody looks. */
	int64_t (*look_at_work)(const char *path, const char *stamp, int64_t since,
				void (*each)(void *with, const char *path), void *with,
				bool *changed);
	const char *network_range; /* of the VMs; see core/base/nic.h */
	const char *tag; /* last four hex digits of the state's id: the names that the
			    state gives to bridge, taps and tables end in them */
	uint8_t secret[32]; /* of the state: tokens are derived from it */
	struct rate_keeper *rates; /* a host's; NULL: each call writes its row */
};

/* Milliseconds for which what was removed can be brought back. */
int64_t settings_keep_ms(const struct settings *s);
/* Maximum size of each trash in bytes; 0: nothing is kept. */
int64_t settings_trash_bytes(const struct settings *s);

/* Fills `s` with the defaults, for a state that has no folder (tests). */
void settings_init(struct settings *s);

/* Messages and claims that an answer gave, taken back when it reaches nobody: see
 * call.c. */
struct given {
	int64_t agent; /* 0: nothing */
	int64_t request; /* name of a hand-out; 0: none */
	int64_t task, epoch; /* a claim; 0: none */
	bool for_good; /* once it has arrived: answer.take */
};

/* How an answer is to be written. */
struct form {
	bool brief; /* by op_encode_brief() */
	bool tells; /* it ends with what waits for the caller, if something does */
	size_t most; /* bytes of JSON that it may take; 0: as many as a frame does */
};

/* The rate under which a call counts, and the bucket that paid for the call. */
struct rate_call {
	bool spends; /* without a host: the transaction writes the buckets */
	bool paid; /* by an earlier call of the same work: no bucket pays for it */
	/* The call stands for one that was refused before it was decoded, and counts as of that
	 * rate. */
	bool stands;
	enum rate stands_for;
	struct rate_bucket spent; /* the bucket that paid the call; agent 0: none yet */
};

/* The client's token that the caller showed. */
struct call_bearer {
	int64_t row; /* 0: none */
	int64_t used_at, until; /* when its use was noted; its end, 0: none */
};

/* Messages that an answer tells of. */
struct call_mail {
	int64_t waiting,
		urgent; /* messages that wait for the caller, if the answer tells the
				    number; how many are urgent */
	int short_ids; /* shortened ids so far: see core/message/message_name.c */
};

/* The host's part of an operation on a workspace. */
struct call_workspace {
	int64_t asked; /* set by handlers of exec and the like: the row of the
			  workspace whose guest the host now has to ask */
	int64_t copied; /* set by handlers of fork and snapshot: the row of the
			   workspace that the host copies, or keeps, before the answer
			   which is complete but for that goes out */
};

struct call {
	/* filled by the door */
	struct arena arena;
	struct store *store;
	const struct settings *settings;
	const struct op *op;
	void *in, *out; /* op->in->size, op->out->size bytes of the arena */
	struct identity identity;
	uint8_t key[16]; /* idempotency key, if has_key */
	bool has_key;
	int64_t asked; /* hash of what is asked under the key; set with `caller` */
	int64_t now; /* ms since the epoch */
	uint64_t seed; /* randomness for this call */
	struct form form; /* of the answer */
	bool settles; /* the door says behind the answer what became of it: answer.take
			 or answer.undo of `given` */
	int64_t keep_events; /* oldest event that a follower has yet to read; 0: all
				are read */
	int64_t host; /* process of the host that runs it: OP_NEEDS_HOST may pass */

	/* filled on the way */
	struct fault fault;
	size_t space; /* bytes that the answer may still take: see core/call/space.h */
	struct caller caller;
	struct rate_call rate;
	struct id_keys ids; /* kept by a door from one call to the next */
	struct call_bearer bearer;
	struct call_mail mail;
	int64_t made; /* id of the row that this call's write made already, 0: none;
			 the handler then only reports (replay, wait) */
	bool replayed;
	const char *answer; /* of a replayed call: the first answer, as JSON; NULL: the
			       handler has to make the answer */
	bool waited; /* the handler ran before, and has waited for something new since */
	enum wake wait_on; /* set by a handler that would rather wait ... */
	int64_t wait_key; /* ... until this key is woken */
	struct call_workspace workspace;
	bool renew; /* a read by an agent, or the operator in a team, who holds a lease
			      of which under half is left: the runner of the read calls
			      agent.heartbeat under call_renewer() */
	struct given given; /* set by handlers that hand out or claim */
	int64_t as_of; /* newest event seq the transaction saw; if the caller asks for
			  removed events, the last removed event */
	bool plans; /* set by op->steps: this run of the handler only finds out what is to
		       be done; nothing of it is kept */
	struct removal *removal; /* of an operation that removes workspaces: see
				  core/workspace/workspace_removal.h */
	struct vault_work *vault; /* of an operation on notes: see core/vault/vault.h */
};

/* Makes `call` ready: finds op's in/out memory, decodes `args` (borrowed until
 * the call ends), takes idempotency_key out of it. */
int call_decode(struct call *call, const struct op *op, json_t *args);

/* The identity under which agent.heartbeat is called for a read that says `renew`: that of
 * its caller; the operator acts in the team that the read was about.  Texts are the
 * read's own. */
struct identity call_renewer(const struct call *read);

/* Whether a host of the state runs: this process, or another one. */
bool call_finds_host(const struct call *call);
/* Says what is the matter with another process that is the state's host, and fills in its pid; NULL
 * and 0: none runs. */
const char *call_host_trouble(struct call *call, int64_t *pid);
/* 0 where this process is a host; else a fault at `where`: `what` ("snapshots need") a host. */
int call_need_host(struct call *call, const char *where, const char *what);

/* Seconds within which a host is to answer, as the call has it; 0: nothing is said. */
int64_t call_within(const struct call *call);

/* Performs a call inside a transaction that its door began: finds the caller's rows,
 * level and token, checks that he may, looks up the idempotency key, runs the handler. 0
 * or a fault code. */
int op_perform(struct call *call);

/* store_begin() for a call: from here on its `now` is the transaction's. */
int call_begin(struct call *call, bool write);

/* Performs a call in a transaction of its own: begin, op_perform, commit. */
int call_transact(struct call *call, bool write);
/* Performs the whole call: by op->steps where the operation has them, else in one
 * transaction.  Operations on notes take several transactions, and may take long. */
int call_run(struct call *call);

/* Whether the operation has made that already under the call's key, whoever called: 1, 0 or
 * negative. */
int call_key_made(struct call *call, int64_t made);

/* Keeps `answer` for repeats of another call under its key; with NULL it frees the key,
 * since nothing was done.  That call is named by call_key_text() (or as its caller wrote the
 * key), call_key_caller() and the hash of its arguments (`asked`). */
int call_keep_answer(struct call *call, const char *key, int64_t caller, int64_t asked,
		     const char *answer);
/* The key of a call that has one, as a UUID. */
const char *call_key_text(const struct call *call, struct arena *a);
/* The row of the agent whose key that is; 0: an operator's. */
int64_t call_key_caller(const struct call *call);

/* The answer as JSON text, `"replayed":true` included when it was. */
void call_encode(struct call *call, struct text *out);

/* The function behind sql_all(). */
int call_rows(struct call *call, enum sql id, const void *in, void *rows, size_t *n,
	      size_t size);

/* --- statements: see storage/store.h ------------------------------------- */

/* sql_run(call, team_end, .id = 3): rows changed, or negative.
 * sql_late(call, agent_touch, .id = 3): 0 or negative; a statement that is `-- late` has no
 * other way to be run, since nothing is told of what it did.
 * sql_row(call, agent_by_id, &row, .id = 3): 1 with `row` filled, 0, negative.
 * sql_query(call, &q, board, .team = 3), then sql_next(call, &q, &row) until
 * it gives 0 or a negative; query_end(&q) to stop early.
 * sql_each(call, &q, board, &row, .team = 3): the next row of a query that the first call,
 * with a `q` of zeros, begins.
 * sql_all(call, board, &rows, &n, .team = 3): the same into an array of the
 * arena, so that other statements can run meanwhile; 0 or negative. */
#define sql_run(call, name, ...)             \
	store_run((call)->store, sql_##name, \
		  &(const struct sql_##name##_in){ __VA_ARGS__ }, &(call)->fault)
#define sql_late(call, name, ...)                 \
	store_run((call)->store, sql_late_##name, \
		  &(const struct sql_##name##_in){ __VA_ARGS__ }, &(call)->fault)
#define sql_row(call, name, row, ...)                                                    \
	store_row((call)->store, sql_##name,                                             \
		  &(const struct sql_##name##_in){ __VA_ARGS__ }, (row), sizeof(*(row)), \
		  &(call)->arena, &(call)->fault)
#define sql_query(call, q, name, ...)               \
	store_query((call)->store, (q), sql_##name, \
		    &(const struct sql_##name##_in){ __VA_ARGS__ })
#define sql_all(call, name, rows, n, ...)                                             \
	call_rows((call), sql_##name, &(const struct sql_##name##_in){ __VA_ARGS__ }, \
		  (rows), (n), sizeof(**(rows)))
/* sql_new_id(call, message): the id of the message that message_add adds next. */
#define sql_new_id(call, table) \
	store_new_id((call)->store, sql_##table##_new_id, &(call)->fault)
#define sql_next(call, q, row) \
	store_next((q), (row), sizeof(*(row)), &(call)->arena, &(call)->fault)
#define sql_each(call, q, name, row, ...)                                  \
	((q)->store ? (void)0 : sql_query((call), (q), name, __VA_ARGS__), \
	 sql_next((call), (q), (row)))

#endif
