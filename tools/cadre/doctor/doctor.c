/*
 * doctor - checks a state and its host, and gives advice; with --fix, mends faults.
 *
 * The doctor prints one line per finding. The line begins with `ok`, `warn` or `bad`. `warn`
 * asks a person to look at the finding. `bad` means that the checked thing does not work, or
 * will soon stop working. The exit status is 1 if any finding is bad, or if a fix failed.
 * Without --fix the doctor changes nothing.
 */
#include "tools/cadre/doctor/doctor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/home/home_config.h"
#include "core/home/home_find.h"
#include "core/machine/private.h"
#include "core/machine/trash.h"
#include "core/mirror/mirror.h"
#include "core/vault/vault_trash.h"
#include "ops.gen.h"
#include "storage/durable.h"
#include "storage/search/search.h"
#include "tools/cadre/setup/setup.h"

enum { LINE_AT = 19 };

/* FIX_ALONE: the fix runs only while no host runs, because a running host uses the thing that
 * the fix changes. */
enum { NEEDS_STATE = 1, FIX_ALONE = 2 };

struct check {
	const char *name;
	check_look *look;
	check_fix *fix; /* NULL: a person has to mend the fault */
	unsigned flags;
};

static const char *const verdict_names[] = { "ok", "warn", "bad" };
static const char *const colors[] = { "\033[32m", "\033[33m", "\033[31m" };

/* --- lines --------------------------------------------------------------------------- */

void doctor_say(struct doctor *d, enum verdict v, const char *what, const char *todo,
		const char *fmt, ...)
{
	char found[400], plain[HINT_SIZE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(found, sizeof(found), fmt, ap);
	va_end(ap);
	todo = todo ? hint_plain(todo, plain) : NULL;
	if (todo && d->fixes && !strncmp(todo, DOCTOR_FIX, strlen(DOCTOR_FIX)))
		todo += strlen(DOCTOR_FIX); /* the fix was tried already */
	d->worst = v > d->worst ? v : d->worst;
	json_array_append_new(d->lines,
			      json_pack("{ss,ss,ss,so,so*}", "check", d->check->name,
					"verdict", verdict_names[v], "about", what,
					"found", json_text(found), "todo",
					todo ? json_text(todo) : NULL));
}

/* Prints a line whose first word is printed in the given colour. */
static void print_line(const struct doctor *d, const char *word, const char *color,
		       const char *what, const char *text, const char *todo)
{
	struct arena arena = { 0 };

	printf("%s%-4s%s  %-12s ", d->cli->color ? color : "", word,
	       d->cli->color ? "\033[0m" : "", what);
	cli_item(d->cli, cli_plain(&arena, text, false), LINE_AT);
	if (todo) {
		printf("%*s-> ", LINE_AT, "");
		cli_item(d->cli, cli_plain(&arena, todo, false), LINE_AT + 3);
	}
	arena_release(&arena);
}

/* Prints the lines from number `from` on. */
static void print_from(const struct doctor *d, size_t from)
{
	for (size_t i = from; !d->cli->json && i < json_array_size(d->lines); i++) {
		const json_t *line = json_array_get(d->lines, i);
		size_t v = 0;

		while (strcmp(verdict_names[v], json_find_text(line, "verdict")) != 0)
			v++;
		print_line(d, verdict_names[v], colors[v], json_find_text(line, "about"),
			   json_find_text(line, "found"), json_find_text(line, "todo"));
	}
}

void doctor_did(struct doctor *d, const char *fmt, ...)
{
	char text[4600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_array_append_new(d->fixes, json_pack("{ss,so}", "check", d->check->name,
						  "did", json_text(text)));
	if (!d->cli->json)
		print_line(d, "did", colors[VERDICT_OK], d->check->name, text, NULL);
}

/* --- helpers of fixes ------------------------------------------------------------------ */

/* Returns the path of the folder for things that fixes take away. The folder may not exist yet. */
static const char *doctor_aside(struct doctor *d)
{
	char when[CLOCK_STAMP];

	if (!d->aside[0]) {
		clock_stamp(clock_wall_ms(), when);
		snprintf(d->aside, sizeof(d->aside), "%s/doctor-%s", d->cli->home.dir,
			 when);
	}
	return d->aside;
}

/* Moves a file from the state's folder to the folder of doctor_aside(). Returns 1 if the file
 * was moved, 0 if there is no such file, or a fault. */
static int doctor_keep(struct doctor *d, const char *name, struct fault *f)
{
	const char *home = d->cli->home.dir;
	char from[4400], to[4600];

	snprintf(from, sizeof(from), "%s/%s", home, name);
	if (access(from, F_OK))
		return 0;
	if (dir_make(doctor_aside(d), 0700))
		return fault_set(f, FAULT_IO, "", "cannot make %.150s: %m", d->aside);
	snprintf(to, sizeof(to), "%s/%s", d->aside, name);
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) ||
	    dir_sync_above(to) || dir_sync_above(from))
		return fault_set(f, FAULT_IO, "", "cannot move %.100s to %.100s: %s",
				 from, to, strerror(errno));
	return 1;
}

