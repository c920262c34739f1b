#include "core/host/workspaces/reconcile.h"

#include <dirent.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/access/token.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/host/host_inside.h"
#include "core/host/turns/hosted_turn.h"
#include "core/machine/machine_copy.h"
#include "core/machine/trash.h"
#include "core/workspace/workspace.h"
#include "storage/durable.h"
#include "ops.gen.h"

/* --- sweep ------------------------------------------------------------------- */

/*
 * Ends the guests and removes the folders that an earlier host left and that belong to no row.
 *
 * An earlier host may have ended before it had completely made or destroyed a workspace. The
 * sweep removes the folders of such workspaces. A running guest whose workspace has no row
 * belongs to a former state, which was replaced by a backup or a new state. The sweep ends the
 * guests of a former state, but first makes the folder `replaced` in the state folder. If the
 * folder `replaced` exists, no later host removes folders without a row. If the folder
 * `replaced` cannot be made, the guests of the former state are not ended.
 */

enum {
	SWEEP_MOST = 256, /* maximum number of folders of each kind that one sweep
			     removes */
	PATIENCE_MS = 5000, /* wait after SIGTERM, and again after SIGKILL */
	LOOK_MS = 20,
};

/* A guest whose workspace has no row. */
struct orphan {
	const char *id; /* id of the guest's workspace */
	const struct backend *backend;
	struct process process;
	bool lives; /* the guest still runs when end_orphans() returns */
};

/* A sweep does two pieces of work in the thread pool. First the sweep ends the guests of a
 * former state; no other guest is started meanwhile. Then the sweep removes folders, and the
 * host may start guests meanwhile. */
struct sweep {
	uv_work_t work;
	struct host *host;
	struct arena arena;
	const char *home;
	const char **folders; /* folders to be removed */
	const char **guests, **disks; /* names in guests/ and in disks/ that belong to no
					 row */
	size_t n_folders, n_guests, n_disks;
	struct orphan *orphans;
	size_t n_orphans;
	bool keeps; /* no folder is removed, since a folder may be of a former state */
	struct trash_bounds trash;
	struct fault fault; /* the reason why guests were not ended */
};

/* Whether the sweep keeps the entry `name`. The entry stays if `name` is the name of a
 * workspace's folder, or a workspace's id with or without an extension. The entry also stays if
 * `name` is the id of a workspace from which another workspace will be copied. */
static bool sweep_is_known(struct host *host, const char *name)
{
	size_t bare = strcspn(name, ".");

	for (struct hosted_workspace *p = host->reconcile->places; p; p = p->next) {
		const char *slash = p->spec.path ? strrchr(p->spec.path, '/') : NULL;

		if ((slash && !strcmp(slash + 1, name)) ||
		    (strlen(p->spec.id) == bare && !strncmp(p->spec.id, name, bare)) ||
		    (p->spec.parent && p->state == WORKSPACE_STATE_CREATING &&
		     !strcmp(p->spec.parent, name)))
			return true;
	}
	return false;
}

/* --- guests of a former state ------------------------------------------------------- */

static void seek(struct sweep *s, const struct backend *m, const char *const *ids,
		 size_t n)
{
	struct process process = { 0 };

	for (size_t i = 0; i < n; i++)
		if (m->seek(s->home, ids[i], &process))
			arena_add(&s->arena, s->orphans, s->n_orphans,
				  (struct orphan){ ids[i], m, process, false });
}

/* The number of orphaned guests that still run. */
static size_t count_alive(const struct sweep *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_orphans; i++)
		n += s->orphans[i].backend->alive(&s->orphans[i].process);
	return n;
}

static void sweep_stop(const struct sweep *s, bool now)
{
	struct fault ignored = { 0 };

	for (size_t i = 0; i < s->n_orphans; i++)
		s->orphans[i].backend->stop(&s->orphans[i].process, now, &ignored);
}

static void stop_orphans(struct sweep *s)
{
	sweep_stop(s, false);
	for (int ms = 0; count_alive(s) && ms < 2 * PATIENCE_MS; ms += LOOK_MS) {
		if (ms == PATIENCE_MS)
			sweep_stop(s, true);
		poll(NULL, 0, LOOK_MS);
	}
}

