/* doctor_state - checks of a state's database, clock, host, guests and network. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/access/token.h"
#include "core/base/clock.h"
#include "core/base/version.h"
#include "core/call/id.h"
#include "core/machine/backend.h"
#include "core/machine/net/net_linux.h"
#include "core/op/op.h"
#include "core/transfer/rule.h"
#include "ops.gen.h"
#include "storage/durable.h"
#include "tools/cadre/doctor/doctor.h"

enum {
	HELD_MS = 2000,
	CLOCK_MS = 60000, /* the clock may lag behind stored times by at most this time */
	LATE_MS = 60000, /* maximum time between a lease's end and the storing of this
			    end */
};

/* --- the database ------------------------------------------------------------------- */

/* Reports a damaged database. The database is not mended in place, because the lost data is not
 * known. */
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
			"restore the last backup; the damaged state is kept: cadre down, "
			"then cadre restore %.100s/%.60s",
			dir, newest);
	else
		snprintf(todo, sizeof(todo),
			 "restore a backup: cadre down, then cadre restore FILE");
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
		doctor_say(d, VERDICT_BAD, "writing",
			   "let the process go on (fg, kill -CONT) or end it: "
			   "acknowledged calls are kept",
			   "process %s blocks all writes to the state", who);
}

void check_tokens(struct doctor *d)
{
	struct secret_fit fit;
	struct fault f = { 0 };

	if (secret_look(d->store, d->cli->home.settings.secret, &fit, &f) == 0 &&
	    fit.fit < fit.tokens)
		doctor_say(d, VERDICT_BAD, "tokens",
			   "bring the former secret back (a backup has it as "
			   "PATH.secret), or register the agents again with --replace",
			   "the tokens of %lld of the %lld newest agents do not "
			   "match %s/secret",
			   (long long)(fit.tokens - fit.fit), (long long)fit.tokens,
			   d->cli->home.dir);
}

/* Looks for rows that break a rule of rule_table. A row that breaks a rule was written by hand,
 * or was imported from an older program with fewer rules. */
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
		doctor_say(d, VERDICT_BAD, "clock",
			   "set this machine's clock; if the clock is right now, it was "
			   "ahead before: wait for as many seconds",
			   "the clock is %lld s behind the newest event or behind the "
			   "clock of a team's budget",
			   (long long)(newest.at - now) / 1000);
	store_rollback(d->store);
	arena_release(&arena);
}

/* Looks for leases, messages and assignments whose time ran out more than a minute ago. If the
 * time of a lease has run out, each call treats the lease as ended. But callers get the event
 * about the end of a lease only after a host or a writer has stored the end. */
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
		doctor_say(d, VERDICT_WARN, "leases",
			   home_holder(&d->cli->home) ? "see `cadre logs`"
						      : DOCTOR_FIX
				   "start a host: cadre up",
			   "some leases ran out more than a minute ago, and no "
			   "process has ended them");
	store_rollback(d->store);
	arena_release(&arena);
}

/* Makes the arguments of a tick. The first tick has the same arguments as the tick of a
 * starting host. The first tick extends leases by the time for which no host ran, and ends
 * leases that have run out even after the extension. */
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
			"leases were extended by the time without a host; the leases of "
			"%lld tasks and %lld messages had run out, and are ended",
			tasks, deliveries);
	return f->code;
}

/* --- the host ------------------------------------------------------------------------- */

