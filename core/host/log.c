#include "core/host/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/home/home.h"
#include "storage/durable.h"

enum { LOG_MAX = 8 << 20, LOG_KEEP = 4, LINE_MAX_SIZE = 4096, SELDOM_MS = 60000 };

struct log {
	pthread_mutex_t mutex; /* rotation only; lines are single writes */
	int fd;
	off_t size;
	enum log_level least;
	bool echo;
	_Atomic int64_t lines[LOG_LEVELS];
	char path[4200];
};

static const char *const level_names[] = { "error", "warn", "note", "debug" };

const char *log_level_name(enum log_level level)
{
	return level_names[level];
}

int64_t log_lines(const struct log *l, enum log_level level)
{
	return atomic_load(&l->lines[level]);
}

static int open_file(struct log *l)
{
	struct stat st;

	l->fd = open(l->path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
		     0600);
	if (l->fd < 0)
		return -1;
	l->size = fstat(l->fd, &st) ? 0 : st.st_size;
	return 0;
}

int log_open(struct log **out, const char *home, enum log_level least, bool echo,
	     struct fault *f)
{
	struct log *l = xcalloc(1, sizeof(*l));

	l->least = least;
	l->echo = echo;
	pthread_mutex_init(&l->mutex, NULL);
	snprintf(l->path, sizeof(l->path), "%s/log", home);
	if (dir_have(l->path, 0700))
		goto out;
	snprintf(l->path, sizeof(l->path), "%s/log/host.log", home);
	if (open_file(l))
		goto out;
	*out = l;
	return 0;
out:
	fault_set(f, FAULT_IO, "", "cannot open %.150s: %m", l->path);
	pthread_mutex_destroy(&l->mutex);
	free(l);
	return f->code;
}

void log_close(struct log *l)
{
	if (!l)
		return;
	if (l->fd >= 0)
		close(l->fd);
	pthread_mutex_destroy(&l->mutex);
	free(l);
}

/* host.log.3 becomes host.log.4, ... and host.log becomes host.log.1. */
static void rotate(struct log *l)
{
	char from[4300], to[4300];

	for (int n = LOG_KEEP - 1; n >= 0; n--) {
		snprintf(to, sizeof(to), "%s.%d", l->path, n + 1);
		snprintf(from, sizeof(from), n ? "%s.%d" : "%s", l->path, n);
		rename(from, to);
	}
	close(l->fd);
	l->fd = -1;
}

/* Control characters would let a line forge others or drive a terminal. */
static void make_plain(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 127)
			*s = ' ';
}

void log_line(struct log *l, enum log_level level, const char *fmt, ...)
{
	char line[LINE_MAX_SIZE], when[25];
	va_list ap;
	size_t n;

	if (!l || level > l->least)
		return;
	time_format(clock_wall_ms(), when);
	n = (size_t)snprintf(line, sizeof(line), "%s %-5s ", when, level_names[level]);
	va_start(ap, fmt);
	vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
	va_end(ap);
	make_plain(line + n);
	n = strlen(line);
	line[n++] = '\n';
	atomic_fetch_add(&l->lines[level], 1);
	pthread_mutex_lock(&l->mutex);
	if (l->fd >= 0 && l->size + (off_t)n > LOG_MAX)
		rotate(l);
	if ((l->fd >= 0 || !open_file(l)) && write(l->fd, line, n) > 0)
		l->size += (off_t)n;
	pthread_mutex_unlock(&l->mutex);
	if (l->echo)
		fprintf(stderr, "%.*s", (int)n, line);
}

void log_seldom(struct log *l, struct log_pause *pause, enum log_level level,
		const char *fmt, ...)
{
	int64_t now = clock_wall_ms();
	char line[LINE_MAX_SIZE / 2], more[60] = "";
	va_list ap;

	/* A clock that went back by far does not silence it for long. */
	if (now < pause->until && pause->until - now <= SELDOM_MS) {
		pause->n++;
		return;
	}
	if (pause->n)
		snprintf(more, sizeof(more), " (%lld like this were left out)",
			 (long long)pause->n);
	*pause = (struct log_pause){ .until = now + SELDOM_MS };
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	log_line(l, level, "%s%s", line, more);
}
