/*
 * dump - a process that SIGTERM ends writes its counters first.
 *
 * Linked into the command of `make coverage` only.  A program that handles SIGTERM by itself
 * replaces this handler, and writes its counters when it exits.
 */
#include <gcov.h>
#include <signal.h>
#include <unistd.h>

static void dump_and_end(int sig)
{
	__gcov_dump();
	signal(sig, SIG_DFL);
	raise(sig);
}

__attribute__((constructor)) static void dump_at_term(void)
{
	struct sigaction old;

	if (sigaction(SIGTERM, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
		signal(SIGTERM, dump_and_end);
}
