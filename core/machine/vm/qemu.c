/*
 * qemu - the backend for workspaces that are microVMs.
 *
 * A VM's disk is a chain of layers (disk.h). To fork a running VM, the host first tells QEMU to
 * continue on a new layer, so that the old layer no longer changes. The disk of the fork is
 * another new layer over the old layer. A VM keeps running when its host ends. A host finds a
 * running VM by the id of its process, or by QEMU's command line, which names the workspace and
 * the disk.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/machine/backend.h"
#include "core/machine/child.h"
#include "core/machine/pid.h"
#include "core/machine/private.h"
#include "core/machine/trash.h"
#include "core/machine/vm/accel.h"
#include "core/machine/vm/disk.h"
#include "core/machine/vm/vm_image.h"
#include "storage/durable.h"

/*
 * qmp - sends a command to a running QEMU, over the socket of QEMU's monitor.
 *
 * qmp_ask() opens a connection for each command and closes the connection, since the monitor
 * accepts one connection at a time. qmp_ask() blocks for up to 10 s, so an event loop must not
 * call qmp_ask().
 */

/* Limits for answers of QEMU. QEMU is not trusted, since a guest may have taken control of
 * QEMU. */
enum { PATIENCE_S = 10, LINE_MOST = 1 << 20, LINES_MOST = 1000 };

static FILE *qmp_dial(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct timeval patience = { .tv_sec = PATIENCE_S };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	FILE *file;

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	if (fd < 0)
		return NULL;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	file = connect(fd, (struct sockaddr *)&to, sizeof(to)) ? NULL : fdopen(fd, "re");
	if (!file)
		close(fd);
	return file;
}

/* Reads a line of at most LINE_MOST bytes. Returns false if the line is longer, or does not
 * arrive in time. */
static bool qmp_read_line(FILE *file, char *line, int64_t until)
{
	size_t n = 0;
	int c = 0;

	while (c != '\n' && n < LINE_MOST - 1 && (c = getc(file)) != EOF) {
		line[n++] = (char)c;
		if (clock_steady_ms() > until)
			return false;
	}
	line[n] = '\0';
	return c == '\n';
}

/* Reads the next message of QEMU that is no event. */
static json_t *qmp_hear(FILE *file)
{
	char *line = malloc(LINE_MOST);
	int64_t until = clock_steady_ms() + PATIENCE_S * 1000;
	json_t *said = NULL;

	for (int i = 0; line && !said && i < LINES_MOST && clock_steady_ms() <= until;
	     i++) {
		if (!qmp_read_line(file, line, until))
			break;
		said = json_loads(line, 0, NULL);
		if (said && (!json_is_object(said) || json_object_get(said, "event"))) {
			json_decref(said);
			said = NULL;
		}
	}
	free(line);
	return said;
}

static json_t *qmp_say(FILE *file, const char *command, json_t *args)
{
	json_t *said = json_pack("{ss,so*}", "execute", command, "arguments", args);
	char *text = said ? json_dumps(said, JSON_COMPACT) : NULL;
	size_t n = text ? strlen(text) : 0;
	int sent = text && send(fileno(file), text, n, MSG_NOSIGNAL) == (ssize_t)n &&
		   send(fileno(file), "\n", 1, MSG_NOSIGNAL) == 1;

	free(text);
	json_decref(said);
	return sent ? qmp_hear(file) : NULL;
}

static int qmp_judge(const char *command, const json_t *said, struct fault *f)
{
	const json_t *error = json_object_get(said, "error");
	const char *why = json_string_value(json_object_get(error, "desc"));

	if (!said)
		return fault_set(f, FAULT_UNAVAILABLE, "", "QEMU does not answer %s",
				 command);
	if (error)
		return fault_set(f, FAULT_IO, "", "QEMU: %s: %.180s", command,
				 why ? why : "refused");
	return 0;
}

/* Sends a command to QEMU's monitor. Releases `args`, which may be NULL. If `answer` is not
 * NULL, `*answer` gets the answer, which the caller releases. FAULT_UNAVAILABLE: no QEMU
 * answers at the socket. */
static int qmp_ask(const char *socket, const char *command, json_t *args, json_t **answer,
		   struct fault *f)
{
	FILE *file = qmp_dial(socket);
	json_t *said = NULL;
	int rc;

