/* Tests a client without a host, and a client with hosts that answer, close the connection,
 * refuse or stay silent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/client/client.h"
#include "core/wire/frame.h"
#include "tests/lib/place.h"

enum mode { MODE_ANSWER, MODE_BREAK, MODE_REFUSE, MODE_SILENT };

struct world {
	char dir[64];
	struct home home;
	struct client *client;
	/* the simulated host */
	int listener;
	pthread_t thread;
	enum mode mode;
	_Atomic int n_calls, n_gone; /* calls received, and connections ended */
	char key[64], agent[64];
};

/* --- the host ----------------------------------------------------------------------- */

static void reply(int fd, const char *json)
{
	struct text out = { 0 };
	struct fault f = { 0 };
	size_t start = frame_open(&out);

	text_addf(&out, "%s", json);
	assert_int_equal(frame_close(&out, start, &f), 0);
	assert_int_equal(write(fd, out.data, out.len), out.len);
	text_release(&out);
}

static const char *string_in(const json_t *json, const char *name)
{
	const char *s = json_string_value(json_object_get(json, name));

	return s ? s : "";
}

/* Answers a message. Returns false if the connection is to be closed. */
static bool hear(struct world *w, int fd, const char *body, size_t size)
{
	json_t *json = json_loadb(body, size, 0, NULL);
	json_int_t id = json_integer_value(json_object_get(json, "id"));
	char text[200];

	if (!strcmp(string_in(json, "type"), "Hello")) {
		snprintf(w->agent, sizeof(w->agent), "%s", string_in(json, "agent"));
		reply(fd, "{\"type\":\"Hello\",\"version\":\"0\",\"role\":\"host\"}");
		json_decref(json);
		return true;
	}
	snprintf(w->key, sizeof(w->key), "%s",
		 string_in(json_object_get(json, "args"), "idempotency_key"));
	json_decref(json);
	w->n_calls++;
	if (w->mode == MODE_ANSWER)
		snprintf(
			text, sizeof(text),
			"{\"type\":\"CallResult\",\"id\":%lld,\"result\":{\"played\":true}}",
			(long long)id);
	else
		snprintf(
			text, sizeof(text),
			"{\"type\":\"Error\",\"id\":%lld,\"code\":\"RateLimited\",\"message\":"
			"\"slow\",\"where\":\"/to\",\"hint\":\"wait\",\"retry_after_ms\":7}",
			(long long)id);
	if (w->mode == MODE_ANSWER || w->mode == MODE_REFUSE)
		reply(fd, text);
	return w->mode != MODE_BREAK;
}

/* Serves a connection until the connection ends. */
static void serve(struct world *w, int fd)
{
	struct frame_reader r = { 0 };
	struct fault f = { 0 };
	char data[65536];
	ssize_t n;
	bool open = true;

	while (open && (n = read(fd, data, sizeof(data))) > 0) {
		for (size_t at = 0, used; open && at < (size_t)n; at += used)
			if (frame_read(&r, data + at, (size_t)n - at, &used, &f) > 0)
				open = hear(w, fd, r.body, r.size);
	}
	frame_release(&r);
	w->n_gone++;
	close(fd);
}

static void *play(void *arg)
{
	struct world *w = arg;
	int fd;

	while ((fd = accept(w->listener, NULL, NULL)) >= 0)
		serve(w, fd);
	return NULL;
}

static void start_host(struct world *w, enum mode mode)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	struct fault f = { 0 };

	w->mode = mode;
	assert_int_equal(home_make_run(&w->home, &f), 0);
	snprintf(name.sun_path, sizeof(name.sun_path), "%s", w->home.socket);
	w->listener = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(w->listener, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(listen(w->listener, 8), 0);
	assert_int_equal(pthread_create(&w->thread, NULL, play, w), 0);
}

static void stop_host(struct world *w)
{
	shutdown(w->listener, SHUT_RDWR);
	pthread_join(w->thread, NULL);
	close(w->listener);
	unlink(w->home.socket);
}

