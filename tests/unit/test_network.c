/* test_network - the rows about the network of the VMs: addresses, and network policies. Of
 * several policies the strictest applies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/nic.h"
#include "core/workspace/network.h"
#include "ops.gen.h"
#include "tests/lib/world.h"

/* --- addresses ---------------------------------------------------------------- */

static void a_range_is_read_or_refused_with_what_is_meant(void **state)
{
	static const struct {
		const char *text;
		uint32_t base;
		int prefix;
		const char *hint;
	} cases[] = {
		{ "10.99.0.0/16", 0x0a630000, 16, NULL },
		{ "10.0.0.0/8", 0x0a000000, 8, NULL },
		{ "192.168.7.16/28", 0xc0a80710, 28, NULL },
		{ "10.99.1.0/16", 0, 0, "Did you mean 10.99.0.0/16?" },
		{ "10.99.0.0", 0, 0, "Write the range as" },
		{ "10.99.0.0/", 0, 0, "Write the range as" },
		{ "10.99.0.0/29", 0, 0, "Write the range as" },
		{ "10.99.0.0/7", 0, 0, "Write the range as" },
		{ "10.99.0.256/16", 0, 0, "Write the range as" },
		{ "10.99.0/16", 0, 0, "Write the range as" },
		{ "-1.99.0.0/16", 0, 0, "Write the range as" },
		{ "10.99.0.0/16 ", 0, 0, "Write the range as" },
		{ "", 0, 0, "Write the range as" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nic_range range = { 0 };
		struct fault f = { 0 };
		int rc = nic_range_parse(cases[i].text, &range, &f);

		assert_int_equal(rc, cases[i].hint ? FAULT_INVALID : 0);
		assert_int_equal(range.base, cases[i].base);
		assert_int_equal(range.prefix, cases[i].prefix);
		if (cases[i].hint)
			assert_ptr_equal(strstr(f.hint, cases[i].hint), f.hint);
	}
}

static void everything_follows_from_the_slot_and_the_id(void **state)
{
	const struct nic_range range = { 0x0a630000, 16 };
	struct nic nic = { 0 };

	(void)state;
	nic_of(&range, "e040", "01a1fd7d-712b-7a09-8be1-234a0d48a921", 258, &nic);
	assert_string_equal(nic.tap, "cd0d48a921-e040");
	assert_string_equal(nic.mac_text, "02:4a:0d:48:a9:21");
	assert_string_equal(nic.address, "10.99.1.2");
	assert_string_equal(nic.gateway, "10.99.0.1");
	assert_int_equal(nic.ip, 0x0a630102);
	assert_memory_equal(nic.mac, "\x02\x4a\x0d\x48\xa9\x21", 6);
	assert_int_equal(nic_slots(&range), 65534);
}

/* --- rows --------------------------------------------------------------------- */

struct asker {
	struct world world;
	struct identity as;
	struct answer answer;
};

static int64_t sql(struct asker *a, const char *text)
{
	return world_number(a->world.store, text);
}

/* Makes a call, and returns the text of the answer. The text is valid until the next call. */
static const char *ask(struct asker *a, const struct op *op, const char *args)
{
	static char text[16384];
	json_t *in = json_loads(args, 0, NULL);
	char *reply;

	assert_non_null(in);
	answer_release(&a->answer);
	world_ask(&a->world, a->world.store,
		  &(struct asked){ .op = op, .args = in, .identity = a->as }, &a->answer);
	json_decref(in);
	if (a->answer.rc < 0) {
		snprintf(text, sizeof(text), "%s at %s: %s",
			 fault_info(a->answer.fault.code)->name, a->answer.fault.where,
			 a->answer.fault.text);
		return text;
	}
	reply = json_dumps(a->answer.reply, JSON_COMPACT);
	snprintf(text, sizeof(text), "%s", reply);
	free(reply);
	return text;
}

static void expect(struct asker *a, const struct op *op, const char *args,
		   const char *part)
{
	const char *text = ask(a, op, args);

	if (!strstr(text, part))
		fail_msg("%s %s\n  gave %s\n  not  %s", op->name, args, text, part);
}

#define net(a, args, part) expect((a), op_workspace_net, "{\"workspace\":" args "}", part)

static int take(struct asker *a, int64_t workspace, struct fault *f);

/* Makes two teams. In team alpha, a and b have workspaces with addresses, as VMs have, and c
 * has a workspace without an address. In team beta, which is below alpha, the lead and d have
 * workspaces with addresses. */
static int set_up(void **state)
{
	struct asker *a = calloc(1, sizeof(*a));
	struct fault f = { 0 };

	world_open(&a->world);
	a->world.hosted = true;
	a->world.now = 1700000000000;
	a->as = (struct identity){ .level = WHO_OPERATOR, .team = "alpha" };
	ask(a, op_team_create,
	    "{\"name\":\"alpha\",\"allow_internet\":true,\"allowed_ports\":[22,80,443],"
	    "\"roles\":[{\"name\":\"a\",\"workspace\":true},"
	    "{\"name\":\"b\",\"workspace\":true},{\"name\":\"c\",\"workspace\":true}]}");
	assert_int_equal(a->answer.rc, 0);
	ask(a, op_team_create,
	    "{\"name\":\"beta\",\"allow_internet\":true,\"allowed_ports\":[80,8080],"
	    "\"roles\":[{\"name\":\"lead\",\"workspace\":true},"
	    "{\"name\":\"d\",\"workspace\":true}]}");
	assert_int_equal(a->answer.rc, 0);
	sql(a,
	    "UPDATE team SET parent = 1, max_vms = 2 WHERE name = 'beta' RETURNING id");
	for (int w = 1; w <= 5; w++)
		if (w != 3)
			assert_int_equal(take(a, w, &f), 0);
	*state = a;
	return 0;
}

static int take(struct asker *a, int64_t workspace, struct fault *f)
{
	struct call call = { .store = a->world.store, .settings = &a->world.settings };
	int rc;

	assert_int_equal(store_begin(call.store, true, f), 0);
	rc = network_take(&call, workspace);
	if (rc < 0) {
		*f = call.fault;
		store_rollback(call.store);
	} else
		assert_int_equal(store_commit(call.store, f), 0);
	arena_release(&call.arena);
	return rc;
}

static int tear_down(void **state)
{
	struct asker *a = *state;

	answer_release(&a->answer);
	world_close(&a->world);
	free(a);
	return 0;
}

static void a_process_shares_the_network_of_the_machine(void **state)
{
	net(*state, "\"c\",\"allow_internet\":false",
	    "conflict at /workspace: workspace alpha-c-");
	net(*state, "\"nobody\"", "not_found at /workspace");
}

static void a_vm_has_what_its_team_allows(void **state)
{
	net(*state, "\"a\"",
	    "\"address\":\"10.99.0.2\",\"prefix\":16,"
	    "\"gateway\":\"10.99.0.1\",\"allow_internet\":true,"
	    "\"allow_inter_vm\":true,\"all_ports\":false,"
	    "\"allowed_ports\":[22,80,443],\"forwards\":[]");
	net(*state, "\"b\"", "\"address\":\"10.99.0.3\"");
	/* In a VM of beta a port is open only if beta and the team above, alpha, both allow the
	 * port. */
	net(*state, "\"beta/d\",\"team\":\"beta\"", "\"allowed_ports\":[80]");
	sql(*state, "UPDATE team SET allow_internet = 0 WHERE id = 1 RETURNING id");
	net(*state, "\"beta/d\",\"team\":\"beta\"", "\"allow_internet\":false");
	sql(*state, "DELETE FROM team_port RETURNING port");
	sql(*state, "DELETE FROM team_port RETURNING port");
}

static void a_workspace_restricts_and_never_widens(void **state)
{
	struct asker *a = *state;

	net(a, "\"a\",\"allow_internet\":false,\"allowed_ports\":[22]",
	    "\"allow_internet\":false,\"allow_inter_vm\":true,\"all_ports\":false,"
	    "\"allowed_ports\":[22]");
	net(a, "\"a\",\"allow_inter_vm\":false",
	    "\"allow_internet\":false,"
	    "\"allow_inter_vm\":false");
	net(a, "\"a\",\"allowed_ports\":[22,8080]",
	    "denied at /allowed_ports: team alpha does not allow port 8080");
	net(a, "\"a\"", "\"allowed_ports\":[22]"); /* the refused call changed nothing */
	net(a, "\"a\",\"allowed_ports\":[]", "\"allowed_ports\":[22,80,443]");
	net(a, "\"a\",\"allow_internet\":true,\"allow_inter_vm\":true",
	    "\"allow_internet\":true,\"allow_inter_vm\":true");
	sql(a, "UPDATE team SET allow_internet = 0, allow_inter_vm = 0 WHERE id = 1 "
	       "RETURNING id");
	net(a, "\"a\",\"allow_internet\":true", "denied at /allow_internet");
	net(a, "\"a\",\"allow_inter_vm\":true", "denied at /allow_inter_vm");
	net(a, "\"a\",\"allow_internet\":false", "\"allow_internet\":false");
	assert_int_equal(sql(a, "SELECT count(*) FROM event WHERE kind = 156"), 5);
}

static void a_port_of_the_machine_leads_to_one_vm(void **state)
{
	struct asker *a = *state;

	net(a,
	    "\"a\",\"forwards\":[{\"port\":8080,\"to\":80},"
	    "{\"port\":53,\"to\":53,\"transport\":\"udp\",\"public\":true}]",
	    "\"forwards\":[{\"port\":53,\"to\":53,\"transport\":\"udp\",\"public\":true},"
	    "{\"port\":8080,\"to\":80,\"transport\":\"tcp\",\"public\":false}]");
	net(a, "\"b\",\"forwards\":[{\"port\":8080,\"to\":80}]",
	    "conflict at /forwards/0/port: tcp port 8080 leads to alpha-a-");
	net(a, "\"b\",\"forwards\":[{\"port\":8080,\"to\":1,\"transport\":\"udp\"}]",
	    "\"transport\":\"udp\"");
	ask(a, op_workspace_destroy, "{\"workspace\":\"a\"}");
	net(a, "\"b\",\"forwards\":[{\"port\":8080,\"to\":80}]", "\"port\":8080");
	a->as = (struct identity){
		.level = WHO_LEAD, .team = "alpha", .agent = "lead", .proven = true
	};
	net(a, "\"b\",\"allow_internet\":false", "\"allow_internet\":false");
	net(a, "\"b\",\"forwards\":[]", "denied at /forwards");
	a->as.agent = "b";
	net(a, "\"b\",\"allow_internet\":true", "denied");
}

static void the_host_is_told_of_living_vms_and_leads_of_sub_teams(void **state)
{
	struct asker *a = *state;
	const json_t *members, *m;
	static const struct {
		int row, team, parent, slot;
	} cases[] = { { 1, 1, 0, 2 }, { 2, 1, 0, 3 }, { 4, 2, 1, 4 }, { 5, 2, 0, 5 } };

	a->as = (struct identity){ .level = WHO_HOST };
	ask(a, op_workspace_network_rows, "{}");
	members = json_object_get(a->answer.reply, "members");
	assert_int_equal(json_array_size(members), 4);
	for (size_t i = 0; i < 4; i++) {
		m = json_array_get(members, i);
#define number(name) json_integer_value(json_object_get(m, name))
		assert_int_equal(number("row"), cases[i].row);
		assert_int_equal(number("team_row"), cases[i].team);
		assert_int_equal(number("parent_row"), cases[i].parent);
		assert_int_equal(number("slot"), cases[i].slot);
	}
	sql(a, "UPDATE workspace SET state = 4 WHERE team = 2 RETURNING id");
	sql(a, "UPDATE workspace SET state = 4 WHERE id = 5 RETURNING id");
	ask(a, op_workspace_network_rows, "{}");
	assert_int_equal(json_array_size(json_object_get(a->answer.reply, "members")), 2);
}

static void an_address_is_free_again_when_its_process_is_gone(void **state)
{
	struct asker *a = *state;
	struct fault f = { 0 };

	sql(a, "UPDATE workspace SET state = 4, pid = 77 WHERE id = 2 RETURNING id");
	assert_int_equal(take(a, 3, &f), 0);
	assert_int_equal(sql(a, "SELECT slot FROM workspace WHERE id = 3"), 6);
	sql(a, "UPDATE workspace SET pid = NULL WHERE id = 2 RETURNING id");
	sql(a, "UPDATE workspace SET slot = NULL WHERE id = 3 RETURNING id");
	assert_int_equal(take(a, 3, &f), 0);
	assert_int_equal(sql(a, "SELECT slot FROM workspace WHERE id = 3"), 3);
	assert_int_equal(take(a, 3, &f), 0); /* workspace 3 already has an address */
}

static void a_range_that_is_full_says_so(void **state)
{
	struct asker *a = *state;
	struct fault f = { 0 };

	a->world.settings.network_range = "10.0.0.0/28";
	sql(a, "UPDATE workspace SET slot = slot + 9 WHERE id = 5 RETURNING id");
	for (int slot = 5; slot < 14; slot++) {
		char text[160];

		snprintf(text, sizeof(text),
			 "INSERT INTO workspace (team, name, backend, path, state, slot, "
			 "created_at, changed_at) VALUES (1, 'w%d', 0, 'p', 1, %d, 1, 1) "
			 "RETURNING id",
			 slot, slot);
		sql(a, text);
	}
	assert_int_equal(take(a, 3, &f), FAULT_EXHAUSTED);
	assert_non_null(strstr(f.text, "all 13 addresses of 10.0.0.0/28 are in use"));
}

/* Adds another host of the same state. The added host has a workspace of team alpha in slot 2,
 * with port 8080, and an unfinished snapshot of this workspace. Also adds an unfinished
 * snapshot of workspace 1, which is on the test's own host. */
static void another_host(struct asker *a)
{
	sql(a, "INSERT INTO host (id, name, created_at, alive_at, network_fault) "
	       "VALUES (2, 'far', 1, 1, 'no bridge there') RETURNING id");
	sql(a, "INSERT INTO workspace (id, host, team, name, backend, path, state, slot, "
	       "created_at, changed_at) VALUES (90, 2, 1, 'far-w', 2, 'p', 1, 2, 1, 1) "
	       "RETURNING id");
	sql(a, "INSERT INTO workspace_forward (host, transport, port, workspace, target) "
	       "VALUES (2, 0, 8080, 90, 80) RETURNING port");
	sql(a, "INSERT INTO snapshot (id, workspace, name, state, created_at) "
	       "VALUES (91, 90, 'theirs', 0, 1), (92, 1, 'ours', 0, 1) RETURNING id");
}

static size_t listed(struct asker *a, const struct op *op, const char *list)
{
	ask(a, op, "{}");
	return json_array_size(json_object_get(a->answer.reply, list));
}

static void rows_of_another_host_are_left_alone(void **state)
{
	struct asker *a = *state;
	struct fault f = { 0 };

	a->as.level = WHO_HOST;
	assert_int_equal(listed(a, op_workspace_rows, "rows"), 5);
	another_host(a);
	assert_int_equal(listed(a, op_workspace_rows, "rows"), 5);
	assert_int_equal(listed(a, op_workspace_network_rows, "members"), 4);
	ask(a, op_workspace_snapshot_note, "{\"state\":\"failed\"}");
	assert_int_equal(a->answer.rc, 0);
	assert_int_equal(sql(a, "SELECT state FROM snapshot WHERE id = 91"), 0);
	assert_int_equal(sql(a, "SELECT state FROM snapshot WHERE id = 92"), 2);
	expect(a, op_workspace_network_note, "{\"fault\":\"no CAP_NET_ADMIN\"}",
	       "\"changed\":true");
	assert_int_equal(sql(a, "SELECT count(*) FROM host WHERE id = 2 AND "
				"network_fault = 'no bridge there'"),
			 1);
	expect(a, op_clock_tick, "{\"gap_ms\":0,\"gap_since\":0}", "");
	assert_int_equal(sql(a, "SELECT alive_at FROM host WHERE id = 2"), 1);
	assert_int_equal(sql(a, "SELECT alive_at FROM host WHERE id = 1"), a->world.now);
	/* Slots and ports of different hosts do not conflict. */
	a->as.level = WHO_OPERATOR;
	net(a, "\"a\",\"forwards\":[{\"port\":8080,\"to\":80}]", "\"port\":8080");
	net(a, "\"b\",\"forwards\":[{\"port\":8080,\"to\":80}]",
	    "conflict at /forwards/0/port: tcp port 8080 leads to alpha-a-");
	sql(a, "UPDATE workspace SET slot = 6 WHERE id = 90 RETURNING id");
	assert_int_equal(take(a, 3, &f), 0);
	assert_int_equal(sql(a, "SELECT slot FROM workspace WHERE id = 3"), 6);
	/* Workspaces of the other host do not count towards the limit of the test's own host. */
	a->world.settings.config.limits_max_total_vms = 6;
	ask(a, op_workspace_create, "{}");
	assert_int_equal(a->answer.rc, 0);
	assert_int_equal(sql(a, "SELECT max(host) FROM workspace WHERE id <> 90"), 1);
}

static void why_there_is_no_network_is_kept_for_who_asks(void **state)
{
	struct asker *a = *state;

	a->as.level = WHO_HOST;
	expect(a, op_workspace_network_note, "{\"fault\":\"no CAP_NET_ADMIN\"}",
	       "\"changed\":true");
	expect(a, op_workspace_network_note, "{\"fault\":\"no CAP_NET_ADMIN\"}",
	       "\"changed\":false");
	a->as.level = WHO_OPERATOR;
	net(a, "\"a\"", "\"fault\":\"no CAP_NET_ADMIN\"");
	a->as.level = WHO_HOST;
	expect(a, op_workspace_network_note, "{}", "\"changed\":true");
	a->as.level = WHO_OPERATOR;
	net(a, "\"a\"", "\"forwards\":[]}");
}

int main(void)
{
#define story(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_range_is_read_or_refused_with_what_is_meant),
		cmocka_unit_test(everything_follows_from_the_slot_and_the_id),
		story(a_process_shares_the_network_of_the_machine),
		story(a_vm_has_what_its_team_allows),
		story(a_workspace_restricts_and_never_widens),
		story(a_port_of_the_machine_leads_to_one_vm),
		story(the_host_is_told_of_living_vms_and_leads_of_sub_teams),
		story(an_address_is_free_again_when_its_process_is_gone),
		story(a_range_that_is_full_says_so),
		story(rows_of_another_host_are_left_alone),
		story(why_there_is_no_network_is_kept_for_who_asks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
