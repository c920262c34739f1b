/*
 * agent_env - gives a shell the variables that make it an agent.
 */
#include <string.h>

#include "core/access/token.h"
#include "core/access/who.h"
#include "core/agent/agent.h"

/* In quotes, so that a shell takes it for one word. */
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

/* A token that is made from another secret than the rows' proves nothing. */
static int check_valid(struct call *call, const struct agent_row *a, const char *token)
{
	uint8_t hash[TOKEN_HASH];

	token_hash(token, hash);
	if (a->token.size == TOKEN_HASH && token_equal(hash, a->token.data, TOKEN_HASH))
		return 0;
	fault_set(&call->fault, FAULT_CONFLICT, "/name",
		  "the token of %s was made with another secret", a->name);
	return fault_hint(&call->fault,
			  "Give it a new one: {agent.register} {name=|}%s "
			  "{replace=true|--replace}.",
			  a->name);
}

int agent_env(struct call *call, const struct agent_env_in *in, struct agent_env_out *out)
{
	const char *home = who_home(call);
	struct agent_row a;
	int rc;

	if (agent_is_client(call))
		return fault_set(&call->fault, FAULT_DENIED, "",
				 "a client with an agent's token is told no others");
	if ((rc = who_team_of(call, in->team, in->name, "/name")) < 0 ||
	    (rc = who_agent(call, in->name, "/name", &a)) < 0)
		return rc;
	if (a.kind == AGENT_KIND_OPERATOR)
		return fault_set(&call->fault, FAULT_INVALID, "/name",
				 "%s is the operator, who has no token", a.name);
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
