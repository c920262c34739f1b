/*
 * use_verb - makes a team the default of a state, by the key `team.default` in the state's
 * cadre.toml. All other bytes of the file stay.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/home/home_config.h"
#include "core/home/home_trust.h"
#include "core/home/paths.h"
#include "tools/cadre/cli.h"
#include "tools/cadre/setup/setup.h"

/* Notes the end of the line with the header [team]. */
static void use_see_line(void *arg, const struct toml_line *line)
{
	size_t *header = arg;

	if (line->header && line->n == 1 && line->path->len == 4 &&
	    !memcmp(line->path->data, "team", 4))
		*header = line->to;
}

/* Puts the key into the draft: in place of the present value, below the header [team], or at
 * the beginning of the file. */
static int use_edit(struct setup_draft *d, const char *team, struct fault *f)
{
	struct arena a = { 0 };
	struct setup_value v;
	size_t header = 0, at = draft_start(d);
	const char *line;

	if (setup_find_value(&a, d, true, "team.default", &v, f) == 0 && v.value) {
		draft_quote(d, v.from, team);
	} else if (!f->code && v.braces) {
		toml_refuse(d->name, v.braces->at, f,
			    "team is in braces, where no key can be added");
	} else if (!f->code && toml_lines(&a, d->text.len ? d->text.data : "",
					  d->text.len, use_see_line, &header, f) == 0) {
		line = header ? arena_printf(&a, "\ndefault = \"%s\"", team)
			      : arena_printf(&a, "team.default = \"%s\"\n", team);
		at = header ? header : at;
		draft_splice(d, at, at, line, strlen(line));
		d->there = true;
	}
	json_decref(v.value);
	arena_release(&a);
	return f->code;
}

struct use_change {
	const char *path, *team;
};

/* Changes the state's file. If another process has changed the file since it was read, the file
 * stays. */
static int use_write(void *arg, struct fault *f)
{
	const struct use_change *change = arg;
	struct setup_target t = { 0 };

	if (setup_target_find(&t, change->path, change->path, NULL, f) == 0 &&
	    setup_target_read(&t, f) == 0 && use_edit(&t.draft, change->team, f) == 0 &&
	    setup_target_changed(&t))
		setup_target_write(&t, f);
	setup_target_release(&t);
	return f->code;
}

/* Changes the file of the state `home`, and notes the change as the user's. */
static int use_change(const char *home, const char *team, struct fault *f)
{
	char path[4096];
	struct use_change change = { path, team };
	int dir = home_open(home);

	if (dir < 0)
		return fault_set(f, FAULT_IO, "", "cannot open %.200s: %m", home);
	paths_join(path, home, config_file_name);
	trust_edit(dir, home, use_write, &change, f);
	close(dir);
	return f->code;
}

/* Names a setting that has another team and counts more than the state's file. */
static int use_tell(struct cli *cli, const char *team, struct fault *f)
{
	const struct field *key = record_config.fields;
	struct config_set set = { 0 };
	struct config now;

	if (config_load(&set, cli->home.dir, cli->flags, f) == 0) {
		config_read(&set, &now);
		while (strcmp(key->name, "team.default") != 0)
			key++;
		cli_say("%s is the default team of %s", team, cli->home.dir);
		if (now.team_default && strcmp(now.team_default, team) != 0)
			cli_say("note: here the default team is %s: %s sets it",
				now.team_default, config_whence(&set, key));
	}
	config_release(&set);
	return f->code;
}

int use_main(struct cli *cli, int argc, char **argv)
{
	struct fault f = { 0 };
	json_t *team = NULL;

	if (argc != 2)
		return cli_usage(cli, "`use` takes the name of a team: cadre team list");
	if (cli_folder(cli, HOME_WRITE, &f) == 0)
		team = run_args(cli, op_team_status, json_pack("{ss}", "name", argv[1]),
				&f);
	if (team && use_change(cli->home.dir, json_text_at(team, "name"), &f) == 0)
		use_tell(cli, json_text_at(team, "name"), &f);
	json_decref(team);
	return f.code ? cli_fault(cli, &f) : 0;
}
