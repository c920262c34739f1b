#include "core/agent/agent.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "core/access/token.h"
#include "core/access/who.h"
#include "core/call/id.h"
#include "core/call/space.h"
#include "core/event/event.h"
#include "core/message/message.h"
#include "core/task/task.h"
#include "core/team/budget.h"
#include "core/team/estop.h"
#include "core/team/team.h"
#include "core/turn/chain.h"
#include "core/turn/turn.h"

/*
 * Names for agents that join without a name. A name is two words that people can remember and
 * do not confuse with other words.
 */

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static const char *const adjectives[] = {
	"able",   "agile",  "amber", "bold",   "brave", "bright",  "brisk",  "calm",
	"clever", "cosmic", "crisp", "eager",  "early", "fair",    "fleet",  "gentle",
	"golden", "grand",  "happy", "humble", "jolly", "keen",    "kind",   "lively",
	"lucky",  "mellow", "merry", "neat",   "noble", "patient", "plucky", "polite",
	"proud",  "quick",  "quiet", "rapid",  "ready", "royal",   "rustic", "silver",
	"smart",  "steady", "sunny", "swift",  "tidy",  "vivid",   "warm",   "wise",
};

static const char *const nouns[] = {
	"badger", "beaver", "bison",  "crane",   "dingo",   "dolphin", "eagle",  "falcon",
	"ferret", "finch",  "fox",    "gecko",   "gibbon",  "hare",    "hawk",   "heron",
	"ibis",   "iguana", "jackal", "jaguar",  "kestrel", "koala",   "lemur",  "lion",
	"llama",  "lynx",   "magpie", "marten",  "mole",    "moose",   "newt",   "ocelot",
	"orca",   "otter",  "owl",    "panda",   "pelican", "puffin",  "rabbit", "raven",
	"robin",  "salmon", "seal",   "sparrow", "stork",   "tapir",   "tiger",  "walrus",
};

enum { TRIED_PLAIN = 4 };

/* Picks a name for a new agent from the call's random seed. `tried` is the number of picked
 * names that were already in use. Each value of `tried` gives another name. The name is in the
 * call's arena. */
static const char *agent_name_pick(struct call *call, size_t tried)
{
	/* The number of word pairs is even. So an odd step is never a multiple of this number,
	 * and the next pair always differs from the last pair. */
	uint64_t pairs = COUNT(adjectives) * COUNT(nouns), step = call->seed >> 32 | 1;
	uint64_t at = (call->seed % pairs + tried * (step % pairs)) % pairs;
	const char *adjective = adjectives[at % COUNT(adjectives)];
	const char *noun = nouns[at / COUNT(adjectives)];

	if (tried < TRIED_PLAIN)
		return arena_printf(&call->arena, "%s-%s", adjective, noun);
	return arena_printf(&call->arena, "%s-%s-%zu", adjective, noun,
			    tried - TRIED_PLAIN + 2);
}

enum { NAME_BYTES = 64 };

bool agent_reserved(const char *name)
{
	static const char *const names[] = { "operator", "all", "self", "host" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcasecmp(names[i], name) == 0)
			return true;
	return strcasecmp(name, "lead") == 0 && strcmp(name, "lead") != 0;
}

bool agent_is_client(const struct call *call)
{
	return call->bearer.row && call->identity.agent;
}

const char *agent_token(struct call *call, const struct agent_row *a)
{
	char *token = arena_alloc(&call->arena, TOKEN_SIZE);

	token_make(call->settings->secret, a->id, a->generation, token);
	return token;
}

static int set_token(struct call *call, int64_t agent, int64_t generation)
{
	char token[TOKEN_SIZE];
	uint8_t hash[TOKEN_HASH];
	int rc;

	token_make(call->settings->secret, agent, generation, token);
	token_hash(token, hash);
	rc = sql_run(call, agent_set_token, .agent = agent,
		     .token = { hash, sizeof(hash) });
	return rc < 0 ? rc : 0;
}

static int agent_set_skills(struct call *call, int64_t agent, const char **skills,
			    size_t n)
{
	int rc = sql_run(call, agent_skills_clear, .agent = agent);

	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = sql_run(call, agent_skill_add, .agent = agent, .n = (int64_t)i,
			     .skill = skills[i]);
	return rc;
}

