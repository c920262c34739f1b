/* Tests of the MCP door: lines on a pipe to a `cadre mcp` process. */
#include "tests/wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "tests/lib/child.h"
#include "tests/lib/dice.h"
#include "tests/lib/place.h"

enum { LINE_MOST = 8 << 20 };

struct door {
	pid_t pid;
	int in, out; /* the process's standard input and output */
	char *data; /* output that is not read as lines yet */
	size_t len, room;
};

static void door_open(struct door *d)
{
	int in[2], out[2];

	signal(SIGPIPE, SIG_IGN);
	*d = (struct door){ 0 };
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	fflush(NULL);
	d->pid = fork();
	if (d->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		putenv((char *)(uintptr_t) "ASAN_OPTIONS=quarantine_size_mb=2");
		dup2(in[0], 0);
		dup2(out[1], 1);
		dup2(out[1], 2); /* error text is no JSON, so it fails the test */
		execl(cadre_path(), "cadre", "mcp", (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	d->in = in[1];
	d->out = out[0];
	fcntl(d->in, F_SETFL, O_NONBLOCK);
	fcntl(d->out, F_SETFL, O_NONBLOCK);
}

/* Writes as many bytes as the process takes within `ms`. Returns the number of written bytes. */
static size_t tell(struct door *d, const char *data, size_t len, int ms)
{
	int64_t until = clock_steady_ms() + patience_ms(ms);
	size_t at = 0;

	while (at < len && clock_steady_ms() < until) {
		struct pollfd p = { .fd = d->in, .events = POLLOUT };
		ssize_t n = write(d->in, data + at, len - at);

		if (n > 0)
			at += (size_t)n;
		else if (errno != EAGAIN)
			break;
		else
			poll(&p, 1, 50);
	}
	return at;
}

static void say(struct door *d, const char *line)
{
	assert_int_equal(tell(d, line, strlen(line), ANSWER_MS), strlen(line));
}

static bool fill(struct door *d, int64_t until)
{
	struct pollfd p = { .fd = d->out, .events = POLLIN };
	int64_t left = until - clock_steady_ms();
	ssize_t n;

	if (d->room - d->len < 65536) {
		d->room = d->room * 2 + 65536;
		d->data = realloc(d->data, d->room);
	}
	if (poll(&p, 1, left > 0 ? (int)left : 0) <= 0)
		return false;
	n = read(d->out, d->data + d->len, d->room - d->len);
	if (n > 0)
		d->len += (size_t)n;
	return n > 0;
}

/* Returns the next line as JSON, or NULL if no line arrives within `ms` or the process has
 * ended. */
static json_t *next(struct door *d, int ms)
{
	int64_t until = clock_steady_ms() + patience_ms(ms);
	json_t *json;
	char *end;
	size_t n;

	while (!(end = d->len ? memchr(d->data, '\n', d->len) : NULL))
		if (!fill(d, until))
			return NULL;
	n = (size_t)(end - d->data) + 1;
	json = json_loadb(d->data, n, JSON_ALLOW_NUL, NULL);
	if (!json)
		fail_msg("this is no JSON: %.*s", (int)(n < 300 ? n : 300), d->data);
	memmove(d->data, d->data + n, d->len - n);
	d->len -= n;
	return json;
}

/* Sends a ping and reads until the ping's answer. Returns the number of answers before the
 * ping's answer. */
static int answers_before_ping(struct door *d)
{
	json_t *answer;
	int n = 0;

	say(d, "{\"jsonrpc\":\"2.0\",\"id\":\"ping\",\"method\":\"ping\"}\n");
	while ((answer = next(d, ANSWER_MS))) {
		bool is_it = !strcmp(text_at(answer, "id"), "ping");

		json_decref(answer);
		if (is_it)
			return n;
		n++;
	}
	fail_msg("no answer to a ping");
	return -1;
}

static void door_greet(struct door *d)
{
	say(d, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
	       "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
	       "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}\n"
	       "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
	json_decref(next(d, ANSWER_MS));
}

static void door_close(struct door *d)
{
	close(d->in);
	while (fill(d, clock_steady_ms() + patience_ms(ANSWER_MS)))
		d->len = 0;
	assert_int_equal(child_wait(d->pid, ANSWER_MS), 0);
	close(d->out);
	free(d->data);
}

/* --- cases ---------------------------------------------------------------------------- */

void test_mcp_garbage(void **state)
{
	static const char *const lines[] = {
		"\n",
		"\r\n",
		"nonsense\n",
		"{\n",
		"[]\n",
		"[1,2,3]\n",
		"null\n",
		"{}\n",
		"{\"jsonrpc\":\"2.0\"}\n",
		"{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}\n",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}\n",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":[]}\n",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":{}}}\n",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":"
		"{\"name\":\"team\",\"arguments\":[{}]}}\n",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":"
		"{\"name\":\"team\",\"arguments\":{\"action\":\"status\",\"team\":\"a\\u0000\"}}}\n",
		"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}\n",
	};
	struct dice dice = { 2 };
	char noise[600];
	struct door d;

	(void)state;
	door_open(&d);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		say(&d, lines[i]);
		answers_before_ping(&d);
	}
	door_greet(&d);
	for (int i = 0; i < 500; i++) {
		size_t n = 1 + (size_t)dice_below(&dice, sizeof(noise) - 2);

		for (size_t k = 0; k < n; k++)
			noise[k] = (char)dice_roll(&dice);
		noise[n] = '\n';
		tell(&d, noise, n + 1, ANSWER_MS);
		if (i % 20 == 0)
			answers_before_ping(&d);
	}
	answers_before_ping(&d);
	/* A call with a repeated id is a separate call. */
	for (int i = 0; i < 40; i++)
		say(&d, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\"}\n");
	assert_int_equal(answers_before_ping(&d), 40);
	door_close(&d);
}

