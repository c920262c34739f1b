/*
 * A workspace that is a VM: from asking for it to its guest's answer.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/machine/pid.h"
#include "core/machine/vm/accel.h"
#include "core/machine/vm/vm_image.h"
#include "guest/guest_boot.h"
#include "tools/bench/bench.h"
#include "tools/bench/stage.h"

enum { BOOTS = 3, PATIENCE_S = 120 };

#define QEMU "qemu-system-x86_64"

static bool bench_boot_is_in_path(const char *program)
{
	const char *path = getenv("PATH");
	char file[4096];

	while (path && *path) {
		size_t n = strcspn(path, ":");

		snprintf(file, sizeof(file), "%.*s/%s", (int)n, path, program);
		if (access(file, X_OK) == 0)
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

static bool has_image(void)
{
	struct arena a = { 0 };
	struct image image;
	struct fault f = { 0 };
	bool has = image_find(NULL, &a, &image, &f) == 0;

	arena_release(&a);
	return has;
}

static void make_image(const struct bench_ground *g)
{
	const char *const argv[] = { g->self, "image", "build", NULL };
	pid_t pid = bench_start_program(
		&(struct start){ .argv = argv, .in = -1, .out = -1, .extra = -1 });

	if (pid > 0)
		waitpid(pid, NULL, 0);
}

/* Whether VMs can boot here; says why not. */
static bool can_boot(const struct bench_ground *g)
{
	if (!bench_boot_is_in_path(QEMU) || !bench_boot_is_in_path("qemu-img")) {
		bench_tell("boot: skipped: " QEMU " or qemu-img is not installed");
		return false;
	}
	if (!has_image())
		make_image(g);
	if (has_image())
		return true;
	bench_tell("boot: skipped: `cadre image build` made no image");
	return false;
}

static void pause_briefly(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
}

/* Waits until the VM is ready; its process, or -1. */
static pid_t bench_boot_await_ready(struct stage *s, const char *args)
{
	struct text out = { 0 };
	int64_t until = bench_now() + PATIENCE_S * INT64_C(1000000000);
	pid_t pid = -1;

	while (stage_call(s, "workspace.info", args, &out) == 0) {
		const char *word = strstr(out.data, "\"pid\":");

		if (strstr(out.data, "\"state\":\"ready\"") && word) {
			pid = (pid_t)strtoll(word + strlen("\"pid\":"), NULL, 10);
			break;
		}
		if (bench_now() > until || strstr(out.data, "\"state\":\"failed\"")) {
			bench_fail("no VM: %.*s", (int)out.len, out.data);
			break;
		}
		out.len = 0;
		pause_briefly();
	}
	text_release(&out);
	return pid;
}

/* Destroys the workspace, and sees its VM end. */
static int end_vm(struct stage *s, const char *args, pid_t pid)
{
	int64_t until = bench_now() + PATIENCE_S * INT64_C(1000000000);
	struct process vm = { 0 };
	char confirmed[220];

	pid_find(pid, &vm);
	snprintf(confirmed, sizeof(confirmed), "{\"confirm\":true,%s", args + 1);
	if (stage_call(s, "workspace.destroy", confirmed, NULL))
		return -1;
	while (pid_alive(&vm)) {
		if (bench_now() > until)
			return bench_fail("the VM does not end");
		pause_briefly();
	}
	return 0;
}

/* Boots a VM and ends it, whatever became of it; seconds, or -1. */
static double boot_once(struct stage *s)
{
	struct text out = { 0 };
	char args[200] = "";
	const char *name;
	int64_t begun = bench_now();
	double took = -1;

	if (stage_call(s, "workspace.create", "{\"team\":\"t\",\"backend\":\"qemu\"}",
		       &out) == 0 &&
	    (name = strstr(out.data, "\"name\":\""))) {
		pid_t pid;

		name += strlen("\"name\":\"");
		snprintf(args, sizeof(args), "{\"team\":\"t\",\"workspace\":\"%.*s\"}",
			 (int)strcspn(name, "\""), name);
		pid = bench_boot_await_ready(s, args);
		if (pid > 0)
			took = (double)(bench_now() - begun) / 1e9;
		if (end_vm(s, args, pid))
			took = -1;
	}
	text_release(&out);
	return took;
}

