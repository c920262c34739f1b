#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "storage/durable.h"
#include "tools/cadre/cli.h"

/* HOME/backups/state-20261121-080000.db */
static void default_path(const struct home *home, char *path, size_t room)
{
	time_t now = time(NULL);
	struct tm tm;
	char when[32];

	gmtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
	snprintf(path, room, "%s/backups", home->dir);
	dir_make(path, 0700);
	snprintf(path, room, "%s/backups/state-%s.db", home->dir, when);
}

static int back_up(struct cli *cli, const char *path, struct fault *f)
{
	struct store *store = NULL;

	if (store_open(&store, cli->home.dir, 0, NULL, f) == 0)
		store_backup(store, path, f);
	store_close(store);
	return f->code;
}

/* The tokens of agents come from the state's secret: PATH.secret goes with it. */
static int keep_secret(const struct home *home, const char *path, struct fault *f)
{
	char from[4300], to[4400], bytes[256];
	int in, out = -1;
	ssize_t n = -1;

	snprintf(from, sizeof(from), "%s/secret", home->dir);
	snprintf(to, sizeof(to), "%s.secret", path);
	in = open(from, O_RDONLY | O_CLOEXEC);
	if (in >= 0 && (n = read(in, bytes, sizeof(bytes))) > 0)
		out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (out < 0 || write(out, bytes, (size_t)n) != n || fsync(out) ||
	    dir_sync_above(to))
		fault_set(f, FAULT_IO, "", "%s: %m", to);
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return f->code;
}

int backup_main(struct cli *cli, int argc, char **argv)
{
	struct fault f = { 0 };
	char path[4300];
	struct stat st;
	json_t *answer;

	if (argc > 2)
		return cli_usage(cli, "`backup` takes one path");
	if (cli_folder(cli, false, &f) < 0)
		return cli_fault(cli, &f);
	if (argc == 2)
		snprintf(path, sizeof(path), "%s", argv[1]);
	else
		default_path(&cli->home, path, sizeof(path));
	if (back_up(cli, path, &f) < 0 || keep_secret(&cli->home, path, &f) < 0)
		return cli_fault(cli, &f);
	if (stat(path, &st))
		st.st_size = 0;
	answer = json_pack("{ss,sI}", "path", path, "size", (json_int_t)st.st_size);
	if (cli->json)
		print_json(answer);
	else
		printf("%s: %lld KiB, verified; its secret is in %s.secret\n", path,
		       (long long)(st.st_size + 1023) / 1024, path);
	json_decref(answer);
	return 0;
}
