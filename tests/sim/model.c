#include "tests/sim/model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

void violated(const struct sim *s, const char *fmt, ...)
{
	va_list ap;

	printf("step %lld of seed %llu: ", (long long)s->step,
	       (unsigned long long)s->seed);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	if (!getenv("SIM_KEEP"))
		remove_place(s);
	exit(1);
}

/* --- randomness ------------------------------------------------------------------ */

uint64_t random_next(struct sim *s)
{
	uint64_t z = s->random += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

int64_t random_below(struct sim *s, int64_t n)
{
	return (int64_t)(random_next(s) % (uint64_t)n);
}

bool chance(struct sim *s, int percent)
{
	return random_below(s, 100) < percent;
}

/* --- copies ------------------------------------------------------------------------- */

static struct copy *copy_place(struct copy *copies, size_t room, uint64_t key)
{
	size_t i = (size_t)(key * 0x9e3779b97f4a7c15u >> 20) & (room - 1);

	while (copies[i].key && copies[i].key != key)
		i = (i + 1) & (room - 1);
	return &copies[i];
}

static void copies_grow(struct sim *s)
{
	size_t room = s->room ? 2 * s->room : 1 << 16;
	struct copy *more = xcalloc(room, sizeof(*more));

	for (size_t i = 0; i < s->room; i++)
		if (s->copies[i].key)
			*copy_place(more, room, s->copies[i].key) = s->copies[i];
	free(s->copies);
	s->copies = more;
	s->room = room;
}

struct copy *copy_of(struct sim *s, int64_t message, int agent, bool make)
{
	uint64_t key = ((uint64_t)message << 8 | (uint64_t)agent) + 1;
	struct copy *c;

	if (2 * s->n_copies >= s->room)
		copies_grow(s);
	c = copy_place(s->copies, s->room, key);
	if (c->key)
		return c;
	if (!make)
		return NULL;
	c->key = key;
	s->n_copies++;
	return c;
}

int agent_named(const struct sim *s, int team, const char *name)
{
	for (int i = team * MEMBERS; i < (team + 1) * MEMBERS; i++)
		if (strcmp(s->agents[i].name, name) == 0)
			return i;
	return -1;
}

void told_copy(struct sim *s, int64_t message, int to)
{
	s->agents[to].touched = true;
	s->sent[s->n_sent++ % RECENT] = copy_of(s, message, to, true)->key;
}

void told_sent(struct sim *s, int team, int64_t seq, const struct delivery *d, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int to = agent_named(s, team, d[i].to);

		if (to < 0)
			continue; /* the operator is not in the model */
		told_copy(s, seq, to);
	}
}

/* --- handing out ---------------------------------------------------------------------- */

static void check_order(struct sim *s, struct agent *a, const struct envelope *e,
			const struct envelope *before)
{
	int lane = e->priority == PRIORITY_URGENT ? 0 : 1;

	if (before && before->priority != e->priority && lane == 0)
		violated(s, "%s got a normal message before an urgent one", a->name);
	if (before && before->priority == e->priority && before->seq >= e->seq)
		violated(s, "%s got message %lld after %lld", a->name, (long long)e->seq,
			 (long long)before->seq);
	if (e->attempt > 1)
		return;
	if (e->seq <= a->fresh[lane])
		violated(s, "%s got message %lld for the first time after %lld", a->name,
			 (long long)e->seq, (long long)a->fresh[lane]);
	a->fresh[lane] = e->seq;
}

static void check_attempt(struct sim *s, int agent, const struct envelope *e,
			  int64_t lease_until)
{
	struct copy *c = copy_of(s, e->seq, agent, false);

	if (strcmp(e->message_type, "task_update") == 0)
		return; /* the host sent this message about a stuck daemon */
	if (!c)
		violated(s, "%s got message %lld, which nobody sent it",
			 s->agents[agent].name, (long long)e->seq);
	if (c->done)
		violated(s, "%s got message %lld, which it is done with",
			 s->agents[agent].name, (long long)e->seq);
	if (e->attempt != c->attempt + 1)
		violated(s, "%s got message %lld as attempt %lld after %d",
			 s->agents[agent].name, (long long)e->seq, (long long)e->attempt,
			 c->attempt);
	c->attempt = (uint8_t)e->attempt;
	c->done = lease_until == 0;
}

static void remember(struct held *h, const struct envelope *e)
{
	snprintf(h->id, sizeof(h->id), "%s", e->message_id);
	h->seq = e->seq;
	h->lease_until = e->has_lease_until ? e->lease_until : 0;
	h->attempt = (int)e->attempt;
}

static void forget(struct agent *a, int64_t seq)
{
	for (size_t i = 0; i < a->n_held; i++)
		if (a->held[i].seq == seq)
			a->held[i--] = a->held[--a->n_held];
}

/* Checks that a repeated receive returned only messages of the first answer, each with the same
 * attempt number as in the first answer. */
static void check_repeat(struct sim *s, const struct agent *a,
			 const struct message_receive_out *out)
{
	for (size_t i = 0; i < out->n_messages; i++) {
		const struct envelope *e = &out->messages[i];
		bool known = false;

		for (size_t k = 0; k < a->n_answer; k++)
			known |= a->answer[k].seq == e->seq &&
				 a->answer[k].attempt == e->attempt;
		if (!known)
			violated(s, "a repeated request gave %s another message %lld",
				 a->name, (long long)e->seq);
	}
}

/* Whether the answer repeats the answer to an earlier receive with the same request id. */
static bool is_repeat(const struct agent *a, const struct message_receive_out *out)
{
	for (size_t k = 0; out->n_messages && k < a->n_answer; k++)
		if (a->answer[k].seq == out->messages[0].seq &&
		    a->answer[k].attempt == out->messages[0].attempt)
			return true;
	return false;
}

