/*
 * whoami - tells the identity of this process, and forgets the identity kept for a directory.
 */
#include <stdio.h>
#include <string.h>

#include "core/home/here.h"
#include "core/home/home_config.h"
#include "ops.gen.h"
#include "tools/cadre/cli.h"

/* --- whoami -------------------------------------------------------------------------- */

/* The reason why the caller is this agent. The text ends a sentence like `coder of team shop,
 * as you say`. */
static const char *why(const struct home *h)
{
	static const char *const words[] = {
		[HOME_BY_DEFAULT] = "by default",
		[HOME_BY_VARIABLE] = "as CADRE_AGENT says",
		[HOME_BY_OPTION] = "as --as or --operator says",
		[HOME_BY_PLACE] = "the agent of",
		[HOME_BY_SESSION] = "because this client session registered in",
		[HOME_BY_JOINING] = "because it registered",
	};

	return words[h->who];
}

static bool whoami_is_kept(const struct home *h)
{
	return h->who == HOME_BY_PLACE || h->who == HOME_BY_SESSION;
}

/* If the agent or its team was renamed, uses the new name, and stores the new name for the
 * directory. */
static void learn_name(struct cli *cli, const json_t *card, struct fault *f)
{
	struct identity *id = &cli->home.identity;
	const char *name = json_find_text(card, "name"),
		   *team = json_find_text(card, "team");

	if (!name || !team ||
	    (!strcmp(name, id->agent) && id->team && !strcmp(team, id->team)))
		return;
	if (cli->home.who == HOME_BY_PLACE &&
	    home_keep_here(&cli->home, team, name, id->token, true, f) < 0)
		return;
	id->agent = home_keep(&cli->home, name);
	id->team = home_keep(&cli->home, team);
}

/* Checks that the state still knows the agent and still accepts the agent's token. */
static int whoami_check(struct cli *cli, struct fault *f)
{
	const struct identity *id = &cli->home.identity;
	json_t *answer;

	if (!id->agent)
		return 0;
	answer = run_args(cli, op_agent_whois, json_pack("{ss}", "name", "self"), f);
	if (answer)
		learn_name(cli, json_object_get(answer, "card"), f);
	json_decref(answer);
	return f->code;
}

static int whoami_forget(struct cli *cli, struct fault *f)
{
	struct here_sessions s;
	char place[4096];
	struct here k;
	int rc;

	if (!here_place(place))
		return fault_set(f, FAULT_NOT_FOUND, "", "the current directory is gone");
	memset(&s, 0, sizeof(s));
	if (here_find(cli->home.dir, place, &k, &(struct fault){ 0 }) > 0)
		here_sessions(cli->home.dir, &k, &s);
	if (s.differs)
		here_session_forget(cli->home.dir, place);
	rc = s.differs ? 1 : here_forget(cli->home.dir, place, f);
	if (rc < 0)
		return rc;
	if (cli->json)
		printf("{\"forgotten\":%s}\n", rc ? "true" : "false");
	else if (s.differs)
		cli_say("forgotten: this session is not %s any more", s.who.agent);
	else if (rc)
		cli_say("forgotten: %s belongs to no agent now", place);
	else
		cli_say("%s belongs to no agent", place);
	return 0;
}

/* The team of an operator who names no team. */
struct whoami_team {
	char name[65]; /* empty: there is no such team */
	char from[4200]; /* the setting that names the team; empty: it is the only team */
};

static void whoami_find_team(struct cli *cli, struct whoami_team *t)
{
	const struct field *key = record_config.fields;
	struct config_set set = { 0 };
	struct fault f = { 0 };
	struct config now;
	json_t *answer;

	if (cli->home.identity.agent || cli->home.identity.team || !cli->home.dir[0])
		return;
	while (strcmp(key->name, "team.default") != 0)
		key++;
	if (config_load(&set, cli->home.dir, cli->flags, &f) == 0) {
		config_read(&set, &now);
		if (now.team_default)
			snprintf(t->from, sizeof(t->from), "%s",
				 config_whence(&set, key));
	}
	config_release(&set);
	answer = f.code ? NULL : run_args(cli, op_team_status, json_object(), &f);
	if (answer)
		snprintf(t->name, sizeof(t->name), "%s", json_text_at(answer, "name"));
	json_decref(answer);
}

static void whoami_tell_json(struct cli *cli)
{
	static const char *const reasons[] = { "default", "variable", "option",
					       "place",   "session",  "joined" };
	const struct home *h = &cli->home;
	const char *agent = h->identity.agent;
	struct whoami_team t = { 0 };

	whoami_find_team(cli, &t);
	print_json_new(json_pack(
		"{ss*,ss*,sb,ss,ss*,ss*,ss*,ss*}", "agent", agent, "team",
		h->identity.team, "operator", !agent, "by", reasons[h->who], "place",
		whoami_is_kept(h) ? h->place : NULL, "home", h->dir[0] ? h->dir : NULL,
		"default_team", *t.name ? t.name : NULL, "default_from",
		*t.name && *t.from ? t.from : NULL));
}

static void whoami_tell(struct cli *cli)
{
	const struct home *h = &cli->home;
	const struct identity *id = &h->identity;
	const bool kept = whoami_is_kept(h);
	struct whoami_team t = { 0 };

	cli_say("%s%s%s, %s%s%s", id->agent ? id->agent : "the operator",
		id->team ? " of team " : "", id->team ? id->team : "", why(h),
		kept ? " " : "", kept ? h->place : "");
	whoami_find_team(cli, &t);
	if (*t.name && *t.from)
		cli_say("team   %s by default, as %s says", t.name, t.from);
	else if (*t.name)
		cli_say("team   %s by default, the only team below no other", t.name);
	else if (!id->agent && !id->team && h->dir[0])
		cli_say("team   none by default; to set one: cadre use TEAM");
	if (h->dir[0])
		cli_say("state  %s", h->dir);
}

int whoami_main(struct cli *cli, int argc, char **argv)
{
	bool forgets = argc == 2 && !strcmp(argv[1], "--forget");
	struct fault f = { 0 };
	int rc;

	if (argc > 1 && !forgets)
		return cli_usage(cli, "`%s` takes only --forget", argv[0]);
	if (forgets)
		rc = cli_folder(cli, HOME_WRITE, &f) < 0 ? f.code
							 : whoami_forget(cli, &f);
	else
		rc = cli_client(cli, HOME_LOOK, &f) < 0 ? f.code : whoami_check(cli, &f);
	if (rc < 0)
		return cli_fault(cli, &f);
	if (!forgets && cli->json)
		whoami_tell_json(cli);
	else if (!forgets)
		whoami_tell(cli);
	return 0;
}
