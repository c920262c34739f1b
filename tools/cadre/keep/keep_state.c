/*
 * keep_state - backup and restore, export and import of a state.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/access/token.h"
#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/home/home_find.h"
#include "core/mirror/mirror.h"
#include "core/transfer/rule.h"
#include "core/transfer/transfer.h"
#include "core/vault/vault.h"
#include "ops.gen.h"
#include "storage/durable.h"
#include "storage/store_restore.h"
#include "tools/cadre/cli.h"
#include "tools/cadre/screen/progress.h"

/*
 * Removes temporary files of killed processes. If a copy fails because the disk is full, adds a
 * hint to the fault.
 */

/* Whether `name` is the temporary file of a copy whose process has ended. The name of such a
 * file is BASE.PID.tmp or BASE.secret.PID.tmp, and may have an end such as -journal. */
static bool is_leftover(const char *name, const char *base)
{
	size_t n = strlen(base);
	int pid = 0, end = 0;

	if (strncmp(name, base, n))
		return false;
	name += n;
	name += strncmp(name, ".secret", 7) ? 0 : 7;
	sscanf(name, ".%d.tmp%n", &pid, &end);
	return end && (!name[end] || name[end] == '-') && pid > 0 && kill(pid, 0) &&
	       errno == ESRCH;
}

/* Removes the files beside `path` that ended processes have left. The files' names are
 * PATH.PID.tmp and PATH.secret.PID.tmp, and may also end in -journal or -wal. */
static void leftovers_remove(const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	char folder[4400];
	struct dirent *e;
	DIR *d;

	snprintf(folder, sizeof(folder), "./%.*s", (int)(base - path), path);
	d = opendir(*path == '/' ? folder + 2 : folder);
	while (d && (e = readdir(d)))
		if (is_leftover(e->d_name, base))
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

/* Gives a fault `unavailable` a hint about the room for the copy, unless the fault already has
 * a special hint. Returns the fault's code. */
static int keep_hint_room(struct fault *f)
{
	if (f->code == FAULT_UNAVAILABLE &&
	    !strcmp(f->hint, fault_info(FAULT_UNAVAILABLE)->hint))
		fault_hint(f, "Free some room there, or name another path.");
	return f->code;
}

struct restore {
	struct cli *cli;
	const char *file; /* path as given by the user */
	bool yes, any_secret;
	char path[PATH_MAX], secret[PATH_MAX + 16];
	char aside[4400];
	bool had; /* the folder had a state before the restore */
	int64_t ended; /* number of assignments that the restore ended */
	struct mirror_aside put_aside; /* folders and files moved in the vault */
};

static int read_args(struct restore *r, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--yes") || !strcmp(argv[i], "-y"))
			r->yes = true;
		else if (!strcmp(argv[i], "--any-secret"))
			r->any_secret = true;
		else if (argv[i][0] == '-' || r->file)
			return cli_usage(
				r->cli,
				"`restore` takes one file, --yes and --any-secret");
		else
			r->file = argv[i];
	}
	return r->file ? 0 : cli_usage(r->cli, "`restore` needs the file of a backup");
}

/* Whether the backup is the state's own file. Restoring this file loses nothing, so the user is
 * not asked. */
static bool is_same_file(const struct restore *r)
{
	char own[4200];
	struct stat mine, st;

	snprintf(own, sizeof(own), "%s/state.db", r->cli->home.dir);
	return !stat(own, &mine) && !stat(r->path, &st) && mine.st_ino == st.st_ino &&
	       mine.st_dev == st.st_dev;
}

static int keep_restore_find_file(struct restore *r, struct fault *f)
{
	struct stat st;

	if (!realpath(r->file, r->path) || stat(r->path, &st)) {
		fault_set(f, FAULT_NOT_FOUND, "/file", "%.150s: %s", r->file,
			  strerror(errno));
		return fault_hint(f,
				  "Without a path, cadre backup writes "
				  "%.150s/backups/state-YYYYMMDD-HHMMSS.N.db.",
				  r->cli->home.dir[0] ? r->cli->home.dir : ".cadre");
	}
	if (!S_ISREG(st.st_mode))
		return fault_set(f, FAULT_INVALID, "/file", "%.150s is not a file",
				 r->file);
	if (!is_same_file(r))
		return 0;
	if (r->any_secret && home_lost_secret(r->cli->home.dir))
		return 0; /* the state stays in its place, and gets a new secret */
	fault_set(f, FAULT_INVALID, "/file", "%.150s is the state itself", r->file);
	return fault_hint(f, "to restore from this file, first move it out of the state "
			     "folder, and move its secret to FILE.secret beside it");
}