/* Marks the agent's held messages as acknowledged, except messages whose leases have ended. The
 * state acknowledges them at the session's next receive. */
static void told_received_again(struct sim *s, int agent)
{
	struct agent *a = &s->agents[agent];

	for (size_t i = 0; i < a->n_held; i++) {
		struct copy *c = copy_of(s, a->held[i].seq, agent, false);

		if (c && a->held[i].lease_until > s->now)
			c->done = true;
	}
	a->n_held = 0;
}

void told_received(struct sim *s, int agent, const struct message_receive_out *out,
		   bool repeated, bool keep)
{
	struct agent *a = &s->agents[agent];

	a->touched = true;
	if (repeated && is_repeat(a, out)) {
		check_repeat(s, a, out);
		return;
	}
	if (!keep)
		told_received_again(s, agent);
	a->n_answer = 0;
	for (size_t i = 0; i < out->n_messages; i++) {
		const struct envelope *e = &out->messages[i];
		int64_t lease = e->has_lease_until ? e->lease_until : 0;

		check_order(s, a, e, i ? &out->messages[i - 1] : NULL);
		check_attempt(s, agent, e, lease);
		if (a->n_answer < HELD)
			remember(&a->answer[a->n_answer++], e);
		forget(a, e->seq);
		if (lease && a->n_held < HELD)
			remember(&a->held[a->n_held++], e);
	}
}

void told_acked(struct sim *s, int agent, const char *id)
{
	struct agent *a = &s->agents[agent];

	a->touched = true;
	for (size_t i = 0; i < a->n_held; i++) {
		struct copy *c;

		if (strcmp(a->held[i].id, id) != 0)
			continue;
		c = copy_of(s, a->held[i].seq, agent, false);
		if (c)
			c->done = true;
		a->held[i] = a->held[--a->n_held];
		return;
	}
}

/* --- tasks ------------------------------------------------------------------------------- */

struct task_note *task_of(struct sim *s, int team, int64_t number)
{
	struct team_note *t = &s->teams[team];
	size_t n = t->n_tasks;

	if ((size_t)number > n) {
		t->tasks = realloc(t->tasks, (size_t)number * 2 * sizeof(*t->tasks));
		if (!t->tasks)
			abort();
		t->n_tasks = (size_t)number * 2;
		for (; n < t->n_tasks; n++)
			t->tasks[n] = (struct task_note){ .owner = -1 };
	}
	if (!t->tasks[number - 1].touched && s->n_tasks < RECENT) {
		s->tasks[s->n_tasks].team = team;
		s->tasks[s->n_tasks++].number = number;
	}
	t->tasks[number - 1].touched = true;
	return &t->tasks[number - 1];
}

bool must_hold(struct sim *s, const struct task_note *t, int agent)
{
	return t->owner == agent && !t->unsure && (t->blocked || t->lease_until > s->now);
}

void told_claimed(struct sim *s, int team, int agent, const struct task *t)
{
	struct task_note *n = task_of(s, team, strtoll(t->id, NULL, 10));

	if (n->completed)
		violated(s, "task %s was claimed after it was completed", t->id);
	if (n->owner >= 0 && n->owner != agent && must_hold(s, n, n->owner))
		violated(s, "task %s was claimed by %s while %s holds it", t->id,
			 s->agents[agent].name, s->agents[n->owner].name);
	if (t->epoch <= n->epoch)
		violated(s, "task %s was claimed under epoch %lld after %lld", t->id,
			 (long long)t->epoch, (long long)n->epoch);
	*n = (struct task_note){ .epoch = t->epoch,
				 .lease_until = t->lease_until,
				 .owner = agent,
				 .touched = true };
}

void told_over(struct sim *s, int team, int64_t number, bool completed)
{
	struct task_note *n = task_of(s, team, number);

	if (n->completed && !n->unsure)
		violated(s, "task %lld ended after it was completed", (long long)number);
	n->owner = -1;
	n->blocked = false;
	n->completed = completed;
}

void told_dispatched(struct sim *s, int team, int agent, int64_t number, int64_t lease)
{
	struct task_note *n = task_of(s, team, number);

	if (n->owner >= 0 && n->owner != agent && must_hold(s, n, n->owner))
		violated(s, "task %lld was dispatched to %s while %s holds it",
			 (long long)number, s->agents[agent].name,
			 s->agents[n->owner].name);
	*n = (struct task_note){ .epoch = n->epoch + 1,
				 .lease_until = s->now + lease,
				 .owner = agent,
				 .touched = true };
}

void told_replaced(struct sim *s, int agent, const char *token)
{
	struct agent *a = &s->agents[agent];
	struct team_note *t = &s->teams[agent / MEMBERS];

	a->touched = true;
	memcpy(a->old_token, a->token, sizeof(a->old_token));
	snprintf(a->token, sizeof(a->token), "%s", token);
	a->n_held = a->n_answer = a->n_mine = 0;
	a->request[0] = '\0';
	for (size_t i = 0; i < t->n_tasks; i++) {
		if (t->tasks[i].owner != agent)
			continue;
		task_of(s, agent / MEMBERS, (int64_t)i + 1)->owner = -1;
	}
}

void told_gap(struct sim *s, int64_t gap)
{
	int64_t since = s->now - gap;

	for (int t = 0; t < TEAMS; t++)
		for (size_t i = 0; i < s->teams[t].n_tasks; i++)
			if (s->teams[t].tasks[i].lease_until > since)
				s->teams[t].tasks[i].lease_until += gap;
	for (int i = 0; i < AGENTS; i++)
		for (size_t k = 0; k < s->agents[i].n_held; k++)
			if (s->agents[i].held[k].lease_until > since)
				s->agents[i].held[k].lease_until += gap;
}
