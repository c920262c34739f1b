#include "core/machine/vm/accel.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/machine/child.h"

extern char **environ;

enum { TRIAL_MS = 10000, LOOK_MS = 20, MEASURE_MS = 10 };

static void accel_pause_ms(long ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

/* --- the trial of KVM -------------------------------------------------------------- */

/* Whether the guest of the trial has started. A guest prints a line on its console when it
 * starts; see guest/guest_boot.h. */
static int has_come_up(int out)
{
	char text[4096];
	ssize_t n = pread(out, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return strstr(text, "cadre: alive") != NULL;
}

static int accel_spawn(const char *kernel, const char *initrd, int out, pid_t *pid)
{
	const char *words[] = { "qemu-system-x86_64",
				"-M",
				"microvm,x-option-roms=off",
				"-accel",
				"kvm",
				"-cpu",
				"max",
				"-m",
				"128",
				"-nodefaults",
				"-no-user-config",
				"-display",
				"none",
				"-no-reboot",
				"-serial",
				"stdio",
				"-kernel",
				kernel,
				"-initrd",
				initrd,
				"-append",
				"console=ttyS0 quiet panic=-1 reboot=t cadre.probe",
				NULL };
	posix_spawn_file_actions_t files;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, out, 1);
	posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
	return child_spawn(pid, words[0], words, environ, &files, false);
}

static int try_kvm(const char *kernel, const char *initrd)
{
	int out = memfd_create("console", MFD_CLOEXEC), up = 0;
	pid_t pid = 0, ended = 0;

	if (out < 0)
		return 0;
	if (access("/dev/kvm", R_OK | W_OK) || accel_spawn(kernel, initrd, out, &pid)) {
		close(out);
		return 0;
	}
	for (int ms = 0; ms < TRIAL_MS && !up && !ended; ms += LOOK_MS) {
		accel_pause_ms(LOOK_MS);
		ended = waitpid(pid, NULL, WNOHANG);
		up = has_come_up(out);
	}
	if (!ended) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	close(out);
	return up;
}

const char *accel_choose(const char *kernel, const char *initrd)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static const char *chosen;
	const char *said = getenv("CADRE_ACCEL");

	pthread_mutex_lock(&lock);
	if (!chosen && said && *said)
		chosen = strcmp(said, "kvm") ? "tcg" : "kvm";
	if (!chosen)
		chosen = try_kvm(kernel, initrd) ? "kvm" : "tcg";
	pthread_mutex_unlock(&lock);
	return chosen;
}

/* --- the frequency of the processor's clock ------------------------------------------ */

#ifdef __x86_64__
long accel_tsc_khz(void)
{
	int64_t began = clock_raw_ns(), took;
	uint64_t ticks = __builtin_ia32_rdtsc();

	accel_pause_ms(MEASURE_MS);
	ticks = __builtin_ia32_rdtsc() - ticks;
	took = clock_raw_ns() - began;
	return (long)((double)ticks * 1e6 / (double)took);
}
#else
long accel_tsc_khz(void)
{
	return 0;
}
#endif
