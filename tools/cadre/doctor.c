/*
 * doctor - looks at a state and its host, and says what to do.
 *
 * One line per check: ok, warn (somebody should look) or bad (it does not work
 * or will not for long); 1 when anything is bad.  It changes nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/access/secret.h"
#include "core/base/version.h"
#include "core/home/home_config.h"
#include "core/machine/trash.h"
#include "core/vault/vault_trash.h"
#include "core/machine/backend.h"
#include "core/machine/private.h"
#include "core/mirror/mirror.h"
#include "ops.gen.h"
#include "storage/search/search.h"
#include "tools/cadre/cli.h"

enum { LAG_MOST = 1000, HELD_MS = 2000, LINE_AT = 19 };

enum verdict { VERDICT_OK, VERDICT_WARN, VERDICT_BAD };

struct doctor {
	struct cli *cli;
	struct store *store; /* a read connection; NULL when it cannot be opened */
	json_t *lines;
	bool bad;
};

static const char *const verdict_names[] = { "ok", "warn", "bad" };

/* `todo` may be NULL. */
static void say(struct doctor *d, enum verdict v, const char *what, const char *todo,
		const char *fmt, ...) __attribute__((format(printf, 5, 6)));

static void say(struct doctor *d, enum verdict v, const char *what, const char *todo,
		const char *fmt, ...)
{
	static const char *const colors[] = { "\033[32m", "\033[33m", "\033[31m" };
	bool color = d->cli->color;
	char found[400], plain[HINT_SIZE];
	struct arena arena = { 0 };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(found, sizeof(found), fmt, ap);
	va_end(ap);
	todo = todo ? hint_plain(todo, plain) : NULL;
	d->bad |= v == VERDICT_BAD;
	json_array_append_new(d->lines,
			      json_pack("{ss,ss,ss,ss*}", "check", what, "verdict",
					verdict_names[v], "found", found, "todo", todo));
	if (d->cli->json)
		return;
	printf("%s%-4s%s  %-12s ", color ? colors[v] : "", verdict_names[v],
	       color ? "\033[0m" : "", what);
	cli_item(d->cli, cli_plain(&arena, found, false), LINE_AT);
	if (todo) {
		printf("%*s-> ", LINE_AT, "");
		cli_item(d->cli, cli_plain(&arena, todo, false), LINE_AT + 3);
	}
	arena_release(&arena);
}

/* --- the folder ------------------------------------------------------------------ */

static const char *file_system(long type)
{
	static const struct {
		long type;
		const char *name;
	} known[] = {
		{ 0xef53, "ext4" },        { 0x58465342, "xfs" },
		{ 0x9123683e, "btrfs" },   { 0x01021994, "tmpfs" },
		{ 0x794c7630, "overlay" }, { 0x2fc12fc1, "zfs" },
		{ 0xf2f52010, "f2fs" },    { 0x6969, "nfs" },
		{ 0x01021997, "9p" },      { 0xff534d42, "cifs" },
		{ 0xfe534d42, "smb" },     { 0x517b, "smb" },
		{ 0x65735546, "fuse" },    { 0x6a656a63, "virtiofs" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].type == (type & 0xffffffff))
			return known[i].name;
	return NULL;
}

static bool is_remote(const char *name)
{
	static const char *const remote[] = { "nfs", "9p",   "cifs",
					      "smb", "fuse", "virtiofs" };

	for (size_t i = 0; name && i < sizeof(remote) / sizeof(remote[0]); i++)
		if (!strcmp(name, remote[i]))
			return true;
	return false;
}

/* Folders of the state and of its vault that their owner may not enter. */
static void check_folders(struct doctor *d, char *path, size_t size)
{
	enum { DEEP = 64 };
	const struct home *home = &d->cli->home;

	if (private_shut(home->dir, 1, path, size) ||
	    private_shut(home->vault, DEEP, path, size))
		say(d, VERDICT_BAD, "folders", "chmod 700 it, or start the host anew",
		    "its owner cannot look into %s", path);
}

