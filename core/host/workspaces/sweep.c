#include "core/host/workspaces/sweep.h"

#include <dirent.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/host/host_inside.h"
#include "core/machine/machine_copy.h"
#include "core/machine/trash.h"
#include "storage/durable.h"

enum {
	SWEEP_MOST = 256, /* folders of one kind removed at one start: the next goes on */
	PATIENCE_MS = 5000, /* from asking a guest to end to ending it */
	LOOK_MS = 20,
};

/* A guest that no row knows. */
struct orphan {
	const char *id; /* of its workspace */
	const struct backend *backend;
	struct process process;
	bool lives; /* still, when nothing is waited for any more */
};

/* A sweep does two pieces of work in the thread pool.  First the sweep ends guests; no guest
 * starts before that is done.  Then the sweep removes folders while guests start. */
struct sweep {
	uv_work_t work;
	struct host *host;
	struct arena arena;
	const char *home;
	const char **folders; /* to be removed */
	const char **guests, **disks; /* ids of the workspaces that they were of */
	size_t n_folders, n_guests, n_disks;
	struct orphan *orphans;
	size_t n_orphans;
	bool keeps; /* replaced/ is there: nothing is removed */
	struct trash_bounds trash;
	struct fault fault; /* why guests were not ended */
};

/* Whether `name` is the folder of a workspace, or its id, which `.half` may follow, or
 * the id of one that is still to be copied: those stay. */
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
		if (m->seek(m->self, s->home, ids[i], &process))
			*(struct orphan *)arena_push(&s->arena, &s->orphans,
						     &s->n_orphans, sizeof(*s->orphans)) =
				(struct orphan){ ids[i], m, process, false };
}

/* How many orphans still run. */
static size_t count_alive(const struct sweep *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_orphans; i++)
		n += s->orphans[i].backend->alive(s->orphans[i].backend->self,
						  &s->orphans[i].process);
	return n;
}

static void sweep_stop(const struct sweep *s, bool now)
{
	struct fault ignored = { 0 };

	for (size_t i = 0; i < s->n_orphans; i++)
		s->orphans[i].backend->stop(s->orphans[i].backend->self,
					    &s->orphans[i].process, now, &ignored);
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

/* Once a guest has ended, only replaced/ tells the next host that its folder is of a
 * former state: without it guests live on, and nothing is removed. */
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

		o->lives = o->backend->alive(o->backend->self, &o->process);
	}
}

/* --- all that no row knows ------------------------------------------------------------- */

static void sweep_free(struct sweep *s)
{
	arena_release(&s->arena);
	free(s);
}

/* The name of a folder may be given to a new workspace while it is removed. */
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

/* The name that a folder had in `HOME/PARENT`; NULL for one of another parent, and for a
 * copy that was never whole. */
static const char *called_in(struct sweep *s, const char *parent, const char *folder)
{
	const char *top = arena_printf(&s->arena, "%s/%s/", s->home, parent);
	size_t n = strlen(top), len;

	if (strncmp(folder, top, n) != 0)
		return NULL;
	len = trash_called(folder + n);
	return len ? arena_strndup(&s->arena, folder + n, len) : NULL;
}

/* The folder of a workspace, and its snapshots, go into the trash, and stay where that fails:
 * its row may be destroyed and the folder have stayed because nothing may be lost.  A folder of
 * snapshots has the workspace's id as its name, and so have they in the trash. */
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
		log_line(s->host->log, LOG_LEVEL_WARN, "a folder that no row knows stays",
			 LOG_TEXT("folder", folder), LOG_FAULT(&f));
	else
		tree_remove(folder, &f);
}

static void sweep_remove_folders(uv_work_t *work)
{
	struct sweep *s = work->data;

	for (size_t i = 0; !s->keeps && i < s->n_folders; i++)
		if (s->folders[i]) /* else the next start tries again */
			sweep_remove_folder(s, s->folders[i]);
	trash_trim(s->home, clock_wall_ms(), &s->trash);
	if (!s->keeps)
		backend_qemu.sweep(backend_qemu.self, s->home, s->disks, s->n_disks);
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
		log_line(log, LOG_LEVEL_ERROR, "guests that no row knows are not ended",
			 LOG_FAULT(&s->fault));
	for (size_t i = 0; i < s->n_orphans; i++)
		log_line(log, s->orphans[i].lives ? LOG_LEVEL_ERROR : LOG_LEVEL_WARN,
			 s->orphans[i].lives
				 ? "a guest that no row knows still runs"
				 : "a guest that no row knows was ended; its files stay",
			 LOG_TEXT("workspace", s->orphans[i].id),
			 LOG_NUMBER("pid", s->orphans[i].process.pid));
	if (s->keeps)
		log_line(
			log, LOG_LEVEL_INFO,
			"what no row knows is not cleared away: it may be of the former state, in `replaced`",
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

/* Lists entries of a folder of the state that belong to no row; at most `most`. */
static void list_unknown(struct sweep *s, const char *folder, size_t most,
			 const char ***out, size_t *n)
{
	size_t end = most < SIZE_MAX - *n ? *n + most : SIZE_MAX;

	DIR *dir = opendir(arena_printf(&s->arena, "%s/%s", s->home, folder));
	struct dirent *e;

	while (dir && *n < end && (e = readdir(dir)))
		if (e->d_name[0] != '.' && !sweep_is_known(s->host, e->d_name))
			*(const char **)arena_push(&s->arena, out, n, sizeof(**out)) =
				arena_strdup(&s->arena, e->d_name);
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

void sweep_start(struct host *host)
{
	struct sweep *s = calloc(1, sizeof(*s));

	if (!s)
		return;
	s->host = host;
	s->home = host->home->dir;
	s->trash = (struct trash_bounds){ settings_keep_ms(&host->home->settings),
					  settings_trash_bytes(&host->home->settings) };
	s->keeps = access(arena_printf(&s->arena, "%s/replaced", s->home), F_OK) == 0;
	list_folders(s, "snapshots"); /* into the trash before their workspaces */
	list_folders(s, "workspaces");
	list_folders(s, "guests");
	list_unknown(s, "guests", SIZE_MAX, &s->guests, &s->n_guests);
	list_unknown(s, "disks", SIZE_MAX, &s->disks, &s->n_disks);
	s->work.data = s;
	if (uv_queue_work(&host->loop, &s->work, before_starts, sweep_on_ended)) {
		log_line(
			host->log, LOG_LEVEL_ERROR,
			"guests and folders that no row knows are not looked for: no memory",
			LOG_NOTHING);
		sweep_free(s);
		return;
	}
	host->reconcile->sweeping = true;
}
