/*
 * backend - a table of functions that make and run workspaces on the machine.
 *
 * The functions address, stop, alive, deaf, find, last_words and tend return soon. The other
 * functions may take long, and run on any thread, but never twice at once for one workspace.
 * Every function may be called again: if its work is already done, the function succeeds.
 */
#ifndef CORE_MACHINE_BACKEND_H
#define CORE_MACHINE_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/fault.h"

struct trash_bounds;

/* The properties of a workspace that its backend needs. All texts are borrowed. */
struct workspace_spec {
	const char *id, *name; /* id and name of the workspace */
	const char *path; /* absolute path of the workspace's directory */
	const char *source; /* directory that is copied to make the workspace, or NULL */
	const char *parent; /* id of the workspace that is forked, or NULL */
	const char *parent_sockets; /* folder of the parent's sockets */
	const char *snapshot; /* parent's snapshot that is forked, or NULL */
	int64_t restores; /* how often the workspace was reset to a snapshot */
	/* True: the workspace's guest was connected before, so the workspace's folder or disk
	 * was made. If the folder or disk is lost, the backend does not make it anew. */
	bool was_up;
	const char *sockets; /* folder of the guest's sockets */
	const char *address; /* address of the guest: see core/base/link_address.h */
	const char *link_token; /* the token that the guest demands; NULL: no token */
	const char *team, *agent, *token; /* `agent` may be NULL */
	const char *home; /* folder of the state */
	const char *door; /* socket of the host */
	const char *program; /* path of the program that is started as the guest; NULL:
				this program */
	/* A VM's network card. `tap` names an existing interface; `tap` is NULL if the VM has
	 * no network. */
	const char *tap, *mac, *ip, *gateway;
	int prefix;
	int http_port; /* port of the HTTP door inside a VM, for the agent's teammates */
	/* Image and resources of a VM; other backends ignore these members. */
	const char *image;
	int64_t vcpus, memory_mb, disk_gb;
	/* Counts the entries that a copy of a directory has left out; may be NULL. */
	int64_t *left_out;
	/* Bounds of the trash. The functions forget and restore move content into the trash. If
	 * `trash` is NULL, they delete the content. */
	const struct trash_bounds *trash;
};

/* A guest's process. A pid alone does not identify a process, since the system uses pids again. */
struct process {
	int64_t pid, start; /* `start` is the start time in clock ticks after boot */
	char boot[40]; /* boot id of the machine at the start of the process */
	int64_t cid; /* context id of a VM with vsock; 0: no vsock */
};

enum { ADDRESS_SIZE = 160 };

/* The functions make, fork and start fail with FAULT_NOT_FOUND if a folder, disk or image is
 * missing. After FAULT_NOT_FOUND the host tries again later. */
struct backend {
	const char *name;
	/* The workspaces are VMs. A guest in a VM takes long to start. If the guest dies, the
	 * host does not restart the guest, unless this host killed the guest or the machine was
	 * rebooted. Before the host calls stop(), the host asks the guest over its connection
	 * to end. */
	bool vm;
	int (*make)(const struct workspace_spec *spec, struct fault *f);
	int (*fork)(const struct workspace_spec *spec, struct fault *f);
	/* Starts the guest. If the guest already runs without the host's knowledge, finds the
	 * guest's process instead. The functions start, stop, alive and find are NULL if the
	 * host does not start and end the guests of this backend. */
	int (*start)(const struct workspace_spec *spec, struct process *process,
		     struct fault *f);
	/* Writes the address to which the host connects: see core/base/link_address.h. */
	void (*address)(const struct workspace_spec *spec, const struct process *p,
			char out[ADDRESS_SIZE]);
	/* Asks the guest to end, or ends the guest at once if `now` is set. alive() shows when
	 * the guest has ended. */
	int (*stop)(const struct process *process, bool now, struct fault *f);
	bool (*alive)(const struct process *process);
	/* Whether a running guest cannot be reached, because its socket files are missing.
	 * `deaf` is NULL if guests of this backend have no socket files. */
	bool (*deaf)(const struct workspace_spec *spec, const struct process *process);
	/* Fills `process` for a guest of which only the pid is known. `find` is NULL if this
	 * backend does not use the guest's pid. */
	void (*find)(int64_t pid, struct process *process);
	/* Finds a running guest of the workspace `id` in the state `home`, even if no row
	 * contains the guest's process. `seek` is NULL if another backend's seek() also finds
	 * the guests of this backend. */
	bool (*seek)(const char *home, const char *id, struct process *process);
	/* Moves the workspace's content into the trash, before the workspace is destroyed.
	 * Returns a value of enum trash_taken, or a negative number. `keep` is NULL if no
	 * content is moved before destroy(). */
	int (*keep)(const struct workspace_spec *spec, int64_t now_ms,
		    const struct trash_bounds *bounds, struct fault *f);
	int (*destroy)(const struct workspace_spec *spec, struct fault *f);
	/* snapshot() copies the present content of a workspace under an id. forget() removes
	 * this copy. restore() replaces the workspace's content by the copy, and is called only
	 * while no guest runs. */
	int (*snapshot)(const struct workspace_spec *spec, const char *id,
			struct fault *f);
	int (*forget)(const struct workspace_spec *spec, const char *id, struct fault *f);
	int (*restore)(const struct workspace_spec *spec, const char *id,
		       struct fault *f);
	/* Copies the last line that an ended VM printed, or "". */
	void (*last_words)(const struct workspace_spec *spec, char out[200]);
	/* Called repeatedly while a VM runs, to limit the length of the VM's log. */
	void (*tend)(const struct workspace_spec *spec);
	/* Removes files that ended workspaces have left. `gone` holds the ids of these
	 * workspaces. */
	void (*sweep)(const char *home, const char *const *gone, size_t n);
};

/* Workspaces that are directories. The guest is a process of this machine. */
extern const struct backend backend_process;
/* Workspaces that are existing folders of a person. The guest is a process of this machine, and
 * the folder is never removed. */
extern const struct backend backend_folder;
/* Workspaces that are microVMs of QEMU. */
extern const struct backend backend_qemu;

/* Removes the folder of a workspace and the folder of the workspace's sockets. Fails if the
 * workspace's folder is not below `workspaces/` in the state folder. */
int process_remove_folders(const struct workspace_spec *spec, struct fault *f);

/* Workspaces whose guests already run elsewhere. The host connects to such a guest, but neither
 * starts nor ends the guest. */
extern const struct backend backend_attach;

#endif
