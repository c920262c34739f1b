/*
 * close - lets ThreadSanitizer see the descriptors that libuv closes.
 *
 * libuv closes descriptors with syscall(SYS_close), which TSan does not intercept. The kernel
 * may then give the same descriptor number to a file that another thread opens with openat().
 * To TSan, the use of that file looks like a race with libuv's earlier use of the same number.
 * This file is linked only into the TSan build of the command. With this file TSan sees when
 * libuv closes a descriptor, so no report of TSan has to be suppressed.
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