/* Finds the file with the secret. The file is FILE.secret, which `backup` writes, or else
 * `secret` in the folder of FILE, as in a state's folder. */
static int find_secret(struct restore *r, struct fault *f)
{
	struct stat st;
	char *slash;

	snprintf(r->secret, sizeof(r->secret), "%s.secret", r->path);
	if (stat(r->secret, &st) == 0)
		return 0;
	slash = strrchr(r->secret, '/');
	snprintf(slash, sizeof(r->secret) - (size_t)(slash - r->secret), "/secret");
	if (stat(r->secret, &st) == 0)
		return 0;
	r->secret[0] = 0;
	if (r->any_secret) /* the restore makes a new secret */
		return 0;
	fault_set(f, FAULT_NOT_FOUND, "/file", "%.150s.secret is not there", r->file);
	return fault_hint(f, "without the secret, tokens are void. For a backup of the "
			     "present state, copy `secret` to that name. If the secret "
			     "is lost, --any-secret makes a new one; then register the "
			     "agents again");
}

static int confirm(struct restore *r, struct fault *f)
{
	struct stat st;
	char when[32] = "?";
	struct tm tm;

	if (r->yes || !r->had || is_same_file(r))
		return 0;
	if (!isatty(0) || !isatty(1) || !isatty(2)) {
		fault_set(f, FAULT_CONFLICT, "/yes",
			  "the restore would remove all changes in %.150s since "
			  "the backup",
			  r->cli->home.dir);
		return fault_hint(f,
				  "add --yes to restore; the present files are kept in "
				  "replaced/ of the state folder");
	}
	if (stat(r->path, &st) == 0 && localtime_r(&st.st_mtime, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &tm);
	cli_say("The restore replaces the state in %s by %s of %s.", r->cli->home.dir,
		r->path, when);
	cli_say("Later changes are removed; the present files are kept "
		"in %s/replaced/.",
		r->cli->home.dir);
	return run_asks(f) ? 0 : f->code;
}

static int keep_restore_check_file(struct restore *r, struct fault *f)
{
	struct progress *p = progress_begin(r->cli, "checking the backup");

	restore_check(r->path, f);
	progress_end(p);
	return f->code;
}

/* Refuses the secret of another state, because such a secret would make all tokens void. A new
 * secret of a state fits only the tokens of agents that were registered after the secret was
 * made. A secret is accepted if the secret fits the token of at least one agent. */
static int keep_restore_check_secret(struct restore *r, struct store *store,
				     struct fault *f)
{
	uint8_t secret[32];
	struct secret_fit fit;
	int fd = !r->secret[0] ? -1 : open(r->secret, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, secret, sizeof(secret));

	if (fd >= 0)
		close(fd);
	if (!r->secret[0])
		return 0;
	if (n != sizeof(secret))
		return fault_set(f, FAULT_INVALID, "/file", "%.150s holds no secret",
				 r->secret);
	if (r->any_secret || secret_look(store, secret, &fit, f) < 0 || fit.fit ||
	    !fit.tokens)
		return f->code;
	fault_set(f, FAULT_INVALID, "/file", "%.100s is not the secret of %.100s",
		  r->secret, r->file);
	return fault_hint(f, "put the right secret there. If that is lost, --any-secret "
			     "takes this secret; then register the agents again");
}

/* Checks a backup before a state is made for this backup, so that a backup that cannot be
 * restored leaves no new state. */
static int keep_restore_check_first(struct restore *r, struct fault *f)
{
	const char *temp = getenv("TMPDIR");
	char dir[4096], stage[4200];
	struct store *store = NULL;

	if (keep_restore_find_file(r, f) < 0 || find_secret(r, f) < 0 ||
	    keep_restore_check_file(r, f) < 0)
		return f->code;
	snprintf(dir, sizeof(dir), "%s/cadre-restore-XXXXXX", temp ? temp : "/tmp");
	if (!mkdtemp(dir))
		return fault_set(f, FAULT_UNAVAILABLE, "", "cannot make %.150s: %s", dir,
				 strerror(errno));
	if (restore_stage(dir, r->path, stage, sizeof(stage), f) == 0 &&
	    store_open(&store, stage, 0, NULL, f) == 0)
		keep_restore_check_secret(r, store, f);
	store_close(store);
	restore_unstage(dir);
	rmdir(dir);
	return f->code;
}

/* Whether the project of this directory once had a state that no longer exists. */
static bool was_here(const struct cli *cli)
{
	struct fault gone = { 0 };
	char cwd[PATH_MAX];

	return !cli->dir && !getenv("CADRE_HOME") && getcwd(cwd, sizeof(cwd)) &&
	       find_check_gone(cwd, &gone) == FAULT_NOT_FOUND;
}

/* Makes a state for the backup. The caller must give --create, or this directory's project must
 * have lost its state. */
static int keep_restore_make_state(struct restore *r, bool create,
				   const struct fault *none, struct fault *f)
{
	struct cli *cli = r->cli;

	if (!create && !was_here(cli)) {
		*f = *none;
		return fault_hint(f, "restore into a new state: cadre init first, or "
				     "--home DIR --create");
	}
	if ((create && cli_may_create(cli, f) < 0) ||
	    keep_restore_check_first(r, f) < 0 ||
	    home_init(&cli->home, cli->dir, cli->flags, f) < 0)
		return f->code;
	return cli_outside(cli, f);
}

/* Finds the state for this directory. If this directory has no state, makes a state for the
 * backup. */
static int find_state(struct restore *r, struct fault *f)
{
	struct cli *cli = r->cli;
	struct fault none = { 0 };
	bool create = cli->create;

	cli->create = false; /* no state is made before the backup was checked */
	if (cli_folder(cli, HOME_LOOK, &none) < 0) {
		if (none.code != FAULT_NOT_FOUND) {
			*f = none;
			return f->code;
		}
		if (!cli->home.gone && keep_restore_make_state(r, create, &none, f) < 0)
			return f->code;
	}
	r->had = home_has_data(cli->home.dir);
	return home_may_write(cli->home.dir, f);
}

/* Gives the staged state a new incarnation, and ends assignments that may have run since the
 * backup. Both changes are made in the staged state, so that both take effect when the staged
 * state replaces the former state. */
static int keep_restore_renew(struct restore *r, const char *stage, struct fault *f)
{
	struct call call = { .settings = &r->cli->home.settings,
			     .identity.level = WHO_HOST,
			     .now = clock_wall_ms(),
			     .seed = home_random() };
	json_t *args = json_pack(
		"{ss,sI}", "why",
		"interrupted: a backup of the state was restored; it is not known "
		"whether this command ran since the backup",
		"former", (json_int_t)restore_counts(r->cli->home.dir));

	if (store_open(&call.store, stage, 0, NULL, f) == 0 &&
	    keep_restore_check_secret(r, call.store, f) == 0 &&
	    call_decode(&call, op_state_renew, args) == 0 && call_run(&call) == 0)
		r->ended = ((struct state_renew_out *)call.out)->assignments;
	if (call.fault.code && !f->code)
		*f = call.fault;
	store_close(call.store);
	arena_release(&call.arena);
	json_decref(args);
	return f->code;
}

/* Puts the staged database in the place of the former database. Before the exchange, the
 * folder's id is changed to name both databases. After the exchange, the id names only the new
 * database. */
static int keep_restore_commit(struct restore *r, struct fault *f)
{
	const char *path = r->cli->home.dir;
	struct fault later = { 0 };
	int dir = home_open(path);

	if (dir < 0)
		return fault_set(f, FAULT_IO, "", "cannot open %.150s: %m", path);
	if (state_id_expect(dir, "restore.tmp/state.db", f) == 0 &&
	    restore_commit(path, r->secret[0] ? r->secret : NULL, r->aside,
			   sizeof(r->aside), f) == 0)
		state_id_settle(dir, &later); /* if the call fails, the next verb repeats
						 the call */
	close(dir);
	return f->code;
}

static int keep_restore_put_in_place(struct restore *r, struct fault *f)
{
	const char *dir = r->cli->home.dir;
	char stage[4200];

	if (restore_stage(dir, r->path, stage, sizeof(stage), f) < 0)
		return f->code;
	if (keep_restore_renew(r, stage, f) < 0 || keep_restore_commit(r, f) < 0)
		restore_unstage(dir);
	return f->code;
}

static int restore(struct restore *r, struct fault *f)
{
	struct progress *progress;
	int lock;

	if (keep_restore_find_file(r, f) < 0 || find_secret(r, f) < 0 ||
	    keep_restore_check_file(r, f) < 0 || confirm(r, f) < 0)
		return f->code;
	lock = home_hold(&r->cli->home, f);
	if (lock < 0)
		return f->code;
	progress = progress_begin(r->cli, "putting the backup in place");
	keep_restore_put_in_place(r, f);
	progress_end(progress);
	close(lock);
	return f->code;
}

/* Lets the mirror give the teams' folders the names that the teams had at the time of the
 * backup. The mirror also archives the folder of each team that is not in the backup, because a
 * new team may later get the number of this team. A host repeats failed steps when it starts. */
static void show_rows(struct restore *r)
{
	enum { MOST_MS = 60000 };
	struct home *home = &r->cli->home;
	struct store *store = NULL;
	struct fault later = { 0 };

	if (home_renew(home, &later) == 0 &&
	    store_open(&store, home->dir, home_store_flags(home), NULL, &later) == 0)
		mirror_catch_up_telling(home, store, MOST_MS, &r->put_aside, &later);
	store_close(store);
}

static void report_json(const struct restore *r)
{
	const struct mirror_aside *aside = &r->put_aside;
	json_t *folders = json_array();

	for (size_t i = 0; i < aside->n; i++)
		json_array_append_new(folders, json_string(aside->folders[i]));
	print_json_new(json_pack("{ss,ss,ss*,sI,so,sI}", "home", r->cli->home.dir, "file",
				 r->path, "replaced", r->had ? r->aside : NULL,
				 "interrupted", (json_int_t)r->ended, "archived", folders,
				 "conflicts", (json_int_t)aside->conflicts));
}

/* Reports folders and notes of the vault that were moved. */
static void report_vault(const struct restore *r)
{
	const struct mirror_aside *aside = &r->put_aside;
	const char *vault = r->cli->home.vault;

	for (size_t i = 0; i < aside->n; i++)
		cli_say("a folder in the vault belonged to no living team, and is now "
			"%s/%s",
			vault, aside->folders[i]);
	if (aside->conflicts)
		cli_say("files in the vault that were in the way: %lld; each has "
			".conflict in its name now",
			(long long)aside->conflicts);
}

static void keep_restore_report(const struct restore *r)
{
	if (r->cli->json) {
		report_json(r);
		return;
	}
	cli_say("restored %s", r->cli->home.dir);
	if (r->had)
		cli_say("the former files are kept in %s", r->aside);
	report_vault(r);
	if (r->ended)
		printf("%lld commands that waited or ran at the backup are interrupted\n",
		       (long long)r->ended);
	printf("next: cadre doctor, then cadre up\n");
}

int restore_main(struct cli *cli, int argc, char **argv)
{
	struct restore r = { .cli = cli };
	struct fault f = { 0 };
	int status = read_args(&r, argc, argv);

	if (status)
		return status;
	if (find_state(&r, &f) < 0 || restore(&r, &f) < 0)
		return cli_fault(cli, &f);
	show_rows(&r);
	keep_restore_report(&r);
	arena_release(&r.put_aside.arena);
	return 0;
}

enum { SECRET = 32 };

/* --- folders ------------------------------------------------------------------------- */

/* Makes a path such as HOME/backups/state-20261121-080000.123456789.db. Each backup gets a path
 * of its own. */
static int default_path(const struct home *home, char *path, size_t room, struct fault *f)
{
	int64_t now = clock_wall_ns();
	char when[CLOCK_STAMP];

	clock_stamp(now / 1000000, when);
	snprintf(path, room, "%s/backups", home->dir);
	if (dir_make(path, 0700))
		return fault_set(f, FAULT_IO, "", "cannot make %.150s: %m", path);
	snprintf(path, room, "%s/backups/state-%s.%09d.db", home->dir, when,
		 (int)(now % 1000000000));
	return 0;
}

/* Checks the folder of the backup first, because a fault about a temporary file would not help
 * the user. */
static int keep_backup_check_folder(const char *path, struct fault *f)
{
	char copy[4400];
	const char *folder;
	struct stat st;

	snprintf(copy, sizeof(copy), "%s", path);
	folder = dirname(copy);
	if (stat(folder, &st)) {
		fault_set(f, FAULT_INVALID, "/path", "cannot use the folder %.150s: %m",
			  folder);
		return fault_hint(f, errno == ENOENT
					     ? "make the folder, or name another path"
					     : "name another path");
	}
	if (S_ISDIR(st.st_mode))
		return 0;
	fault_set(f, FAULT_INVALID, "/path", "%.150s is not a folder", folder);
	return fault_hint(f, "name a path in a folder");
}

/* --- the secret ---------------------------------------------------------------------- */

static ssize_t read_small(const char *path, char bytes[SECRET + 1])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, bytes, SECRET + 1);

	if (fd >= 0)
		close(fd);
	return n;
}