/* Ends the guests of a former state. After the guests have ended, only the folder replaced/
 * tells the next host that the guests' folders are of a former state. So if replaced/ cannot be
 * made, the guests are not ended. Whether the guests are ended or not, this sweep removes no
 * folder. */
static void end_orphans(struct sweep *s)
{
	const char *replaced = arena_printf(&s->arena, "%s/replaced", s->home);

	seek(s, &backend_process, s->guests, s->n_guests);
	seek(s, &backend_qemu, s->disks, s->n_disks);
	if (!s->n_orphans)
		return;
	s->keeps = true;
	if (dir_make(replaced, 0700))
		fault_set(&s->fault, FAULT_IO, "", "cannot make %.150s: %m", replaced);
	else
		stop_orphans(s);
	for (size_t i = 0; i < s->n_orphans; i++) {
		struct orphan *o = &s->orphans[i];

		o->lives = o->backend->alive(&o->process);
	}
}

/* --- folders without a row ------------------------------------------------------------- */

static void sweep_free(struct sweep *s)
{
	arena_release(&s->arena);
	free(s);
}

/* Renames the folders that will be removed, since a new workspace may use the name of such a
 * folder before the removal. */
static void rename_folders(struct sweep *s)
{
	for (size_t i = 0; i < s->n_folders; i++) {
		const char *gone = arena_printf(&s->arena, "%s.gone", s->folders[i]);

		s->folders[i] = rename(s->folders[i], gone) ? NULL : gone;
	}
}

static void before_starts(uv_work_t *work)
{
	struct sweep *s = work->data;

	end_orphans(s);
	if (!s->keeps)
		rename_folders(s);
}

/* The name that a renamed folder in `HOME/PARENT` had before the renaming. Returns NULL if the
 * folder is in another folder, or is a copy that was never complete. */
static const char *called_in(struct sweep *s, const char *parent, const char *folder)
{
	const char *top = arena_printf(&s->arena, "%s/%s/", s->home, parent);
	size_t n = strlen(top), len;

	if (strncmp(folder, top, n) != 0)
		return NULL;
	len = trash_called(folder + n);
	return len ? arena_strndup(&s->arena, folder + n, len) : NULL;
}

/* Moves the folder of a workspace, or a folder of snapshots, into the trash. If the move fails,
 * the caller must not remove the folder. The folder may be the content of a destroyed
 * workspace, which must then not be lost. A folder of snapshots has the workspace's id as its
 * name. The entries of the trash contain this id in place of the workspace's name. */
static int keep_folder(struct sweep *s, const char *folder, struct fault *f)
{
	const char *workspace = called_in(s, "workspaces", folder),
		   *id = called_in(s, "snapshots", folder);
	int64_t now = clock_wall_ms();

	if (workspace)
		return trash_take(s->home, folder, workspace, now, &s->trash, f);
	return id ? trash_take_snapshots(s->home, folder, id, now, &s->trash, f) : 0;
}

static void sweep_remove_folder(struct sweep *s, const char *folder)
{
	struct fault f = { 0 };

	if (keep_folder(s, folder, &f) < 0)
		log_line(s->host->log, LOG_LEVEL_WARN,
			 "a folder that the state does not know cannot be removed",
			 LOG_TEXT("folder", folder), LOG_FAULT(&f));
	else
		tree_remove(folder, &f);
}

static void sweep_remove_folders(uv_work_t *work)
{
	struct sweep *s = work->data;

	for (size_t i = 0; !s->keeps && i < s->n_folders; i++)
		if (s->folders[i]) /* NULL: the folder could not be renamed */
			sweep_remove_folder(s, s->folders[i]);
	trash_trim(s->home, clock_wall_ms(), &s->trash);
	if (!s->keeps)
		backend_qemu.sweep(s->home, s->disks, s->n_disks);
}

static void on_removed(uv_work_t *work, int status)
{
	(void)status;
	sweep_free(work->data);
}

