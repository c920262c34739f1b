/*
 * link - runs the same conformance test over each kind of link. A real guest listens at an
 * address, and the test dials the guest as a host does. For some kinds the test puts a VMM's
 * vsock socket or QEMU's serial ports between itself and the guest.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "core/base/link_address.h"
#include "core/wire/base64.h"
#include "core/wire/mark.h"
#include "tests/lib/child.h"
#include "tests/lib/place.h"
#include "tests/lib/raw.h"
#include "tests/lib/switch.h"
#include "tests/link/speak.h"

#define WORKSPACE "01890000-0000-7000-8000-000000000001"

enum { ANSWER_MS = 20000, KIB = 1024 };

struct scene {
	char base[64], front[80], guest[80], listen[160], dial[160];
	pid_t pid, between, before;
	const char *token;
};

/* --- the guest --------------------------------------------------------------------- */

static void guest_start(struct scene *s)
{
	char dir[100], state[100], log[100], token[100];
	const char *const argv[] = { cadre_path(), "guest",   "--workspace", WORKSPACE,
				     "--dir",      dir,       "--state",     state,
				     "--listen",   s->listen, "--team",      "red",
				     NULL };
	const char *const env[] = { s->token ? token : "X=", NULL };
	const struct child c = {
		.argv = argv, .env = env, .log = log, .in = -1, .fd3 = -1
	};

	snprintf(dir, sizeof(dir), "%s/dir", s->base);
	snprintf(state, sizeof(state), "%s/state", s->base);
	snprintf(log, sizeof(log), "%s/log", s->base);
	snprintf(token, sizeof(token), "CADRE_LINK_TOKEN=%s", s->token ? s->token : "");
	mkdir(dir, 0700);
	s->pid = child_start(&c);
	assert_true(s->pid > 0);
}

static void guest_kill(struct scene *s)
{
	kill(s->pid, SIGKILL);
	child_wait(s->pid, 10000);
}

/* --- the host's side ------------------------------------------------------------------ */

static const char *text_at(const json_t *json, const char *name)
{
	const char *s = json_string_value(json_object_get(json, name));

	return s ? s : "";
}

static json_t *hello_of(const char *workspace, const char *token)
{
	json_t *hello = json_pack("{sssssssiss}", "type", "Hello", "version", "0", "role",
				  "host", "id", 1, "boot_id", "b");

	json_object_set_new(hello, "workspace", json_string(workspace));
	if (token)
		json_object_set_new(hello, "token", json_string(token));
	return hello;
}

/* Connects and sends Hello until the guest answers, as a host does. Stores the guest's boot id
 * in `boot`. */
static void greet(struct scene *s, struct raw *r, const char *socket, char boot[64])
{
	int64_t until = clock_steady_ms() + patience_ms(ANSWER_MS);
	char path[120];

	snprintf(path, sizeof(path), "%s/%s", s->front, socket);
	while (clock_steady_ms() < until) {
		json_t *answer = NULL;

		if (raw_dial(r, path))
			answer = raw_ask(r, hello_of(WORKSPACE, s->token), 5000);
		if (!strcmp(text_at(answer, "type"), "Hello")) {
			snprintf(boot, 64, "%s", text_at(answer, "boot_id"));
			json_decref(answer);
			return;
		}
		json_decref(answer);
		raw_hang_up(r);
		pause_for(50);
	}
	fail_msg("no Hello at %s", s->dial);
}

static json_t *ask(struct raw *r, json_t *json)
{
	json_t *answer = raw_ask(r, json, ANSWER_MS);

	if (!answer)
		fail_msg("no answer");
	return answer;
}

static void expect(struct raw *r, json_t *json, const char *type)
{
	json_t *answer = ask(r, json);

	if (strcmp(text_at(answer, "type"), type))
		fail_msg("%s, not %s", json_dumps(answer, 0), type);
	json_decref(answer);
}

static json_t *ping(int id)
{
	return json_pack("{sssi}", "type", "Ping", "id", id);
}

/* --- cases ----------------------------------------------------------------------------- */

static void test_both_ports(void **state)
{
	struct scene *s = *state;
	struct raw control, relay, other;
	char boot[64], same[64], path[120];
	json_t *answer;

	greet(s, &control, "control.sock", boot);
	greet(s, &relay, "relay.sock", same);
	assert_string_equal(boot, same);
	expect(&control, ping(2), "Pong");
	expect(&relay, ping(3), "Pong");
	expect(&relay, json_pack("{sssssi}", "type", "Exec", "command", "true", "id", 4),
	       "Error");
	raw_hang_up(&control);
	snprintf(path, sizeof(path), "%s/control.sock", s->front);
	assert_true(raw_dial(&other, path));
	answer = ask(&other, hello_of("01890000-0000-7000-8000-00000000ffff", s->token));
	assert_string_equal(text_at(answer, "code"), "Conflict");
	json_decref(answer);
	raw_hang_up(&other);
	raw_hang_up(&relay);
}