/* Checks that the names of the backup and of its secret are free. PATH.secret may already exist
 * with the same secret, since an interrupted backup leaves such a file. */
static int check_names(const char *path, const char *secret_path, const uint8_t *secret,
		       struct fault *f)
{
	char bytes[SECRET + 1];
	struct stat st;

	if (lstat(path, &st) == 0) {
		fault_set(f, FAULT_CONFLICT, "", "%.150s is there already", path);
		return fault_hint(f, "choose another name");
	}
	if (lstat(secret_path, &st))
		return 0;
	if (S_ISREG(st.st_mode) && read_small(secret_path, bytes) == SECRET &&
	    memcmp(bytes, secret, SECRET) == 0)
		return 0;
	fault_set(f, FAULT_CONFLICT, "",
		  "%.150s is there already, and belongs to another state", secret_path);
	return fault_hint(f, "choose another name, or move that file away with its "
			     "backup");
}

static int write_secret(const char *temp, const uint8_t *secret, struct fault *f)
{
	int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, secret, SECRET) != SECRET || fsync(fd))
		fault_set(f, FAULT_IO, "", "cannot write %.150s: %m", temp);
	if (fd >= 0)
		close(fd);
	return f->code;
}

/* Writes the state's secret to the file `to`, which belongs to a backup. The tokens of agents
 * are made with the secret. The secret is written before the backup, so that no backup lacks
 * its secret. `*made` becomes true if this call has made the file. */