/* --- the client ---------------------------------------------------------------------- */

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct fault f = { 0 };
	char dir[100];

	snprintf(w->dir, sizeof(w->dir), "/tmp/cadre-client-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	setenv("XDG_RUNTIME_DIR", w->dir, 1);
	setenv("HOME", w->dir, 1);
	snprintf(dir, sizeof(dir), "%s/home", w->dir);
	assert_int_equal(home_find(&w->home, dir, HOME_MAKE, &f), 0);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;
	pid_t child;

	client_close(w->client);
	child = fork();
	if (!child) {
		execlp("rm", "rm", "-rf", w->dir, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	free(w);
	return 0;
}

static void open_client(struct world *w, bool direct)
{
	struct client_options o = { .home = &w->home, .direct = direct };
	struct fault f = { 0 };

	o.identity = w->home.identity;
	assert_int_equal(client_open(&w->client, &o, &f), 0);
}

/* Returns the answer of an operation. If the operation fails, returns "" and fills `f`. */
static char *ask(struct world *w, const char *op, const char *args, struct fault *f)
{
	struct text out = { 0 };
	json_t *json = json_loads(args, 0, NULL);

	assert_non_null(json);
	client_call(w->client, op_find(op), json, &out, f);
	text_add(&out, "", 0);
	json_decref(json);
	return out.data;
}

static void expect(struct world *w, const char *op, const char *args, const char *part)
{
	struct fault f = { 0 };
	char *answer = ask(w, op, args, &f);

	if (!strstr(answer, part))
		fail_msg("%s: '%s' is not in '%s' (%s)", op, part, answer, f.text);
	free(answer);
}

static void test_direct(void **state)
{
	struct world *w = *state;

	open_client(w, false);
	expect(w, "team.create", "{\"name\":\"red\"}", "\"state\":\"ready\"");
	expect(w, "team.list", "{}", "\"red\"");
	assert_false(client_hosted(w->client));
}

static void test_host_answers(void **state)
{
	struct world *w = *state;
	char *first;

	start_host(w, MODE_ANSWER);
	w->home.identity.agent = "coder";
	open_client(w, false);
	expect(w, "team.create", "{\"name\":\"red\"}", "{\"played\":true}");
	assert_true(client_hosted(w->client));
	assert_string_equal(w->agent, "coder");
	assert_int_equal(strlen(w->key), 36); /* the client made the key */
	first = strdup(w->key);
	expect(w, "team.create", "{\"name\":\"red\"}", "{\"played\":true}");
	assert_string_not_equal(w->key, first);
	free(first);
	expect(w, "team.create", "{\"name\":\"red\",\"idempotency_key\":\"mine\"}",
	       "played");
	assert_string_equal(w->key, "mine");
	expect(w, "team.list", "{}", "played");
	assert_string_equal(w->key, ""); /* a read has no key */
	client_close(w->client);
	w->client = NULL;
	stop_host(w);
	assert_int_equal(w->n_gone, 1); /* one connection for all calls */
}

static void test_host_refuses(void **state)
{
	struct world *w = *state;
	struct fault f = { 0 };

	start_host(w, MODE_REFUSE);
	open_client(w, false);
	free(ask(w, "team.create", "{\"name\":\"red\"}", &f));
	assert_int_equal(f.code, FAULT_RATE_LIMITED);
	assert_string_equal(f.where, "/to");
	assert_string_equal(f.text, "slow");
	assert_string_equal(f.hint, "wait");
	assert_int_equal(f.retry_after_ms, 7);
	client_close(w->client);
	w->client = NULL;
	stop_host(w);
}

/* If the host breaks off a call that it may have performed, the client repeats the call with
 * the same key. */
static void test_host_breaks_off(void **state)
{
	struct world *w = *state;
	struct fault f = { 0 };
	char again[200], first[64];

	start_host(w, MODE_BREAK);
	open_client(w, false);
	expect(w, "team.create", "{\"name\":\"red\"}", "\"name\":\"red\"");
	assert_int_equal(w->n_calls, 1);
	memcpy(first, w->key, sizeof(first)); /* the key that the host got */
	free(ask(w, "workspace.create", "{\"team\":\"red\"}", &f));
	assert_int_equal(f.code, FAULT_UNAVAILABLE);
	stop_host(w);
	snprintf(again, sizeof(again), "{\"name\":\"red\",\"idempotency_key\":\"%s\"}",
		 first);
	expect(w, "team.create", again, "\"replayed\":true");
}

struct heard {
	int n;
	enum fault_code code;
};

static void on_done(void *arg, const char *result, const struct fault *f)
{
	struct heard *h = arg;

	(void)result;
	h->n++;
	h->code = f ? f->code : FAULT_NONE;
}

static void step_for(struct world *w, int ms)
{
	struct pollfd wait = { .fd = client_fd(w->client), .events = POLLIN };

	for (int64_t end = clock_wall_ms() + ms; clock_wall_ms() < end;) {
		poll(&wait, 1, 20);
		client_step(w->client);
	}
}

static void step_until(struct world *w, const _Atomic int *seen)
{
	for (int64_t end = clock_wall_ms() + patience_ms(10000);
	     !*seen && clock_wall_ms() < end;)
		step_for(w, 1);
}

/* To cancel a wait, the client closes the connection, which only this wait uses. */
static void test_wait_is_cancelled(void **state)
{
	struct world *w = *state;
	struct heard heard = { 0 };
	json_t *args = json_pack("{si}", "wait_seconds", 300);
	int64_t number;

	start_host(w, MODE_SILENT);
	open_client(w, false);
	number = client_start(w->client, op_find("event.list"), args, on_done, &heard);
	json_decref(args);
	assert_true(number > 0);
	assert_true(client_timeout(w->client) > 300000);
	step_until(w, &w->n_calls);
	client_cancel(w->client, number);
	step_until(w, &w->n_gone);
	assert_int_equal(w->n_calls, 1);
	assert_int_equal(w->n_gone, 1);
	assert_int_equal(heard.n, 0);
	stop_host(w);
}

/* Two clients use one state without a host. A commit by one client ends the other client's wait
 * at once. */
static void test_direct_wait(void **state)
{
	struct world *w = *state;
	struct world other = { 0 };
	struct heard heard = { 0 };
	json_t *args = json_pack("{si,ss}", "wait_seconds", 300, "team", "red");
	int64_t until;

	open_client(w, true);
	expect(w, "team.create", "{\"name\":\"red\"}", "red");
	json_object_set_new(args, "after", json_integer(1000000));
	client_start(w->client, op_find("event.list"), args, on_done, &heard);
	assert_int_equal(heard.n, 0);
	json_object_del(args, "after");
	json_object_set_new(args, "kind", json_string("task.created"));
	client_start(w->client, op_find("event.list"), args, on_done, &heard);
	json_decref(args);
	other.home = w->home;
	other.home.settings.home = other.home.dir;
	open_client(&other, true);
	expect(&other, "task.create", "{\"title\":\"x\",\"team\":\"red\"}", "001");
	client_close(other.client);
	/* The second wait ends long before its limit of 300 s. */
	for (until = clock_steady_ms() + patience_ms(60000);
	     !heard.n && clock_steady_ms() < until;)
		step_for(w, 10);
	assert_int_equal(heard.n, 1); /* the first wait, for a later event, goes on */
}

static void wait_for(struct world *w, const char *op, const char *json,
		     struct heard *heard)
{
	json_t *args = json_loads(json, 0, NULL);

	client_start(w->client, op_find(op), args, on_done, heard);
	json_decref(args);
}

/* Without a host no process records the end of a lease. A client that waits for the leased
 * message still gets the message when the lease ends. */
static void test_direct_wait_across_leases(void **state)
{
	struct world *w = *state;
	struct heard mail = { 0 }, claim = { 0 };
	int64_t began = clock_steady_ms();

	open_client(w, true);
	expect(w, "team.create",
	       "{\"name\":\"red\",\"roles\":[{\"name\":\"ann\"},{\"name\":\"bob\"}]}",
	       "red");
	expect(w, "task.create", "{\"title\":\"x\",\"team\":\"red\"}", "001");
	expect(w, "message.send", "{\"to\":\"ann\",\"content\":\"hi\",\"team\":\"red\"}",
	       "message_id");
	expect(w, "task.claim",
	       "{\"team\":\"red\",\"agent\":\"ann\",\"lease_seconds\":5}", "001");
	expect(w, "message.receive",
	       "{\"team\":\"red\",\"agent\":\"ann\",\"lease_seconds\":2}", "\"count\":1");
	wait_for(w, "message.receive",
		 "{\"team\":\"red\",\"agent\":\"ann\",\"wait_seconds\":300}", &mail);
	wait_for(w, "task.claim",
		 "{\"team\":\"red\",\"agent\":\"bob\",\"wait_seconds\":300}", &claim);
	while (!(mail.n && claim.n) && clock_steady_ms() < began + patience_ms(60000))
		step_for(w, 10);
	assert_int_equal(mail.n, 1);
	assert_int_equal(claim.n, 1);
	assert_true(clock_steady_ms() >= began + 5000);
}

static void test_wait_ends_with_its_time(void **state)
{
	struct world *w = *state;
	int64_t began = clock_steady_ms();

	open_client(w, true);
	expect(w, "team.create", "{\"name\":\"red\"}", "red");
	expect(w, "event.list", "{\"after\":1000,\"wait_seconds\":1,\"team\":\"red\"}",
	       "\"events\":[]");
	assert_true(clock_steady_ms() - began >= 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_direct, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_host_answers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_host_refuses, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_host_breaks_off, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_wait_is_cancelled, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_direct_wait, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_direct_wait_across_leases, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_wait_ends_with_its_time, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