	if (!file) {
		json_decref(args);
		return fault_set(f, FAULT_UNAVAILABLE, "", "QEMU's monitor: %s",
				 strerror(errno));
	}
	json_decref(qmp_hear(file)); /* QEMU's greeting */
	json_decref(qmp_say(file, "qmp_capabilities", NULL));
	said = qmp_say(file, command, args);
	rc = qmp_judge(command, said, f);
	if (rc == 0 && answer)
		*answer = json_incref(json_object_get(said, "return"));
	json_decref(said);
	fclose(file);
	return rc;
}

extern char **environ;

#define PROGRAM "qemu-system-x86_64"
#define DNS "1.1.1.1,8.8.8.8"

enum {
	CID_TRIES = 5,
	CID_FIRST = 1 << 16, /* people choose smaller cids */
	KILL_MS = 5000,
	START_MS = 20000, /* time for QEMU itself to start */
	LOOK_MS = 10,
	WORDS_MOST = 32 << 10,
};

/* Returns the path of QEMU's monitor socket. */
static const char *vm_monitor(struct arena *a, const char *sockets)
{
	return arena_printf(a, "%s/qmp.sock", sockets);
}

/* --- finding ------------------------------------------------------------------------ */

/* Finds the option `word` in a command line and returns the next word. Returns NULL if the
 * option is missing. */
static const char *word_behind(const char *words, size_t len, const char *word)
{
	const char *end = words + len;

	for (const char *at = words; at < end; at += strlen(at) + 1)
		if (!strcmp(at, word) && at + strlen(at) + 1 < end)
			return at + strlen(at) + 1;
	return NULL;
}

static size_t qemu_vm_read_words(const char *pid, char words[WORDS_MOST])
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%.20s/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, words, WORDS_MOST - 1);
	if (fd >= 0)
		close(fd);
	words[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

static int64_t cid_in(const char *words, size_t len)
{
	const char *end = words + len;
	static const char mark[] = "vhost-vsock-device,guest-cid=";

	for (const char *at = words; at < end; at += strlen(at) + 1)
		if (!strncmp(at, mark, sizeof(mark) - 1))
			return strtoll(at + sizeof(mark) - 1, NULL, 10);
	return 0;
}

/* Writes each comma of a path twice, as QEMU's options need. */
static const char *in_option(struct arena *a, const char *path)
{
	char *out = arena_alloc(a, strlen(path) * 2 + 1), *at = out;

	for (; *path; path++) {
		*at++ = *path;
		if (*path == ',')
			*at++ = ',';
	}
	return out;
}

/* Whether a command line belongs to the VM of workspace `id`. In the command line of this VM,
 * the uuid is the workspace's id, and the disk's path begins with the state's folder `home`. */
static bool is_vm(const char *words, size_t len, const char *home, const char *id)
{
	struct arena a = { 0 };
	const char *uuid = word_behind(words, len, "-uuid");
	const char *disk = word_behind(words, len, "-drive");
	const char *begin = arena_printf(&a, "file=%s/disks/", in_option(&a, home));
	bool is = strstr(words, "qemu-system-") && uuid && !strcmp(uuid, id) && disk &&
		  !strncmp(disk, begin, strlen(begin));

	arena_release(&a);
	return is;
}

/* Searches the command lines of all processes for the VM of workspace `id` in the state `home`.
 * Returns false if this VM has no process. */
static bool vm_find(const char *home, const char *id, struct process *process)
{
	DIR *proc = opendir("/proc");
	char words[WORDS_MOST];
	bool found = false;
	struct dirent *e;

	while (!found && proc && (e = readdir(proc))) {
		size_t len = 0;

		if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
			len = qemu_vm_read_words(e->d_name, words);
		if (!len || !is_vm(words, len, home, id))
			continue;
		pid_find(strtoll(e->d_name, NULL, 10), process);
		process->cid = cid_in(words, len);
		found = process->start != 0;
	}
	if (proc)
		closedir(proc);
	return found;
}

/* Kills a process and waits until it has ended. */
static int vm_kill(const struct process *process, struct fault *f)
{
	const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000 };
	int rc = pid_stop(process, true, f);

	for (int ms = 0; !rc && pid_alive(process); ms += LOOK_MS) {
		if (ms >= KILL_MS)
			return fault_set(f, FAULT_IO, "", "process %lld does not end",
					 (long long)process->pid);
		nanosleep(&pause, NULL);
	}
	return rc;
}

