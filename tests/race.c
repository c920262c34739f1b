/*
 * race - tests a whole host under load. $CADRE is built with ThreadSanitizer.
 *
 * Clients send, receive, claim, assign, wait, read and run commands, and close connections in
 * the middle of a frame. At the same time guests work, workspaces are made and destroyed, and a
 * guest is killed. The mirror and the search index follow the changes. The host is stopped
 * under load and started again. At the end no process may have written a report of
 * ThreadSanitizer.
 */
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "core/home/home.h"
#include "tests/lib/child.h"
#include "tests/lib/dice.h"
#include "tests/lib/place.h"
#include "tests/lib/raw.h"

enum {
	CLIENTS = 6,
	BATCH = 24,
	LOAD_MS = 8000,
	ANSWER_MS = 60000, /* a host under TSan is slow */
};

struct tally {
	_Atomic long calls, answers, refused, internal;
};

struct scene {
	char base[64], home[100], log[100], reports[100];
	struct home found;
	struct tally *tally; /* in memory shared with the clients */
	pid_t host;
};

/* --- one client --------------------------------------------------------------------- */

struct client {
	struct scene *scene;
	struct raw raw;
	struct dice dice;
	const char *name;
	int last; /* id of the newest call */
	json_t *mail, *tasks; /* ids of held messages; held claims as [task, epoch] */
};

static const char *const names[] = { "lead", "w-1", "w-2", "ann", "bob" };

static const char *somebody(struct client *c)
{
	return names[dice_below(&c->dice, 5)];
}

static json_t *do_send(struct client *c)
{
	return json_pack("{ssss}", "to", somebody(c), "content", "needle in a race");
}

static json_t *do_tell_all(struct client *c)
{
	(void)c;
	return json_pack("{ssss}", "to", "*", "content", "to all");
}

static json_t *do_receive(struct client *c)
{
	return json_pack("{sisi}", "wait_seconds", dice_below(&c->dice, 2),
			 "lease_seconds", dice_below(&c->dice, 2) * 5);
}

static json_t *do_ack(struct client *c)
{
	json_t *args = json_pack("{sO}", "message_ids", c->mail);

	if (json_array_size(c->mail) == 0) {
		json_decref(args);
		return NULL;
	}
	json_array_clear(c->mail);
	return args;
}

static json_t *do_create(struct client *c)
{
	return json_pack("{sssi}", "title", "a task", "priority",
			 1 + dice_below(&c->dice, 5));
}

static json_t *do_claim(struct client *c)
{
	return json_pack("{sisi}", "wait_seconds", dice_below(&c->dice, 2),
			 "lease_seconds", 10);
}

static json_t *do_complete(struct client *c)
{
	json_t *claim = json_array_get(c->tasks, 0), *args;

	if (!claim)
		return NULL;
	args = json_pack("{sOsOss}", "task", json_array_get(claim, 0), "epoch",
			 json_array_get(claim, 1), "result", "done");
	json_array_remove(c->tasks, 0);
	return args;
}

static json_t *do_assign(struct client *c)
{
	return json_pack("{sossss}", "task",
			 json_sprintf("%03d", 1 + dice_below(&c->dice, 40)), "agent",
			 dice_percent(&c->dice, 50) ? "w-1" : "w-2", "command",
			 "echo a command; sleep 0.05");
}

static json_t *do_find(struct client *c)
{
	(void)c;
	return json_pack("{ss}", "query", "needle");
}

static json_t *do_note(struct client *c)
{
	return json_pack("{soss}", "path",
			 json_sprintf("race-%d.md", dice_below(&c->dice, 3)), "content",
			 "a needle in a note");
}

static json_t *do_tag(struct client *c)
{
	return json_pack("{sos[o]}", "path",
			 json_sprintf("race-%d.md", dice_below(&c->dice, 3)), "add",
			 json_sprintf("t%d", dice_below(&c->dice, 9)));
}

