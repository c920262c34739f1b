/*
 * A workspace that is a VM: from asking for it to its guest's answer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/machine/image.h"
#include "core/machine/pid.h"
#include "tools/bench/bench.h"
#include "tools/bench/stage.h"

enum { BOOTS = 5, PATIENCE_S = 120 };

#define QEMU "qemu-system-x86_64"

static bool is_in_path(const char *program)
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

static void make_image(const struct ground *g)
{
	const char *const argv[] = { g->self, "image", "build", NULL };
	pid_t pid = start_program(
		&(struct start){ .argv = argv, .in = -1, .out = -1, .extra = -1 });

	if (pid > 0)
		waitpid(pid, NULL, 0);
}

/* Whether VMs can boot here; says why not. */
static bool can_boot(const struct ground *g)
{
	if (!is_in_path(QEMU) || !is_in_path("qemu-img")) {
		tell("boot: skipped: " QEMU " or qemu-img is not installed");
		return false;
	}
	if (!has_image())
		make_image(g);
	if (has_image())
		return true;
	tell("boot: skipped: `cadre image build` made no image");
	return false;
}

static void pause_briefly(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
}

/* Waits until the VM is ready; its process, or -1. */
static pid_t await_ready(struct stage *s, const char *args)
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
			fail("no VM: %.*s", (int)out.len, out.data);
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

	pid_find(pid, &vm);
	if (stage_call(s, "workspace.destroy", args, NULL))
		return -1;
	while (pid_alive(&vm)) {
		if (bench_now() > until)
			return fail("the VM does not end");
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
		pid = await_ready(s, args);
		if (pid > 0)
			took = (double)(bench_now() - begun) / 1e9;
		if (end_vm(s, args, pid))
			took = -1;
	}
	text_release(&out);
	return took;
}

int bench_boot(struct ground *g)
{
	struct stage *s = calloc(1, sizeof(*s));
	double took[BOOTS], s50;
	int n = g->fast ? 1 : BOOTS, rc;

	if (!s)
		abort();
	if (!can_boot(g)) {
		free(s);
		return 0;
	}
	rc = stage_open(s, g, "boot") || stage_team(s, 1, 0) || stage_serve(s);
	/* The first finds out what this machine's processor can do for VMs. */
	for (int i = -1; i < n && rc == 0; i++) {
		double seconds = boot_once(s);

		rc = seconds < 0 ? -1 : 0;
		took[i < 0 ? 0 : i] = seconds;
	}
	stage_close(s);
	free(s);
	if (rc)
		return rc;
	s50 = median(took, (size_t)n);
	score_print(&(struct score){ .name = "boot",
				     .unit = "s",
				     .value = s50,
				     .target = "<=5",
				     .ok = s50 <= 5 });
	return 0;
}