/* Replaces the stored list of protocols that an agent speaks. Returns 0 or negative. */
static int agent_set_protocols(struct call *call, int64_t agent, const char **protocols,
			       size_t n)
{
	int rc = sql_run(call, agent_protocols_clear, .agent = agent);

	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = sql_run(call, agent_protocol_add, .agent = agent, .n = (int64_t)i,
			     .protocol = protocols[i]);
	return rc;
}

/* The name or role `lead` makes an agent the lead of its team. So only a caller who leads the
 * team may give the name or role `lead`. Returns 0, or denied at `where` or at /role. `name`
 * and `role` may be NULL. */
static int agent_may_lead(struct call *call, const char *name, const char *role,
			  const char *where)
{
	const bool named = name && strcmp(name, "lead") == 0;

	if (!named && (!role || strcmp(role, "lead") != 0))
		return 0;
	return who_leads(call, named ? where : "/role", "", "make an agent the lead");
}

static int agent_check_name(struct call *call, const struct newcomer *n,
			    const char *where)
{
	if (!n->is_operator && agent_reserved(n->name))
		return fault_set(&call->fault, FAULT_INVALID, where,
				 "%s is a reserved name", n->name);
	if (strlen(n->name) > NAME_BYTES) /* a name that is made from a role and a number
					     can be too long */
		return fault_set(&call->fault, FAULT_INVALID, where,
				 "%s is longer than %d bytes", n->name, NAME_BYTES);
	return 0;
}

/* Writes the new agent's row, under a name that no other agent has. Returns 1 if the row was
 * written, 0 if the given name is taken, or a negative fault code. If no name is given, names
 * are picked until a name is free. */
static int agent_insert_row(struct call *call, struct newcomer *n,
			    struct agent_add_row *row)
{
	bool picks = !n->name;
	size_t tried = 0;
	int rc;

	do {
		if (picks)
			n->name = agent_name_pick(call, tried++);
		rc = sql_row(call, agent_add, row, .id = n->id, .team = call->caller.team,
			     .name = n->name,
			     .kind = n->is_operator ? AGENT_KIND_OPERATOR
						    : AGENT_KIND_MEMBER,
			     .role = n->role ? n->role : n->name,
			     .description = n->description, .project = n->project,
			     .status = AGENT_STATUS_READY, .nests = n->nests,
			     .holder = n->holder, .now = call->now);
	} while (picks && rc == 0);
	return rc;
}

int agent_add(struct call *call, struct newcomer *n, const char *where)
{
	struct agent_add_row row;
	int rc;

	if (n->name && (rc = agent_check_name(call, n, where)) < 0)
		return rc;
	if ((n->id = sql_new_id(call, agent)) < 0)
		return call->fault.code;
	if ((rc = agent_insert_row(call, n, &row)) < 0)
		return rc;
	if (rc == 0)
		return fault_set(&call->fault, FAULT_CONFLICT, where,
				 "there is an agent %s in team %s already", n->name,
				 call->caller.team_name);
	if ((rc = sql_run(call, agent_inbox_add, .agent = n->id,
			  .operator= n->is_operator)) < 0 ||
	    n->is_operator)
		return rc < 0 ? rc : 0;
	if ((rc = sql_run(call, board_add_members, .team = call->caller.team, .n = 1)) <
		    0 ||
	    (rc = set_token(call, n->id, row.generation)) < 0 ||
	    (n->n_skills &&
	     (rc = agent_set_skills(call, n->id, n->skills, n->n_skills)) < 0))
		return rc;
	return event_emit(call, EVENT_AGENT_REGISTERED, n->id, 0, NULL);
}

/* --- joining ------------------------------------------------------------------------- */

static int resumes(struct call *call, const struct agent_register_in *in,
		   const struct agent_row *a)
{
	uint8_t hash[TOKEN_HASH];

	if (call->caller.agent == a->id)
		return 1;
	if (!in->token)
		return 0;
	token_hash(in->token, hash);
	return a->token.size == TOKEN_HASH &&
	       token_equal(hash, a->token.data, TOKEN_HASH);
}

