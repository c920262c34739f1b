#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/machine/child.h"
#include "core/machine/pid.h"
#include "core/machine/private.h"
#include "core/machine/vm/accel.h"
#include "core/machine/vm/qemu_inside.h"
#include "core/machine/vm/qmp.h"
#include "storage/durable.h"

extern char **environ;

#define PROGRAM "qemu-system-x86_64"
#define DNS "1.1.1.1,8.8.8.8"

enum {
	CID_TRIES = 5,
	CID_FIRST = 1 << 16, /* people choose small numbers */
	KILL_MS = 5000,
	START_MS = 20000, /* for QEMU itself */
	LOOK_MS = 10,
	WORDS_MOST = 32 << 10,
};

const char *vm_monitor(struct arena *a, const char *sockets)
{
	return arena_printf(a, "%s/qmp.sock", sockets);
}

/* --- finding ------------------------------------------------------------------------ */

/* The value behind a word; NULL when it is not there. */
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

/* A comma in a value is written twice. */
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

/* Whether a command line is that of this workspace's VM: its uuid is the workspace's,
 * and its disk is in this state. */
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

bool vm_find(const char *home, const char *id, struct process *process)
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

int vm_kill(const struct process *process, struct fault *f)
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

/* --- words -------------------------------------------------------------------------- */

struct words {
	struct arena *a;
	const char **items;
	size_t n;
};

static void qemu_vm_add(struct words *w, const char *word)
{
	*(const char **)arena_push(w->a, &w->items, &w->n, sizeof(*w->items)) = word;
}

static void add_two(struct words *w, const char *option, const char *value)
{
	qemu_vm_add(w, option);
	qemu_vm_add(w, value);
}

/* Builds the command line that the kernel and guest/guest_boot.h read. Names consist of a-z
 * A-Z 0-9 - only, so nothing is escaped. */
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

/* A number that no other VM of this machine is likely to have. */
static int64_t new_cid(void)
{
	uint32_t n = 0;

	if (access("/dev/vhost-vsock", R_OK | W_OK) ||
	    getrandom(&n, sizeof(n), 0) != sizeof(n))
		return 0;
	return CID_FIRST + n % (INT32_MAX - CID_FIRST);
}

/* A session of its own: it outlives the host. */
static int qemu_vm_spawn(const char *const *words, const char *log, pid_t *pid)
{
	posix_spawn_file_actions_t files;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&files, 2, log, O_WRONLY | O_CREAT | O_TRUNC,
					 0600);
	return child_spawn(pid, words[0], words, environ, &files, true);
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

/* Waits for QEMU's monitor: it answers once everything that can fail at the start has
 * succeeded. */
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
	rc = qemu_vm_spawn(w.items, log, pid);
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
	rename(log, arena_printf(&a, "%s.1", log)); /* of the start before */
	arena_release(&a);
	return f->code;
}

int vm_start(const struct workspace_spec *s, const char *dir, const char *disk,
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
	private_tree(s->path); /* QEMU asks the umask: its console, its sockets */
	private_tree(s->sockets);
	pid_find(pid, process);
	process->cid = cid;
	return 0;
}