static void log_ended(struct sweep *s)
{
	struct log *log = s->host->log;

	if (s->fault.code)
		log_line(log, LOG_LEVEL_ERROR,
			 "guests that the state does not know cannot be ended",
			 LOG_FAULT(&s->fault));
	for (size_t i = 0; i < s->n_orphans; i++)
		log_line(
			log, s->orphans[i].lives ? LOG_LEVEL_ERROR : LOG_LEVEL_WARN,
			s->orphans[i].lives
				? "a guest that the state does not know still runs"
				: "a guest that the state does not know was ended; its files stay",
			LOG_TEXT("workspace", s->orphans[i].id),
			LOG_NUMBER("pid", s->orphans[i].process.pid));
	if (s->keeps)
		log_line(
			log, LOG_LEVEL_INFO,
			"guests and folders that the state does not know are kept: they may "
			"belong to the former state, in `replaced`",
			LOG_TEXT("state", s->home));
}

static void sweep_on_ended(uv_work_t *work, int status)
{
	struct sweep *s = work->data;
	struct host *host = s->host;

	host->reconcile->sweeping = false;
	log_ended(s);
	if (status || host->stopping ||
	    uv_queue_work(&host->loop, work, sweep_remove_folders, on_removed))
		sweep_free(s);
}

/* Lists at most `most` entries that belong to no row. `folder` is a folder in the state folder. */
static void list_unknown(struct sweep *s, const char *folder, size_t most,
			 const char ***out, size_t *n)
{
	size_t end = most < SIZE_MAX - *n ? *n + most : SIZE_MAX;

	DIR *dir = opendir(arena_printf(&s->arena, "%s/%s", s->home, folder));
	struct dirent *e;

	while (dir && *n < end && (e = readdir(dir)))
		if (e->d_name[0] != '.' && !sweep_is_known(s->host, e->d_name))
			arena_add(&s->arena, *out, *n,
				  arena_strdup(&s->arena, e->d_name));
	if (dir)
		closedir(dir);
}

static void list_folders(struct sweep *s, const char *folder)
{
	size_t from = s->n_folders;

	list_unknown(s, folder, SWEEP_MOST, &s->folders, &s->n_folders);
	for (; from < s->n_folders; from++)
		s->folders[from] = arena_printf(&s->arena, "%s/%s/%s", s->home, folder,
						s->folders[from]);
}

/* Starts the sweep, once, after the first reading of the rows. Before the sweep this host has
 * made no workspace, so a folder that the state does not know cannot be new. First the thread
 * pool ends guests; guests that still run after ten seconds are logged. While guests are being
 * ended, host->reconcile->sweeping is set. Then the thread pool removes folders, and the host
 * may start guests meanwhile. */
static void sweep_start(struct host *host)
{
	struct sweep *s = calloc(1, sizeof(*s));

	if (!s)
		return;
	s->host = host;
	s->home = host->home->dir;
	s->trash = (struct trash_bounds){ settings_keep_ms(&host->home->settings),
					  settings_trash_bytes(&host->home->settings) };
	s->keeps = access(arena_printf(&s->arena, "%s/replaced", s->home), F_OK) == 0;
	/* Snapshots are moved into the trash before their workspaces. */
	list_folders(s, "snapshots");
	list_folders(s, "workspaces");
	list_folders(s, "guests");
	list_unknown(s, "guests", SIZE_MAX, &s->guests, &s->n_guests);
	list_unknown(s, "disks", SIZE_MAX, &s->disks, &s->n_disks);
	s->work.data = s;
	if (uv_queue_work(&host->loop, &s->work, before_starts, sweep_on_ended)) {
		log_line(
			host->log, LOG_LEVEL_ERROR,
			"no memory to look for guests and folders that the state does not know",
			LOG_NOTHING);
		sweep_free(s);
		return;
	}
	host->reconcile->sweeping = true;
}

enum {
	QUICK_MS = 25, /* pause if a step is due soon */
	SLOW_MS = 500,
	IDLE_MS = 2000, /* pause if there is no workspace */
	READ_MS = 5000, /* time between two readings of the rows, which other processes
			   may write */
};

/* --- known workspaces ------------------------------------------------------------ */

struct hosted_workspace *reconcile_place(struct host *host, int64_t row)
{
	struct hosted_workspace *p = host->reconcile->places;

	while (p && p->row != row)
		p = p->next;
	return p;
}

