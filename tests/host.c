/*
 * host - a host and its surroundings: the service manager that started the host, another user
 * at the host's socket, and a clock that runs on while the host is stopped.
 */
#include <errno.h>
#include <jansson.h>
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
#include <unistd.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "core/home/home.h"
#include "tests/lib/child.h"
#include "tests/lib/place.h"
#include "tests/lib/raw.h"

enum { ANSWER_MS = 20000, NOBODY = 65534 };

struct scene {
	char base[64], home[100], log[100];
	struct home found;
	pid_t host;
};

static int scene_open(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));
	struct fault f = { 0 };
	char path[100];

	assert_int_equal(temp_make(s->base, "host"), 0);
	snprintf(s->home, sizeof(s->home), "%s/state", s->base);
	snprintf(s->log, sizeof(s->log), "%s/log", s->base);
	snprintf(path, sizeof(path), "%s/runtime", s->base);
	mkdir(path, 0700);
	setenv("XDG_RUNTIME_DIR", path, 1);
	if (home_find(&s->found, s->home, HOME_MAKE, &f) < 0)
		fail_msg("%s", f.text);
	*state = s;
	return 0;
}

static int scene_close(void **state)
{
	struct scene *s = *state;

	child_end_all();
	temp_remove(s->base);
	free(s);
	return 0;
}

static void begin(struct scene *s, const char *const *env)
{
	s->host = host_start(s->home, env, s->log, ANSWER_MS);
	assert_true(s->host > 0);
}

/* --- the service manager ------------------------------------------------------------ */

/* Makes a datagram socket at `path`. A `path` that begins with @ is an abstract address. */
static int manager_listen(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	size_t n = strlen(path);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(at.sun_path, path, n);
	if (at.sun_path[0] == '@')
		at.sun_path[0] = '\0';
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)),
			 0);
	return fd;
}

static void manager_hears(int fd, const char *what)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char said[200];
	ssize_t n;

	assert_int_equal(poll(&p, 1, patience_ms(ANSWER_MS)), 1);
	n = recv(fd, said, sizeof(said) - 1, 0);
	assert_true(n > 0);
	said[n] = '\0';
	assert_string_equal(said, what);
}

static void tell_manager(struct scene *s, const char *path)
{
	char variable[140];
	const char *const env[] = { variable, NULL };
	const char *const argv[] = { cadre_path(), "--home", s->home, "serve", NULL };
	const struct child c = {
		.argv = argv, .env = env, .log = s->log, .in = -1, .fd3 = -1
	};
	int fd = manager_listen(path);
	struct raw raw;

	snprintf(variable, sizeof(variable), "NOTIFY_SOCKET=%s", path);
	s->host = child_start(&c);
	manager_hears(fd, "READY=1");
	/* After READY=1 a client can connect at once. */
	assert_true(raw_dial(&raw, s->found.socket));
	raw_hang_up(&raw);
	kill(s->host, SIGTERM);
	manager_hears(fd, "STOPPING=1");
	assert_int_equal(child_wait(s->host, ANSWER_MS), 0);
	close(fd);
}

static void test_tells_its_manager(void **state)
{
	struct scene *s = *state;
	char path[100];

	snprintf(path, sizeof(path), "%s/notify", s->base);
	tell_manager(s, path);
	snprintf(path, sizeof(path), "@cadre-test-%d", (int)getpid());
	tell_manager(s, path);
}

/* --- other users ------------------------------------------------------------------------ */

/* Copies the path of the socket's folder to `folder`, and returns the socket's name in this
 * folder. */
static const char *socket_folder(const struct scene *s, char folder[], size_t size)
{
	const char *slash = strrchr(s->found.socket, '/');

	snprintf(folder, size, "%.*s", (int)(slash - s->found.socket), s->found.socket);
	return slash + 1;
}

/* Calls the host as another user. Returns 0 for an answer, 1 for no answer, and 2 for no
 * connection. The child process first enters the socket's folder, so that closed folders above
 * cannot stop the child. */
