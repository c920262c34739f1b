/*
 * web_events - the event log as a stream (server-sent events, of the HTML standard).
 *
 * A follower first reads what it has missed, page by page, as calls of event.list; these say
 * who it is and what it may see.  Then it joins the group of those who want the same.  New
 * events are read once for all groups, and each follower of a group gets the same bytes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/event.h"
#include "core/host/web/inside.h"

#include "ops.gen.h"

enum {
	PAGE = 200,
	UNSENT_MOST =
		1 << 20, /* who does not read is cut off, and asks again from there */
	TICK_MS = 1000,
	ALIVE_MS = 20000, /* without an event a comment says that the stream is alive */
	COME_BACK_MS =
		2000, /* told: a client that was cut off comes back after so long */
};

/* A client that follows; in the arena of its exchange. */
struct follower {
	struct http *x;
	struct host *host;
	const char *team, *kind; /* as asked for; NULL: all */
	const char *state; /* incarnation of which it knows; NULL: it does not say */
	int64_t sent; /* events up to this one it has */
	bool has_sent; /* false: it wants to know from now on */
	bool flows; /* its answer has begun */
	struct conn *call; /* what it has missed is being read */
	struct web_group *group; /* NULL: not yet */
	struct follower *next, **at;
	int64_t agent, bearer, until; /* who it is; when its token ends, 0: never */
	uint64_t written_at; /* loop time */
};

/* Followers who want the same. */
struct web_group {
	struct web_group *next;
	int64_t team; /* row; 0: all */
	char *kind; /* NULL: all */
	struct follower *followers;
};

/* --- events ------------------------------------------------------------------------------ */

static void add_frame(struct text *out, const char *incarnation, const struct event *e)
{
	text_addf(out, "id: %s.%" PRId64 "\nevent: %s\ndata: ", incarnation, e->seq,
		  e->event);
	op_encode(&record_event, e, out);
	text_add(out, "\n\n", 2);
}

/* An event as all who follow it get it; in the arena of the job that has read it. */
struct told {
	int64_t seq, team, subject;
	int kind;
	const char *name;
	char *frame;
	size_t len;
};

struct page {
	struct told *all;
	size_t n;
};

/* A page that is being read; in the job's arena. */
struct reading {
	struct host *host;
	char incarnation[40];
};

/* --- on a reader ----------------------------------------------------------------------- */

static int tell_row(struct job *job, const struct event_line_row *r, struct page *page)
{
	const struct reading *reading = job->owner;
	struct call *call = &job->call;
	struct text frame = { 0 };
	struct event e;
	int rc = event_show(call, r, &e);

	if (rc < 0)
		return rc;
	add_frame(&frame, reading->incarnation, &e);
	*(struct told *)arena_push(&call->arena, &page->all, &page->n,
				   sizeof(struct told)) =
		(struct told){ .seq = r->seq,
			       .team = r->team,
			       .subject = r->subject,
			       .kind = (int)r->kind,
			       .name = e.event,
			       .frame =
				       arena_strndup(&call->arena, frame.data, frame.len),
			       .len = frame.len };
	text_release(&frame);
	return 0;
}

static void read_page(struct job *job, struct store *store)
{
	struct call *call = &job->call;
	struct page *page = arena_alloc(&call->arena, sizeof(*page));
	struct event_line_row *rows = NULL;
	size_t n = 0;

	*page = (struct page){ 0 };
	call->store = store;
	call->out = page;
	if (call_begin(call, false))
		return;
	if (sql_all(call, events_after, &rows, &n, .after = job->number, .limit = PAGE) >=
	    0)
		for (size_t i = 0; i < n && tell_row(job, &rows[i], page) == 0; i++)
			;
	store_rollback(store);
}

/* --- groups ------------------------------------------------------------------------------- */