static json_t *do_grep(struct client *c)
{
	return json_pack("{sssb}", "query", "need.e", "regex",
			 dice_percent(&c->dice, 50));
}

static json_t *do_exec(struct client *c)
{
	return json_pack("{ssss}", "workspace",
			 dice_percent(&c->dice, 50) ? "red/w-1" : "red/w-2", "command",
			 "seq 1 2000");
}

static json_t *do_nothing_else(struct client *c)
{
	(void)c;
	return json_object();
}

static json_t *do_watch(struct client *c)
{
	return json_pack("{si}", "wait_seconds", dice_below(&c->dice, 2));
}

static const struct new_event {
	const char *op;
	json_t *(*args)(struct client *c);
	int weight;
} deeds[] = {
	{ "message.send", do_send, 14 },        { "message.send", do_tell_all, 3 },
	{ "message.receive", do_receive, 14 },  { "message.ack", do_ack, 10 },
	{ "message.peek", do_nothing_else, 4 }, { "task.create", do_create, 5 },
	{ "task.claim", do_claim, 6 },          { "task.complete", do_complete, 8 },
	{ "task.list", do_nothing_else, 4 },    { "task.assign", do_assign, 3 },
	{ "search.find", do_find, 4 },          { "event.list", do_watch, 4 },
	{ "agent.list", do_nothing_else, 2 },   { "agent.heartbeat", do_nothing_else, 2 },
	{ "result.list", do_nothing_else, 2 },  { "team.status", do_nothing_else, 2 },
	{ "state.status", do_nothing_else, 2 }, { "state.gc", do_nothing_else, 1 },
	{ "workspace.exec", do_exec, 3 },       { "workspace.list", do_nothing_else, 1 },
	{ "vault.append", do_note, 3 },         { "vault.tag", do_tag, 1 },
	{ "vault.search", do_grep, 2 },
};

static const struct new_event *pick(struct client *c)
{
	int at = dice_below(&c->dice, 100);

	for (size_t i = 0; i < sizeof(deeds) / sizeof(*deeds); i++)
		if ((at -= deeds[i].weight) < 0)
			return &deeds[i];
	return &deeds[0];
}

static bool ask_something(struct client *c)
{
	const struct new_event *deed = pick(c);
	json_t *args = deed->args(c);

	if (!args) {
		deed = &deeds[0];
		args = deed->args(c);
	}
	c->scene->tally->calls++;
	return raw_say(&c->raw, raw_call(++c->last, deed->op, args));
}

static void take_answer(struct client *c, const json_t *answer)
{
	const json_t *result = json_object_get(answer, "result");
	const char *code = json_string_value(json_object_get(answer, "code"));
	json_t *mail = json_object_get(result, "messages"), *m;
	json_t *task = json_object_get(result, "task");
	size_t i;

	c->scene->tally->answers++;
	c->scene->tally->refused += code != NULL;
	if (code && !strcmp(code, "Internal")) {
		c->scene->tally->internal++;
		json_dumpf(answer, stderr, 0);
	}
	json_array_foreach(mail, i, m)
		json_array_append(c->mail, json_object_get(m, "message_id"));
	if (task && json_object_get(result, "epoch"))
		json_array_append_new(c->tasks,
				      json_pack("[OO]", json_object_get(task, "id"),
						json_object_get(result, "epoch")));
}

/* Sends a few calls at once, then reads the answers. At random, reads no answer and returns
 * false, so that the caller closes the connection. */
static bool converse(struct client *c)
{
	int n = 1 + dice_below(&c->dice, BATCH);
	bool leaves = dice_percent(&c->dice, 8);
	json_t *answer;

	for (int i = 0; i < n; i++)
		if (!ask_something(c))
			return false;
	if (leaves && dice_percent(&c->dice, 50))
		raw_send(&c->raw, "\0\0\1\0{\"type\":", 13, 1000);
	if (leaves)
		return false;
	for (int i = 0; i < n; i++) {
		answer = raw_hear(&c->raw, ANSWER_MS);
		if (!answer)
			return false;
		take_answer(c, answer);
		json_decref(answer);
	}
	return true;
}

