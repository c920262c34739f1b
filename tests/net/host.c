/* host - tests with a whole host. The command `cadre` makes teams, and the host is killed and
 * started again. */
#include "tests/net/stories.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "core/base/clock.h"
#include "tests/lib/child.h"
#include "tests/lib/place.h"

enum { PATIENCE_MS = 30000 };

/* A host on the lab's machine. The lab's actors take the place of the host's VMs, which never
 * start, since there is no image to boot. */
struct whole {
	struct lab *lab;
	char dir[64];
	pid_t host;
};

static char *cadre(struct whole *w, const char *words)
{
	return lab_run(NULL, "CADRE_HOME=%s %s %s 2>&1", w->dir, cadre_path(), words);
}

/* Runs `cadre workspace net` with `words` for a VM. Returns the field `network` of the answer.
 * The caller drops the reference. */
static json_t *shown(struct whole *w, const char *workspace, const char *words)
{
	char line[300];
	json_t *answer, *network;

	snprintf(line, sizeof(line), "--json --team %.*s workspace net %s %s",
		 (int)strcspn(workspace, "/"), workspace, workspace, words);
	answer = json_loads(cadre(w, line), 0, NULL);
	network = json_incref(json_object_get(answer, "network"));
	json_decref(answer);
	assert_non_null(network);
	return network;
}

static const char *text(const json_t *network, const char *field)
{
	return json_string_value(json_object_get(network, field));
}

static void start(struct whole *w)
{
	const char *env[] = { "CADRE_IMAGES=/nonexistent",
			      "CADRE_NETWORK_RANGE=10.99.0.0/16", NULL };
	char log[100];

	snprintf(log, sizeof(log), "%s/host.out", w->dir);
	w->host = host_start(w->dir, env, log, PATIENCE_MS);
	assert_true(w->host > 0);
}

/* Repeats the shell command until the command succeeds or the time limit is reached. Returns
 * true if the command succeeded. */
static bool comes_true(const char *command)
{
	int64_t end = clock_steady_ms() + patience_ms(PATIENCE_MS);
	int status = 1;

	while (status && clock_steady_ms() < end) {
		lab_run(&status, "{ %s; } 2>&1", command);
		pause_for(20);
	}
	return status == 0;
}

/* Replaces the host's tap with a cable to an actor. */
static void plug(struct whole *w, enum who who, const char *workspace)
{
	struct actor *a = &w->lab->actors[who];
	json_t *n = shown(w, workspace, "");
	unsigned part[4];
	char command[600];

	snprintf(command, sizeof(command), "ip link show %s", text(n, "tap"));
	assert_true(comes_true(command));
	lab_run(NULL, "ip link del cd%08x-c0de; true", (unsigned)who);
	/* The host makes a missing tap again, sometimes between `ip link del` and `ip link
	 * add`. */
	lab_run(NULL,
		"until ip link del %s; ip link add %s type veth peer name eth0 netns %d; "
		"do sleep 0.1; done && nsenter -t %d -n "
		"sh -c 'ip link set eth0 address %s; ip addr add %s/%d dev eth0; "
		"ip link set eth0 up; ip route add default via %s'",
		text(n, "tap"), text(n, "tap"), (int)a->pid, (int)a->pid, text(n, "mac"),
		text(n, "address"), (int)json_integer_value(json_object_get(n, "prefix")),
		text(n, "gateway"));
	assert_int_equal(sscanf(text(n, "address"), "%u.%u.%u.%u", &part[0], &part[1],
				&part[2], &part[3]),
			 4);
	a->ip = part[0] << 24 | part[1] << 16 | part[2] << 8 | part[3];
	json_decref(n);
}

static void check(struct whole *w)
{
	struct lab *l = w->lab;

	assert_true(lab_reaches(l, A1, A2, TCP_WEB, true));
	assert_true(lab_reaches(l, A2, A1, UDP_WEB, true));
	assert_true(lab_reaches(l, A1, A2, PING, true));
	for (int way = 0; way < WAYS; way++) {
		assert_false(lab_reaches(l, A1, D1, (enum way)way, false));
		assert_false(lab_reaches(l, D1, A2, (enum way)way, false));
		assert_false(lab_reaches(l, D1, OUT, (enum way)way, false));
	}
	assert_true(lab_reaches(l, A2, OUT, TCP_WEB, true));
}

static void set_up(struct whole *w)
{
	assert_int_equal(temp_make(w->dir, "net"), 0);
	start(w);
	cadre(w, "team create red --allow-internet "
		 "--roles '[{\"name\":\"a\",\"workspace\":true,\"backend\":\"qemu\"},"
		 "{\"name\":\"b\",\"workspace\":true,\"backend\":\"qemu\"}]'");
	cadre(w, "team create blue "
		 "--roles '[{\"name\":\"d\",\"workspace\":true,\"backend\":\"qemu\"}]'");
	plug(w, A1, "red/a");
	plug(w, A2, "red/b");
	plug(w, D1, "blue/d");
	/* After a change of one VM's policy, the bridge still forwards packets of all three
	 * taps. */
	json_decref(shown(w, "blue/d", "--no-allow-inter-vm"));
	assert_true(comes_true("[ $(bridge link | grep -c forwarding) = 3 ]"));
}

static void changes_while_it_runs(struct whole *w)
{
	struct lab *l = w->lab;
	int line = lab_connect(l, A1, l->actors[A2].ip, PORT_WEB);
	json_t *n = shown(w, "red/b", "--no-allow-internet --allowed-ports 80");

	assert_true(json_is_false(json_object_get(n, "allow_internet")));
	json_decref(n);
	assert_true(comes_true("nft list ruleset | grep -q 'tcp . 80'"));
	assert_true(lab_talks(l, A1, line, true));
	assert_false(lab_reaches(l, A1, A2, TCP_SSH, false));
	assert_false(lab_reaches(l, A2, OUT, PING, false));
	json_decref(shown(w, "red/b", "--allow-internet --allowed-ports="));
	assert_true(comes_true("! nft list ruleset | grep -q 'tcp . 80'"));
	assert_true(lab_talks(l, A1, line, true));
	check(w);
}

static void killed_and_started_again(struct whole *w)
{
	struct lab *l = w->lab;
	int line = lab_connect(l, A1, l->actors[A2].ip, PORT_SSH);

	kill(w->host, SIGKILL);
	child_wait(w->host, PATIENCE_MS);
	check(w); /* the rules remain without a host */
	lab_run(NULL, "nft flush ruleset"); /* a reboot also removes all rules */
	start(w);
	assert_true(comes_true("nft list ruleset | grep -q 'jump open'"));
	check(w);
	assert_true(lab_talks(l, A1, line, true));
	cadre(w, "team destroy --yes blue");
	assert_true(comes_true("[ $(bridge link | wc -l) = 2 ]"));
	assert_true(lab_reaches(l, A1, A2, TCP_WEB, true));
}

void a_host_keeps_its_network(void **state)
{
	struct whole w = { .lab = *state };

	set_up(&w);
	check(&w);
	changes_while_it_runs(&w);
	killed_and_started_again(&w);
	/* The host has no running VM, so it removes its rules and taps when it ends. */
	assert_int_equal(child_end(w.host, PATIENCE_MS), 0);
	assert_string_equal(lab_run(NULL, "nft list ruleset; bridge link"), "");
	temp_remove(w.dir);
}