/* Discards the mail that waits for an agent whose new generation does not want the old mail.
 * The senders of the mail are told. */
static int discard(struct call *call, int64_t agent)
{
	struct agent_discard_row *all = NULL;
	size_t n = 0;
	int rc = message_delayed_give_up(call, agent, 0);

	if (rc >= 0)
		rc = sql_all(call, agent_discard, &all, &n, .agent = agent,
			     .now = call->now);
	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = event_emit(call, EVENT_MESSAGE_DEAD, all[i].message, agent,
				"discarded");
	return rc;
}

/* Begins the next generation of an agent in the call's team. */
static int begin_next(struct call *call, int64_t agent)
{
	struct agent_next_generation_row next;
	int rc;

	/* First ends the messages that have expired and the claims whose lease has run out, in
	 * case no row records their end yet. */
	if ((rc = inbox_settle(call, agent)) < 0 ||
	    (rc = task_give_back(call, agent, "a new generation")) < 0 ||
	    (rc = sql_row(call, agent_next_generation, &next, .agent = agent,
			  .now = call->now)) < 0 ||
	    (rc = set_token(call, agent, next.generation)) < 0 ||
	    (rc = inbox_unlease(call, agent)) < 0 ||
	    (rc = sql_run(call, agent_recount, .agent = agent)) < 0 ||
	    (rc = event_emit(call, EVENT_AGENT_REPLACED, agent, 0,
			     arena_printf(&call->arena, "%" PRId64, next.generation))) <
		    0)
		return rc;
	return team_announce(call, call->caller.team);
}

int agent_renew_seats(struct call *call, int64_t agent)
{
	const struct caller was = call->caller;
	struct agent_seats_row *all = NULL;
	size_t n;
	int rc = sql_all(call, agent_seats, &all, &n, .agent = agent);

	for (size_t i = 0; i < n && rc >= 0; i++) {
		call->caller.team = all[i].team;
		rc = begin_next(call, all[i].id);
	}
	call->caller = was;
	return rc;
}

static int agent_replace(struct call *call, const struct agent_register_in *in,
			 const struct agent_row *a)
{
	int rc;

	if ((rc = who_leads(call, "/replace", "", "replace a member")) < 0 ||
	    (rc = begin_next(call, a->id)) < 0 ||
	    (rc = agent_renew_seats(call, a->id)) < 0)
		return rc;
	if (in->discard && ((rc = discard(call, a->id)) < 0 ||
			    (rc = sql_run(call, agent_recount, .agent = a->id)) < 0))
		return rc;
	if ((*in->role &&
	     (rc = sql_run(call, agent_set_role, .agent = a->id, .role = in->role,
			   .description = in->description)) < 0) ||
	    (*in->role && strcmp(a->role, "lead") == 0 &&
	     (rc = team_keep_lead(call, a, "/role", NULL)) < 0) ||
	    (strcmp(in->role, "observer") == 0 &&
	     (rc = sql_run(call, agent_unassign, .team = call->caller.team,
			   .agent = a->id)) < 0) ||
	    (in->n_skills &&
	     (rc = agent_set_skills(call, a->id, in->skills, in->n_skills)) < 0))
		return rc;
	return 0;
}

static int agent_taken(struct call *call, const struct agent_row *a)
{
	fault_set(&call->fault, FAULT_CONFLICT, "/name",
		  "agent %s is registered already (generation %" PRId64 ")", a->name,
		  a->generation);
	if (who_is_nobody(call))
		return fault_hint(&call->fault,
				  "Take another name; or ask a person to keep this "
				  "worktree for %s: cadre agent env %s --here.",
				  a->name, a->name);
	return fault_hint(&call->fault,
			  "To resume the agent, give its token ({agent.env} "
			  "{name=|}%s); the lead or the operator can `replace` "
			  "the agent.",
			  a->name);
}

/* Registers an agent under a new name. The operator or the lead registers another agent; a
 * session without an identity registers itself. */
