#include "core/call/call.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/access/limit.h"
#include "core/access/token.h"
#include "core/access/who.h"
#include "core/agent/agent.h"
#include "core/base/hash.h"
#include "core/call/space.h"
#include "core/config/config.h"
#include "core/message/inbox.h"
#include "core/team/estop.h"

void settings_init(struct settings *s)
{
	*s = (struct settings){ .network_range = "10.99.0.0/16", .tag = "0000" };
	config_defaults(&s->config);
}

int64_t settings_keep_ms(const struct settings *s)
{
	return s->config.workspace_keep_days * 24 * 3600 * 1000;
}

int64_t settings_trash_bytes(const struct settings *s)
{
	return s->config.workspace_keep_days ? s->config.workspace_trash_mb << 20 : 0;
}

/* --- rows ------------------------------------------------------------------ */

int call_rows(struct call *call, enum sql id, const void *in, void *rows, size_t *n,
	      size_t size)
{
	void *row = arena_alloc(&call->arena, size);
	struct query q;
	int rc;

	*n = 0;
	store_query(call->store, &q, id, in);
	while ((rc = store_next(&q, row, size, &call->arena, &call->fault)) > 0) {
		memcpy(arena_push(&call->arena, rows, n, size), row, size);
		memset(row, 0, size);
	}
	return rc;
}

/* --- keys ------------------------------------------------------------------ */

static const char **call_text_at(void *base, const struct field *f)
{
	return (const char **)((char *)base + f->at);
}

/* The value of a hexadecimal digit in small letters. A value above 15 means that the character
 * is not such a digit. */