static int ask_as(const struct scene *s, uid_t user)
{
	char folder[sizeof(s->found.socket)];
	const char *name = socket_folder(s, folder, sizeof(folder));
	pid_t pid = fork();
	struct raw raw;
	int status;

	if (pid == 0) {
		json_t *answer;

		if (chdir(folder) || setresgid(user, user, user) ||
		    setresuid(user, user, user) || !raw_dial(&raw, name))
			_exit(2);
		answer = raw_ask(&raw, raw_call(1, "state.status", json_object()), 5000);
		_exit(json_object_get(answer, "result") ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Opens the socket and its folder to all users, which no operator should do. */
static void open_the_door(const struct scene *s)
{
	char folder[sizeof(s->found.socket)];

	socket_folder(s, folder, sizeof(folder));
	assert_int_equal(chmod(s->found.socket, 0666), 0);
	assert_int_equal(chmod(folder, 0755), 0);
}

static void test_turns_other_users_away(void **state)
{
	struct scene *s = *state;

	if (geteuid() != 0) {
		print_message("           skipped: only root can be somebody else\n");
		skip();
	}
	begin(s, NULL);
	assert_int_equal(ask_as(s, 0), 0);
	assert_int_equal(ask_as(s, NOBODY), 2); /* the folder is closed to NOBODY */
	open_the_door(s);
	assert_int_equal(ask_as(s, NOBODY), 1);
	assert_int_equal(ask_as(s, 0), 0);
	assert_int_equal(child_end(s->host, ANSWER_MS), 0);
}

/* If another user's socket is at the host's address, a client sends nothing to this socket. */
static void test_talks_to_no_other_user(void **state)
{
	struct scene *s = *state;
	const char *const argv[] = { cadre_path(), "--home", s->home, "status", NULL };
	const struct child c = { .argv = argv, .log = s->log, .in = -1, .fd3 = -1 };
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct fault f = { 0 };
	char said[10];
	int fd, theirs;

	if (geteuid() != 0) {
		print_message("           skipped: only root can be somebody else\n");
		skip();
	}
	if (home_make_run(&s->found, &f) < 0)
		fail_msg("%s", f.text);
	memcpy(at.sun_path, s->found.socket, strlen(s->found.socket));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	/* The peer's credentials name the user that called listen(). */
	assert_int_equal(seteuid(NOBODY), 0);
	assert_int_equal(listen(fd, 5), 0);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(child_wait(child_start(&c), ANSWER_MS), 0);
	theirs = accept(fd, NULL, NULL);
	assert_true(theirs >= 0);
	assert_int_equal(recv(theirs, said, sizeof(said), 0), 0);
	close(theirs);
	close(fd);
}

/* --- a gap in the host's time --------------------------------------------------------------- */

static json_t *ask(struct raw *r, const char *op, json_t *args)
{
	static int id;
	json_t *answer = raw_ask(r, raw_call(++id, op, args), ANSWER_MS);

	assert_non_null(answer);
	return answer;
}

static void dial_as(struct scene *s, struct raw *r, const char *agent)
{
	json_t *hello;

	assert_true(raw_dial(r, s->found.socket));
	if (!agent)
		return;
	assert_true(raw_say(r, raw_hello("crew", agent)));
	hello = raw_hear(r, ANSWER_MS);
	assert_non_null(hello);
	json_decref(hello);
}

static void assert_told(json_t *answer, const char *what)
{
	char *text = json_dumps(answer, JSON_COMPACT | JSON_ENCODE_ANY);

	json_decref(answer);
	if (!text || !strstr(text, what))
		fail_msg("not %s: %s", what, text);
	free(text);
}

static json_t *status_of(struct raw *r, const char *agent)
{
	return ask(r, "agent.whois", json_pack("{ssss}", "team", "crew", "name", agent));
}

/* Whether the agent gets the status `status` before the time `until`. */
static bool is_until(struct raw *r, const char *agent, const char *status, int64_t until)
{
	bool is = false;

	do {
		json_t *answer = status_of(r, agent);
		const char *now = NULL;

		json_unpack(answer, "{s:{s:{s:s}}}", "result", "card", "status", &now);
		is = now && strcmp(now, status) == 0;
		json_decref(answer);
		pause_for(100);
	} while (!is && clock_steady_ms() < until);
	return is;
}

static bool comes_to_be(struct raw *r, const char *agent, const char *status, int ms)
{
	return is_until(r, agent, status, clock_steady_ms() + patience_ms(ms));
}

static pid_t guest_of(struct raw *r, const char *agent)
{
	json_t *answer = ask(r, "workspace.info",
			     json_pack("{ssss}", "team", "crew", "workspace", agent));
	json_int_t pid = 0;

	json_unpack(answer, "{s:{s:{s:I}}}", "result", "workspace", "pid", &pid);
	json_decref(answer);
	return (pid_t)pid;
}

/* Makes a team of ann, bob and eve. Eve has a guest. Ann holds a claim of the only task for 8
 * seconds. */
static void gather(struct scene *s, struct raw *operator, struct raw * ann,
		   struct raw *bob)
{
	begin(s, NULL);
	dial_as(s, operator, NULL);
	assert_told(ask(operator, "team.create",
			json_pack("{sss[{ss}{ss}{sssb}]}", "name", "crew", "roles",
				  "name", "ann", "name", "bob", "name", "eve",
				  "workspace", 1)),
		    "\"result\"");
	assert_told(ask(operator, "task.create",
			json_pack("{ssss}", "team", "crew", "title", "Long work")),
		    "\"result\"");
	assert_true(comes_to_be(operator, "eve", "ready", ANSWER_MS));
	dial_as(s, ann, "ann");
	dial_as(s, bob, "bob");
	assert_told(ask(ann, "task.claim",
			json_pack("{sssi}", "task", "001", "lease_seconds", 8)),
		    "\"epoch\":1");
}

/* Ann's lease ends while host and guest are stopped, and while bob's call task.claim waits in
 * the host's socket. When the host continues, it first extends ann's lease by the length of the
 * stop. Bob's claim is refused, and ann completes the task. The guest does not count as
 * offline, since the host could not read the guest's messages. */
static void test_moves_time_by_a_gap(void **state)
{
	struct scene *s = *state;
	struct raw operator, ann, bob;
	pid_t guest;

	gather(s, &operator, & ann, &bob);
	guest = guest_of(&operator, "eve");
	assert_true(guest > 1);
	kill(s->host, SIGSTOP);
	kill(guest, SIGSTOP);
	pause_for(500);
	assert_true(raw_say(&bob, raw_call(77, "task.claim",
					   json_pack("{ss}", "task", "001"))));
	pause_for(17500);
	kill(s->host, SIGCONT);
	assert_told(raw_hear(&bob, ANSWER_MS), "Conflict");
	assert_told(
		ask(&ann, "task.complete",
		    json_pack("{sssiss}", "task", "001", "epoch", 1, "result", "done")),
		"\"result\"");
	/* The wait must not be longer on a slow machine, since a guest counts as offline after
	 * 16 s of silence. */
	assert_false(is_until(&operator, "eve", "offline", clock_steady_ms() + 3000));
	kill(guest, SIGCONT);
	assert_int_equal(child_end(s->host, ANSWER_MS), 0);
	raw_hang_up(&operator);
	raw_hang_up(&ann);
	raw_hang_up(&bob);
}

/* A stop of less than ten seconds also extends a lease of five seconds. */
static void test_moves_time_by_a_short_gap(void **state)
{
	struct scene *s = *state;
	struct raw operator, ann, bob;

	gather(s, &operator, & ann, &bob);
	assert_told(ask(&ann, "task.heartbeat",
			json_pack("{sssi}", "task", "001", "lease_seconds", 5)),
		    "\"epoch\":1");
	kill(s->host, SIGSTOP);
	pause_for(500);
	assert_true(raw_say(&bob, raw_call(78, "task.claim",
					   json_pack("{ss}", "task", "001"))));
	pause_for(6000);
	kill(s->host, SIGCONT);
	assert_told(raw_hear(&bob, ANSWER_MS), "Conflict");
	assert_int_equal(child_end(s->host, ANSWER_MS), 0);
	raw_hang_up(&operator);
	raw_hang_up(&ann);
	raw_hang_up(&bob);
}

/* After a time without leases the host grants a lease, and is killed within the same second.
 * The next host starts after the lease has run out, and ann can still complete the task. */
static void test_moves_time_by_a_death(void **state)
{
	struct scene *s = *state;
	struct raw operator, ann, bob;

	gather(s, &operator, & ann, &bob);
	assert_told(ask(&ann, "task.release", json_pack("{ss}", "task", "001")),
		    "\"result\"");
	pause_for(2500);
	assert_told(ask(&ann, "task.claim",
			json_pack("{sssi}", "task", "001", "lease_seconds", 5)),
		    "\"epoch\":3");
	kill(s->host, SIGKILL);
	child_end(s->host, ANSWER_MS);
	raw_hang_up(&ann);
	pause_for(6000);
	begin(s, NULL);
	dial_as(s, &ann, "ann");
	assert_told(
		ask(&ann, "task.complete",
		    json_pack("{sssiss}", "task", "001", "epoch", 3, "result", "done")),
		"\"result\"");
	assert_int_equal(child_end(s->host, ANSWER_MS), 0);
	raw_hang_up(&operator);
	raw_hang_up(&ann);
	raw_hang_up(&bob);
}

int main(void)
{
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, scene_open, scene_close)
	const struct CMUnitTest tests[] = {
		IN_SCENE(test_tells_its_manager),
		IN_SCENE(test_turns_other_users_away),
		IN_SCENE(test_talks_to_no_other_user),
		IN_SCENE(test_moves_time_by_a_gap),
		IN_SCENE(test_moves_time_by_a_short_gap),
		IN_SCENE(test_moves_time_by_a_death),
	};

	child_adopt();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