static int join_new(struct call *call, const struct agent_register_in *in)
{
	struct newcomer n = { .name = in->name,
			      .role = *in->role ? in->role : NULL,
			      .description = in->description,
			      .project = in->project,
			      .skills = in->skills,
			      .n_skills = in->n_skills };
	int rc;

	if ((who_is_nobody(call)
		     ? agent_may_lead(call, n.name, n.role, "/name")
		     : who_leads(call, "/name", "", "register another agent")) < 0)
		return call->fault.code;
	if ((rc = estop_check(call, "/team")) < 0 ||
	    (rc = budget_check(call, call->caller.team, "/team")) < 0 ||
	    (rc = agent_add(call, &n, "/name")) < 0)
		return rc;
	call->made = n.id;
	return 0;
}

/* Registers a caller that gives no name. An agent keeps its name; a caller without an identity
 * gets a picked name. */
static int join_nameless(struct call *call, const struct agent_register_in *in,
			 bool *resumed)
{
	if (in->token || in->replace || in->discard)
		return fault_set(&call->fault, FAULT_INVALID, "/name",
				 "`token`, `replace` and `discard` need a `name`");
	if (!call->identity.agent)
		return join_new(call, in);
	call->made = call->caller.agent;
	*resumed = true;
	return 0;
}

static int agent_join(struct call *call, const struct agent_register_in *in,
		      bool *resumed)
{
	struct agent_row a;
	int rc;

	if (!in->name)
		return join_nameless(call, in, resumed);
	rc = sql_row(call, agent_by_name, &a, .team = call->caller.team,
		     .name = in->name);
	if (rc <= 0)
		return rc < 0 ? rc : join_new(call, in);
	if (a.kind == AGENT_KIND_OPERATOR)
		return fault_set(&call->fault, FAULT_INVALID, "/name",
				 "%s is a reserved name", in->name);
	call->made = a.id;
	*resumed = true;
	if (in->replace)
		return agent_replace(call, in, &a);
	return resumes(call, in, &a) ? 0 : agent_taken(call, &a);
}

/* Lets a caller without an identity repeat its registration while the agent is in its first
 * generation. So the caller does not get the token of a generation that another caller began. */
static int agent_check_first(struct call *call, const struct agent_row *a)
{
	struct agent_first_generation_row r;
	int rc = sql_row(call, agent_first_generation, &r, .agent = a->id);

	return rc < 0 || (rc > 0 && r.is_first) ? rc : agent_taken(call, a);
}

/* Stores a status, and writes the event with the target `target`. */
static int agent_store_status(struct call *call, const struct agent_row *a,
			      int64_t status, int64_t target)
{
	int rc = runner_rest(call, a->id, &status);

	if (rc == 0)
		rc = sql_run(call, agent_set_status, .agent = a->id, .status = status,
			     .now = call->now);
	return rc <= 0 ? rc
		       : event_by(call, .kind = EVENT_AGENT_STATUS, .team = a->team,
				  .actor = event_actor(call), .subject = a->id,
				  .target = target,
				  .detail = field_choice(&record_agent_line, "status",
							 status));
}

int agent_come_back(struct call *call, const struct agent_row *a)
{
	bool away = a->status == AGENT_STATUS_OFFLINE && !a->workspace && !a->gone;

	return away ? agent_store_status(call, a, AGENT_STATUS_READY, a->id) : 0;
}

int agent_register(struct call *call, const struct agent_register_in *in,
		   struct agent_register_out *out)
{
	struct agent_row a;
	bool replayed = call->made != 0;
	int rc;

	if (agent_is_client(call)) {
		fault_set(&call->fault, FAULT_DENIED, "",
			  "a client with an agent's token cannot make agents");
		return fault_hint(&call->fault,
				  "Ask the lead to add members, on the host's machine.");
	}
	if ((rc = who_team(call, in->team)) < 0 ||
	    (!replayed && (rc = agent_join(call, in, &out->resumed)) < 0) ||
	    (rc = sql_row(call, agent_by_id, &a, .id = call->made)) < 0)
		return rc;
	if (replayed && who_is_nobody(call) && !resumes(call, in, &a) &&
	    (rc = agent_check_first(call, &a)) < 0)
		return rc;
	if (out->resumed && (rc = agent_come_back(call, &a)) < 0)
		return rc;
	out->name = a.name;
	out->team = call->caller.team_name;
	out->generation = a.generation;
	out->token = agent_token(call, &a);
	return 0;
}

