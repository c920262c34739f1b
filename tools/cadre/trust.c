/*
 * trust - declares that a state found in a project may be used.
 *
 * `cadre init` notes each state that it makes. Only a state that was made elsewhere needs this
 * verb. A state from elsewhere came with a clone, an archive or a backup, or is a copy.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/home/home_find.h"
#include "core/home/paths.h"
#include "tools/cadre/cli.h"

struct target {
	char path[4096]; /* the state folder */
	enum found_why why;
};

/* --- finding the state --------------------------------------------------------- */

static int no_state(const char *word, struct fault *f)
{
	fault_set(f, FAULT_NOT_FOUND, "", "there is no state in %.150s", word);
	return fault_hint(f, "name a project's folder or its `.cadre`");
}

/* Whether a folder is itself a state that belongs to no project. */
static bool is_own_state(const char *dir)
{
	const char *name = strrchr(dir, '/');
	int fd = name && !strcmp(name, "/.cadre") ? -1 : home_open(dir);
	bool is = fd >= 0 && home_has_state(fd);

	if (fd >= 0)
		close(fd);
	return is;
}

static int needs_none(const char *dir, struct fault *f)
{
	fault_set(f, FAULT_INVALID, "", "%.150s is a state that belongs to no project",
		  dir);
	return fault_hint(f, "Such a state needs no trust: name it by --home or "
			     "CADRE_HOME.");
}

/* Finds the state that `word` names. `word` is the path of a project's folder, or of the
 * `.cadre` in this folder. A `.cadre` that is a link is not followed. */
static int find_target(const char *word, struct target *t, struct fault *f)
{
	char text[4096], dir[4096];
	struct found x;
	size_t n = strlen(word);
	bool itself;

	while (n > 1 && word[n - 1] == '/')
		n--;
	if (n >= sizeof(text) - 8)
		return no_state(word, f);
	snprintf(text, sizeof(text), "%.*s", (int)n, word);
	itself = !strcmp(text, ".cadre") || (n > 7 && !strcmp(text + n - 7, "/.cadre"));
	if (itself)
		memcpy(text + n - 6, ".", 2);
	if (!realpath(text, dir))
		return no_state(word, f);
	if (itself) {
		if (!paths_join(t->path, dir, ".cadre"))
			return no_state(word, f);
		t->why = trust_judge(t->path);
		return t->why == FOUND_NONE ? no_state(word, f) : 0;
	}
	if (is_own_state(dir))
		return needs_none(dir, f);
	find_upward(&x, dir);
	t->why = x.passed[0] ? x.why : FOUND_COUNTS;
	memcpy(t->path, x.passed[0] ? x.passed : x.path, sizeof(t->path));
	return t->path[0] ? 0 : no_state(dir, f);
}

/* --- making a state trusted ------------------------------------------------------ */

/* Whether a file belongs to the search index. The index of a state that becomes trusted is
 * removed, and is made again from the state. */
static bool is_index(const char *name)
{
	return !strncmp(name, "search.db", 9);
}

static int adopt_folder(int dir, const char *path, const char *name, struct fault *f)
{
	char full[4096];
	int below, rc;

	if (!paths_join(full, path, name))
		return fault_set(f, FAULT_INVALID, "", "%.150s/%.60s is too long a path",
				 path, name);
	below = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (below < 0)
		return fault_set(f, FAULT_IO, "", "%s: %m", name);
	rc = find_check_parts(below, full, f);
	close(below);
	return rc;
}

static int adopt_part(int dir, const char *path, const struct dirent *e, struct fault *f)
{
	const char *name = e->d_name;
	struct stat st;

	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return 0;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : fault_set(f, FAULT_IO, "", "%s: %m", name);
	if (is_index(name))
		return unlinkat(dir, name, 0) ? fault_set(f, FAULT_IO, "", "%s: %m", name)
					      : 0;
	/* The state's id is written to a new file, because the old file may have a second name
	 * elsewhere. */
	if (!strcmp(name, "id"))
		return 0;
	if (S_ISREG(st.st_mode))
		return (st.st_mode & 077) && fchmodat(dir, name, st.st_mode & 0700, 0)
			       ? fault_set(f, FAULT_IO, "", "%s: %m", name)
			       : 0;
	/* The folders disks/ and vault/ stay unchanged. In disks/, the host finds the layers of
	 * disks by links that the host has made. */
	if (!S_ISDIR(st.st_mode) || !strcmp(name, "disks") || !strcmp(name, "vault"))
		return 0;
	return adopt_folder(dir, path, name, f);
}