int doctor_open(struct doctor *d, struct store **store, struct fault *f)
{
	struct home *home = &d->cli->home;

	return store_open(store, home->dir, home_store_flags(home), NULL, f);
}

int doctor_call(struct doctor *d, struct store *store, const struct op *op, json_t *args,
		struct call *call, struct fault *f)
{
	*call = (struct call){ .store = store,
			       .settings = &d->cli->home.settings,
			       .identity.level = WHO_HOST,
			       .now = clock_wall_ms(),
			       .seed = home_random() };
	if (call_decode(call, op, args) == 0)
		call_run(call);
	if (call->fault.code && !f->code)
		*f = call->fault;
	return f->code;
}

/* Checks of the environment, and checks of the place, the permissions and the free space of a
 * state's folder. */

/* --- the environment ------------------------------------------------------------ */

static bool is_variable(const char *name, size_t len)
{
	static const char *const others[] = {
		"CADRE_ACCEL",   "CADRE_AGENT",      "CADRE_GUEST",      "CADRE_HOME",
		"CADRE_IMAGES",  "CADRE_LINK_TOKEN", "CADRE_MCP_CONFIG", "CADRE_PROGRAM",
		"CADRE_SESSION", "CADRE_SOCKET",     "CADRE_TEAM",       "CADRE_TEST_VFS",
		"CADRE_TOKEN",   "CADRE_TURN",       "CADRE_WORKSPACE",  "CADRE_PAGER",
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strlen(others[i]) == len && memcmp(others[i], name, len) == 0)
			return true;
	return config_is_variable(name, len);
}

/* Warns of unknown variables whose names begin with CADRE_. Without this check, cadre would
 * silently ignore a misspelled variable. */
static void check_environment(struct doctor *d)
{
	for (char **e = environ; *e; e++) {
		size_t len = strcspn(*e, "=");

		if (strncmp(*e, "CADRE_", 6) == 0 && !is_variable(*e, len))
			doctor_say(d, VERDICT_WARN, "environment",
				   "unset the variable, or correct its name: see `cadre "
				   "help` and `cadre config`",
				   "cadre does not know %.*s", (int)(len < 80 ? len : 80),
				   *e);
	}
}

/* --- the folder ------------------------------------------------------------------ */

/* Finds the name of a file system's type. NULL: the type is unknown. `*remote` becomes true if
 * the files in a file system of this type may be on another machine. */
static const char *file_system(long type, bool *remote)
{
	static const struct {
		long type;
		const char *name;
		bool remote;
	} known[] = {
		{ 0xef53, "ext4", false },        { 0x58465342, "xfs", false },
		{ 0x9123683e, "btrfs", false },   { 0x01021994, "tmpfs", false },
		{ 0x794c7630, "overlay", false }, { 0x2fc12fc1, "zfs", false },
		{ 0xf2f52010, "f2fs", false },    { 0x6969, "nfs", true },
		{ 0x01021997, "9p", true },       { 0xff534d42, "cifs", true },
		{ 0xfe534d42, "smb", true },      { 0x517b, "smb", true },
		{ 0x65735546, "fuse", true },     { 0x6a656a63, "virtiofs", true },
	};
	size_t i = 0, n = sizeof(known) / sizeof(*known);

	while (i < n && known[i].type != (type & 0xffffffff))
		i++;
	*remote = i < n && known[i].remote;
	return i < n ? known[i].name : NULL;
}