/* --- telling -------------------------------------------------------------------------- */

enum agent_status agent_status_now(int64_t status, bool holds)
{
	bool is_free = status == AGENT_STATUS_READY || status == AGENT_STATUS_IDLE;

	return is_free && holds ? AGENT_STATUS_WORKING : (enum agent_status)status;
}

static bool agent_has(const char *text, const char *part)
{
	return text && strcasestr(text, part);
}

/* Whether a member's name, role, description or skills contain a text. Returns 1 for yes, 0 for
 * no, or a negative fault code. */
static int matches(struct call *call, const char *name, const char *text)
{
	struct agent_skills_row s;
	struct agent_row a;
	struct query q = { 0 };
	bool found;
	int rc =
		sql_row(call, agent_by_name, &a, .team = call->caller.team, .name = name);

	if (rc <= 0)
		return rc;
	found = agent_has(a.name, text) || agent_has(a.role, text) ||
		agent_has(a.description, text);
	while (!found && (rc = sql_each(call, &q, agent_skills, &s, .agent = a.id)) > 0)
		found = agent_has(s.skill, text);
	query_end(&q);
	return rc < 0 ? rc : found;
}

/* Whether a line of the list meets the caller's conditions. Returns 1 for yes, 0 for no, or a
 * negative fault code. Checks only conditions that the SQL statement does not check. */
static int is_asked(struct call *call, const struct agent_list_in *in,
		    const struct agent_line *line)
{
	if (in->has_status && line->status != in->status)
		return 0;
	return in->text ? matches(call, line->name, in->text) : 1;
}

int agent_list(struct call *call, const struct agent_list_in *in,
	       struct agent_list_out *out)
{
	struct agent_line line;
	struct query q = { 0 };
	int rc;

	if ((rc = who_team(call, in->team)) < 0)
		return rc;
	while (memset(&line, 0, sizeof(line)),
	       (rc = sql_each(call, &q, agent_lines, &line, .team = call->caller.team,
			      .after = in->after_name ? in->after_name : "",
			      .role = in->role, .skill = in->skill, .now = call->now)) >
		       0) {
		line.status = agent_status_now(line.status, line.task);
		if ((rc = is_asked(call, in, &line)) < 0)
			break;
		if (rc == 0)
			continue;
		if (!space_put(call, out, agents, &record_agent_line, &line, INT64_MAX))
			break;
	}
	query_end(&q);
	if (call->identity.agent && call->caller.own_team == call->caller.team)
		out->self = call->caller.name;
	return rc < 0 ? rc : 0;
}

/*
 * The operations by which agents change their cards and their status.
 */

static int rename_agent(struct call *call, const struct agent_row *a, const char *name)
{
	int rc;

	if (a->kind == AGENT_KIND_OPERATOR) {
		fault_set(&call->fault, FAULT_INVALID, "/name",
			  "the operator's name in a team cannot change");
		return fault_hint(&call->fault,
				  "To rename an agent, call as that agent.");
	}
	if (agent_reserved(name))
		return fault_set(&call->fault, FAULT_INVALID, "/new_name",
				 "%s is a reserved name", name);
	if (strcmp(a->name, name) == 0)
		return 0;
	if ((rc = agent_may_lead(call, name, NULL, "/new_name")) < 0)
		return rc;
	rc = sql_run(call, agent_set_name, .agent = a->id, .name = name);
	if (rc == 0)
		return fault_set(&call->fault, FAULT_CONFLICT, "/new_name",
				 "there is an agent %s in team %s already", name,
				 call->caller.team_name);
	if (rc >= 0 && strcmp(a->name, "lead") == 0)
		rc = team_keep_lead(call, a, "/new_name", NULL);
	if (rc < 0)
		return rc;
	return sql_run(call, name_give_up, .team = a->team, .name = a->name,
		       .generation = a->generation);
}

/* Sends the other members of the team a message that says what has changed on an agent's card.
 * The agent is the sender, and the message counts against the team's message budget. */