/* --- the command line --------------------------------------------------------------- */

struct words {
	struct arena *a;
	const char **items;
	size_t n;
};

static void qemu_vm_add(struct words *w, const char *word)
{
	arena_add(w->a, w->items, w->n, word);
}

static void add_two(struct words *w, const char *option, const char *value)
{
	qemu_vm_add(w, option);
	qemu_vm_add(w, value);
}

/* Builds the command line of the VM's kernel. guest/guest_boot.h explains the words that begin
 * with `cadre.`. The names in this command line contain only a-z A-Z 0-9 -, so no character is
 * escaped. */
static const char *kernel_words(struct arena *a, const struct workspace_spec *s,
				const char *accel, int64_t cid)
{
	bool tcg = !strcmp(accel, "tcg");
	char *line = arena_printf(
		a,
		"console=ttyS0 quiet loglevel=3 panic=-1 reboot=t cryptomgr.notests%s "
		"cadre.workspace=%s "
		"cadre.name=%s cadre.team=%s%s%s cadre.listen=%s cadre.restores=%lld",
		tcg ? arena_printf(a, " mitigations=off tsc=reliable tsc_early_khz=%ld",
				   accel_tsc_khz())
		    : "",
		s->id, s->name, s->team, s->agent ? " cadre.agent=" : "",
		s->agent ? s->agent : "", cid ? "vsock:any" : "serial:/dev/virtio-ports",
		(long long)s->restores);

	if (s->tap)
		line = arena_printf(a,
				    "%s cadre.ip=%s/%d cadre.gateway=%s cadre.dns=" DNS
				    " cadre.http=%d",
				    line, s->ip, s->prefix, s->gateway, s->http_port);
	return line;
}

static void add_machine(struct words *w, const struct workspace_spec *s,
			const char *accel)
{
	struct arena *a = w->a;

	qemu_vm_add(w, PROGRAM);
	add_two(w, "-name", arena_printf(a, "cadre-%s", s->name));
	add_two(w, "-uuid", s->id);
	add_two(w, "-M", "microvm,x-option-roms=off");
	add_two(w, "-accel", accel);
	add_two(w, "-cpu", "max");
	add_two(w, "-smp", arena_printf(a, "%lld", (long long)s->vcpus));
	add_two(w, "-m", arena_printf(a, "%lldM", (long long)s->memory_mb));
	qemu_vm_add(w, "-nodefaults");
	qemu_vm_add(w, "-no-user-config");
	add_two(w, "-display", "none");
	qemu_vm_add(w, "-no-reboot");
	add_two(w, "-sandbox",
		"on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol="
		"deny");
	add_two(w, "-qmp",
		arena_printf(a, "unix:%s,server=on,wait=off", vm_monitor(a, s->sockets)));
	add_two(w, "-chardev",
		arena_printf(a, "file,id=console,append=on,path=%s/console.log",
			     in_option(a, s->path)));
	add_two(w, "-serial", "chardev:console");
}

static void add_channels(struct words *w, const struct workspace_spec *s, int64_t cid)
{
	static const char *const names[] = { "control", "relay" };
	struct arena *a = w->a;

	if (cid) {
		add_two(w, "-device",
			arena_printf(a, "vhost-vsock-device,guest-cid=%lld",
				     (long long)cid));
		return;
	}
	add_two(w, "-device", "virtio-serial-device");
	for (int i = 0; i < 2; i++) {
		add_two(w, "-chardev",
			arena_printf(a,
				     "socket,id=%s,path=%s/%s.serial,server=on,wait=off",
				     names[i], in_option(a, s->sockets), names[i]));
		add_two(w, "-device",
			arena_printf(a, "virtserialport,chardev=%s,name=cadre.%s",
				     names[i], names[i]));
	}
}

static void add_devices(struct words *w, const struct workspace_spec *s, const char *disk,
			int64_t cid)
{
	struct arena *a = w->a;

	add_two(w, "-drive",
		arena_printf(a, "file=%s,id=disk,if=none,format=qcow2,discard=unmap",
			     in_option(a, disk)));
	add_two(w, "-device", "virtio-blk-device,drive=disk");
	add_two(w, "-device", "virtio-rng-device");
	add_channels(w, s, cid);
	if (!s->tap)
		return;
	add_two(w, "-netdev",
		arena_printf(a, "tap,id=net,ifname=%s,script=no,downscript=no", s->tap));
	add_two(w, "-device",
		arena_printf(a, "virtio-net-device,netdev=net,mac=%s", s->mac));
}

