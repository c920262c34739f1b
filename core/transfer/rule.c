#include "core/transfer/rule.h"

const struct rule rule_table[] = {
	{ sql_rule_copy_lost, "delivery", "message", "message",
	  "is a copy whose message or recipient is lost" },
	{ sql_rule_sender_lost, "message", "id", "message",
	  "is a message whose sender is lost" },
	{ sql_rule_owner_lost, "task", "id", "task",
	  "is a task whose owner or assignee is lost" },
	{ sql_rule_operator_wrong, "agent", "id", "agent",
	  "breaks a rule: only the operator is named `operator`; no agent lives "
	  "longer than its team; an operator never leaves its team" },
	{ sql_rule_operator_none, "team", "id", "team",
	  "is a team that does not have exactly one operator" },
	{ sql_rule_lead_none, "team", "id", "team",
	  "is a living team without a living lead" },
	{ sql_rule_holder_far, "agent", "id", "agent",
	  "is a lead's place whose holder is not an agent of the team directly above" },
	{ sql_rule_owner_far, "task", "id", "task",
	  "is a task whose owner, assignee or notes are of another team" },
	{ sql_rule_lease_long, "task", "id", "task",
	  "is a task with a longer lease than a claim may have" },
	{ sql_rule_attempts_many, "task", "id", "task",
	  "is a task with more attempts than a task may have" },
	{ sql_rule_text_long, "message", "id", "message",
	  "is a message with a longer content than a message may have" },
	{ sql_rule_dep_far, "task_dep", "task", "task",
	  "depends on a task of another team" },
	{ sql_rule_dep_circle, "task_dep", "task", "task",
	  "waits for itself, by way of other tasks" },
	{ sql_rule_command_far, "assignment", "message", "message",
	  "is for an agent, or a task, of another team" },
	{ sql_rule_result_far, "result", "message", "message",
	  "is a result of another agent or team than its command" },
	{ sql_rule_turn_far, "turn", "id", "turn",
	  "is a turn of an agent of another team" },
	{ sql_rule_message_far, "message", "id", "message",
	  "is a message from or to an agent of a team neither above nor below the "
	  "message's team" },
	{ sql_rule_stop_far, "team", "id", "team",
	  "is a team that was stopped by an agent of neither this team nor a team "
	  "above" },
	{ sql_rule_vms_over, "team", "id", "team",
	  "is a team with a lower max_vms than the teams below it together" },
	{ sql_rule_budget_over, "team", "id", "team",
	  "is a team with a lower limit than the teams below it together" },
	{ sql_rule_budget_none, "team", "id", "team",
	  "is a team without a limit, below a team with a limit" },
};
enum { RULE_LOST = 3 }; /* the first RULE_LOST rules find references to missing rows */
const size_t rule_count = sizeof(rule_table) / sizeof(*rule_table);

int rule_broken(struct store *store, const struct rule *rule, int64_t from, int64_t *row,
		struct fault *f)
{
	const struct sql_rule_lead_none_in in = { from };
	struct rule_row found;
	int rc = store_row(store, rule->statement, &in, &found, sizeof(found), NULL, f);

	*row = rc > 0 ? found.id : 0;
	return rc;
}

int rule_check_lost(struct store *store, struct fault *f)
{
	int64_t row;

	if (store_begin(store, false, f) < 0)
		return f->code;
	for (size_t i = 0; i < RULE_LOST && !f->code; i++)
		if (rule_broken(store, &rule_table[i], 0, &row, f) > 0) {
			fault_set(f, FAULT_IO, "",
				  "rows of the state are lost: %s %lld of %s %s",
				  rule_table[i].column, (long long)row,
				  rule_table[i].table, rule_table[i].what);
			fault_hint(f,
				   "look at the whole state with `cadre doctor`, or go "
				   "back to a backup: `cadre restore FILE`");
		}
	store_rollback(store);
	return f->code;
}