static int agent_change_tell_teammates(struct call *call, const struct agent_row *a,
				       const char *changed)
{
	struct draft d = { .sender = a->id, .to_all = true, .type = "card_update" };
	int64_t message;
	int rc;

	if (call->identity.agent && budget_take_message(call) < 0)
		return fault_move(&call->fault, "/to", "/notify");
	d.content = arena_printf(&call->arena, "%s has changed its card: %s", a->name,
				 changed);
	if ((message = message_store(call, &d)) < 0)
		return (int)message;
	rc = message_deliver_all(call, message, &d, a->id);
	return rc < 0 ? rc
		      : event_by(call, .kind = EVENT_MESSAGE_SENT, .team = a->team,
				 .actor = a->id, .subject = message);
}

static int write_card(struct call *call, const struct agent_update_in *in,
		      const struct agent_row *a)
{
	int rc;

	if ((in->new_name && (rc = rename_agent(call, a, in->new_name)) < 0) ||
	    (rc = sql_run(call, agent_set_card, .agent = a->id, .project = in->project,
			  .description = in->description,
			  .input_schema = in->input_schema,
			  .output_schema = in->output_schema)) < 0 ||
	    (in->skills &&
	     (rc = agent_set_skills(call, a->id, in->skills, in->n_skills)) < 0) ||
	    (in->protocols && (rc = agent_set_protocols(call, a->id, in->protocols,
							in->n_protocols)) < 0) ||
	    (in->project && (rc = runner_follow(call, a->id, "/project")) < 0) ||
	    (in->runner && (rc = runner_give(call, a->id, in->runner, "/runner")) < 0))
		return rc;
	return 0;
}

int agent_change(struct call *call, const struct agent_update_in *in, const char **was)
{
	struct agent_row a, after;
	struct card before, is;
	const char *changed;
	int rc;

	if ((rc = who_acts(call, in->name, "/name", &a)) < 0)
		return rc;
	call->made = a.id;
	if (was)
		*was = a.name;
	if ((rc = card_tell_whole(call, &a, &before)) < 0 ||
	    (rc = write_card(call, in, &a)) < 0 ||
	    (rc = sql_row(call, agent_by_id, &after, .id = a.id)) < 0 ||
	    (rc = card_tell_whole(call, &after, &is)) < 0)
		return rc;
	changed = card_differences(call, &before, &is);
	if (!*changed)
		return 0;
	rc = event_emit(call, EVENT_AGENT_UPDATED, a.id, 0,
			strcmp(a.name, after.name) ? a.name : NULL);
	return rc < 0 || !in->notify ? rc
				     : agent_change_tell_teammates(call, &after, changed);
}

int agent_update(struct call *call, const struct agent_update_in *in,
		 struct agent_update_out *out)
{
	struct agent_row a;
	int rc;

	if (!call->made && ((rc = who_team_of(call, in->team, in->name, "/name")) < 0 ||
			    (rc = agent_change(call, in, &out->was)) < 0))
		return rc;
	/* A repeat does not find the team by the name, since the agent may have a new name. */
	if ((rc = sql_row(call, agent_by_id, &a, .id = call->made)) < 0 ||
	    (rc = who_enter_again(call, a.team)) < 0)
		return rc;
	if (!out->was) /* the call repeats an earlier call */
		out->was = a.name;
	return card_tell(call, &a, &out->card);
}

int agent_say_status(struct call *call, const struct agent_row *a, int64_t status)
{
	return agent_store_status(call, a, status, 0);
}

int agent_status(struct call *call, const struct agent_status_in *in,
		 struct agent_status_out *out)
{
	struct agent_row a;
	int rc;

	if ((rc = who_team_of(call, in->team, in->name, "/name")) < 0 ||
	    (rc = who_acts(call, in->name, "/name", &a)) < 0)
		return rc;
	if (!call->made) {
		call->made = a.id;
		if ((rc = agent_say_status(call, &a, in->status)) < 0 ||
		    (rc = sql_row(call, agent_by_id, &a, .id = a.id)) < 0)
			return rc;
	}
	if (a.id == call->caller.self)
		call->caller.comes_back = false; /* the call itself sets the status */
	out->name = a.name;
	out->status = a.status;
	return 0;
}