/* --- starting ------------------------------------------------------------------------ */

/* Makes a random cid (address for vsock) that probably no other VM of this machine has. */
static int64_t new_cid(void)
{
	uint32_t n = 0;

	if (access("/dev/vhost-vsock", R_OK | W_OK) ||
	    getrandom(&n, sizeof(n), 0) != sizeof(n))
		return 0;
	return CID_FIRST + n % (INT32_MAX - CID_FIRST);
}

static int say_why(const char *log, struct fault *f)
{
	char line[256] = "", last[256] = "it said nothing";
	FILE *file = fopen(log, "re");

	while (file && fgets(line, sizeof(line), file))
		snprintf(last, sizeof(last), "%.*s", (int)strcspn(line, "\n"), line);
	if (file)
		fclose(file);
	return fault_set(f, FAULT_IO, "", "QEMU ended as it started: %.180s", last);
}

/* Waits until QEMU's monitor answers. When the monitor answers, every step of the start that
 * can fail has succeeded. */
static int qemu_vm_await(pid_t pid, const char *monitor, const char *log, struct fault *f)
{
	const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000 };

	for (int ms = 0; ms < START_MS; ms += LOOK_MS) {
		struct fault not_yet = { 0 };

		if (waitpid(pid, NULL, WNOHANG) == pid)
			return say_why(log, f);
		if (!access(monitor, F_OK) &&
		    !qmp_ask(monitor, "query-status", NULL, NULL, &not_yet))
			return 0;
		nanosleep(&pause, NULL);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return fault_set(f, FAULT_TIMEOUT, "", "QEMU did not come up");
}

static int start_with(const struct workspace_spec *s, const char *dir, const char *disk,
		      int64_t cid, pid_t *pid, struct fault *f)
{
	struct arena a = { 0 };
	struct words w = { .a = &a };
	const char *kernel = arena_printf(&a, "%s/vmlinuz", dir);
	const char *initrd = arena_printf(&a, "%s/initrd", dir);
	const char *log = arena_printf(&a, "%s/qemu.log", s->path);
	const char *monitor = vm_monitor(&a, s->sockets);
	const char *accel = accel_choose(kernel, initrd);
	int rc;

	add_machine(&w, s, accel);
	add_devices(&w, s, disk, cid);
	add_two(&w, "-kernel", kernel);
	add_two(&w, "-initrd", initrd);
	add_two(&w, "-append", kernel_words(&a, s, accel, cid));
	qemu_vm_add(&w, NULL);
	unlink(monitor);
	rc = child_detach(pid, PROGRAM, w.items, environ, NULL, log, O_TRUNC);
	if (rc == ENOENT) {
		fault_set(f, FAULT_UNAVAILABLE, "", PROGRAM " is not installed");
		fault_hint(f,
			   "Debian has it in qemu-system-x86; qemu-img in qemu-utils.");
	} else if (rc) {
		fault_set(f, FAULT_IO, "", "cannot run " PROGRAM ": %s", strerror(rc));
	} else {
		qemu_vm_await(*pid, monitor, log, f);
	}
	arena_release(&a);
	return f->code;
}

static int make_folders(const struct workspace_spec *s, struct fault *f)
{
	struct arena a = { 0 };
	const char *log = arena_printf(&a, "%s/console.log", s->path);
	const char *parent = arena_printf(&a, "%s/workspaces", s->home);

	if (dir_have(parent, 0700) || dir_have(s->path, 0700) ||
	    dir_have(s->sockets, 0700))
		fault_set(f, FAULT_IO, "", "cannot make the folders of %s: %s", s->name,
			  strerror(errno));
	rename(log, arena_printf(&a, "%s.1", log)); /* log of the previous start */
	arena_release(&a);
	return f->code;
}

/* Starts a VM with the disk `disk`. `dir` is the folder of the VM's image. */
static int vm_start(const struct workspace_spec *s, const char *dir, const char *disk,
		    struct process *process, struct fault *f)
{
	int64_t cid = 0;
	pid_t pid = 0;
	int rc = -1;