static void check_folder(struct doctor *d)
{
	const char *dir = d->cli->home.dir, *name;
	char path[4200];
	struct statfs fs;
	struct stat st;

	if (statfs(dir, &fs))
		return say(d, VERDICT_BAD, "folder", NULL, "%s: %s", dir,
			   strerror(errno));
	name = file_system((long)fs.f_type);
	if (is_remote(name))
		say(d, VERDICT_BAD, "file system",
		    "move it to a local disk: CADRE_HOME=DIR",
		    "%s is on %s, where locks and shared memory do not hold", dir, name);
	else if (name)
		say(d, VERDICT_OK, "file system", NULL, "%s on %s", dir, name);
	else
		say(d, VERDICT_WARN, "file system", "see that it is a local disk",
		    "%s is on an unknown one (%lx)", dir, (long)fs.f_type);
	check_folders(d, path, sizeof(path));
	snprintf(path, sizeof(path), "%s/secret", dir);
	if (stat(path, &st) || (st.st_mode & 077))
		say(d, VERDICT_BAD, "secret", "chmod 600 it", "%s is open to others",
		    path);
	else
		say(d, VERDICT_OK, "secret", NULL, "readable by its owner alone");
}

static void check_space(struct doctor *d)
{
	struct statvfs fs;
	long long mib;

	if (statvfs(d->cli->home.dir, &fs))
		return;
	mib = (long long)fs.f_bavail * (long long)fs.f_frsize >> 20;
	if (mib < 16)
		say(d, VERDICT_BAD, "space",
		    "free some: writes are refused when it is full", "%lld MiB left",
		    mib);
	else if (mib < 256)
		say(d, VERDICT_WARN, "space", "free some, or run `cadre gc`",
		    "%lld MiB left", mib);
	else
		say(d, VERDICT_OK, "space", NULL, "%lld MiB left", mib);
}

/* A host that serves files which are not here any more ends within a second; one
 * that stands still cannot. */
static void check_ground(struct doctor *d)
{
	pid_t holder = home_holder(&d->cli->home);
	char path[4200], fd[64], to[4300];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/state.db (deleted)", d->cli->home.dir);
	snprintf(fd, sizeof(fd), "/proc/%d/fd", (int)holder);
	dir = holder ? opendir(fd) : NULL;
	while (dir && (e = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), e->d_name, to, sizeof(to) - 1);

		if (n <= 0 || (to[n] = '\0', strcmp(to, path)))
			continue;
		say(d, VERDICT_BAD, "moved", "end it: cadre down, then cadre up",
		    "process %d has a state.db open that was removed or replaced",
		    (int)holder);
		break;
	}
	if (dir)
		closedir(dir);
	snprintf(path, sizeof(path), "%s/replaced", d->cli->home.dir);
	if (access(path, F_OK) == 0)
		say(d, VERDICT_OK, "replaced",
		    "remove it when the state is as it should be",
		    "a former state is kept in %s", path);
}

/* --- the state ---------------------------------------------------------------------- */

static void check_state(struct doctor *d)
{
	struct fault f = { 0 };
	char who[160];
	int64_t frames;

	if (store_open(&d->store, d->cli->home.dir, STORE_READ, NULL, &f) < 0)
		return say(d, VERDICT_BAD, "state", f.hint, "%s", f.text);
	if (store_check(d->store, &f) < 0)
		say(d, VERDICT_BAD, "integrity",
		    "put a backup in its place: cadre down, cadre restore FILE", "%s",
		    f.text);
	else
		say(d, VERDICT_OK, "integrity", NULL, "%s is sound",
		    store_path(d->store));
	if (store_is_held(d->store, HELD_MS, who, sizeof(who)))
		say(d, VERDICT_BAD, "writing",
		    "let it go on (fg, kill -CONT) or end it: what was acknowledged is "
		    "kept",
		    "process %s keeps the state from being written", who);
	frames = store_wal_frames(d->store);
	if (frames > 100000)
		say(d, VERDICT_WARN, "log", "a long read holds it: end old readers",
		    "%lld frames wait for a checkpoint", (long long)frames);
}

static void check_tokens(struct doctor *d)
{
	struct secret_fit fit;
	struct fault f = { 0 };

	if (secret_look(d->store, d->cli->home.settings.secret, &fit, &f) == 0 &&
	    fit.fit < fit.tokens)
		say(d, VERDICT_BAD, "tokens",
		    "bring the former one back (a backup has it as PATH.secret), or "
		    "register the agents anew: --replace",
		    "%lld of the %lld newest agents have tokens that %s/secret does not make",
		    (long long)(fit.tokens - fit.fit), (long long)fit.tokens,
		    d->cli->home.dir);
}

/* The answer of a read without arguments; NULL when it fails. */
static json_t *ask(struct doctor *d, const struct op *op, struct fault *f)
{
	json_t *args = json_object(), *answer = run_op(d->cli, op, args, f);

	json_decref(args);
	return answer;
}

