#include "core/host/queue.h"

void chain_add(struct chain *c, struct job *job)
{
	job->next = NULL;
	if (c->last)
		c->last->next = job;
	else
		c->first = job;
	c->last = job;
	c->n++;
}

void chain_join(struct chain *c, struct chain *more)
{
	if (!more->first)
		return;
	if (c->last)
		c->last->next = more->first;
	else
		c->first = more->first;
	c->last = more->last;
	c->n += more->n;
	*more = (struct chain){ 0 };
}

struct job *chain_pop(struct chain *c)
{
	struct job *job = c->first;

	if (!job)
		return NULL;
	c->first = job->next;
	if (!c->first)
		c->last = NULL;
	c->n--;
	job->next = NULL;
	return job;
}

void queue_init(struct queue *q)
{
	*q = (struct queue){ 0 };
	uv_mutex_init(&q->lock);
	uv_cond_init(&q->ready);
}

void queue_release(struct queue *q)
{
	uv_cond_destroy(&q->ready);
	uv_mutex_destroy(&q->lock);
}

static bool push(struct queue *q, struct chain *jobs, bool promise)
{
	bool was_empty;
	int sleepers;

	uv_mutex_lock(&q->lock);
	was_empty = !q->jobs.first;
	chain_join(&q->jobs, jobs);
	q->promised = promise;
	q->kept += !promise;
	sleepers = q->sleepers;
	uv_mutex_unlock(&q->lock);
	if (sleepers > 0)
		uv_cond_signal(&q->ready);
	return was_empty;
}

bool queue_push(struct queue *q, struct chain *jobs)
{
	return push(q, jobs, false);
}

void queue_push_part(struct queue *q, struct chain *jobs)
{
	push(q, jobs, true);
}

static void queue_move(struct queue *q, struct chain *out, size_t most)
{
	if (q->jobs.n <= most)
		chain_join(out, &q->jobs);
	else
		while (out->n < most)
			chain_add(out, chain_pop(&q->jobs));
}

bool queue_take(struct queue *q, struct chain *out, size_t most)
{
	bool more;

	uv_mutex_lock(&q->lock);
	while (!q->jobs.first && !q->closed) {
		q->sleepers++;
		uv_cond_wait(&q->ready, &q->lock);
		q->sleepers--;
	}
	queue_move(q, out, most);
	q->partial = q->promised;
	q->before = q->kept;
	more = q->jobs.first && q->sleepers > 0;
	uv_mutex_unlock(&q->lock);
	if (more)
		uv_cond_signal(&q->ready);
	return out->first != NULL;
}

bool queue_take_more(struct queue *q, struct chain *out, size_t most)
{
	if (!q->partial)
		return false;
	uv_mutex_lock(&q->lock);
	while (!q->jobs.first && q->kept == q->before && q->partial && !q->closed) {
		q->sleepers++;
		if (uv_cond_timedwait(&q->ready, &q->lock, PROMISE_MS * 1000000))
			q->partial = false;
		q->sleepers--;
	}
	queue_move(q, out, most);
	q->partial = q->partial && q->kept == q->before;
	uv_mutex_unlock(&q->lock);
	return out->first != NULL;
}

void queue_take_all(struct queue *q, struct chain *out)
{
	uv_mutex_lock(&q->lock);
	chain_join(out, &q->jobs);
	uv_mutex_unlock(&q->lock);
}

void queue_close(struct queue *q)
{
	uv_mutex_lock(&q->lock);
	q->closed = true;
	uv_mutex_unlock(&q->lock);
	uv_cond_broadcast(&q->ready);
}
