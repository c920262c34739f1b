/* doctor_state - the database of a state, its clock and its host. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/access/token.h"
#include "core/base/clock.h"
#include "core/base/version.h"
#include "core/op/op.h"
#include "core/transfer/rule.h"
#include "ops.gen.h"
#include "tools/cadre/doctor/doctor.h"

enum {
	HELD_MS = 2000,
	FRAMES_MOST = 20000, /* of the log that wait: a host copies them at 2,000 */
	CLOCK_MS = 60000, /* by which a clock may be behind what was written */
	LATE_MS = 60000, /* until somebody has written down what ran out */
	RESTART_MS = 2000, /* to wait for those who read from the log */
};

/* --- the database ------------------------------------------------------------------- */

/* A damaged database is not mended in its place: nobody can know which data are lost. */
static void say_damage(struct doctor *d, const char *found)
{
	char newest[300] = "", dir[4200], todo[HINT_SIZE];
	struct dirent *e;
	DIR *all;

	snprintf(dir, sizeof(dir), "%s/backups", d->cli->home.dir);
	all = opendir(dir);
	while (all && (e = readdir(all))) {
		size_t n = strlen(e->d_name);

		if (n > 3 && n < sizeof(newest) && !strcmp(e->d_name + n - 3, ".db") &&
		    strcmp(e->d_name, newest) > 0)
			memcpy(newest, e->d_name, n + 1);
	}
	if (all)
		closedir(all);
	if (newest[0])
		snprintf(
			todo, sizeof(todo),
			"put the last backup in its place, the damaged one is kept: cadre "
			"down, cadre restore %.100s/%.60s",
			dir, newest);
	else
		snprintf(todo, sizeof(todo),
			 "put a backup in its place: cadre down, cadre restore FILE");
	doctor_say(d, VERDICT_BAD, "integrity", todo, "%s", found);
	d->damaged = true;
}

void check_state(struct doctor *d)
{
	struct fault f = { 0 };
	char who[160];

	if (store_open(&d->store, d->cli->home.dir, STORE_READ, NULL, &f) < 0)
		return doctor_say(d, VERDICT_BAD, "state", f.hint, "%s", f.text);
	if (store_check(d->store, &f) < 0)
		say_damage(d, f.text);
	else
		doctor_say(d, VERDICT_OK, "integrity", NULL, "%s is sound",
			   store_path(d->store));
	if (store_is_held(d->store, HELD_MS, who, sizeof(who)))
		doctor_say(
			d, VERDICT_BAD, "writing",
			"let it go on (fg, kill -CONT) or end it: what was acknowledged is "
			"kept",
			"process %s keeps the state from being written", who);
}

void check_log(struct doctor *d)
{
	int64_t frames = store_wal_waiting(d->store);

	if (frames > FRAMES_MOST)
		doctor_say(d, VERDICT_WARN, "log",
			   DOCTOR_FIX "end old readers: a long read may hold it",
			   "%lld frames wait for a checkpoint", (long long)frames);
}

int fix_log(struct doctor *d, struct fault *f)
{
	struct fault again = { 0 };
	struct store *store = NULL;
	int64_t before = store_wal_waiting(d->store);

	/* Ends the doctor's own read, so that this read does not hold the log. */
	store_close(d->store);
	d->store = NULL;
	if (doctor_open(d, &store, f) == 0 && store_checkpoint(store, f) >= 0 &&
	    store_restart_wal(store, RESTART_MS, f) >= 0 &&
	    store_wal_frames(store) < before)
		doctor_did(d, "%lld frames of the log were copied into state.db",
			   (long long)(before - store_wal_frames(store)));
	store_close(store);
	if (store_open(&d->store, d->cli->home.dir, STORE_READ, NULL, &again) < 0)
		doctor_say(d, VERDICT_BAD, "state", again.hint, "%s", again.text);
	return f->code;
}

void check_tokens(struct doctor *d)
{
	struct secret_fit fit;
	struct fault f = { 0 };

	if (secret_look(d->store, d->cli->home.settings.secret, &fit, &f) == 0 &&
	    fit.fit < fit.tokens)
		doctor_say(
			d, VERDICT_BAD, "tokens",
			"bring the former one back (a backup has it as PATH.secret), or "
			"register the agents anew: --replace",
			"%lld of the %lld newest agents have tokens that %s/secret does not make",
			(long long)(fit.tokens - fit.fit), (long long)fit.tokens,
			d->cli->home.dir);
}

