/*
 * web - any bytes at a host's HTTP door: calls, streams of events, MCP over HTTP.
 *
 * The door is the host's own code. The door's calls run on a state in memory, in the next
 * iteration of the host's event loop. The first byte chooses whether the bytes arrive at the
 * Unix socket, as from the operator, or at TCP. At TCP the input cannot guess a valid token, so
 * no row may change. For any input the output is HTTP, and a client that hangs up leaves no
 * memory or descriptor behind.
 */
#include <assert.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/host/handout.h"
#include "core/host/listener.h"
#include "core/host/metrics/metrics.h"
#include "core/host/web/web.h"
#include "core/http/http_inside.h"
#include "tests/lib/hooks.h"
#include "tests/lib/world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CLEAN_EVERY = 1000, TURNS = 40, START = 1000000 };

static struct world world;
static struct host *host;

/* --- calls, as a host runs them ----------------------------------------------------- */

static struct job *first, **last = &first;

static void queue(struct job *job)
{
	job->next = NULL;
	*last = job;
	last = &job->next;
}

struct job *host_job(struct host *h, const struct op *op, void (*done)(struct job *job),
		     void *owner)
{
	struct job *job = job_new(&h->jobs);
	struct call *call = &job->call;

	call->op = op;
	call->in = arena_alloc(&call->arena, op->in->size);
	call->out = arena_alloc(&call->arena, op->out->size);
	call->identity.level = WHO_HOST;
	job->done = done;
	job->owner = owner;
	return job;
}

void host_submit(struct host *h, struct job *job)
{
	(void)h;
	queue(job);
}

void host_read(struct host *h, struct job *job)
{
	(void)h;
	queue(job);
}

struct conn *conn_single(struct host *h, void (*told)(struct conn *c, struct job *job),
			 void *owner)
{
	struct conn *c = xcalloc(1, sizeof(*c));

	c->host = h;
	c->told = told;
	c->owner = owner;
	return c;
}

void conn_call(struct conn *c, struct job *job)
{
	job->conn = c;
	queue(job);
}

void conn_close(struct conn *c)
{
	assert(!c->closing);
	c->closing = true;
}

void handout_settle(struct host *h, const struct given *given, bool arrived, bool sent)
{
	(void)h, (void)given, (void)arrived, (void)sent;
}

void follow_want(struct host *h)
{
	(void)h;
}

bool host_knows_peer(int fd)
{
	return fd >= 0;
}

int host_listen_at(struct host *h, struct host_socket *s, const char *name,
		   void (*on_client)(uv_stream_t *listener, int status), struct fault *f)
{
	(void)h, (void)s, (void)name, (void)on_client, (void)f;
	return -1;
}

/* A call that would wait is answered immediately, because no event can arrive that would end
 * the wait. */
static void run_call(struct job *job)
{
	struct call *call = &job->call;

	call->store = world.store;
	call->settings = &world.settings;
	call->now = world.now++;
	call->seed = world.seed++;
	call->ids = world.ids;
	store_set_now(world.store, call->now);
	if (job->read)
		job->read(job, world.store);
	else if (!job->conn || !job->conn->closing)
		call_run(call);
	if (call->workspace.asked && !call->fault.code)
		fault_set(&call->fault, FAULT_UNAVAILABLE, "", "no guest is here");
	world.ids = call->ids;
}

static void run_all(void)
{
	struct job *job;

	while ((job = first)) {
		struct conn *c = job->conn;

		first = job->next;
		last = first ? last : &first;
		run_call(job);
		if (!c) {
			job->done(job);
			continue;
		}
		c->closing ? (void)0 : c->told(c, job);
		free(c);
		job_free(job);
	}
}

static void turn(void)
{
	uv_run(&host->loop, UV_RUN_NOWAIT);
	run_all();
}

/* --- the state ------------------------------------------------------------------------ */

static void ask(const char *op, const char *args)
{
	json_t *json = json_loads(args, 0, NULL);
	const struct asked q = { .op = op_find(op),
				 .args = json,
				 .identity = { .level = WHO_OPERATOR } };
	struct answer a;

	world_ask(&world, world.store, &q, &a);
	assert(a.rc >= 0);
	answer_release(&a);
	json_decref(json);
}

static void fill(void)
{
	world_open(&world);
	world.now = START;
	ask("team.create",
	    "{\"name\":\"t\",\"roles\":[{\"name\":\"a\"},{\"name\":\"b\"}]}");
	ask("task.create", "{\"team\":\"t\",\"title\":\"x\"}");
	ask("message.send", "{\"team\":\"t\",\"to\":[\"a\"],\"text\":\"x\"}");
	ask("token.create", "{\"operator\":true}");
}

static void open_host(void)
{
	static struct home home;
	static struct host the_host;
	const struct http_service service = { .begin = web_request,
					      .limits = { .connections = 8 } };
	struct http_service at = service;

	host = &the_host;
	host_make_rooms(host);
	host->metrics = metrics_new();
	settings_init(&home.settings);
	settings_init(&host->settings);
	home.settings.config.team_default = "t";
	host->home = &home;
	assert(uv_loop_init(&host->loop) == 0);
	room_web_feed.make(host);
	room_mcp_door.make(host);
	host->web->tcp.host = host->web->local.host = host;
	host->web->local.local = true;
	at.arg = &host->web->tcp;
	host->web->tcp.server = http_open(&host->loop, &at);
	at.arg = &host->web->local;
	host->web->local.server = http_open(&host->loop, &at);
	fill();
}

/* Makes a new state after all sessions and clients have ended. */
static void clean(void)
{
	room_mcp_door.end(host);
	for (int i = 0; i < TURNS; i++)
		turn();
	room_mcp_door.make(host);
	world_close(&world);
	fill();
}

/* --- an input --------------------------------------------------------------------------- */

static bool hear(int fd, bool *fresh)
{
	char buf[65536];
	ssize_t n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);

	if (n > 0 && *fresh)
		assert(n >= 9 && memcmp(buf, "HTTP/1.1 ", 9) == 0);
	if (n > 0)
		*fresh = false;
	return n != 0;
}

static void talk(struct http_server *server, const uint8_t *data, size_t size,
		 size_t step)
{
	bool open = true, fresh = true;
	size_t at = 0;
	int ends[2];

	assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	http_adopt(server, ends[1]);
	for (int i = 0; i < TURNS && open; i++) {
		size_t n = size - at < step ? size - at : step;
		ssize_t sent =
			n ? send(ends[0], data + at, n, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;

		at += sent > 0 ? (size_t)sent : 0;
		i -= sent > 0;
		turn();
		room_web_feed.caught_up(host, false);
		open = hear(ends[0], &fresh);
	}
	close(ends[0]);
	for (int i = 0; i < TURNS && (server->n_conns || first); i++)
		turn();
	assert(!server->n_conns && !server->collected && !first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int inputs;
	uint64_t before;

	if (size < 2)
		return -1;
	if (!host)
		open_host();
	if (++inputs % CLEAN_EVERY == 0)
		clean();
	if (data[0] & 1) {
		talk(host->web->local.server, data + 1, size - 1,
		     1 + (size_t)data[0] * 16);
		return 0;
	}
	before = world_digest(world.store);
	talk(host->web->tcp.server, data + 1, size - 1, 1 + (size_t)data[0] * 16);
	assert(world_digest(world.store) == before);
	return 0;
}
