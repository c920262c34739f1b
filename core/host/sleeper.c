#include "core/host/sleeper.h"

#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

int sleeper_open(struct sleeper *s, const char *home, struct fault *f)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/bell", home);
	s->end = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->bell = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (s->end < 0 || s->bell < 0 || inotify_add_watch(s->bell, path, IN_MODIFY) < 0)
		return fault_set(f, FAULT_IO, "", "cannot watch %s: %m", path);
	return 0;
}

void sleeper_release(struct sleeper *s)
{
	if (s->bell >= 0)
		close(s->bell);
	if (s->end >= 0)
		close(s->end);
	s->bell = s->end = -1;
}

void sleeper_end(struct sleeper *s)
{
	atomic_store(&s->ending, true);
	if (write(s->end, &(uint64_t){ 1 }, 8) != 8)
		abort(); /* a write of 1 to a new eventfd cannot fail */
}

bool sleeper_ends(const struct sleeper *s)
{
	return atomic_load(&s->ending);
}

void sleeper_sleep(struct sleeper *s, int also, int ms)
{
	struct pollfd wakers[3] = { { .fd = s->end, .events = POLLIN },
				    { .fd = s->bell, .events = POLLIN },
				    { .fd = also, .events = POLLIN } };

	poll(wakers, 3, ms);
}

void sleeper_rest(struct sleeper *s, int also, int ms)
{
	struct pollfd wakers[2] = { { .fd = s->end, .events = POLLIN },
				    { .fd = also, .events = POLLIN } };

	poll(wakers, 2, ms);
}

bool sleeper_hears(const struct sleeper *s)
{
	struct pollfd bell = { .fd = s->bell, .events = POLLIN };

	return poll(&bell, 1, 0) > 0;
}

void sleeper_heard(struct sleeper *s)
{
	char buffer[4096];

	while (read(s->bell, buffer, sizeof(buffer)) > 0)
		;
}
