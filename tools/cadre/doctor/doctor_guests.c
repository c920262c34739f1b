/* doctor_guests - guests of a state's workspaces, and what they have left on the machine. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/call/id.h"
#include "core/machine/backend.h"
#include "core/machine/net/net_linux.h"
#include "ops.gen.h"
#include "storage/durable.h"
#include "tools/cadre/doctor/doctor.h"

enum { PATIENCE_MS = 10000, LOOK_MS = 20 };

/* Backends whose guests are processes of this machine, and their folders in the state's. */
static const struct {
	const struct backend *backend;
	const char *folder;
} kinds[] = {
	{ &backend_qemu, "disks" },
	{ &backend_process, "guests" },
};

/* --- guests that rows know -------------------------------------------------------- */

static const char *doctor_guests_text_of(const json_t *row, const char *name)
{
	const char *s = json_string_value(json_object_get(row, name));

	return s ? s : "";
}

static pid_t doctor_guests_pid_of(const json_t *row)
{
	return (pid_t)json_integer_value(json_object_get(row, "pid"));
}

/* The state of a process as /proc tells it; 0: it is no more, reaped or not. */
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

/* Whether a row of this machine names a guest that is no more; its pid may be another's now. */
static bool is_dead(const struct doctor *d, const json_t *row)
{
	const struct backend *m = NULL;
	struct process p;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(doctor_guests_text_of(row, "backend"),
			    kinds[i].backend->name))
			m = kinds[i].backend;
	return m && !strcmp(doctor_guests_text_of(row, "state"), "ready") &&
	       !json_object_get(row, "host") && doctor_guests_pid_of(row) > 0 &&
	       !m->seek(m->self, d->cli->home.dir, doctor_guests_text_of(row, "id"), &p);
}

/* Whether the doctor can correct the row of a dead guest here.  Only a host decides about a dead
 * VM: the host finds out whether its machine went down with the VM. */
static bool is_mended(const struct doctor *d, const json_t *row)
{
	return is_dead(d, row) &&
	       !strcmp(doctor_guests_text_of(row, "backend"), "process");
}

/* Whether a host has to start it. */
static bool is_waiting(const json_t *row)
{
	return !strcmp(doctor_guests_text_of(row, "state"), "ready") &&
	       !json_object_get(row, "host") && doctor_guests_pid_of(row) <= 0 &&
	       strcmp(doctor_guests_text_of(row, "backend"), "attach") != 0;
}

static bool doctor_guests_check_guest(struct doctor *d, const json_t *row)
{
	bool hosted = home_holder(&d->cli->home);
	bool lost = is_dead(d, row) || (hosted && is_waiting(row));

	if (!lost && strcmp(doctor_guests_text_of(row, "state"), "failed") != 0)
		return true;
	doctor_say(d, VERDICT_WARN, "guest",
		   hosted              ? "cadre workspace start, or see `cadre logs`"
		   : is_mended(d, row) ? DOCTOR_FIX "start a host: cadre up"
				       : "start a host: cadre up",
		   "%s is %s", doctor_guests_text_of(row, "name"),
		   lost ? "not running" : "failed");
	return false;
}

/* Adds a team's workspaces to d->known, by their ids. */
static void list_team(struct doctor *d, const json_t *team, struct fault *f)
{
	json_t *rows = run_rows(d->cli, op_workspace_list, "workspaces", "team",
				json_object_get(team, "name"), f),
	       *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		json_object_set(d->known, doctor_guests_text_of(row, "id"), row);
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
			   "%zu, of which a host starts %zu", json_object_size(d->known),
			   waiting);
	else if (!dead)
		doctor_say(d, VERDICT_OK, "guests", NULL, "%zu, none dead",
			   json_object_size(d->known));
}

/* Notes that a workspace's guest has no process: its agent is not heard of, and a host
 * starts it. */
static int note_dead(struct doctor *d, struct store *store, const json_t *row,
		     struct fault *f)
{
	struct call call = { .store = store };
	json_t *args;
	int64_t id, at;
	int rc = call_begin(&call, false);

	if (rc == 0)
		rc = id_parse(&call, ID_WORKSPACE, doctor_guests_text_of(row, "id"), &id,
			      &at);
	store_rollback(store);
	arena_release(&call.arena);
	if (rc <= 0)
		return fault_set(f, FAULT_NOT_FOUND, "", "%.100s is gone",
				 doctor_guests_text_of(row, "name"));
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
			"%s: process %d is gone, its row says so; a host starts it again",
			doctor_guests_text_of(row, "name"),
			(int)doctor_guests_pid_of(row));
	return f->code;
}

int fix_guests(struct doctor *d, struct fault *f)
{
	struct store *store = NULL;
	const char *id;
	json_t *row;

	/* A host may have changed the rows before the lock. */
	if (list_guests(d, f) < 0 || doctor_open(d, &store, f) < 0)
		return f->code;
	json_object_foreach(d->known, id, row) {
		if (is_mended(d, row) && note_dead(d, store, row, f) < 0)
			break;
	}
	store_close(store);
	return f->code;
}

/* --- guests that stand still --------------------------------------------------------- */

/* Calls `each` for every guest of this machine that rows know and that a signal has stopped.  A
 * guest stopped by a debugger is left to the debugger's user. */
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

			if (m->seek(m->self, d->cli->home.dir, id, &p) &&
			    doctor_guests_state_of((pid_t)p.pid) == 'T')
				each(d, doctor_guests_text_of(row, "name"), (pid_t)p.pid);
		}
	}
}

static void doctor_guests_tell_stopped(struct doctor *d, const char *name, pid_t pid)
{
	doctor_say(d, VERDICT_BAD, "daemon", DOCTOR_FIX "let it go on: kill -CONT",
		   "the guest of %s, process %d, stands still", name, (int)pid);
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

/* --- guests that no row knows -------------------------------------------------------------- */

struct strangers {
	struct arena arena;
	struct stranger {
		const struct backend *backend;
		const char *place; /* its folder */
		struct process process;
	} * v;
	size_t n;
	size_t folders; /* of workspaces that no row knows, without a guest as well */
};

/* Whether a name is a file; some file systems do not say so in a listing. */
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
		if (!m->seek(m->self, home, e->d_name, &x.process))
			continue;
		x.place = arena_printf(&s->arena, "%s/%s", path, e->d_name);
		*(struct stranger *)arena_push(&s->arena, &s->v, &s->n, sizeof(x)) = x;
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
		doctor_say(d, VERDICT_WARN, "guest",
			   DOCTOR_FIX "the next start of a host ends it; its files stay",
			   "process %lld runs in %s, a workspace that no row knows",
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
			x->backend->stop(x->backend->self, &x->process, now, &ignored);
		alive += x->backend->alive(x->backend->self, &x->process);
	}
	return alive;
}

/* Ends them as a host does that starts: first replaced/ is there, which says to all later
 * hosts that their files stay.  Guests are listed again: a host may have made some before the
 * lock. */
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
		if (!s.v[i].backend->alive(s.v[i].backend->self, &s.v[i].process))
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

/* Whether bridge, taps and tables that end in this state's tag are there though no VM uses
 * them. */
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
		doctor_say(
			d, VERDICT_WARN, "network",
			DOCTOR_FIX "the next host uses it again, or removes it",
			"the bridge br-cadre%s, its taps and rules are left, and no VM runs",
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
