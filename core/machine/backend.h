/*
 * backend - the makers of workspaces: every effect on the machine, as a table.
 *
 * alive, find, address and stop are short; the others may take long and run on
 * any thread, for one workspace at a time.  All functions may be repeated: a step that is
 * done already is success.
 */
#ifndef CORE_MACHINE_BACKEND_H
#define CORE_MACHINE_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/fault.h"

struct trash_bounds;

/* A workspace as its backend needs it: its places, and its agent.  Texts are borrowed. */
struct workspace_spec {
	const char *id, *name; /* of the workspace */
	const char *path; /* its directory, absolute */
	const char *source; /* directory to copy; NULL: none */
	const char *parent; /* id of the workspace it is forked from; NULL: none */
	const char *parent_sockets; /* folder of that one's */
	const char *snapshot; /* of the parent; NULL: as it is now */
	int64_t restores; /* how often it was put back to a snapshot */
	/* The workspace's guest was linked once: its folder or disk is there, or lost, and is
	 * not made anew. */
	bool was_up;
	const char *sockets; /* folder of its guest's sockets */
	const char *address; /* of its guest: see core/base/link_address.h */
	const char *link_token; /* the token that its guest demands; NULL: none */
	const char *team, *agent, *token; /* agent may be NULL */
	const char *home; /* of the state */
	const char *door; /* socket of the host */
	const char *program; /* cadre */
	/* A VM's card, when this machine gave it a network; else tap is NULL and
	 * it has none.  The tap exists and is named so. */
	const char *tap, *mac, *ip, *gateway;
	int prefix;
	int http_port; /* of a VM's door for teammates */
	/* Resources of a VM; 0 and NULL in other backends. */
	const char *image;
	int64_t vcpus, memory_mb, disk_gb;
	/* A backend that copies directories counts here what it cannot copy; or NULL. */
	int64_t *left_out;
	/* Bounds of the trash, into which forget and restore move what they take away.
	 * NULL: they remove it for good. */
	const struct trash_bounds *trash;
};

/* A guest's process.  A pid alone says nothing: it is used again. */
struct process {
	int64_t pid, start; /* in clock ticks after boot */
	char boot[40]; /* boot id of the machine */
	int64_t cid; /* of a VM with vsock; 0: none */
};

enum { ADDRESS_SIZE = 160 };

/* make, fork and start fail with FAULT_NOT_FOUND where a folder, disk or image is
 * missing: the host looks for that again. */
struct backend {
	const char *name;
	/* Workspaces are VMs: a guest is asked over the wire to end before stop() is
	 * tried, takes long to come up, and is not started again when it dies. */
	bool vm;
	int (*make)(const struct workspace_spec *spec, struct fault *f);
	int (*fork)(const struct workspace_spec *spec, struct fault *f);
	/* Starts the guest. A guest that already runs, unknown to the host, is found
	 * instead. NULL, with stop, alive and find: the guests of this backend come
	 * and go by themselves. */
	int (*start)(const struct workspace_spec *spec, struct process *process,
		     struct fault *f);
	/* Writes the address at which the guest is reached: see
	 * core/base/link_address.h. */
	void (*address)(const struct workspace_spec *spec, const struct process *p,
			char out[ADDRESS_SIZE]);
	/* Asks it to end (or ends it); alive() tells when it has. */
	int (*stop)(const struct process *process, bool now, struct fault *f);
	bool (*alive)(const struct process *process);
	/* Whether a living guest cannot be reached, since its sockets are gone.  NULL: guests of
	 * this backend have no sockets. */
	bool (*deaf)(const struct workspace_spec *spec, const struct process *process);
	/* A process that is known to be a guest by its pid alone; NULL: pids say
	 * nothing here. */
	void (*find)(int64_t pid, struct process *process);
	/* Finds a running guest of workspace `id` of the state `home`, even if nobody knows of
	 * it.  NULL: the seek() of another backend finds the guest, too. */
	bool (*seek)(const char *home, const char *id, struct process *process);
	/* Moves the workspace's content into the trash, before the workspace is
	 * destroyed: an enum trash_taken or negative.  NULL: the workspace has no content
	 * of its own. */
	int (*keep)(const struct workspace_spec *spec, int64_t now_ms,
		    const struct trash_bounds *bounds, struct fault *f);
	int (*destroy)(const struct workspace_spec *spec, struct fault *f);
	/* Keeps what a workspace holds now under an id; forgets it; puts it back
	 * (only while no guest runs). */
	int (*snapshot)(const struct workspace_spec *spec, const char *id,
			struct fault *f);
	int (*forget)(const struct workspace_spec *spec, const char *id, struct fault *f);
	int (*restore)(const struct workspace_spec *spec, const char *id,
		       struct fault *f);
	/* The last line that a dead VM said about itself, or "". */
	void (*last_words)(const struct workspace_spec *spec, char out[200]);
	/* Looks after what a running VM leaves behind; called all the time. */
	void (*tend)(const struct workspace_spec *spec);
	/* Removes what the workspaces with these ids left, which are over. */
	void (*sweep)(const char *home, const char *const *gone, size_t n);
};

/* Directories with a guest as a process of this machine. */
extern const struct backend backend_process;
/* The same in a folder that is there, and stays. */
extern const struct backend backend_folder;
/* microVMs under QEMU. */
extern const struct backend backend_qemu;

/* Removes the folder of a workspace, but only below the host's own, and that of its sockets. */
int process_remove_folders(const struct workspace_spec *spec, struct fault *f);

/* Guests that run already, elsewhere: they are reached, and let go of. */
extern const struct backend backend_attach;

#endif