static void check_answer(struct doctor *d, pid_t holder)
{
	struct fault f = { 0 };
	json_t *status = run_args(d->cli, op_state_status, json_object(), &f);
	const char *version = json_find_text(status, "version");
	bool deaf;

	if (!status)
		doctor_say(d, VERDICT_BAD, "status", f.hint, "%s", f.text);
	else if (home_host_of(d->cli->home.dir, &deaf) && deaf)
		doctor_say(d, VERDICT_WARN, "socket",
			   "the host makes new sockets within seconds; if it does not: "
			   "cadre restart",
			   "process %d runs, but its sockets are gone", (int)holder);
	else if (holder && !client_hosted(d->cli->client))
		doctor_say(d, VERDICT_BAD, "socket",
			   "see `cadre logs`; restart the host: cadre down, then cadre "
			   "up",
			   "process %d holds the lock but does not answer at %s",
			   (int)holder, d->cli->home.socket);
	else if (version && strcmp(version, CADRE_VERSION))
		doctor_say(d, VERDICT_WARN, "version",
			   "restart the host: cadre down, then cadre up",
			   "the host has version %s, this program has version %s",
			   version, CADRE_VERSION);
	else if (version)
		doctor_say(d, VERDICT_OK, "version", NULL, "%s, schema %lld", version,
			   json_int_at(status, "schema_version"));
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

/* Reports agents that cannot continue their work. `cadre status` reports the same agents. */
void check_agents(struct doctor *d)
{
	struct fault f = { 0 };
	json_t *status = run_args(d->cli, op_state_status, json_object(), &f), *need;
	size_t i;

	json_array_foreach(json_object_get(status, "needs"), i, need) {
		if (strcmp(json_find_text(need, "what"), "agent") == 0)
			doctor_say(d, VERDICT_WARN, "agent", NULL, "%s %s: %s",
				   json_text_at(need, "name"), json_text_at(need, "text"),
				   json_text_at(need, "command"));
	}
	json_decref(status);
}

/* Whether the state's own socket exists although no process listens at this socket. Returns
 * false also if the test fails. A file that is no socket refuses connections too, so the type
 * is checked. The socket in $CADRE_SOCKET may belong to another state, so only a socket in the
 * state's run folder counts. */
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

/* Whether the file with a host's HTTP URL exists. If no host runs, the file is a leftover of an
 * earlier host. */
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
			   DOCTOR_FIX "the next start of a host replaces the file",
			   "a host that was killed has left %s", home->socket);
	if (endpoint_left(home, path))
		doctor_say(d, VERDICT_WARN, "endpoint",
			   DOCTOR_FIX "the next start of a host writes the file again",
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

/* Checks of the guests of a state's workspaces, and checks of the processes, folders and
 * networks that guests have left on the machine. */

enum { PATIENCE_MS = 10000, LOOK_MS = 20 };

/* Backends whose guests are processes of this machine. `folder`: a folder in the state's
 * folder, with one subfolder for each guest of the backend. */
static const struct {
	const struct backend *backend;
	const char *folder;
} kinds[] = {
	{ &backend_qemu, "disks" },
	{ &backend_process, "guests" },
};

/* --- guests with a row ------------------------------------------------------------ */

/* The letter of a process's state in /proc. 0: the process has ended, or is a zombie. */
static char doctor_guests_state_of(pid_t pid)
{
	char path[40], line[512];
	const char *s = NULL;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	in = fopen(path, "re");
	if (in && fgets(line, sizeof(line), in))
		s = strrchr(line, ')');
	if (in)
		fclose(in);
	return s && s[1] == ' ' && !strchr("ZX", s[2]) ? s[2] : '\0';
}

/* Whether a row names a guest of this machine that no longer runs. The guest's pid may belong
 * to another process now. */
static bool is_dead(const struct doctor *d, const json_t *row)
{
	const struct backend *m = NULL;
	struct process p;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(json_text_at(row, "backend"), kinds[i].backend->name))
			m = kinds[i].backend;
	return m && !strcmp(json_text_at(row, "state"), "ready") &&
	       !json_object_get(row, "host") && (pid_t)json_int_at(row, "pid") > 0 &&
	       !m->seek(d->cli->home.dir, json_text_at(row, "id"), &p);
}

/* Whether the doctor itself can correct the row of a dead guest. Only a host decides about a
 * dead VM, because only a host finds out whether the VM ended alone or together with the
 * machine. */
static bool is_mended(const struct doctor *d, const json_t *row)
{
	return is_dead(d, row) && !strcmp(json_text_at(row, "backend"), "process");
}