static int keep_secret(const struct home *home, const char *to, bool *made,
		       struct fault *f)
{
	const uint8_t *secret = home->settings.secret;
	char temp[4500];

	snprintf(temp, sizeof(temp), "%s.%d.tmp", to, (int)getpid());
	if (write_secret(temp, secret, f) == 0) {
		*made = !renameat2(AT_FDCWD, temp, AT_FDCWD, to, RENAME_NOREPLACE);
		if (!*made && errno != EEXIST)
			fault_set(f, FAULT_IO, "",
				  "cannot rename the new secret file to %.150s: %m", to);
	}
	unlink(temp);
	if (!f->code && dir_sync_above(to))
		fault_set(f, FAULT_IO, "", "cannot make %.150s durable: %m", to);
	return f->code;
}

/* --- backup and secret together -------------------------------------------------------- */

static int keep_backup_back_up(struct cli *cli, const char *path, struct fault *f)
{
	const uint8_t *secret = cli->home.settings.secret;
	struct store *store = NULL;
	char secret_path[4400];
	bool made = false;

	snprintf(secret_path, sizeof(secret_path), "%s.secret", path);
	if (keep_backup_check_folder(path, f) < 0)
		return f->code;
	leftovers_remove(path);
	if (check_names(path, secret_path, secret, f) < 0)
		return f->code;
	if (store_open(&store, cli->home.dir, 0, NULL, f) == 0 &&
	    rule_check_lost(store, f) == 0 &&
	    keep_secret(&cli->home, secret_path, &made, f) == 0 &&
	    /* Check again, because another process may meanwhile have written another state's
	     * secret. */
	    check_names(path, secret_path, secret, f) == 0)
		store_backup(store, path, f);
	store_close(store);
	if (f->code && made)
		unlink(secret_path);
	return keep_hint_room(f);
}

