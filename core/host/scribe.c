/*
 * scribe - the thread of a host that writes the mirror in the vault, and the search index.
 *
 * The thread sleeps until a process commits and so writes the bell. After a commit the thread
 * reads the changes on its own read connection, and pauses after each slice of work. If a write
 * to the mirror fails, the thread tries again later, so a full disk does not stop callers.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include <uv.h>

#include "core/base/alloc.h"
#include "core/host/host_inside.h"
#include "core/host/sleeper.h"
#include "core/mirror/mirror.h"
#include "storage/search/search.h"
#include "ops.gen.h"

/* --- edits ------------------------------------------------------------------- */

/*
 * edits - new texts of cards, which people have saved as files.
 *
 * The mirror's thread offers an edit to the loop. The loop writes the edit to the state, and
 * the thread then gets the result. Each edit is written by the operation vault.write, with the
 * card's agent as the caller.
 */

/* The edits that the mirror's thread and the loop pass to each other. The room `edits` is made
 * before the mirror's thread begins, and ends before the mirror's thread ends. After the room's
 * end, offered edits are not written. */
struct edits {
	uv_async_t offer;
	uv_mutex_t lock; /* guards the lists */
	struct mirror_edit *offered, *written,
		*judged; /* `written`: edits whose calls are under way */
	bool closed;
};

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

/* On the mirror's thread: gives an edit to the loop, which owns the edit from then on. */
static void edits_offer(struct edits *e, struct mirror_edit *edit)
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

/* On the mirror's thread: returns the next edit with a result, or NULL. The caller releases the
 * edit. */
static struct mirror_edit *edits_judged(struct edits *e)
{
	return edits_take(e, &e->judged);
}

/* Called when the mirror's thread ends: returns an edit without a result, or NULL. */
static struct mirror_edit *edits_take_back(struct edits *e)
{
	struct mirror_edit *edit = edits_take(e, &e->offered);

	return edit ? edit : edits_take(e, &e->written);
}

/* A call that writes an edit. The struct is in the call's arena. */
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
		.as = true, /* the limits for agents do not apply, since only the operator
			       can write these files */
	};
	in->path = edit->path;
	/* If the edited file could not be read, the content is "". An empty text is not a valid
	 * card, so the write is refused. */
	in->content = edit->unread ? "" : edit->text.data;
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

enum {
	SLICE_MS = 50,
	REST_MS = 40, /* pause between slices, which leaves time for other work */
	BUSY_RESTS = 4, /* if a process committed during a slice, the extra pause is this
			   many times as long as the slice */
	INDEX_MS = 10,
	INDEX_REST_MS = 60,
	NET_MS = 5000, /* longest sleep, in case a write of the bell was missed */
	EDITS_MOST = 32, /* maximum number of edits that wait for a result */
	EDIT_MS = 20, /* pause before the results of edits are read */
	RETRY_MS = 2000, /* pause after a failure */
	LAST_MS = 2000, /* longest time for the last slice, when the host ends */
	NICE = 10, /* low priority: no caller waits for this thread */
};

struct scribe {
	const struct home *home;
	struct log *log;
	struct edits *edits;
	int n_edits; /* number of offered edits without a result */
	struct store *store;
	struct mirror *mirror;
	uv_thread_t thread;
	struct sleeper sleeper;
	int vault; /* descriptor of mirror_watch(); readable after a file was removed */
	bool failed; /* the last write of the mirror failed, and the failure was logged */
	_Atomic int64_t indexed_to; /* number of the last event in the search index */
};

static void scribe_complain(struct scribe *s, const struct fault *f)
{
	if (!s->failed)
		log_line(s->log, LOG_LEVEL_WARN, "the mirror is not written",
			 LOG_FAULT(f));
	s->failed = true;
}

/* Opens the mirror if it is not open, since the vault may appear or become writable at any
 * time. If the state is lost, no mirror is opened, because another state may be at the same
 * path now. */
static bool scribe_is_open(struct scribe *s)
{
	struct fault f = { 0 };

	if (!s->mirror && store_lost(s->store))
		return false;
	if (!s->mirror && mirror_open(&s->mirror, s->home, &f))
		scribe_complain(s, &f);
	else
		s->vault = mirror_watch(s->mirror);
	return s->mirror != NULL;
}

/* Offers new edits of cards' files to the loop, and gives the mirror the results of earlier
 * edits. */
static void pass_edits(struct scribe *s)
{
	struct mirror_edit *edit;

	while ((edit = edits_judged(s->edits))) {
		mirror_edit_judged(s->mirror, edit);
		s->n_edits--;
	}
	while (s->n_edits < EDITS_MOST && (edit = mirror_next_edit(s->mirror))) {
		edits_offer(s->edits, edit);
		s->n_edits++;
	}
}

/* Ends the edits that have no result yet. The edited files stay unchanged, and the next host
 * reads the edits from these files. */
