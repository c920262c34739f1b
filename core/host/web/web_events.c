/*
 * web_events - sends the event log as a stream (server-sent events of the HTML standard).
 *
 * A follower is a client that follows the event log. First the missed events are read for the
 * follower, page by page, by calls of event.list. The calls check the caller's rights. Then the
 * follower joins a group for new events.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/access/limit.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/event/event.h"
#include "core/host/web/web.h"

static void web_events_wait(struct follower *f);
static void web_events_read(struct follower *f);

/* --- feed -------------------------------------------------------------------- */

/*
 * feed - sends new events to all clients that follow the log over HTTP.
 *
 * Followers that want the same events form a group. After each commit host_follow.c reads the
 * numbers and kinds of new events. If a group wants one of the new events, the feed reads the
 * new events once for all groups. Each follower of a group gets the same bytes. So followers
 * that want only rare events hardly slow the other clients of the host.
 */

enum {
	PAGE = 200,
	UNSENT_MOST = 1 << 20, /* a follower with more unsent bytes than this leaves its
				  group until all bytes are sent */
	TICK_MS = 1000,
	ALIVE_MS = 20000, /* after this time without an event, a comment is sent */
};

/* Followers that want the same events. */
struct web_group {
	struct web_group *next;
	int64_t team; /* row of the team; 0: all teams */
	char *kind; /* kind of events; NULL: all kinds */
	bool late; /* the page being read was requested before the group was made */
	struct follower *followers;
	int64_t sent; /* number of the last event that the group has got */
};

/* --- events ---------------------------------------------------------------------------- */

/* Appends an event as a server-sent event. */
static void web_feed_frame(struct text *out, const char *incarnation,
			   const struct event *e)
{
	text_addf(out, "id: %s.%" PRId64 "\nevent: %s\ndata: ", incarnation, e->seq,
		  e->event);
	op_encode(&record_event, e, out);
	text_add(out, "\n\n", 2);
}

/* An event as text. The struct is in the arena of the job that has read the event. */
struct told {
	int64_t seq, team, subject;
	int kind;
	char *frame;
	size_t len;
};

struct page {
	struct told *all; /* the events that some group wants, or that may end a stream */
	size_t n;
	int64_t last; /* number of the last event that was read; 0: no event was read */
};

/* The events that a group wants. */
struct want {
	int64_t team; /* row of the team; 0: all teams */
	const char *kind; /* kind of events; NULL: all kinds */
};

/* What each group wants of a page that is being read. The struct is in the job's arena. */
struct reading {
	struct host *host;
	char incarnation[40];
	struct want *wants;
	size_t n_wants;
};

static bool web_feed_is_wanted(const struct want *w, int64_t team, int kind)
{
	return (!w->team || w->team == team) &&
	       (!w->kind || event_kind_is(event_kind(kind), w->kind, strlen(w->kind)));
}

/* --- on a reader ----------------------------------------------------------------------- */

static int web_feed_tell_row(struct job *job, const struct event_line_row *r,
			     struct page *page)
{
	const struct reading *reading = job->owner;
	struct call *call = &job->call;
	struct text frame = { 0 };
	struct event e;
	int rc = event_show(call, r, &e);

	if (rc < 0)
		return rc;
	web_feed_frame(&frame, reading->incarnation, &e);
	arena_add(&call->arena, page->all, page->n,
		  (struct told){
			  .seq = r->seq,
			  .team = r->team,
			  .subject = r->subject,
			  .kind = (int)r->kind,
			  .frame = arena_strndup(&call->arena, frame.data, frame.len),
			  .len = frame.len });
	text_release(&frame);
	return 0;
}

/* Whether an event of this kind may end a follower's right to read, because the follower's
 * token, agent or team is gone. */
static bool may_end(int kind)
{
	return kind == EVENT_TOKEN_REVOKED || kind == EVENT_AGENT_REPLACED ||
	       kind == EVENT_AGENT_REMOVED || kind == EVENT_TEAM_DESTROYED;
}

/* Whether an event has to be made into a `struct told`. Most events are skipped, since no group
 * wants them. */
static bool web_feed_is_told(const struct reading *reading,
			     const struct event_line_row *row)
{
	for (size_t i = 0; i < reading->n_wants; i++)
		if (web_feed_is_wanted(&reading->wants[i], row->team, (int)row->kind))
			return true;
	return may_end((int)row->kind);
}

