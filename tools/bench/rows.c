#include "tools/bench/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/call/id.h"
#include "ops.gen.h"

enum { AGENTS = 64, BODY = 256, BATCH = 256, BATCH_FILL = 500000 };

/* --- one send -------------------------------------------------------------------- */

struct parties {
	char from_name[16], to_name[16];
	struct caller_row caller;
	struct agent_row to;
};

/* Finds the caller and the recipient, and whether the key is new. */
static int look_up(struct rows *r, struct blob key, struct parties *p)
{
	struct call *c = r->call;
	struct replay_find_row old;

	snprintf(p->from_name, sizeof(p->from_name), "a%d", (int)(r->n % r->agents));
	snprintf(p->to_name, sizeof(p->to_name), "a%d", (int)((r->n + 1) % r->agents));
	if (sql_row(c, caller_by_name, &p->caller, .team_name = "t",
		    .name = p->from_name) <= 0 ||
	    sql_row(c, replay_find, &old, .key = key, .caller = p->caller.agent) != 0 ||
	    sql_row(c, agent_by_name, &p->to, .team = p->caller.team,
		    .name = p->to_name) <= 0)
		return -1;
	return 0;
}

static int rows_write_all(struct rows *r, struct blob key, const struct parties *p)
{
	struct call *c = r->call;
	int64_t message, from = p->caller.agent;

	if ((message = sql_new_id(c, message)) < 0 ||
	    sql_late(c, message_add, .id = message, .team = p->caller.team,
		     .sender = from, .now = c->now, .type = "text",
		     .content = r->body) < 0)
		return -1;
	if (sql_late(c, delivery_add, .message = message, .agent = p->to.id,
		     .lane = DELIVERY_LANE_NORMAL) < 0 ||
	    sql_late(c, inbox_count, .agent = p->to.id) < 0 ||
	    sql_late(c, event_add, .seq = sql_new_id(c, event), .now = c->now,
		     .kind = EVENT_MESSAGE_SENT, .team = p->caller.team, .actor = from,
		     .via = 1, .subject = message, .target = p->to.id) < 0 ||
	    sql_late(c, replay_add, .key = key, .caller = from, .op = 1, .args = r->n,
		     .made = message, .now = c->now) < 0 ||
	    sql_run(c, lease_renew, .agent = from, .now = c->now) < 0)
		return -1;
	return 0;
}

int rows_send(struct rows *r, const uint8_t key[16])
{
	struct blob k = { key, 16 };
	struct arena_mark mark = arena_mark(&r->call->arena);
	struct parties p = { 0 };
	int rc;

	rc = look_up(r, k, &p) || rows_write_all(r, k, &p) ? -1 : 0;
	arena_reset(&r->call->arena, mark);
	r->n++;
	return rc ? bench_fail_fault("send's statements", &r->call->fault) : 0;
}

void rows_key(struct rows *r, uint8_t key[16], bool ordered)
{
	uint64_t a = bench_random(&r->random), b = bench_random(&r->random);

	if (ordered)
		a = (uint64_t)r->call->now << 16 | 0x7000 | (a & 0xfff);
	for (int i = 0; i < 8; i++) {
		key[i] = (uint8_t)(a >> (56 - 8 * i));
		key[8 + i] = (uint8_t)(b >> (56 - 8 * i));
	}
}

/* --- the row of the table ----------------------------------------------------------- */

/* Copies a long WAL into the file as the host does, but on this thread. */
static int settle_wal(struct call *c)
{
	if (store_wal_frames(c->store) < 2000)
		return 0;
	if (store_checkpoint(c->store, &c->fault) < 0)
		return bench_fail_fault("checkpoint", &c->fault);
	return 0;
}

static int one_batch(struct rows *r)
{
	struct call *c = r->call;
	uint8_t key[16];

	c->now = clock_wall_ms();
	if (store_begin(c->store, true, &c->fault))
		return bench_fail_fault("begin", &c->fault);
	for (int i = 0; i < BATCH; i++) {
		rows_key(r, key, true);
		if (rows_send(r, key))
			return -1;
	}
	if (store_commit(c->store, &c->fault))
		return bench_fail_fault("commit", &c->fault);
	return settle_wal(c);
}

double rows_rate(struct bench_ground *g, double seconds)
{
	char body[BODY + 1];
	struct call call = { 0 };
	struct rows r = { .call = &call, .body = body, .agents = AGENTS, .random = 7 };
	struct stage *s = calloc(1, sizeof(*s));
	int64_t begun, took = 0;
	int rc;

	memset(body, 'x', BODY);
	body[BODY] = '\0';
	rc = !s || stage_open(s, g, "rows") || stage_team(s, AGENTS, 0) ||
			     stage_store(s, &call)
		     ? -1
		     : 0;
	begun = bench_now();
	while (rc == 0 && (took = bench_now() - begun) < (int64_t)(seconds * 1e9))
		rc = one_batch(&r);
	store_close(call.store);
	arena_release(&call.arena);
	stage_close(s);
	free(s);
	return rc ? -1 : (double)r.n / ((double)took / 1e9);
}

