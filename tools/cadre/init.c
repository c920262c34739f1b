#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tools/cadre/cli.h"

/* The folder that --home or CADRE_HOME name, else the project's; a workspace,
 * which has a door, is no place for a state. */
static int choose_dir(struct cli *cli, char dir[4096], struct fault *f)
{
	if (cli->dir || getenv("CADRE_HOME") || getenv("CADRE_SOCKET"))
		return 0;
	if (home_project(dir, f) < 0)
		return f->code;
	cli->dir = dir;
	return 0;
}

static int make_state(struct cli *cli, bool *is_new, struct fault *f)
{
	struct store *store = NULL;
	char path[4200];
	struct stat st;

	if (cli_folder(cli, true, f) < 0)
		return f->code;
	snprintf(path, sizeof(path), "%s/state.db", cli->home.dir);
	*is_new = stat(path, &st) != 0;
	if (store_open(&store, cli->home.dir, STORE_CREATE, NULL, f) < 0)
		return f->code;
	store_close(store);
	return 0;
}

int init_main(struct cli *cli, int argc, char **argv)
{
	struct fault f = { 0 };
	char dir[4096];
	bool is_new = false;

	if (argc > 1)
		return cli_usage(cli, "`%s` takes no words", argv[0]);
	if (choose_dir(cli, dir, &f) < 0 || make_state(cli, &is_new, &f) < 0)
		return cli_fault(cli, &f);
	if (cli->json) {
		json_t *answer =
			json_pack("{ss,sb}", "home", cli->home.dir, "created", is_new);

		print_json(answer);
		json_decref(answer);
		return 0;
	}
	printf("%s %s\n", is_new ? "made" : "already there:", cli->home.dir);
	if (is_new)
		printf("next: cadre team create NAME, and `cadre up` for a host\n");
	return 0;
}
