/* The files of a state folder, the values that the configuration accepts, the host's lock and
 * the host's log. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/home/home.h"
#include "core/host/log.h"
#include "tests/lib/user.h"

static void test_private(void **state)
{
	struct home h, again;
	struct fault f = { 0 };
	struct stat st;
	char path[200];

	(void)state;
	shell("mkdir -m 755 s");
	assert_int_equal(home_find(&h, "s", HOME_MAKE, &f), 0);
	assert_int_equal(stat("s", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(stat("s/secret", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(st.st_size, 32);
	assert_int_equal(home_find(&again, "s", HOME_LOOK, &f), 0);
	assert_memory_equal(h.settings.secret, again.settings.secret, 32);
	assert_string_equal(h.socket, again.socket);
	assert_int_equal(home_make_run(&h, &f), 0);
	assert_int_equal(stat(h.run, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	snprintf(path, sizeof(path), "%s/s/secret", root);
	assert_int_equal(truncate(path, 5), 0);
	assert_int_equal(home_find(&again, "s", HOME_LOOK, &f), FAULT_IO);
}

/* Sixteen processes that make the secret at once agree on one secret. */
static void test_one_secret(void **state)
{
	int ends[2], status;
	uint8_t first[32], next[32];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	for (int i = 0; i < 16; i++) {
		if (fork())
			continue;
		struct home h;
		struct fault f = { 0 };

		_exit(home_find(&h, "s", HOME_MAKE, &f) ||
				      write(ends[1], h.settings.secret, 32) != 32
			      ? 1
			      : 0);
	}
	for (int i = 0; i < 16; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
		assert_int_equal(read(ends[0], i ? next : first, 32), 32);
		if (i)
			assert_memory_equal(first, next, 32);
	}
	close(ends[0]);
	close(ends[1]);
}

static void test_who_calls(void **state)
{
	struct home h;
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(home_find(&h, "s", HOME_MAKE, &f), 0);
	assert_int_equal(h.identity.level, WHO_OPERATOR);
	assert_memory_equal(h.identity.session, "cli:", 4);
	setenv("CADRE_TEAM", "red", 1);
	setenv("CADRE_AGENT", "coder", 1);
	setenv("CADRE_TOKEN", "t", 1);
	setenv("CADRE_SESSION", "mine", 1);
	assert_int_equal(home_find(&h, "s", HOME_MAKE, &f), 0);
	assert_int_equal(h.identity.level, WHO_OBSERVER);
	assert_false(h.identity.proven);
	assert_string_equal(h.identity.team, "red");
	assert_string_equal(h.identity.agent, "coder");
	assert_string_equal(h.identity.token, "t");
	assert_string_equal(h.identity.session, "mine");
}

static void test_inside_a_workspace(void **state)
{
	struct home h;
	struct fault f = { 0 };

	(void)state;
	shell("mkdir -p p/.cadre");
	assert_int_equal(chdir("p"), 0);
	setenv("CADRE_SOCKET", "/run/door", 1);
	assert_int_equal(home_find(&h, NULL, HOME_MAKE, &f), 0);
	assert_string_equal(h.dir, "");
	assert_string_equal(h.socket, "/run/door");
}

/* --- the configuration -------------------------------------------------------------- */

