/* mcp_peer - clients of MCP over HTTP that are known in memory. */
#include "core/host/mcp/mcp_door_inside.h"

#include <stdlib.h>
#include <string.h>

#include "core/access/token.h"
#include "core/base/alloc.h"

enum {
	PEERS_MOST = 2000,
	TICK_MS = 15000,
	KEPT_MS = 3600000, /* a row says to an hour when its session was used */
	IDLE_MS = 120000, /* without a request; a session comes back from its row */
	UNREAD_MS = 1800000, /* ... while the client has perhaps not read its answers */
};

void mcp_name(const char *text, char out[NAME_SIZE])
{
	static const char hex[] = "0123456789abcdef";
	uint8_t hash[TOKEN_HASH];

	token_hash(text, hash);
	for (int i = 0; i < TOKEN_HASH; i++) {
		out[2 * i] = hex[hash[i] >> 4];
		out[2 * i + 1] = hex[hash[i] & 15];
	}
	out[NAME_SIZE - 1] = '\0';
}

static struct mcp_peer **bucket(struct host *host, const char *name)
{
	unsigned n = 0;

	for (int i = 0; i < 8; i++)
		n = n * 31 + (unsigned char)name[i];
	return &host->mcp_door->peers[n % MCP_BUCKETS];
}

struct mcp_peer *peer_find(struct host *host, const char *name)
{
	struct mcp_peer *p = *bucket(host, name);

	while (p && strcmp(p->name, name) != 0)
		p = p->next;
	return p;
}

/* --- time ------------------------------------------------------------------------------ */

static void mcp_peer_on_timer(uv_timer_t *timer)
{
	struct mcp_peer *p = timer->data;

	mcp_step(p->mcp);
	peer_keep(p, false);
	peer_rouse(p, false);
}

void peer_rouse(struct mcp_peer *p, bool now)
{
	int due = now ? 0 : mcp_timeout(p->mcp);

	if (due < 0)
		uv_timer_stop(&p->timer);
	else
		uv_timer_start(&p->timer, mcp_peer_on_timer, (uint64_t)due, 0);
}

static bool is_idle(const struct mcp_peer *p, uint64_t now)
{
	const uint64_t most = mcp_has_answers(p->mcp) ? UNREAD_MS : IDLE_MS;

	return !p->exchanges && !p->calls && !p->keeping && mcp_idle(p->mcp) &&
	       now - p->used >= most;
}

static void on_checked(struct job *job)
{
	struct mcp_peer *p = peer_find(job->owner, job->call.identity.session);

	if (p && job->call.fault.code && strcmp(job->call.fault.where, "/token") == 0)
		peer_end_trust(p);
	job_free(job);
}

/* Looks whether the token of a client that listens is one still. */
static void check_trust(struct mcp_peer *p)
{
	struct job *job = host_job(p->host, op_token_who, on_checked, p->host);

	job->call.identity = peer_identity(p, &job->call.arena);
	job->call.identity.session = arena_strdup(&job->call.arena, p->name);
	host_submit(p->host, job);
}

static void mcp_peer_on_tick(uv_timer_t *timer)
{
	struct host *host = timer->data;
	const uint64_t now = uv_now(&host->loop);

	for (int i = 0; i < MCP_BUCKETS; i++)
		for (struct mcp_peer *p = host->mcp_door->peers[i], *next; p; p = next) {
			next = p->next;
			exchanges_stir(p);
			if (p->listener && p->bearer)
				check_trust(p);
			if (is_idle(p, now))
				peer_end(p);
		}
}

/* --- rows ------------------------------------------------------------------------------ */

static void mcp_peer_on_kept(struct job *job)
{
	struct host *host = job->owner;
	const struct session_open_in *in = job->call.in; /* both begin with the name */
	struct mcp_peer *p = peer_find(host, in->name);
	const struct fault *f = job->call.fault.code ? &job->call.fault : NULL;

	if (p && f)
		p->changes_kept--; /* it is tried again */
	/* A peer of that name may have ended, and another one begun, since. */
	if (p && p->keeping > 0 && --p->keeping == 0)
		exchanges_release(p, f);
	if (p && f && !p->kept)
		peer_end(p);
	else if (p)
		p->kept = true;
	job_free(job);
}

static void open_row(struct mcp_peer *p, const struct mcp_session *s)
{
	struct job *job = host_job(p->host, op_session_open, mcp_peer_on_kept, p->host);
	struct session_open_in *in = job->call.in;
	struct arena *a = &job->call.arena;

	in->name = arena_strdup(a, p->name);
	in->session = (struct session){
		.proof = arena_strdup(a, p->proof),
		.version = arena_strdup(a, s->version),
		.client = arena_strdup(a, s->client),
		.toolsets = arena_strdup(a, p->toolsets ? p->toolsets : ""),
		.structured = p->structured,
		.level = s->level,
		.watches = arena_strdup(a, s->watches),
	};
	host_submit(p->host, job);
}

static void keep_row(struct mcp_peer *p, const struct mcp_session *s)
{
	struct job *job = host_job(p->host, op_session_keep, mcp_peer_on_kept, p->host);
	struct session_keep_in *in = job->call.in;

	in->name = arena_strdup(&job->call.arena, p->name);
	in->level = s->level;
	in->watches = arena_strdup(&job->call.arena, s->watches);
	host_submit(p->host, job);
}

