#include "tests/guest/fixture.h"

#include <errno.h>
#include <ftw.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "guest/guest.h"
#include "tests/lib/place.h"

void pause_ms(int ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000L }, NULL);
}

/* --- the guest's process ---------------------------------------------------------- */

void guest_start(struct fixture *x)
{
	static const char *const env[] = { "OWN=own", NULL };
	struct guest_options options = {
		.workspace = x->workspace,
		.name = "team-ann-0000",
		.dir = x->dir,
		.state = x->state,
		.team = "team",
		.agent = "ann",
		.version = "0.1.0",
		.env = env,
	};

	x->pid = fork();
	assert_true(x->pid >= 0);
	if (x->pid == 0) {
		setsid();
		exit(guest_main(&options));
	}
}

static bool connects(const struct fixture *x, const char *socket_name, int fd)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/%s", x->state, socket_name);
	return connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0;
}

/* Waits until the killed guest's socket refuses connections. A newly forked child of the guest
 * may still hold the socket. */
static void wait_for_refusal(const struct fixture *x, const char *socket_name)
{
	bool held = true;

	for (int i = 0; held && i < 500; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (i)
			pause_ms(10);
		held = connects(x, socket_name, fd);
		close(fd);
	}
	assert_false(held);
}

void guest_kill(struct fixture *x, int signal)
{
	int status;

	kill(x->pid, signal);
	waitpid(x->pid, &status, 0);
	if (signal != SIGKILL) {
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
	x->pid = 0;
	wait_for_refusal(x, "control.sock");
	wait_for_refusal(x, "relay.sock");
}

static int remove_one(const char *path, const struct stat *st, int kind,
		      struct FTW *where)
{
	(void)st, (void)kind, (void)where;
	return remove(path);
}

int fixture_setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	snprintf(x->base, sizeof(x->base), "/tmp/cadre-guest-XXXXXX");
	assert_non_null(mkdtemp(x->base));
	snprintf(x->dir, sizeof(x->dir), "%s/work", x->base);
	snprintf(x->state, sizeof(x->state), "%s/state", x->base);
	mkdir(x->dir, 0700);
	mkdir(x->state, 0700);
	x->workspace = "0190f3a4-0000-7000-8000-000000000001";
	guest_start(x);
	*state = x;
	return 0;
}

int fixture_teardown(void **state)
{
	struct fixture *x = *state;
	int rc;

	if (x->pid)
		guest_kill(x, SIGTERM);
	rc = nftw(x->base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(x);
	return rc;
}

/* --- the wire ------------------------------------------------------------------------ */

int dial(const struct fixture *x, const char *socket_name)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	for (int i = 0; i < 500; i++) {
		if (connects(x, socket_name, fd))
			return fd;
		pause_ms(10);
	}
	fail_msg("nobody listens at %s/%s", x->state, socket_name);
	return -1;
}

int dial_hello(const struct fixture *x, const char *socket_name)
{
	static const char said[] = "{\"type\":\"Hello\",\"version\":\"0.1.0\","
				   "\"role\":\"host\",\"boot_id\":\"b\"}";
	int fd = dial(x, socket_name);
	json_t *hello = ask(fd, said);

	assert_string_equal(text_at(hello, "type"), "Hello");
	assert_string_equal(text_at(hello, "workspace"), x->workspace);
	json_decref(hello);
	return fd;
}

void say_bytes(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

		if (n <= 0)
			return; /* the guest closed the connection, as a later hear() shows */
		p += n;
		len -= (size_t)n;
	}
}

void say(int fd, const char *json)
{
	size_t n = strlen(json);
	unsigned char head[4] = { (unsigned char)(n >> 24), (unsigned char)(n >> 16),
				  (unsigned char)(n >> 8), (unsigned char)n };

	say_bytes(fd, head, 4);
	say_bytes(fd, json, n);
}

