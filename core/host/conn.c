#include "core/host/conn.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/host/dialect.h"
#include "core/host/guests/hosted_ask.h"
#include "core/host/handout.h"
#include "core/host/host_inside.h"
#include "core/host/listener.h"
#include "core/host/metrics/metrics.h"
#include "core/mirror/mirror.h"
#include "core/wire/wire.h"
#include "ops.gen.h"

/* Asks the system for more descriptors, and computes the number of places for clients. */
static void crowd_open(struct crowd *crowd)
{
	struct rlimit r;

	crowd->most = CLIENTS_MOST;
	if (getrlimit(RLIMIT_NOFILE, &r))
		return;
	if (r.rlim_cur < 2 * CLIENTS_MOST) {
		r.rlim_cur = r.rlim_max < 2 * CLIENTS_MOST ? r.rlim_max
							   : 2 * CLIENTS_MOST;
		if (setrlimit(RLIMIT_NOFILE, &r))
			getrlimit(RLIMIT_NOFILE, &r);
	}
	if (r.rlim_cur / 2 < CLIENTS_MOST)
		crowd->most = r.rlim_cur / 2;
}

/* Sends a client the fault before the connection is closed. The fault fits into the socket's
 * buffer, which is still empty. */
static void crowd_turn_away(struct conn *c, const char *why)
{
	struct fault f = { 0 };

	metrics_hit(c->host->metrics, HIT_CLIENTS);
	fault_set(&f, FAULT_EXHAUSTED, "", "%s: %zu clients are connected to the host",
		  why, c->host->clients->crowd.n);
	fault_hint(&f, "End some clients, or call without the host: --direct.");
	f.retry_after_ms = CLIENT_SILENT_MS;
	wire_write_fault(&c->flow.out, &f, false, NULL);
	flow_send(&c->flow);
}

static bool is_silent(const struct conn *c, uint64_t now)
{
	return c->seated && !c->started && now - c->since >= CLIENT_SILENT_MS;
}

/* Closes the oldest silent client. The list of clients begins with the newest client. */
static void crowd_make_room(struct host *host)
{
	struct conn *oldest = NULL;

	for (struct conn *c = host->clients->first; c; c = c->next)
		if (is_silent(c, uv_now(&host->loop)))
			oldest = c;
	if (!oldest)
		return;
	crowd_turn_away(oldest, "a newer client needs its place");
	conn_close(oldest);
}

/* Gives a new client a place. Returns false if all places are taken. If all places are taken,
 * this function sends the client a fault, and the caller closes the client. */
static bool crowd_enter(struct conn *c)
{
	struct crowd *crowd = &c->host->clients->crowd;

	if (crowd->n >= crowd->most)
		crowd_make_room(c->host);
	if (crowd->n >= crowd->most) {
		log_seldom(c->host->log, &crowd->refused, LOG_LEVEL_WARN,
			   "further clients are turned away",
			   LOG_NUMBER("clients", crowd->n));
		crowd_turn_away(c, "too many clients");
		return false;
	}
	c->since = uv_now(&c->host->loop);
	c->seated = true;
	crowd->n++;
	return true;
}

/* Frees the place of a client that closes. */
static void crowd_leave(struct conn *c)
{
	c->host->clients->crowd.n -= c->seated;
	c->seated = false;
}

static void close_one(struct conn *c, const char *why)
{
	struct host *host = c->host;

	log_seldom(host->log, &host->clients->unread.closed, LOG_LEVEL_WARN,
		   "a client that does not read is closed",
		   LOG_TEXT("team", c->identity.team),
		   LOG_TEXT("agent", c->identity.agent),
		   LOG_NUMBER("unread_bytes", flow_left(&c->flow)),
		   LOG_TEXT("error", why));
	conn_close(c);
}

static void close_largest(struct host *host)
{
	struct conn *most = NULL;

	for (struct conn *c = host->clients->first; c; c = c->next)
		if (!most || c->unread.memory > most->unread.memory)
			most = c;
	if (most)
		close_one(most,
			  "its unread answers took the most memory, and no room is left");
}

