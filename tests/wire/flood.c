/* Floods of calls and connections, each of which is valid by itself. */
#include "tests/wire/wire.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "core/base/clock.h"
#include "tests/lib/place.h"

/* Waits until the host has about as many open descriptors as before. */
static void descriptors_back(struct scene *s, long before)
{
	int64_t until = clock_steady_ms() + patience_ms(10000);

	while (descriptors_of(s->host) > before + 4 && clock_steady_ms() < until)
		pause_for(20);
	assert_in_range(descriptors_of(s->host), 0, before + 4);
}

/* Opens a thousand connections a second for two seconds. Half of the connections send a call
 * before they are closed. */
void test_connects(void **state)
{
	struct scene *s = *state;
	long before = descriptors_of(s->host);
	int64_t began = clock_steady_ms();
	struct raw r;

	for (int i = 0; i < 2000; i++) {
		assert_true(raw_dial(&r, s->found.socket));
		if (i % 2)
			raw_say(&r, raw_call(i, "team.list", json_object()));
		raw_hang_up(&r);
		if (i % 500 == 499)
			healthy(s);
		if (clock_steady_ms() - began < i)
			pause_for(1);
	}
	print_message("           2000 connections in %lld ms\n",
		      (long long)(clock_steady_ms() - began));
	descriptors_back(s, before);
}

static void allow_descriptors(rlim_t n)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = n < limit.rlim_max ? n : limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* Opens more connections than the host has descriptors. The host must go on serving the client
 * that connected earlier, and must serve new clients when the many clients have left. */
void test_no_descriptors(void **state)
{
	enum { MANY = 400 };
	struct scene *s = *state;
	struct raw first, *r = calloc(MANY, sizeof(*r));
	struct rlimit was, few;
	long before = descriptors_of(s->host);

	allow_descriptors(4096);
	dial(s, &first, "ann");
	assert_int_equal(prlimit(s->host, RLIMIT_NOFILE, NULL, &was), 0);
	few = (struct rlimit){ 200, was.rlim_max };
	assert_int_equal(prlimit(s->host, RLIMIT_NOFILE, &few, NULL), 0);
	for (int i = 0; i < MANY; i++) {
		assert_true(raw_dial(&r[i], s->found.socket));
		raw_say(&r[i], raw_call(i, "team.list", json_object()));
	}
	for (int i = 0; i < 20; i++)
		json_decref(call(&first, i, "message.send",
				 "{'to':'bob','content':'still here'}"));
	for (int i = 0; i < MANY; i++)
		raw_hang_up(&r[i]);
	free(r);
	raw_hang_up(&first);
	assert_int_equal(prlimit(s->host, RLIMIT_NOFILE, &was, NULL), 0);
	descriptors_back(s, before);
}

/* Sends very many calls and reads no answer. The host must stop reading, or close the
 * connection, before the answers take much memory. */
void test_never_reads(void **state)
{
	enum { PEERS = 6 };
	struct scene *s = *state;
	char content[4000];
	struct raw r[PEERS];
	long before, sent = 0;

	memset(content, 'x', sizeof(content));
	dial(s, &r[0], "ann");
	for (int i = 0; i < 60; i++)
		json_decref(raw_ask(&r[0],
				    raw_call(i, "message.send",
					     json_pack("{ssss#}", "to", "ann", "content",
						       content, (int)sizeof(content))),
				    ANSWER_MS));
	raw_hang_up(&r[0]);
	before = memory_of(s->host);
	for (int i = 0; i < PEERS; i++) {
		static const char body[] = "{\"type\":\"Call\",\"id\":1,\"op\":"
					   "\"message.peek\",\"args\":{\"limit\":100}}";

		dial(s, &r[i], "ann");
		/* Each answer takes about a quarter of a megabyte. */
		while (sent < 2000 * (i + 1) &&
		       raw_frame(&r[i], body, sizeof(body) - 1, 500))
			sent++;
		healthy(s);
	}
	print_message("           %ld calls, %ld KiB more\n", sent,
		      memory_of(s->host) - before);
	assert_true(memory_of(s->host) - before < 96 << 10);
	for (int i = 0; i < PEERS; i++)
		raw_hang_up(&r[i]);
}

