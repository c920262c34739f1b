/*
 * call - an operation with its caller, arguments and time.
 *
 * struct call holds the time, randomness and identity as values, so that core/ is a function of
 * its inputs and the database. A door fills the upper part of struct call. op_perform() runs
 * the handler inside a transaction that op_perform()'s caller began. Nothing is acknowledged
 * before the transaction is committed.
 *
 * A handler may run again until COMMIT. So a handler has no effect outside the database and the
 * arena, and the arena is reset between the runs.
 */
#ifndef CORE_CALL_CALL_H
#define CORE_CALL_CALL_H

#include "core/access/rate.h"
#include "ops.gen.h"
#include "storage/store.h"

/* The identity that the caller claims, as a door fills it in. */
struct identity {
	enum who level; /* WHO_OPERATOR for a local user, WHO_HOST inside the host, else
			   WHO_OBSERVER until the agent's row is read */
	const char *team; /* the team that the caller names for all its calls, or NULL */
	const char *by_default; /* the team that an operator's settings name, or NULL */
	const char *agent; /* NULL: the operator does not act as an agent */
	const char *token; /* proves `agent`; NULL if the door has proved `agent` */
	int64_t generation; /* the agent's generation; 0: unknown to the door */
	const char *door; /* token of the agent at whose HTTP door the call arrived; at
			     this door `token` proves `agent`. NULL: another kind of
			     door */
	const char *bearer; /* token that a client showed over HTTP; bearer_find() fills
			       the identity from this token */
	bool proven; /* no `token` is needed for `agent`: the channel, `bearer` or the
			operator's --as has proved it */
	bool as; /* an operator acts as `agent`, and events record this */
	bool inside; /* the call came from a workspace, which cannot choose a state */
	bool looks; /* the token `bearer` may only read, and may read all teams */
	bool nobody; /* a session of a local user without an identity: the session may
			read, and may join a team */
	bool kept; /* cadre keeps this identity for a directory, a workspace or a session.
		      The agent may have another name now, and another agent may have the
		      old name */
	const char *session; /* names the receiver's session; NULL: no session */
};

/* The caller's rows, filled by op_perform(). */
struct caller {
	enum who level;
	int64_t team, agent; /* row ids; 0: no row */
	int64_t own_team; /* the agent's own team, even if the call is in a lower team */
	int64_t self; /* the calling agent, even if the agent acts in a lead's place */
	int64_t generation;
	int64_t inbox_capacity; /* the capacity of each inbox in the team */
	int64_t team_state; /* the team's state in the last announcement */
	int64_t team_stopped; /* time at which team.estop stopped the team; 0: not
				 stopped */
	int64_t team_limits; /* number of the team's budgets that have a limit */
	int64_t active_at; /* last activity of the agent, from its row */
	bool comes_back; /* the call makes its agent ready: the agent was offline and has no
			    workspace, and the call shows that the agent is at work */
	int64_t chain; /* the calling agent's chain number: see core/turn/chain.h */
	const char *name, *team_name; /* `name` is "operator" if no agent calls */
};

/* The keys that scramble row ids into public ids; see core/call/id.h. */
struct id_keys {
	bool known;
	int64_t a, b, c;
};

/* Settings of a process and of the process's state, the same for all calls. */
struct settings {
	struct config config; /* see schema/config.op */
	const char *home; /* absolute path of the state's folder */
	const struct notes *notes; /* files of the vault; NULL: no vault */
	const struct team_folders *folders; /* NULL: folders are not made or moved */
	/* Checks a person's folder before workspaces are made as copies of the folder. If the
	 * folder is not suitable, the fault is at `where`. NULL: folders are not checked. */
	int (*check_golden)(const char *path, const char *where, struct fault *f);
	/* Checks that a folder exists before an agent is sent to the folder. If the folder does
	 * not exist, the fault is at `where`. NULL: folders are not checked. */
	int (*check_folder)(const char *path, const char *where, struct fault *f);
	/* Looks for a host of the state folder `home`. Returns the host's process id, or 0 if
	 * no host runs. Sets `deaf` if the host's socket is gone. NULL: this process looks for
	 * no host. */
	int64_t (*find_host)(const char *home, bool *deaf);
	/* Finds which files in a folder were changed since the folder was made, and how large
	 * the folder is; see core/machine/work.h. NULL: this process looks at no folders. */
	int64_t (*look_at_work)(const char *path, const char *stamp, int64_t since,
				void (*each)(void *with, const char *path), void *with,
				bool *changed);
	/* Finds what a guest's process uses; see core/machine/process_stat.h. NULL: this
	 * process looks at no processes. */
	bool (*find_usage)(int64_t pid, int64_t *cpu_ms, int64_t *memory);
	const char *network_range; /* range of the VMs' addresses; see core/base/nic.h */
	const char *tag; /* last four hex digits of the state folder's inode; the names of
			    the state's bridge, taps and tables end in these digits */
	uint8_t secret[32]; /* the state's secret, from which tokens are derived */
	struct rate_keeper *rates; /* the host's buckets; NULL: each call writes the
				      bucket's row */
};