/* Subtracts the memory of a closing client's unread answers from the memory of all clients'
 * unread answers. */
static void unread_forget(struct conn *c)
{
	c->host->clients->unread.memory -= c->unread.memory;
	c->unread.memory = 0;
}

/* Counts the bytes that the client has not read. May close this client or another client. */
static void unread_note(struct conn *c)
{
	struct host *host = c->host;
	size_t left = flow_left(&c->flow), memory = flow_memory(&c->flow);

	host->clients->unread.memory += memory - c->unread.memory;
	c->unread.memory = memory;
	if (left <= UNREAD_SOFT)
		c->unread.seconds = 0;
	if (left > UNREAD_HARD)
		close_one(c,
			  "its unread answers take more memory than one client may have");
	else if (host->clients->unread.memory > UNREAD_ALL)
		close_largest(host);
}

void unread_tick(struct host *host)
{
	struct conn *next;

	for (struct conn *c = host->clients->first; c; c = next) {
		next = c->next;
		if (flow_left(&c->flow) > UNREAD_SOFT &&
		    ++c->unread.seconds >= UNREAD_SOFT_S)
			close_one(c, "for a minute");
	}
}

enum {
	JOBS_MOST = 256, /* calls under way per connection */
	/* Calls under way on all connections. When this number is reached, each connection may
	 * have only JOBS_FEW calls, until fewer than three quarters of JOBS_ALL are under way. */
	JOBS_ALL = 4096,
	JOBS_FEW = 8,
	READS_MOST = 16, /* a connection's reads are limited, since answers may be
			    large */
	REST_MOST = 256 << 10,
};

/* --- out --------------------------------------------------------------------- */

static void conn_mark_dirty(struct conn *c)
{
	if (c->is_dirty || c->closing || c->told)
		return;
	c->is_dirty = true;
	c->dirty = c->host->clients->dirty;
	c->host->clients->dirty = c;
}

static void conn_on_written(struct flow *flow, int status)
{
	struct conn *c = flow->arg;

	if (status < 0)
		conn_close(c);
	else
		conn_mark_dirty(c);
}

static void conn_send_out(struct conn *c)
{
	if (c->closing)
		return;
	if (flow_send(&c->flow))
		conn_close(c);
	else
		unread_note(c);
}

/* --- in ---------------------------------------------------------------------- */

static void read_on(struct conn *c);
static void release_held(struct conn *c);

void conn_flush(struct host *host)
{
	while (host->clients->dirty) {
		struct conn *c = host->clients->dirty;

		host->clients->dirty = c->dirty;
		c->is_dirty = false;
		if (c->closing)
			continue;
		conn_send_out(c);
		if (!c->closing) {
			release_held(c);
			read_on(c);
		}
		if (c->ended && !c->closing && c->n_jobs == 0 && !c->rest.len &&
		    !flow_left(&c->flow))
			conn_close(c);
	}
}

static bool held_up(const struct conn *c)
{
	const size_t most = c->host->clients->crowded ? JOBS_FEW : JOBS_MOST;

	return c->closing || c->host->stopping || c->solo || c->n_jobs >= most ||
	       flow_left(&c->flow) > UNREAD_SOFT;
}

static void on_job(struct job *job);

static void link_job(struct conn *c, struct job *job)
{
	job->conn = c;
	job->done = on_job;
	job->sibling = c->jobs;
	job->sibling_at = &c->jobs;
	if (c->jobs)
		c->jobs->sibling_at = &job->sibling;
	c->jobs = job;
	c->n_jobs++;
	if (++c->host->clients->n_jobs >= JOBS_ALL)
		c->host->clients->crowded = true;
	if (!job->id)
		c->solo = job;
}

/* Clears clients->crowded. Reads again from each client that was held up by the calls of other
 * clients. */
static void end_crowding(struct host *host)
{
	host->clients->crowded = false;
	for (struct conn *c = host->clients->first; c; c = c->next)
		if (c->rest.len)
			conn_mark_dirty(c);
}

