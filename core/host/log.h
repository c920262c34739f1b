/*
 * log - messages of a host to the person who runs it, and to what gathers logs.
 *
 * HOME/log/host.log: one line each in logfmt, `time=… level=… msg="…"` and what the message is
 * about as further `key=value`; at 8 MiB the file is put aside as host.log.1, and four of those
 * are kept.  Any thread may write, and the level may change at any time.  A line never holds a
 * token, an environment or the text of a message.
 */
#ifndef CORE_HOST_LOG_H
#define CORE_HOST_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/fault.h"
#include "ops.gen.h"

enum { LOG_LEVELS = LOG_LEVEL_DEBUG + 1 };

struct log;

/* Opens the log of the state folder `home`, made if needed.  Lines below
 * `least` are left out; `echo` repeats the others on stderr. */
int log_open(struct log **out, const char *home, enum log_level least, bool echo,
	     struct fault *f);
void log_close(struct log *l); /* NULL is fine */

/* Lines below `least` are left out from now on. */
void log_set_level(struct log *l, enum log_level least);
/* Whether a line of that level is written. */
bool log_takes(const struct log *l, enum log_level level);
const char *log_level_name(enum log_level level);
/* How many lines of a level were written since the log was opened. */
int64_t log_lines(const struct log *l, enum log_level level);

/* A thing that a line is about. */
struct log_field {
	const char *key; /* NULL: there are no more */
	const char *text; /* NULL with `is_text`: the field is left out */
	int64_t number;
	bool is_text;
};

#define LOG_TEXT(name, value)                                   \
	{                                                       \
		.key = (name), .text = (value), .is_text = true \
	}
#define LOG_NUMBER(name, value)                           \
	{                                                 \
		.key = (name), .number = (int64_t)(value) \
	}
#define LOG_FAULT(f) LOG_TEXT("error", (f)->text)
/* For a line that says all by itself. */
#define LOG_NOTHING \
	{           \
		0   \
	}
#define LOG_FIELDS(...) ((const struct log_field[]){ __VA_ARGS__, { 0 } })

/* Writes a line: log_line(log, LOG_LEVEL_WARN, "workspace failed", LOG_TEXT("workspace", name)).
 * A NULL log takes none.  A full disk is no reason to stop. */
#define log_line(l, level, what, ...) log_write(l, level, what, LOG_FIELDS(__VA_ARGS__))
void log_write(struct log *l, enum log_level level, const char *what,
	       const struct log_field *fields);

/* Limits a line that something other than this host may cause again and again. */
struct log_pause {
	int64_t until; /* 0: none was written yet */
	int64_t n; /* that were left out since */
};

/* log_line(), once a minute at most for each pause; the next line says how many were
 * left out. */
#define log_seldom(l, pause, level, what, ...) \
	log_write_seldom(l, pause, level, what, LOG_FIELDS(__VA_ARGS__))
void log_write_seldom(struct log *l, struct log_pause *pause, enum log_level level,
		      const char *what, const struct log_field *fields);

#endif
