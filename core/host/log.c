#include "core/host/log.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "storage/durable.h"

enum { LOG_MAX = 8 << 20, LOG_KEEP = 4, LINE_MAX_SIZE = 4096, SELDOM_MS = 60000 };

struct log {
	pthread_mutex_t mutex; /* guards the file, its size and its rotation */
	int fd;
	off_t size;
	atomic_int least; /* an enum log_level; less urgent lines are not written */
	bool echo;
	_Atomic int64_t lines[LOG_LEVELS];
	char path[4200];
};

const char *log_level_name(enum log_level level)
{
	return field_choice(&record_config, "log.level", (int64_t)level);
}

void log_set_level(struct log *l, enum log_level least)
{
	atomic_store_explicit(&l->least, (int)least, memory_order_relaxed);
}

bool log_takes(const struct log *l, enum log_level level)
{
	return l && (int)level <= atomic_load_explicit(&l->least, memory_order_relaxed);
}

int64_t log_lines(const struct log *l, enum log_level level)
{
	return atomic_load(&l->lines[level]);
}

static int log_open_file(struct log *l)
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

	log_set_level(l, least);
	l->echo = echo;
	pthread_mutex_init(&l->mutex, NULL);
	snprintf(l->path, sizeof(l->path), "%s/log", home);
	if (dir_have(l->path, 0700))
		goto out;
	snprintf(l->path, sizeof(l->path), "%s/log/host.log", home);
	if (log_open_file(l))
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

/* Renames host.log to host.log.1, host.log.1 to host.log.2, and so on. The oldest file is lost. */
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

/* A line to which text is appended. Text that does not fit into the line is left out. */
struct line {
	char data[LINE_MAX_SIZE];
	size_t n;
};

enum { TAIL = 2 }; /* room for the last quote and the newline */

static void log_put(struct line *o, const char *s, size_t n)
{
	if (o->n + n > sizeof(o->data) - TAIL)
		return;
	memcpy(o->data + o->n, s, n);
	o->n += n;
}

static void log_put_word(struct line *o, const char *s)
{
	log_put(o, s, strlen(s));
}

static bool needs_quotes(const char *s)
{
	for (const char *at = s; *at; at++)
		if ((unsigned char)*at <= ' ' || *at == 127 || strchr("\"=\\", *at))
			return true;
	return *s == '\0';
}

/* Appends a text, in quotes if needed, with a blank in place of each control character. A text
 * with control characters could look like another line, or could control a terminal. */
static void log_put_value(struct line *o, const char *s)
{
	size_t n;

	if (!needs_quotes(s)) {
		log_put_word(o, s);
		return;
	}
	log_put(o, "\"", 1);
	for (; *s; s += n) {
		n = text_wide(s);
		if (n)
			log_put(o, s, n);
		else if (*s == '"' || *s == '\\')
			log_put(o, *s == '"' ? "\\\"" : "\\\\", 2);
		else
			log_put(o, (unsigned char)*s < ' ' || *s == 127 ? " " : s, 1);
		n += !n;
	}
	o->data[o->n++] = '"';
}

static void put_field(struct line *o, const struct log_field *field)
{
	char number[24];

	if (field->is_text && !field->text)
		return;
	/* Leaves the field out if the line has no room for the field's key and a number. */
	if (o->n + strlen(field->key) + sizeof(number) + TAIL > sizeof(o->data) - TAIL)
		return;
	log_put(o, " ", 1);
	log_put_word(o, field->key);
	log_put(o, "=", 1);
	if (field->is_text) {
		log_put_value(o, field->text);
	} else {
		snprintf(number, sizeof(number), "%lld", (long long)field->number);
		log_put_word(o, number);
	}
}

static void log_write_line(struct log *l, struct line *o)
{
	o->data[o->n++] = '\n';
	pthread_mutex_lock(&l->mutex);
	if (l->fd >= 0 && l->size + (off_t)o->n > LOG_MAX)
		rotate(l);
	if ((l->fd >= 0 || !log_open_file(l)) && write(l->fd, o->data, o->n) > 0)
		l->size += (off_t)o->n;
	pthread_mutex_unlock(&l->mutex);
	if (l->echo)
		fprintf(stderr, "%.*s", (int)o->n, o->data);
}

static void log_write_all(struct log *l, enum log_level level, const char *what,
			  const struct log_field *fields, int64_t left_out)
{
	const struct log_field more = LOG_NUMBER("left_out_like_this", left_out);
	struct line o = { .n = 0 };
	char when[25];

	time_format(clock_wall_ms(), when);
	o.n = (size_t)snprintf(o.data, sizeof(o.data), "time=%s level=%s msg=", when,
			       log_level_name(level));
	log_put_value(&o, what);
	if (left_out)
		put_field(&o, &more); /* first, since the other fields may fill the
					 line */
	for (; fields->key; fields++)
		put_field(&o, fields);
	atomic_fetch_add(&l->lines[level], 1);
	log_write_line(l, &o);
}

void log_write(struct log *l, enum log_level level, const char *what,
	       const struct log_field *fields)
{
	if (log_takes(l, level))
		log_write_all(l, level, what, fields, 0);
}

void log_write_seldom(struct log *l, struct log_pause *pause, enum log_level level,
		      const char *what, const struct log_field *fields)
{
	int64_t now = clock_wall_ms(), left_out = pause->n;

	if (!log_takes(l, level))
		return;
	/* If the clock was set back by far, the line must not be left out for long. */
	if (now < pause->until && pause->until - now <= SELDOM_MS) {
		pause->n++;
		return;
	}
	*pause = (struct log_pause){ .until = now + SELDOM_MS };
	log_write_all(l, level, what, fields, left_out);
}