static int with_config(const char *text, struct home *h, struct fault *f)
{
	FILE *file = fopen(USERS, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	*f = (struct fault){ 0 };
	return home_find(h, "s", HOME_MAKE, f);
}

static void test_config(void **state)
{
	struct home h;
	struct fault f;

	(void)state;
	assert_int_equal(
		with_config("# a comment\ngc.keep_days = 7\n[inbox]\n"
			    "capacity = 1_000 # many\n\n[team]\ndefault = \"red\"\n"
			    "[task]\r\nlease_seconds = 60\r\n"
			    "[vault]\nroot = '/v a'\n",
			    &h, &f),
		0);
	assert_int_equal(h.settings.config.gc_keep_days, 7);
	assert_int_equal(h.settings.config.inbox_capacity, 1000);
	assert_string_equal(h.settings.config.team_default, "red");
	assert_int_equal(h.settings.config.task_lease_seconds, 60);
	assert_int_equal(h.settings.config.task_max_attempts, 5);
	assert_string_equal(h.vault, "/v a");
	setenv("CADRE_INBOX_CAPACITY", "5", 1);
	assert_int_equal(with_config("inbox.capacity = 9\n", &h, &f), 0);
	assert_int_equal(h.settings.config.inbox_capacity, 5);
	unsetenv("CADRE_INBOX_CAPACITY");
}

/* The path of a folder in a settings file is relative to that file. The path in an environment
 * variable is relative to the working directory, or to the home directory if the path begins
 * with `~`. */
static void test_config_folders(void **state)
{
	struct home h;
	struct fault f;
	char expected[200];

	(void)state;
	assert_int_equal(with_config("vault.root = '../notes'\n", &h, &f), 0);
	snprintf(expected, sizeof(expected), "%s/.config/cadre/../notes", root);
	assert_string_equal(h.vault, expected);
	shell("mkdir below");
	assert_int_equal(chdir("below"), 0);
	assert_int_equal(home_find(&h, "../s", HOME_LOOK, &f), 0);
	assert_string_equal(h.vault, expected);
	setenv("CADRE_VAULT_ROOT", "here", 1);
	assert_int_equal(home_find(&h, "../s", HOME_LOOK, &f), 0);
	snprintf(expected, sizeof(expected), "%s/below/here", root);
	assert_string_equal(h.vault, expected);
	setenv("CADRE_VAULT_ROOT", "~/v", 1);
	assert_int_equal(home_find(&h, "../s", HOME_LOOK, &f), 0);
	snprintf(expected, sizeof(expected), "%s/v", root);
	assert_string_equal(h.vault, expected);
	unsetenv("CADRE_VAULT_ROOT");
}

/* A pipe in the place of the settings file is refused. A settings file of another user is
 * ignored. */
static void test_foreign_config(void **state)
{
	struct home h;
	struct fault f;

	(void)state;
	assert_int_equal(with_config("broken", &h, &f), FAULT_INVALID);
	assert_int_equal(unlink(USERS), 0);
	assert_int_equal(mkfifo(USERS, 0600), 0);
	f = (struct fault){ 0 };
	assert_int_equal(home_find(&h, "s", HOME_MAKE, &f), FAULT_INVALID);
	assert_int_equal(unlink(USERS), 0);
	if (geteuid()) /* only root can make a file of another user */
		return;
	f = (struct fault){ 0 };
	shell("echo broken >" USERS " && chown 12345 " USERS "");
	assert_int_equal(home_find(&h, "s", HOME_MAKE, &f), 0);
}

/* For every kind of mistake, the fault names the place, and the hint names the right form. */
static const struct {
	const char *text, *fault, *hint;
} mistakes[] = {
	{ "[inbox]\ncapasity = 3\n", "cadre.toml:2:1: unknown key 'inbox.capasity'",
	  "Did you mean 'inbox.capacity'?" },
	{ "keep_days = 3\n", "cadre.toml:1:1: unknown key 'keep_days'",
	  "Did you mean 'gc.keep_days'?" },
	{ "inbox.capasity = 'x'", ":1:7: unknown key 'inbox.capasity'",
	  "Did you mean 'inbox.capacity'?" },
	{ "[limits]\nallowed = 1\n", ":2:1: unknown key 'limits.allowed'",
	  "Did you mean 'limits." },
	{ "[inbx]\n", ":1:2: unknown key 'inbx'", "Did you mean" },
	{ "[[inbox]]\ncapacity = 1\n", ":1:3: unknown key 'inbox'",
	  "Its keys are: inbox.capacity" },
	{ "[gc]\nkeep_days = 'soon'\n", ":2:13: gc.keep_days must be a whole number",
	  "Days that" },
	{ "gc.keep_days = -1\n", ":1:16: gc.keep_days must be 0 to 36500, not -1",
	  "Days that" },
	{ "gc.keep_days = inf\n", ":1:16: gc.keep_days must be a whole number",
	  "Days that" },
	{ "gc.keep_days = 1979-05-27\n", ":1:16: gc.keep_days must be a whole number",
	  "Days that" },
	{ "[team.default]\n", ":1:7: team.default must be a text", "Team of" },
	{ "[team]\ndefault = 'a b'\n", ":2:11: team.default 'a b' is malformed",
	  "Team of" },
	{ "[team]\ndefault = \"a\\u0000\"\n",
	  ":2:11: team.default must not contain U+0000", "Team of" },
	{ "[state]\ndurability = 'fast'\n",
	  ":2:14: state.durability 'fast' is none of full, normal", "How well" },
	{ "[gc]\nkeep_days = 1\n[team]\n\"default\\u0000\" = ''\n",
	  ":4:1: unknown key 'team.default'", "Did you mean" },
	{ "gc.keep_days = 1\n\"gc.keep_days\" = 2\n",
	  ":2:1: gc.keep_days is set already, in line 1", "line 2" },
	{ "[network]\nrange = '10.0.0.0/99'\n",
	  "cadre.toml:2: network.range is not a range", "Write the range as" },
	{ "network.range = 'all'\n", ":1:17: network.range must be 9 to 18 bytes long",
	  "Addresses of" },
	{ "keep_days\n", "cadre.toml:1:10: = and a value must follow", "line 1" },
	{ "[inbox\n", "cadre.toml:1:7: the header does not end", "line 1" },
};

static void test_bad_config(void **state)
{
	struct home h;
	struct fault f;

	(void)state;
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		assert_int_equal(with_config(mistakes[i].text, &h, &f), FAULT_INVALID);
		if (!strstr(f.text, mistakes[i].fault) ||
		    !strstr(f.hint, mistakes[i].hint))
			fail_msg("%s gives: %s (%s)", mistakes[i].text, f.text, f.hint);
	}
	setenv("CADRE_INBOX_CAPACITY", "many", 1);
	assert_int_equal(with_config("", &h, &f), FAULT_INVALID);
	assert_string_equal(f.text,
			    "CADRE_INBOX_CAPACITY must be a whole number, 0 to 1000000");
	setenv("CADRE_INBOX_CAPACITY", "", 1); /* an empty value counts as unset */
	assert_int_equal(with_config("", &h, &f), 0);
	unsetenv("CADRE_INBOX_CAPACITY");
}