	if (make_folders(s, f))
		return f->code;
	for (int tries = 0; rc && tries < CID_TRIES; tries++) {
		struct fault why = { 0 };

		cid = new_cid();
		rc = start_with(s, dir, disk, cid, &pid, &why);
		if (rc && (!cid || tries + 1 == CID_TRIES || !strstr(why.text, "cid"))) {
			*f = why;
			return f->code;
		}
	}
	private_tree(s->path); /* QEMU sets rights by the umask */
	private_tree(s->sockets);
	pid_find(pid, process);
	process->cid = cid;
	return 0;
}

enum { LOG_MOST = 1 << 20 };

/* A thread holds this lock while it makes or sweeps layers. Without this lock, a sweep might
 * remove a layer that another thread has just frozen and that no disk uses yet. */
static pthread_mutex_t layers = PTHREAD_MUTEX_INITIALIZER;

static struct disk disk_of(struct arena *a, const struct workspace_spec *s,
			   const char *id)
{
	return (struct disk){ a, arena_printf(a, "%s/disks", s->home), id };
}

/* --- making ------------------------------------------------------------------------- */

/* Whether the VM has run before, but its disk is missing. If the disk is missing, fills `f`. */
static bool is_lost(const struct workspace_spec *spec, const struct disk *d,
		    struct fault *f)
{
	return spec->was_up && !disk_top(d) &&
	       trash_lost(spec->home, spec->name, "disk", f);
}

static int qemu_make(const struct workspace_spec *spec, struct fault *f)
{
	struct arena a = { 0 };
	struct disk d = disk_of(&a, spec, spec->id);
	struct image image;

	if (!is_lost(spec, &d, f) && !disk_top(&d) &&
	    image_find(spec->image, &a, &image, f) == 0) {
		pthread_mutex_lock(&layers);
		disk_begin(&d, image.dir, spec->disk_gb, f);
		pthread_mutex_unlock(&layers);
	}
	arena_release(&a);
	return f->code;
}

/* Extracts a file's path from the name that QEMU reports for the file. The name is either a
 * plain path, or "json:" with options in JSON. */
static const char *path_in(struct arena *a, const char *name)
{
	const char *path = name;
	json_t *options = NULL;

	if (name && !strncmp(name, "json:", 5)) {
		options = json_loads(name + 5, 0, NULL);
		path = json_string_value(
			json_object_get(json_object_get(options, "file"), "filename"));
	}
	path = arena_strdup(a, path);
	json_decref(options);
	return path;
}

/* Asks QEMU for the layer to which QEMU writes now. */
static int ask_layer(struct arena *a, const char *monitor, const char **layer,
		     struct fault *f)
{
	json_t *drives = NULL, *drive;
	size_t i;

	*layer = NULL;
	if (qmp_ask(monitor, "query-block", NULL, &drives, f))
		return f->code;
	json_array_foreach(drives, i, drive) {
		const json_t *inserted = json_object_get(drive, "inserted");

		*layer = path_in(a, json_string_value(json_object_get(inserted, "file")));
	}
	json_decref(drives);
	return *layer ? 0 : fault_set(f, FAULT_IO, "", "QEMU names no disk");
}

static int freeze_running(const struct disk *d, const char *monitor, const char **layer,
			  struct fault *f)
{
	const char *top;
	json_t *args;

	if (ask_layer(d->arena, monitor, layer, f) || disk_cover(d, *layer, &top, f))
		return f->code;
	args = json_pack("{ss,ss,ss,ss}", "device", "disk", "snapshot-file", top,
			 "format", "qcow2", "mode", "existing");
	return qmp_ask(monitor, "blockdev-snapshot-sync", args, NULL, f);
}

/* Finds or makes a layer that no longer changes and that holds the whole disk of the workspace. */
static int freeze(const struct workspace_spec *spec, const struct disk *d,
		  const char *sockets, const char **layer, struct fault *f)
{
	struct process ignored;

	return vm_find(spec->home, d->id, &ignored)
		       ? freeze_running(d, vm_monitor(d->arena, sockets), layer, f)
		       : disk_freeze(d, layer, f);
}

/* Finds the layer on which the new disk of a fork is based. This layer is the layer of a trash
 * entry, the layer of a snapshot, or a frozen layer of the parent's disk. */
