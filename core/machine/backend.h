/*
 * backend - a table of functions that make and run workspaces on the machine.
 *
 * alive, find, address and stop return soon. The other functions may take long and run on any
 * thread, for one workspace at a time. All functions may be repeated: a step that is already
 * done counts as success.
 */
#ifndef CORE_MACHINE_BACKEND_H
#define CORE_MACHINE_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/fault.h"

struct trash_bounds;

/* The paths and the agent of a workspace, for its backend. Texts are borrowed. */
struct workspace_spec {
	const char *id, *name; /* of the workspace */
	const char *path; /* the workspace's directory, absolute */
	const char *source; /* directory to copy; NULL: no copy */
	const char *parent; /* id of the workspace that is forked; NULL: no fork */
	const char *parent_sockets; /* folder of the parent's sockets */
	const char *snapshot; /* copied snapshot of the parent; NULL: its present content */
	int64_t restores; /* how often the workspace was reset to a snapshot */
	/* The workspace's guest was connected once, so its folder or disk was made. A folder or
	 * disk that was lost later is not made anew. */
	bool was_up;
	const char *sockets; /* folder of the guest's sockets */
	const char *address; /* address of the guest: see core/base/link_address.h */
	const char *link_token; /* the token that the guest demands; NULL: no token */
	const char *team, *agent, *token; /* agent may be NULL */
	const char *home; /* folder of the state */
	const char *door; /* socket of the host */
	const char *program; /* path of the program cadre */
	/* A VM's network card. The interface `tap` exists; `tap` is NULL if this machine gave
	 * the VM no network. */
	const char *tap, *mac, *ip, *gateway;
	int prefix;
	int http_port; /* port of a VM's HTTP door for teammates */
	/* Resources of a VM; 0 and NULL in other backends. */
	const char *image;
	int64_t vcpus, memory_mb, disk_gb;
	/* Counts the entries that a backend could not copy from a directory; may be NULL. */
	int64_t *left_out;
	/* Bounds of the trash. forget and restore move content into the trash. NULL: forget and
	 * restore delete the content. */
	const struct trash_bounds *trash;
};

/* A guest's process. A pid alone is not enough, since the system uses pids again. */
struct process {
	int64_t pid, start; /* `start` is in clock ticks after boot */
	char boot[40]; /* boot id of the machine */
	int64_t cid; /* context id of a VM with vsock; 0: no vsock */
};

enum { ADDRESS_SIZE = 160 };

/* make, fork and start fail with FAULT_NOT_FOUND if a folder, disk or image is missing. The
 * host then searches for the missing item again. */
struct backend {
	const char *name;
	/* Workspaces are VMs. A guest in a VM takes long to start, and is not restarted when it
	 * dies. Before the host calls stop(), it asks the guest over the wire to end. */
	bool vm;
	int (*make)(const struct workspace_spec *spec, struct fault *f);
	int (*fork)(const struct workspace_spec *spec, struct fault *f);
	/* Starts the guest. If the guest already runs without the host's knowledge, finds its
	 * process instead. start, stop, alive and find are NULL if the guests of this backend
	 * start and end by themselves. */
	int (*start)(const struct workspace_spec *spec, struct process *process,
		     struct fault *f);
	/* Writes the address to which the host connects: see core/base/link_address.h. */
	void (*address)(const struct workspace_spec *spec, const struct process *p,
			char out[ADDRESS_SIZE]);
	/* Asks the guest to end, or ends the guest at once if `now` is set. alive() shows when
	 * the guest has ended. */
	int (*stop)(const struct process *process, bool now, struct fault *f);
	bool (*alive)(const struct process *process);
	/* Whether a living guest cannot be reached, since its sockets are missing. NULL: guests
	 * of this backend have no sockets. */
	bool (*deaf)(const struct workspace_spec *spec, const struct process *process);
	/* Fills `process` for a guest of which only the pid is known. NULL: this backend has no
	 * use for pids. */
	void (*find)(int64_t pid, struct process *process);
	/* Finds a running guest of workspace `id` of the state `home`, even if no process has
	 * noted the guest. NULL: the seek() of another backend finds the guest, too. */
	bool (*seek)(const char *home, const char *id, struct process *process);
	/* Moves the workspace's content into the trash, before the workspace is destroyed.
	 * Returns an enum trash_taken, or a negative number. NULL: the workspace has no content
	 * of its own. */
	int (*keep)(const struct workspace_spec *spec, int64_t now_ms,
		    const struct trash_bounds *bounds, struct fault *f);
	int (*destroy)(const struct workspace_spec *spec, struct fault *f);
	/* snapshot keeps the present content of a workspace under an id. forget removes the
	 * kept content. restore puts the kept content back; it is called only while no guest
	 * runs. */
	int (*snapshot)(const struct workspace_spec *spec, const char *id,
			struct fault *f);
	int (*forget)(const struct workspace_spec *spec, const char *id, struct fault *f);
	int (*restore)(const struct workspace_spec *spec, const char *id,
		       struct fault *f);
	/* Copies the last line that a dead VM printed, or "". */
	void (*last_words)(const struct workspace_spec *spec, char out[200]);
	/* Cleans up after a running VM; called repeatedly. */
	void (*tend)(const struct workspace_spec *spec);
	/* Removes the files that the ended workspaces with the ids `gone` left. */
	void (*sweep)(const char *home, const char *const *gone, size_t n);
};

/* Workspaces that are directories, with a guest as a process of this machine. */
extern const struct backend backend_process;
/* Like backend_process, in an existing folder that is never removed. */
extern const struct backend backend_folder;
/* microVMs under QEMU. */
extern const struct backend backend_qemu;

/* Removes the folder of a workspace, but only below the host's folder, and the folder of the
 * workspace's sockets. */
int process_remove_folders(const struct workspace_spec *spec, struct fault *f);

/* Guests that already run elsewhere. The host connects to them and disconnects, but neither
 * starts nor ends them. */
extern const struct backend backend_attach;

#endif