static void unlink_job(struct conn *c, struct job *job)
{
	*job->sibling_at = job->sibling;
	if (job->sibling)
		job->sibling->sibling_at = job->sibling_at;
	job->sibling_at = NULL;
	c->n_jobs--;
	if (--c->host->clients->n_jobs < JOBS_ALL * 3 / 4 && c->host->clients->crowded)
		end_crowding(c->host);
	if (c->solo == job)
		c->solo = NULL;
}

static void start_job(struct conn *c, struct job *job)
{
	job->call.now = clock_wall_ms();
	job->first = clock_boot_ms();
	job->began = uv_hrtime();
	job->call.seed = host_seed(c->host);
	job->ready = arena_mark(&job->call.arena);
	if (job->call.op->flags & OP_NEEDS_CURSOR)
		job->call.keep_events =
			mirror_cursor(c->host->home, c->host->incarnation);
	if (job->call.op->flags & OP_WRITE) {
		c->writes_sent++;
		host_write(c->host, job);
		return;
	}
	job->after = c->writes_sent;
	chain_add(&c->held, job);
	release_held(c);
}

/*~ A frame arrives.  Station 4 of 12.
 *
 * All connections are served by one thread, the loop of libuv. The loop never waits for the
 * database, so the loop reads from all clients even when the disk is slow. A frame is four
 * bytes of length and a JSON object. From here on the frame is a `job`: the call, its memory,
 * and its connection.
 *
 * The client may be broken or hostile. So the host bounds the length of a frame, the number of
 * calls under way (held_up), and the bytes of unread answers. The host does not read from a
 * client with too many calls under way or too many unread bytes. The kernel then stops this
 * client from writing, and other clients are not slowed. The host disconnects a client whose
 * frame is too long. For each bound, docs/limits.md lists the cost that a client within the
 * bound can cause, and the test of the bound.
 *
 * start_job() gives a write to the writer's thread, or to a worker if the write works on files.
 * Reads are given to other threads, but only after the earlier writes of the same client are
 * done. So a client sees its own writes.
 *
 * Before a thread can run the job, the host has to decode the call and to identify its caller.
 *
 * Next: core/host/dialect.c
 */
static void on_frame(struct conn *c)
{
	struct fault f = { 0 };
	struct job *job = job_new(&c->host->jobs);
	enum heard what;

	packet_read(&job->packet, c->reader.body, c->reader.size, &f);
	job->call.settings = &c->host->settings;
	job->call.ids = c->host->ids;
	job->call.host = c->host->pid;
	job->call.settles = true;
	what = f.code ? HEARD_NONSENSE : dialect_read(c, job, &f);
	c->started = true;
	if (what == HEARD_CALL) {
		link_job(c, job);
		start_job(c, job);
		return;
	}
	if (what == HEARD_NONSENSE) {
		metrics_refused(c->host->metrics, job->call.op, &f);
		wire_write_fault(&c->flow.out, &f, !c->greeted, job->packet.id);
	}
	job_free(job);
	conn_mark_dirty(c);
}

/* Takes frames from `data` until the connection is held up. Returns the number of bytes taken. */
static size_t take_frames(struct conn *c, const char *data, size_t len)
{
	struct fault f = { 0 };
	size_t at = 0;

	while (at < len && !held_up(c)) {
		size_t used;
		int rc = frame_read(&c->reader, data + at, len - at, &used, &f);

		at += used;
		if (rc < 0) {
			/* After a malformed frame the beginning of the next frame is unknown,
			 * so the connection ends. */
			wire_write_fault(&c->flow.out, &f, !c->greeted, NULL);
			flow_send(&c->flow);
			conn_close(c);
			return len;
		}
		if (rc > 0)
			on_frame(c);
	}
	return at;
}

/* Ends a job whose caller has left. A write runs to its end, unless the write only receives or
 * waits. Other calls are not run any more. */
static void conn_abandon_job(struct conn *c, struct job *job)
{
	if (job->parked_at) {
		waiters_drop(c->host, job);
		unlink_job(c, job);
		job_free(job);
	} else if (job->call.op->flags & OP_REQUEST || job->counted ||
		   !(job->call.op->flags & OP_WRITE)) {
		atomic_store(&job->gone, true);
	}
}