/* Sends 100 messages of 256 KiB, writes a file of 2.5 MiB, and reads the file back. */
static void test_much(void **state)
{
	struct scene *s = *state;
	const size_t size = 256 * KIB, bytes = 5 << 19;
	char *text = malloc(size + 1), *data = malloc(bytes),
	     *base64 = malloc(base64_size(bytes) + 1), boot[64], id[40];
	struct raw control, relay;
	json_t *answer;

	memset(text, 'x', size);
	text[size] = '\0';
	for (size_t i = 0; i < bytes; i++)
		data[i] = (char)(i * 7919 >> 3);
	base64_encode(base64, data, bytes);
	greet(s, &control, "control.sock", boot);
	greet(s, &relay, "relay.sock", boot);
	for (int i = 0; i < 100; i++) {
		snprintf(id, sizeof(id), "m%d", i);
		expect(&relay,
		       json_pack("{sssssssssssi}", "type", "TeamMessage", "to", "lead",
				 "from", "lead", "content", text, "message_id", id, "id",
				 i),
		       "Ok");
	}
	expect(&control,
	       json_pack("{sssssssi}", "type", "FileWrite", "path", "f", "content",
			 base64, "id", 1),
	       "Ok");
	answer = ask(&control,
		     json_pack("{sssssi}", "type", "FileRead", "path", "f", "id", 2));
	assert_string_equal(text_at(answer, "content"), base64);
	json_decref(answer);
	raw_hang_up(&control);
	raw_hang_up(&relay);
	free(text);
	free(data);
	free(base64);
}

/* A host that disconnects may leave half a frame or unread answers behind. The next host must
 * get no bytes of the earlier host's frame, and no answer to the earlier host. */
static void test_host_goes_in_a_frame(void **state)
{
	struct scene *s = *state;
	char boot[64];
	struct raw r;

	for (int i = 0; i < 5; i++) {
		greet(s, &r, "control.sock", boot);
		if (i % 2) {
			raw_say(&r, json_pack("{sssssi}", "type", "Exec", "command",
					      "head -c 1000000 /dev/zero | tr '\\0' a",
					      "id", 9));
			pause_for(i * 30);
		} else {
			raw_send(&r, "\0\0\xff\xff{\"type\":\"Pi", 14, ANSWER_MS);
			pause_for(i * 10);
		}
		raw_hang_up(&r);
	}
	greet(s, &r, "control.sock", boot);
	expect(&r, ping(1), "Pong");
	raw_hang_up(&r);
}

/* If a guest dies, the host reads the end of the stream. The restarted guest answers with
 * another boot id. */
static void test_guest_dies(void **state)
{
	struct scene *s = *state;
	char before[64], after[64];
	json_t *answer;
	struct raw r;

	for (int i = 0; i < 3; i++) {
		greet(s, &r, "control.sock", before);
		raw_say(&r, json_pack("{sssssi}", "type", "Exec", "command",
				      "head -c 3000000 /dev/zero | tr '\\0' a", "id", 9));
		if (i == 1) /* the guest dies after half a frame */
			raw_send(&r, "\0\0\xff\xff{\"type\":\"Pi", 14, ANSWER_MS);
		pause_for(i * 40);
		guest_kill(s);
		guest_start(s);
		while ((answer = raw_hear(&r, ANSWER_MS)))
			json_decref(answer);
		raw_hang_up(&r);
		greet(s, &r, "control.sock", after);
		assert_string_not_equal(before, after);
		expect(&r, ping(1), "Pong");
		raw_hang_up(&r);
	}
}

/* A long command, with much output, does not delay a push. */
static void test_push_beside_an_exec(void **state)
{
	struct scene *s = *state;
	struct raw control, relay;
	json_t *answer;
	char boot[64];

	greet(s, &control, "control.sock", boot);
	greet(s, &relay, "relay.sock", boot);
	raw_say(&control,
		json_pack("{sssssi}", "type", "Exec", "command",
			  "head -c 2000000 /dev/zero | tr '\\0' a; sleep 2", "id", 1));
	expect(&relay,
	       json_pack("{sssssssssssi}", "type", "TeamMessage", "to", "lead", "from",
			 "lead", "content", "x", "message_id", "beside", "id", 2),
	       "Ok");
	/* The answer to the push arrives while the command still runs. */
	expect(&control, ping(3), "Pong");
	while ((answer = raw_hear(&control, ANSWER_MS)) &&
	       strcmp(text_at(answer, "type"), "ExecResult"))
		json_decref(answer);
	assert_int_equal(json_integer_value(json_object_get(answer, "id")), 1);
	json_decref(answer);
	raw_hang_up(&control);
	raw_hang_up(&relay);
}