/* --- the host ------------------------------------------------------------------------- */

static void check_answer(struct doctor *d, pid_t holder)
{
	struct fault f = { 0 };
	json_t *status = ask(d, op_state_status, &f);
	const char *version = json_string_value(json_object_get(status, "version"));

	if (!status)
		say(d, VERDICT_BAD, "status", f.hint, "%s", f.text);
	else if (holder && !client_hosted(d->cli->client))
		say(d, VERDICT_BAD, "socket",
		    "see `cadre logs`; restart it: cadre down, then cadre up",
		    "process %d holds the lock but does not answer at %s", (int)holder,
		    d->cli->home.socket);
	else if (version && strcmp(version, CADRE_VERSION))
		say(d, VERDICT_WARN, "version", "restart it: cadre down, then cadre up",
		    "the host is %s, this is %s", version, CADRE_VERSION);
	else if (version)
		say(d, VERDICT_OK, "version", NULL, "%s, schema %lld", version,
		    (long long)json_integer_value(
			    json_object_get(status, "schema_version")));
	json_decref(status);
}

static void check_host(struct doctor *d)
{
	pid_t holder = home_holder(&d->cli->home);

	if (holder)
		say(d, VERDICT_OK, "host", NULL, "process %d holds the lock",
		    (int)holder);
	else
		say(d, VERDICT_OK, "host", NULL,
		    "none runs; commands open the state themselves");
	if (d->store)
		check_answer(d, holder);
}

static void say_lag(struct doctor *d, const char *what, int64_t behind)
{
	bool hosted = home_holder(&d->cli->home);

	if (behind < 0)
		say(d, VERDICT_OK, what, NULL, "not made yet");
	else if (behind > LAG_MOST)
		say(d, VERDICT_WARN, what,
		    hosted ? "see `cadre logs`" : "start a host: cadre up",
		    "%lld events behind", (long long)behind);
	else
		say(d, VERDICT_OK, what, NULL, "%lld events behind", (long long)behind);
}

/* Whether the vault's files are as their rows.  A host brings back what is not
 * there; what a person edited is theirs until its row changes. */
static void check_files(struct doctor *d)
{
	struct text report = { 0 };
	struct fault f = { 0 };
	int edited = 0, n = mirror_verify(&d->cli->home, d->store, &report, &edited, &f);

	if (n < 0)
		say(d, VERDICT_WARN, "vault", "see `cadre logs`", "%s", f.text);
	else if (n > edited)
		say(d, VERDICT_WARN, "vault",
		    home_holder(&d->cli->home) ? "the host brings them back in a minute"
					       : "start a host: cadre up",
		    "%d files are not as their rows: %.*s%s", n - edited,
		    (int)strcspn(report.data, "\n"), report.data, n > 1 ? ", …" : "");
	else if (n > 0)
		say(d, VERDICT_OK, "vault", NULL, "whole; %d files edited by hand", n);
	else
		say(d, VERDICT_OK, "vault", NULL, "whole");
	text_release(&report);
}

static void check_mirror(struct doctor *d)
{
	struct fault f = { 0 };
	int64_t behind;

	if (mirror_lag(&d->cli->home, d->store, &behind, &f) < 0)
		say(d, VERDICT_WARN, "mirror", "see `cadre logs`", "%s", f.text);
	else
		say_lag(d, "mirror", behind);
	if (!f.code && behind >= 0 && behind <= LAG_MOST)
		check_files(d);
}

/* A step without time tells how far the index is. */
static void check_search(struct doctor *d)
{
	struct fault f = { 0 };
	struct search *search = NULL;
	json_t *status = ask(d, op_state_status, &f);
	int64_t newest = json_integer_value(json_object_get(status, "event_seq")),
		indexed = 0;
	bool more;

	if (status && store_begin(d->store, false, &f) == 0) {
		if (search_open(&search, d->cli->home.dir, &f) == 0)
			search_step(search, d->store, 0, &indexed, &more, &f);
		search_close(search);
		store_rollback(d->store);
	}
	if (f.code)
		say(d, VERDICT_WARN, "search", "remove search.db: it is made anew", "%s",
		    f.text);
	else
		say_lag(d, "search", newest > indexed ? newest - indexed : 0);
	json_decref(status);
}

