/*
 * doors - verbs whose work is another folder's: MCP, the guest, the bench.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/version.h"
#include "guest/guest.h"
#include "mcp/mcp.h"
#include "tools/bench/bench.h"
#include "tools/cadre/cli.h"

int mcp_verb(struct cli *cli, int argc, char **argv)
{
	struct fault f = { 0 };
	char direct[] = "--direct", *words[32];

	if (argc > 30)
		return cli_usage(cli, "too many words");
	if (cli_home(cli, true, &f) < 0)
		return cli_fault(cli, &f);
	memcpy(words, argv, (size_t)argc * sizeof(*words));
	if (cli->direct)
		words[argc++] = direct;
	words[argc] = NULL;
	return mcp_main(argc, words, &cli->home);
}

int guest_verb(struct cli *cli, int argc, char **argv)
{
	struct guest_options o = { .version = CADRE_VERSION };
	const struct {
		const char *name, **value;
		bool needed;
	} options[] = {
		{ "--workspace", &o.workspace, true },
		{ "--name", &o.name, false },
		{ "--dir", &o.dir, true },
		{ "--state", &o.state, true },
		{ "--sockets", &o.sockets, false },
		{ "--team", &o.team, false },
		{ "--agent", &o.agent, false },
	};
	const size_t n_options = sizeof(options) / sizeof(options[0]);
	const char *value = NULL;

	for (int i = 1; i < argc; i++) {
		value = NULL;
		for (size_t k = 0; k < n_options && !value; k++)
			if ((value = cli_option(argc, argv, &i, options[k].name)))
				*options[k].value = value;
		if (!value)
			return cli_usage(cli, "`guest` does not know %.60s", argv[i]);
	}
	for (size_t k = 0; k < n_options; k++)
		if (options[k].needed && !*options[k].value)
			return cli_usage(cli, "`guest` needs %s", options[k].name);
	if (!o.name)
		o.name = o.workspace;
	return guest_main(&o);
}

int bench_verb(struct cli *cli, int argc, char **argv)
{
	(void)cli;
	return bench_main(argc, argv);
}