/* Rows that operations refuse come from somebody's hand, or from an import of an older program,
 * which asked less. */
void check_rules(struct doctor *d)
{
	struct fault f = { 0 };
	int64_t row;

	for (size_t i = 0; i < rule_count && !f.code; i++)
		if (rule_broken(d->store, &rule_table[i], 0, &row, &f) > 0)
			doctor_say(
				d, VERDICT_BAD, "rules",
				"correct the row by a command, or restore a backup: cadre "
				"restore FILE",
				"%s %lld of %s %s", rule_table[i].column, (long long)row,
				rule_table[i].table, rule_table[i].what);
	if (f.code)
		doctor_say(d, VERDICT_BAD, "rules", f.hint, "%s", f.text);
}

/* --- the clock ----------------------------------------------------------------------- */

void check_clock(struct doctor *d)
{
	const struct sql_doctor_newest_in none = { 0 };
	struct doctor_newest_row newest = { 0 };
	int64_t now = clock_wall_ms();
	struct arena arena = { 0 };
	struct fault f = { 0 };

	if (store_begin(d->store, false, &f) == 0 &&
	    store_row(d->store, sql_doctor_newest, &none, &newest, sizeof(newest), &arena,
		      &f) > 0 &&
	    newest.at > now + CLOCK_MS)
		doctor_say(
			d, VERDICT_BAD, "clock",
			"set this machine's clock; if it is right now, it was ahead before: "
			"wait that long",
			"it is %lld s behind the newest event or clock of a budget",
			(long long)(newest.at - now) / 1000);
	store_rollback(d->store);
	arena_release(&arena);
}

/* Leases and lives that ran out.  Every call sees their end, but nobody is told of the end before
 * a host or a writer has written it down. */
void check_leases(struct doctor *d)
{
	const struct sql_doctor_late_in in = { .now = clock_wall_ms() - LATE_MS };
	struct doctor_late_row row = { 0 };
	struct arena arena = { 0 };
	struct fault f = { 0 };

	if (store_begin(d->store, false, &f) == 0 &&
	    store_row(d->store, sql_doctor_late, &in, &row, sizeof(row), &arena, &f) >
		    0 &&
	    row.late)
		doctor_say(
			d, VERDICT_WARN, "leases",
			home_holder(&d->cli->home) ? "see `cadre logs`"
						   : DOCTOR_FIX "start a host: cadre up",
			"some ran out more than a minute ago, and nobody has told of it");
	store_rollback(d->store);
	arena_release(&arena);
}

/* Arguments of the first tick are those of a host that starts: leases are moved by the time
 * without one, and what has run out even so is ended. */
static json_t *tick_args(struct store *store, bool first, struct fault *f)
{
	const struct sql_host_due_in in = { .now = clock_wall_ms() };
	struct host_due_row due = { 0 };
	struct arena arena = { 0 };
	json_t *args = json_object();
	char since[25];

	if (first && store_begin(store, false, f) == 0) {
		if (store_row(store, sql_host_due, &in, &due, sizeof(due), &arena, f) >
			    0 &&
		    due.alive_at > 0 && due.alive_at < in.now) {
			json_object_set_new(args, "gap_ms",
					    json_integer(in.now - due.alive_at));
			time_format(due.alive_at, since);
			json_object_set_new(args, "gap_since", json_string(since));
		}
		store_rollback(store);
		json_object_set_new(args, "start", json_true());
	}
	arena_release(&arena);
	return args;
}

int fix_leases(struct doctor *d, struct fault *f)
{
	long long tasks = 0, deliveries = 0;
	struct store *store = NULL;
	bool more = doctor_open(d, &store, f) == 0;

	for (bool first = true; more && !f->code; first = false) {
		struct call call = { 0 };
		json_t *args = tick_args(store, first, f);

		more = !f->code &&
		       doctor_call(d, store, op_clock_tick, args, &call, f) == 0;
		if (more) {
			const struct clock_tick_out *out = call.out;

			tasks += out->tasks;
			deliveries += out->deliveries;
			more = out->more;
		}
		json_decref(args);
		arena_release(&call.arena);
	}
	store_close(store);
	if (!f->code)
		doctor_did(
			d,
			"leases were moved by the time without a host; those of %lld tasks "
			"and %lld messages had ended",
			tasks, deliveries);
	return f->code;
}

/* --- the host ------------------------------------------------------------------------- */

