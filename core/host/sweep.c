#include "core/host/sweep.h"

#include <dirent.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/host/running.h"
#include "core/machine/copy.h"

enum {
	SWEEP_MOST = 256,
	PATIENCE_MS = 5000, /* from asking a guest to end to ending it */
	LOOK_MS = 20,
};

/* A guest that no row knows. */
struct orphan {
	const char *id; /* of its workspace */
	const struct machine *machine;
	struct process process;
};

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
};

/* By the name of its folder, or by its id, which `.half` may follow; one that is
 * still to be copied has to stay as well. */
static bool is_known(struct host *host, const char *name)
{
	size_t bare = strcspn(name, ".");

	for (struct place *p = host->reconcile.places; p; p = p->next) {
		const char *slash = p->spot.path ? strrchr(p->spot.path, '/') : NULL;

		if ((slash && !strcmp(slash + 1, name)) ||
		    (strlen(p->spot.id) == bare && !strncmp(p->spot.id, name, bare)) ||
		    (p->spot.parent && p->state == WORKSPACE_STATE_CREATING &&
		     !strcmp(p->spot.parent, name)))
			return true;
	}
	return false;
}

/* --- guests of a former state ------------------------------------------------------- */

static void seek(struct sweep *s, const struct machine *m, const char *const *ids,
		 size_t n)
{
	struct process process = { 0 };

	for (size_t i = 0; i < n; i++)
		if (m->seek(m->self, s->home, ids[i], &process))
			*(struct orphan *)arena_push(&s->arena, &s->orphans,
						     &s->n_orphans, sizeof(*s->orphans)) =
				(struct orphan){ ids[i], m, process };
}

/* How many still run. */
static size_t count_alive(const struct sweep *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_orphans; i++)
		n += s->orphans[i].machine->alive(s->orphans[i].machine->self,
						  &s->orphans[i].process);
	return n;
}

static void stop(const struct sweep *s, bool now)
{
	struct fault ignored = { 0 };

	for (size_t i = 0; i < s->n_orphans; i++)
		s->orphans[i].machine->stop(s->orphans[i].machine->self,
					    &s->orphans[i].process, now, &ignored);
}

static void end_orphans(struct sweep *s)
{
	const char *replaced = arena_printf(&s->arena, "%s/replaced", s->home);

	seek(s, &machine_process, s->guests, s->n_guests);
	seek(s, &machine_qemu, s->disks, s->n_disks);
	if (!s->n_orphans)
		return;
	mkdir(replaced, 0700);
	s->keeps = true;
	stop(s, false);
	for (int ms = 0; count_alive(s) && ms < 2 * PATIENCE_MS; ms += LOOK_MS) {
		if (ms == PATIENCE_MS)
			stop(s, true);
		poll(NULL, 0, LOOK_MS);
	}
}

/* --- all that no row knows ------------------------------------------------------------- */

static void sweep(uv_work_t *work)
{
	struct sweep *s = work->data;
	struct fault f = { 0 };

	end_orphans(s);
	if (s->keeps)
		return;
	for (size_t i = 0; i < s->n_folders; i++)
		tree_remove(s->folders[i], &f);
	machine_qemu.sweep(machine_qemu.self, s->home, s->disks, s->n_disks);
}

static void on_swept(uv_work_t *work, int status)
{
	struct sweep *s = work->data;
	struct host *host = s->host;

	(void)status;
	for (size_t i = 0; i < s->n_orphans; i++)
		log_line(host->log, LOG_LEVEL_WARN,
			 "ended process %lld: a guest of workspace %s, which no row "
			 "knows; its files stay",
			 (long long)s->orphans[i].process.pid, s->orphans[i].id);
	if (s->keeps)
		log_line(host->log, LOG_LEVEL_NOTE,
			 "what no row knows is not cleared away: it may be of the former "
			 "state in %s/replaced",
			 s->home);
	host->reconcile.sweeping = false;
	arena_release(&s->arena);
	free(s);
}

/* What is below a folder of the state and belongs to nobody. */
static void list_unknown(struct sweep *s, const char *folder, const char ***out,
			 size_t *n)
{
	DIR *dir = opendir(arena_printf(&s->arena, "%s/%s", s->home, folder));
	struct dirent *e;

	while (dir && *n < SWEEP_MOST && (e = readdir(dir)))
		if (e->d_name[0] != '.' && !is_known(s->host, e->d_name))
			*(const char **)arena_push(&s->arena, out, n, sizeof(**out)) =
				arena_strdup(&s->arena, e->d_name);
	if (dir)
		closedir(dir);
}

static void list_folders(struct sweep *s, const char *folder)
{
	size_t from = s->n_folders;

	list_unknown(s, folder, &s->folders, &s->n_folders);
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
	s->keeps = access(arena_printf(&s->arena, "%s/replaced", s->home), F_OK) == 0;
	list_folders(s, "workspaces");
	list_folders(s, "snapshots");
	list_folders(s, "guests");
	list_unknown(s, "guests", &s->guests, &s->n_guests);
	list_unknown(s, "disks", &s->disks, &s->n_disks);
	host->reconcile.sweeping = s->n_guests || s->n_disks;
	s->work.data = s;
	uv_queue_work(&host->loop, &s->work, sweep, on_swept);
}
