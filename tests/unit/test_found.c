/* Which state is found from a folder, which state is refused, and which settings a project's
 * file may have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/home/home_find.h"
#include "core/home/home.h"
#include "tests/lib/user.h"

/* Returns the path of the state that is found from `dir`, relative to `root`, or the fault's
 * name. */
static const char *found(const char *dir, enum home_use use)
{
	static struct home h;
	struct fault f = { 0 };

	if (chdir(root) || chdir(dir))
		fail_msg("%s", dir);
	if (home_find(&h, NULL, use, &f) < 0)
		return fault_info(f.code)->name;
	assert_memory_equal(h.dir, root, strlen(root));
	return h.dir + strlen(root);
}

/* Makes a state in `dir`, as `cadre init` does. Returns the state's path relative to `root`, or
 * the fault's name. */
static const char *made(const char *dir)
{
	static struct home h;
	struct fault f = { 0 };
	char path[4200];
	int fd;

	if (chdir(root) || chdir(dir))
		fail_msg("%s", dir);
	if (home_init(&h, NULL, NULL, &f) < 0)
		return fault_info(f.code)->name;
	snprintf(path, sizeof(path), "%s/state.db", h.dir);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	close(fd);
	return h.dir + strlen(root);
}

static void test_order(void **state)
{
	(void)state;
	assert_string_equal(found(".", HOME_LOOK), "not_found");
	assert_string_equal(found(".", HOME_MAKE), "not_found");
	shell("mkdir -p p/a/b/.cadre");
	assert_string_equal(made("p"), "/p/.cadre");
	assert_string_equal(found("p/a/b", HOME_WRITE), "/p/.cadre");
	setenv("CADRE_HOME", "../../other", 1);
	assert_string_equal(found("p/a", HOME_LOOK), "not_found");
	assert_string_equal(found("p/a", HOME_WRITE), "not_found");
	assert_string_equal(found("p/a", HOME_MAKE), "/other");
	assert_string_equal(found("p/a", HOME_WRITE), "/other");
}

static void test_worktrees_share(void **state)
{
	(void)state;
	shell("git init -q repo && cd repo && git -c user.name=t -c user.email=t@t commit -q "
	      "--allow-empty -m x && git worktree add -q ../tree");
	assert_string_equal(made("tree"), "/repo/.cadre");
	assert_string_equal(found("repo", HOME_WRITE), "/repo/.cadre");
	assert_string_equal(found("tree", HOME_WRITE), "/repo/.cadre");
	shell("mkdir -p tree/.cadre tree/sub");
	assert_string_equal(found("tree/sub", HOME_WRITE), "/repo/.cadre");
}

/* A `.git` file from an archive names a repository that does not know the file's folder. */
static void test_stray_worktree(void **state)
{
	(void)state;
	shell("git init -q repo && cd repo && git -c user.name=t -c user.email=t@t commit -q "
	      "--allow-empty -m x && git worktree add -q ../tree");
	assert_string_equal(made("repo"), "/repo/.cadre");
	shell("mkdir stray && cp tree/.git stray/.git");
	assert_string_equal(found("stray", HOME_LOOK), "denied");
	assert_string_equal(found("tree", HOME_LOOK), "/repo/.cadre");
}

static void test_init_goes_to_the_root(void **state)
{
	(void)state;
	shell("git init -q repo && mkdir -p repo/a/b plain");
	assert_string_equal(made("repo/a/b"), "/repo/.cadre");
	assert_string_equal(made("plain"), "/plain/.cadre");
}