bool peer_keep(struct mcp_peer *p, bool begins)
{
	const uint64_t now = uv_now(&p->host->loop);
	const bool changed = p->kept && mcp_changes(p->mcp) != p->changes_kept;
	struct mcp_session s;

	if (!begins && !changed && (!p->kept || now - p->kept_at < KEPT_MS))
		return false;
	if (!mcp_session(p->mcp, &s))
		return false;
	p->changes_kept = mcp_changes(p->mcp);
	p->kept_at = now;
	p->keeping++;
	if (begins)
		open_row(p, &s);
	else
		keep_row(p, &s);
	return begins || changed;
}

/* --- life ------------------------------------------------------------------------------ */

static char *mcp_peer_copy(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

static void copy_identity(struct mcp_peer *p, const struct identity *who)
{
	p->who = *who;
	p->who.bearer = p->bearer = mcp_peer_copy(who->bearer);
	p->who.team = p->team = mcp_peer_copy(who->team);
	p->who.agent = p->agent = mcp_peer_copy(who->agent);
	p->who.token = NULL;
}

static void peer_free(struct mcp_peer *p)
{
	free(p->bearer);
	free(p->toolsets);
	free(p->team);
	free(p->agent);
	free(p);
}

static void mcp_peer_on_closed(uv_handle_t *timer)
{
	peer_free(timer->data);
}

/* Whether `a` is evicted before `b`: first peers without answers still to be read, then peers
 * that have been idle for longer. */
static bool goes_before(const struct mcp_peer *a, const struct mcp_peer *b)
{
	const bool first = mcp_has_answers(a->mcp), second = mcp_has_answers(b->mcp);

	return first != second ? second : a->used < b->used;
}

static void mcp_peer_make_room(struct host *host)
{
	struct mcp_peer *oldest = NULL;

	for (int i = 0; i < MCP_BUCKETS; i++)
		for (struct mcp_peer *p = host->mcp_door->peers[i]; p; p = p->next)
			if (!p->exchanges && !p->calls && !p->keeping &&
			    (!oldest || goes_before(p, oldest)))
				oldest = p;
	if (oldest)
		peer_end(oldest);
}

static struct mcp_options options(struct mcp_peer *p)
{
	return (struct mcp_options){
		.home = (struct home *)p->host->home,
		.toolsets = p->toolsets,
		.output_schemas = p->structured,
		.eras = p->has_session ? MCP_LEGACY : MCP_MODERN,
		.identity = &p->who,
		.way = &peer_way,
		.send = exchange_send,
		.drop = exchange_drop,
		.arg = p,
	};
}

struct mcp_peer *peer_new(struct host *host, const char *name, const char *proof,
			  const struct identity *who, bool session,
			  const struct mcp_wants *wants, struct fault *f)
{
	struct mcp_door *door = host->mcp_door;
	struct mcp_options o;
	struct mcp_peer *p;

	if (door->n_peers >= PEERS_MOST)
		mcp_peer_make_room(host);
	if (door->n_peers >= PEERS_MOST) {
		fault_set(f, FAULT_UNAVAILABLE, "", "too many MCP clients are at work");
		f->retry_after_ms = 1000;
		return NULL;
	}
	p = xcalloc(1, sizeof(*p));
	p->host = host;
	p->has_session = session;
	p->structured = wants->structured;
	p->toolsets = mcp_peer_copy(wants->toolsets);
	copy_identity(p, who);
	memcpy(p->name, name, NAME_SIZE);
	memcpy(p->proof, proof, NAME_SIZE);
	o = options(p);
	if (mcp_open(&p->mcp, &o, f)) {
		peer_free(p);
		return NULL;
	}
	mcp_renews(p->mcp, false);
	mcp_hold(p->mcp, session);
	uv_timer_init(&host->loop, &p->timer);
	p->timer.data = p;
	p->used = uv_now(&host->loop);
	p->next = *bucket(host, name);
	*bucket(host, name) = p;
	if (door->n_peers++ == 0)
		uv_timer_start(&door->alive, mcp_peer_on_tick, TICK_MS, TICK_MS);
	return p;
}

void peer_end(struct mcp_peer *p)
{
	struct mcp_peer **at = bucket(p->host, p->name);

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	if (--p->host->mcp_door->n_peers == 0)
		uv_timer_stop(&p->host->mcp_door->alive);
	if (p->listener)
		exchange_end(p->listener);
	mcp_settle(p->mcp);
	mcp_close(p->mcp); /* which drops the requests that are under way */
	while (p->exchanges)
		exchange_end(p->exchanges);
	uv_close((uv_handle_t *)&p->timer, mcp_peer_on_closed);
}

static void mcp_door_make(struct host *host)
{
	uv_timer_init(&host->loop, &host->mcp_door->alive);
	host->mcp_door->alive.data = host;
}

static void mcp_door_close(struct host *host)
{
	for (int i = 0; i < MCP_BUCKETS; i++)
		while (host->mcp_door->peers[i])
			peer_end(host->mcp_door->peers[i]);
	uv_close((uv_handle_t *)&host->mcp_door->alive, NULL);
}

const struct host_room room_mcp_door = {
	.size = sizeof(struct mcp_door),
	.make = mcp_door_make,
	.end = mcp_door_close,
};