/* --- older backups --------------------------------------------------------------------- */

/* Whether an entry's name has the form of the names that default_path() makes. */
static int is_backup(const struct dirent *e)
{
	int end = 0;

	sscanf(e->d_name, "state-%*8[0-9]-%*6[0-9].%*9[0-9].db%n", &end);
	return end && !e->d_name[end];
}

/* Keeps the newest backups in HOME/backups, `most` in number, and removes all older backups.
 * The backup `path` was just verified, and stays even if a wrong clock has given this backup an
 * old name. */
static int remove_older(const char *path, int64_t most, struct fault *f)
{
	char folder[4400], one[4900];
	struct dirent **all = NULL;
	int n, left;

	snprintf(folder, sizeof(folder), "%s", path);
	*strrchr(folder, '/') = '\0';
	n = left = scandir(folder, &all, is_backup, alphasort);
	for (int i = 0; i < n; i++) {
		snprintf(one, sizeof(one), "%s/%s", folder, all[i]->d_name);
		if (left > most && strcmp(one, path) != 0) {
			left--;
			if (unlink(one))
				fault_set(f, FAULT_IO, "", "cannot remove %.150s: %m",
					  one);
			snprintf(one, sizeof(one), "%s/%s.secret", folder,
				 all[i]->d_name);
			unlink(one);
		}
		free(all[i]);
	}
	free(all);
	return f->code;
}