bool reconcile_is_forked(struct host *host, int64_t row)
{
	for (struct hosted_workspace *p = host->reconcile->places; p; p = p->next)
		if (p->parent_row == row && !p->made &&
		    (p->state == WORKSPACE_STATE_CREATING || p->busy))
			return true;
	return false;
}

/* Makes the path from a row absolute. A relative path begins at the state folder. */
static const char *absolute(struct arena *a, const char *home, const char *path)
{
	if (!path || path[0] == '/')
		return path;
	return arena_printf(a, "%s/%s", home, path);
}

/* Copies the texts of a workspace into one block of memory, which the workspace owns. */
static void reconcile_keep_texts(struct hosted_workspace *p,
				 const struct workspace_spec *from, const char *restore)
{
	const struct {
		const char *in, **out;
	} texts[] = {
		{ from->id, &p->spec.id },
		{ from->name, &p->spec.name },
		{ from->path, &p->spec.path },
		{ from->source, &p->spec.source },
		{ from->parent, &p->spec.parent },
		{ from->parent_sockets, &p->spec.parent_sockets },
		{ from->snapshot, &p->spec.snapshot },
		{ from->sockets, &p->spec.sockets },
		{ from->address, &p->spec.address },
		{ from->door, &p->spec.door },
		{ from->link_token, &p->spec.link_token },
		{ from->team, &p->spec.team },
		{ from->agent, &p->spec.agent },
		{ from->token, &p->spec.token },
		{ from->image, &p->spec.image },
		{ restore, &p->restore },
	};
	size_t room = 0;
	char *at;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		room += texts[i].in ? strlen(texts[i].in) + 1 : 0;
	at = xmalloc(room);
	free(p->texts);
	p->texts = at;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		size_t size = texts[i].in ? strlen(texts[i].in) + 1 : 0;

		*texts[i].out = texts[i].in ? at : NULL;
		if (size)
			memcpy(at, texts[i].in, size);
		at += size;
	}
}

static const char *sockets_of(const struct home *home, int64_t row, struct arena *a)
{
	return arena_printf(a, "%s/w%lld", home->run, (long long)row);
}

static void set_spot(struct hosted_workspace *p, const struct host_workspace *w,
		     struct arena *a)
{
	const struct home *home = p->host->home;
	char token[TOKEN_SIZE] = "";
	struct workspace_spec spec = {
		.id = w->id,
		.name = w->name,
		.path = absolute(a, home->dir, w->path),
		.source = absolute(a, home->dir, w->source),
		.parent = w->parent,
		.snapshot = w->snapshot,
		.sockets = sockets_of(home, w->row, a),
		.door = home->socket,
		.address = w->address,
		.link_token = w->link_token,
		.team = w->team,
		.agent = w->agent,
		.image = w->image,
	};

	if (!spec.address)
		spec.address = arena_printf(a, "unix:%s", spec.sockets);
	if (w->parent)
		spec.parent_sockets = sockets_of(home, w->parent_row, a);
	if (w->has_agent_row)
		token_make(home->settings.secret, w->agent_row, w->generation, token);
	spec.token = token;
	reconcile_keep_texts(p, &spec, w->restore);
	p->stopped = w->stopped;
	if (p->guest) {
		hosted_guest_rename(p->guest, p->spec.team, p->spec.agent);
		if (!p->backend->address)
			hosted_guest_move(p->guest, p->spec.address);
		halt_want(p->guest, w->stopped, w->halted);
	}
	p->parent_row = w->parent_row;
	p->spec.http_port = (int)home->settings.config.guest_http_port;
	p->spec.restores = w->restores;
	snprintf(p->spool, sizeof(p->spool), "%s", w->spool ? w->spool : "");
	p->spool_seq = w->spool_seq;
	p->spec.was_up = *p->spool != '\0';
	p->spec.vcpus = w->vcpus;
	p->spec.memory_mb = w->memory_mb;
	p->spec.disk_gb = w->disk_gb;
	p->spec.home = home->dir;
	p->spec.program = p->host->options->program;
}