static void check_answer(struct doctor *d, pid_t holder)
{
	struct fault f = { 0 };
	json_t *status = doctor_ask(d, op_state_status, &f);
	const char *version = json_string_value(json_object_get(status, "version"));
	bool deaf;

	if (!status)
		doctor_say(d, VERDICT_BAD, "status", f.hint, "%s", f.text);
	else if (home_host_of(d->cli->home.dir, &deaf) && deaf)
		doctor_say(d, VERDICT_WARN, "socket",
			   "it makes them anew within seconds; if not: cadre restart",
			   "process %d runs, but its sockets are gone", (int)holder);
	else if (holder && !client_hosted(d->cli->client))
		doctor_say(d, VERDICT_BAD, "socket",
			   "see `cadre logs`; restart it: cadre down, then cadre up",
			   "process %d holds the lock but does not answer at %s",
			   (int)holder, d->cli->home.socket);
	else if (version && strcmp(version, CADRE_VERSION))
		doctor_say(d, VERDICT_WARN, "version",
			   "restart it: cadre down, then cadre up",
			   "the host is %s, this is %s", version, CADRE_VERSION);
	else if (version)
		doctor_say(d, VERDICT_OK, "version", NULL, "%s, schema %lld", version,
			   (long long)json_integer_value(
				   json_object_get(status, "schema_version")));
	json_decref(status);
}

void check_host(struct doctor *d)
{
	pid_t holder = home_holder(&d->cli->home);

	if (holder)
		doctor_say(d, VERDICT_OK, "host", NULL, "process %d holds the lock",
			   (int)holder);
	else
		doctor_say(d, VERDICT_OK, "host", NULL,
			   "none runs; commands open the state themselves");
	if (d->store)
		check_answer(d, holder);
}

/* Tells of agents that cannot go on, as `status` does. */
void check_agents(struct doctor *d)
{
	struct fault f = { 0 };
	json_t *status = doctor_ask(d, op_state_status, &f), *need;
	size_t i;

	json_array_foreach(json_object_get(status, "needs"), i, need) {
		if (strcmp(json_string_value(json_object_get(need, "what")), "agent") ==
		    0)
			doctor_say(d, VERDICT_WARN, "agent", NULL, "%s %s",
				   json_string_value(json_object_get(need, "name")),
				   json_string_value(json_object_get(need, "text")));
	}
	json_decref(status);
}

/* Whether the state's own socket is there and nobody listens; false as well where that cannot
 * be told.  A file that is no socket refuses too, and $CADRE_SOCKET names those of others. */
static bool doctor_state_is_left(const struct home *home)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const char *path = home->socket;
	size_t n = strlen(home->run);
	struct stat st;
	bool refused;
	int fd;

	if (strncmp(path, home->run, n) != 0 || path[n] != '/' || lstat(path, &st) ||
	    !S_ISSOCK(st.st_mode))
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	refused = fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) &&
		  errno == ECONNREFUSED;
	if (fd >= 0)
		close(fd);
	return refused;
}

/* Whether the file with a host's HTTP URL is left; without a host nobody answers at that URL. */
static bool endpoint_left(const struct home *home, char path[4200])
{
	snprintf(path, 4200, "%s/endpoint", home->dir);
	return access(path, F_OK) == 0;
}

void check_socket(struct doctor *d)
{
	const struct home *home = &d->cli->home;
	char path[4200];

	if (home_holder(home))
		return;
	if (doctor_state_is_left(home))
		doctor_say(d, VERDICT_WARN, "socket",
			   DOCTOR_FIX "the next start of a host takes it over",
			   "a host that was killed has left %s", home->socket);
	if (endpoint_left(home, path))
		doctor_say(d, VERDICT_WARN, "endpoint",
			   DOCTOR_FIX "the next start of a host writes it anew",
			   "a host that was killed has left %s", path);
}

static int take_away(struct doctor *d, const char *path, struct fault *f)
{
	if (unlink(path))
		return fault_set(f, FAULT_IO, "", "cannot remove %.100s: %s", path,
				 strerror(errno));
	doctor_did(d, "%s is removed", path);
	return 0;
}

int fix_socket(struct doctor *d, struct fault *f)
{
	struct home *home = &d->cli->home;
	char path[4200];

	if (endpoint_left(home, path) && take_away(d, path, f) < 0)
		return f->code;
	if (!doctor_state_is_left(home))
		return 0;
	if (take_away(d, home->socket, f) == 0 && !guests_running(home->dir))
		home_leave_run(home);
	return f->code;
}