/* Removes --keep N from the words. `*most` becomes N, or 0 if the option is not given. */
static int take_keep(int *argc, char **argv, int64_t *most, struct fault *f)
{
	const char *said = NULL;
	int left = 1;
	char *end;

	for (int i = 1; i < *argc; i++) {
		const char *value = cli_option(*argc, argv, &i, "--keep");

		if (value)
			said = value;
		else
			argv[left++] = argv[i];
	}
	*argc = left;
	*most = said ? strtoll(said, &end, 10) : 0;
	if (said && (*end || *most < 1 || *most > 100000))
		return fault_set(f, FAULT_INVALID, "/keep",
				 "must be a number from 1 to 100000");
	if (!*most || left == 1)
		return 0;
	fault_set(f, FAULT_INVALID, "/keep", "works only with the folder of backups");
	return fault_hint(f, "Leave the path out.");
}

int backup_main(struct cli *cli, int argc, char **argv)
{
	struct fault f = { 0 };
	struct progress *progress;
	char path[4300] = "";
	struct stat st;
	int64_t most;

	if (take_keep(&argc, argv, &most, &f))
		return cli_fault(cli, &f);
	if (argc > 2)
		return cli_usage(cli, "`backup` takes one path");
	if (cli_folder(cli, HOME_LOOK, &f) < 0)
		return cli_fault(cli, &f);
	if (argc == 2)
		snprintf(path, sizeof(path), "%s", argv[1]);
	else if (home_may_write(cli->home.dir, &f) == 0)
		default_path(&cli->home, path, sizeof(path), &f);
	if (f.code)
		return cli_fault(cli, &f);
	progress = progress_begin(cli, "copying the state and checking the copy");
	if (keep_backup_back_up(cli, path, &f) == 0 && most)
		remove_older(path, most, &f);
	progress_end(progress);
	if (f.code)
		return cli_fault(cli, &f);
	if (stat(path, &st))
		st.st_size = 0;
	if (cli->json) {
		print_json_new(json_pack("{ss,sI}", "path", path, "size",
					 (json_int_t)st.st_size));
	} else {
		cli_say("%s: %lld KiB, verified", path,
			(long long)(st.st_size + 1023) / 1024);
		cli_say("Keep its secret, too: %s.secret", path);
		cli_say("To go back to it: cadre restore %s", path);
	}
	return 0;
}

/*
 * Writes the state, or one team of the state, as lines of JSON. The lines are described in
 * docs/export.md.
 */

/* Checks whether the exported state is whole. The export of a damaged state contains only the
 * rows that can be read, and the verb reports the damage. */
static void check_whole(struct store *store, struct fault *damage)
{
	struct fault found = { 0 };

	if (store_check(store, &found) == 0 && rule_check_lost(store, &found) == 0)
		return;
	fault_set(damage, FAULT_IO, "",
		  "the state is damaged, and the export holds what is left: %.150s",
		  found.text);
	fault_hint(damage, "look at the whole state with `cadre doctor`, or go "
			   "back to a backup: `cadre restore FILE`");
}