static void check_folder(struct doctor *d)
{
	const char *dir = d->cli->home.dir, *name;
	struct statfs fs;
	bool remote;

	if (statfs(dir, &fs))
		return doctor_say(d, VERDICT_BAD, "folder", NULL, "%s: %s", dir,
				  strerror(errno));
	name = file_system((long)fs.f_type, &remote);
	if (remote)
		doctor_say(d, VERDICT_BAD, "file system",
			   "move the state to a local disk: CADRE_HOME=DIR",
			   "%s is on %s, where locks and shared memory are not reliable",
			   dir, name);
	else if (name)
		doctor_say(d, VERDICT_OK, "file system", NULL, "%s on %s", dir, name);
	else
		doctor_say(d, VERDICT_WARN, "file system",
			   "make sure that the folder is on a local disk",
			   "%s is on a file system of an unknown type (%lx)", dir,
			   (long)fs.f_type);
}

/* --- permissions --------------------------------------------------------------------- */

/* Calls `each` for the state's folder and its folders of backups and logs. Also calls `each`
 * for the files of the state's folder, of backups/ and of log/, and for the state's own vault.
 * Other folders inside the state's folder are protected by the permissions of the state's
 * folder. A vault outside the state's folder is left out, because it belongs to a person. */
static void visit_private(struct doctor *d,
			  void (*each)(struct doctor *d, const char *path))
{
	static const char *const folders[] = { "", "/backups", "/log" };

	if (home_owns_vault(&d->cli->home))
		each(d, d->cli->home.vault);
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		char dir[4200], path[4500];
		struct dirent *e;
		DIR *all;

		snprintf(dir, sizeof(dir), "%s%s", d->cli->home.dir, folders[i]);
		each(d, dir);
		all = opendir(dir);
		while (all && (e = readdir(all))) {
			struct stat st;

			snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
			if (!lstat(path, &st) && S_ISREG(st.st_mode))
				each(d, path);
		}
		if (all)
			closedir(all);
	}
}

/* Whether other users have rights on a path that must be private. The files cadre.toml and
 * .gitignore need not be private. */
static bool doctor_place_is_open(const char *path, struct stat *st)
{
	const char *name = strrchr(path, '/') + 1;

	return !lstat(path, st) && (st->st_mode & 077) && !S_ISLNK(st->st_mode) &&
	       strcmp(name, "cadre.toml") != 0 && strcmp(name, ".gitignore") != 0;
}

static void doctor_place_tell_open(struct doctor *d, const char *path)
{
	bool secret = !strcmp(strrchr(path, '/') + 1, "secret");
	struct stat st;

	if (doctor_place_is_open(path, &st))
		doctor_say(d, VERDICT_BAD, secret ? "secret" : "permissions",
			   S_ISDIR(st.st_mode) ? DOCTOR_FIX "chmod 700 it"
					       : DOCTOR_FIX "chmod 600 it",
			   "%s is open to other users: %o", path, st.st_mode & 0777);
}

static void close_open(struct doctor *d, const char *path)
{
	struct stat st;
	mode_t was;

	if (!doctor_place_is_open(path, &st))
		return;
	was = st.st_mode & 0777;
	if (!S_ISDIR(st.st_mode))
		private_tree(path); /* skips files of other users, and hard links */
	if (lstat(path, &st) || (S_ISREG(st.st_mode) && (st.st_mode & 077)) ||
	    chmod(path, S_ISDIR(st.st_mode) ? PRIVATE_FOLDER : PRIVATE_FILE))
		return;
	if (!lstat(path, &st) && (st.st_mode & 0777) != was)
		doctor_did(d, "%s had the mode %o, and has the mode %o now", path, was,
			   st.st_mode & 0777);
}

