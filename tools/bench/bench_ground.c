/* The clock, random numbers, folders and child processes of the benches. */
#include "tools/bench/bench.h"

#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int64_t bench_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

double bench_ms(int64_t since)
{
	return (double)(bench_now() - since) / 1e6;
}

/* The generator xorshift64*. */
uint64_t bench_random(uint64_t *state)
{
	uint64_t x = *state ? *state : 88172645463325252u;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 2685821657736338717u;
}

void bench_rest(double seconds)
{
	struct timespec t = { .tv_sec = (time_t)seconds };

	t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
	nanosleep(&t, NULL);
}

static void ground_say(const char *before, const char *fmt, va_list ap)
{
	fputs(before, stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

void bench_tell(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ground_say("bench: ", fmt, ap);
	va_end(ap);
}

int bench_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ground_say("bench: failed: ", fmt, ap);
	va_end(ap);
	return -1;
}

int bench_fail_fault(const char *what, const struct fault *f)
{
	return bench_fail("%s: %s: %s", what, fault_info(f->code)->name, f->text);
}

/* --- folders ------------------------------------------------------------------ */

int ground_folder(struct bench_ground *g, const char *name, char out[256])
{
	if (snprintf(out, 256, "%s/%s", g->dir, name) >= 256)
		return bench_fail("the path of %s is too long", name);
	bench_remove_tree(out);
	return mkdir(out, 0700) ? bench_fail("%s: %m", out) : 0;
}

static int ground_remove(const char *path, const struct stat *st, int kind,
			 struct FTW *at)
{
	(void)st, (void)kind, (void)at;
	return remove(path);
}

void bench_remove_tree(const char *path)
{
	nftw(path, ground_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* --- children ------------------------------------------------------------------- */

static void ground_put_fd(int from, int to)
{
	int fd = from > 0 ? from : open("/dev/null", O_RDWR);

	if (fd == to)
		fcntl(fd, F_SETFD, 0);
	else
		dup2(fd, to);
}

static void ground_become(const struct start *s)
{
	int extra = s->extra > 0 ? fcntl(s->extra, F_DUPFD, 10) : 0;

	ground_put_fd(s->in, 0);
	ground_put_fd(s->out, 1);
	if (s->quiet)
		ground_put_fd(0, 2);
	if (extra > 0)
		ground_put_fd(extra, 3);
	close_range(extra > 0 ? 4 : 3, ~0U, 0);
	if (s->uid && (setgroups(0, NULL) || setgid(s->uid) || setuid(s->uid)))
		_exit(126);
	if (s->uid) /* setuid() has cleared the signal that bench_fork() set */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	execvp(s->argv[0], (char *const *)s->argv);
	_exit(127);
}

pid_t bench_fork(void)
{
	pid_t pid = fork();

	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* no child outlives the bench */
	return pid < 0 ? bench_fail("fork: %m") : pid;
}

pid_t bench_start_program(const struct start *s)
{
	pid_t pid = bench_fork();

	if (pid == 0)
		ground_become(s);
	return pid;
}

int bench_run_program(const struct start *s)
{
	pid_t pid = bench_start_program(s);
	int status;

	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

void bench_stop_program(pid_t pid, int signal)
{
	int status;

	if (pid <= 0)
		return;
	kill(pid, signal);
	for (int i = 0; i < 10000; i++) {
		if (waitpid(pid, &status, WNOHANG) != 0)
			return;
		bench_rest(0.002);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}