static void end_edits(struct scribe *s)
{
	struct mirror_edit *edit;

	while ((edit = edits_judged(s->edits)))
		mirror_edit_judged(s->mirror, edit);
	while ((edit = edits_take_back(s->edits))) {
		edit->code = FAULT_UNAVAILABLE;
		mirror_edit_judged(s->mirror, edit);
	}
}

/* Writes changes to the mirror for about SLICE_MS. Returns for how many ms the thread should
 * sleep afterwards. */
static int scribe_work(struct scribe *s)
{
	struct fault f = { 0 };
	bool more = false;
	int64_t due;

	if (!scribe_is_open(s))
		return RETRY_MS;
	pass_edits(s); /* called before mirror_step() replaces edited files */
	if (mirror_step(s->mirror, s->store, SLICE_MS, &more, &f)) {
		scribe_complain(s, &f);
		/* The mirror is opened anew later, since the vault may have been moved or
		 * replaced. */
		mirror_close(s->mirror);
		s->mirror = NULL;
		s->vault = -1;
		return RETRY_MS;
	}
	s->failed = false;
	pass_edits(s);
	due = mirror_due(s->mirror);
	if (s->n_edits && (due < 0 || due > EDIT_MS))
		due = EDIT_MS;
	return more ? 0 : due >= 0 && due < NET_MS ? (int)due : NET_MS;
}

/* Extends the search index for about INDEX_MS. The index may lack many events without harm,
 * since each search extends the index too. */
static int index_some(struct scribe *s)
{
	struct fault f = { 0 };
	int64_t indexed_to = 0;
	struct search *search;
	bool more = false;

	if (store_begin(s->store, false, &f))
		return RETRY_MS;
	search = store_search(s->store, &f);
	if (search)
		search_step(search, s->store, INDEX_MS, &indexed_to, &more, &f);
	store_rollback(s->store);
	if (!f.code)
		atomic_store_explicit(&s->indexed_to, indexed_to, memory_order_relaxed);
	return f.code ? RETRY_MS : more ? INDEX_REST_MS : NET_MS;
}

/* Runs one slice of work: writes to the mirror, and then extends the search index. Sets
 * `*rest_ms` to the pause after the slice. Sets `*ms` to the time for which the thread may
 * sleep if no process commits. The syncs of a slice delay the syncs of writers, so the pause is
 * longer if a process committed during the slice. */
static void slice(struct scribe *s, int *ms, int *rest_ms)
{
	uint64_t began = uv_hrtime();
	int index_ms;

	*ms = scribe_work(s);
	index_ms = index_some(s);
	if (index_ms < *ms)
		*ms = index_ms;
	*rest_ms = REST_MS;
	if (sleeper_hears(&s->sleeper))
		*rest_ms += BUSY_RESTS * (int)((uv_hrtime() - began) / 1000000);
}

static void mirror_on(void *arg)
{
	struct scribe *s = arg;
	int ms, rest_ms;

	pthread_setname_np(pthread_self(), "cadre-mirror");
	setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	while (!sleeper_ends(&s->sleeper)) {
		slice(s, &ms, &rest_ms);
		if (ms > 0)
			sleeper_sleep(&s->sleeper, s->vault, ms);
		sleeper_rest(&s->sleeper, -1, rest_ms);
		sleeper_heard(&s->sleeper);
	}
}

int64_t scribe_indexed_to(const struct scribe *s)
{
	return atomic_load_explicit(&s->indexed_to, memory_order_relaxed);
}

static void scribe_release(struct scribe *s)
{
	mirror_close(s->mirror);
	store_close(s->store);
	sleeper_release(&s->sleeper);
	free(s);
}

static int scribe_open(struct host *host, struct fault *f)
{
	const uv_thread_options_t small = {
		.flags = UV_THREAD_HAS_STACK_SIZE,
		.stack_size = 1 << 20,
	};
	struct scribe *s = xcalloc(1, sizeof(*s));
	int rc;

	s->home = host->home;
	s->log = host->log;
	s->edits = host->edits;
	s->vault = -1;
	rc = sleeper_open(&s->sleeper, s->home->dir, f);
	if (rc == 0)
		rc = store_open(&s->store, s->home->dir, STORE_READ, NULL, f);
	if (rc == 0 && uv_thread_create_ex(&s->thread, &small, mirror_on, s))
		rc = fault_set(f, FAULT_UNAVAILABLE, "", "no thread");
	if (rc) {
		scribe_release(s);
		return rc;
	}
	host->scribe = s;
	return 0;
}

/* Ends the thread, and then writes committed changes to the mirror, for LAST_MS at most. */
static void scribe_end(struct host *host)
{
	struct scribe *s = host->scribe;
	struct fault f = { 0 };
	bool more = false;

	if (!s)
		return;
	sleeper_end(&s->sleeper);
	uv_thread_join(&s->thread);
	if (scribe_is_open(s)) {
		end_edits(s);
		mirror_step(s->mirror, s->store, LAST_MS, &more, &f);
	}
	scribe_release(s);
}

const struct host_room room_scribe = {
	.open = scribe_open,
	.release = scribe_end,
};
