/*
 * HTTP: a request beside a server that parses and sends a constant; a tool of MCP beside a request
 * of the same operation; sends of 64 clients beside the host's own socket; the cost of many silent
 * followers of the event log.
 */
#include <errno.h>
#include <llhttp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "tools/bench/floor.h"
#include "tools/bench/stage.h"

enum { CLIENTS = 64, ROUNDS = 5, SLICES = 8, FOLLOWERS = 10000 };

/* --- what is said --------------------------------------------------------------------- */

/* A request whose every answer is alike; the argument of script_web. */
struct web_talk {
	const char *method, *path, *headers;
	const char *body; /* %d in it is the neighbour's number; NULL: none */
};

static size_t web_answer_whole(const char *data, size_t size)
{
	const char *end = memmem(data, size, "\r\n\r\n", 4);
	const char *length =
		end ? memmem(data, (size_t)(end - data), "\r\nContent-Length: ", 18)
		    : NULL;
	size_t n = end ? (size_t)(end - data) + 4 : 0;

	if (length)
		n += strtoul(length + 18, NULL, 10);
	return n && n <= size ? n : 0;
}

static int web_join(struct speaker *s)
{
	return load_join(s->load->socket);
}

static void web_ask(struct speaker *s, int step)
{
	const struct web_talk *t = s->load->arg;
	char body[FLOOR_BODY + 200], out[FLOOR_BODY + 800];
	int n = 0;

	(void)step;
	if (t->body)
		n = snprintf(body, sizeof(body), t->body, s->number,
			     (s->number + 1) % CLIENTS);
	n = snprintf(
		out, sizeof(out),
		"%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
		"%sContent-Length: %d\r\n\r\n%s",
		t->method, t->path, t->headers ? t->headers : "", n, n ? body : "");
	load_say(s, out, (size_t)n);
}

static bool web_heard(struct speaker *s, int step, const char *data, size_t size)
{
	(void)s, (void)step;
	return size > 12 && memcmp(data, "HTTP/1.1 200", 12) == 0 &&
	       !memmem(data, size, "isError", 7);
}

static const struct script script_web = {
	.n_steps = 1,
	.join = web_join,
	.ask = web_ask,
	.whole = web_answer_whole,
	.heard = web_heard,
};

/* --- the floor: llhttp and a constant ---------------------------------------------------- */

static const char constant[] =
	"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	"Content-Length: 44\r\n\r\n"
	"{\"name\":\"a0\",\"team\":\"t\",\"level\":\"operator\"}\n";

static int on_whole(llhttp_t *parser)
{
	*(bool *)parser->data = true;
	return 0;
}

/* Answers one client until the client leaves. */
static void echo_client(int fd)
{
	llhttp_settings_t callbacks;
	bool whole = false;
	llhttp_t parser;
	char in[4096];
	ssize_t n;

	llhttp_settings_init(&callbacks);
	callbacks.on_message_complete = on_whole;
	llhttp_init(&parser, HTTP_REQUEST, &callbacks);
	parser.data = &whole;
	while ((n = read(fd, in, sizeof(in))) > 0 &&
	       llhttp_execute(&parser, in, (size_t)n) == HPE_OK) {
		if (whole && load_write_all(fd, constant, sizeof(constant) - 1))
			break;
		whole = false;
	}
	close(fd);
}

static int web_listen_at(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%.100s", path);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 &&
	    listen(fd, 8) == 0)
		return fd;
	return bench_fail("%s: %s", path, strerror(errno));
}

/* Starts a process that answers each client after the other: its id, or -1. */
static pid_t echo_start(const char *path)
{
	int listener = web_listen_at(path), client;
	pid_t pid = listener < 0 ? -1 : fork();

	if (pid == 0) {
		while ((client = accept(listener, NULL, NULL)) >= 0)
			echo_client(client);
		_exit(0);
	}
	if (listener >= 0)
		close(listener);
	return pid;
}

/* --- one request ------------------------------------------------------------------------ */

static double p50_us(const struct web_talk *talk, const char *socket,
		     const struct bench_ground *g)
{
	const struct load load = { .script = &script_web,
				   .socket = socket,
				   .arg = talk,
				   .clients = 1,
				   .window = 1,
				   .warm = 0.2,
				   .seconds = g->fast ? 0.4 : 1 };
	struct outcome o = { 0 };

	return load_run(&load, &o) || o.failed ? -1 : o.p50_ms * 1000;
}