static int export_write_rows(struct cli *cli, FILE *out, struct transfer_report *report,
			     struct fault *damage, struct fault *f)
{
	struct call call = { .settings = &cli->home.settings,
			     .identity.level = WHO_HOST,
			     .now = clock_wall_ms() };

	if (store_open(&call.store, cli->home.dir, STORE_READ, NULL, &call.fault) == 0 &&
	    transfer_export(&call, cli->team, out, report) == 0)
		check_whole(call.store, damage);
	*f = call.fault;
	store_close(call.store);
	arena_release(&call.arena);
	return keep_hint_room(f);
}

static int export_failed(const char *what, const char *path, struct fault *f)
{
	fault_set(f, errno == ENOENT ? FAULT_INVALID : FAULT_IO, "/file",
		  "cannot %s %.150s: %m", what, path);
	return errno == ENOENT ? fault_hint(f, "make the folder, or name another path")
			       : (int)f->code;
}

/* Writes the file under a temporary name. The file gets its final name when the file is
 * complete and durable. */
static int export_write_file(struct cli *cli, const char *path,
			     struct transfer_report *report, struct fault *damage,
			     struct fault *f)
{
	char temp[4500];
	struct stat st;
	FILE *out;
	int fd;

	if (lstat(path, &st) == 0) {
		fault_set(f, FAULT_CONFLICT, "/file", "%.150s is there already", path);
		return fault_hint(f, "choose another name");
	}
	leftovers_remove(path);
	snprintf(temp, sizeof(temp), "%s.%d.tmp", path, (int)getpid());
	unlink(temp);
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out)
		return export_failed("make", temp, f);
	if (export_write_rows(cli, out, report, damage, f) == 0 && fsync(fd))
		export_failed("write", temp, f);
	if (fclose(out) && !f->code)
		export_failed("write", temp, f);
	if (!f->code && renameat2(AT_FDCWD, temp, AT_FDCWD, path, RENAME_NOREPLACE))
		export_failed("name", path, f);
	if (f->code)
		unlink(temp);
	else if (dir_sync_above(path))
		export_failed("sync", path, f);
	return f->code;
}

static void export_tell(const struct cli *cli, const char *path,
			const struct transfer_report *r)
{
	if (cli->json)
		print_json_new(json_pack("{ss,sI,sI}", "path", path, "rows",
					 (json_int_t)r->rows, "notes",
					 (json_int_t)r->notes));
	else
		cli_say("%s: %lld rows and %lld notes", path, (long long)r->rows,
			(long long)r->notes);
}

int export_main(struct cli *cli, int argc, char **argv)
{
	struct transfer_report report;
	struct progress *progress;
	struct fault damage = { 0 }, f = { 0 };
	const char *path = argc > 1 ? argv[1] : "-";

	if (argc > 2 || (path[0] == '-' && path[1]))
		return cli_usage(cli,
				 "`export` takes one path, or - for standard output");
	if (cli_folder(cli, HOME_LOOK, &f) < 0)
		return cli_fault(cli, &f);
	if (!strcmp(path, "-")) {
		export_write_rows(cli, stdout, &report, &damage, &f);
		return f.code        ? cli_say_fault(cli, &f)
		       : damage.code ? cli_say_fault(cli, &damage)
				     : 0;
	}
	progress = progress_begin(cli, "writing the export");
	export_write_file(cli, path, &report, &damage, &f);
	progress_end(progress);
	if (f.code)
		return cli_fault(cli, &f);
	export_tell(cli, path, &report);
	return damage.code ? cli_say_fault(cli, &damage) : 0;
}

/*
 * Adds the rows of an export to the state. docs/export.md describes the lines of an export.
 */

/* Opens a plain file. A named pipe is refused, since the opening of a pipe could wait for ever. */
static FILE *import_open_file(const char *path, struct fault *f)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		fault_set(f, errno == ENOENT ? FAULT_NOT_FOUND : FAULT_IO, "/file",
			  "cannot read %.150s: %m", path);
	else if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		fault_set(f, FAULT_INVALID, "/file", "%.150s is not a file", path);
	if (!f->code)
		return fdopen(fd, "r");
	if (fd >= 0)
		close(fd);
	return NULL;
}

static bool import_copy(FILE *from, FILE *to)
{
	char bytes[65536];
	size_t n;

	while ((n = fread(bytes, 1, sizeof(bytes), from)))
		if (fwrite(bytes, 1, n, to) != n)
			return false;
	return !ferror(from);
}