static void check_permissions(struct doctor *d)
{
	char path[4200];
	struct stat st;

	snprintf(path, sizeof(path), "%s/secret", d->cli->home.dir);
	if (lstat(path, &st))
		doctor_say(d, VERDICT_BAD, "secret",
			   "bring the secret back: a backup has it as FILE.secret",
			   "%s: %s", path, strerror(errno));
	visit_private(d, doctor_place_tell_open);
	if (d->worst == VERDICT_OK)
		doctor_say(d, VERDICT_OK, "secret", NULL, "readable by its owner alone");
}

static int fix_permissions(struct doctor *d, struct fault *f)
{
	(void)f;
	visit_private(d, close_open);
	return 0;
}

/* --- free space and files ------------------------------------------------------------ */

static void check_space(struct doctor *d)
{
	struct statvfs fs;
	long long mib;

	if (statvfs(d->cli->home.dir, &fs))
		return;
	mib = (long long)fs.f_bavail * (long long)fs.f_frsize >> 20;
	if (mib < 16)
		doctor_say(d, VERDICT_BAD, "space",
			   "free some space: writes are refused when the disk is full",
			   "%lld MiB left", mib);
	else if (mib < 256)
		doctor_say(d, VERDICT_WARN, "space", "free some space, or run `cadre gc`",
			   "%lld MiB left", mib);
	else
		doctor_say(d, VERDICT_OK, "space", NULL, "%lld MiB left", mib);
}

/* Looks for a host whose state.db was removed or replaced. A host that loses its state.db ends
 * within a second, unless a signal such as SIGSTOP has paused the host's process. */
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
		doctor_say(d, VERDICT_BAD, "moved",
			   "end the process: cadre down, then cadre up",
			   "process %d uses a state.db that was removed or replaced",
			   (int)holder);
		break;
	}
	if (dir)
		closedir(dir);
	snprintf(path, sizeof(path), "%s/replaced", d->cli->home.dir);
	if (access(path, F_OK) == 0)
		doctor_say(d, VERDICT_OK, "replaced",
			   "remove the folder when the state is in order",
			   "a former state is kept in %s", path);
}

/* Checks of clients in which `cadre setup` has set up cadre. Both the project's files and the
 * user's files are checked. */

static void doctor_clients_tell(void *arg, bool ok, const struct setup_client *c,
				const char *found, const char *todo)
{
	doctor_say(arg, ok ? VERDICT_OK : VERDICT_WARN, c->name, todo, "%s", found);
}

static void check_clients(struct doctor *d)
{
	struct setup_plan project = { 0 }, user = { 0 };

	if (setup_plan_begin(&project)) {
		setup_plan_all(&project);
		setup_check(&project, false, doctor_clients_tell, d);
	}
	setup_plan_begin(&user);
	user.project[0] = '\0';
	setup_plan_all(&user);
	setup_check(&user, false, doctor_clients_tell, d);
	setup_plan_release(&project);
	setup_plan_release(&user);
}

/* Checks of the trash, of the vault's files, and of the search index. The files and the index
 * are made from rows. */

enum { LAG_MOST = 1000, SAMPLE = 50, FIX_MS = 60000, STEP_MS = 200 };

static void say_lag(struct doctor *d, const char *what, int64_t behind)
{
	bool hosted = home_holder(&d->cli->home);

	if (behind > LAG_MOST)
		doctor_say(d, VERDICT_WARN, what,
			   hosted ? "see `cadre logs`"
				  : DOCTOR_FIX "start a host: cadre up",
			   "%lld events behind", (long long)behind);
	else
		doctor_say(d, VERDICT_OK, what, NULL, "%lld events behind",
			   (long long)behind);
}

/* The number of the newest event; negative: the number is not known. */
static int64_t newest_event(struct doctor *d, struct fault *f)
{
	json_t *status = run_args(d->cli, op_state_status, json_object(), f);
	int64_t newest = status ? json_int_at(status, "event_seq") : -1;

	json_decref(status);
	return newest;
}

/* --- the vault ----------------------------------------------------------------------- */

/* Checks whether the vault's files agree with their rows. A host makes missing files again. A
 * person's edits of a file stay until the file's row changes. */
