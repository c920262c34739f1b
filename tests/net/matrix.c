/* matrix - every actor sends to every other actor, in every way. */
#include "tests/net/stories.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each row has a sender, and then receivers, each with a sign. `+`: all ways are open; `w`:
 * only port 80 and ping are open; `i`: only ping is open; `.`: no way is open. */
static const char *const rows[] = {
	"a1 to  a2 w  a3 +  b1 +  b2 .  c1 +  c2 .  d1 .  out +  host i",
	"a2 to  a1 +  a3 +  b1 +  b2 .  c1 +  c2 .  d1 .  out .  host i",
	"a3 to  a1 +  a2 w  b1 +  b2 .  c1 +  c2 .  d1 .  out .  host i",
	"b1 to  a1 +  a2 w  a3 +  b2 +  c1 .  c2 .  d1 .  out .  host i",
	"b2 to  a1 .  a2 .  a3 .  b1 +  c1 .  c2 .  d1 .  out .  host i",
	"c1 to  a1 +  a2 w  a3 +  b1 .  b2 .  c2 +  d1 .  out .  host i",
	"c2 to  a1 .  a2 .  a3 .  b1 .  b2 .  c1 +  d1 .  out .  host i",
	"d1 to  a1 .  a2 .  a3 .  b1 .  b2 .  c1 .  c2 .  out .  host i",
	"out to  a1 .  b2 .  d1 .",
	"left to  a1 .  b2 .  right +",
	"right to  left +  d1 .",
	"host to  a1 +  a2 +  b2 +  d1 +  out +",
};

static enum who who_is(struct lab *l, const char *name)
{
	for (int i = 0; i < ACTORS; i++)
		if (!strcmp(l->actors[i].name, name))
			return (enum who)i;
	fail_msg("who is %s?", name);
	return HOST;
}

static bool may(char letter, enum way way)
{
	switch (letter) {
	case '+':
		return true;
	case 'w':
		return way != TCP_SSH;
	case 'i':
		return way == PING;
	default:
		return false;
	}
}

static int check_row(struct lab *l, const char *row)
{
	char from[8], to[8], letter;
	int at = 0, next, wrong = 0;

	assert_int_equal(sscanf(row, "%7s to %n", from, &at), 1);
	while (sscanf(row + at, "%7s %c %n", to, &letter, &next) == 2) {
		at += next;
		for (int way = 0; way < WAYS; way++) {
			bool expect = may(letter, (enum way)way);

			if (lab_reaches(l, who_is(l, from), who_is(l, to), (enum way)way,
					expect) == expect)
				continue;
			print_error("%s %s %s by way %d\n", from,
				    expect ? "does not reach" : "reaches", to, way);
			wrong++;
		}
	}
	return wrong;
}

static void check_matrix(struct lab *l)
{
	int wrong = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		wrong += check_row(l, rows[i]);
	assert_int_equal(wrong, 0);
}

void members_reach_their_team_and_nobody_else(void **state)
{
	struct lab *l = *state;

	lab_apply(l);
	check_matrix(l);
}

/* With br_netfilter, the kernel also applies the rules for IP to packets on a bridge. */
void it_is_the_same_where_bridges_call_iptables(void **state)
{
	struct lab *l = *state;
	static const char switch_[] = "/proc/sys/net/bridge/bridge-nf-call-iptables";
	int status;

	for (int on = 0; on < 2; on++) {
		lab_run(&status, "[ ! -e %s ] || echo %d > %s", switch_, on, switch_);
		lab_apply(l);
		check_matrix(l);
	}
}

/* A killed host loses its memory, but its bridges and rules stay. */
void after_a_restart_it_is_as_before(void **state)
{
	struct lab *l = *state;
	static const char look[] =
		"nft list ruleset | tr ',{}' '\n' | tr -d ' \t' | sort; "
		/* This command prints no link states and no link-local addresses, which the
		 * kernel sets a little later. */
		"ip -4 -br addr | awk '{ print $1, $3 }'; "
		"ip neigh show nud permanent | sort";
	char *before;

	lab_apply(l);
	before = strdup(lab_run(NULL, look));
	net_linux_release(&l->net);
	net_linux_init(&l->net);
	check_matrix(l);
	lab_apply(l);
	assert_string_equal(lab_run(NULL, "%s", look), before);
	check_matrix(l);
	free(before);
}