void test_mcp_long_and_deep(void **state)
{
	char *line = malloc(LINE_MOST + 100);
	struct door d;
	long before;

	(void)state;
	door_open(&d);
	door_greet(&d);
	before = memory_of(d.pid);
	memset(line, 'x', LINE_MOST + 99);
	for (int i = 0; i < 20; i++) /* writes parts of one long line */
		assert_int_equal(tell(&d, line, LINE_MOST, ANSWER_MS), LINE_MOST);
	assert_true(memory_of(d.pid) - before < 40 << 10);
	say(&d, "\n");
	assert_int_equal(answers_before_ping(&d), 1);
	memset(line, '[', 1 << 20);
	line[1 << 20] = '\n';
	assert_int_equal(tell(&d, line, (1 << 20) + 1, ANSWER_MS), (1 << 20) + 1);
	assert_int_equal(answers_before_ping(&d), 1);
	free(line);
	door_close(&d);
}

/* The server stops reading calls while too many answers are unread. When the client reads
 * again, the server answers all calls that the server has read. */
void test_mcp_never_reads(void **state)
{
	static const char ask[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n";
	size_t sent = 0, n = 0;
	json_t *answer;
	struct door d;
	long before;

	(void)state;
	door_open(&d);
	door_greet(&d);
	before = memory_of(d.pid);
	while (sent < 5000 * (sizeof(ask) - 1)) {
		size_t at = sent % (sizeof(ask) - 1);
		size_t took = tell(&d, ask + at, sizeof(ask) - 1 - at, 1000);

		sent += took;
		if (took == 0)
			break;
	}
	print_message("           took %zu calls, %ld KiB more\n",
		      sent / (sizeof(ask) - 1), memory_of(d.pid) - before);
	assert_true(sent < 5000 * (sizeof(ask) - 1));
	assert_true(memory_of(d.pid) - before < 64 << 10);
	while ((answer = next(&d, 1000))) {
		json_decref(answer);
		n++;
	}
	assert_int_equal(n, sent / (sizeof(ask) - 1));
	say(&d, ask + sent % (sizeof(ask) - 1)); /* the rest of the last call */
	answers_before_ping(&d);
	door_close(&d);
}

/* Returns the processor time that a process has used, in ticks. */
static long ticks_of(pid_t pid)
{
	char path[40], text[512] = "";
	unsigned long user = 0, kernel = 0;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	in = fopen(path, "re");
	if (in && fgets(text, sizeof(text), in))
		sscanf(strrchr(text, ')') + 2,
		       "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
		       &kernel);
	if (in)
		fclose(in);
	return (long)(user + kernel);
}

void test_mcp_half_a_line(void **state)
{
	struct door d;
	long before;

	(void)state;
	door_open(&d);
	door_greet(&d);
	say(&d, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/li");
	before = ticks_of(d.pid);
	assert_null(next(&d, 700));
	assert_in_range(ticks_of(d.pid) - before, 0, 20); /* the process does not spin */
	say(&d, "st\"}\n");
	json_t *answer = next(&d, ANSWER_MS);
	assert_non_null(json_object_get(answer, "result"));
	json_decref(answer);
	/* At the end of the input the server reads an incomplete line as a line. This line is
	 * no JSON. */
	say(&d, "{\"jsonrpc\":\"2.0\",\"id\":1,");
	door_close(&d);
}