static void check_files(struct doctor *d)
{
	struct text report = { 0 };
	struct fault f = { 0 };
	int edited = 0, n = mirror_verify(&d->cli->home, d->store, &report, &edited, &f);

	if (n < 0)
		doctor_say(d, VERDICT_WARN, "vault", "see `cadre logs`", "%s", f.text);
	else if (n > edited)
		doctor_say(d, VERDICT_WARN, "vault",
			   home_holder(&d->cli->home)
				   ? "the host corrects the files within a minute"
				   : DOCTOR_FIX "start a host: cadre up",
			   "%d files differ from their rows: %.*s%s", n - edited,
			   (int)strcspn(report.data, "\n"), report.data,
			   n - edited > 1 ? ", …" : "");
	else if (n > 0)
		doctor_say(d, VERDICT_WARN, "vault",
			   "move the file away: cadre writes it again from its row",
			   "%d file%s edited by hand and may differ from %s: %.*s%s", n,
			   n > 1 ? "s were" : " was", n > 1 ? "their rows" : "its row",
			   (int)strcspn(report.data, ":\n"), report.data,
			   n > 1 ? ", …" : "");
	else
		doctor_say(d, VERDICT_OK, "vault", NULL, "whole");
	text_release(&report);
}

/* Reports a vault that does not show the state's rows, or that does not store the number of the
 * last shown event. */
static void say_unmade(struct doctor *d, struct fault *f)
{
	int64_t newest = newest_event(d, f);

	if (newest > 0)
		doctor_say(d, VERDICT_WARN, "mirror",
			   home_holder(&d->cli->home)
				   ? "the host writes the vault's files; see `cadre logs`"
				   : DOCTOR_FIX "start a host: cadre up",
			   "the vault does not show the state, or it is not known up to "
			   "which event");
	else if (newest == 0)
		doctor_say(d, VERDICT_OK, "mirror", NULL, "not made yet");
}

static void check_mirror(struct doctor *d)
{
	const struct home *home = &d->cli->home;
	int64_t behind = -1;
	struct fault f = { 0 };

	/* mirror_lag() would create a missing vault. */
	if (access(home->vault, F_OK) == 0)
		mirror_lag(home, d->store, &behind, &f);
	if (!f.code && behind < 0)
		say_unmade(d, &f);
	else if (!f.code)
		say_lag(d, "mirror", behind);
	if (f.code)
		doctor_say(d, VERDICT_WARN, "mirror", "see `cadre logs`", "%s", f.text);
	else if (behind >= 0 && behind <= LAG_MOST)
		check_files(d);
}

/* Runs the mirror like a host's mirror, until the mirror has looked at every file. After
 * FIX_MS, fails with a timeout. */
static int mirror_all(struct doctor *d, struct store *store, const char *attic,
		      struct fault *f)
{
	int64_t until = clock_steady_ms() + FIX_MS;
	struct mirror *m = NULL;
	bool more = true;
	int64_t due = 0;
	int rc = mirror_open(&m, &d->cli->home, f);

	if (rc == 0) {
		mirror_watch(m);
		mirror_keep(m, attic);
	}
	while (rc >= 0 && (more || due >= 0)) {
		if (clock_steady_ms() >= until) {
			rc = fault_set(f, FAULT_TIMEOUT, "",
				       "not all files could be checked in %d s",
				       FIX_MS / 1000);
			fault_hint(f, "run it again, or start a host: cadre up");
			break;
		}
		rc = mirror_step(m, store, STEP_MS, &more, f);
		due = mirror_due(m);
		if (!more && due >= 0)
			poll(NULL, 0, due < STEP_MS ? (int)due : STEP_MS);
	}
	mirror_close(m);
	return rc < 0 ? (int)f->code : 0;
}

static int fix_mirror(struct doctor *d, struct fault *f)
{
	struct store *store = NULL;
	char attic[4400];

	snprintf(attic, sizeof(attic), "%s/vault", doctor_aside(d));
	if (doctor_open(d, &store, f) == 0 && mirror_all(d, store, attic, f) == 0)
		doctor_did(d, "files of the vault were written again from their rows; "
			      "files that people edited are unchanged");
	store_close(store);
	if (access(attic, F_OK) == 0)
		doctor_did(d, "files of the vault without a row are in %s", attic);
	return f->code;
}

/* --- the search index ---------------------------------------------------------------------- */