/* If a link has a token, a peer without the token gets only the fault PermissionDenied. */
static void test_token(void **state)
{
	struct scene *s = *state;
	char path[120], boot[64];
	json_t *answer;
	struct raw r;

	if (!s->token)
		return; /* this kind of link has no token */
	greet(s, &r, "control.sock", boot);
	raw_hang_up(&r);
	snprintf(path, sizeof(path), "%s/control.sock", s->front);
	for (int i = 0; i < 3; i++) {
		assert_true(raw_dial(&r, path));
		answer = raw_ask(&r,
				 i == 0   ? ping(1)
				 : i == 1 ? hello_of(WORKSPACE, NULL)
					  : hello_of(WORKSPACE, "guessed"),
				 ANSWER_MS);
		assert_string_equal(text_at(answer, "code"), "PermissionDenied");
		json_decref(answer);
		assert_null(raw_hear(&r, ANSWER_MS));
		assert_int_equal(r.fd, -1);
	}
	assert_true(raw_dial(&r, path));
	assert_true(raw_send(&r, "\0\1\0\0{\"type", 10, ANSWER_MS));
	answer = raw_hear(&r, ANSWER_MS);
	assert_string_equal(text_at(answer, "code"), "PermissionDenied");
	json_decref(answer);
	raw_hang_up(&r);
}

/* --- scenes ------------------------------------------------------------------------------ */

static struct scene *scene_new(void)
{
	struct scene *s = test_calloc(1, sizeof(*s));

	assert_int_equal(temp_make(s->base, "link"), 0);
	snprintf(s->front, sizeof(s->front), "%s/front", s->base);
	snprintf(s->guest, sizeof(s->guest), "%s/guest", s->base);
	mkdir(s->front, 0700);
	mkdir(s->guest, 0700);
	child_adopt();
	return s;
}

static int scene_open(void **state, struct scene *s)
{
	guest_start(s);
	s->before = switch_front(s->front, s->dial);
	*state = s;
	return 0;
}

static int open_unix(void **state)
{
	struct scene *s = scene_new();

	snprintf(s->listen, sizeof(s->listen), "unix:%s", s->guest);
	snprintf(s->dial, sizeof(s->dial), "unix:%s", s->guest);
	return scene_open(state, s);
}

/* Returns a port. At the time of the call this port and the next higher port were free. */
static int free_port(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t size = sizeof(at);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (int tries = 0; tries < 100; tries++) {
		int a = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		int b = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port = 0;

		at.sin_port = 0;
		bind(a, (struct sockaddr *)&at, sizeof(at));
		getsockname(a, (struct sockaddr *)&at, &size);
		port = ntohs(at.sin_port);
		at.sin_port = htons((uint16_t)(port + 1));
		if (port < 65535 && bind(b, (struct sockaddr *)&at, sizeof(at)) == 0)
			tries = 100;
		else
			port = 0;
		close(a);
		close(b);
		if (port)
			return port;
	}
	fail_msg("no free port");
	return 0;
}

static int open_tcp(void **state)
{
	struct scene *s = scene_new();
	int port = free_port();

	s->token = "a-token-of-the-test";
	snprintf(s->listen, sizeof(s->listen), "tcp:127.0.0.1:%d", port);
	snprintf(s->dial, sizeof(s->dial), "tcp:localhost:%d", port);
	return scene_open(state, s);
}

static int open_hybrid(void **state)
{
	struct scene *s = scene_new();
	char path[100];

	snprintf(path, sizeof(path), "%s/v.sock", s->base);
	s->between = switch_vmm(path, s->guest);
	snprintf(s->listen, sizeof(s->listen), "unix:%s", s->guest);
	snprintf(s->dial, sizeof(s->dial), "hybrid:%s", path);
	return scene_open(state, s);
}

static int open_serial(void **state)
{
	struct scene *s = scene_new();
	char host[100];

	snprintf(host, sizeof(host), "%s/qemu", s->base);
	mkdir(host, 0700);
	s->between = switch_qemu(host, s->guest);
	snprintf(s->listen, sizeof(s->listen), "serial:%s", s->guest);
	snprintf(s->dial, sizeof(s->dial), "serial:%s", host);
	return scene_open(state, s);
}

static int open_vsock(void **state)
{
	struct scene *s = scene_new();

	snprintf(s->listen, sizeof(s->listen), "vsock:any");
	snprintf(s->dial, sizeof(s->dial), "vsock:1");
	return scene_open(state, s);
}

static int scene_close(void **state)
{
	struct scene *s = *state;
	pid_t all[] = { s->pid, s->before, s->between };

	for (int i = 0; i < 3; i++)
		if (all[i] > 0)
			child_end(all[i], 10000);
	child_end_all();
	temp_remove(s->base);
	test_free(s);
	return 0;
}

