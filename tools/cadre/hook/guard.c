/*
 * guard - git's hook before a commit: refuses a commit of a file that another agent has reserved.
 *
 * The committer is identified as for every command.  Nothing holds up a person or an unknown
 * caller, nor anybody if the state cannot be asked.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/home/paths.h"
#include "core/home/project.h"
#include "core/home/here.h"
#include "core/reservation/glob.h"
#include "ops.gen.h"
#include "tools/cadre/hook/hook.h"

void add_path(json_t *paths, const char *path)
{
	json_t *text = json_text(path);

	if (*path && json_string_length(text) < GLOB_PATH - 1)
		json_array_append(paths, text);
	json_decref(text);
}

/* Asks for some paths, which are taken over: 1 and says why where one is reserved, 0, or a
 * fault. */
static int refuses(struct cli *cli, json_t *paths, struct fault *f)
{
	json_t *args = json_pack("{so}", "paths", paths), *news;
	struct text why = { 0 };
	int rc;

	news = run_op(cli, op_message_news, args, f);
	rc = news ? json_object_get(news, "reserved") != NULL : (int)f->code;
	if (rc > 0) {
		tell_reserved(&why, news);
		fprintf(stderr, "%s\n", why.data);
	}
	text_release(&why);
	json_decref(news);
	json_decref(args);
	return rc;
}

/* The folder from whose top git tells paths, as the project calls it: "" but in a submodule.  git runs
 * its hooks at that top. */
static void find_prefix(const struct cli *cli, char out[4096])
{
	struct project p;

	if (!project_here(&p, &cli->home) || !here_is_top(p.here) ||
	    !project_path(&p, p.here, out))
		*out = '\0';
}

static void add_below(json_t *paths, const char *prefix, const char *path)
{
	char whole[4096];

	if (!*prefix)
		add_path(paths, path);
	else if (paths_join(whole, prefix, path))
		add_path(paths, whole);
}

/* Asks for all paths that git prints: how many of these questions were refused, or a
 * fault. */
static int guard_ask_all(struct cli *cli, FILE *git, struct fault *f)
{
	json_t *paths = json_array();
	char *path = NULL, prefix[4096];
	int refused = 0, rc = 0;
	bool over = false;
	size_t room = 0;

	find_prefix(cli, prefix);
	while (!over && rc >= 0) {
		over = getdelim(&path, &room, '\0', git) <= 0;
		if (!over)
			add_below(paths, prefix, path);
		if (json_array_size(paths) < (over ? 1 : HOOK_PATHS))
			continue;
		rc = refuses(cli, json_incref(paths), f);
		refused += rc > 0;
		json_array_clear(paths);
	}
	free(path);
	json_decref(paths);
	return refused ? refused : rc;
}

int guard_commit(struct cli *cli)
{
	struct fault f = { 0 };
	FILE *git;
	int rc;

	if (cli_client(cli, HOME_WRITE, &f) < 0 || !cli->home.identity.agent)
		return 0;
	git = popen("git diff --cached --name-only --no-renames --no-relative "
		    "--ignore-submodules=none -z",
		    "r");
	if (!git)
		return 0;
	rc = guard_ask_all(cli, git, &f);
	pclose(git);
	if (rc < 0)
		fprintf(stderr, "cadre: reservations were not looked at: %s\n", f.text);
	return rc > 0;
}