/* Copies the longest plain word of a text to the arena. A plain word has only ASCII letters and
 * digits. NULL: each plain word is shorter than SHORTEST or longer than LONGEST. */
static const char *plain_word(struct arena *a, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	enum { SHORTEST = 4, LONGEST = 40 };
	size_t best = SHORTEST - 1, n;
	const char *at = NULL;

	for (; text && *text; text += n + (text[n] != '\0')) {
		n = strcspn(text, " \n");
		if (n > best && n <= LONGEST && strspn(text, plain) >= n) {
			best = n;
			at = text;
		}
	}
	return at ? arena_printf(a, "%.*s", (int)best, at) : NULL;
}

/* Whether a search for a word of the message finds the message in the index. Also returns true
 * if the message has no plain word, or if the search fails. */
static bool is_found(struct search *search, int64_t id, const char *body, struct arena *a,
		     struct fault *f)
{
	struct search_scope scope = { .place = SEARCH_MESSAGES,
				      .before = id + 1,
				      .limit = 1 };
	const char *word = plain_word(a, body);
	struct search_query query;
	int64_t row = 0;
	int n;

	if (!word || search_parse(search, word, &query, a, f) < 0)
		return true;
	n = search_match(search, &query, &scope, &row, f);
	return n < 0 || (n == 1 && row == id);
}

/* Searches the index for the newest messages. Returns how many of the newest messages are
 * missing in the index. */
static int count_missing(struct doctor *d, struct search *search, struct fault *f)
{
	struct search_fed_row row;
	struct search_head_row head;
	struct arena a = { 0 };
	struct query q;
	int missing = 0;

	if (store_row(d->store, sql_search_head, &(struct sql_search_head_in){ 0 }, &head,
		      sizeof(head), &a, f) <= 0)
		return 0;
	store_query(d->store, &q, sql_search_messages,
		    &(struct sql_search_messages_in){ .after = head.last_message - SAMPLE,
						      .upto = head.last_message,
						      .limit = SAMPLE });
	while (store_next(&q, &row, sizeof(row), &a, f) > 0)
		missing += !is_found(search, row.id, row.body, &a, f);
	query_end(&q);
	arena_release(&a);
	return missing;
}

/* Gets the number of the last event in the index, by a search_step() of 0 ms. If the index has
 * reached the newest event, `*missing` becomes the number of recent messages that a search does
 * not find. */
static void doctor_shown_look_into(struct doctor *d, int64_t *indexed, int *missing,
				   struct fault *f)
{
	struct search *search = NULL;
	bool more = true;

	if (store_begin(d->store, false, f) < 0)
		return;
	if (search_open(&search, d->cli->home.dir, f) == 0 &&
	    search_step(search, d->store, 0, indexed, &more, f) == 0 && !more)
		*missing = count_missing(d, search, f);
	search_close(search);
	store_rollback(d->store);
}

static void check_search(struct doctor *d)
{
	struct fault f = { 0 };
	int64_t newest = newest_event(d, &f), indexed = 0;
	int missing = 0;

	if (search_check(d->cli->home.dir, &f) < 0) {
		doctor_say(d, VERDICT_BAD, "search",
			   DOCTOR_FIX "search for something: cadre then makes a new "
				      "index",
			   "search.db is damaged: %s", f.text);
		return;
	}
	if (newest >= 0)
		doctor_shown_look_into(d, &indexed, &missing, &f);
	if (f.code)
		doctor_say(d, VERDICT_BAD, "search",
			   DOCTOR_FIX "remove search.db: cadre then makes a new index",
			   "%s", f.text);
	else if (missing)
		doctor_say(d, VERDICT_BAD, "search",
			   DOCTOR_FIX "end all processes of cadre and remove search.db",
			   "%d of the newest messages are not in the index", missing);
	else
		say_lag(d, "search", newest > indexed ? newest - indexed : 0);
}

/* Makes a bad index anew, or adds the missing rows to an index that lags behind. The files of a
 * bad index are kept, although the state and the vault contain all data of the index. */