/* Copies the input to a file without a name. The import reads the copy twice, because the input
 * itself could change between two reads. */
static FILE *open_input(const char *path, struct fault *f)
{
	FILE *from = strcmp(path, "-") ? import_open_file(path, f) : stdin;
	FILE *kept = from ? tmpfile() : NULL;

	if (from && (!kept || !import_copy(from, kept)))
		fault_set(f, FAULT_UNAVAILABLE, "/file", "cannot store the input: %m");
	if (from && from != stdin)
		fclose(from);
	if (!f->code)
		return kept;
	if (kept)
		fclose(kept);
	return NULL;
}

/* Raises the limit of open files, because the lock of each note needs a descriptor. */
static void raise_limit(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) == 0) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}

/* Lets the mirror make the folders of new teams, and then writes the notes into these folders.
 * A host repeats failed steps when it starts. */
static void import_show(struct call *call, struct home *home)
{
	enum { MOST_MS = 60000 };
	struct fault later = { 0 };

	mirror_catch_up(home, call->store, MOST_MS, &later);
	vault_sweep(call);
	call->fault = (struct fault){ 0 }; /* a failed note does not fail the import */
}

static int import(struct cli *cli, FILE *in, const char *as, struct call *call,
		  struct transfer_report *report, struct fault *f)
{
	int lock = home_hold(&cli->home, f);

	if (lock < 0)
		return f->code;
	raise_limit();
	if (store_open(&call->store, cli->home.dir, home_store_flags(&cli->home), NULL,
		       &call->fault) == 0 &&
	    transfer_import(call, in, as, report) == 0)
		import_show(call, &cli->home);
	close(lock);
	*f = call->fault;
	return f->code;
}

static void import_tell_json(const struct cli *cli, const struct transfer_report *r)
{
	json_t *teams = json_array();

	for (size_t i = 0; i < r->n_teams; i++)
		json_array_append_new(teams, json_pack("{ss,ss}", "was", r->teams[i].was,
						       "is", r->teams[i].is));
	print_json_new(json_pack("{ss,sI,sI,sb,sI,so}", "home", cli->home.dir, "rows",
				 (json_int_t)r->rows, "notes", (json_int_t)r->notes,
				 "whole", r->whole, "interrupted", (json_int_t)r->ended,
				 "teams", teams));
}

static void import_tell(const struct cli *cli, const struct transfer_report *r)
{
	if (cli->json) {
		import_tell_json(cli, r);
		return;
	}
	cli_say("%s: %lld rows and %lld notes were imported", cli->home.dir,
		(long long)r->rows, (long long)r->notes);
	for (size_t i = 0; i < r->n_teams; i++)
		if (strcmp(r->teams[i].was, r->teams[i].is) != 0)
			cli_say("team %s is called %s here", r->teams[i].was,
				r->teams[i].is);
	if (r->ended)
		cli_say("%lld commands that waited or ran are interrupted",
			(long long)r->ended);
	printf("agents have new tokens: cadre agent env NAME --team TEAM\n");
}

int import_main(struct cli *cli, int argc, char **argv)
{
	struct transfer_report report;
	struct progress *progress;
	struct fault f = { 0 };
	struct call call = { .settings = &cli->home.settings,
			     .identity.level = WHO_HOST,
			     .now = clock_wall_ms(),
			     .seed = home_random() };
	const char *as = cli->as; /* here --as names a team, not the caller */
	FILE *in;

	cli->as = NULL;
	if (argc != 2 || (argv[1][0] == '-' && argv[1][1]))
		return cli_usage(cli, "`import` takes the file of an export, or - for "
				      "standard input");
	if (cli_refuse_agent(cli, argv[0], &f) < 0 ||
	    cli_folder(cli, HOME_WRITE, &f) < 0 ||
	    home_may_write(cli->home.dir, &f) < 0 || !(in = open_input(argv[1], &f)))
		return cli_fault(cli, &f);
	progress = progress_begin(cli, "checking the export and adding its rows");
	import(cli, in, as, &call, &report, &f);
	progress_end(progress);
	fclose(in);
	store_close(call.store);
	if (!f.code)
		import_tell(cli, &report);
	arena_release(&call.arena);
	return f.code ? cli_fault(cli, &f) : 0;
}
