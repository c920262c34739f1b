/*
 * dump - writes a process's coverage counters if the process ends by SIGTERM, raise(), _exit()
 * or execvpe(). libgcov does not notice these ends.
 *
 * This file is linked into each program of `make coverage`. A program with its own handler for
 * SIGTERM replaces the handler of this file, and writes its counters when it exits.
 */
#include <gcov.h>
#include <signal.h>
#include <unistd.h>

_Noreturn void __real__exit(int status);
_Noreturn void __wrap__exit(int status);
int __real_raise(int sig);
int __wrap_raise(int sig);
int __real_execvpe(const char *file, char *const *argv, char *const *envp);
int __wrap_execvpe(const char *file, char *const *argv, char *const *envp);

void __wrap__exit(int status)
{
	__gcov_dump();
	__real__exit(status);
}

int __wrap_execvpe(const char *file, char *const *argv, char *const *envp)
{
	__gcov_dump();
	__real_execvpe(file, argv, envp);
	__gcov_reset();
	return -1;
}

int __wrap_raise(int sig)
{
	__gcov_dump();
	__gcov_reset();
	return __real_raise(sig);
}

static void dump_and_end(int sig)
{
	signal(sig, SIG_DFL);
	raise(sig);
}

__attribute__((constructor)) static void dump_at_term(void)
{
	struct sigaction old;

	if (sigaction(SIGTERM, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
		signal(SIGTERM, dump_and_end);
}
