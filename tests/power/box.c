#include "tests/power/box.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/loop.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "tests/lib/child.h"
#include "tests/lib/place.h"

#define SHUTDOWN _IOR('X', 125, uint32_t)

enum { NO_LOG_FLUSH = 2, SIZE_MB = 4096, UMOUNT_MS = 20000 };

/* Runs a program of the system and returns its status. */
static int run(const char *const *argv, const char *log)
{
	const struct child c = { .argv = argv, .log = log, .in = -1, .fd3 = -1 };
	pid_t pid = child_start(&c);

	return pid > 0 ? child_wait(pid, 60000) : -1;
}

/* --- the disk ----------------------------------------------------------------------- */

int box_begin(void)
{
	return unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL)
		       ? -1
		       : 0;
}

static int mount_it(struct box *b)
{
	b->mounted = mount(b->device, b->place, b->kind, 0, NULL) == 0;
	/* The root folder of the file system becomes the state's folder, which only its owner
	 * may enter. */
	return b->mounted && chmod(b->place, 0700) == 0 ? 0 : -1;
}

static int umount_it(struct box *b)
{
	int64_t until = clock_steady_ms() + UMOUNT_MS;

	while (b->mounted && umount(b->place)) {
		if (clock_steady_ms() > until) {
			perror("umount");
			return -1;
		}
		pause_for(10);
	}
	b->mounted = false;
	return 0;
}

/* Attaches a loop device to an open file. */
static int attach(struct box *b, int file)
{
	const struct loop_config config = { .fd = (uint32_t)file,
					    .info.lo_flags = LO_FLAGS_AUTOCLEAR };
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), tries = 20;

	/* Another process may take the free device first. */
	while (control >= 0 && b->loop < 0 && tries-- > 0) {
		snprintf(b->device, sizeof(b->device), "/dev/loop%d",
			 ioctl(control, LOOP_CTL_GET_FREE));
		b->loop = open(b->device, O_RDWR | O_CLOEXEC);
		if (b->loop >= 0 && ioctl(b->loop, LOOP_CONFIGURE, &config)) {
			close(b->loop);
			b->loop = -1;
		}
	}
	if (control >= 0)
		close(control);
	return b->loop < 0 ? -1 : 0;
}

static int make_disk(struct box *b, const char *folder)
{
	int file = open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	char program[40];
	const char *const argv[] = { program, "-q", strcmp(b->kind, "ext4") ? "-f" : "-F",
				     b->device, NULL };
	int rc = file < 0 || ftruncate(file, (off_t)SIZE_MB << 20) || attach(b, file);

	snprintf(program, sizeof(program), "/usr/sbin/mkfs.%s", b->kind);
	if (file >= 0)
		close(file);
	return rc || access(program, X_OK) || run(argv, "/dev/null") ? -1 : 0;
}

/* Tries a power failure, and mounts the file system again. Returns -1 if a failure is not
 * possible. */
static int try_failure(struct box *b)
{
	return box_fail(b) || umount_it(b) || mount_it(b) ? -1 : 0;
}

int box_open(struct box *b, const char *kind, const char *folder, const char *place)
{
	const char *memory = "/dev/shm";
	struct statvfs room;

	*b = (struct box){ .kind = kind, .loop = -1 };
	if (!statvfs(memory, &room) &&
	    (uint64_t)room.f_bavail * room.f_frsize > (uint64_t)SIZE_MB << 20)
		folder = memory;
	snprintf(b->place, sizeof(b->place), "%s", place);
	snprintf(b->boot, sizeof(b->boot), "%s.boot", place);
	mkdir(place, 0700);
	if (make_disk(b, folder) == 0 && mount_it(b) == 0 && try_failure(b) == 0)
		return 0;
	box_close(b);
	return -1;
}

void box_close(struct box *b)
{
	if (b->init) {
		kill(b->init, SIGKILL);
		waitpid(b->init, NULL, 0);
	}
	umount_it(b);
	if (b->loop >= 0)
		close(b->loop);
	b->loop = -1;
}

/* --- the processes -------------------------------------------------------------------- */

static int write_boot_id(const char *path)
{
	uint32_t r[4];
	FILE *out = fopen(path, "we");

	if (!out || getrandom(r, sizeof(r), 0) != sizeof(r))
		return -1;
	fprintf(out, "%08x-%04x-4%03x-8%03x-%08x%04x\n", r[0], r[1] & 0xffff, r[1] >> 20,
		r[2] & 0xfff, r[3], r[2] >> 16);
	return fclose(out);
}

static int become_machine(const struct box *b)
{
	return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	       mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV, NULL) ||
	       mount(b->boot, "/proc/sys/kernel/random/boot_id", NULL, MS_BIND, NULL);
}

void box_boot(struct box *b, int (*live)(void *arg), void *arg)
{
	pid_t pid;
	int status;

	fflush(NULL);
	write_boot_id(b->boot);
	pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, NULL, NULL,
			     NULL, NULL);
	if (pid) { /* only the parent sets b->init, since `b` may be in shared memory */
		b->init = pid > 0 ? pid : 0;
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (become_machine(b)) {
		perror("a machine of its own");
		_exit(99);
	}
	status = live(arg);
	fflush(NULL);
	_exit(status);
}

int box_join(struct box *b, int ms)
{
	int status = b->init ? child_wait(b->init, ms) : -1;

	if (status >= 0)
		b->init = 0;
	return status < 0 ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

int box_fail(const struct box *b)
{
	int fd = open(b->place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint32_t how = NO_LOG_FLUSH;
	int rc = fd < 0 ? -1 : ioctl(fd, SHUTDOWN, &how);

	if (fd >= 0)
		close(fd);
	return rc;
}

int box_recover(struct box *b)
{
	if (b->init) {
		kill(b->init, SIGKILL);
		waitpid(b->init, NULL, 0);
	}
	b->init = 0;
	return umount_it(b) || mount_it(b) ? -1 : 0;
}