/* --- addresses and marks -------------------------------------------------------------------- */

static void test_addresses(void **state)
{
	static const char *const good[] = {
		"unix:/run/x",    "vsock:3",
		"vsock:any",      "serial:/dev/virtio-ports",
		"hybrid:/v.sock", "tcp:127.0.0.1:1",
		"tcp:[::1]:9",    "tcp:host.example:65534",
	};
	static const char *const bad[] = {
		"",         "unix",        "unix:",       "unix:run",
		"vsock:",   "vsock:-2",    "vsock:0",     "vsock:4294967295",
		"vsock:3x", "serial:x",    "hybrid:v",    "tcp:host",
		"tcp::5",   "tcp:h:0",     "tcp:h:65535", "tcp:::1:5",
		"tcp:[]:5", "tcp:[::1:5",  "tcp:a b:5",   "uni:/x",
		"UNIX:/x",  "http://h:80",
	};
	struct link_address a;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		struct fault f = { 0 };

		assert_int_equal(link_parse(good[i], "/address", &a, &f), 0);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct fault f = { 0 };

		assert_int_equal(link_parse(bad[i], "/address", &a, &f), FAULT_INVALID);
		assert_string_equal(f.where, "/address");
		assert_non_null(strstr(f.text, bad[i]));
	}
}

/* mark_read() finds a mark even if the bytes arrive in two parts. The bytes of a mark that was
 * cut off are dropped. All other bytes before and behind the mark are kept. */
static void test_marks(void **state)
{
	static const char frames[] = "\0\0\xff\xff{\"a\":1}\0\0\1\xff{half";
	char bytes[200], got[200];
	size_t size = 0;

	(void)state;
	memcpy(bytes, frames, sizeof(frames) - 1);
	size = sizeof(frames) - 1;
	mark_write(bytes + size, MARK_ASK, "0123456789abcdef");
	size += 9; /* a mark that was cut off */
	mark_write(bytes + size, MARK_OK, "00000000deadbeef");
	size += MARK_SIZE;
	memcpy(bytes + size, "\0\0\0\2{}", 6);
	size += 6;
	for (size_t cut = 0; cut <= size; cut++) {
		struct mark_reader r;
		size_t n_got = 0, n_marks = 0;

		mark_init(&r);
		for (int half = 0; half < 2; half++) {
			const char *at = half ? bytes + cut : bytes;
			size_t len = half ? size - cut : cut, n;

			while (len > 0) {
				if (mark_read(&r, &at, &len, got + n_got, &n) ==
				    MARK_OK) {
					assert_string_equal(r.nonce, "00000000deadbeef");
					n_marks++;
				}
				n_got += n;
			}
		}
		assert_int_equal(n_marks, 1);
		assert_int_equal(n_got, sizeof(frames) - 1 + 6);
		assert_memory_equal(got, frames, sizeof(frames) - 1);
		assert_memory_equal(got + sizeof(frames) - 1, "\0\0\0\2{}", 6);
	}
}

static const struct carrier {
	const char *name;
	CMFixtureFunction open;
} kinds[] = {
	{ "unix", open_unix },     { "tcp", open_tcp },     { "hybrid", open_hybrid },
	{ "serial", open_serial }, { "vsock", open_vsock },
};

static bool is_named(const char *name, char **words)
{
	for (; *words; words++)
		if (strcmp(*words, name) == 0)
			return true;
	return false;
}

/* link [KIND...]: tests these kinds of link, or all kinds. A named kind is never skipped. link
 * speak ADDRESS PORT: see speak.h. */
int main(int argc, char **argv)
{
	const struct CMUnitTest plain[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_marks),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_ports),
		cmocka_unit_test(test_much),
		cmocka_unit_test(test_host_goes_in_a_frame),
		cmocka_unit_test(test_guest_dies),
		cmocka_unit_test(test_push_beside_an_exec),
		cmocka_unit_test(test_token),
	};
	int failed;

	signal(SIGPIPE, SIG_IGN);
	if (argc == 4 && !strcmp(argv[1], "speak"))
		return speak(argv[2], (unsigned)strtoul(argv[3], NULL, 10));
	failed = cmocka_run_group_tests_name("plain", plain, NULL, NULL);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const struct carrier *k = &kinds[i];

		if (argc > 1 && !is_named(k->name, argv + 1))
			continue;
		if (argc == 1 && k->open == open_vsock && !switch_has_vsock())
			puts("vsock: skipped, this kernel has no vsock of its own");
		else
			failed += cmocka_run_group_tests_name(k->name, tests, k->open,
							      scene_close);
	}
	return failed;
}