static inline unsigned digit_of(char c)
{
	static const uint8_t digits[256] = {
		['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
		['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
		['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
	};

	return digits[(uint8_t)c] - 1u;
}

/* Reads the 16 bytes of a UUID that is written in small letters. Returns false if the text is
 * no UUID. */
static bool uuid_bytes(const char *text, uint8_t key[16])
{
	static const uint8_t places[16] = { 0,  2,  4,  6,  9,  11, 14, 16,
					    19, 21, 24, 26, 28, 30, 32, 34 };

	if (strlen(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' ||
	    text[23] != '-')
		return false;
	for (size_t i = 0; i < 16; i++) {
		unsigned high = digit_of(text[places[i]]);
		unsigned low = digit_of(text[places[i] + 1]);

		if ((high | low) > 15)
			return false;
		key[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

/* Makes 16 bytes from a key. A key that is a UUID gives the UUID's bytes; any other key is
 * hashed. */
static void key_bytes(const char *text, uint8_t key[16])
{
	uint8_t hash[TOKEN_HASH];

	if (uuid_bytes(text, key))
		return;
	token_hash(text, hash);
	memcpy(key, hash, 16);
}

/* The field of a write's idempotency key, or NULL. opgen puts this field after the other
 * arguments. */
static const struct field *call_key_of(const struct op *op)
{
	const struct field *last =
		op->in->n_fields ? &op->in->fields[op->in->n_fields - 1] : NULL;

	return last && !strcmp(last->name, "idempotency_key") ? last : NULL;
}

int call_decode(struct call *call, const struct op *op, json_t *args)
{
	const struct field *key = call_key_of(op);
	int rc;

	call->op = op;
	call->in = arena_alloc(&call->arena, op->in->size);
	call->out = arena_alloc(&call->arena, op->out->size);
	rc = op_decode(op->in, args, call->in, DECODE_STRICT, &call->arena, &call->fault);
	if (rc < 0)
		return rc;
	if (key && *call_text_at(call->in, key)) {
		key_bytes(*call_text_at(call->in, key), call->key);
		call->has_key = true;
	}
	return 0;
}

/* Hashes an operation's name. A replay row keeps the hash. */
static int64_t name_hash(const char *s)
{
	return (int64_t)(hash_text(s) >> 1);
}

static struct blob key_blob(const struct call *call)
{
	return (struct blob){ call->key, sizeof(call->key) };
}

static uint64_t args_hash(const struct call *call)
{
	return op_hash(call->op->in, call->in, "idempotency_key");
}

/* Sets call->asked, a hash of all that an idempotency key covers. The hash covers the arguments
 * and, for an operator, the row of the call's team. The call's team is the team that the
 * operator names by an argument or by the environment, or else the default team or the only
 * team. For an operation about the team itself, the hash leaves out the team's row. For an
 * agent, the hash leaves out the team's row, too. */
static int hash_asked(struct call *call)
{
	const struct field *f = field_find(call->op->in, "team");
	const struct caller caller = call->caller;
	const char **said, *team;
	uint64_t h;
	int rc;

	if (!f || !(f->flags & FIELD_OPTIONAL) || call->identity.agent) {
		call->asked = (int64_t)(args_hash(call) >> 1);
		return 0;
	}
	team = *(said = call_text_at(call->in, f));
	if ((rc = who_means(call, team)) < 0)
		return rc;
	if (rc > 0)
		*said = NULL;
	h = args_hash(call);
	*said = team;
	h ^= (uint64_t)call->caller.team * 0x9e3779b97f4a7c15u;
	call->asked = (int64_t)(h >> 1);
	call->caller = caller;
	return 0;
}

int64_t call_key_caller(const struct call *call)
{
	return call->identity.agent ? call->caller.self : 0;
}

const char *call_key_text(const struct call *call, struct arena *a)
{
	char text[2 * sizeof(call->key) + 5], *p = text;

	for (size_t i = 0; i < sizeof(call->key); i++)
		p += snprintf(p, 4, "%s%02x", i >= 4 && i <= 10 && i % 2 == 0 ? "-" : "",
			      call->key[i]);
	return arena_strdup(a, text);
}

int call_keep_answer(struct call *call, const char *key, int64_t caller, int64_t asked,
		     const char *answer)
{
	uint8_t bytes[sizeof(call->key)] = { 0 };
	const struct blob blob = { bytes, sizeof(bytes) };
	int rc;

	key_bytes(key, bytes);
	rc = answer ? sql_run(call, replay_answer, .key = blob, .caller = caller,
			      .asked = asked, .answer = answer)
		    : sql_run(call, replay_free, .key = blob, .caller = caller,
			      .asked = asked);
	return rc < 0 ? rc : 0;
}

enum { REPLAY_MS = 86400000 }; /* the time for which keys are kept */

/* Finds an earlier call with the same key. If both calls have the same operation and arguments,
 * the new call's answer reports the row that the earlier call made. Otherwise the new call is
 * refused. A key belongs to its caller; the operators of all teams count as a single caller. */
static int find_replay(struct call *call)
{
	struct replay_find_row r;
	int rc = hash_asked(call);

	if (rc < 0)
		return rc;
	rc = sql_row(call, replay_find, &r, .key = key_blob(call),
		     .caller = call_key_caller(call), .since = call->now - REPLAY_MS);
	if (rc <= 0)
		return rc;
	if (r.op != name_hash(call->op->name) || r.args != call->asked) {
		fault_set(&call->fault, FAULT_CONFLICT, "/idempotency_key",
			  "this key was used for another call");
		return fault_hint(&call->fault, "Use a new key for a new call.");
	}
	call->made = r.made;
	call->answer = r.answer;
	call->replayed = true;
	return 0;
}

int call_key_made(struct call *call, int64_t made)
{
	struct replay_made_row r;

	return !call->has_key ? 0
			      : sql_row(call, replay_made, &r, .key = key_blob(call),
					.op = name_hash(call->op->name), .made = made,
					.since = call->now - REPLAY_MS);
}

static int keep_replay(struct call *call)
{
	if (!call->has_key || call->replayed || !call->made)
		return 0;
	return sql_late(call, replay_add, .key = key_blob(call),
			.caller = call_key_caller(call), .op = name_hash(call->op->name),
			.args = call->asked, .made = call->made, .now = call->now);
}

/* --- performing -------------------------------------------------------------- */

/* Refuses an operation that a session without an identity may not call. */
static int nobody_yet(struct call *call)
{
	fault_set(&call->fault, FAULT_DENIED, "", "you are nobody yet: %s is for %s",
		  call->op->name,
		  call->op->who > WHO_LEAD ? "the operator" : "members of a team");
	return fault_hint(&call->fault,
			  "Register first: `agents`, action `register`, with `name` "
			  "if you have a name. Until then you can only read, in all "
			  "teams.");
}

/* The team argument of the call, or NULL. */
static const char *named_team(const struct call *call)
{
	const struct record *in = call->op->in;

	for (size_t i = 0; i < in->n_fields; i++) {
		const struct field *f = &in->fields[i];

		if (f->names && !(f->flags & FIELD_LIST) && !strcmp(f->name, "team") &&
		    !strcmp(f->names, "team"))
			return *(const char *const *)((const char *)call->in + f->at);
	}
	return NULL;
}

/* If a member holds the lead's place of the named team, or of the team above the named team,
 * makes the member the lead for this call. Then the member may call the operations that only a
 * lead may call. */
static int take_lead(struct call *call)
{
	const char *team;
	int rc;

	if (call->op->who != WHO_LEAD || call->caller.level != WHO_MEMBER ||
	    !call->identity.agent || !(team = named_team(call)))
		return 0;
	rc = who_take_seat_above(call, team);
	if (rc == 0)
		rc = who_take_seat(call, team);
	return rc < 0 ? rc : 0;
}

static int call_check_may(struct call *call)
{
	static const char *const least[] = { "an observer", "a member", "the lead",
					     "the operator", "the host" };

	if (who_is_nobody(call) &&
	    (call->caller.level < call->op->who ||
	     ((call->op->flags & OP_WRITE) && !(call->op->flags & OP_IDENTIFIES))))
		return nobody_yet(call);
	if (call->identity.looks && (call->op->flags & OP_WRITE)) {
		fault_set(&call->fault, FAULT_DENIED, "",
			  "%s changes the state: this token may only read",
			  call->op->name);
		return fault_hint(&call->fault,
				  "Ask the operator for a token of an agent.");
	}
	if (take_lead(call) < 0)
		return call->fault.code;
	if (call->caller.level < call->op->who) {
		fault_set(&call->fault, FAULT_DENIED, "", "%s is for %s", call->op->name,
			  least[call->op->who]);
		return who_ask(call, call->op->who);
	}
	return call->op->flags & OP_NEEDS_HOST
		       ? call_need_host(call, "",
					arena_printf(&call->arena, "%s needs",
						     call->op->name))
		       : 0;
}

/* The time of the last activity is exact to half a minute, so that most calls need not write
 * this time. */
enum { TOUCH_MS = 30000 };

/* Whether the agent's activity was stored in the last half minute. A stored time in the future
 * does not count, because the clock was put back after the time was stored. */
static bool was_touched(const struct call *call)
{
	return call->caller.active_at >= call->now - TOUCH_MS &&
	       call->caller.active_at <= call->now;
}

/* A write by an agent also stores the time of the agent's activity, unless this time was stored
 * in the last half minute. The write renews each of the agent's leases of which less than half
 * is left. A write by the operator renews the operator's own claims. The agent's reservations
 * are extended whenever the time of activity is stored. If the caller comes back, the agent becomes
 * ready. A read cannot write, so a read sets call->renew instead. */
static int keep_alive(struct call *call)
{
	struct lease_ending_row ending;
	struct lease_due_row due;
	struct agent_row self;
	int rc;

	/* An operator has an agent row, too, once the call has entered a team. */
	if (!call->caller.agent || call->identity.level == WHO_HOST ||
	    who_is_nobody(call))
		return 0;
	if (!(call->op->flags & OP_WRITE)) {
		rc = sql_row(call, lease_ending, &ending, .agent = call->caller.agent,
			     .now = call->now);
		call->renew = rc > 0 && (ending.n > 0 || call->caller.comes_back);
		return rc;
	}
	if (call->caller.comes_back &&
	    ((rc = sql_row(call, agent_by_id, &self, .id = call->caller.self)) < 0 ||
	     (rc = agent_come_back(call, &self)) < 0))
		return rc;
	rc = sql_row(call, lease_due, &due, .agent = call->caller.agent);
	if (rc > 0 && due.at && due.at < call->now)
		rc = sql_run(call, lease_renew, .agent = call->caller.agent,
			     .now = call->now);
	if (rc < 0 || (call->identity.agent && was_touched(call)))
		return rc;
	rc = sql_run(call, reservation_extend, .agent = call->caller.agent,
		     .generation = call->caller.generation, .now = call->now);
	if (rc < 0 || !call->identity.agent || call->identity.as)
		return rc;
	return sql_late(call, agent_touch, .agent = call->caller.agent, .now = call->now);
}

/* Counts the messages that wait for the caller, for an answer that gives the number. For the
 * answer of a receive, the handler counts the messages. */
static int count_mail(struct call *call)
{
	struct inbox_urgent_row urgent = { 0 };
	struct inbox_state_row inbox = { 0 };
	int64_t agent = call->caller.agent;
	int rc;

	call->mail.waiting = call->mail.urgent = 0;
	/* A session without an identity has no mail until it becomes an agent. */
	if (call->identity.nobody)
		agent = call->op->flags & OP_IDENTIFIES ? call->made : 0;
	/* A wait for messages tells of messages itself. */
	if (!agent || call->op->flags & OP_REQUEST ||
	    (call->op->reached && field_find(call->op->in, "seen")))
		return 0;
	rc = inbox_counters(call, agent, &inbox);
	if (rc >= 0 && inbox.queued > 0)
		rc = sql_row(call, inbox_urgent, &urgent, .agent = agent,
			     .now = call->now, .most = URGENT_MOST);
	call->mail.waiting = inbox.queued;
	call->mail.urgent = urgent.n;
	return rc;
}

int64_t call_within(const struct call *call)
{
	const struct field *within = call->op->within;

	return within ? *(const int64_t *)((const char *)call->in + within->at) : 0;
}

struct identity call_renewer(const struct call *read)
{
	struct identity id = read->identity;

	id.bearer = NULL; /* the bearer's token has already proved the identity */
	if (!id.agent)
		id.team = read->caller.team_name;
	return id;
}

/*~ The frame around every operation.  Station 8 of 12.
 *
 * Every operation answers three questions inside the transaction. Who is the caller (found by
 * name and token, in the caller's own team only)? May the caller make this call? Was the same
 * call made before?
 *
 * find_replay() keeps the promise that station 3 makes. find_replay() looks up the key. If the
 * same call was done before, `made` names the row that the earlier call made, and the handler
 * only reports the state of that row. A key with other arguments is refused. keep_replay()
 * stores the key in the same transaction as the handler's change. So after a crash the state
 * has either both the key and the change, or neither of them.
 *
 * op->run is the handler. In this tour the handler is task_claim().
 *
 * A handler that finds nothing may set wait_on. The transaction ends, and the call waits
 * without a thread until an event wakes the call. as_of is the last event that the call has
 * seen. So the call does not miss an event that is stored between the COMMIT and the waiting.
 *
 * Next: core/task/task_claim.c
 */
int op_perform(struct call *call)
{
	struct event_last_row last;
	bool waited = call->made && !call->replayed;
	int rc;

	if ((rc = who_calls(call)) < 0 || (rc = limit_spend(call)) < 0 ||
	    (rc = call_check_may(call)) < 0)
		return rc;
	if (call->has_key && !call->made && (rc = find_replay(call)) < 0)
		return rc;
	call->wait_on = WAKE_NONE;
	space_open(call);
	call->given = (struct given){ 0 };
	/* A handler need not check whether id_public() or a similar function has returned NULL.
	 * A function that fails fills the call's fault, which is checked here. */
	if ((rc = call->op->run(call, call->in, call->out)) < 0 ||
	    (rc = call->fault.code) < 0)
		return call->replayed
			       ? fault_hint(&call->fault,
					    "The first call with this key took effect.")
			       : rc;
	if (call->plans)
		return 0; /* the handler has only planned, and has not written yet */
	if ((rc = space_check(call)) < 0)
		return rc;
	if (!waited && ((rc = keep_replay(call)) < 0 || (rc = keep_alive(call)) < 0))
		return rc;
	if ((call->op->flags & OP_WRITE) && (rc = estop_hold(call)) < 0)
		return rc;
	if (call->form.tells && (rc = count_mail(call)) < 0)
		return rc;
	if (call->wait_on) {
		if ((rc = sql_row(call, event_last, &last)) < 0)
			return rc;
		call->as_of = last.seq;
	}
	return 0;
}

/* Reports that the state could not be written. A statement failed and SQLite rolled back the
 * transaction, so no change is kept. */
static int unavailable(struct call *call)
{
	call->fault.code = FAULT_NONE;
	return fault_set(&call->fault, FAULT_UNAVAILABLE, "",
			 "the state could not be written");
}

int call_begin(struct call *call, bool write)
{
	int rc = store_begin(call->store, write, &call->fault);

	if (rc >= 0)
		call->now = store_now(call->store);
	return rc;
}

/* Begins a transaction as call_begin() does, for a call that writes only the caller's rate
 * bucket: a write of the vault first reads the rows that it needs. */
static int begin_lax(struct call *call)
{
	int rc = store_begin_lax(call->store, &call->fault);

	if (rc >= 0)
		call->now = store_now(call->store);
	return rc;
}

/* Whether the call's transaction writes the caller's bucket. Without a host, each call that is
 * subject to limits writes its caller's bucket in the call's transaction. */
static bool spends(const struct call *call)
{
	const struct settings *s = call->settings;

	return !s->rates && !call->rate.spent.agent &&
	       limit_binds(&s->config, &call->identity, limit_rate(call));
}

int call_transact(struct call *call, bool write)
{
	int64_t made = call->made;
	bool replayed = call->replayed;
	int rc;

	call->rate.spends = spends(call);
	rc = call->rate.spends && !write ? begin_lax(call) : call_begin(call, write);
	if (rc < 0)
		return rc;
	rc = op_perform(call);
	if (rc < 0) {
		call->made = made;
		call->replayed = replayed;
		if (!store_intact(call->store) && call->fault.code == FAULT_INTERNAL)
			rc = unavailable(call);
		store_rollback(call->store);
		limit_settle(call);
		return rc;
	}
	if ((rc = store_commit(call->store, &call->fault)) < 0) {
		call->made = made;
		call->replayed = replayed;
	}
	return rc < 0 ? rc : 0;
}

int call_run(struct call *call)
{
	return call->op->steps ? call->op->steps(call)
			       : call_transact(call, call->op->flags & OP_WRITE);
}

/* Adds a member to the JSON object at the end of `out`, behind the object's other members. */
static void call_add_member(struct text *out, const char *member)
{
	out->len--; /* removes the closing brace */
	text_addf(out, "%s%s}", out->data[out->len - 1] == '{' ? "" : ",", member);
}

void call_encode(struct call *call, struct text *out)
{
	char waiting[100];

	if (call->replayed && call->answer)
		text_add(out, call->answer, strlen(call->answer));
	else if (call->form.brief)
		op_encode_brief(call->op, call->out, out);
	else
		op_encode(call->op->out, call->out, out);
	if (call->replayed)
		call_add_member(out, "\"replayed\":true");
	if (call->mail.waiting > 0) {
		snprintf(waiting, sizeof(waiting),
			 "\"waiting\":\"%" PRId64 " message%s%s%.0" PRId64 "%s\"",
			 call->mail.waiting, call->mail.waiting == 1 ? "" : "s",
			 call->mail.urgent ? ", " : "", call->mail.urgent,
			 call->mail.urgent ? " urgent" : "");
		call_add_member(out, waiting);
	}
}

static int64_t other_host(const struct call *call, bool *deaf)
{
	const struct settings *s = call->settings;

	*deaf = false;
	return !call->host && s->find_host ? s->find_host(s->home, deaf) : 0;
}

bool call_finds_host(const struct call *call)
{
	bool deaf;

	return call->host || other_host(call, &deaf);
}

/* The reason why a host did not answer. */
static const char *trouble_of(bool deaf)
{
	return deaf ? "runs, but its sockets are gone" : "runs and does not answer";
}

static const char *help_of(bool deaf)
{
	return deaf ? "The host makes new sockets within seconds; if "
		      "not: cadre restart"
		    : "See `cadre doctor`";
}

const char *call_host_trouble(struct call *call, int64_t *pid)
{
	bool deaf;

	*pid = other_host(call, &deaf);
	return *pid ? arena_printf(&call->arena, "process %" PRId64 " %s. %s.", *pid,
				   trouble_of(deaf), help_of(deaf))
		    : NULL;
}

int call_need_host(struct call *call, const char *where, const char *what)
{
	bool deaf;
	int64_t pid = other_host(call, &deaf);

	if (call->host)
		return 0;
	if (pid) {
		fault_set(&call->fault, FAULT_UNAVAILABLE, where,
			  "%s a host that answers: process %" PRId64 " %s", what, pid,
			  trouble_of(deaf));
		return fault_hint(&call->fault, "%s.", help_of(deaf));
	}
	fault_set(&call->fault, FAULT_UNAVAILABLE, where, "%s a running host", what);
	return fault_hint(&call->fault,
			  "{Ask the operator to start one|Start one with}: cadre up.");
}
