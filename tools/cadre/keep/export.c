/*
 * export - writes the state, or a team of it, as lines of JSON: see docs/export.md.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/transfer/rule.h"
#include "core/transfer/transfer.h"
#include "storage/durable.h"
#include "tools/cadre/cli.h"
#include "tools/cadre/keep/leftover.h"
#include "tools/cadre/screen/progress.h"

/* An export of a damaged state holds what is left of it, and the verb says so. */
static void check_whole(struct store *store, struct fault *damage)
{
	struct fault found = { 0 };

	if (store_check(store, &found) == 0 && rule_check_lost(store, &found) == 0)
		return;
	fault_set(damage, FAULT_IO, "",
		  "the state is damaged, and the export holds what is left: %.150s",
		  found.text);
	fault_hint(damage, "`cadre doctor` looks at all of it; `cadre restore FILE` goes "
			   "back to a backup");
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

/* Writes the file under a name of its own, and gives it the other one when it is whole and
 * durable. */
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
	json_t *answer;

	if (!cli->json) {
		cli_say("%s: %lld rows and %lld notes", path, (long long)r->rows,
			(long long)r->notes);
		return;
	}
	answer = json_pack("{ss,sI,sI}", "path", path, "rows", (json_int_t)r->rows,
			   "notes", (json_int_t)r->notes);
	print_json(answer);
	json_decref(answer);
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
