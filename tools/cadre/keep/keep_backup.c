#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/home/users.h"
#include "core/base/clock.h"
#include "core/transfer/rule.h"
#include "storage/durable.h"
#include "tools/cadre/cli.h"
#include "tools/cadre/keep/leftover.h"
#include "tools/cadre/screen/progress.h"

enum { SECRET = 32 };

/* --- folders ------------------------------------------------------------------------- */

/* Makes a path such as HOME/backups/state-20261121-080000.123456789.db, which no two
 * backups share. */
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

/* Checks the folder before a name is made in it: a fault about a temporary file would
 * not help the user. */
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
	fault_set(f, FAULT_INVALID, "/path", "%.150s is no folder", folder);
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

/* Checks before anything is copied that the names are free, or hold the same secret, as
 * an interrupted backup leaves it. */
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
	fault_set(f, FAULT_CONFLICT, "", "%.150s is there already, and of another state",
		  secret_path);
	return fault_hint(f, "choose another name, or move it away with its backup");
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

/* The tokens of agents come from the state's secret: PATH.secret goes with a
 * backup, and is written first, so that each backup has its secret.  *made: the file is new. */
static int keep_secret(const struct home *home, const char *to, bool *made,
		       struct fault *f)
{
	const uint8_t *secret = home->settings.secret;
	char temp[4500];

	snprintf(temp, sizeof(temp), "%s.%d.tmp", to, (int)getpid());
	if (write_secret(temp, secret, f) == 0) {
		*made = !renameat2(AT_FDCWD, temp, AT_FDCWD, to, RENAME_NOREPLACE);
		if (!*made && errno != EEXIST)
			fault_set(f, FAULT_IO, "", "cannot name %.150s: %m", to);
	}
	unlink(temp);
	if (!f->code && dir_sync_above(to))
		fault_set(f, FAULT_IO, "", "cannot make %.150s durable: %m", to);
	return f->code;
}

/* --- both ------------------------------------------------------------------------------ */

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
	    /* Check again: another process may have put another state's secret there
	     * meanwhile. */
	    check_names(path, secret_path, secret, f) == 0)
		store_backup(store, path, f);
	store_close(store);
	if (f->code && made)
		unlink(secret_path);
	return keep_hint_room(f);
}

/* --- older ones ------------------------------------------------------------------------ */

/* Whether an entry has a name that default_path() gives. */
static int is_backup(const struct dirent *e)
{
	int end = 0;

	sscanf(e->d_name, "state-%*8[0-9]-%*6[0-9].%*9[0-9].db%n", &end);
	return end && !e->d_name[end];
}

/* Removes all but the newest `most` backups of HOME/backups, of which `path` is one that is
 * verified by now, whatever the clock says. */
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

/* Takes --keep N out of the words: 0: it was not said. */
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
		return fault_set(f, FAULT_INVALID, "/keep", "must be a number from 1 on");
	if (!*most || left == 1)
		return 0;
	fault_set(f, FAULT_INVALID, "/keep", "is for the folder of backups alone");
	return fault_hint(f, "Leave the path out.");
}

int backup_main(struct cli *cli, int argc, char **argv)
{
	struct fault f = { 0 };
	struct progress *progress;
	char path[4300] = "";
	struct stat st;
	json_t *answer;
	int64_t most;

	if (take_keep(&argc, argv, &most, &f))
		return cli_fault(cli, &f);
	if (argc > 2)
		return cli_usage(cli, "`backup` takes one path");
	if (cli_folder(cli, HOME_LOOK, &f) < 0)
		return cli_fault(cli, &f);
	if (argc == 2)
		snprintf(path, sizeof(path), "%s", argv[1]);
	else if (users_may_write(cli->home.dir, &f) == 0)
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
	answer = json_pack("{ss,sI}", "path", path, "size", (json_int_t)st.st_size);
	if (cli->json)
		print_json(answer);
	else
		cli_say("%s: %lld KiB, verified; its secret is in %s.secret", path,
			(long long)(st.st_size + 1023) / 1024, path);
	json_decref(answer);
	return 0;
}