static void one_life(struct client *c, int64_t until)
{
	json_t *hello;

	if (!raw_dial(&c->raw, c->scene->found.socket)) {
		pause_for(50);
		return;
	}
	if (raw_say(&c->raw, raw_hello("red", c->name)) &&
	    (hello = raw_hear(&c->raw, ANSWER_MS))) {
		json_decref(hello);
		while (clock_steady_ms() < until && converse(c))
			;
	}
	raw_hang_up(&c->raw);
}

static pid_t client_start(struct scene *s, int number, int64_t until)
{
	struct client c = { .scene = s, .dice = { (uint64_t)number * 7919 } };
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	c.name = names[number % 5];
	c.mail = json_array();
	c.tasks = json_array();
	while (clock_steady_ms() < until)
		one_life(&c, until);
	_exit(0);
}

/* --- the scene ------------------------------------------------------------------------ */

static void start_host(struct scene *s)
{
	char options[250];
	const char *const env[] = { options, NULL };

	snprintf(options, sizeof(options),
		 "TSAN_OPTIONS=exitcode=66:halt_on_error=0:second_deadlock_stack=1:"
		 "history_size=7:log_path=%s",
		 s->reports);
	s->host = host_start(s->home, env, s->log, 60000);
	assert_true(s->host > 0);
}

/* Makes a call as the operator, and returns the call's result. The call must succeed. */
static json_t *ask(struct scene *s, const char *op, json_t *args)
{
	struct raw r;
	json_t *answer, *result;

	assert_true(raw_dial(&r, s->found.socket));
	assert_true(raw_say(&r, raw_hello("red", NULL)));
	answer = raw_ask(&r, raw_call(1, op, args), ANSWER_MS);
	assert_non_null(answer);
	result = json_incref(json_object_get(answer, "result"));
	if (!result)
		fail_msg("%s: %s", op, json_dumps(answer, 0));
	json_decref(answer);
	raw_hang_up(&r);
	return result;
}

static void make_team(struct scene *s)
{
	char golden[120];

	snprintf(golden, sizeof(golden), "%s/golden", s->base);
	mkdir(golden, 0700);
	json_decref(ask(s, "team.create",
			json_pack("{sssss[{sssssb}{sssbsi}{ss}{ss}]}", "name", "red",
				  "golden", golden, "roles", "name", "lead", "role",
				  "lead", "workspace", 0, "name", "w", "workspace", 1,
				  "count", 2, "name", "ann", "name", "bob")));
	for (int i = 0; i < 40; i++)
		json_decref(ask(s, "task.create", json_pack("{ss}", "title", "one")));
}

/* Stores the pids of running guests. Returns the number of running guests. */
static int guests(struct scene *s, pid_t pids[16])
{
	json_t *list = ask(s, "workspace.list", json_object()), *w;
	size_t i;
	int n = 0;

	json_array_foreach(json_object_get(list, "workspaces"), i, w) {
		pid_t pid = (pid_t)json_integer_value(json_object_get(w, "pid"));

		if (pid > 0 && n < 16)
			pids[n++] = pid;
	}
	json_decref(list);
	return n;
}

static void wait_guests(struct scene *s, int n)
{
	int64_t until = clock_steady_ms() + patience_ms(60000);
	pid_t pids[16];

	while (guests(s, pids) < n) {
		if (clock_steady_ms() > until)
			fail_msg("no %d guests; see %s", n, s->log);
		pause_for(100);
	}
}