static void conn_abandon(struct conn *c)
{
	struct job *next;

	for (struct job *job = c->jobs; job; job = next) {
		next = job->sibling;
		conn_abandon_job(c, job);
	}
	for (struct job *job; (job = chain_pop(&c->held));) {
		unlink_job(c, job);
		job_free(job);
	}
}

void conn_cancel(struct conn *c, const char *id, bool gone)
{
	struct job *job = c->jobs;

	while (job && !wire_id_is(job->id, id))
		job = job->sibling;
	if (!job) {
		handout_lost(c, id, gone);
		return;
	}
	job->unheard = true;
	conn_abandon_job(c, job);
}

static void conn_on_bytes(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct conn *c = stream->data;
	size_t used = 0;

	if (n == UV_EOF) {
		/* The client may have closed only its sending side, but the host cannot see the
		 * difference. So the host ends the client's waiting calls. */
		c->ended = true;
		uv_read_stop(stream);
		conn_abandon(c);
		conn_mark_dirty(c);
		return;
	}
	if (n < 0) {
		conn_close(c);
		return;
	}
	if (c->rest.len == 0)
		used = take_frames(c, buf->base, (size_t)n);
	if (used < (size_t)n && !c->closing)
		text_add(&c->rest, buf->base + used, (size_t)n - used);
	if (c->rest.len > REST_MOST && !c->closing) {
		c->stopped = true;
		uv_read_stop(stream);
	}
}

static void conn_on_room(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	struct conn *c = handle->data;

	(void)size;
	*buf = uv_buf_init(c->host->buffer, sizeof(c->host->buffer));
}

/* Takes the frames that arrived while the connection was held up. */
static void read_on(struct conn *c)
{
	if (c->rest.len > 0 && !held_up(c)) {
		c->rest_used += take_frames(c, c->rest.data + c->rest_used,
					    c->rest.len - c->rest_used);
		if (!c->closing && c->rest_used == c->rest.len) {
			flow_empty(&c->rest);
			c->rest_used = 0;
		}
	}
	if (c->stopped && !c->closing && !c->ended && c->rest.len == 0) {
		c->stopped = false;
		uv_read_start((uv_stream_t *)&c->pipe, conn_on_room, conn_on_bytes);
	}
}

/* --- answers ------------------------------------------------------------------ */

/* Runs held reads while at most UNREAD_SOFT bytes of answers are unread. A read runs only after
 * the client's earlier writes are done. After a large answer, the next answer may be large too,
 * so the client's reads then run one after another. */
static void release_held(struct conn *c)
{
	struct unread_all *all = &c->host->clients->unread;
	const bool large = !c->unread.small;
	const size_t most = large ? 1 : READS_MOST;

	while (c->held.first && c->held.first->after <= c->writes_done &&
	       c->n_reads < most && flow_left(&c->flow) <= UNREAD_SOFT &&
	       (!large || all->large_reads < UNREAD_LARGE_READS)) {
		struct job *job = chain_pop(&c->held);

		job->large = large;
		all->large_reads += large;
		c->n_reads++;
		host_read(c->host, job);
	}
}

/* Handles the end of a large read of the connection `served`. If `served` is NULL, the
 * connection was closed. Connections behind `served` in the list may read first, so that no
 * connection waits for ever. */
static void large_read_over(struct host *host, struct conn *served)
{
	host->clients->unread.large_reads--;
	for (struct conn *c = served; c; c = c->next)
		if (c != served)
			release_held(c);
	for (struct conn *c = host->clients->first; c; c = c == served ? NULL : c->next)
		release_held(c);
}

/* Handles the end of the first run of a write. The call may still wait for a change. */
static void conn_written(struct conn *c, struct job *job)
{
	if (job->counted)
		return;
	job->counted = true;
	c->writes_done++;
	release_held(c);
}