/* Whether a host has to start the workspace's guest. */
static bool is_waiting(const json_t *row)
{
	return !strcmp(json_text_at(row, "state"), "ready") &&
	       !json_object_get(row, "host") && (pid_t)json_int_at(row, "pid") <= 0 &&
	       strcmp(json_text_at(row, "backend"), "attach") != 0;
}

static bool doctor_guests_check_guest(struct doctor *d, const json_t *row)
{
	bool hosted = home_holder(&d->cli->home);
	bool lost = is_dead(d, row) || (hosted && is_waiting(row));

	if (!lost && strcmp(json_text_at(row, "state"), "failed") != 0)
		return true;
	doctor_say(d, VERDICT_WARN, "guest",
		   hosted              ? "start it with `cadre workspace start`, or see "
					 "`cadre logs`"
		   : is_mended(d, row) ? DOCTOR_FIX "start a host: cadre up"
				       : "start a host: cadre up",
		   "%s is %s", json_text_at(row, "name"),
		   lost ? "not running" : "failed");
	return false;
}

/* Adds a team's workspaces to d->known, with their ids as keys. */
static void list_team(struct doctor *d, const json_t *team, struct fault *f)
{
	json_t *rows = run_rows(d->cli, op_workspace_list, "workspaces", "team",
				json_object_get(team, "name"), f),
	       *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		json_object_set(d->known, json_text_at(row, "id"), row);
	}
	json_decref(rows);
}

static int list_guests(struct doctor *d, struct fault *f)
{
	json_t *teams = run_rows(d->cli, op_team_list, "teams", NULL, NULL, f), *team;
	size_t i;

	json_decref(d->known);
	d->known = json_object();
	json_array_foreach(teams, i, team) {
		list_team(d, team, f);
	}
	json_decref(teams);
	if (!f->code)
		return 0;
	json_decref(d->known);
	d->known = NULL;
	return f->code;
}

void check_guests(struct doctor *d)
{
	struct fault f = { 0 };
	size_t dead = 0, waiting = 0;
	const char *id;
	json_t *row;

	if (list_guests(d, &f) < 0) {
		doctor_say(d, VERDICT_WARN, "guests", f.hint, "%s", f.text);
		return;
	}
	json_object_foreach(d->known, id, row) {
		dead += !doctor_guests_check_guest(d, row);
		waiting += !home_holder(&d->cli->home) && is_waiting(row);
	}
	if (!dead && waiting)
		doctor_say(d, VERDICT_OK, "guests", NULL,
			   "%zu; a host will start %zu of them",
			   json_object_size(d->known), waiting);
	else if (!dead)
		doctor_say(d, VERDICT_OK, "guests", NULL, "%zu, none dead",
			   json_object_size(d->known));
}

/* Stores in a workspace's row that its guest has no process. After the change of the row, the
 * agent counts as offline, and a host starts the guest again. */
static int note_dead(struct doctor *d, struct store *store, const json_t *row,
		     struct fault *f)
{
	struct call call = { .store = store };
	json_t *args;
	int64_t id, at;
	int rc = call_begin(&call, false);

	if (rc == 0)
		rc = id_parse(&call, ID_WORKSPACE, json_text_at(row, "id"), &id, &at);
	store_rollback(store);
	arena_release(&call.arena);
	if (rc <= 0)
		return fault_set(f, FAULT_NOT_FOUND, "", "%.100s is gone",
				 json_text_at(row, "name"));
	args = json_pack("{sI,si,si,sb,ss}", "workspace", (json_int_t)id, "pid", 0,
			 "pid_start", 0, "offline", 1, "detail",
			 "its process is gone: found by cadre doctor");
	call = (struct call){ 0 };
	doctor_call(d, store, op_workspace_note, args, &call, f);
	json_decref(args);
	arena_release(&call.arena);
	if (!f->code)
		doctor_did(
			d,
			"%s: process %d is gone, and its row now says so; a host starts "
			"the guest again",
			json_text_at(row, "name"), (int)(pid_t)json_int_at(row, "pid"));
	return f->code;
}

