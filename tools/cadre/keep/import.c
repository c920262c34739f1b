/*
 * import - adds what `export` wrote to the state: see docs/export.md.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/home/users.h"
#include "core/mirror/mirror.h"
#include "core/transfer/transfer.h"
#include "core/vault/vault.h"
#include "tools/cadre/cli.h"
#include "tools/cadre/screen/progress.h"

/* A plain file, which a queue of another process is not: that would never open. */
static FILE *import_open_file(const char *path, struct fault *f)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		fault_set(f, errno == ENOENT ? FAULT_NOT_FOUND : FAULT_IO, "/file",
			  "cannot read %.150s: %m", path);
	else if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		fault_set(f, FAULT_INVALID, "/file", "%.150s is no file", path);
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

/* Input is read twice, and must not change meanwhile: it is kept in a file without a name. */
static FILE *open_input(const char *path, struct fault *f)
{
	FILE *from = strcmp(path, "-") ? import_open_file(path, f) : stdin;
	FILE *kept = from ? tmpfile() : NULL;

	if (from && (!kept || !import_copy(from, kept)))
		fault_set(f, FAULT_UNAVAILABLE, "/file", "cannot keep what comes in: %m");
	if (from && from != stdin)
		fclose(from);
	if (!f->code)
		return kept;
	if (kept)
		fclose(kept);
	return NULL;
}

/* The lock of each note takes a descriptor. */
static void raise_limit(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) == 0) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}

/* The mirror makes the folders of new teams; then notes go into these folders.  A host repeats
 * failed steps at its start. */
static void import_show(struct call *call, struct home *home)
{
	enum { MOST_MS = 60000 };
	struct fault later = { 0 };

	mirror_catch_up(home, call->store, MOST_MS, &later);
	vault_sweep(call);
	call->fault = (struct fault){ 0 }; /* the import is done, whatever came of this */
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
	json_t *teams = json_array(), *answer;

	for (size_t i = 0; i < r->n_teams; i++)
		json_array_append_new(teams, json_pack("{ss,ss}", "was", r->teams[i].was,
						       "is", r->teams[i].is));
	answer = json_pack("{ss,sI,sI,sb,sI,so}", "home", cli->home.dir, "rows",
			   (json_int_t)r->rows, "notes", (json_int_t)r->notes, "whole",
			   r->whole, "interrupted", (json_int_t)r->ended, "teams", teams);
	print_json(answer);
	json_decref(answer);
}

static void import_tell(const struct cli *cli, const struct transfer_report *r)
{
	if (cli->json) {
		import_tell_json(cli, r);
		return;
	}
	cli_say("%s: %lld rows and %lld notes came in", cli->home.dir, (long long)r->rows,
		(long long)r->notes);
	for (size_t i = 0; i < r->n_teams; i++)
		if (strcmp(r->teams[i].was, r->teams[i].is) != 0)
			cli_say("team %s is here as %s", r->teams[i].was, r->teams[i].is);
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
	const char *as = cli->as; /* the name of a team here, not who calls */
	FILE *in;

	cli->as = NULL;
	if (argc != 2 || (argv[1][0] == '-' && argv[1][1]))
		return cli_usage(cli, "`import` takes the file of an export, or - for "
				      "standard input");
	if (cli_refuse_agent(cli, argv[0], &f) < 0 ||
	    cli_folder(cli, HOME_WRITE, &f) < 0 ||
	    users_may_write(cli->home.dir, &f) < 0 || !(in = open_input(argv[1], &f)))
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