static void conn_unref(struct conn *c)
{
	if (!c->closed || c->n_jobs > 0)
		return;
	frame_release(&c->reader);
	text_release(&c->rest);
	flow_release(&c->flow);
	free(c->texts);
	free(c);
}

/* Logs a call that failed by a fault of the host or of the machine. At the debug level, logs
 * each call. Arguments are never logged, since an argument may be a secret or the text of a
 * message. */
static void log_call(struct host *host, const struct call *call, uint64_t ns)
{
	const enum fault_code code = call->fault.code;

	if (code == FAULT_INTERNAL || code == FAULT_IO)
		log_seldom(host->log, &host->clients->failed, LOG_LEVEL_ERROR,
			   "a call failed", LOG_TEXT("operation", call->op->name),
			   LOG_TEXT("fault", fault_info(code)->name),
			   LOG_FAULT(&call->fault));
	if (log_takes(host->log, LOG_LEVEL_DEBUG))
		log_line(host->log, LOG_LEVEL_DEBUG, "call",
			 LOG_TEXT("operation", call->op->name),
			 LOG_TEXT("fault", code ? fault_info(code)->name : "none"),
			 LOG_TEXT("team", call->caller.team_name),
			 LOG_TEXT("agent", call->caller.name),
			 LOG_NUMBER("us", ns / 1000));
}

void conn_answer(struct job *job)
{
	struct conn *c = job->conn;
	const bool told = !c->closing && !job->unheard && !atomic_load(&job->gone);
	const bool read = !(job->call.op->flags & OP_WRITE);
	const size_t before = c->flow.out.len;
	uint64_t took;
	bool large;

	took = uv_hrtime() - job->began;
	metrics_call(c->host->metrics, &job->call, took);
	log_call(c->host, &job->call, took);
	unlink_job(c, job);
	if (told && c->told)
		c->told(c, job);
	else if (told)
		dialect_answer(c, job);
	large = c->flow.out.len - before >= UNREAD_LARGE;
	/* A small answer of a write does not predict the size of the answers of reads. */
	if (large || (told && read))
		c->unread.small = !large;
	handout_answered(c, job, told);
	job_free(job);
	/* A large answer is sent and counted immediately. Otherwise many unsent large answers
	 * in one iteration of the loop would take too much memory. */
	if (large)
		conn_send_out(c);
	conn_mark_dirty(c);
	if (c->told && !c->closing)
		conn_close(c);
	else
		conn_unref(c);
}

/* Starts a write in the name of a read's caller, which renews the caller's leases. At least one
 * lease has less than half of its time left. */
static void conn_renew(struct conn *c, const struct job *read)
{
	const struct identity id = call_renewer(&read->call);
	struct job *job = host_job(c->host, op_agent_heartbeat, job_free, NULL);
	struct arena *a = &job->call.arena;

	job->call.identity = id;
	job->call.identity.by_default = NULL;
	job->call.identity.team = arena_strdup(a, id.team);
	job->call.identity.agent = arena_strdup(a, id.agent);
	job->call.identity.token = arena_strdup(a, id.token);
	job->call.identity.session = NULL;
	host_submit(c->host, job);
}

/* Answers the call of a job that has run, or asks a guest, or lets the call wait. */
static void conn_go_on(struct job *job)
{
	struct conn *c = job->conn;
	bool left;

	if (!(job->call.op->flags & OP_WRITE) && !job->counted) {
		job->counted = true;
		c->n_reads--;
		release_held(c);
	}
	if (job->call.op->flags & OP_WRITE) {
		conn_written(c, job);
		if (job->call.op->flags & OP_MOVES_WORKSPACES && !job->call.fault.code)
			reconcile_poke(c->host);
	}
	if (job->call.renew && !job->call.identity.door && !job->call.fault.code)
		conn_renew(c, job);
	left = c->closing || c->ended || job->unheard || atomic_load(&job->gone);
	if (!job->call.fault.code) {
		if (job->call.workspace.asked) {
			/* ask_start() starts no command for a caller that has left. */
			atomic_store(&job->gone, left);
			ask_start(c->host, job);
			return;
		}
		if (job->call.workspace.copied && !c->closing) {
			reconcile_ask(c->host, job);
			return;
		}
		if (job->call.wait_on && !left && waiters_park(c->host, job))
			return;
	}
	conn_answer(job);
}