/* Makes many calls that wait, and then closes their connections. */
void test_waits_and_leaves(void **state)
{
	struct scene *s = *state;
	long before = descriptors_of(s->host);
	struct raw r;

	for (int round = 0; round < 20; round++) {
		dial(s, &r, "bob");
		json_decref(call(&r, 0, "message.receive",
				 "{'lease_seconds':0,'limit':100}"));
		for (int i = 0; i < 40; i++)
			raw_say(&r, raw_call(i + 1, "message.receive",
					     json_pack("{si}", "wait_seconds", 60)));
		if (round % 2)
			healthy(s);
		raw_hang_up(&r);
	}
	/* A message that is sent now must go to the next caller, not to the closed connections. */
	dial(s, &r, "bob");
	json_decref(call(&r, 1, "message.send", "{'to':'bob','content':'kept'}"));
	descriptors_back(s, before + 1);
	json_t *answer = call(&r, 2, "message.receive", "{'lease_seconds':0}");
	assert_int_equal(json_integer_value(json_object_get(
				 json_object_get(answer, "result"), "count")),
			 1);
	json_decref(answer);
	raw_hang_up(&r);
}

/* --- a client that does not confirm ------------------------------------------------- */

static void receive_unconfirmed(struct raw *r, int id)
{
	json_t *call =
		raw_call(id, "message.receive",
			 json_pack("{sssi}", "request_id", "r", "lease_seconds", 900));

	json_object_set_new(call, "confirms", json_true());
	assert_true(raw_say(r, call));
}

/* The host keeps up to a thousand unconfirmed answers for each connection. When one more answer
 * is added, the messages of the oldest answer are handed out again. */
void test_never_confirms(void **state)
{
	enum { KEPT = 1000, AT_A_TIME = 50 };
	struct scene *s = *state;
	json_t *answer;
	struct raw r, again;

	dial(s, &r, NULL);
	json_decref(call(&r, 1, "agent.register", "{'name':'cat'}"));
	json_decref(call(&r, 1, "message.send", "{'to':'cat','content':'first'}"));
	raw_hang_up(&r);
	dial(s, &r, "cat");
	dial(s, &again, "cat");
	for (int i = 0; i < KEPT; i++) {
		receive_unconfirmed(&r, i);
		for (int n = (i + 1) % AT_A_TIME ? 0 : AT_A_TIME; n; n--)
			json_decref(raw_hear(&r, ANSWER_MS));
	}
	answer = call(&again, 1, "message.receive", "{}");
	assert_int_equal(json_array_size(json_object_get(
				 json_object_get(answer, "result"), "messages")),
			 0);
	json_decref(answer);
	receive_unconfirmed(&r, KEPT);
	answer = call(&again, 2, "message.receive", "{'wait_seconds':30}");
	const json_t *messages =
		json_object_get(json_object_get(answer, "result"), "messages");
	assert_int_equal(json_array_size(messages), 1);
	assert_string_equal(text_at(json_array_get(messages, 0), "content"), "first");
	json_decref(answer);
	raw_hang_up(&again);
	raw_hang_up(&r);
}

/* --- a guest that is stopped ------------------------------------------------------- */

static pid_t guest_of(struct raw *r, const char *workspace)
{
	char args[100];
	json_t *answer;
	pid_t pid;

	snprintf(args, sizeof(args), "{'workspace':'%s'}", workspace);
	for (int i = 0; i < patience_ms(600); i++, pause_for(50)) {
		answer = call(r, i, "workspace.info", args);
		const json_t *w =
			json_object_get(json_object_get(answer, "result"), "workspace");
		bool ready = !strcmp(text_at(w, "state"), "ready");

		pid = (pid_t)json_integer_value(json_object_get(w, "pid"));
		json_decref(answer);
		if (ready && pid > 0)
			return pid;
	}
	fail_msg("%s has no guest", workspace);
	return 0;
}

