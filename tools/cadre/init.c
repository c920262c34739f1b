#include <stdio.h>
#include <sys/stat.h>

#include "tools/cadre/cli.h"

static int make_state(struct cli *cli, bool *is_new, struct fault *f)
{
	struct store *store = NULL;
	char path[4200];
	struct stat st;

	if (home_init(&cli->home, cli->dir, cli->flags, f) < 0 || cli_outside(cli, f) < 0)
		return f->code;
	cli_note(&cli->home);
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
	bool is_new = false;

	if (argc > 1)
		return cli_usage(cli, "`%s` takes no words", argv[0]);
	if (make_state(cli, &is_new, &f) < 0)
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