/* During the load, makes and destroys copies of a workspace, and kills a guest. */
static void disturb(struct scene *s, int64_t until)
{
	pid_t pids[16];
	json_t *copy, *args;
	const char *name;

	/* A workspace cannot be copied before it is ready. */
	json_decref(ask(s, "workspace.wait",
			json_pack("{sssi}", "workspace", "w-1", "timeout", 60)));
	for (int round = 0; clock_steady_ms() < until; round++) {
		copy = ask(s, "workspace.fork", json_pack("{ss}", "workspace", "w-1"));
		if (guests(s, pids) > 0 && round % 2)
			kill(pids[0], SIGKILL);
		pause_for(1000);
		name = json_string_value(
			json_object_get(json_object_get(copy, "workspace"), "name"));
		args = json_pack("{sssb}", "workspace", name ? name : "", "confirm", 1);
		json_decref(ask(s, "workspace.destroy", args));
		json_decref(copy);
	}
}

static void stop_host(struct scene *s)
{
	int status = child_end(s->host, 60000);

	s->host = 0;
	if (status)
		print_error("the host ended with status %d\n", status);
	assert_int_equal(status, 0);
}

static void show(const char *path)
{
	char line[512];
	FILE *in = fopen(path, "re");

	while (in && fgets(line, sizeof(line), in))
		fputs(line, stderr);
	if (in)
		fclose(in);
}

static void no_reports(const struct scene *s)
{
	char pattern[120];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s.*", s->reports);
	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		show(found.gl_pathv[i]);
	fail_msg("%zu processes wrote reports", found.gl_pathc);
}

/* Runs the load, and stops the host either during the load or after the load. */
static void round_of(struct scene *s, int ms, bool stop_under_load)
{
	int64_t until = clock_steady_ms() + ms;
	pid_t clients[CLIENTS];

	for (int i = 0; i < CLIENTS; i++)
		clients[i] = client_start(s, i + 1, until + 500 * stop_under_load);
	disturb(s, until);
	if (stop_under_load)
		stop_host(s);
	for (int i = 0; i < CLIENTS; i++)
		assert_int_equal(child_wait(clients[i], 90000), 0);
	if (!stop_under_load)
		stop_host(s);
}

static void test_race(void **state)
{
	struct scene *s = *state;
	long part = 2; /* a check runs half of the load */

	first_of(&part);
	start_host(s);
	make_team(s);
	wait_guests(s, 2);
	round_of(s, LOAD_MS / part, true);
	start_host(s);
	wait_guests(s, 2);
	round_of(s, LOAD_MS / 2 / part, false);
	print_message("           %ld calls, %ld answers, %ld refused\n", s->tally->calls,
		      s->tally->answers, s->tally->refused);
	assert_int_equal(s->tally->internal, 0);
	assert_true(s->tally->answers > 100);
	/* Guests write their reports when they end. */
	for (pid_t pids[16], n = 0; n >= 0; n = -1) {
		start_host(s);
		wait_guests(s, 2);
		n = (pid_t)guests(s, pids);
		stop_host(s);
		for (int i = 0; i < n; i++)
			child_end(pids[i], 20000);
	}
	no_reports(s);
}

static int set_up(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));
	struct fault f = { 0 };

	assert_int_equal(temp_make(s->base, "race"), 0);
	snprintf(s->home, sizeof(s->home), "%s/s", s->base);
	snprintf(s->log, sizeof(s->log), "%s/log", s->base);
	snprintf(s->reports, sizeof(s->reports), "%s/report", s->base);
	setenv("XDG_RUNTIME_DIR", s->base, 1);
	setenv("HOME", s->base, 1);
	s->tally = mmap(NULL, sizeof(*s->tally), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(s->tally != MAP_FAILED);
	assert_int_equal(home_find(&s->found, s->home, HOME_MAKE, &f), 0);
	child_adopt();
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;

	child_end_all();
	if (getenv("KEEP"))
		printf("kept: %s\n", s->base);
	else
		temp_remove(s->base);
	free(s);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_race, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
