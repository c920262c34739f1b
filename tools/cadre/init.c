#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/home/home_find.h"
#include "storage/store_restore.h"
#include "tools/cadre/cli.h"

struct init {
	struct cli *cli;
	bool anew; /* make a new state in the place of a lost state */
	bool is_new;
	char aside[4400]; /* folder for the lost state's files, or "" */
};

/* Moves the remaining files of a lost state to another folder. First unbinds the state's id
 * from the former database. If the process crashes after the unbinding, a new state in the
 * folder is accepted. */
static int init_set_aside(struct init *x, struct fault *f)
{
	const char *path = x->cli->home.dir;
	int dir = home_open(path);

	if (dir < 0)
		return fault_set(f, FAULT_IO, "", "cannot open %.150s: %m", path);
	if (state_id_unbind(dir, f) == 0)
		restore_set_aside(path, home_is_lost, x->aside, sizeof(x->aside), f);
	close(dir);
	return f->code;
}

/* Finds the state's folder. With --anew, also moves the remaining files of a lost state to
 * another folder. */
static int init_open_place(struct init *x, struct fault *f)
{
	struct cli *cli = x->cli;
	struct fault lost = { 0 };

	if (home_init(&cli->home, cli->dir, cli->flags, &lost) == 0)
		return cli_outside(cli, f);
	if (!x->anew || !cli->home.gone) {
		*f = lost;
		return f->code;
	}
	if (init_set_aside(x, f) < 0)
		return f->code;
	return home_init(&cli->home, cli->dir, cli->flags, f);
}

static int init_make_state(struct init *x, struct fault *f)
{
	const char *dir = x->cli->home.dir;
	struct store *store = NULL;

	if (init_open_place(x, f) < 0)
		return f->code;
	cli_note(&x->cli->home);
	x->is_new = !home_has_data(dir);
	if (x->anew && !x->is_new) {
		fault_set(f, FAULT_CONFLICT, "/home", "%.150s holds a state already",
			  dir);
		return fault_hint(f, "move it elsewhere first");
	}
	if (store_open(&store, dir, 0, NULL, f) < 0)
		return f->code;
	store_close(store);
	return 0;
}

int init_main(struct cli *cli, int argc, char **argv)
{
	struct fault f = { 0 };
	struct init x = { .cli = cli, .anew = argc == 2 && !strcmp(argv[1], "--anew") };

	if (argc > 1 + x.anew)
		return cli_usage(cli, "`%s` takes only --anew", argv[0]);
	if ((x.anew && cli_refuse_agent(cli, "init --anew", &f) < 0) ||
	    init_make_state(&x, &f) < 0)
		return cli_fault(cli, &f);
	if (cli->json) {
		print_json_new(json_pack("{ss,sb,ss*}", "home", cli->home.dir, "created",
					 x.is_new, "replaced",
					 *x.aside ? x.aside : NULL));
		return 0;
	}
	cli_say("%s %s", x.is_new ? "made" : "already there:", cli->home.dir);
	if (*x.aside)
		cli_say("the rest of the former state is kept in %s", x.aside);
	if (x.is_new)
		printf("next: cadre team create NAME, and `cadre up` for a host\n");
	return 0;
}
