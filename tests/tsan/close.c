/*
 * close - lets ThreadSanitizer see the descriptors that libuv closes.
 *
 * libuv closes them with syscall(SYS_close), which TSan does not intercept.  When
 * the kernel then gives such a number to a file of another thread, opened with
 * openat(), that thread's use of its own file looks like a race with what libuv
 * did before.  Linked into the TSan build of the command only: with the closes
 * seen, nothing has to be suppressed.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

long syscall(long number, ...)
{
	long (*real)(long number, ...) =
		(long (*)(long number, ...))dlsym(RTLD_NEXT, "syscall");
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_close)
		return close((int)a[0]);
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