/* A state is accepted in the folder where it was made, even after that folder was moved. */
static void test_known(void **state)
{
	(void)state;
	shell("mkdir p");
	assert_string_equal(made("p"), "/p/.cadre");
	shell("mv p q");
	assert_string_equal(found("q", HOME_LOOK), "/q/.cadre");
	shell("mv q p && cp -a p copy");
	assert_string_equal(found("p", HOME_LOOK), "/p/.cadre");
	assert_string_equal(found("copy", HOME_LOOK), "denied");
	assert_string_equal(made("copy"), "denied");
	/* Another folder at the path of a state is refused, even if the folder got the inode
	 * number of the state's folder. */
	shell("mv p/.cadre old && cp -a old p/.cadre");
	assert_string_equal(found("p", HOME_LOOK), "denied");
	/* A new folder is refused even if all files of the first folder were moved into the new
	 * folder. */
	shell("rm -r p/.cadre && mkdir -m 700 p/.cadre && mv old/* p/.cadre");
	assert_string_equal(found("p", HOME_LOOK), "denied");
	shell("mv p/.cadre/* old && rmdir p/.cadre && mv old p/.cadre");
	assert_string_equal(found("p", HOME_LOOK), "/p/.cadre");
	shell("printf %%032d 0 >p/.cadre/id");
	assert_string_equal(found("p", HOME_LOOK), "denied");
}

/* The file `known` decides where the state of several worktrees is made. */
static void test_unreadable_known(void **state)
{
	(void)state;
	shell("git init -q --separate-git-dir=apart.git apart && cd apart && git -c "
	      "user.name=t -c user.email=t@t commit -q --allow-empty -m x && git worktree "
	      "add -q ../tree");
	assert_string_equal(made("apart"), "/apart/.cadre");
	assert_int_equal(chdir(root), 0);
	shell("chmod 622 .local/state/cadre/known");
	assert_string_equal(made("tree"), "denied");
	assert_int_equal(chdir(root), 0);
	shell("[ ! -e apart.git/.cadre ]");
}

/* States that several processes make at once are all recorded in `known`, which also has many
 * records of removed states. */