static void feed_read_page(struct job *job, struct store *store)
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
	if (sql_all(call, events_after, &rows, &n, .after = job->number, .limit = PAGE) <
	    0)
		n = 0;
	for (size_t i = 0; i < n; i++) {
		if (web_feed_is_told(job->owner, &rows[i]) &&
		    web_feed_tell_row(job, &rows[i], page) < 0)
			break; /* the next page begins with this event */
		page->last = rows[i].seq;
	}
	store_rollback(store);
}

/* --- groups ------------------------------------------------------------------------------- */

static bool same_kind(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static struct web_group *group_of(struct host *host, int64_t team, const char *kind)
{
	struct web_feed *feed = host->web_feed;
	struct web_group *g = feed->groups;

	while (g && (g->team != team || !same_kind(g->kind, kind)))
		g = g->next;
	if (g)
		return g;
	g = xcalloc(1, sizeof(*g));
	g->team = team;
	g->late = feed->reading;
	g->kind = kind ? xstrdup(kind) : NULL;
	g->next = feed->groups;
	feed->groups = g;
	/* For the events that host->follow has read already, nobody has checked whether the new
	 * group wants these events. So the events count as wanted. */
	if (host->follow->position > feed->wanted)
		feed->wanted = host->follow->position;
	return g;
}

/* Returns the number of an event. The follower, which is in a group, has all its events up to
 * this event. */
static int64_t sent_to(const struct follower *f)
{
	return f->sent > f->group->sent ? f->sent : f->group->sent;
}

/* Removes a follower from its group, if it is in a group. */
static void web_feed_leave(struct follower *f)
{
	if (!f->group)
		return;
	*f->at = f->next;
	if (f->next)
		f->next->at = f->at;
	f->sent = sent_to(f);
	f->group = NULL;
}

/* Frees the groups that have no followers. */
static void web_feed_sweep(struct web_feed *feed)
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

/* --- sending ------------------------------------------------------------------------------ */

/* Sends bytes to a follower. */
static void web_feed_tell(struct follower *f, const char *data, size_t len)
{
	f->written_at = uv_now(&f->host->loop);
	http_send(f->x, data, len);
}

static bool group_wants(const struct web_group *g, int64_t team, int kind)
{
	return web_feed_is_wanted(&(struct want){ g->team, g->kind }, team, kind);
}

static void tell_follower(struct follower *f, const struct page *page,
			  const struct text *all, int64_t first)
{
	const struct web_group *g = f->group;
	const int64_t sent = sent_to(f);

	if (sent < first)
		web_feed_tell(f, all->data, all->len);
	for (size_t i = 0; i < page->n && sent >= first; i++)
		if (page->all[i].seq > sent &&
		    group_wants(g, page->all[i].team, page->all[i].kind))
			web_feed_tell(f, page->all[i].frame, page->all[i].len);
	f->sent = sent < page->last ? page->last : sent;
	if (http_unsent(f->x) > UNSENT_MOST)
		web_events_wait(f);
}

/* Sends a group the events of a page that the group wants. If the group wants no event of the
 * page, its followers are not visited, since a group may have very many followers. A follower
 * may already have some of the events. */
static void tell_group(struct web_group *g, const struct page *page)
{
	struct text all = { 0 };
	struct follower *next;
	int64_t first = 0;

	for (size_t i = 0; i < page->n; i++)
		if (group_wants(g, page->all[i].team, page->all[i].kind)) {
			first = first ? first : page->all[i].seq;
			text_add(&all, page->all[i].frame, page->all[i].len);
		}
	for (struct follower *f = all.len ? g->followers : NULL; f; f = next) {
		next = f->next;
		tell_follower(f, page, &all, first);
	}
	g->sent = page->last;
	text_release(&all);
}

/* Removes all followers of a new group from the group, and reads the next events for each
 * follower alone. The page that was just read does not contain the events that the new group
 * wants. */
static void read_again(struct web_group *g)
{
	for (struct follower *f; (f = g->followers);) {
		web_feed_leave(f);
		web_events_read(f);
	}
}

/* Whether an event ends a follower's right to read. */
static bool web_feed_ends(const struct follower *f, const struct told *t)
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

static bool ends_any(const struct page *page)
{
	for (size_t i = 0; i < page->n; i++)
		if (may_end(page->all[i].kind))
			return true;
	return false;
}

static void end_some(struct web_group *g, const struct page *page)
{
	struct follower *next;

	for (struct follower *f = ends_any(page) ? g->followers : NULL; f; f = next) {
		next = f->next;
		for (size_t i = 0; i < page->n; i++)
			if (web_feed_ends(f, &page->all[i])) {
				http_end(f->x);
				break;
			}
	}
}

static void web_feed_poke(struct host *host);

static void web_feed_on_page(struct job *job)
{
	const struct reading *reading = job->owner;
	struct host *host = reading->host;
	struct web_feed *feed = host->web_feed;
	const struct page *page = job->call.out;
	const bool read = page && page->last, moved = read && page->last > feed->position;

	feed->reading = false;
	if (read)
		feed->position = page->last;
	for (struct web_group *g = feed->groups; read && g; g = g->next) {
		end_some(g, page);
		if (g->late)
			read_again(g);
		else
			tell_group(g, page);
	}
	job_free(job);
	if (moved) /* else web_feed_caught_up() pokes the feed later */
		web_feed_poke(host);
}

/* Stores the number of an event that a group wants, or that may end a stream. */
static void web_feed_event(struct host *host, const struct host_event_row *e)
{
	const struct web_group *g = host->web_feed->groups;
	const int kind = (int)e->kind;

	while (g && !may_end(kind) && !group_wants(g, e->team, kind))
		g = g->next;
	if (g)
		host->web_feed->wanted = e->seq;
}

/* Whether a group may want an event behind feed->position. Events that host->follow has skipped
 * may be wanted. If no event is wanted, feed->position moves to the last event that
 * host->follow has read. */
static bool is_due(struct web_feed *feed, const struct follow *follow)
{
	if (feed->wanted > feed->position || follow->since > feed->position)
		return true;
	if (follow->position > feed->position)
		feed->position = follow->position;
	return false;
}

/* Begins to read the next page if a group may want an event of the page. */
static void web_feed_poke(struct host *host)
{
	struct web_feed *feed = host->web_feed;
	struct reading *reading;
	struct job *job;

	if (feed->reading || host->stopping)
		return;
	web_feed_sweep(feed);
	if (!feed->groups || !is_due(feed, host->follow))
		return;
	job = job_new(&host->jobs);
	job->call.settings = &host->settings;
	job->call.ids = host->ids;
	reading = arena_alloc(&job->call.arena, sizeof(*reading));
	*reading = (struct reading){ .host = host };
	memcpy(reading->incarnation, feed->incarnation, sizeof(reading->incarnation));
	for (struct web_group *g = feed->groups; g; g = g->next) {
		arena_add(&job->call.arena, reading->wants, reading->n_wants,
			  (struct want){ g->team,
					 arena_strdup(&job->call.arena, g->kind) });
		g->late = false;
	}
	job->owner = reading;
	job->number = feed->position;
	job->read = feed_read_page;
	job->done = web_feed_on_page;
	feed->reading = true;
	host_read(host, job);
}

static void web_feed_on_tick(uv_timer_t *timer)
{
	static const char comment[] = ":\n\n";
	struct host *host = timer->data;
	struct follower *next;
	const uint64_t now = uv_now(&host->loop);
	const int64_t wall = clock_wall_ms();

	for (struct web_group *g = host->web_feed->groups; g; g = g->next)
		for (struct follower *f = g->followers; f; f = next) {
			next = f->next;
			if (f->until && f->until <= wall)
				http_end(f->x);
			else if (now - f->written_at >= ALIVE_MS)
				web_feed_tell(f, comment, sizeof(comment) - 1);
		}
	web_feed_sweep(host->web_feed);
	if (!host->web_feed->groups)
		uv_timer_stop(timer);
}

/* How soon the feed needs new events. While the feed reads a page, it needs new events without
 * a pause. */
static enum follows web_feed_follows(const struct host *host)
{
	const struct web_feed *feed = host->web_feed;

	return !feed->groups ? FOLLOWS_NOT : feed->reading ? FOLLOWS_NOW : FOLLOWS_LATE;
}

static void web_feed_caught_up(struct host *host, bool missed)
{
	(void)missed;
	web_feed_poke(host);
}

/* --- life -------------------------------------------------------------------------------- */

static void web_feed_start(struct host *host)
{
	struct web_feed *feed = host->web_feed;

	if (!uv_is_active((uv_handle_t *)&feed->alive))
		uv_timer_start(&feed->alive, web_feed_on_tick, TICK_MS, TICK_MS);
	follow_want(host);
	web_feed_poke(host);
}

/* Adds a follower to the group that wants events of the kind f->kind and of one team. `team` is
 * the number of the team's row, or 0 for all teams. The follower has all its events up to
 * f->sent. Returns false if the groups have got later events already, which the follower has to
 * read first. */
static bool web_feed_join(struct follower *f, int64_t team)
{
	struct web_feed *feed = f->host->web_feed;
	struct web_group *g;

	if (!feed->groups && !feed->reading)
		feed->position = f->sent;
	if (f->sent < feed->position)
		return false;
	g = group_of(f->host, team, f->kind);
	f->group = g;
	f->next = g->followers;
	f->at = &g->followers;
	if (f->next)
		f->next->at = &f->next;
	g->followers = f;
	web_feed_start(f->host);
	return true;
}

static void web_feed_make(struct host *host)
{
	struct web_feed *feed = host->web_feed;

	uv_timer_init(&host->loop, &feed->alive);
	feed->alive.data = host;
}

static void web_feed_close(struct host *host)
{
	uv_close((uv_handle_t *)&host->web_feed->alive, NULL);
}

const struct host_room room_web_feed = {
	.size = sizeof(struct web_feed),
	.make = web_feed_make,
	.event = web_feed_event,
	.follows = web_feed_follows,
	.caught_up = web_feed_caught_up,
	.end = web_feed_close,
};

/* No event has this number. */
#define BEYOND ((json_int_t)1 << 53)

enum {
	COME_BACK_MS = 2000, /* a client whose stream ends connects again after this
				time */
};

/* Lets a follower that has all missed events join a group. If newer events exist already, reads
 * these events for the follower first. */
static void web_events_catch_up(struct follower *f, const struct call *call)
{
	if (!web_feed_join(f, call->caller.team))
		web_events_read(f);
}

/* Refuses a request with status 410, because the events after the client's last event are gone,
 * or because this event is of another state. The answer's body names the oldest event that
 * exists. */
static void refuse_gone(struct follower *f, const struct call *call)
{
	struct text body = { 0 };

	text_addf(&body, "{\"error\":");
	fault_write(&call->fault, HINT_ROUTE, &body);
	text_addf(&body, ",\"oldest\":%" PRId64 "}\n", call->as_of + 1);
	http_answer(f->x, 410, "application/json", body.data, body.len);
	text_release(&body);
}

static void web_events_on_gone(struct http *x);

/* Whether the request `other` is an open stream of the same caller as the request `one`. */
static bool web_events_is_same(const struct http *one, const struct http *other)
{
	const struct follower *a = one->owner, *b = other->owner;

	return other->gone == web_events_on_gone && b->flows &&
	       (a->agent ? a->agent == b->agent : a->bearer == b->bearer);
}

/* Refuses the request if its caller already has limits.max_streams open streams. Returns
 * whether the request was refused. A stream takes nothing from a rate bucket, since all clients
 * connect again at the same time when a host is restarted. */
static bool has_enough(struct follower *f, const struct call *call)
{
	const struct config *config = &call->settings->config;
	const int64_t most = config->limits_max_streams;
	struct fault why = { 0 };

	if (!limit_binds(config, &call->identity, RATE_DEFAULT) ||
	    http_count(f->x, web_events_is_same) < most)
		return false;
	fault_set(&why, FAULT_EXHAUSTED, "",
		  "%" PRId64 " streams of this client are open already", most);
	fault_hint(&why, "Close a stream. limits.max_streams sets the limit.");
	why.retry_after_ms = COME_BACK_MS;
	web_refuse(f->x, 0, &why);
	return true;
}

/* Answers a follower whose read of missed events failed. */
static void refuse_missed(struct follower *f, struct call *call)
{
	if (f->flows) /* the client connects again, and gets the fault then */
		http_end(f->x);
	else if (call->fault.code == FAULT_NOT_FOUND &&
		 !strcmp(call->fault.where, "/after"))
		refuse_gone(f, call);
	else
		web_refuse_call(f->x, &call->fault);
}

static void on_missed(struct conn *c, struct job *job)
{
	struct http *x = c->owner;
	struct follower *f = x->owner;
	struct call *call = &job->call;
	const struct event_list_out *out = call->out;
	struct web_feed *feed = f->host->web_feed;
	struct text frames = { 0 };
	bool more;

	f->call = NULL;
	web_note_use(f->host, call);
	if (call->fault.code) {
		refuse_missed(f, call);
		return;
	}
	snprintf(feed->incarnation, sizeof(feed->incarnation), "%.*s",
		 (int)strcspn(out->cursor, "."), out->cursor);
	if (f->state && strcmp(f->state, feed->incarnation) != 0) {
		/* The client's last event is of another state. Events after this event count as
		 * gone, since the event's number means nothing in this state. */
		f->sent = -1;
		f->state = NULL;
		web_events_read(f);
		return;
	}
	f->state = NULL;
	f->agent = call->identity.agent ? call->caller.self : 0;
	f->bearer = call->bearer.row;
	f->until = call->bearer.until;
	if (!f->flows && has_enough(f, call))
		return;
	if (!f->flows) {
		http_flow(x, 200, "text/event-stream");
		text_addf(&frames, "retry: %d\n\n", COME_BACK_MS);
	}
	f->flows = true;
	for (size_t i = 0; i < out->n_events && f->has_sent; i++)
		web_feed_frame(&frames, feed->incarnation, &out->events[i]);
	more = out->more && f->has_sent;
	/* If the client's number is higher than the newest event's number, the client has
	 * followed a state that was lost. The follower then gets only new events. */
	f->sent = out->next < call->as_of ? out->next : call->as_of;
	f->has_sent = true;
	web_feed_tell(f, frames.data, frames.len);
	text_release(&frames);
	if (more && http_unsent(f->x) > 0)
		f->waits = true;
	else if (more)
		web_events_read(f);
	else
		web_events_catch_up(f, call);
}

static void on_drained(struct http *x)
{
	struct follower *f = x->owner;

	if (!f->waits)
		return;
	f->waits = false;
	web_events_read(f);
}

/* Removes a slow follower from its group, until the follower has read all sent bytes. */
static void web_events_wait(struct follower *f)
{
	web_feed_leave(f);
	f->waits = true;
}

static void web_events_on_gone(struct http *x)
{
	struct follower *f = x->owner;

	if (f->call)
		conn_close(f->call);
	web_feed_leave(f);
}

/* Reads the next page for a follower that is in no group. */
static void web_events_read(struct follower *f)
{
	json_t *args = json_pack("{s:s*, s:s*, s:i}", "team", f->team, "kind", f->kind,
				 "limit", f->has_sent ? PAGE : 1);

	/* A client that wants only new events reads after BEYOND, where no events are, so the
	 * read is short. */
	json_object_set_new(args, "after", json_integer(f->has_sent ? f->sent : BEYOND));
	f->call = web_go_on(f->x, op_event_list, args, on_missed);
	if (!f->call && f->flows)
		http_end(f->x);
}

static bool web_events_is_number(const char *s)
{
	return *s && strspn(s, "0123456789") == strlen(s) && strlen(s) < 19;
}

static int refuse_last(struct follower *f, const char *said)
{
	struct fault why = { 0 };

	fault_set(&why, FAULT_INVALID, "/after", "%.80s is not the id of an event", said);
	fault_hint(&why, "Send the `id` of your last event, unchanged.");
	web_refuse(f->x, 0, &why);
	return why.code;
}

/* Reads the id of the client's last event, "INCARNATION.SEQ" or "SEQ". Returns 0, or a fault if
 * the request was refused. */
static int take_last(struct follower *f)
{
	const char *said = http_header(f->x, "last-event-id"), *dot, *number;

	if (!said)
		said = http_query(f->x, "after");
	if (!said || !*said)
		return 0;
	dot = strchr(said, '.');
	number = dot ? dot + 1 : said;
	if (!web_events_is_number(number) && strcmp(number, "-1") != 0)
		return refuse_last(f, said);
	f->has_sent = true;
	if (dot)
		f->state = arena_strndup(&f->x->arena, said, (size_t)(dot - said));
	f->sent = strtoll(number, NULL, 10);
	return 0;
}

/* Whether the query has only known arguments. A query with other arguments is refused. */
static bool knows_query(struct http *x)
{
	static const char *const known[] = { "team=", "kind=", "after=" };
	struct fault f = { 0 };
	const char *at = x->query;
	size_t i = 0;

	while (*at && i < 3) {
		for (i = 0; i < 3 && strncmp(at, known[i], strlen(known[i])) != 0; i++)
			;
		if (i < 3) {
			at += strcspn(at, "&");
			at += strspn(at, "&");
		}
	}
	if (!*at)
		return true;
	fault_set(&f, FAULT_INVALID, "", "/events takes team, kind and after, not %.60s",
		  at);
	web_refuse(x, 0, &f);
	return false;
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
	if (!knows_query(x) || take_last(f))
		return;
	x->owner = f;
	x->gone = web_events_on_gone;
	x->drained = on_drained;
	web_events_read(f);
}