/* The kernel's command line as core/machine/vm/qemu_vm.c writes it, without the words
 * for a workspace. */
static const char *bare_words(struct arena *a, const char *accel)
{
	const char *tcg = arena_printf(
		a, " mitigations=off tsc=reliable tsc_early_khz=%ld", accel_tsc_khz());

	return arena_printf(a,
			    "console=ttyS0 quiet loglevel=3 panic=-1 reboot=t "
			    "cryptomgr.notests%s cadre.probe",
			    strcmp(accel, "tcg") ? "" : tcg);
}

static pid_t start_bare(struct arena *a, const struct image *image, int console)
{
	const char *kernel = arena_printf(a, "%s/vmlinuz", image->dir);
	const char *initrd = arena_printf(a, "%s/initrd", image->dir);
	const char *accel = accel_choose(kernel, initrd);
	/* clang-format off */
	const char *const argv[] = {
		QEMU, "-M", "microvm,x-option-roms=off", "-accel", accel, "-cpu", "max",
		"-m", "512M", "-nodefaults", "-no-user-config", "-display", "none",
		"-no-reboot", "-serial", "stdio", "-kernel", kernel, "-initrd", initrd,
		"-append", bare_words(a, accel), NULL
	};
	/* clang-format on */

	return bench_start_program(
		&(struct start){ .argv = argv, .in = -1, .out = console, .extra = -1 });
}

/* Reads the console until its end, or until the program in the initrd has spoken. */
static bool await_alive(int console)
{
	char text[16384];
	size_t n = 0;
	ssize_t got;

	while (n < sizeof(text) - 1 &&
	       (got = read(console, text + n, sizeof(text) - 1 - n)) > 0) {
		n += (size_t)got;
		text[n] = '\0';
		if (strstr(text, BOOT_ALIVE))
			return true;
	}
	return false;
}

/* The same kernel and initrd without a disk, a line or a workspace, until its first
 * program runs (see guest/guest_boot.h); seconds, or -1. */
static double boot_bare(void)
{
	struct arena a = { 0 };
	struct fault f = { 0 };
	struct image image;
	int64_t begun = bench_now();
	double seconds;
	bool alive;
	int ends[2];
	pid_t pid;

	if (image_find(NULL, &a, &image, &f))
		return bench_fail_fault("no image", &f);
	if (pipe2(ends, O_CLOEXEC))
		return bench_fail("no pipe");
	pid = start_bare(&a, &image, ends[1]);
	close(ends[1]);
	alive = await_alive(ends[0]);
	seconds = (double)(bench_now() - begun) / 1e9;
	close(ends[0]);
	bench_stop_program(pid, SIGKILL);
	arena_release(&a);
	return alive ? seconds : bench_fail("a bare boot failed");
}

int bench_boot(struct bench_ground *g)
{
	struct stage *s;
	struct judge j = { 0 };
	int n = g->fast ? 1 : BOOTS, rc;

	if (!can_boot(g))
		return 0;
	s = stage_new(g, "boot", 1, 0, true);
	/* The first of both find out what this machine's processor can do for VMs. */
	rc = s && boot_once(s) >= 0 && boot_bare() >= 0 ? 0 : -1;
	for (int i = 0; i < n && rc == 0; i++) {
		double base = boot_bare();
		double ours = base < 0 ? -1 : boot_once(s);

		rc = ours < 0 ? -1 : 0;
		if (rc == 0)
			judge_round(&j, ours, base);
	}
	stage_free(s);
	if (rc == 0)
		score_rounds(g, "boot", &j);
	return rc;
}
