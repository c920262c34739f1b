#include "storage/byte_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"

int byte_lock(int fd, int64_t byte, short type)
{
	struct flock l = {
		.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1
	};
	int rc;

	do
		rc = fcntl(fd, F_OFD_SETLK, &l);
	while (rc < 0 && errno == EINTR);
	return rc;
}

bool byte_is_locked(int fd, int64_t byte)
{
	struct flock l = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1
	};

	return fcntl(fd, F_OFD_GETLK, &l) == 0 && l.l_type != F_UNLCK;
}

static void on_alarm(int signal)
{
	(void)signal;
}

/* Starts a timer that interrupts this thread by a signal at `until`, and then every 50 ms. A
 * later signal is needed if the first signal arrives before the thread waits. */
static bool start_alarm(timer_t *timer, int64_t until)
{
	const struct sigaction alarm = { .sa_handler = on_alarm };
	struct sigevent to = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN };
	const int64_t left = until - clock_steady_ms();
	struct itimerspec when = { .it_interval.tv_nsec = 50000000 };

	/* The process may have been started with this signal ignored. */
	sigaction(SIGRTMIN, &alarm, NULL);
	to._sigev_un._tid = gettid();
	when.it_value.tv_sec = left > 0 ? left / 1000 : 0;
	when.it_value.tv_nsec = left > 0 ? left % 1000 * 1000000 + 1 : 1;
	if (timer_create(CLOCK_MONOTONIC, &to, timer) == 0) {
		if (timer_settime(*timer, 0, &when, NULL) == 0)
			return true;
		timer_delete(*timer);
	}
	errno = ENOLCK; /* EAGAIN would mean that the lock is taken */
	return false;
}

/* Waits until the lock is free or the time has run out. The timer is made only here, so a
 * caller who gets the lock at once needs no timer. A signal with a handler ends the wait in the
 * kernel. After such a signal the thread waits again, at the end of the kernel's queue. */
static int wait_in_queue(int fd, int64_t byte, short type, int64_t until)
{
	struct flock l = {
		.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1
	};
	sigset_t alarm, before;
	timer_t timer;
	int rc, why;

	if (!start_alarm(&timer, until))
		return -1;
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGRTMIN);
	pthread_sigmask(SIG_UNBLOCK, &alarm, &before);
	while ((rc = fcntl(fd, F_OFD_SETLKW, &l)) < 0 && errno == EINTR)
		if (clock_steady_ms() >= until) {
			errno = ETIMEDOUT;
			break;
		}
	why = errno;
	timer_delete(timer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = why;
	return rc;
}

int byte_lock_wait(int fd, int64_t byte, short type, int64_t until)
{
	if (byte_lock(fd, byte, type) == 0)
		return 0;
	if (errno != EAGAIN && errno != EACCES)
		return -1;
	return wait_in_queue(fd, byte, type, until);
}