/* A client's talk, and the socket where the client asks. */
struct asker {
	const struct web_talk *talk;
	const char *socket;
};

static int compare_one(struct bench_ground *g, struct asker ours, struct asker base,
		       struct judge *j)
{
	for (int i = 0; i < ROUNDS; i++) {
		double floor = p50_us(base.talk, base.socket, g);
		double us = floor < 0 ? -1 : p50_us(ours.talk, ours.socket, g);

		if (us < 0)
			return bench_fail("%s: requests failed", ours.talk->path);
		judge_round(j, us, floor);
	}
	return 0;
}

/* --- many clients ------------------------------------------------------------------------- */

static double send_rate(const struct script *script, const void *arg, const char *socket,
			double seconds)
{
	const struct load load = { .script = script,
				   .socket = socket,
				   .arg = arg,
				   .clients = CLIENTS,
				   .window = 1,
				   .warm = 0.2,
				   .seconds = seconds };
	struct outcome o = { 0 };

	return load_run(&load, &o) || o.failed ? -1 : o.rate;
}

static void fill_body(char *body, size_t size)
{
	char text[FLOOR_BODY + 1];

	memset(text, 'x', FLOOR_BODY);
	text[FLOOR_BODY] = '\0';
	snprintf(body, size,
		 "{\"team\":\"t\",\"agent\":\"a%%d\",\"to\":\"a%%d\",\"content\":\"%s\"}",
		 text);
}

/* The same messages without keys, by as many connections that stay open, at both sockets. */
static int compare_sends(struct bench_ground *g, const struct stage *s,
			 const char *socket, struct judge *j)
{
	static const struct talk plain = { .body = FLOOR_BODY };
	char body[FLOOR_BODY + 100];
	const struct web_talk talk = { "POST", "/api/messages", NULL, body };
	const double seconds = g->fast ? 0.6 : 1.2;

	fill_body(body, sizeof(body));
	for (int i = 0; i < ROUNDS; i++) {
		double base = send_rate(&script_send, &plain, s->home.socket, seconds);
		double ours = base < 0 ? -1
				       : send_rate(&script_web, &talk, socket, seconds);

		if (ours < 0)
			return bench_fail("http-send-64: calls failed");
		judge_round(j, ours, base);
	}
	return 0;
}

/* The socket of a host's web. */
static void web_socket(const struct stage *s, char out[300])
{
	const char *own = s->home.socket;

	snprintf(out, 300, "%.*s/http.sock", (int)(strrchr(own, '/') - own), own);
}

/* --- followers ------------------------------------------------------------------------------ */

/* Follows the log of a team in which nothing happens. */
static int web_follow(const char *socket)
{
	static const char ask[] =
		"GET /events?team=quiet HTTP/1.1\r\nHost: localhost\r\n\r\n";
	int fd = load_join(socket);
	char in[512];
	ssize_t n;

	if (fd < 0 || load_write_all(fd, ask, sizeof(ask) - 1))
		return bench_fail("a follower cannot ask");
	n = read(fd, in, sizeof(in));
	if (n < 12 || memcmp(in, "HTTP/1.1 200", 12))
		return bench_fail("a follower is refused: %.*s", n > 0 ? (int)n : 0, in);
	return fd;
}

/* Compares sends at a host with followers and sends at a host without; both states are new.  The
 * disk's speed changes from one second to the next by more than the limit.  So a round is the sum
 * of many short runs, and each of the two hosts begins every other pair. */
static int compare_followed(const struct bench_ground *g, const struct stage *followed,
			    const struct stage *alone, struct judge *j)
{
	static const struct talk plain = { .body = FLOOR_BODY };
	const char *sockets[] = { followed->home.socket, alone->home.socket };

	for (int round = 0; round < ROUNDS; round++) {
		double sums[2] = { 0 };

		for (int i = 0; i < 2 * SLICES; i++) {
			int which = (i & 1) ^ (i >> 1 & 1);
			double rate = send_rate(&script_send, &plain, sockets[which],
						g->fast ? 0.1 : 0.3);

			if (rate < 0)
				return bench_fail("http-follow: sends failed");
			sums[which] += rate / SLICES;
		}
		judge_round(j, sums[0], sums[1]);
	}
	return 0;
}