/* The folders of removed workspaces, which take up space until their time is over. */
static void check_trash(struct doctor *d)
{
	const struct config *config = &d->cli->home.settings.config;
	struct arena a = { 0 };
	struct trash_entry *entries;
	size_t n = trash_list(d->cli->home.dir, &a, &entries);
	const char *s = n == 1 ? "" : "s";
	int64_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += entries[i].bytes;
	if (bytes > config->workspace_trash_mb << 20)
		say(d, VERDICT_WARN, "trash",
		    "the oldest go at the host's next start, or when something is "
		    "removed; workspace.trash_mb keeps more",
		    "%zu removed workspace%s, %lld MiB where %lld are kept", n, s,
		    (long long)(bytes >> 20), (long long)config->workspace_trash_mb);
	else if (n)
		say(d, VERDICT_OK, "trash", NULL,
		    "%zu removed workspace%s, %lld MiB of %lld, kept for %lld days: "
		    "cadre undo",
		    n, s, (long long)(bytes >> 20), (long long)config->workspace_trash_mb,
		    (long long)config->workspace_keep_days);
	arena_release(&a);
}

/* The notes that were removed, in the vault. */
static void check_note_trash(struct doctor *d)
{
	const struct settings *s = &d->cli->home.settings;
	struct vault_trash *entries;
	struct arena a = { 0 };
	struct fault f = { 0 };
	int64_t bytes = 0;
	size_t n = 0;

	if (vault_trash_list(s->notes, &a, &entries, &n, &f) < 0)
		say(d, VERDICT_WARN, "notes' trash",
		    "move away what stands in the vault as .trash", "%s", f.text);
	for (size_t i = 0; !f.code && i < n; i++)
		bytes += entries[i].bytes;
	if (!f.code && n)
		say(d, VERDICT_OK, "notes' trash", NULL,
		    "%zu removals of notes, %lld KiB of %lld MiB, each for %lld days: "
		    "cadre undo",
		    n, (long long)(bytes >> 10), (long long)s->config.workspace_trash_mb,
		    (long long)s->config.workspace_keep_days);
	arena_release(&a);
}

static bool check_guest(struct doctor *d, const json_t *row)
{
	const char *state = json_string_value(json_object_get(row, "state"));
	pid_t pid = (pid_t)json_integer_value(json_object_get(row, "pid"));
	bool lost = state && !strcmp(state, "ready") && !json_object_get(row, "host") &&
		    (pid <= 0 || (kill(pid, 0) && errno == ESRCH));

	if (!lost && !(state && !strcmp(state, "failed")))
		return true;
	say(d, VERDICT_WARN, "guest",
	    home_holder(&d->cli->home) ? "cadre workspace start, or see `cadre logs`"
				       : "start a host: cadre up",
	    "%s is %s", json_string_value(json_object_get(row, "name")),
	    lost ? "not running" : "failed");
	return false;
}

/* A guest that runs for a workspace of a former state. */
static void check_stranger(struct doctor *d, const struct backend *m, const char *folder,
			   const char *id)
{
	const char *dir = d->cli->home.dir;
	struct process p;

	if (m->seek(m->self, dir, id, &p))
		say(d, VERDICT_WARN, "guest",
		    "the next start of a host ends it; its files stay",
		    "process %lld runs in %s/%s/%s, a workspace that no row knows",
		    (long long)p.pid, dir, folder, id);
}

/* Whether a name is a file; some file systems do not say so in a listing. */
static bool is_file(DIR *dir, const struct dirent *e)
{
	struct stat st;

	if (e->d_type != DT_UNKNOWN)
		return e->d_type == DT_REG;
	return !fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
	       S_ISREG(st.st_mode);
}

/* Names the running guests that have a folder in `folder` and no row; returns how many
 * such folders there are. */
static size_t check_strangers(struct doctor *d, const struct backend *m,
			      const char *folder, json_t *known)
{
	char path[4200];
	struct dirent *e;
	size_t n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%s", d->cli->home.dir, folder);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] == '.' || is_file(dir, e) ||
		    json_object_getn(known, e->d_name, strcspn(e->d_name, ".")))
			continue;
		check_stranger(d, m, folder, e->d_name);
		n++;
	}
	if (dir)
		closedir(dir);
	return n;
}