/* Milliseconds for which removed notes and removed workspaces can be restored. */
int64_t settings_keep_ms(const struct settings *s);
/* Maximum size of each trash in bytes; 0: the trash keeps nothing. */
int64_t settings_trash_bytes(const struct settings *s);

/* Fills `s` with the defaults, for a state without a folder (tests). */
void settings_init(struct settings *s);

/* Messages and claims that an answer gave. If the answer reaches nobody, the messages and
 * claims are taken back; see call.c. */
struct given {
	int64_t agent; /* the receiver; 0: the answer gave nothing */
	int64_t request; /* name of the request that handed out the messages; 0: no
			    messages */
	int64_t task, epoch; /* a claim; 0: no claim */
	bool for_good; /* once the answer has arrived, answer.take takes the messages or
			  the claim for good */
};

/* How the caller wants the answer to be written. */
struct form {
	bool brief; /* op_encode_brief() writes the answer */
	bool tells; /* the answer ends with the number of messages that wait for the
		       caller, if any wait */
	size_t most; /* maximum bytes of JSON; 0: as many as a frame takes */
};

/* The rate under which a call is counted, and the token bucket that the call was charged to. */
struct rate_call {
	bool spends; /* without a host: the transaction writes the caller's bucket */
	bool paid; /* this call is not counted, since an earlier call for the same work
		      was counted */
	/* This call stands for another call that was refused before it was decoded. This call
	 * is counted under the rate of the other call. */
	bool stands;
	enum rate stands_for;
	struct rate_bucket spent; /* the bucket from which the call was taken; agent 0: no
				     bucket yet */
};

/* The client's token that the caller showed. */
struct call_bearer {
	int64_t row; /* 0: no token */
	int64_t used_at, until; /* time at which the token's use was last stored; time at
				   which the token ends (0: never) */
};

/* Messages that an answer mentions. */
struct call_mail {
	int64_t waiting,
		urgent; /* number of messages that wait for the caller, if the answer
			   gives this number; number of urgent messages among them */
	int short_ids; /* ids shortened so far; see core/message/message_name.c */
};

/* The host's part of an operation on a workspace. */
struct call_workspace {
	int64_t asked; /* set by handlers such as exec: the row of the workspace whose
			  guest the host has to ask next */
	int64_t copied; /* set by handlers of fork and snapshot: the row of the workspace
			   that the host copies before the host sends the answer. The
			   answer lacks only the result of the copying */
};

struct call {
	/* the door fills these fields */
	struct arena arena;
	struct store *store;
	const struct settings *settings;
	const struct op *op;
	void *in, *out; /* op->in->size, op->out->size bytes of the arena */
	struct identity identity;
	uint8_t key[16]; /* idempotency key, if has_key */
	bool has_key;
	int64_t asked; /* hash of the arguments; set together with `caller` */
	int64_t now; /* ms since the epoch */
	uint64_t seed; /* randomness for this call */
	struct form form; /* the form of the answer */
	bool settles; /* once the answer is sent, the door calls answer.take or
			 answer.undo for `given` */
	int64_t keep_events; /* oldest event that a follower has not read yet; 0:
				followers have read all events */
	int64_t host; /* process id of the host that runs the call; if nonzero, operations
			 with OP_NEEDS_HOST are allowed */

	/* filled while the call runs */
	struct fault fault;
	size_t space; /* free bytes of the answer: see core/call/space.h */
	struct caller caller;
	struct rate_call rate;
	struct id_keys ids; /* a door keeps these keys from one call to the next */
	struct call_bearer bearer;
	struct call_mail mail;
	int64_t made; /* id of the row that this call's write has already made (replay,
			 wait): the handler only reports this row. 0: no row yet */
	bool replayed;
	const char *answer; /* JSON of the first answer to a replayed call; NULL: the
			       handler has to make the answer */
	bool waited; /* the handler ran before, and the call has waited since that run */
	enum wake wait_on; /* set by a handler that wants to wait */
	int64_t wait_key; /* the call waits until this key is woken */
	struct call_workspace workspace;
	bool renew; /* set by a read. The read's caller (an agent, or the operator in a
		       team) holds a lease of which less than half is left. After the
		       read, agent.heartbeat is called under call_renewer() */
	struct given given; /* set by handlers that hand out messages or claim tasks */
	int64_t as_of; /* seq of the newest event that the transaction saw, or of the last
			  removed event if the caller asks for removed events */
	bool plans; /* set by op->steps: this run of the handler only finds out which work
		       must be done; no change of the run is kept */
	struct removal *removal; /* for an operation that removes workspaces: see
				    core/workspace/workspace_removal.h */
	struct vault_work *vault; /* for an operation on notes: see core/vault/vault.h */
};

