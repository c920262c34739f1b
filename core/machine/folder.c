/*
 * folder - a workspace that is a folder of a person's: its guest works there, and leaves it
 * as it is when it ends.
 */
#include <sys/stat.h>

#include "core/machine/backend.h"
#include "core/machine/guest_state.h"
#include "core/machine/machine_copy.h"

static int folder_make(void *self, const struct workspace_spec *spec, struct fault *f)
{
	struct stat st;

	(void)self;
	if (stat(spec->path, &st) || !S_ISDIR(st.st_mode))
		return fault_set(f, FAULT_NOT_FOUND, "", "%.180s is no folder",
				 spec->path);
	return guest_state_make(spec, f);
}

static int folder_fork(void *self, const struct workspace_spec *spec, struct fault *f)
{
	(void)self;
	return fault_set(f, FAULT_CONFLICT, "", "%.180s is not copied as a workspace",
			 spec->path);
}

static int folder_start(void *self, const struct workspace_spec *spec,
			struct process *process, struct fault *f)
{
	if (folder_make(self, spec, f))
		return f->code;
	return backend_process.start(backend_process.self, spec, process, f);
}

static int folder_stop(void *self, const struct process *p, bool now, struct fault *f)
{
	(void)self;
	return backend_process.stop(backend_process.self, p, now, f);
}

static bool folder_alive(void *self, const struct process *p)
{
	(void)self;
	return backend_process.alive(backend_process.self, p);
}

static bool folder_deaf(void *self, const struct workspace_spec *spec,
			const struct process *p)
{
	(void)self;
	return backend_process.deaf(backend_process.self, spec, p);
}

static void folder_find(void *self, int64_t pid, struct process *p)
{
	(void)self;
	backend_process.find(backend_process.self, pid, p);
}

static int folder_destroy(void *self, const struct workspace_spec *spec, struct fault *f)
{
	(void)self;
	return tree_remove(spec->sockets, f) ? f->code : guest_state_remove(spec, f);
}

const struct backend backend_folder = {
	.name = "folder",
	.make = folder_make,
	.fork = folder_fork,
	.start = folder_start,
	.stop = folder_stop,
	.alive = folder_alive,
	.deaf = folder_deaf,
	.find = folder_find,
	.destroy = folder_destroy,
};