/* --- filling --------------------------------------------------------------------------- */

/* `n` steps in large transactions. */
static int in_batches(struct call *c, int64_t n, int64_t batch,
		      int (*step)(void *arg, int64_t i), void *arg)
{
	for (int64_t i = 0; i < n;) {
		int64_t end = i + batch < n ? i + batch : n;

		if (store_begin(c->store, true, &c->fault))
			return bench_fail_fault("begin", &c->fault);
		for (; i < end; i++)
			if (step(arg, i))
				return bench_fail_fault("filling", &c->fault);
		if (store_commit(c->store, &c->fault) ||
		    store_checkpoint(c->store, &c->fault) < 0)
			return bench_fail_fault("commit", &c->fault);
		bench_tell("%lld of %lld rows", (long long)i, (long long)n);
	}
	return 0;
}

static int rows_add_task(void *arg, int64_t i)
{
	struct call *c = arg;
	struct task_number_row number;
	int64_t id = sql_new_id(c, task);

	(void)i;
	if (id < 0 || sql_row(c, task_number, &number, .team = c->caller.team) <= 0)
		return -1;
	return sql_run(c, task_add, .id = id, .team = c->caller.team,
		       .number = number.number, .slug = "a-task",
		       .title = "A task to be done", .priority = 3, .description = "",
		       .created_by = c->caller.agent, .now = c->now) < 0;
}

static int learn_caller(struct call *c)
{
	struct caller_row r;

	if (store_begin(c->store, false, &c->fault) ||
	    sql_row(c, caller_by_name, &r, .team_name = "t", .name = "a0") <= 0)
		return bench_fail_fault("the team", &c->fault);
	c->caller.team = r.team;
	c->caller.agent = r.agent;
	store_rollback(c->store);
	return 0;
}

int rows_tasks(struct stage *s, int64_t n)
{
	struct call call;
	int rc = stage_store(s, &call);

	if (rc == 0)
		rc = learn_caller(&call) || in_batches(&call, n, BATCH_FILL,
						       rows_add_task, &call)
			     ? -1
			     : 0;
	store_close(call.store);
	arena_release(&call.arena);
	return rc;
}

struct history {
	struct call *call;
	struct rows rows;
	char body[BODY + 1];
	struct old_key {
		uint8_t bytes[16];
		int64_t made;
	} * keys; /* of this batch */
	size_t n_keys;
};

static int by_key(const void *a, const void *b)
{
	return memcmp(a, b, 16);
}

/* Adds the keys in the order of the index, or most of the time would go into moving
 * pages. */
static int rows_add_keys(struct history *h)
{
	struct call *c = h->call;

	qsort(h->keys, h->n_keys, sizeof(*h->keys), by_key);
	for (size_t i = 0; i < h->n_keys; i++)
		if (sql_late(c, replay_add, .key = { h->keys[i].bytes, 16 },
			     .caller = c->caller.agent, .op = 1, .args = h->keys[i].made,
			     .made = h->keys[i].made, .now = c->now) < 0)
			return -1;
	h->n_keys = 0;
	return 0;
}

/* An old message: sent, received, acknowledged. */
static int add_old(void *arg, int64_t i)
{
	struct history *h = arg;
	struct call *c = h->call;
	struct old_key *key = &h->keys[h->n_keys++];
	int64_t to = c->caller.agent + 1 + i % (AGENTS - 1), message;

	c->now++;
	rows_key(&h->rows, key->bytes, i & 1);
	if ((message = sql_new_id(c, message)) < 0 ||
	    sql_late(c, message_add, .id = message, .team = c->caller.team,
		     .sender = c->caller.agent, .now = c->now, .type = "text",
		     .content = h->body) < 0)
		return -1;
	key->made = message;
	if (sql_late(c, delivery_add, .message = message, .agent = to,
		     .lane = DELIVERY_LANE_NORMAL) < 0 ||
	    sql_late(c, event_add, .seq = sql_new_id(c, event), .now = c->now,
		     .kind = EVENT_MESSAGE_SENT, .team = c->caller.team,
		     .actor = c->caller.agent, .via = 1, .subject = message,
		     .target = to) < 0 ||
	    sql_late(c, delivery_fetch, .message = message, .agent = to, .now = c->now) <
		    0)
		return -1;
	return h->n_keys == BATCH_FILL || i % BATCH_FILL == BATCH_FILL - 1
		       ? rows_add_keys(h)
		       : 0;
}

int rows_history(struct stage *s, int64_t n)
{
	struct call call;
	struct history h = { .call = &call, .rows = { .call = &call, .random = 3 } };
	int rc = stage_store(s, &call);

	memset(h.body, 'x', BODY);
	h.keys = xcalloc(BATCH_FILL, sizeof(*h.keys));
	call.now -= n + 1000; /* one a millisecond, until now */
	n -= n % BATCH_FILL;
	if (rc == 0)
		rc = learn_caller(&call) || in_batches(&call, n, BATCH_FILL, add_old, &h)
			     ? -1
			     : 0;
	store_close(call.store);
	arena_release(&call.arena);
	free(h.keys);
	return rc;
}
