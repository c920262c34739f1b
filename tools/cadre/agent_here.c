/*
 * agent_here - keeps an agent's identity for this directory: `--here`, where an operation says who
 * somebody is.
 */
#include <stdio.h>
#include <string.h>

#include "tools/cadre/cli.h"

bool agent_here_take(const struct op *op, int *argc, char **argv)
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

static const char *agent_here_text_of(const json_t *json, const char *name)
{
	const char *s = json_string_value(json_object_get(json, name));

	return s ? s : "";
}

int agent_here_check(struct cli *cli, struct fault *f)
{
	return cli_client(cli, HOME_WRITE, f) < 0 ? f->code
						  : home_can_keep(&cli->home, f);
}

int agent_here_keep(struct cli *cli, json_t *answer, struct fault *f)
{
	const char *name = agent_here_text_of(answer, "name"),
		   *team = agent_here_text_of(answer, "team");
	struct home *h = &cli->home;

	if (home_keep_here(h, team, name, agent_here_text_of(answer, "token"), true, f) <
	    0)
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

void agent_here_tell(const json_t *answer)
{
	const struct op *tells = teller();
	struct arena arena = { 0 };
	const char *name = cli_plain(&arena, agent_here_text_of(answer, "name"), false);

	fprintf(stderr,
		"%s, in a shell:     eval \"$(cadre %s %s %s)\"\n"
		"%s, in a worktree:  cadre %s %s %s --here\n",
		name, tells->cli[0], tells->cli[1], name, name, tells->cli[0],
		tells->cli[1], name);
	arena_release(&arena);
}
