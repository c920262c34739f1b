/*
 * whoami - tells the identity of this process, keeps one for a directory, forgets it.
 */
#include <stdio.h>
#include <string.h>

#include "core/home/whose.h"
#include "ops.gen.h"
#include "tools/cadre/cli.h"

/* --- --here ------------------------------------------------------------------------ */

bool here_take(const struct op *op, int *argc, char **argv)
{
	int left = 0;
	bool here = false;

	if (!(op->flags & OP_IDENTIFIES))
		return false;
	for (int i = 0; i < *argc; i++)
		if (!strcmp(argv[i], "--here"))
			here = true;
		else
			argv[left++] = argv[i];
	*argc = left;
	argv[left] = NULL;
	return here;
}

static const char *text_of(const json_t *json, const char *name)
{
	const char *s = json_string_value(json_object_get(json, name));

	return s ? s : "";
}

int here_keep(struct cli *cli, json_t *answer, struct fault *f)
{
	const char *name = text_of(answer, "name"), *team = text_of(answer, "team");
	struct home *h = &cli->home;

	if (home_keep_here(h, team, name, text_of(answer, "token"), true, f) < 0)
		return f->code;
	json_object_set_new(answer, "you",
			    json_sprintf("%s of team %s: whenever cadre runs in %s", name,
					 team, h->place));
	json_object_del(answer, "token");
	return 0;
}

/* The operation that tells who somebody is without changing anything. */
static const struct op *teller(void)
{
	for (size_t i = 0; i < op_count; i++)
		if (op_table[i].flags & OP_IDENTIFIES &&
		    !(op_table[i].flags & OP_WRITE) && op_table[i].cli)
			return &op_table[i];
	return NULL;
}

void here_tell(const struct op *op, const json_t *answer)
{
	const char *name = text_of(answer, "name");
	const struct op *tells = teller();
	struct arena arena = { 0 };

	if (!tells)
		return;
	name = op->flags & OP_IDENTIFIES ? cli_plain(&arena, name, false) : "NAME";
	fprintf(stderr,
		"%s, in a shell:     eval \"$(cadre %s %s %s)\"\n"
		"%s, in a worktree:  cadre %s %s %s --here\n",
		name, tells->cli[0], tells->cli[1], name, name, tells->cli[0],
		tells->cli[1], name);
	arena_release(&arena);
}

/* --- whoami -------------------------------------------------------------------------- */

/* Why, as an end of the sentence `coder of team shop, …`. */
static const char *why(const struct home *h)
{
	static const char *const words[] = {
		[HOME_BY_DEFAULT] = "since nothing says who else",
		[HOME_BY_VARIABLE] = "as CADRE_AGENT says",
		[HOME_BY_OPTION] = "as you say",
		[HOME_BY_PLACE] = "as is kept for",
		[HOME_BY_JOINING] = "since it registered",
	};

	return words[h->who];
}

/* Whether the state knows the agent still, and takes its token. */
static int check(struct cli *cli, struct fault *f)
{
	const struct identity *id = &cli->home.identity;
	json_t *args, *answer;

	if (!id->agent)
		return 0;
	args = json_pack("{ss}", "name", id->agent);
	answer = run_op(cli, op_agent_whois, args, f);
	json_decref(args);
	json_decref(answer);
	return f->code;
}

static int forget(struct cli *cli, struct fault *f)
{
	char place[4096];
	int rc;

	if (!whose_place(place))
		return fault_set(f, FAULT_NOT_FOUND, "", "the current directory is gone");
	rc = whose_forget(cli->home.dir, place, f);
	if (rc < 0)
		return rc;
	if (cli->json)
		printf("{\"forgotten\":%s}\n", rc ? "true" : "false");
	else if (rc)
		cli_say("forgotten: %s is nobody's now", place);
	else
		cli_say("nothing is kept for %s", place);
	return 0;
}

static void tell_json(const struct cli *cli)
{
	static const char *const reasons[] = { "default", "variable", "option", "place",
					       "joined" };
	const struct home *h = &cli->home;
	const char *agent = h->identity.agent;
	json_t *json = json_pack("{ss*,ss*,sb,ss,ss*,ss*}", "agent", agent, "team",
				 h->identity.team, "operator", !agent, "by",
				 reasons[h->who], "place",
				 h->who == HOME_BY_PLACE ? h->place : NULL, "home",
				 h->dir[0] ? h->dir : NULL);

	print_json(json);
	json_decref(json);
}

static void tell(const struct cli *cli)
{
	const struct home *h = &cli->home;
	const struct identity *id = &h->identity;
	bool kept = h->who == HOME_BY_PLACE;

	cli_say("%s%s%s, %s%s%s", id->agent ? id->agent : "the operator",
		id->team ? " of team " : "", id->team ? id->team : "", why(h),
		kept ? " " : "", kept ? h->place : "");
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
		rc = cli_folder(cli, HOME_WRITE, &f) < 0 ? f.code : forget(cli, &f);
	else
		rc = cli_client(cli, HOME_LOOK, &f) < 0 ? f.code : check(cli, &f);
	if (rc < 0)
		return cli_fault(cli, &f);
	if (!forgets && cli->json)
		tell_json(cli);
	else if (!forgets)
		tell(cli);
	return 0;
}
