/*
 * prime - a short brief for a model: its agent's name, held work, waiting mail, useful commands.
 */
#include <stdio.h>

#include "tools/cadre/hook/hook.h"

int prime_main(struct cli *cli, int argc, char **argv)
{
	struct fault f = { 0 };
	struct text text = { 0 };
	json_t *none, *start;

	cli->hurry_ms = HOOK_HURRY_MS;
	if (argc > 1)
		return cli_usage(cli, "`%s` takes no words", argv[0]);
	if (cli_client(cli, HOME_LOOK, &f) < 0 && f.code != FAULT_NOT_FOUND)
		return cli_fault(cli, &f);
	if (f.code || !cli->home.identity.agent) {
		cli_say("cadre: you are nobody here yet; to become an agent of this directory: %s"
			"cadre agent register NAME --here",
			f.code ? "cadre init, cadre team create TEAM, " : "");
		return 0;
	}
	none = json_object();
	start = run_op(cli, op_agent_start, none, &f);
	json_decref(none);
	if (!start)
		return cli_fault(cli, &f);
	if (cli->json) {
		print_json(start);
	} else {
		tell_prime(&text, start);
		fputs(text.data, stdout);
	}
	text_release(&text);
	json_decref(start);
	return 0;
}