static bool same_kind(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static struct web_group *group_of(struct host *host, int64_t team, const char *kind)
{
	struct web_feed *feed = &host->web.feed;
	struct web_group *g = feed->groups;

	while (g && (g->team != team || !same_kind(g->kind, kind)))
		g = g->next;
	if (g)
		return g;
	g = xcalloc(1, sizeof(*g));
	g->team = team;
	g->kind = kind ? xstrdup(kind) : NULL;
	g->next = feed->groups;
	feed->groups = g;
	return g;
}

static void leave(struct follower *f)
{
	if (!f->group)
		return;
	*f->at = f->next;
	if (f->next)
		f->next->at = f->at;
	f->group = NULL;
}

/* Frees the groups that nobody is in any more. */
static void sweep(struct web_feed *feed)
{
	for (struct web_group **at = &feed->groups, *g; (g = *at);) {
		if (g->followers) {
			at = &g->next;
			continue;
		}
		*at = g->next;
		free(g->kind);
		free(g);
	}
}

static void join(struct follower *f, int64_t team)
{
	struct web_group *g = group_of(f->host, team, f->kind);

	f->group = g;
	f->next = g->followers;
	f->at = &g->followers;
	if (f->next)
		f->next->at = &f->next;
	g->followers = f;
}

/* --- telling ------------------------------------------------------------------------------ */

static void tell(struct follower *f, const char *data, size_t len)
{
	if (http_unsent(f->x) > UNSENT_MOST) {
		http_cut(f->x);
		return;
	}
	f->written_at = uv_now(&f->host->loop);
	http_send(f->x, data, len);
}

static bool wants(const struct web_group *g, const struct told *t)
{
	return (!g->team || g->team == t->team) &&
	       (!g->kind || event_kind_is(event_kind(t->kind), g->kind, strlen(g->kind)));
}

/* Tells a group what it wants of a page.  Somebody may have read some of it by himself. */
static void tell_group(struct web_group *g, const struct page *page)
{
	struct text all = { 0 };
	struct follower *next;
	int64_t first = 0, last = page->all[page->n - 1].seq;

	for (size_t i = 0; i < page->n; i++)
		if (wants(g, &page->all[i])) {
			first = first ? first : page->all[i].seq;
			text_add(&all, page->all[i].frame, page->all[i].len);
		}
	for (struct follower *f = g->followers; f; f = next) {
		next = f->next;
		if (all.len && f->sent < first)
			tell(f, all.data, all.len);
		for (size_t i = 0; i < page->n && f->sent >= first && f->group; i++)
			if (page->all[i].seq > f->sent && wants(g, &page->all[i]))
				tell(f, page->all[i].frame, page->all[i].len);
		f->sent = f->sent < last ? last : f->sent;
	}
	text_release(&all);
}

/* Whether an event is the end of what proved a follower. */
static bool ends(const struct follower *f, const struct told *t)
{
	switch (t->kind) {
	case EVENT_TOKEN_REVOKED:
		return f->bearer && f->bearer == t->subject;
	case EVENT_AGENT_REPLACED:
	case EVENT_AGENT_REMOVED:
		return f->agent && f->agent == t->subject;
	case EVENT_TEAM_DESTROYED:
		return f->agent && f->group->team == t->team;
	default:
		return false;
	}
}

static void end_some(struct web_group *g, const struct page *page)
{
	struct follower *next;

	for (struct follower *f = g->followers; f; f = next) {
		next = f->next;
		for (size_t i = 0; i < page->n; i++)
			if (ends(f, &page->all[i])) {
				http_end(f->x);
				break;
			}
	}
}

static void on_page(struct job *job)
{
	const struct reading *reading = job->owner;
	struct host *host = reading->host;
	struct web_feed *feed = &host->web.feed;
	const struct page *page = job->call.out;
	bool more = false;

	feed->reading = false;
	if (page && page->n) {
		feed->position = page->all[page->n - 1].seq;
		more = page->n == PAGE;
		for (struct web_group *g = feed->groups; g; g = g->next) {
			end_some(g, page);
			tell_group(g, page);
		}
	}
	job_free(job);
	sweep(feed);
	if (more || feed->again)
		web_feed_poke(host);
}

void web_feed_poke(struct host *host)
{
	struct web_feed *feed = &host->web.feed;
	struct reading *reading;
	struct job *job;

	if (!feed->groups || host->stopping)
		return;
	feed->again = feed->reading;
	if (feed->reading)
		return;
	job = job_new(&host->jobs);
	job->call.settings = &host->settings;
	job->call.ids = host->ids;
	reading = arena_alloc(&job->call.arena, sizeof(*reading));
	reading->host = host;
	memcpy(reading->incarnation, feed->incarnation, sizeof(reading->incarnation));
	job->owner = reading;
	job->number = feed->position;
	job->read = read_page;
	job->done = on_page;
	feed->reading = true;
	host_read(host, job);
}

static void on_tick(uv_timer_t *timer)
{
	static const char comment[] = ":\n\n";
	struct host *host = timer->data;
	struct follower *next;
	const uint64_t now = uv_now(&host->loop);
	const int64_t wall = clock_wall_ms();

	for (struct web_group *g = host->web.feed.groups; g; g = g->next)
		for (struct follower *f = g->followers; f; f = next) {
			next = f->next;
			if (f->until && f->until <= wall)
				http_end(f->x);
			else if (now - f->written_at >= ALIVE_MS)
				tell(f, comment, sizeof(comment) - 1);
		}
	sweep(&host->web.feed);
	if (!host->web.feed.groups)
		uv_timer_stop(timer);
}

/* --- what was missed --------------------------------------------------------------------- */

static void read_on(struct follower *f);

/* The follower has all up to f->sent: it joins the others, unless these are further. */
static void catch_up(struct follower *f, const struct call *call)
{
	struct web_feed *feed = &f->host->web.feed;

	f->agent = call->identity.agent ? call->caller.self : 0;
	f->bearer = call->bearer;
	f->until = call->bearer_until;
	if (!feed->groups && !feed->reading)
		feed->position = f->sent;
	if (f->sent < feed->position) {
		read_on(f);
		return;
	}
	join(f, call->caller.team);
	if (!uv_is_active((uv_handle_t *)&feed->alive))
		uv_timer_start(&feed->alive, on_tick, TICK_MS, TICK_MS);
	follow_want(f->host);
	web_feed_poke(f->host);
}

/* The events are gone, or the state is another one since: 410, with the last that is gone. */
static void refuse_gone(struct follower *f, const struct call *call)
{
	struct text body = { 0 };

	text_addf(&body, "{\"error\":");
	fault_write(&call->fault, HINT_ROUTE, &body);
	text_addf(&body, ",\"oldest\":%" PRId64 "}\n", call->as_of + 1);
	http_answer(f->x, 410, "application/json", body.data, body.len);
	text_release(&body);
}

static void on_missed(struct conn *c, struct job *job)
{
	struct http *x = c->owner;
	struct follower *f = x->owner;
	struct call *call = &job->call;
	const struct event_list_out *out = call->out;
	struct web_feed *feed = &f->host->web.feed;
	struct text frames = { 0 };
	bool more;

	f->call = NULL;
	web_note_use(f->host, call);
	if (call->fault.code && f->flows) {
		http_end(x); /* it comes back, and is told then */
		return;
	}
	if (call->fault.code == FAULT_NOT_FOUND && !strcmp(call->fault.where, "/after")) {
		refuse_gone(f, call);
		return;
	}
	if (call->fault.code) {
		web_refuse_call(x, &call->fault);
		return;
	}
	snprintf(feed->incarnation, sizeof(feed->incarnation), "%.*s",
		 (int)strcspn(out->cursor, "."), out->cursor);
	if (f->state && strcmp(f->state, feed->incarnation) != 0) {
		f->sent = -1; /* numbers of another state mean nothing: all are gone */
		f->state = NULL;
		read_on(f);
		return;
	}
	f->state = NULL;
	if (!f->flows) {
		http_flow(x, 200, "text/event-stream");
		text_addf(&frames, "retry: %d\n\n", COME_BACK_MS);
	}
	f->flows = true;
	for (size_t i = 0; i < out->n_events && f->has_sent; i++)
		add_frame(&frames, feed->incarnation, &out->events[i]);
	more = out->more && f->has_sent;
	f->sent = out->next;
	f->has_sent = true;
	tell(f, frames.data, frames.len);
	text_release(&frames);
	if (f->x->owner != f)
		return; /* it was cut off */
	if (more)
		read_on(f);
	else
		catch_up(f, call);
}

static void on_gone(struct http *x)
{
	struct follower *f = x->owner;

	if (f->call)
		conn_close(f->call);
	leave(f);
}

/* Reads the next page for a follower. */
static void read_on(struct follower *f)
{
	json_t *args = json_pack("{s:s*, s:s*, s:i}", "team", f->team, "kind", f->kind,
				 "limit", f->has_sent ? PAGE : 1);

	if (f->has_sent)
		json_object_set_new(args, "after", json_integer(f->sent));
	f->call = web_start(f->x, op_event_list, args, on_missed);
	if (!f->call && f->flows)
		http_end(f->x);
}

/* Reads the number that a client has seen last: "INCARNATION.SEQ" or "SEQ". */
static void take_last(struct follower *f)
{
	const char *said = http_header(f->x, "last-event-id"), *dot;

	if (!said)
		said = http_query(f->x, "after");
	if (!said || !*said)
		return;
	f->has_sent = true;
	dot = strchr(said, '.');
	if (dot)
		f->state = arena_strndup(&f->x->arena, said, (size_t)(dot - said));
	f->sent = strtoll(dot ? dot + 1 : said, NULL, 10);
	if (f->sent < 0)
		f->sent = -1;
}

void web_events(struct http *x)
{
	const struct web_door *door = x->service;
	struct follower *f = arena_alloc(&x->arena, sizeof(*f));

	*f = (struct follower){
		.x = x,
		.host = door->host,
		.team = http_query(x, "team"),
		.kind = http_query(x, "kind"),
	};
	take_last(f);
	x->owner = f;
	x->gone = on_gone;
	read_on(f);
}

void web_events_open(struct host *host)
{
	uv_timer_init(&host->loop, &host->web.feed.alive);
	host->web.feed.alive.data = host;
}

void web_events_close(struct host *host)
{
	uv_close((uv_handle_t *)&host->web.feed.alive, NULL);
}
