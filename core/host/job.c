#include "core/host/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/host/batch.h"

enum { KEEP_FREE = 512 };

static struct job *job_make(void)
{
	struct job *job = xcalloc(1, sizeof(*job));

	arena_alloc(&job->call.arena, 0); /* job_free() keeps this first block */
	job->clean = arena_mark(&job->call.arena);
	return job;
}

struct job *job_new(struct job_pool *pool)
{
	struct job *job = pool->free;

	if (job) {
		pool->free = job->next;
		pool->n_free--;
		job->next = NULL;
	} else
		job = job_make();
	job->pool = pool;
	return job;
}

static void destroy(struct job *job)
{
	arena_release(&job->call.arena);
	free(job);
}

void job_free(struct job *job)
{
	struct arena arena;
	struct arena_mark clean;

	if (!job)
		return;
	packet_release(&job->packet);
	json_decref(job->id);
	if (job->pool->n_free >= KEEP_FREE) {
		destroy(job);
		return;
	}
	clean = job->clean;
	arena_reset(&job->call.arena, clean);
	arena = job->call.arena;
	struct job_pool *pool = job->pool;

	memset(job, 0, sizeof(*job));
	job->call.arena = arena;
	job->clean = clean;
	job->next = pool->free;
	pool->free = job;
	pool->n_free++;
}

void job_pool_release(struct job_pool *pool)
{
	while (pool->free) {
		struct job *job = pool->free;

		pool->free = job->next;
		destroy(job);
	}
	pool->n_free = 0;
}

void job_again(struct job *job)
{
	call_again(&job->call, job->ready);
	job->call.waited = true;
}

/* --- texts ---------------------------------------------------------------------- */

static void own_record(const struct record *r, char *base, struct arena *a);

static void own_text(const char **text, struct arena *a)
{
	*text = arena_strdup(a, *text);
}

static void own_list(const struct field *f, char *items, size_t n, struct arena *a)
{
	for (size_t i = 0; i < n; i++)
		if (f->type->kind == KIND_RECORD)
			own_record(f->type->record, items + i * f->type->record->size, a);
		else
			own_text((const char **)items + i, a);
}

static void own_map(struct pair *pairs, size_t n, struct arena *a)
{
	for (size_t i = 0; i < n; i++) {
		own_text(&pairs[i].key, a);
		own_text(&pairs[i].value, a);
	}
}

static void own_field(const struct field *f, char *base, struct arena *a)
{
	enum kind kind = f->type->kind;
	size_t n;

	if (kind != KIND_TEXT && kind != KIND_JSON && kind != KIND_MAP &&
	    kind != KIND_RECORD)
		return; /* a number holds no memory */
	if (!(f->flags & FIELD_LIST) && kind == KIND_RECORD) {
		own_record(f->type->record, base + f->at, a);
		return;
	}
	if (!(f->flags & FIELD_LIST) && kind != KIND_MAP) {
		own_text((const char **)(base + f->at), a);
		return;
	}
	memcpy(&n, base + f->at2, sizeof(n));
	if (kind == KIND_MAP)
		own_map(*(struct pair **)(base + f->at), n, a);
	else
		own_list(f, *(char **)(base + f->at), n, a);
}

static void own_record(const struct record *r, char *base, struct arena *a)
{
	for (size_t i = 0; i < r->n_fields; i++)
		own_field(&r->fields[i], base, a);
}

void job_fill(struct job *job, const void *in)
{
	memcpy(job->call.in, in, job->call.op->in->size);
	own_record(job->call.op->in, job->call.in, &job->call.arena);
}

void job_own(struct job *job)
{
	own_record(job->call.op->in, job->call.in, &job->call.arena);
	job->id = json_incref((json_t *)job->packet.id);
	packet_release(&job->packet);
}

int64_t job_patience(const struct job *job)
{
	const struct field *f = job->call.op->wait;
	const char *in = job->call.in;
	int64_t seconds;

	if (!f || !in)
		return 0;
	if ((f->flags & FIELD_OPTIONAL) && !*(const bool *)(in + f->at2))
		return 0;
	memcpy(&seconds, in + f->at, sizeof(seconds));
	return seconds;
}