void test_slow_guest(void **state)
{
	struct scene *s = *state;
	struct raw r, slow;
	json_t *answer;
	pid_t guest;

	dial(s, &r, NULL);
	json_decref(call(&r, 1, "agent.register", "{'name':'sloth'}"));
	json_decref(call(&r, 1, "workspace.create", "{'agent':'sloth'}"));
	guest = guest_of(&r, "red/sloth");
	kill(guest, SIGSTOP);
	dial(s, &slow, NULL);
	for (int i = 0; i < 50; i++)
		raw_say(&slow, raw_call(i, "workspace.exec",
					json_pack("{ssss}", "workspace", "red/sloth",
						  "command", "echo moved")));
	for (int i = 0; i < 150; i++)
		json_decref(call(&r, i, "message.send",
				 "{'to':'sloth','content':'are you there?'}"));
	for (int i = 0; i < 5; i++, pause_for(200))
		healthy(s);
	assert_null(raw_hear(&slow, 0));
	kill(guest, SIGCONT);
	for (int i = 0; i < 50; i++) {
		answer = raw_hear(&slow, ANSWER_MS);
		assert_string_equal(text_at(json_object_get(answer, "result"), "stdout"),
				    "moved\n");
		json_decref(answer);
	}
	/* Repeats the commands, but the caller disconnects before the answers arrive. */
	kill(guest, SIGSTOP);
	for (int i = 0; i < 50; i++)
		raw_say(&slow, raw_call(i, "workspace.exec",
					json_pack("{ssss}", "workspace", "red/sloth",
						  "command", "echo moved")));
	raw_hang_up(&slow);
	healthy(s);
	kill(guest, SIGCONT);
	json_decref(call(&r, 1, "workspace.destroy",
			 "{'workspace':'red/sloth','confirm':true}"));
	raw_hang_up(&r);
}

/* Sends four commands to one agent's daemon at once. Each command writes a line to `began` half
 * a second after the command's start. By then the guest has reported the start. */
static void assign_four(struct raw *r, const char *began)
{
	for (int i = 0; i < 4; i++) {
		json_t *content =
			json_pack("{ss,so}", "task_id", "t", "command",
				  json_sprintf("sleep 0.5; echo >>%s; sleep 60", began));
		char *text = json_dumps(content, JSON_COMPACT);

		raw_say(r, raw_call(i, "message.send",
				    json_pack("{ss,ss,ss}", "to", "quick", "content",
					      text, "message_type", "task_assignment")));
		free(text);
		json_decref(content);
	}
	for (int i = 0; i < 4; i++)
		json_decref(raw_hear(r, ANSWER_MS));
}

static bool has_size(const char *path, off_t size)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_size >= size;
}

static int count_running(struct raw *r)
{
	json_t *answer = call(r, 1, "assignment.list", "{'agent':'quick'}"), *a;
	size_t i;
	int n = 0;

	json_array_foreach(
		json_object_get(json_object_get(answer, "result"), "assignments"), i, a)
		n += !strcmp(text_at(a, "state"), "running");
	json_decref(answer);
	return n;
}

/* A guest sends a heartbeat for each command that begins. Here four heartbeats arrive while the
 * host still stores the first heartbeat. The host must store the last heartbeat, although no
 * further heartbeat follows. */
void test_heartbeats_at_once(void **state)
{
	struct scene *s = *state;
	int64_t until = clock_steady_ms() + patience_ms(ANSWER_MS);
	char began[100];
	struct raw r;
	pid_t guest;

	snprintf(began, sizeof(began), "%s/began", s->base);
	dial(s, &r, NULL);
	json_decref(call(&r, 1, "agent.register", "{'name':'quick'}"));
	json_decref(call(&r, 1, "workspace.create", "{'agent':'quick'}"));
	guest = guest_of(&r, "red/quick");
	assign_four(&r, began);
	while (!has_size(began, 4) && clock_steady_ms() < until)
		pause_for(5);
	kill(guest, SIGSTOP);
	while (count_running(&r) < 4 && clock_steady_ms() < until)
		pause_for(50);
	assert_int_equal(count_running(&r), 4);
	kill(guest, SIGCONT);
	json_decref(call(&r, 1, "workspace.destroy",
			 "{'workspace':'red/quick','confirm':true}"));
	raw_hang_up(&r);
}