/* This handler renews no claims, since op_perform() renews claims at every write of an agent. */
int agent_heartbeat(struct call *call, const struct agent_heartbeat_in *in,
		    struct agent_heartbeat_out *out)
{
	struct agent_held_row held;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = sql_row(call, agent_held, &held, .agent = call->caller.agent,
			  .now = call->now)) < 0 ||
	    (rc = sql_run(call, reservation_extend, .agent = call->caller.agent,
			  .generation = call->caller.generation, .now = call->now)) < 0)
		return rc;
	call->made = call->caller.agent;
	out->name = call->caller.name;
	out->claims = held.n;
	return 0;
}

/*
 * The operation by which an agent makes another agent and sends the new agent a first message.
 */

static int agent_spawn_greet(struct call *call, const struct agent_spawn_in *in,
			     const struct agent_row *to)
{
	const struct draft d = { .sender = call->caller.agent,
				 .content = in->message,
				 .type = "text",
				 .priority = PRIORITY_URGENT };
	int64_t message;
	int rc;

	if (!in->message[strspn(in->message, " \t\r\n")])
		return fault_set(&call->fault, FAULT_INVALID, "/message",
				 "must contain more than blanks");
	if (call->identity.agent && (rc = budget_take_message(call)) < 0)
		return fault_move(&call->fault, "/to", "/message");
	if ((message = message_store(call, &d)) < 0)
		return (int)message;
	rc = message_deliver(call, message, &d, to);
	return rc < 0 ? rc : event_emit(call, EVENT_MESSAGE_SENT, message, to->id, NULL);
}

static int agent_spawn_one(struct call *call, const struct agent_spawn_in *in)
{
	struct newcomer n = { .name = in->name,
			      .role = in->role && *in->role ? in->role : NULL,
			      .description = "",
			      .project = in->project };
	struct agent_row a;
	int rc;

	if ((rc = agent_may_lead(call, in->name, n.role, "/name")) < 0 ||
	    (rc = estop_check(call, "/team")) < 0 ||
	    (rc = budget_check(call, call->caller.team, "/team")) < 0 ||
	    (rc = agent_add(call, &n, "/name")) < 0)
		return rc;
	call->made = n.id;
	if (in->runner && (rc = runner_give(call, n.id, in->runner, "/runner")) < 0)
		return rc;
	if (!in->message)
		return 0;
	rc = sql_row(call, agent_by_id, &a, .id = n.id);
	return rc < 0 ? rc : agent_spawn_greet(call, in, &a);
}

int agent_spawn(struct call *call, const struct agent_spawn_in *in,
		struct agent_spawn_out *out)
{
	struct agent_greeting_row greeting;
	struct agent_row a;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (!call->made && (rc = agent_spawn_one(call, in)) < 0) ||
	    (rc = sql_row(call, agent_by_id, &a, .id = call->made)) < 0)
		return rc;
	out->name = a.name;
	out->status = a.status;
	out->project = a.project;
	if (!in->message)
		return 0;
	rc = sql_row(call, agent_greeting, &greeting, .agent = a.id);
	if (rc > 0) {
		out->message_id =
			id_public(call, ID_MESSAGE, greeting.message, greeting.at);
		out->has_seq = true;
		out->seq = greeting.message;
	}
	return rc < 0 ? rc : 0;
}

static int set_status(struct call *call, int64_t team, int64_t agent, int64_t status)
{
	return event_by(call, .kind = EVENT_AGENT_STATUS, .team = team,
			.actor = ACTOR_HOST, .subject = agent,
			.detail = field_choice(&record_agent_line, "status", status));
}

int agent_daemon_moves(struct call *call, const struct assignment_row *x)
{
	int rc = sql_run(call, daemon_moved, .agent = x->agent, .now = call->now);

	if (rc < 0 || (rc = sql_run(call, daemon_freed, .agent = x->agent)) <= 0)
		return rc;
	return set_status(call, x->team, x->agent, AGENT_STATUS_WORKING);
}

/* Sends a message to the lead. The agent with the stuck daemon is the sender, although the host
 * writes the message. */