static int compare_followers(const struct bench_ground *g, const struct stage *followed,
			     const struct stage *alone, struct judge *j, double *mib)
{
	int *fds = xcalloc(FOLLOWERS, sizeof(*fds));
	struct rlimit before, r;
	char socket[300];
	int rc = 0;

	web_socket(followed, socket);
	getrlimit(RLIMIT_NOFILE, &before);
	r = before;
	r.rlim_cur = FOLLOWERS + 200;
	r.rlim_max = r.rlim_max < r.rlim_cur ? r.rlim_cur : r.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &r))
		rc = bench_fail("%d descriptors cannot be had: %m", FOLLOWERS);
	*mib = -bench_resident(followed->host);
	for (int i = 0; i < FOLLOWERS && rc == 0; i++)
		rc = (fds[i] = web_follow(socket)) < 0 ? -1 : 0;
	*mib += bench_resident(followed->host);
	if (rc == 0 && score_due(g, "http-follow"))
		rc = compare_followed(g, followed, alone, j);
	for (int i = 0; i < FOLLOWERS; i++)
		if (fds[i] > 0)
			close(fds[i]);
	setrlimit(RLIMIT_NOFILE, &before); /* a further run's host has it from here */
	free(fds);
	return rc;
}

/* --- all of it ---------------------------------------------------------------------------- */

static const struct web_talk whoami = { "GET", "/api/whoami", NULL, NULL };
static const struct web_talk teams = { "GET", "/api/teams", NULL, NULL };

/* A tool that calls the operation of `teams`. */
static const struct web_talk tool = {
	"POST",
	"/mcp",
	"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: team\r\n",
	"{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":"
	"\"team\",\"arguments\":{\"action\":\"list\"},\"_meta\":{"
	"\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
	"\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
};

int bench_web(struct bench_ground *g)
{
	struct stage *s = stage_new(g, "web", 1, 0, true);
	struct judge request = { 0 }, used = { 0 };
	char echo[300], socket[300];
	pid_t pid;
	int rc;

	snprintf(echo, sizeof(echo), "%s/echo.sock", g->dir);
	pid = s ? echo_start(echo) : -1;
	rc = pid > 0 ? 0 : -1;
	if (rc == 0)
		web_socket(s, socket);
	if (rc == 0 && score_due(g, "http-get"))
		rc = compare_one(g, (struct asker){ &whoami, socket },
				 (struct asker){ &whoami, echo }, &request);
	if (rc == 0 && score_due(g, "http-mcp"))
		rc = compare_one(g, (struct asker){ &tool, socket },
				 (struct asker){ &teams, socket }, &used);
	if (pid > 0)
		bench_stop_program(pid, SIGKILL);
	unlink(echo);
	stage_free(s);
	if (rc)
		return -1;
	score_rounds(g, "http-get", &request);
	score_rounds(g, "http-mcp", &used);
	return 0;
}

int bench_web_many(struct bench_ground *g)
{
	struct stage *s = stage_new(g, "web-many", CLIENTS, 0, true);
	struct judge sends = { 0 };
	char socket[300];
	int rc = -1;

	if (s) {
		web_socket(s, socket);
		rc = compare_sends(g, s, socket, &sends);
	}
	stage_free(s);
	if (rc)
		return -1;
	score_rounds(g, "http-send-64", &sends);
	return 0;
}

int bench_followers(struct bench_ground *g)
{
	static const char quiet[] = "{\"name\":\"quiet\",\"roles\":[{\"name\":\"a\"}]}";
	struct stage *followed = stage_new(g, "followed", CLIENTS, 0, true);
	struct stage *alone = stage_new(g, "alone", CLIENTS, 0, true);
	struct judge sends = { 0 };
	double mib = 0;
	int rc = -1;

	if (followed && alone && stage_call(followed, "team.create", quiet, NULL) == 0 &&
	    stage_call(alone, "team.create", quiet, NULL) == 0)
		rc = compare_followers(g, followed, alone, &sends, &mib);
	stage_free(followed);
	stage_free(alone);
	if (rc)
		return -1;
	score_rounds(g, "http-follow", &sends);
	score_alone(g, "http-follow-memory", mib);
	return 0;
}