int fix_guests(struct doctor *d, struct fault *f)
{
	struct store *store = NULL;
	const char *id;
	json_t *row;

	/* A host may have changed the rows before this process took the lock. */
	if (list_guests(d, f) < 0 || doctor_open(d, &store, f) < 0)
		return f->code;
	json_object_foreach(d->known, id, row) {
		if (is_mended(d, row) && note_dead(d, store, row, f) < 0)
			break;
	}
	store_close(store);
	return f->code;
}

/* --- guests that a signal has stopped ------------------------------------------------ */

/* Calls `each` for every guest of this machine that has a row and is paused by a signal. A
 * guest that a debugger has paused is left out. */
static void visit_stopped(struct doctor *d,
			  void (*each)(struct doctor *d, const char *name, pid_t pid))
{
	const char *id;
	json_t *row;

	if (!d->known)
		return;
	json_object_foreach(d->known, id, row) {
		for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
			const struct backend *m = kinds[i].backend;
			struct process p;

			if (m->seek(d->cli->home.dir, id, &p) &&
			    doctor_guests_state_of((pid_t)p.pid) == 'T')
				each(d, json_text_at(row, "name"), (pid_t)p.pid);
		}
	}
}

static void doctor_guests_tell_stopped(struct doctor *d, const char *name, pid_t pid)
{
	doctor_say(d, VERDICT_BAD, "daemon", DOCTOR_FIX "let the guest go on: kill -CONT",
		   "the guest of %s, process %d, is stopped", name, (int)pid);
}

static void doctor_guests_go_on(struct doctor *d, const char *name, pid_t pid)
{
	if (kill(pid, SIGCONT) == 0)
		doctor_did(d, "the guest of %s, process %d, goes on", name, (int)pid);
}

void check_stuck(struct doctor *d)
{
	visit_stopped(d, doctor_guests_tell_stopped);
}

int fix_stuck(struct doctor *d, struct fault *f)
{
	(void)f;
	visit_stopped(d, doctor_guests_go_on);
	poll(NULL, 0, LOOK_MS);
	return 0;
}

/* --- guests without a row ------------------------------------------------------------------ */

struct strangers {
	struct arena arena;
	struct stranger {
		const struct backend *backend;
		const char *place; /* the guest's folder */
		struct process process;
	} * v;
	size_t n;
	size_t folders; /* folders in guests/ that belong to no workspace */
};

/* Whether an entry of a folder is a regular file. Some file systems do not give the type of an
 * entry when a folder is read. */
static bool doctor_guests_is_file(DIR *dir, const struct dirent *e)
{
	struct stat st;

	if (e->d_type != DT_UNKNOWN)
		return e->d_type == DT_REG;
	return !fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
	       S_ISREG(st.st_mode);
}

static void doctor_guests_find_in(struct doctor *d, const struct backend *m,
				  const char *folder, struct strangers *s)
{
	const char *home = d->cli->home.dir;
	const char *path = arena_printf(&s->arena, "%s/%s", home, folder);
	DIR *dir = opendir(path);
	struct stranger x = { .backend = m };
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] == '.' || doctor_guests_is_file(dir, e) ||
		    json_object_getn(d->known, e->d_name, strcspn(e->d_name, ".")))
			continue;
		s->folders += m == &backend_process;
		if (!m->seek(home, e->d_name, &x.process))
			continue;
		x.place = arena_printf(&s->arena, "%s/%s", path, e->d_name);
		arena_add(&s->arena, s->v, s->n, x);
	}
	if (dir)
		closedir(dir);
}

static void find_strangers(struct doctor *d, struct strangers *s)
{
	*s = (struct strangers){ 0 };
	for (size_t i = 0; d->known && i < sizeof(kinds) / sizeof(*kinds); i++)
		doctor_guests_find_in(d, kinds[i].backend, kinds[i].folder, s);
}

