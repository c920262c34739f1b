/* test_network_host - a running host keeps the machine's network equal to the rows. The machine
 * is simulated in memory that the test shares with the host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/host/host.h"
#include "tests/lib/net_fake.h"
#include "tests/lib/place.h"
#include "tests/lib/raw.h"

enum { PATIENCE_MS = 30000 };

struct scene {
	char dir[64];
	struct home home;
	struct net_fake *fake;
	pid_t host;
	struct raw raw;
	int calls;
	uint32_t a, b, c; /* addresses of VMs: a and b in one team, c in another team */
};

/* --- the scene -------------------------------------------------------------------- */

static void start(struct scene *s)
{
	int ready[2];
	char c;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	s->host = fork();
	assert_true(s->host >= 0);
	if (s->host == 0) {
		const struct host_options options = { .home = &s->home,
						      .ready_fd = ready[1],
						      .network = &s->fake->network };
		struct fault f = { 0 };

		close(ready[0]);
		_exit(host_run(&options, &f) ? 1 : 0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	assert_true(raw_dial(&s->raw, s->home.socket));
}

static void stop(struct scene *s, int signal_)
{
	raw_hang_up(&s->raw);
	kill(s->host, signal_);
	assert_int_equal(waitpid(s->host, NULL, 0), s->host);
}

static void sql(struct scene *s, const char *text)
{
	char path[100], *error = NULL;
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/state.db", s->dir);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_busy_timeout(db, PATIENCE_MS);
	if (sqlite3_exec(db, text, NULL, NULL, &error) != SQLITE_OK)
		fail_msg("%s: %s", text, error);
	sqlite3_close(db);
}

/* Makes a call, and returns the answer. The caller frees the answer with json_decref(). */
static json_t *ask(struct scene *s, const char *op, const char *args)
{
	json_t *answer = raw_ask(&s->raw,
				 raw_call(++s->calls, op, json_loads(args, 0, NULL)),
				 PATIENCE_MS);

	assert_non_null(answer);
	return answer;
}

static void tell(struct scene *s, const char *op, const char *args)
{
	json_t *answer = ask(s, op, args);

	if (!json_object_get(answer, "result"))
		fail_msg("%s %s: %s", op, args, json_dumps(answer, 0));
	json_decref(answer);
}

static int set_up(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));
	struct fault f = { 0 };

	assert_int_equal(temp_make(s->dir, "network"), 0);
	unsetenv("CADRE_SOCKET");
	setenv("XDG_RUNTIME_DIR", s->dir, 1);
	assert_int_equal(home_find(&s->home, s->dir, HOME_MAKE, &f), 0);
	s->fake = mmap(NULL, sizeof(*s->fake), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(s->fake != MAP_FAILED);
	net_fake_init(s->fake);
	start(s);
	tell(s, "team.create", "{\"name\":\"red\"}");
	tell(s, "team.create", "{\"name\":\"blue\"}");
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;

	stop(s, SIGTERM);
	munmap(s->fake, sizeof(*s->fake));
	temp_remove(s->dir);
	free(s);
	return 0;
}

/* Adds VMs that are stopped. These VMs never start, but keep their addresses. */
static void add_vms(struct scene *s)
{
	sql(s, "INSERT INTO workspace (team, name, backend, path, state, slot, "
	       "created_at, changed_at) VALUES (1, 'red-a', 2, 'a', 2, 2, 1, 1), "
	       "(1, 'red-b', 2, 'b', 2, 3, 1, 1), (2, 'blue-c', 2, 'c', 2, 4, 1, 1)");
}

/* --- conditions --------------------------------------------------------------------- */

static bool within_patience(struct scene *s, bool (*holds)(const struct scene *s))
{
	for (int64_t end = clock_steady_ms() + patience_ms(PATIENCE_MS);
	     clock_steady_ms() < end; pause_for(10))
		if (holds(s))
			return true;
	return false;
}

static bool three_are_in(const struct scene *s)
{
	return s->fake->plan.n_members == 3 && s->fake->applied;
}

static bool a_does_not_reach_b(const struct scene *s)
{
	return !net_fake_reaches(s->fake, s->a, s->b);
}

static bool nobody_is_in(const struct scene *s)
{
	return s->fake->plan.n_members == 0 && s->fake->removed;
}

static bool blue_is_gone(const struct scene *s)
{
	return s->fake->plan.n_members == 2;
}

static bool rules_are_back(const struct scene *s)
{
	return !s->fake->lost;
}

static void bring_up(struct scene *s)
{
	add_vms(s);
	tell(s, "team.create", "{\"name\":\"poke\"}");
	assert_true(within_patience(s, three_are_in));
	s->a = s->fake->members[0].ip;
	s->b = s->fake->members[1].ip;
	s->c = s->fake->members[2].ip;
}

static bool says(struct scene *s, const char *what)
{
	json_t *answer = ask(s, "workspace.net", "{\"workspace\":\"red-a\"}");
	char *text = json_dumps(answer, JSON_COMPACT);
	bool found = strstr(text, what) != NULL;

	free(text);
	json_decref(answer);
	return found;
}

/* --- stories -------------------------------------------------------------------------- */

static void rows_become_a_plan_and_changes_too(void **state)
{
	struct scene *s = *state;
	int applied;

	assert_int_equal(s->fake->applied, 0); /* without VMs no network is made */
	assert_int_equal(s->fake->removed, 0);
	bring_up(s);
	assert_string_equal(s->fake->plan.tag, s->home.settings.tag);
	assert_int_equal(s->a, s->fake->plan.base + 2);
	assert_true(net_fake_reaches(s->fake, s->a, s->b));
	assert_false(net_fake_reaches(s->fake, s->a, s->c));
	tell(s, "workspace.net",
	     "{\"workspace\":\"red-b\",\"allow_inter_vm\":false,"
	     "\"forwards\":[{\"port\":8080,\"to\":80,\"public\":true}]}");
	assert_true(within_patience(s, a_does_not_reach_b));
	assert_int_equal(s->fake->plan.n_forwards, 1);
	assert_int_equal(s->fake->forwards[0].ip, s->b);
	assert_int_equal(s->fake->forwards[0].port, 8080);
	assert_true(s->fake->forwards[0].open);
	/* An unchanged plan is not applied again. */
	applied = s->fake->applied;
	tell(s, "workspace.net", "{\"workspace\":\"red-b\",\"allow_inter_vm\":false}");
	tell(s, "team.destroy", "{\"name\":\"blue\",\"confirm\":true}");
	assert_true(within_patience(s, blue_is_gone));
	assert_int_equal(s->fake->applied, applied + 1);
	tell(s, "team.destroy", "{\"name\":\"red\",\"confirm\":true}");
	assert_true(within_patience(s, nobody_is_in));
}

static void it_is_made_again_after_a_kill_and_gone_after_a_stop(void **state)
{
	struct scene *s = *state;
	int applied;

	bring_up(s);
	applied = s->fake->applied;
	stop(s, SIGKILL);
	assert_int_equal(s->fake->plan.n_members, 3); /* the network stays */
	assert_int_equal(s->fake->removed, 0);
	s->fake->plan.n_members = 0;
	start(s);
	assert_true(within_patience(s, three_are_in));
	assert_int_equal(s->fake->applied, applied + 1);
	stop(s, SIGTERM);
	/* The host has removed the network, since no VM runs. */
	assert_int_equal(s->fake->removed, 1);
	start(s);
	assert_true(within_patience(s, three_are_in));
}

static void what_an_earlier_host_left_is_removed(void **state)
{
	struct scene *s = *state;

	stop(s, SIGKILL);
	s->fake->present = true;
	start(s);
	assert_true(within_patience(s, nobody_is_in));
}

static void flushed_rules_come_back(void **state)
{
	struct scene *s = *state;

	bring_up(s);
	s->fake->lost = true;
	assert_true(within_patience(s, rules_are_back));
}

static void why_it_cannot_be_made_is_told(void **state)
{
	struct scene *s = *state;
	int64_t end;

	s->fake->fail = true;
	add_vms(s);
	tell(s, "team.create", "{\"name\":\"poke\"}");
	for (end = clock_steady_ms() + patience_ms(PATIENCE_MS);
	     !says(s, "told to fail") && clock_steady_ms() < end;)
		pause_for(10);
	assert_true(clock_steady_ms() < end);
	s->fake->fail = false;
	for (; says(s, "told to fail") && clock_steady_ms() < end;)
		pause_for(10);
	assert_true(clock_steady_ms() < end);
	assert_int_equal(s->fake->plan.n_members, 3);
}

int main(void)
{
#define story(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		story(rows_become_a_plan_and_changes_too),
		story(it_is_made_again_after_a_kill_and_gone_after_a_stop),
		story(what_an_earlier_host_left_is_removed),
		story(flushed_rules_come_back),
		story(why_it_cannot_be_made_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
