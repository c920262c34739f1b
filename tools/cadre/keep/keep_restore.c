/*
 * keep_restore - puts a backup in the place of the state; the old state is kept aside.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/access/token.h"
#include "core/base/clock.h"
#include "core/home/found.h"
#include "core/home/gone.h"
#include "core/home/lost.h"
#include "core/home/state_id.h"
#include "core/home/users.h"
#include "core/mirror/mirror.h"
#include "ops.gen.h"
#include "storage/store_restore.h"
#include "tools/cadre/cli.h"
#include "tools/cadre/screen/progress.h"

struct restore {
	struct cli *cli;
	const char *file; /* as it was said */
	bool yes, any_secret;
	char path[PATH_MAX], secret[PATH_MAX + 16];
	char aside[4400];
	bool had; /* a state was there */
	int64_t ended; /* assignments */
	struct mirror_aside put_aside; /* in the vault */
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

/* Whether the backup is the state's own file, from which nothing can go. */
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
				  "Unless told otherwise, cadre backup writes "
				  "%.150s/backups/state-YYYYMMDD-HHMMSS.N.db.",
				  r->cli->home.dir[0] ? r->cli->home.dir : ".cadre");
	}
	if (!S_ISREG(st.st_mode))
		return fault_set(f, FAULT_INVALID, "/file", "%.150s is no file", r->file);
	if (!is_same_file(r))
		return 0;
	if (r->any_secret && lost_secret(r->cli->home.dir))
		return 0; /* it begins anew but for the secret */
	fault_set(f, FAULT_INVALID, "/file", "%.150s is the state itself", r->file);
	return fault_hint(f, "to begin with it anew, move it elsewhere first, and its "
			     "secret beside it as FILE.secret");
}

/* FILE.secret as `backup` writes it, or the `secret` of a state's folder. */
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
	if (r->any_secret) /* a new one is made */
		return 0;
	fault_set(f, FAULT_NOT_FOUND, "/file", "%.150s.secret is not there", r->file);
	return fault_hint(
		f, "without it tokens are void; if the backup is of the state that "
		   "is here, copy its `secret` there under that name; where it is lost, "
		   "--any-secret makes a new one, and agents are registered anew");
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
			  "what happened in %.150s since the backup would go",
			  r->cli->home.dir);
		return fault_hint(f,
				  "do it with --yes; the present files are kept in its "
				  "replaced/");
	}
	if (stat(r->path, &st) == 0 && localtime_r(&st.st_mtime, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &tm);
	cli_say("The state in %s goes back to %s of %s.", r->cli->home.dir, r->path,
		when);
	cli_say("What happened since then goes; the present files are kept in "
		"%s/replaced/.",
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

/* A secret of another state would make all tokens void.  A secret that was made anew fits the
 * agents that were registered since. */
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
	return fault_hint(f,
			  "put the one that belongs to it there; where that is lost, "
			  "--any-secret takes this one, and agents are registered anew");
}

/* Checks a backup before a state is made for it: a backup that cannot be restored leaves no
 * state. */
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

/* Whether this directory's project had a state, which is gone. */
static bool was_here(const struct cli *cli)
{
	struct fault gone = { 0 };
	char cwd[PATH_MAX];

	return !cli->dir && !getenv("CADRE_HOME") && getcwd(cwd, sizeof(cwd)) &&
	       gone_check(cwd, &gone) == FAULT_NOT_FOUND;
}

/* Makes a state for the backup, where there is none and somebody says so. */
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

/* Finds the state that is here, else makes one for the backup. */
static int find_state(struct restore *r, struct fault *f)
{
	struct cli *cli = r->cli;
	struct fault none = { 0 };
	bool create = cli->create;

	cli->create = false; /* not before the backup is known to be one */
	if (cli_folder(cli, HOME_LOOK, &none) < 0) {
		if (none.code != FAULT_NOT_FOUND) {
			*f = none;
			return f->code;
		}
		if (!cli->home.gone && keep_restore_make_state(r, create, &none, f) < 0)
			return f->code;
	}
	r->had = lost_has_state(cli->home.dir);
	return users_may_write(cli->home.dir, f);
}

/* Gives the staged state a new incarnation, and ends what may have run since the backup;
 * done there, so that all of it counts at once. */
static int keep_restore_renew(struct restore *r, const char *stage, struct fault *f)
{
	struct call call = { .settings = &r->cli->home.settings,
			     .identity.level = WHO_HOST,
			     .now = clock_wall_ms(),
			     .seed = home_random() };
	json_t *args = json_pack(
		"{ss,sI}", "why",
		"interrupted: a backup of the state was restored; whether this command ran "
		"since the backup is not known",
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

/* The folder's id names the staged database before it takes the place of the other one,
 * and it alone afterwards. */
static int keep_restore_commit(struct restore *r, struct fault *f)
{
	const char *path = r->cli->home.dir;
	struct fault later = { 0 };
	int dir = found_open(path);

	if (dir < 0)
		return fault_set(f, FAULT_IO, "", "cannot open %.150s: %m", path);
	if (state_id_expect(dir, "restore.tmp/state.db", f) == 0 &&
	    restore_commit(path, r->secret[0] ? r->secret : NULL, r->aside,
			   sizeof(r->aside), f) == 0)
		state_id_settle(dir, &later); /* else the next verb does */
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

/* Renames the folders of teams to the names that the teams had at the backup.  Numbers of teams
 * that the backup does not know are used again: the mirror archives the folders of such teams
 * before a new team could be taken for an old one.  A host repeats failed steps at its start. */
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
	json_t *folders = json_array(), *answer;

	for (size_t i = 0; i < aside->n; i++)
		json_array_append_new(folders, json_string(aside->folders[i]));
	answer = json_pack("{ss,ss,ss*,sI,so,sI}", "home", r->cli->home.dir, "file",
			   r->path, "replaced", r->had ? r->aside : NULL, "interrupted",
			   (json_int_t)r->ended, "archived", folders, "conflicts",
			   (json_int_t)aside->conflicts);
	print_json(answer);
	json_decref(answer);
}

/* Tells of notes that are not where they were. */
static void report_vault(const struct restore *r)
{
	const struct mirror_aside *aside = &r->put_aside;
	const char *vault = r->cli->home.vault;

	for (size_t i = 0; i < aside->n; i++)
		cli_say("a folder of the vault that is no living team's is now %s/%s",
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
		cli_say("what was there is kept in %s", r->aside);
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
