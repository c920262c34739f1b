/*
 * guard - git's hook before a commit: refuses one with a file that another agent has reserved.
 *
 * Whoever commits is known as for every command.  A person, and whoever is nobody here, is
 * held up by nothing, nor is anybody where the state cannot be asked.
 */
#include <stdio.h>
#include <stdlib.h>

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

/* Asks for all paths that git prints: how many of these questions were refused, or a
 * fault. */
static int ask_all(struct cli *cli, FILE *git, struct fault *f)
{
	json_t *paths = json_array();
	char *path = NULL;
	int refused = 0, rc = 0;
	bool over = false;
	size_t room = 0;

	while (!over && rc >= 0) {
		over = getdelim(&path, &room, '\0', git) <= 0;
		if (!over)
			add_path(paths, path);
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
	git = popen("git diff --cached --name-only --no-renames --no-relative -z", "r");
	if (!git)
		return 0;
	rc = ask_all(cli, git, &f);
	pclose(git);
	if (rc < 0)
		fprintf(stderr, "cadre: reservations were not looked at: %s\n", f.text);
	return rc > 0;
}
