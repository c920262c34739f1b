/*
 * process - workspaces that are directories, with a guest as a process.
 *
 * A workspace that is a copy is made under another name, and is renamed when the copy is
 * complete and on the disk. So a directory under the workspace's own name is complete, even
 * after a power failure (storage/durable.h). The guest gets its own session and outlives the
 * host.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/machine/backend.h"
#include "core/machine/child.h"
#include "core/machine/golden.h"
#include "core/machine/machine_copy.h"
#include "core/machine/pid.h"
#include "core/machine/trash.h"
#include "storage/durable.h"

/*
 * guest_state - the folder with the files of a guest that is a process: accepted commands,
 * variables and the lock.
 *
 * The folder is HOME/guests/ID, outside of the workspaces. So git, copies, snapshots and file
 * operations in a workspace do not affect the folder.
 */

static int guest_state_failed(struct fault *f, const char *what, const char *path)
{
	return fault_set(f, FAULT_IO, "", "cannot %s %.180s: %s", what, path,
			 strerror(errno));
}

static const char *parent_path(struct arena *a, const struct workspace_spec *spec)
{
	return arena_printf(a, "%s/guests", spec->home);
}

static const char *guest_state_path(struct arena *a, const struct workspace_spec *spec)
{
	return arena_printf(a, "%s/guests/%s", spec->home, spec->id);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int guest_state_make_parent(struct arena *a, const struct workspace_spec *spec,
				   struct fault *f)
{
	const char *path = parent_path(a, spec);

	return dir_make(path, 0700) ? guest_state_failed(f, "make", path) : 0;
}

/* Makes the folder of the guest's own files. Accepts an existing folder, but not a link. */
static int guest_state_make(const struct workspace_spec *spec, struct fault *f)
{
	struct arena a = { 0 };
	const char *path = guest_state_path(&a, spec);

	if (guest_state_make_parent(&a, spec, f) == 0 && dir_make(path, 0700))
		guest_state_failed(f, "make", path);
	else if (!f->code && !is_folder(path))
		fault_set(f, FAULT_CONFLICT, "",
			  "%.180s is a link, and not made by a guest", path);
	arena_release(&a);
	return f->code;
}

/* Makes the stamp of a complete workspace. The stamp is an empty file. Changes in the workspace
 * after the stamp's time count as work (see core/machine/work.h). Without `anew`, an existing
 * stamp is kept. */
static int guest_state_stamp(const struct workspace_spec *spec, bool anew,
			     struct fault *f)
{
	struct arena a = { 0 };
	const char *path = arena_printf(&a, "%s.whole", guest_state_path(&a, spec));
	int fd;

	if (anew && unlink(path) && errno != ENOENT)
		guest_state_failed(f, "remove", path);
	fd = f->code ? -1 : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	else if (!f->code && errno != ENOENT && errno != EEXIST)
		guest_state_failed(f, "make", path);
	arena_release(&a);
	return f->code;
}

static int guest_state_remove(const struct workspace_spec *spec, struct fault *f)
{
	struct arena a = { 0 };

	if (tree_remove(guest_state_path(&a, spec), f) == 0 &&
	    tree_remove(arena_printf(&a, "%s.whole", guest_state_path(&a, spec)), f) == 0)
		tree_remove(arena_printf(&a, "%s.seq", guest_state_path(&a, spec)), f);
	arena_release(&a);
	return f->code;
}

extern char **environ;

/* --- directories ------------------------------------------------------------------ */

static int process_make_parent(const char *path, struct fault *f)
{
	char parent[4096];
	char *slash;

	snprintf(parent, sizeof(parent), "%s", path);
	slash = strrchr(parent, '/');
	if (slash)
		*slash = '\0';
	if (dir_make(parent, 0700))
		return fault_set(f, FAULT_IO, "", "cannot make %s: %s", parent,
				 strerror(errno));
	return 0;
}

static bool process_is_there(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Syncs the name of an existing directory to the disk. The process that made the directory may
 * have been killed before the name was on the disk. */
static int sync_name(const char *path, struct fault *f)
{
	if (dir_sync_above(path) == 0)
		return 0;
	return fault_set(f, FAULT_IO, "", "cannot sync what holds %.180s: %s", path,
			 strerror(errno));
}

/* Copies the source of a workspace to `to`. If the source is a workspace, the copy also
 * contains the states of the projects in it. If the source is a person's folder, the copy
 * contains no states. */
static int copy_source(const struct workspace_spec *spec, const char *to, struct fault *f)
{
	if (!process_is_there(spec->source))
		return fault_set(f, FAULT_NOT_FOUND, "", "%.180s is not a folder",
				 spec->source);
	if (spec->parent || !spec->home || trash_is_entry(spec->home, spec->source))
		return tree_copy(spec->source, to, ".cadre", spec->left_out, f);
	/* The folder may have changed since the caller of the operation named it. */
	if (golden_check(spec->source, "", f))
		return f->code;
	return tree_copy_golden(spec->source, to, spec->home, spec->left_out, f);
}

static int copy_whole(const struct workspace_spec *spec, struct fault *f)
{
	char half[4096];
	int n = snprintf(half, sizeof(half), "%s.half", spec->path);
	int rc;

	if (process_is_there(spec->path))
		return sync_name(spec->path, f);
	if (spec->was_up)
		return trash_lost(spec->home, spec->name, "folder", f);
	if (n >= (int)sizeof(half))
		return fault_set(f, FAULT_INVALID, "", "%s is too long", spec->path);
	if (spec->home && (rc = guest_state_make(spec, f)))
		return rc;
	if ((rc = process_make_parent(spec->path, f)) || (rc = tree_remove(half, f)))
		return rc;
	rc = copy_source(spec, half, f);
	if (rc == 0 && rename(half, spec->path))
		rc = fault_set(f, FAULT_IO, "", "cannot make %s: %s", spec->path,
			       strerror(errno));
	if (rc) {
		struct fault ignored = { 0 };

		tree_remove(half, &ignored);
	}
	return rc ? rc : sync_name(spec->path, f);
}

/* Copies spec->source to make a workspace or a snapshot. A snapshot, which has no spec->home,
 * gets no stamp, since no guest works in a snapshot. */
static int process_fork(const struct workspace_spec *spec, struct fault *f)
{
	int rc = copy_whole(spec, f);

	return rc || !spec->home ? rc : guest_state_stamp(spec, false, f);
}

static int process_make(const struct workspace_spec *spec, struct fault *f)
{
	int rc;

	if (spec->source)
		return process_fork(spec, f);
	if (!process_is_there(spec->path) && spec->was_up)
		return trash_lost(spec->home, spec->name, "folder", f);
	if (!process_is_there(spec->path) && (rc = guest_state_make(spec, f)))
		return rc;
	rc = process_make_parent(spec->path, f);
	if (rc == 0 && dir_make(spec->path, 0700))
		rc = fault_set(f, FAULT_IO, "", "cannot make %s: %s", spec->path,
			       strerror(errno));
	return rc ? rc : guest_state_stamp(spec, false, f);
}

/* --- snapshots: copies in HOME/snapshots/WORKSPACE/ID ------------------------------ */

static const char *kept_path(struct arena *a, const struct workspace_spec *spec,
			     const char *id)
{
	return arena_printf(a, "%s/snapshots/%s%s%s", spec->home, spec->id, id ? "/" : "",
			    id ? id : "");
}

static int process_snapshot(const struct workspace_spec *spec, const char *id,
			    struct fault *f)
{
	struct arena a = { 0 };
	struct workspace_spec copy = { .path = kept_path(&a, spec, id),
				       .source = spec->path,
				       .left_out = spec->left_out };

	if (process_make_parent(kept_path(&a, spec, NULL), f) == 0)
		process_fork(&copy, f);
	arena_release(&a);
	return f->code;
}

/* Moves a folder into the trash. If the trash keeps nothing, or the folder is too large,
 * removes the folder. */
static int put_away(const struct workspace_spec *spec, const char *path, struct fault *f)
{
	if (spec->trash &&
	    trash_take(spec->home, path, spec->name, clock_wall_ms(), spec->trash, f) < 0)
		return f->code;
	return tree_remove(path, f);
}

static int process_forget(const struct workspace_spec *spec, const char *id,
			  struct fault *f)
{
	struct arena a = { 0 };

	put_away(spec, kept_path(&a, spec, id), f);
	arena_release(&a);
	return f->code;
}

/* Renames a folder, and syncs both names to the disk. After a power failure the folder may be
 * at both paths, but it is always at one path at least. */
static int process_move(const char *from, const char *to, struct fault *f)
{
	if (rename(from, to) == 0 && dir_sync_above(to) == 0 && dir_sync_above(from) == 0)
		return 0;
	return fault_set(f, FAULT_IO, "", "cannot make %.180s: %s", to, strerror(errno));
}

/* Moves the copy `new` to the workspace's path. Then moves the folder `.cadre` of `old` to the
 * workspace's path, since snapshots do not contain `.cadre`. The restore is unfinished as long
 * as `old` exists. An unfinished restore must be finished even if a new directory was made at
 * the workspace's path meanwhile. */
static int change_places(struct arena *a, const struct workspace_spec *spec,
			 const char *new, const char *old, struct fault *f)
{
	const char *guest = arena_printf(a, "%s/.cadre", old);

	if (process_is_there(new) &&
	    (tree_remove(spec->path, f) || process_move(new, spec->path, f)))
		return f->code;
	if (process_is_there(guest) &&
	    process_move(guest, arena_printf(a, "%s/.cadre", spec->path), f))
		return f->code;
	return guest_state_stamp(spec, true, f) ? f->code : put_away(spec, old, f);
}

/* Restores a snapshot. The copy `new` is complete and synced before the folder `old` is made.
 * The caller changes the workspace's row only after `old` was moved into the trash or removed.
 * If `old` were left behind, the next restore would finish this restore, and would not restore
 * its own snapshot. */
static int process_restore(const struct workspace_spec *spec, const char *id,
			   struct fault *f)
{
	struct arena a = { 0 };
	const char *kept = kept_path(&a, spec, id);
	const char *new = kept_path(&a, spec, ".new"), *old = kept_path(&a, spec, ".old");

	if (!process_is_there(kept))
		fault_set(f, FAULT_NOT_FOUND, "", "the snapshot is gone");
	else if (!process_is_there(old) && tree_remove(new, f) == 0 &&
		 tree_copy(kept, new, ".cadre", spec->left_out, f) == 0 &&
		 sync_name(new, f) == 0)
		process_move(spec->path, old, f);
	if (!f->code)
		change_places(&a, spec, new, old, f);
	arena_release(&a);
	return f->code;
}

/* --- removal --------------------------------------------------------------------- */

static int process_keep(const struct workspace_spec *spec, int64_t now_ms,
			const struct trash_bounds *bounds, struct fault *f)
{
	struct arena a = { 0 };
	int rc = trash_take_snapshots(spec->home, kept_path(&a, spec, NULL), spec->name,
				      now_ms, bounds, f);

	arena_release(&a);
	return rc < 0 ? rc
		      : trash_take(spec->home, spec->path, spec->name, now_ms, bounds, f);
}

int process_remove_folders(const struct workspace_spec *spec, struct fault *f)
{
	size_t n = strlen(spec->home);

	if (strncmp(spec->path, spec->home, n) ||
	    strncmp(spec->path + n, "/workspaces/", 12) || strstr(spec->path, "/../"))
		return fault_set(f, FAULT_DENIED, "", "%s does not belong to the host",
				 spec->path);
	return tree_remove(spec->path, f) ? f->code : tree_remove(spec->sockets, f);
}

static int process_destroy(const struct workspace_spec *spec, struct fault *f)
{
	struct arena a = { 0 };

	if (process_remove_folders(spec, f) == 0 && guest_state_remove(spec, f) == 0)
		tree_remove(kept_path(&a, spec, NULL), f);
	arena_release(&a);
	return f->code;
}

/* --- guest processes --------------------------------------------------------------- */

/* The guest's environment variables. The guest gets the host's variables without CADRE_* and
 * NOTIFY_SOCKET, and new variables for the workspace's door, team and agent. */
static char **make_env(const struct workspace_spec *spec, struct arena *a)
{
	char **env = NULL;
	size_t n = 0;

	for (char **e = environ; *e; e++)
		if (strncmp(*e, "CADRE_", 6) && strncmp(*e, "NOTIFY_SOCKET=", 14))
			arena_add(a, env, n, *e);
	arena_add(a, env, n, arena_printf(a, "CADRE_SOCKET=%s", spec->door));
	arena_add(a, env, n, arena_printf(a, "CADRE_TEAM=%s", spec->team));
	if (spec->agent) {
		arena_add(a, env, n, arena_printf(a, "CADRE_AGENT=%s", spec->agent));
		arena_add(a, env, n, arena_printf(a, "CADRE_TOKEN=%s", spec->token));
	}
	arena_add(a, env, n, NULL);
	return env;
}

static char **make_words(const struct workspace_spec *spec, struct arena *a)
{
	const char *words[] = { "cadre",
				"guest",
				"--workspace",
				spec->id,
				"--name",
				spec->name,
				"--dir",
				spec->path,
				"--state",
				guest_state_path(a, spec),
				"--restores",
				arena_printf(a, "%lld", (long long)spec->restores),
				"--listen",
				arena_printf(a, "unix:%s", spec->sockets),
				"--http",
				"127.0.0.1:0",
				"--team",
				spec->team,
				spec->agent ? "--agent" : NULL,
				spec->agent,
				NULL };
	char **copy = arena_alloc(a, sizeof(words));

	memcpy(copy, words, sizeof(words));
	return copy;
}

/* Starts the guest in its own session, without open descriptors of the host. */
static int process_spawn(const struct workspace_spec *spec, struct arena *a, pid_t *pid)
{
	return child_detach(pid, spec->program ? spec->program : "/proc/self/exe",
			    (const char *const *)make_words(spec, a), make_env(spec, a),
			    spec->path, arena_printf(a, "%s/log/guests.log", spec->home),
			    O_APPEND);
}

static int process_start(const struct workspace_spec *spec, struct process *process,
			 struct fault *f)
{
	struct arena a = { 0 };
	pid_t pid = 0;
	int rc;

	if (!process_is_there(spec->path))
		return trash_lost(spec->home, spec->name, "folder", f);
	if (dir_have(spec->sockets, 0700))
		return fault_set(f, FAULT_IO, "", "cannot make %s: %s", spec->sockets,
				 strerror(errno));
	/* If the folder of the guest's own files is lost, it is made anew. */
	if (!is_folder(guest_state_path(&a, spec)))
		guest_state_make(spec, f);
	rc = f->code ? 0 : process_spawn(spec, &a, &pid);
	arena_release(&a);
	if (rc)
		return fault_set(f, FAULT_IO, "", "cannot start a guest: %s",
				 strerror(rc));
	if (!f->code)
		pid_find(pid, process);
	return f->code;
}

static bool process_deaf(const struct workspace_spec *spec, const struct process *p)
{
	char door[4200];

	(void)p;
	snprintf(door, sizeof(door), "%s/control.sock", spec->sockets);
	return access(door, F_OK) != 0;
}

/* Finds the process that holds the lock in the file `path`. A running guest always holds the
 * lock of its own folder. */
static pid_t lock_holder(const char *path)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return 0;
	if (fcntl(fd, F_GETLK, &all) || all.l_type == F_UNLCK)
		all.l_pid = 0;
	close(fd);
	return all.l_pid;
}

/* Finds a guest by its lock. The start time is read between two looks at the lock. If the same
 * process holds the lock both times, the start time is the start time of that process. */
static bool process_seek(const char *home, const char *id, struct process *p)
{
	struct arena a = { 0 };
	const char *path = arena_printf(&a, "%s/guests/%s/guest.lock", home, id);
	pid_t pid = lock_holder(path);
	bool found = false;

	*p = (struct process){ 0 };
	if (pid > 0) {
		pid_find(pid, p);
		found = p->start && lock_holder(path) == pid;
	}
	arena_release(&a);
	return found;
}

const struct backend backend_process = {
	.name = "process",
	.make = process_make,
	.fork = process_fork,
	.start = process_start,
	.stop = pid_stop,
	.alive = pid_alive,
	.deaf = process_deaf,
	.find = pid_find,
	.seek = process_seek,
	.keep = process_keep,
	.destroy = process_destroy,
	.snapshot = process_snapshot,
	.forget = process_forget,
	.restore = process_restore,
};

/*
 * folder - a workspace that is a person's folder. The guest works in that folder, and the
 * folder stays when the workspace ends.
 */

static int folder_make(const struct workspace_spec *spec, struct fault *f)
{
	struct stat st;

	if (stat(spec->path, &st) || !S_ISDIR(st.st_mode))
		return fault_set(f, FAULT_NOT_FOUND, "", "%.180s is not a folder",
				 spec->path);
	return guest_state_make(spec, f);
}

static int folder_fork(const struct workspace_spec *spec, struct fault *f)
{
	return fault_set(f, FAULT_CONFLICT, "", "%.180s cannot be copied as a workspace",
			 spec->path);
}

static int folder_start(const struct workspace_spec *spec, struct process *process,
			struct fault *f)
{
	if (folder_make(spec, f))
		return f->code;
	return process_start(spec, process, f);
}

static int folder_destroy(const struct workspace_spec *spec, struct fault *f)
{
	return tree_remove(spec->sockets, f) ? f->code : guest_state_remove(spec, f);
}

const struct backend backend_folder = {
	.name = "folder",
	.make = folder_make,
	.fork = folder_fork,
	.start = folder_start,
	.stop = pid_stop,
	.alive = pid_alive,
	.deaf = process_deaf,
	.find = pid_find,
	.destroy = folder_destroy,
};

/*
 * attach - workspaces whose guests already run; cadre neither starts nor ends such guests.
 */

static int attach_nothing(const struct workspace_spec *spec, struct fault *f)
{
	(void)spec;
	(void)f;
	return 0;
}

const struct backend backend_attach = {
	.name = "attach",
	.make = attach_nothing,
	.fork = attach_nothing,
	.destroy = attach_nothing,
};