static int fix_search(struct doctor *d, struct fault *f)
{
	static const char *const names[] = { "search.db-wal", "search.db-shm",
					     "search.db-journal", "search.db" };
	struct search *search = NULL;
	struct store *store = NULL;
	int64_t indexed = 0;
	bool more = true, kept = false;

	/* An index that only lags behind keeps its files, and gets the missing rows. */
	for (size_t i = 0; d->worst == VERDICT_BAD && i < sizeof(names) / sizeof(*names);
	     i++) {
		int rc = doctor_keep(d, names[i], f);

		if (rc < 0)
			return rc;
		kept |= rc > 0;
	}
	if (doctor_open(d, &store, f) == 0 &&
	    search_open(&search, d->cli->home.dir, f) == 0)
		while (more && !f->code && store_begin(store, false, f) == 0) {
			search_step(search, store, STEP_MS, &indexed, &more, f);
			store_rollback(store);
		}
	search_close(search);
	store_close(store);
	if (!f->code && kept)
		doctor_did(d, "the former index is in %s", d->aside);
	if (!f->code)
		doctor_did(d, "the search index is whole, up to event %lld",
			   (long long)indexed);
	return f->code;
}

/* --- trash ------------------------------------------------------------------------------- */

/* Checks the folders of removed workspaces. The folder of a removed workspace takes up space in
 * the trash for at most workspace.keep_days days. */
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
		doctor_say(d, VERDICT_WARN, "trash",
			   "the oldest are removed at the host's next start, or at the "
			   "next removal; a larger workspace.trash_mb keeps more",
			   "%zu removed workspace%s, %lld MiB; the limit is %lld MiB", n,
			   s, (long long)(bytes >> 20),
			   (long long)config->workspace_trash_mb);
	else if (n)
		doctor_say(
			d, VERDICT_OK, "trash", NULL,
			"%zu removed workspace%s, %lld MiB of %lld, kept for %lld days: "
			"cadre undo",
			n, s, (long long)(bytes >> 20),
			(long long)config->workspace_trash_mb,
			(long long)config->workspace_keep_days);
	arena_release(&a);
}

/* Checks the vault's trash, which contains removed notes. */
static void check_note_trash(struct doctor *d)
{
	const struct settings *s = &d->cli->home.settings;
	struct vault_trash *entries;
	struct arena a = { 0 };
	struct fault f = { 0 };
	int64_t bytes = 0;
	size_t n = 0;

	if (vault_trash_list(s->notes, &a, &entries, &n, &f) < 0)
		doctor_say(d, VERDICT_WARN, "notes' trash",
			   "move .trash out of the vault", "%s", f.text);
	for (size_t i = 0; !f.code && i < n; i++)
		bytes += entries[i].bytes;
	if (!f.code && n)
		doctor_say(
			d, VERDICT_OK, "notes' trash", NULL,
			"%zu removals of notes, %lld KiB of %lld MiB, each kept for %lld "
			"days: cadre undo",
			n, (long long)(bytes >> 10),
			(long long)s->config.workspace_trash_mb,
			(long long)s->config.workspace_keep_days);
	arena_release(&a);
}

/* --- the table and the run ------------------------------------------------------------------ */

/* The order of the checks matters. Later checks use the connection that an earlier check has
 * opened, and the lists that earlier checks have made. The mirror and the search index are
 * checked after all checks whose fixes write rows. */