static int tell_lead(struct call *call, const struct daemons_stuck_row *d)
{
	struct team_lead_row lead;
	struct agent_row to;
	struct draft draft = {
		.sender = d->id,
		.type = "task_update",
		.chain = CHAIN_NOTICE,
		.content =
			d->overdue
				? "My daemon is stuck: a command runs past its timeout."
				: "My daemon is stuck: commands wait, and none starts.",
	};
	int64_t message;
	int rc = sql_row(call, team_lead, &lead, .team = d->team);

	if (rc <= 0 || lead.id == d->id)
		return rc;
	call->caller.team = d->team;
	call->caller.inbox_capacity = d->inbox_capacity;
	if ((rc = sql_row(call, agent_by_id, &to, .id = lead.id)) <= 0)
		return rc;
	if ((message = message_store(call, &draft)) < 0)
		return (int)message;
	if ((rc = message_deliver(call, message, &draft, &to)) < 0)
		return rc;
	return event_by(call, .kind = EVENT_MESSAGE_SENT, .team = d->team, .actor = d->id,
			.subject = message, .target = to.id);
}

int agent_daemons_settle(struct call *call)
{
	struct daemons_stuck_row *all = NULL;
	size_t n;
	int rc;

	rc = sql_all(call, daemons_stuck, &all, &n, .now = call->now);
	for (size_t i = 0; i < n && rc >= 0; i++) {
		rc = sql_run(call, agent_set_status, .agent = all[i].id,
			     .status = AGENT_STATUS_STUCK, .now = call->now);
		if (rc > 0 && (rc = set_status(call, all[i].team, all[i].id,
					       AGENT_STATUS_STUCK)) >= 0)
			rc = tell_lead(call, &all[i]);
	}
	return rc < 0 ? rc : 0;
}

/*
 * The environment variables with which the commands of a shell act as an agent.
 */

/* Quotes the text: a shell reads the result as one word. */
static const char *quoted(struct call *call, const char *text)
{
	const char *quote;
	char *out = arena_strdup(&call->arena, "'");

	while ((quote = strchr(text, '\''))) {
		out = arena_printf(&call->arena, "%s%.*s'\\''", out, (int)(quote - text),
				   text);
		text = quote + 1;
	}
	return arena_printf(&call->arena, "%s%s'", out, text);
}

/* Refuses a token whose hash differs from the hash in the agent's row: the token was made from
 * another secret, and proves nothing. */
static int check_valid(struct call *call, const struct agent_row *a, const char *token)
{
	uint8_t hash[TOKEN_HASH];

	token_hash(token, hash);
	if (a->token.size == TOKEN_HASH && token_equal(hash, a->token.data, TOKEN_HASH))
		return 0;
	fault_set(&call->fault, FAULT_CONFLICT, "/name",
		  "the token of %s was made with another secret", a->name);
	return fault_hint(&call->fault,
			  "Give the agent a new token: {agent.register} "
			  "{name=|}%s {replace=true|--replace}.",
			  a->name);
}

int agent_env(struct call *call, const struct agent_env_in *in, struct agent_env_out *out)
{
	const char *home = who_home(call);
	struct agent_row a;
	int rc;

	if (agent_is_client(call))
		return fault_set(
			&call->fault, FAULT_DENIED, "",
			"a client with an agent's token cannot read other tokens");
	if ((rc = who_team_of(call, in->team, in->name, "/name")) < 0 ||
	    (rc = who_agent(call, in->name, "/name", &a)) < 0)
		return rc;
	if (a.kind == AGENT_KIND_OPERATOR)
		return fault_set(&call->fault, FAULT_INVALID, "/name",
				 "%s is the operator; the operator has no token", a.name);
	out->token = agent_token(call, &a);
	if ((rc = check_valid(call, &a, out->token)) < 0)
		return rc;
	out->name = a.name;
	out->team = call->caller.team_name;
	out->home = home;
	out->exports = arena_printf(
		&call->arena,
		"%s%s%sexport CADRE_TEAM=%s\nexport CADRE_AGENT=%s\nexport CADRE_TOKEN=%s\n",
		home ? "export CADRE_HOME=" : "", home ? quoted(call, home) : "",
		home ? "\n" : "", quoted(call, out->team), quoted(call, a.name),
		quoted(call, out->token));
	return 0;
}