/* Prepares `call`: gets memory for the op's `in` and `out`, decodes `args`, and sets call->key
 * from the argument idempotency_key. `args` is borrowed until the call ends. */
int call_decode(struct call *call, const struct op *op, json_t *args);

/* The identity under which agent.heartbeat is called for a read that sets `renew`. The result
 * is the identity of the read's caller. An operator's heartbeat acts in the team of the read.
 * The identity's texts belong to the read. */
struct identity call_renewer(const struct call *read);

/* Whether a host of the state runs: this process or another process. */
bool call_finds_host(const struct call *call);
/* Says why the state's host, which is another process, does not answer. Fills in the host's
 * pid. Returns NULL with pid 0 if no other process is the host. */
const char *call_host_trouble(struct call *call, int64_t *pid);
/* Returns 0 if this process is a host; else a fault at `where`. `what` begins the fault's text,
 * such as "snapshots need". */
int call_need_host(struct call *call, const char *where, const char *what);

/* The number of seconds within which the host must answer, read from the call's arguments; 0:
 * no argument limits the time. */
int64_t call_within(const struct call *call);

/* Performs a call inside a transaction that the call's door began. Finds the caller's rows,
 * level and token, checks that the caller may make the call, looks up the idempotency key, and
 * runs the handler. Returns 0 or a fault code. */
int op_perform(struct call *call);

/* Calls store_begin() for a call, and sets call->now to the time of the transaction. */
int call_begin(struct call *call, bool write);

/* Performs a call in a transaction of its own: begin, op_perform, commit. */
int call_transact(struct call *call, bool write);
/* Performs the whole call: by op->steps if op->steps is not NULL, else in one transaction.
 * Operations on notes take several transactions, and may take long. */
int call_run(struct call *call);

/* Whether the operation, called by any caller, has already made the row `made` under the call's
 * key. Returns 1 for yes, 0 for no, or a negative fault code. */
int call_key_made(struct call *call, int64_t made);

/* Stores `answer` under the key of another call. Repeats of the other call get this answer. If
 * `answer` is NULL, frees the key, because the other call did nothing. Three values name the
 * other call: `key` from call_key_text() or as the caller wrote the key, `caller` from
 * call_key_caller(), and `asked`, the hash of the call's arguments. */
int call_keep_answer(struct call *call, const char *key, int64_t caller, int64_t asked,
		     const char *answer);
/* The key of a call, as a UUID. The call must have a key. */
const char *call_key_text(const struct call *call, struct arena *a);
/* The row of the agent to whom the call's key belongs; 0: the key belongs to an operator. */
int64_t call_key_caller(const struct call *call);

/* Writes the answer as JSON text. The answer to a repeated call includes `"replayed":true`. */
void call_encode(struct call *call, struct text *out);

/* sql_all() calls this function. */
int call_rows(struct call *call, enum sql id, const void *in, void *rows, size_t *n,
	      size_t size);

/* --- statements: see storage/store.h ------------------------------------- */

/* sql_run(call, team_end, .id = 3) returns the number of changed rows, or a negative fault
 * code.
 *
 * sql_late(call, agent_touch, .id = 3) returns 0 or a negative fault code. Only this macro runs
 * a statement that is marked `-- late`, because a `-- late` statement reports no result.
 *
 * sql_row(call, agent_by_id, &row, .id = 3) returns 1 with `row` filled, 0 if no row was found,
 * or a negative fault code.
 *
 * sql_query(call, &q, board, .team = 3) begins a query. sql_next(call, &q, &row) reads the next
 * row until sql_next() returns 0 or negative; query_end(&q) stops earlier.
 *
 * sql_each(call, &q, board, &row, .team = 3) reads the next row of a query. The first
 * sql_each(), with a `q` of zeros, begins the query.
 *
 * sql_all(call, board, &rows, &n, .team = 3) reads all rows into an array in the arena, so that
 * other statements can run during a loop over the rows. sql_all() returns 0 or a negative fault
 * code. */
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
/* sql_new_id(call, message) is the row number of the message that message_add adds next. */
#define sql_new_id(call, table) \
	store_new_id((call)->store, sql_##table##_new_id, &(call)->fault)
#define sql_next(call, q, row) \
	store_next((q), (row), sizeof(*(row)), &(call)->arena, &(call)->fault)
#define sql_each(call, q, name, row, ...)                                  \
	((q)->store ? (void)0 : sql_query((call), (q), name, __VA_ARGS__), \
	 sql_next((call), (q), (row)))

#endif