/* Folders that guests keep for themselves, of workspaces that are no more. */
static void check_orphans(struct doctor *d, json_t *known)
{
	const char *dir = d->cli->home.dir;
	char path[4200];
	bool kept;
	size_t n;

	snprintf(path, sizeof(path), "%s/replaced", dir);
	kept = access(path, F_OK) == 0;
	check_strangers(d, &backend_qemu, "disks", known);
	n = check_strangers(d, &backend_process, "guests", known);
	if (n)
		say(d, VERDICT_WARN, "guests",
		    kept ? "remove replaced/: the next start of a host then removes them"
			 : "the next start of a host removes them",
		    "%zu folder%s in %s/guests belong%s to no workspace", n,
		    n > 1 ? "s" : "", dir, n > 1 ? "" : "s");
}

/* Adds a team's workspaces to `known`, by their ids; tells how many are dead. */
static size_t check_team(struct doctor *d, json_t *team, json_t *known, struct fault *f)
{
	json_t *rows = run_rows(d->cli, op_workspace_list, "workspaces", "team",
				json_object_get(team, "name"), f),
	       *row;
	size_t i, dead = 0;

	json_array_foreach(rows, i, row) {
		dead += !check_guest(d, row);
		json_object_set(known, json_string_value(json_object_get(row, "id")),
				row);
	}
	json_decref(rows);
	return dead;
}

static void check_guests(struct doctor *d)
{
	struct fault f = { 0 };
	json_t *teams = run_rows(d->cli, op_team_list, "teams", NULL, NULL, &f), *team,
	       *known = json_object();
	size_t i, dead = 0;

	json_array_foreach(teams, i, team) {
		dead += check_team(d, team, known, &f);
	}
	if (f.code)
		say(d, VERDICT_WARN, "guests", f.hint, "%s", f.text);
	else if (!dead)
		say(d, VERDICT_OK, "guests", NULL, "%zu, none dead",
		    json_object_size(known));
	if (!f.code)
		check_orphans(d, known);
	json_decref(known);
	json_decref(teams);
}

static void check_network(struct doctor *d)
{
	const struct sql_network_trouble_in in = { .host = store_host(d->store) };
	struct network_trouble_row row = { 0 };
	struct arena arena = { 0 };
	struct fault f = { 0 };

	if (store_begin(d->store, false, &f) == 0 &&
	    store_row(d->store, sql_network_trouble, &in, &row, sizeof(row), &arena, &f) >
		    0)
		say(d, VERDICT_WARN, "network", "then start the VMs again", "%s",
		    row.network_fault);
	store_rollback(d->store);
	arena_release(&arena);
}

/* --- the environment ------------------------------------------------------------ */

static bool is_variable(const char *name, size_t len)
{
	static const char *const others[] = {
		"CADRE_ACCEL",     "CADRE_AGENT",  "CADRE_GROUP",      "CADRE_GUEST",
		"CADRE_HOME",      "CADRE_IMAGES", "CADRE_LINK_TOKEN", "CADRE_SESSION",
		"CADRE_SOCKET",    "CADRE_TEAM",   "CADRE_TEST_VFS",   "CADRE_TOKEN",
		"CADRE_WORKSPACE",
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strlen(others[i]) == len && memcmp(others[i], name, len) == 0)
			return true;
	return config_is_variable(name, len);
}

/* A variable that is spelled wrong would else be passed over in silence. */
static void check_environment(struct doctor *d)
{
	for (char **e = environ; *e; e++) {
		size_t len = strcspn(*e, "=");

		if (strncmp(*e, "CADRE_", 6) == 0 && !is_variable(*e, len))
			say(d, VERDICT_WARN, "environment",
			    "unset it, or spell it as `cadre help` and `cadre config` do",
			    "%.*s says nothing to cadre", (int)(len < 80 ? len : 80), *e);
	}
}

int doctor_main(struct cli *cli, int argc, char **argv)
{
	struct doctor d = { .cli = cli };
	struct fault f = { 0 };

	if (argc > 1)
		return cli_usage(cli, "`%s` takes no words", argv[0]);
	if (cli_folder(cli, HOME_LOOK, &f) < 0)
		return cli_fault(cli, &f);
	d.lines = json_array();
	check_environment(&d);
	check_folder(&d);
	check_space(&d);
	check_ground(&d);
	check_state(&d);
	check_host(&d);
	if (d.store) {
		check_tokens(&d);
		check_mirror(&d);
		check_search(&d);
		check_guests(&d);
		check_trash(&d);
		check_note_trash(&d);
		check_network(&d);
	}
	store_close(d.store);
	if (cli->json) {
		json_t *answer = json_pack("{sb,sO}", "ok", !d.bad, "checks", d.lines);

		print_json(answer);
		json_decref(answer);
	}
	json_decref(d.lines);
	return d.bad;
}