static int find_origin(const struct workspace_spec *spec, struct disk *from,
		       const char **layer, struct fault *f)
{
	if (spec->source)
		return disk_trash_find(spec->source, from, layer)
			       ? 0
			       : fault_set(f, FAULT_NOT_FOUND, "",
					   "the disk is no longer in the trash");
	if (!spec->snapshot)
		return freeze(spec, from, spec->parent_sockets, layer, f);
	*layer = disk_kept(from, spec->snapshot);
	return *layer ? 0 : fault_set(f, FAULT_NOT_FOUND, "", "the snapshot is gone");
}

static int qemu_fork(const struct workspace_spec *spec, struct fault *f)
{
	struct arena a = { 0 };
	struct disk d = disk_of(&a, spec, spec->id);
	struct disk from = disk_of(&a, spec, spec->parent);
	const char *layer;

	pthread_mutex_lock(&layers);
	if (!is_lost(spec, &d, f) && !disk_top(&d) &&
	    find_origin(spec, &from, &layer, f) == 0)
		disk_branch(&d, &from, layer, spec->disk_gb, f);
	pthread_mutex_unlock(&layers);
	arena_release(&a);
	return f->code;
}

static int qemu_keep(const struct workspace_spec *spec, int64_t now_ms,
		     const struct trash_bounds *bounds, struct fault *f)
{
	struct arena a = { 0 };
	struct disk d = disk_of(&a, spec, spec->id);
	int rc = disk_trash_take(&d, disk_top(&d), spec, now_ms, bounds, f);

	arena_release(&a);
	return rc;
}

static int qemu_destroy(const struct workspace_spec *spec, struct fault *f)
{
	struct arena a = { 0 };
	struct disk d = disk_of(&a, spec, spec->id);
	struct process process;

	if (vm_find(spec->home, spec->id, &process))
		vm_kill(&process, f); /* the pid of this VM was never stored */
	if (!f->code && process_remove_folders(spec, f) == 0) {
		pthread_mutex_lock(&layers);
		disk_abandon(&d);
		disk_sweep(spec->home);
		pthread_mutex_unlock(&layers);
	}
	arena_release(&a);
	return f->code;
}

/* Makes a trash entry for a layer. The layer belongs to a snapshot that is removed, or is the
 * top of a disk that a restore replaces. */
static int keep_layer(const struct workspace_spec *spec, const struct disk *d,
		      const char *layer, struct fault *f)
{
	return spec->trash
		       ? disk_trash_take(d, layer, spec, clock_wall_ms(), spec->trash, f)
		       : TRASH_NOTHING;
}

/* --- snapshots ----------------------------------------------------------------------- */

static int qemu_snapshot(const struct workspace_spec *spec, const char *id,
			 struct fault *f)
{
	struct arena a = { 0 };
	struct disk d = disk_of(&a, spec, spec->id);
	const char *layer;

	pthread_mutex_lock(&layers);
	if (!disk_kept(&d, id) && freeze(spec, &d, spec->sockets, &layer, f) == 0)
		disk_keep(&d, id, layer, f);
	pthread_mutex_unlock(&layers);
	arena_release(&a);
	return f->code;
}

static int qemu_forget(const struct workspace_spec *spec, const char *id, struct fault *f)
{
	struct arena a = { 0 };
	struct disk d = disk_of(&a, spec, spec->id);

	pthread_mutex_lock(&layers);
	if (keep_layer(spec, &d, disk_kept(&d, id), f) >= 0) {
		disk_forget(&d, id);
		disk_sweep(spec->home);
	}
	pthread_mutex_unlock(&layers);
	arena_release(&a);
	return f->code;
}

static int qemu_restore(const struct workspace_spec *spec, const char *id,
			struct fault *f)
{
	struct arena a = { 0 };
	struct disk d = disk_of(&a, spec, spec->id);
	const char *layer, *top;

	pthread_mutex_lock(&layers);
	layer = disk_kept(&d, id);
	if (!layer)
		fault_set(f, FAULT_NOT_FOUND, "", "the snapshot is gone");
	else if (keep_layer(spec, &d, disk_top(&d), f) >= 0 &&
		 disk_cover(&d, layer, &top, f) == 0)
		disk_sweep(spec->home);
	pthread_mutex_unlock(&layers);
	arena_release(&a);
	return f->code;
}

/* --- running -------------------------------------------------------------------------- */

/* Whether a VM without vsock has lost the socket of its serial port. QEMU does not make a lost
 * socket again, so a VM without this socket cannot be reached until the VM is started again. */
