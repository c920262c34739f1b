/*
 * doctor - looks at a state and its host, and says what to do; --fix does it.
 *
 * One line per finding: ok, warn (somebody should look) or bad (it does not work
 * or will not for long); 1 when anything is bad, or could not be mended.  Without --fix it changes nothing.
 */
#include "tools/cadre/doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/home/users.h"
#include "ops.gen.h"
#include "storage/durable.h"

enum { LINE_AT = 19 };

/* FIX_ALONE: while no host runs, which has the thing in its hands. */
enum { NEEDS_STATE = 1, FIX_ALONE = 2 };

struct check {
	const char *name;
	check_look *look;
	check_fix *fix; /* NULL: a person has to */
	unsigned flags;
};

/* Later checks use what earlier ones have opened and listed.  Checks of copies made from rows, such
 * as the mirror, stand behind all checks whose fixes write rows. */
/* clang-format off */
static const struct check checks[] = {
	{ "environment",   check_environment, NULL,            0 },
	{ "file system",   check_folder,      NULL,            0 },
	{ "permissions",   check_permissions, fix_permissions, 0 },
	{ "space",         check_space,       NULL,            0 },
	{ "files",         check_ground,      NULL,            0 },
	{ "restore",       check_restore,     fix_restore,     FIX_ALONE },
	{ "state",         check_state,       NULL,            0 },
	{ "log",           check_log,         fix_log,         NEEDS_STATE },
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
		todo += strlen(DOCTOR_FIX); /* it was tried */
	d->worst = v > d->worst ? v : d->worst;
	json_array_append_new(d->lines,
			      json_pack("{ss,ss,ss,so,so*}", "check", d->check->name,
					"verdict", verdict_names[v], "about", what,
					"found", json_text(found), "todo",
					todo ? json_text(todo) : NULL));
}

/* Prints a line whose first word has that colour. */
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

static const char *doctor_text_of(const json_t *line, const char *name)
{
	return json_string_value(json_object_get(line, name));
}

/* Prints the lines from number `from` on. */
static void print_from(const struct doctor *d, size_t from)
{
	for (size_t i = from; !d->cli->json && i < json_array_size(d->lines); i++) {
		const json_t *line = json_array_get(d->lines, i);
		size_t v = 0;

		while (strcmp(verdict_names[v], doctor_text_of(line, "verdict")) != 0)
			v++;
		print_line(d, verdict_names[v], colors[v], doctor_text_of(line, "about"),
			   doctor_text_of(line, "found"), doctor_text_of(line, "todo"));
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

/* --- what fixes use -------------------------------------------------------------------- */

const char *doctor_aside(struct doctor *d)
{
	char when[CLOCK_STAMP];

	if (!d->aside[0]) {
		clock_stamp(clock_wall_ms(), when);
		snprintf(d->aside, sizeof(d->aside), "%s/doctor-%s", d->cli->home.dir,
			 when);
	}
	return d->aside;
}

int doctor_keep(struct doctor *d, const char *name, struct fault *f)
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

json_t *doctor_ask(struct doctor *d, const struct op *op, struct fault *f)
{
	json_t *args = json_object(), *answer = run_op(d->cli, op, args, f);

	json_decref(args);
	return answer;
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

/* --- the whole ------------------------------------------------------------------------------ */

/* The vault and the index may hold all that is left of rows that are lost. */
static void refuse_damaged(struct fault *f)
{
	fault_set(f, FAULT_UNAVAILABLE, "", "the state is damaged");
	fault_hint(f, "put a backup in its place first, as integrity says");
}

/* Whether the fix may have changed something. */
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
		doctor_say(d, VERDICT_WARN, d->check->name, f.hint, "not mended: %s",
			   f.text);
	d->bad |= f.code != 0;
	return json_array_size(d->fixes) > done;
}

/* Whether the state is open, if the check needs it: a fix may have failed to open it again. */
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

static void print_all(const struct doctor *d)
{
	json_t *answer = json_pack("{sb,sO,sO*}", "ok", !d->bad, "checks", d->lines,
				   "fixes", d->fixes);

	print_json(answer);
	json_decref(answer);
}

/* Fixes are the operator's. */
static int may_fix(struct cli *cli, struct fault *f)
{
	if (cli_refuse_agent(cli, "doctor --fix", f) < 0 ||
	    cli_folder(cli, HOME_WRITE, f) < 0)
		return f->code;
	return users_may_write(cli->home.dir, f);
}

int doctor_main(struct cli *cli, int argc, char **argv)
{
	struct doctor d = { .cli = cli };
	struct fault f = { 0 };
	bool fixes = argc == 2 && !strcmp(argv[1], "--fix");

	if (argc > 1 && !fixes)
		return cli_usage(cli, "`%s` takes --fix and no other words", argv[0]);
	if ((fixes ? may_fix(cli, &f) : cli_folder(cli, HOME_LOOK, &f)) < 0)
		return cli_fault(cli, &f);
	d.lines = json_array();
	d.fixes = fixes ? json_array() : NULL;
	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++)
		if (may_look(&d, &checks[i]))
			doctor_run(&d, &checks[i]);
	store_close(d.store);
	if (cli->json)
		print_all(&d);
	json_decref(d.known);
	json_decref(d.lines);
	json_decref(d.fixes);
	return d.bad;
}