static const struct backend *const machines[] = {
	[BACKEND_KIND_PROCESS] = &backend_process,
	[BACKEND_KIND_ATTACH] = &backend_attach,
	[BACKEND_KIND_QEMU] = &backend_qemu,
	[BACKEND_KIND_FOLDER] = &backend_folder,
};

static struct hosted_workspace *hosted_new(struct host *host,
					   const struct host_workspace *w)
{
	struct hosted_workspace *p = xcalloc(1, sizeof(*p));

	p->host = host;
	p->row = w->row;
	p->backend = machines[w->backend];
	p->state = w->state;
	p->generation = w->generation;
	p->source_held = -1;
	p->process.pid = w->pid;
	p->process.start = w->pid_start;
	p->process.cid = w->cid;
	snprintf(p->process.boot, sizeof(p->process.boot), "%s",
		 w->machine_boot ? w->machine_boot : "");
	snprintf(p->boot_told, sizeof(p->boot_told), "%s",
		 w->guest_boot ? w->guest_boot : "");
	if (p->state == WORKSPACE_STATE_FAILED && w->again)
		hosted_look_again(p);
	p->next = host->reconcile->places;
	host->reconcile->places = p;
	return p;
}

/* Acts on a new generation of the workspace's agent. The agent's old token is not valid any
 * more, so the guest's process is ended and started anew with the new token. A guest in a VM is
 * not ended, since it never got the token: the VM's channel proves the agent. */
static void change_generation(struct hosted_workspace *p, int64_t generation)
{
	const struct backend *b = p->backend;
	struct fault f = { 0 };

	if (p->process.pid && b->stop && !b->vm) {
		b->stop(&p->process, false, &f);
		p->killed = true;
	}
	p->generation = generation;
	/* The connection proved the old generation of the agent; the next connection proves the
	 * new generation. */
	hosted_guest_close(p->guest);
	p->guest = NULL;
}

static void take_row(struct host *host, const struct host_workspace *w, struct arena *a)
{
	struct hosted_workspace *p = reconcile_place(host, w->row);

	if (!p)
		p = hosted_new(host, w);
	p->listed = true;
	if (p->busy || p->noting || p->state == HOSTED_OVER ||
	    p->stale_round == host->reconcile->round)
		return;
	p->noted = w->has_pid;
	if (p->state == WORKSPACE_STATE_FAILED && w->state == WORKSPACE_STATE_CREATING)
		p->deaths = 0; /* somebody has started the workspace again */
	hosted_become(p, w->state, BY_ROW);
	p->team_row = w->team_row;
	p->agent_row = w->agent_row;
	p->slot = w->slot;
	set_spot(p, w, a);
	hosted_hold_source(p);
	if (p->generation != w->generation)
		change_generation(p, w->generation);
}

/* --- snapshots of an earlier host ---------------------------------------------------- */

/* Marks the snapshots that an earlier host did not complete as failed. */
static void give_up_snapshots(struct host *host)
{
	host_ask(host, workspace_snapshot_note, job_free, host,
		 .state = SNAPSHOT_STATE_FAILED);
}

/* --- readings and steps ------------------------------------------------------------ */

/* Begins to destroy the workspaces that have no row any more, and frees the workspaces that are
 * destroyed. */
static void drop_unlisted(struct reconcile *r)
{
	struct hosted_workspace **at = &r->places;

	while (*at) {
		struct hosted_workspace *p = *at;

		if (!p->listed && !p->busy && !p->noting && p->state == HOSTED_OVER) {
			*at = p->next;
			hosted_free(p);
			continue;
		}
		if (!p->listed && !p->busy && p->state != HOSTED_OVER)
			hosted_become(p, WORKSPACE_STATE_DESTROYED, BY_ROW);
		at = &p->next;
	}
}

static void reconcile_on_timer(uv_timer_t *timer);

static void step_all(struct host *host)
{
	struct reconcile *r = host->reconcile;
	int64_t now = clock_boot_ms();
	bool soon = r->busy > 0;

	if (reaper_holds(host) || r->sweeping) {
		uv_timer_start(&r->timer, reconcile_on_timer, QUICK_MS, 0);
		return;
	}
	for (struct hosted_workspace *p = r->places; p; p = p->next)
		soon |= hosted_step(p, now);
	hosted_guests_tick(host);
	hosted_turns_tick(host);
	uv_timer_start(&r->timer, reconcile_on_timer,
		       soon        ? QUICK_MS
		       : r->places ? SLOW_MS
				   : IDLE_MS,
		       0);
}

