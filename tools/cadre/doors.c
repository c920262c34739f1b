/*
 * doors - the verbs `mcp` and `guest`. These verbs only start code that is in other folders.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/version.h"
#include "core/machine/starter.h"
#include "guest/guest.h"
#include "mcp/mcp.h"
#include "tools/cadre/cli.h"

enum { TOKEN_MOST = 256 };

/* Stores the reason why the state cannot be used, so that each MCP tool answers with this
 * reason. A client shows the answers of tools, but not the error output of a server that ends. */
static void serve_refusal(struct home *home, const struct fault *f)
{
	home->dir[0] = '\0';
	home->refused = *f;
	fault_hint(&home->refused, "%.160s; then restart this server", f->hint);
}

int mcp_verb(struct cli *cli, int argc, char **argv)
{
	struct fault f = { 0 };
	char direct[] = "--direct", operator[] = "--operator", *words[32];
	bool costs = false; /* no state is needed */

	if (argc > 29)
		return cli_usage(cli, "too many words");
	for (int i = 1; i < argc; i++)
		costs |= !strcmp(argv[i], "--cost");
	if (!costs && (cli_home(cli, HOME_WRITE, &f) < 0 || cli_who(cli, &f) < 0)) {
		cli->json = false;
		cli_fault(cli, &f);
		if (f.code != FAULT_DENIED && f.code != FAULT_NOT_FOUND &&
		    !cli->home.gone)
			return fault_info(f.code)->exit_status;
		serve_refusal(&cli->home, &f);
	}
	memcpy(words, argv, (size_t)argc * sizeof(*words));
	if (cli->direct)
		words[argc++] = direct;
	if (cli->as_operator)
		words[argc++] = operator;
	words[argc] = NULL;
	return mcp_main(argc, words, &cli->home);
}

/* Reads the token from a file or the environment. The token is never read from the command
 * line, which other users can see. */
static int doors_read_token(const char *file, char token[TOKEN_MOST], struct fault *f)
{
	const char *said = getenv("CADRE_LINK_TOKEN");
	FILE *in = file ? fopen(file, "re") : NULL;
	size_t n = 0;

	token[0] = '\0';
	if (file && !in)
		return fault_set(f, FAULT_IO, "", "%.300s: %s", file, strerror(errno));
	if (in) {
		n = fread(token, 1, TOKEN_MOST - 1, in);
		fclose(in);
		token[n] = '\0';
		token[strcspn(token, "\r\n")] = '\0';
	} else if (said) {
		snprintf(token, TOKEN_MOST, "%s", said);
	}
	unsetenv("CADRE_LINK_TOKEN"); /* commands of the guest do not need the token */
	return 0;
}

int guest_verb(struct cli *cli, int argc, char **argv)
{
	struct guest_options o = { .version = CADRE_VERSION };
	const char *token_file = NULL;
	char token[TOKEN_MOST];
	const struct {
		const char *name, **value;
		bool needed;
	} options[] = {
		{ "--workspace", &o.workspace, false },
		{ "--name", &o.name, false },
		{ "--dir", &o.dir, true },
		{ "--state", &o.state, true },
		{ "--listen", &o.listen, false },
		{ "--token-file", &token_file, false },
		{ "--http", &o.http, false },
		{ "--team", &o.team, false },
		{ "--agent", &o.agent, false },
		{ "--restores", &o.restores, false },
	};
	const size_t n_options = sizeof(options) / sizeof(options[0]);
	const char *value = NULL;
	struct fault f = { 0 };

	for (int i = 1; i < argc; i++) {
		value = NULL;
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return help_main(cli, 2, argv - 1);
		if (!strcmp(argv[i], "--state-inside")) {
			o.state_inside = true;
			continue;
		}
		for (size_t k = 0; k < n_options && !value; k++)
			if ((value = cli_option(argc, argv, &i, options[k].name)))
				*options[k].value = value;
		if (!value)
			return cli_usage(cli, "`guest` does not know %.60s", argv[i]);
	}
	for (size_t k = 0; k < n_options; k++)
		if (options[k].needed && !*options[k].value)
			return cli_usage(cli, "`guest` needs %s", options[k].name);
	o.token = token;
	starter_forget(true);
	if (doors_read_token(token_file, token, &f))
		return cli_fault(cli, &f);
	return guest_main(&o);
}