/* clang-format off */
static const struct check checks[] = {
	{ "environment",   check_environment, NULL,            0 },
	{ "file system",   check_folder,      NULL,            0 },
	{ "permissions",   check_permissions, fix_permissions, 0 },
	{ "space",         check_space,       NULL,            0 },
	{ "files",         check_ground,      NULL,            0 },
	{ "state",         check_state,       NULL,            0 },
	{ "host",          check_host,        NULL,            0 },
	{ "socket",        check_socket,      fix_socket,      FIX_ALONE },
	{ "clock",         check_clock,       NULL,            NEEDS_STATE },
	{ "tokens",        check_tokens,      NULL,            NEEDS_STATE },
	{ "rules",         check_rules,       NULL,            NEEDS_STATE },
	{ "leases",        check_leases,      fix_leases,      NEEDS_STATE | FIX_ALONE },
	{ "guests",        check_guests,      fix_guests,      NEEDS_STATE | FIX_ALONE },
	{ "daemons",       check_stuck,       fix_stuck,       NEEDS_STATE },
	{ "agents",        check_agents,      NULL,            NEEDS_STATE },
	{ "orphans",       check_orphans,     fix_orphans,     NEEDS_STATE | FIX_ALONE },
	{ "mirror",        check_mirror,      fix_mirror,      NEEDS_STATE | FIX_ALONE },
	{ "search",        check_search,      fix_search,      NEEDS_STATE | FIX_ALONE },
	{ "trash",         check_trash,       NULL,            NEEDS_STATE },
	{ "notes' trash",  check_note_trash,  NULL,            NEEDS_STATE },
	{ "network",       check_network,     NULL,            NEEDS_STATE },
	{ "taps",          check_taps,        fix_taps,        NEEDS_STATE | FIX_ALONE },
	{ "clients",       check_clients,     NULL,            0 },
};
/* clang-format on */

/* Refuses a fix of a damaged state, because the vault and the index may hold the last copy of
 * lost rows. */
static void refuse_damaged(struct fault *f)
{
	fault_set(f, FAULT_UNAVAILABLE, "", "the state is damaged");
	fault_hint(f, "first restore a backup: see the line `integrity` above");
}

/* Runs the fix of the check. Returns true if the fix has reported an act. */
static bool fix(struct doctor *d)
{
	struct fault f = { 0 };
	size_t done = json_array_size(d->fixes);
	int lock = -1;

	if (d->damaged)
		refuse_damaged(&f);
	else if (d->check->flags & FIX_ALONE)
		lock = home_hold(&d->cli->home, &f);
	if (!f.code)
		d->check->fix(d, &f);
	if (lock >= 0)
		close(lock);
	if (f.code)
		doctor_say(d, VERDICT_WARN, d->check->name, f.hint, "not repaired: %s",
			   f.text);
	d->bad |= f.code != 0;
	return json_array_size(d->fixes) > done;
}

/* Whether the check can run. A check that needs the state can run only if the state is open. If
 * a fix failed to open the state again, the state stays closed. */
static bool may_look(const struct doctor *d, const struct check *check)
{
	return d->store || !(check->flags & NEEDS_STATE);
}

static void doctor_run(struct doctor *d, const struct check *check)
{
	size_t from = json_array_size(d->lines);

	d->check = check;
	d->worst = VERDICT_OK;
	check->look(d);
	if (d->fixes && check->fix && d->worst != VERDICT_OK && fix(d) &&
	    may_look(d, check)) {
		while (json_array_size(d->lines) > from)
			json_array_remove(d->lines, from);
		d->worst = VERDICT_OK;
		check->look(d);
	}
	print_from(d, from);
	d->bad |= d->worst == VERDICT_BAD;
}

/* Checks that the caller is the operator, because only the operator may run fixes. */
static int may_fix(struct cli *cli, struct fault *f)
{
	if (cli_refuse_agent(cli, "doctor --fix", f) < 0 ||
	    cli_folder(cli, HOME_WRITE, f) < 0)
		return f->code;
	return home_may_write(cli->home.dir, f);
}

int doctor_main(struct cli *cli, int argc, char **argv)
{
	struct doctor d = { .cli = cli };
	struct fault f = { 0 };
	bool fixes = argc == 2 && !strcmp(argv[1], "--fix");

	if (argc > 1 && !fixes)
		return cli_usage(cli, "`%s` takes only --fix", argv[0]);
	if ((fixes ? may_fix(cli, &f) : cli_folder(cli, HOME_LOOK, &f)) < 0)
		return cli_fault(cli, &f);
	d.lines = json_array();
	d.fixes = fixes ? json_array() : NULL;
	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++)
		if (may_look(&d, &checks[i]))
			doctor_run(&d, &checks[i]);
	store_close(d.store);
	if (cli->json)
		print_json_new(json_pack("{sb,sO,sO*}", "ok", !d.bad, "checks", d.lines,
					 "fixes", d.fixes));
	json_decref(d.known);
	json_decref(d.lines);
	json_decref(d.fixes);
	return d.bad;
}