/* Gives each waiting call to its workspace, if the workspace is known. A call is refused if its
 * workspace is not known although the rows were read after the call. */
static void reconcile_hand_out(struct host *host)
{
	struct chain asked = host->reconcile->asked;

	host->reconcile->asked = (struct chain){ 0 };
	for (struct job *job; (job = chain_pop(&asked));) {
		struct hosted_workspace *p =
			reconcile_place(host, job->call.workspace.copied);
		struct chain gone = { 0 };

		if (p)
			chain_add(&p->asked, job);
		else if (job->number > host->reconcile->round)
			chain_add(&host->reconcile->asked, job);
		else
			chain_add(&gone, job);
		hosted_refuse(&gone, FAULT_CONFLICT, "the workspace is gone");
	}
}

void reconcile_ask(struct host *host, struct job *job)
{
	struct reconcile *r = host->reconcile;

	reconcile_poke(host);
	job->due = clock_boot_ms() + call_within(&job->call) * 1000;
	job->number = r->round + r->again;
	chain_add(&r->asked, job);
	if (reconcile_place(host, job->call.workspace.copied))
		reconcile_hand_out(host);
	uv_timer_start(&r->timer, reconcile_on_timer, 0, 0);
}

static void reconcile_on_rows(struct job *job)
{
	struct host *host = job->owner;
	struct reconcile *r = host->reconcile;
	const struct workspace_rows_out *out = job->call.out;

	r->reading = false;
	if (!host->stopping && !job->call.fault.code) {
		for (struct hosted_workspace *p = r->places; p; p = p->next)
			p->listed = false;
		for (size_t i = 0; i < out->n_rows; i++)
			take_row(host, &out->rows[i], &job->call.arena);
		reconcile_hand_out(host);
		drop_unlisted(r);
		if (!r->swept && out->n_rows < WORKSPACE_ROWS)
			sweep_start(host);
		r->swept = true;
		step_all(host);
	}
	job_free(job);
	if (r->again)
		reconcile_poke(host);
}

void reconcile_poke(struct host *host)
{
	struct reconcile *r = host->reconcile;

	if (host->stopping)
		return;
	network_poke(host);
	r->again = r->reading;
	if (r->reading)
		return;
	r->reading = true;
	r->round++;
	r->read_at = clock_boot_ms();
	host_submit(host, host_job(host, op_workspace_rows, reconcile_on_rows, host));
}

static void reconcile_on_timer(uv_timer_t *timer)
{
	struct host *host = timer->data;

	if (clock_boot_ms() - host->reconcile->read_at > READ_MS)
		reconcile_poke(host);
	step_all(host);
}

static void reconcile_make(struct host *host)
{
	uv_timer_init(&host->loop, &host->reconcile->timer);
	host->reconcile->timer.data = host;
}

/* Marks the unfinished snapshots of an earlier host as failed, and begins to read the rows. */
static void reconcile_start(struct host *host)
{
	give_up_snapshots(host);
	reconcile_poke(host);
}

/* Refuses the calls that wait. The guests are not ended. */
static void reconcile_close(struct host *host)
{
	struct reconcile *r = host->reconcile;

	for (struct hosted_workspace *p = r->places; p; p = p->next)
		hosted_refuse(&p->asked, FAULT_UNAVAILABLE, "the host is stopping");
	hosted_refuse(&r->asked, FAULT_UNAVAILABLE, "the host is stopping");
	uv_close((uv_handle_t *)&host->reconcile->timer, NULL);
}

static void reconcile_release(struct host *host)
{
	while (host->reconcile->places) {
		struct hosted_workspace *p = host->reconcile->places;

		host->reconcile->places = p->next;
		free(p->texts);
		free(p);
	}
}

const struct host_room room_reconcile = {
	.size = sizeof(struct reconcile),
	.make = reconcile_make,
	.start = reconcile_start,
	.close = reconcile_close,
	.release = reconcile_release,
};
