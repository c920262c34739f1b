#include "core/host/edits.h"

#include <stddef.h>

#include "core/host/host_inside.h"
#include "ops.gen.h"

static void edits_add(struct mirror_edit **list, struct mirror_edit *edit)
{
	while (*list)
		list = &(*list)->next;
	edit->next = NULL;
	*list = edit;
}

static void edits_drop(struct mirror_edit **list, const struct mirror_edit *edit)
{
	while (*list && *list != edit)
		list = &(*list)->next;
	if (*list)
		*list = edit->next;
}

void edits_offer(struct edits *e, struct mirror_edit *edit)
{
	uv_mutex_lock(&e->lock);
	edits_add(&e->offered, edit);
	if (!e->closed)
		uv_async_send(&e->offer);
	uv_mutex_unlock(&e->lock);
}

static struct mirror_edit *edits_take(struct edits *e, struct mirror_edit **list)
{
	struct mirror_edit *first;

	uv_mutex_lock(&e->lock);
	first = *list;
	if (first)
		*list = first->next;
	uv_mutex_unlock(&e->lock);
	return first;
}

struct mirror_edit *edits_judged(struct edits *e)
{
	return edits_take(e, &e->judged);
}

struct mirror_edit *edits_take_back(struct edits *e)
{
	struct mirror_edit *edit = edits_take(e, &e->offered);

	return edit ? edit : edits_take(e, &e->written);
}

/* A call that writes an edit; in its arena. */
struct writing {
	struct host *host;
	struct mirror_edit *edit;
};

static void edits_on_written(struct job *job)
{
	const struct writing *w = job->owner;
	const struct fault *f = &job->call.fault;
	struct edits *e = w->host->edits;

	w->edit->code = f->code;
	w->edit->agent_row = job->call.caller.self;
	if (w->edit->unread && w->edit->agent_row)
		log_line(w->host->log, LOG_LEVEL_WARN,
			 "a card is not taken from its file",
			 LOG_TEXT("file", w->edit->path),
			 LOG_TEXT("error", w->edit->unread));
	else if (f->code)
		log_line(w->host->log, LOG_LEVEL_WARN,
			 "a card is not taken from its file",
			 LOG_TEXT("file", w->edit->path),
			 LOG_TEXT("where", *f->where ? f->where : NULL), LOG_FAULT(f));
	uv_mutex_lock(&e->lock);
	edits_drop(&e->written, w->edit);
	edits_add(&e->judged, w->edit);
	uv_mutex_unlock(&e->lock);
	job_free(job);
}

static void write_edit(struct host *host, struct mirror_edit *edit)
{
	struct job *job = host_job(host, op_vault_write, edits_on_written, NULL);
	struct vault_write_in *in = job->call.in;
	struct writing *w = arena_alloc(&job->call.arena, sizeof(*w));

	*w = (struct writing){ host, edit };
	job->owner = w;
	job->call.identity = (struct identity){
		.level = WHO_OBSERVER,
		.team = edit->team,
		.agent = edit->agent,
		.proven = true,
		.as = true, /* only the operator can write files of cards: no limits */
	};
	in->path = edit->path;
	in->content = edit->unread ? "" : edit->text.data; /* which is no card */
	host_submit(host, job);
}

static struct mirror_edit *next_offered(struct edits *e)
{
	struct mirror_edit *first;

	uv_mutex_lock(&e->lock);
	first = e->offered;
	if (first) {
		e->offered = first->next;
		edits_add(&e->written, first);
	}
	uv_mutex_unlock(&e->lock);
	return first;
}

static void on_offer(uv_async_t *h)
{
	struct host *host = h->data;
	struct edits *e = host->edits;
	struct mirror_edit *edit;

	while (!host->stopping && (edit = next_offered(e)))
		write_edit(host, edit);
}

static void edits_make(struct host *host)
{
	uv_mutex_init(&host->edits->lock);
	uv_async_init(&host->loop, &host->edits->offer, on_offer);
	host->edits->offer.data = host;
}

static void edits_end(struct host *host)
{
	struct edits *e = host->edits;

	uv_mutex_lock(&e->lock);
	e->closed = true;
	uv_mutex_unlock(&e->lock);
	uv_close((uv_handle_t *)&e->offer, NULL);
}

static void release_all(struct mirror_edit *list)
{
	for (struct mirror_edit *next; list; list = next) {
		next = list->next;
		mirror_edit_free(list);
	}
}

static void edits_release(struct host *host)
{
	struct edits *e = host->edits;

	release_all(e->offered);
	release_all(e->written);
	release_all(e->judged);
	uv_mutex_destroy(&e->lock);
}

const struct host_room room_edits = {
	.size = sizeof(struct edits),
	.make = edits_make,
	.end = edits_end,
	.release = edits_release,
};