static void test_many(void **state)
{
	char dir[40], line[400];
	struct stat st;
	FILE *file;
	int status, n = 0;

	(void)state;
	shell("mkdir -p .local/state/cadre && cd .local/state/cadre && umask 077 && "
	      "for i in $(seq 1000 1200); do "
	      "echo made 2020-01-01 0000000000000000000000000000$i 1 $i /gone/$i; "
	      "done >known");
	for (int i = 0; i < 12; i++) {
		shell("mkdir p%d", i);
		snprintf(dir, sizeof(dir), "p%d", i);
		if (fork() == 0)
			_exit(strstr(made(dir), "/.cadre") ? 0 : 1);
	}
	for (int i = 0; i < 12; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	for (int i = 0; i < 12; i++) {
		snprintf(dir, sizeof(dir), "p%d", i);
		assert_non_null(strstr(found(dir, HOME_LOOK), "/.cadre"));
		assert_int_equal(chdir(root), 0);
	}
	assert_int_equal(stat(".local/state/cadre/known", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	file = fopen(".local/state/cadre/known", "r");
	while (fgets(line, sizeof(line), file))
		n += !strncmp(line, "made ", 5);
	fclose(file);
	assert_int_equal(n, 12);
	/* The file `known` is refused if other users may write it. */
	assert_int_equal(chmod(".local/state/cadre/known", 0622), 0);
	assert_string_equal(found("p1", HOME_LOOK), "denied");
	/* The refused file keeps its contents, since cadre does not replace a refused file. */
	assert_int_equal(chdir(root), 0);
	shell("mkdir late && cp .local/state/cadre/known before");
	assert_string_equal(made("late"), "denied");
	assert_int_equal(chdir(root), 0);
	shell("cmp -s before .local/state/cadre/known && "
	      "mkdir dir && mv .local/state/cadre/known dir/ && "
	      "ln -s $PWD/dir/known .local/state/cadre/known && mkdir later");
	assert_string_equal(made("later"), "io");
	assert_int_equal(chdir(root), 0);
	shell("cmp -s before dir/known");
}

/* The check of a folder's parts fails if the folder cannot be listed. */
static void test_unlistable(void **state)
{
	struct fault f = { 0 };
	struct rlimit was, none;
	int dir, rc;

	(void)state;
	shell("mkdir p");
	dir = open("p", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = was;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	rc = find_check_parts(dir, "p", &f);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	close(dir);
	assert_int_equal(rc, FAULT_IO);
	assert_non_null(strstr(f.text, "cannot list"));
}

/* The name of a state's folder may contain a line break, or text that looks like an escape
 * sequence. */
static void test_names(void **state)
{
	(void)state;
	shell("mkdir 'a b%%41' 'c\nd' && mkdir 'a b%%41/x'");
	assert_string_equal(made("a b%41"), "/a b%41/.cadre");
	assert_string_equal(made("c\nd"), "/c\nd/.cadre");
	assert_string_equal(found("a b%41/x", HOME_LOOK), "/a b%41/.cadre");
	assert_string_equal(found("c\nd", HOME_LOOK), "/c\nd/.cadre");
}

/* A foreign state is refused and keeps its mode. The foreign state does not hide the user's
 * state in a folder above. */
static void test_unknown(void **state)
{
	struct stat st;
	char path[200];

	(void)state;
	shell("mkdir -p p/.cadre p/sub/.cadre && touch p/.cadre/state.db");
	shell("chmod 755 p/.cadre && touch p/sub/.cadre/state.db");
	assert_string_equal(found("p/sub", HOME_LOOK), "denied");
	assert_string_equal(made("p"), "denied");
	snprintf(path, sizeof(path), "%s/p/.cadre", root);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0755);
	shell("rm -r p/.cadre");
	assert_string_equal(made("p"), "/p/.cadre");
	assert_string_equal(found("p/sub", HOME_LOOK), "/p/.cadre");
	shell("rm -r p/sub/.cadre && ln -s ../.cadre p/sub/.cadre");
	assert_string_equal(found("p/sub", HOME_LOOK), "/p/.cadre");
	shell("mv p/.cadre real && ln -s ../real p/.cadre");
	assert_string_equal(found("p", HOME_LOOK), "denied");
	assert_string_equal(made("p"), "denied");
}

/* No part of a state may be a symbolic link, even if the user named the state by its path. */
static void test_links_inside(void **state)
{
	static const char *const parts[] = { "state.db",   "secret", "vault",   "log",
					     "state.lock", "bell",   "anything" };
	struct home h;
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(home_find(&h, "s", HOME_MAKE, &f), 0);
	shell("touch s/state.db");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		shell("[ ! -e s/%s ] || mv s/%s kept; ln -s /tmp s/%s", parts[i],
		      parts[i], parts[i]);
		f = (struct fault){ 0 };
		/* Without state.db the folder is no state. With HOME_MAKE the folder is checked
		 * even if it is no state. */
		assert_int_equal(home_find(&h, "s", HOME_MAKE, &f), FAULT_DENIED);
		shell("rm s/%s; [ ! -e kept ] || mv kept s/%s", parts[i], parts[i]);
	}
	f = (struct fault){ 0 };
	assert_int_equal(home_find(&h, "s", HOME_MAKE, &f), 0);
}

/* If the user names a folder by mistake, the folder is not changed. */
static void test_named_by_mistake(void **state)
{
	struct home h;
	struct fault f = { 0 };
	struct stat st;

	(void)state;
	shell("mkdir -m 755 etc && touch etc/passwd");
	assert_int_equal(home_find(&h, "etc", HOME_LOOK, &f), FAULT_NOT_FOUND);
	f = (struct fault){ 0 };
	assert_int_equal(home_find(&h, "etc", HOME_MAKE, &f), FAULT_DENIED);
	assert_int_equal(stat("etc", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0755);
}

/* --- what git tracks ------------------------------------------------------------------ */

/* Runs the commands `change` and `after`. Fails unless the checksum of the tracked files in
 * `path` stays the same (if `same`) or changes (otherwise). */
static void sum_after(const char *path, const char *change, const char *after, bool same)
{
	char before[TRACKED_SUM + 1], now[TRACKED_SUM + 1];

	git_tracked_sum(path, true, before);
	shell("cd r && %s && %s", change, after);
	git_tracked_sum(path, true, now);
	assert_int_equal(strlen(now), TRACKED_SUM);
	if (!strcmp(now, before) != same)
		fail_msg("%s && %s: the sum is %s", change, after,
			 same ? "another one" : "the same");
}

static void look_at_sums(const char *path, const char *after)
{
	sum_after(path, "echo 1 >.cadre/state.db && git add -f .cadre", after, false);
	sum_after(path, "git update-index --chmod=+x .cadre/state.db", after, false);
	sum_after(path, "echo 2 >.cadre/x && git add -f .cadre/x", after, false);
	/* Here no command rewrites the index after `git add`. If the index is split, it now has
	 * an entry without a name, which replaces an entry of the shared index. */
	sum_after(path, "echo 3 >.cadre/state.db && git add -f .cadre", "true", false);
	/* Changes in other folders do not change the sum, whichever index file records these
	 * changes. */
	sum_after(path, "echo 4 >.cadre/state.db; echo 3 >a/b && git add a/b", "true",
		  true);
	sum_after(path, "echo 4 >.c/3 && git add .c/3 && git rm -fq --cached .c/4",
		  "true", true);
	sum_after(path, "echo 5 >.c/3 && git add .c/3", after, true);
	sum_after(path, "echo 5 >.c/3 && git add .c/3", "git update-index --split-index",
		  true);
	sum_after(path, "git rm -fq --cached .cadre/x", "true", false);
	sum_after(path, "cp .git/index .git/sharedindex.former", "true", true);
	sum_after(path, "echo >.cadre/cadre.toml", after, false);
	sum_after(path,
		  "git update-index --split-index && git rm -rfq --cached .c .cadre-x",
		  "true", true);
}

/* Checks one form of git's index. `config` is an option of `git init`, and `after` is a command
 * that rewrites the index. The repository has a file in `.cadre`, and many other files. Some of
 * the other files come before `.cadre` in git's order. */
static void look_at(const char *config, const char *after)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/r/.cadre", root);
	shell("rm -rf r && git init -q %s r && cd r && git config commit.gpgsign false && "
	      "mkdir -p .c .cadre .cadre-x a && for i in 1 2 3 4 5 6 7 8 9; do "
	      "touch .c/$i .cadre-x/$i a/long-name-of-a-file-$i; done && "
	      "touch .cadre/state.db && git add .c .cadre-x a && %s",
	      config, after);
	assert_int_equal(tracked_look(path), TRACKED_NOTHING);
	shell("cd r && git add -f .cadre/state.db && %s", after);
	assert_int_equal(tracked_look(path), TRACKED_SOME);
	look_at_sums(path, after);
}

static void test_tracked(void **state)
{
	char path[200];

	(void)state;
	look_at("", "true");
	look_at("", "git update-index --index-version 3");
	look_at("", "git update-index --index-version 4");
	look_at("", "git update-index --skip-worktree .c/1 .c/2");
	look_at("", "git update-index --split-index");
	look_at("--object-format=sha256", "true");
	look_at("--object-format=sha256", "git update-index --index-version 4");
	/* git may also track `.cadre` as a symbolic link, or a `.cadre` in a folder of the
	 * repository. */
	shell("cd r && git rm -rfq --cached .cadre && rm -r .cadre && ln -s a .cadre && "
	      "git add .cadre");
	snprintf(path, sizeof(path), "%s/r/.cadre", root);
	assert_int_equal(tracked_look(path), TRACKED_SOME);
	shell("mkdir -p r/b/.cadre && touch r/b/.cadre/x && cd r && git add b");
	snprintf(path, sizeof(path), "%s/r/b/.cadre", root);
	assert_int_equal(tracked_look(path), TRACKED_SOME);
	shell("cd r && git update-index --split-index && git rm -rfq --cached b a");
	assert_int_equal(tracked_look(path), TRACKED_NOTHING);
	shell("rm r/.git/sharedindex.*; touch r/.git/sharedindex.0");
	assert_int_equal(tracked_look(path), TRACKED_UNREADABLE);
	shell("truncate -s 100 r/.git/index");
	assert_int_equal(tracked_look(path), TRACKED_UNREADABLE);
	shell("rm -r r/.git");
	assert_int_equal(tracked_look(path), TRACKED_NOTHING);
}

/* A state that the user has made is accepted until git tracks the state. A state that git
 * tracks is refused, because every clone contains the same state. The state stays refused when
 * git no longer tracks it, because git may have changed the state's files. */
static void test_tracked_state(void **state)
{
	(void)state;
	shell("git init -q r && cd r && git config commit.gpgsign false");
	assert_string_equal(made("r"), "/r/.cadre");
	shell("cd r && rm -f .cadre/.gitignore && touch f && git add f");
	assert_string_equal(found("r", HOME_LOOK), "/r/.cadre");
	shell("cd r && git add -f .cadre/state.db");
	assert_string_equal(found("r", HOME_LOOK), "denied");
	shell("cd r && git rm -q --cached .cadre/state.db");
	assert_string_equal(found("r", HOME_LOOK), "denied");
	shell("mkdir s");
	assert_string_equal(made("s"), "/s/.cadre");
	shell("cd s && git init -q . && touch f && git add f");
	assert_string_equal(found("s", HOME_LOOK), "/s/.cadre");
	shell("truncate -s 50 s/.git/index");
	assert_string_equal(found("s", HOME_LOOK), "denied");
	/* A state that is refused because of an unreadable index is accepted again after the
	 * index was removed. */
	shell("rm s/.git/index");
	assert_string_equal(found("s", HOME_LOOK), "/s/.cadre");
}

/* Records the state /r/.cadre as trusted, after all earlier records were removed. `id` receives
 * the state's id. */
static void trust_anew(char id[STATE_ID + 1])
{
	struct fault f = { 0 };
	char path[200];
	FILE *in;
	int dir;

	shell("rm -rf .local/state/cadre");
	snprintf(path, sizeof(path), "%s/r/.cadre", root);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(trust_add(dir, path, KNOWN_TRUSTED, &f), 0);
	close(dir);
	snprintf(path, sizeof(path), "%s/r/.cadre/id", root);
	in = fopen(path, "r");
	assert_non_null(in);
	assert_non_null(fgets(id, STATE_ID + 1, in));
	fclose(in);
}

static void trust_again(const char *state)
{
	struct fault f = { 0 };
	char path[200];
	int dir;

	snprintf(path, sizeof(path), "%s/%s", root, state);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(trust_add(dir, path, KNOWN_TRUSTED, &f), 0);
	close(dir);
}

static enum found_why judged(const char *state)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", root, state);
	return trust_judge(path);
}

/* Inside a repository an edited cadre.toml is not accepted, since git can write files that are
 * not in its index. Outside of repositories the user may edit cadre.toml, and the record of the
 * settings is updated. */
static void test_edited(void **state)
{
	(void)state;
	shell("mkdir e");
	assert_string_equal(made("e"), "/e/.cadre");
	shell("echo >e/.cadre/cadre.toml");
	assert_int_equal(judged("e/.cadre"), FOUND_COUNTS);
	shell("git init -q e");
	assert_int_equal(judged("e/.cadre"), FOUND_COUNTS);
	shell("echo '# other' >e/.cadre/cadre.toml");
	assert_int_equal(judged("e/.cadre"), FOUND_EDITED);
	shell("rm e/.cadre/cadre.toml");
	assert_int_equal(judged("e/.cadre"), FOUND_EDITED);
	trust_again("e/.cadre");
	assert_int_equal(judged("e/.cadre"), FOUND_COUNTS);
	shell("echo >e/.cadre/cadre.toml");
	assert_int_equal(judged("e/.cadre"), FOUND_CHANGED);
}

/* A checkout of an outer repository also writes files inside the tree of an inner repository. */
static void test_outer_repository(void **state)
{
	(void)state;
	shell("git init -q o && mkdir o/in && git init -q o/in");
	assert_string_equal(made("o/in"), "/o/in/.cadre");
	assert_int_equal(judged("o/in/.cadre"), FOUND_COUNTS);
	/* This command writes the entry as a checkout would, since `git add` adds no file
	 * inside the inner repository. */
	shell("cd o && git update-index --add --cacheinfo "
	      "100644,$(git hash-object -w --stdin </dev/null),in/.cadre/x");
	assert_int_equal(judged("o/in/.cadre"), FOUND_TRACKED);
	trust_again("o/in/.cadre");
	assert_int_equal(judged("o/in/.cadre"), FOUND_COUNTS);
	shell("cd o && git update-index --cacheinfo "
	      "100755,$(git hash-object --stdin </dev/null),in/.cadre/x");
	assert_int_equal(judged("o/in/.cadre"), FOUND_CHANGED);
}

static bool is_ours(const char *state)
{
	char path[200];
	int dir;
	bool ours;

	snprintf(path, sizeof(path), "%s/%s", root, state);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ours = state_id_is_ours(dir);
	close(dir);
	return ours;
}

#define KNOWN ".local/state/cadre/known"

/* Another process wants to record that git tracks the state `path`, but has to wait for the
 * lock. While that process waits, the user marks the state as trusted. */
static void taint_late(int dir, const char *path)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct fault f = { 0 };
	char lock[200], sum[TRACKED_SUM + 1];
	int fd, status;
	pid_t pid;

	shell("ln " KNOWN ".lock held"); /* the grep below does not find this name */
	snprintf(lock, sizeof(lock), "%s/held", root);
	fd = open(lock, O_RDWR | O_CLOEXEC);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &all), 0);
	pid = fork();
	if (pid == 0) {
		close(fd);
		_exit(trust_taint(dir, path, &f) < 0 ? 1 : 0);
	}
	shell("i=0; until ls -l /proc/%d/fd | grep -q 'known[.]lock$'; do i=$((i + 1)); "
	      "[ $i -lt 1000 ] || exit 1; sleep 0.01; done",
	      (int)pid);
	git_tracked_sum(path, true, sum);
	shell("sed -i 's/^made/trusted/; s/ [0-9a-f]*$/ %s/' " KNOWN, sum);
	close(fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* A state that git tracks is recorded as tracked. If the record fails, the failure is reported.
 * A state that the user has marked as trusted stays trusted. */
static void test_taint(void **state)
{
	char path[200];
	struct fault f = { 0 };
	int dir;

	(void)state;
	shell("git init -q r");
	assert_string_equal(made("r"), "/r/.cadre");
	shell("cd r && git add -f .cadre/state.db");
	snprintf(path, sizeof(path), "%s/r/.cadre", root);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* A record that cannot be written is reported, and is written by a later call. */
	shell("mkdir " KNOWN ".new");
	assert_int_equal(trust_judge(path), FOUND_UNNOTED);
	assert_int_equal(trust_look(dir, path), KNOWN_MADE);
	shell("rmdir " KNOWN ".new && cp " KNOWN " kept");
	taint_late(dir, path);
	assert_int_equal(trust_look(dir, path), KNOWN_TRUSTED);
	shell("cp kept " KNOWN);
	assert_int_equal(trust_judge(path), FOUND_TRACKED);
	assert_int_equal(trust_look(dir, path), KNOWN_TRACKED);
	assert_int_equal(trust_add(dir, path, KNOWN_TRUSTED, &f), 0);
	assert_int_equal(trust_taint(dir, path, &f), 0);
	assert_int_equal(trust_look(dir, path), KNOWN_TRUSTED);
	close(dir);
}

/* A state keeps its id when another environment records the state, so the first environment
 * still accepts the state. If git tracks the id, the id is replaced, since every clone contains
 * the old id and could be accepted as this state. */
static void test_tracked_id(void **state)
{
	char first[STATE_ID + 1], next[STATE_ID + 1];

	(void)state;
	shell("git init -q r && cd r && git config commit.gpgsign false");
	assert_string_equal(made("r"), "/r/.cadre");
	shell("rm -f r/.cadre/.gitignore");
	trust_anew(first);
	trust_anew(next);
	if (is_ours("r/.cadre")) /* false if the file system stores no birth times */
		assert_string_equal(next, first);
	shell("cd r && git add -f .cadre/id");
	trust_anew(next);
	assert_string_not_equal(next, first);
}

/* A project's file may set options of the caller, but only for the project's own state. */
static void test_project_config(void **state)
{
	struct home h;
	struct fault f = { 0 };
	char text[300];

	(void)state;
	shell("mkdir -p p/sub q && touch p/.git q/.git && "
	      "echo 'team.default = \"users\"' >" USERS);
	made("q");
	made("p");
	assert_int_equal(chdir("sub"), 0);
	shell("echo 'team.default = \"red\"' >p/cadre.toml; "
	      "printf '[gc]\nkeep_days = 3\n[team]\ndefault = \"blue\"\n' "
	      ">p/.cadre/cadre.toml");
	trust_again("p/.cadre"); /* git may have written this cadre.toml */
	assert_int_equal(home_find(&h, NULL, HOME_LOOK, &f), 0);
	assert_string_equal(h.settings.config.team_default, "red");
	assert_int_equal(h.settings.config.gc_keep_days, 3);
	/* Project q's state does not use the file of project p, in which the test runs. */
	assert_int_equal(home_find(&h, "../../q/.cadre", HOME_LOOK, &f), 0);
	assert_string_equal(h.settings.config.team_default, "users");
	/* The file of a repository inside the project does not apply to the project. */
	shell("mkdir p/sub/.git && echo 'broken' >p/sub/cadre.toml");
	assert_int_equal(home_find(&h, NULL, HOME_LOOK, &f), 0);
	assert_string_equal(h.settings.config.team_default, "red");
	shell("rmdir p/sub/.git; echo 'vault.root = \"/\"' >p/sub/cadre.toml");
	assert_int_equal(home_find(&h, NULL, HOME_LOOK, &f), FAULT_INVALID);
	snprintf(text, sizeof(text),
		 "%s/p/sub/cadre.toml:1:7: a project's file cannot set "
		 "vault.root",
		 root);
	assert_non_null(strstr(text, f.text));
	assert_non_null(strstr(f.hint, "/p/.cadre/cadre.toml"));
	shell("rm p/sub/cadre.toml p/cadre.toml; ln -s /etc/shadow p/cadre.toml");
	f = (struct fault){ 0 };
	assert_int_equal(home_find(&h, NULL, HOME_LOOK, &f), FAULT_INVALID);
	assert_non_null(strstr(f.text, "is a link"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_order),          TEST(test_worktrees_share),
		TEST(test_stray_worktree), TEST(test_init_goes_to_the_root),
		TEST(test_known),          TEST(test_unreadable_known),
		TEST(test_many),           TEST(test_names),
		TEST(test_unlistable),     TEST(test_unknown),
		TEST(test_links_inside),   TEST(test_named_by_mistake),
		TEST(test_tracked),        TEST(test_tracked_state),
		TEST(test_edited),         TEST(test_outer_repository),
		TEST(test_taint),          TEST(test_tracked_id),
		TEST(test_project_config),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