static bool qemu_deaf(const struct workspace_spec *spec, const struct process *p)
{
	char door[4200];

	snprintf(door, sizeof(door), "%s/control.serial", spec->sockets);
	return !p->cid && access(door, F_OK) != 0;
}

/* Whether a running VM can still be reached. Somebody may have removed the folder of the VM's
 * sockets. */
static bool is_reachable(struct arena *a, const struct workspace_spec *spec,
			 const struct process *p)
{
	return !access(vm_monitor(a, spec->sockets), F_OK) && !qemu_deaf(spec, p);
}

static int qemu_start(const struct workspace_spec *spec, struct process *process,
		      struct fault *f)
{
	struct arena a = { 0 };
	struct disk d = disk_of(&a, spec, spec->id);
	const char *top = disk_top(&d), *image = disk_image(&d);
	bool found = vm_find(spec->home, spec->id, process);

	if (found && !is_reachable(&a, spec, process)) {
		vm_kill(process, f);
		found = false;
	}
	if (!found && (!top || !image))
		fault_set(f, FAULT_NOT_FOUND, "", "the VM's disk is gone");
	if (!found && !f->code)
		vm_start(spec, image, top, process, f);
	arena_release(&a);
	return f->code;
}

static void qemu_address(const struct workspace_spec *spec, const struct process *p,
			 char out[ADDRESS_SIZE])
{
	if (p->cid)
		snprintf(out, ADDRESS_SIZE, "vsock:%lld", (long long)p->cid);
	else
		snprintf(out, ADDRESS_SIZE, "serial:%s", spec->sockets);
}

/* --- sweeping -------------------------------------------------------------------------- */

static void qemu_sweep(const char *home, const char *const *gone, size_t n)
{
	struct arena a = { 0 };
	struct disk d = { .arena = &a, .folder = arena_printf(&a, "%s/disks", home) };

	for (size_t i = 0; i < n; i++) {
		d.id = gone[i];
		disk_abandon(&d);
	}
	pthread_mutex_lock(&layers);
	disk_sweep(home);
	pthread_mutex_unlock(&layers);
	arena_release(&a);
}

/* Finds the last line of a log that contains `mark`, and copies the text after the mark. */
static void last_line(const char *path, const char *mark, char out[200])
{
	FILE *log = fopen(path, "re");
	char line[512];

	while (log && fgets(line, sizeof(line), log)) {
		const char *said = strstr(line, mark);

		line[strcspn(line, "\r\n")] = '\0';
		if (said)
			snprintf(out, 200, "%.190s", said + strlen(mark));
	}
	if (log)
		fclose(log);
}

/* Finds the reason why a VM ended. In the console's log, lines of the guest's init begin with
 * "cadre: " (guest/guest_boot.c). If the console's log has no line of the init, QEMU's log may
 * give the reason, for example a signal that ended QEMU. */
static void qemu_last_words(const struct workspace_spec *spec, char out[200])
{
	struct arena a = { 0 };

	last_line(arena_printf(&a, "%s/console.log", spec->path), "cadre: ", out);
	if (!*out)
		last_line(arena_printf(&a, "%s/qemu.log", spec->path),
			  "qemu-system-x86_64: ", out);
	arena_release(&a);
}

/* Empties the console's log if the log is larger than LOG_MOST, since the guest can write any
 * amount to the console. QEMU opened the console's log for appending, so QEMU goes on at the
 * new end of the file. */
static void qemu_tend(const struct workspace_spec *spec)
{
	char log[4200];
	struct stat st;

	snprintf(log, sizeof(log), "%s/console.log", spec->path);
	if (!stat(log, &st) && st.st_size > LOG_MOST && truncate(log, 0))
		fprintf(stderr, "%s stays long: %m\n", log);
}

const struct backend backend_qemu = {
	.name = "qemu",
	.vm = true,
	.make = qemu_make,
	.fork = qemu_fork,
	.start = qemu_start,
	.address = qemu_address,
	.stop = pid_stop,
	.alive = pid_alive,
	.deaf = qemu_deaf,
	.keep = qemu_keep,
	.destroy = qemu_destroy,
	.snapshot = qemu_snapshot,
	.forget = qemu_forget,
	.restore = qemu_restore,
	.last_words = qemu_last_words,
	.tend = qemu_tend,
	.seek = vm_find,
	.sweep = qemu_sweep,
};