/* --- the lock and the log --------------------------------------------------------------- */

static void test_lock(void **state)
{
	struct home h;
	struct fault f = { 0 };
	int fd, status;

	(void)state;
	assert_int_equal(home_find(&h, "s", HOME_MAKE, &f), 0);
	assert_int_equal(home_holder(&h), 0);
	fd = home_hold(&h, &f);
	assert_true(fd >= 0);
	assert_int_equal(home_holder(&h), getpid());
	if (!fork()) {
		struct fault mine = { 0 };

		_exit(home_hold(&h, &mine) != FAULT_CONFLICT ||
				      home_holder(&h) != getppid()
			      ? 1
			      : 0);
	}
	assert_true(wait(&status) > 0);
	assert_int_equal(status, 0);
	close(fd);
	/* The lock is free, although the file still has the pid. */
	assert_int_equal(home_holder(&h), 0);
}

static void say_socket(int fd, const char *path)
{
	char line[200], *at;

	memset(line, 0, sizeof(line));
	assert_true(pread(fd, line, sizeof(line) - 1, 0) > 0);
	at = strchr(line, '/');
	assert_non_null(at);
	snprintf(at, sizeof(line) - (size_t)(at - line), "%s\n", path);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_true(pwrite(fd, line, strlen(line), 0) > 0);
}

/* The lock file contains the path of the host's socket. This path is used only while a host
 * holds the lock. */
static void test_follow(void **state)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	struct home h, mine;
	struct fault f = { 0 };
	int fd, listener = socket(AF_UNIX, SOCK_STREAM, 0);
	char path[100], link[110];

	(void)state;
	snprintf(path, sizeof(path), "%s/elsewhere.sock", root);
	snprintf(link, sizeof(link), "%s/link.sock", root);
	memcpy(name.sun_path, path, strlen(path));
	assert_int_equal(bind(listener, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(home_find(&h, "s", HOME_MAKE, &f), 0);
	assert_int_equal(home_find(&mine, "s", HOME_MAKE, &f), 0);
	assert_false(home_follow(&mine));
	fd = home_hold(&h, &f);
	assert_true(fd >= 0);
	assert_false(home_follow(&mine)); /* the socket is at its usual path */
	say_socket(fd, root);
	assert_false(home_follow(&mine));
	say_socket(fd, link);
	assert_false(home_follow(&mine));
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 12345, 12345), 0);
		say_socket(fd, path);
		assert_false(home_follow(&mine));
		assert_int_equal(chown(path, 0, 0), 0);
	}
	assert_string_equal(mine.socket, h.socket);
	say_socket(fd, path);
	assert_true(home_follow(&mine));
	assert_string_equal(mine.socket, path);
	assert_false(home_follow(&mine)); /* the path is known already */
	close(fd);
	assert_int_equal(home_find(&mine, "s", HOME_MAKE, &f), 0);
	assert_false(home_follow(&mine));
	close(listener);
}

static void test_log(void **state)
{
	struct log *log;
	struct fault f = { 0 };
	struct stat st;
	char line[200], path[200];
	FILE *file;

	(void)state;
	assert_int_equal(log_open(&log, root, LOG_LEVEL_INFO, false, &f), 0);
	log_line(log, LOG_LEVEL_DEBUG, "left out", LOG_NOTHING);
	log_line(log, LOG_LEVEL_WARN, "two\nlines \033[31m", LOG_NOTHING);
	snprintf(path, sizeof(path), "%s/log/host.log", root);
	file = fopen(path, "r");
	assert_non_null(fgets(line, sizeof(line), file));
	assert_non_null(strstr(line, "Z level=warn msg=\"two lines  [31m\"\n"));
	assert_null(fgets(line, sizeof(line), file));
	fclose(file);
	for (int i = 0; i < 6; i++) {
		assert_int_equal(truncate(path, 8 << 20), 0);
		log_close(log);
		assert_int_equal(log_open(&log, root, LOG_LEVEL_INFO, false, &f), 0);
		log_line(log, LOG_LEVEL_INFO, "new", LOG_NUMBER("n", i));
		assert_int_equal(stat(path, &st), 0);
		assert_true(st.st_size < 200);
	}
	log_close(log);
	snprintf(path, sizeof(path), "%s/log/host.log.4", root);
	assert_int_equal(stat(path, &st), 0);
	snprintf(path, sizeof(path), "%s/log/host.log.5", root);
	assert_int_not_equal(stat(path, &st), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_private),        TEST(test_one_secret),
		TEST(test_who_calls),      TEST(test_inside_a_workspace),
		TEST(test_config),         TEST(test_bad_config),
		TEST(test_config_folders), TEST(test_foreign_config),
		TEST(test_lock),           TEST(test_log),
		TEST(test_follow),         TEST(test_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