/* Makes the state's folder, and the files directly in this folder, private. Refuses a folder
 * with an entry that is neither a file nor a folder, such as a link. */
static int trust_adopt(int dir, const char *path, struct fault *f)
{
	if (find_each_part(dir, path, adopt_part, f) < 0)
		return f->code;
	if (fchmod(dir, 0700))
		fault_set(f, FAULT_IO, "", "cannot make %.150s private: %m", path);
	return f->code;
}

static int trust(const struct target *t, struct fault *f)
{
	int dir;

	if (t->why == FOUND_LINK || t->why == FOUND_STRAY ||
	    (t->why == FOUND_FOREIGN && geteuid()))
		return trust_refuse(t->path, t->why, f);
	dir = home_open(t->path);
	if (dir < 0)
		return fault_set(f, FAULT_IO, "", "%.150s: %m", t->path);
	if (find_check_parts(dir, t->path, f) == 0 && trust_adopt(dir, t->path, f) == 0)
		trust_add(dir, t->path, KNOWN_TRUSTED, f);
	close(dir);
	return f->code;
}

/* --- the list ------------------------------------------------------------------------ */

static const char *how_word(enum known_how how)
{
	if (how == KNOWN_TRACKED)
		return "was tracked";
	return how == KNOWN_MADE ? "made" : "trusted";
}

static int add_json(void *with, const struct known *k)
{
	json_array_append_new(with, json_pack("{ss,ss,ss}", "how", how_word(k->how),
					      "since", k->day, "path", k->path));
	return 0;
}

static int trust_add_row(void *with, const struct known *k)
{
	table_cell(with, how_word(k->how));
	table_cell(with, k->day);
	table_cell(with, k->path);
	return 0;
}

static int trust_show_json(struct fault *f)
{
	json_t *states = json_array(), *answer;

	trust_each(add_json, states, f);
	answer = json_pack("{so}", "states", states);
	if (!f->code)
		print_json(answer);
	json_decref(answer);
	return f->code;
}

static int show_list(struct cli *cli, struct fault *f)
{
	static const char *const names[] = { "how", "since", "folder" };
	struct table t = { 0 };

	if (cli->json)
		return trust_show_json(f);
	if (table_begin(cli, &t, names, 3, f) == 0)
		trust_each(trust_add_row, &t, f);
	if (f->code)
		t.n_cells = 0;
	table_print(cli, &t, true, 0);
	return f->code;
}

/* --- the verb -------------------------------------------------------------------------- */

static int trust_say(const struct cli *cli, const char *what, const char *path)
{
	if (cli->json)
		print_json_new(json_pack("{ss,ss}", "path", path, "how", what));
	else
		cli_say("%s %s", what, path);
	return 0;
}

/* Forgets a state. If the state's folder does not exist any more, `word` is taken for the path
 * that was noted. */
static int trust_forget(struct cli *cli, const char *word)
{
	struct fault f = { 0 }, none = { 0 };
	struct target t;
	const char *path = word;
	int rc;

	if (find_target(word, &t, &none) == 0)
		path = t.path;
	rc = trust_remove(path, &f);
	if (rc == 0) {
		fault_set(&f, FAULT_NOT_FOUND, "", "%.150s is not in the list of states",
			  path);
		fault_hint(&f, "see `cadre trust --list`");
	}
	return rc > 0 ? trust_say(cli, "removed", path) : cli_fault(cli, &f);
}

int trust_main(struct cli *cli, int argc, char **argv)
{
	struct fault f = { 0 };
	struct target t = { 0 };
	const char *word = NULL;
	bool list = false, removes = false;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--list"))
			list = true;
		else if (!strcmp(argv[i], "--remove"))
			removes = true;
		else if (argv[i][0] == '-' || word)
			return cli_usage(cli, "`%s` takes one path", argv[0]);
		else
			word = argv[i];
	}
	if (getenv("CADRE_SOCKET") && cli_outside(cli, &f) < 0)
		return cli_fault(cli, &f);
	if (removes)
		return trust_forget(cli, word ? word : ".");
	if (list)
		return show_list(cli, &f) < 0 ? cli_fault(cli, &f) : 0;
	if (find_target(word ? word : ".", &t, &f) < 0)
		return cli_fault(cli, &f);
	if (t.why == FOUND_COUNTS)
		return trust_say(cli, "already known:", t.path);
	return trust(&t, &f) < 0 ? cli_fault(cli, &f) : trust_say(cli, "trusted", t.path);
}