static bool receive(int fd, void *to, size_t len, int64_t until)
{
	char *p = to;

	while (len > 0) {
		struct pollfd pfd = { .fd = fd, .events = POLLIN };
		int64_t left = until - clock_steady_ms();
		ssize_t n;

		if (left <= 0 || poll(&pfd, 1, (int)left) == 0)
			fail_msg("no answer in time");
		n = recv(fd, p, len, 0);
		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

static json_t *hear_until(int fd, int64_t until)
{
	json_error_t error;
	unsigned char head[4];
	json_t *message;
	size_t n;
	char *body;

	if (!receive(fd, head, 4, until))
		return NULL;
	n = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 |
	    head[3];
	assert_true(n <= 4 << 20);
	body = malloc(n);
	assert_true(receive(fd, body, n, until));
	message = json_loadb(body, n, 0, &error);
	free(body);
	assert_non_null(message);
	return message;
}

json_t *hear(int fd, int ms)
{
	return hear_until(fd, clock_steady_ms() + patience_ms(ms));
}

json_t *hear_type(int fd, const char *type, int ms)
{
	int64_t until = clock_steady_ms() + patience_ms(ms);

	for (;;) {
		json_t *m = hear_until(fd, until);

		if (!m || strcmp(text_at(m, "type"), type) == 0)
			return m;
		json_decref(m);
	}
}

json_t *ask(int fd, const char *json)
{
	say(fd, json);
	for (;;) {
		json_t *m = hear(fd, 20000);

		if (!m || strcmp(text_at(m, "type"), "Heartbeat") != 0)
			return m;
		json_decref(m);
	}
}

json_t *askf(int fd, const char *fmt, ...)
{
	json_t *answer;
	va_list ap;
	char *json;

	va_start(ap, fmt);
	assert_true(vasprintf(&json, fmt, ap) > 0);
	va_end(ap);
	answer = ask(fd, json);
	free(json);
	return answer;
}

/* --- the messages received ------------------------------------------------------------ */

const char *text_at(json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

int64_t int_at(json_t *o, const char *key)
{
	json_t *v = json_object_get(o, key);

	if (!json_is_integer(v))
		fail_msg("no %s in %s", key, json_dumps(o, 0));
	return json_integer_value(v);
}

bool true_at(json_t *o, const char *key)
{
	return json_is_true(json_object_get(o, key));
}

void expect_ok(json_t *answer)
{
	if (strcmp(text_at(answer, "type"), "Ok") != 0)
		fail_msg("not Ok: %s", json_dumps(answer, 0));
	json_decref(answer);
}

void expect_error(json_t *answer, const char *code)
{
	if (strcmp(text_at(answer, "type"), "Error") != 0 ||
	    strcmp(text_at(answer, "code"), code) != 0)
		fail_msg("not %s: %.1000s", code, json_dumps(answer, 0));
	json_decref(answer);
}

void assign(int relay, const char *message_id, const char *command, int timeout_secs)
{
	json_t *payload = json_pack("{s:s, s:s, s:i}", "task_id", message_id, "command",
				    command, "timeout_secs", timeout_secs);
	char *content = json_dumps(payload, 0), *text;
	json_t *push = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "type", "TeamMessage",
				 "to", "lead", "from", "lead", "content", content,
				 "message_type", "task_assignment", "message_id",
				 message_id);

	text = json_dumps(push, 0);
	expect_ok(ask(relay, text));
	free(text);
	free(content);
	json_decref(push);
	json_decref(payload);
}

json_t *wait_results(int control, size_t n, int ms)
{
	int64_t until = clock_steady_ms() + patience_ms(ms);

	for (;;) {
		json_t *a = ask(control, "{\"type\":\"PollDaemonResults\","
					 "\"limit\":1000,\"ack\":[]}");
		json_t *results = json_object_get(a, "results");

		if (json_array_size(results) >= n)
			return a;
		if (clock_steady_ms() > until)
			fail_msg("not %zu results: %s", n, json_dumps(a, 0));
		json_decref(a);
		pause_ms(20);
	}
}

char *read_text(const struct fixture *x, const char *name)
{
	char path[256], *text = calloc(1, 65536);
	FILE *in;

	snprintf(path, sizeof(path), "%s/%s", x->dir, name);
	in = fopen(path, "r");
	if (in) {
		text[fread(text, 1, 65535, in)] = '\0';
		fclose(in);
	}
	return text;
}