/* Handles a job that a thread has run. */
static void on_job(struct job *job)
{
	struct conn *c = job->conn;
	struct host *host = c->host;
	const bool large = job->large, closing = c->closing;

	job->large = false;
	conn_go_on(job); /* may close the connection; frees a closing connection */
	if (large)
		large_read_over(host, closing || c->closing ? NULL : c);
}

/* --- life ---------------------------------------------------------------------- */

static void conn_on_closed(uv_handle_t *handle)
{
	struct conn *c = handle->data;

	c->closed = true;
	conn_unref(c);
}

void conn_close(struct conn *c)
{
	if (c->closing)
		return;
	c->closing = true;
	unread_forget(c);
	crowd_leave(c);
	*c->at = c->next;
	if (c->next)
		c->next->at = c->at;
	conn_abandon(c);
	handout_close(c);
	if (!c->told) {
		uv_close((uv_handle_t *)&c->pipe, conn_on_closed);
		return;
	}
	c->closed = true;
	conn_unref(c);
}

static bool peer_known(struct conn *c)
{
	uv_os_fd_t fd;

	return uv_fileno((uv_handle_t *)&c->pipe, &fd) == 0 && host_knows_peer(fd);
}

static struct conn *conn_linked(struct host *host)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->host = host;
	c->next = host->clients->first;
	c->at = &host->clients->first;
	if (c->next)
		c->next->at = &c->next;
	host->clients->first = c;
	return c;
}

static struct conn *conn_alloc(struct host *host)
{
	struct conn *c = conn_linked(host);

	if (!c)
		return NULL;
	c->pipe.data = c;
	c->flow.stream = (uv_stream_t *)&c->pipe;
	c->flow.wrote = conn_on_written;
	c->flow.arg = c;
	uv_pipe_init(&host->loop, &c->pipe, 0);
	return c;
}

struct conn *conn_single(struct host *host, void (*told)(struct conn *c, struct job *job),
			 void *owner)
{
	struct conn *c = conn_linked(host);

	if (!c)
		return NULL;
	c->told = told;
	c->owner = owner;
	c->unread.small = true; /* this connection has no unread answers */
	return c;
}

void conn_call(struct conn *c, struct job *job)
{
	job->call.settings = &c->host->settings;
	job->call.ids = c->host->ids;
	job->call.host = c->host->pid;
	link_job(c, job);
	start_job(c, job);
}

void conn_accept(struct host *host)
{
	struct conn *c = conn_alloc(host);

	if (!c)
		return;
	c->identity.level = WHO_OPERATOR;
	c->identity.by_default = host->home->settings.config.team_default;
	if (uv_accept((uv_stream_t *)&host->sockets->own.pipe, (uv_stream_t *)&c->pipe) ||
	    !peer_known(c) || !crowd_enter(c) ||
	    uv_read_start((uv_stream_t *)&c->pipe, conn_on_room, conn_on_bytes))
		conn_close(c);
}

void conn_adopt(struct host *host, int fd, const struct identity *who, bool greeted)
{
	struct conn *c = conn_alloc(host);

	if (!c) {
		close(fd);
		return;
	}
	c->pinned = true;
	c->greeted = greeted;
	dialect_pin(c, who);
	if (uv_pipe_open(&c->pipe, fd)) {
		close(fd);
		conn_close(c);
	} else if (uv_read_start((uv_stream_t *)&c->pipe, conn_on_room, conn_on_bytes)) {
		conn_close(c);
	}
}

static void clients_make(struct host *host)
{
	crowd_open(&host->clients->crowd);
}

static void clients_end(struct host *host)
{
	while (host->clients->first)
		conn_close(host->clients->first);
}

const struct host_room room_clients = {
	.size = sizeof(struct clients),
	.make = clients_make,
	.tick = unread_tick,
	.end = clients_end,
};