void check_orphans(struct doctor *d)
{
	const char *dir = d->cli->home.dir;
	struct strangers s;
	char path[4200];

	find_strangers(d, &s);
	for (size_t i = 0; i < s.n; i++)
		doctor_say(
			d, VERDICT_WARN, "guest",
			DOCTOR_FIX "the next start of a host ends the process; its "
				   "files stay",
			"process %lld runs in %s, a workspace that the state does not know",
			(long long)s.v[i].process.pid, s.v[i].place);
	snprintf(path, sizeof(path), "%s/replaced", dir);
	if (s.folders)
		doctor_say(
			d, VERDICT_WARN, "guests",
			access(path, F_OK) == 0
				? "remove replaced/: the next start of a host then removes "
				  "them"
				: "the next start of a host removes them",
			"%zu folder%s in %s/guests belong%s to no workspace", s.folders,
			s.folders > 1 ? "s" : "", dir, s.folders > 1 ? "" : "s");
	arena_release(&s.arena);
}

static size_t stop_all(const struct strangers *s, bool stop, bool now)
{
	struct fault ignored = { 0 };
	size_t alive = 0;

	for (size_t i = 0; i < s->n; i++) {
		struct stranger *x = &s->v[i];

		if (stop)
			x->backend->stop(&x->process, now, &ignored);
		alive += x->backend->alive(&x->process);
	}
	return alive;
}

/* Ends guests that have no row, as a starting host does. Makes the folder replaced/ first,
 * because later hosts leave the guests' files in place if this folder exists. Reads the
 * workspaces' rows again, because a host may have added rows before this process took the lock. */
int fix_orphans(struct doctor *d, struct fault *f)
{
	struct strangers s;
	char path[4200];
	size_t alive;

	if (list_guests(d, f) < 0)
		return f->code;
	find_strangers(d, &s);
	snprintf(path, sizeof(path), "%s/replaced", d->cli->home.dir);
	if (s.n && dir_make(path, 0700))
		fault_set(f, FAULT_IO, "", "cannot make %.150s: %m", path);
	alive = f->code ? 0 : stop_all(&s, true, false);
	for (int ms = 0; alive && ms < PATIENCE_MS; ms += LOOK_MS) {
		poll(NULL, 0, LOOK_MS);
		alive = stop_all(&s, ms == PATIENCE_MS / 2, true);
	}
	for (size_t i = 0; i < s.n && !f->code; i++)
		if (!s.v[i].backend->alive(&s.v[i].process))
			doctor_did(d, "process %lld is ended; its files stay in %s",
				   (long long)s.v[i].process.pid, s.v[i].place);
	arena_release(&s.arena);
	return f->code;
}

/* --- the network of VMs ----------------------------------------------------------------------- */

void check_network(struct doctor *d)
{
	const struct sql_network_trouble_in in = { .host = store_host(d->store) };
	struct network_trouble_row row = { 0 };
	struct arena arena = { 0 };
	struct fault f = { 0 };

	if (store_begin(d->store, false, &f) == 0 &&
	    store_row(d->store, sql_network_trouble, &in, &row, sizeof(row), &arena, &f) >
		    0)
		doctor_say(d, VERDICT_WARN, "network", "then start the VMs again", "%s",
			   row.network_fault);
	store_rollback(d->store);
	arena_release(&arena);
}

/* Whether this state's bridge, taps and tables still exist although no VM runs. The name of
 * each bridge, tap and table ends in the tag of its state. */
static bool doctor_guests_is_left(struct doctor *d, struct net_linux *net)
{
	return !guests_running(d->cli->home.dir) &&
	       net->network.present(net->network.self, d->cli->home.settings.tag);
}

void check_taps(struct doctor *d)
{
	struct net_linux net;

	net_linux_init(&net);
	if (!home_holder(&d->cli->home) && doctor_guests_is_left(d, &net))
		doctor_say(d, VERDICT_WARN, "network",
			   DOCTOR_FIX
			   "the next host uses the bridge again, or removes it",
			   "the bridge br-cadre%s, its taps and its rules are left over, "
			   "and no VM runs",
			   d->cli->home.settings.tag);
	net_linux_release(&net);
}

int fix_taps(struct doctor *d, struct fault *f)
{
	if (guests_end_network(&d->cli->home, f) > 0)
		doctor_did(d,
			   "the bridge br-cadre%s, its taps and its tables are removed",
			   d->cli->home.settings.tag);
	return f->code;
}
