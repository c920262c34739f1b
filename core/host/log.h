/*
 * log - the host's log file, for the person who runs the host and for programs that gather
 * logs.
 *
 * The log file is HOME/log/host.log. Each line is in logfmt: `time=… level=… msg="…"`, then
 * further `key=value` fields. At 8 MiB the file is renamed to host.log.1, and four old files
 * are kept. Any thread may write a line, and the log's level may change at any time. A line
 * never contains a token, an environment or the text of a message between agents.
 */
#ifndef CORE_HOST_LOG_H
#define CORE_HOST_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/fault.h"
#include "ops.gen.h"

enum { LOG_LEVELS = LOG_LEVEL_DEBUG + 1 };

struct log;

/* Opens the log of the state folder `home`, and makes the file if needed. Lines that are less
 * urgent than `least` are not written. `echo`: each line is also written to stderr. */
int log_open(struct log **out, const char *home, enum log_level least, bool echo,
	     struct fault *f);
void log_close(struct log *l); /* `l` may be NULL */

/* From now on, lines that are less urgent than `least` are not written. */
void log_set_level(struct log *l, enum log_level least);
/* Whether lines of the level `level` are written. */
bool log_takes(const struct log *l, enum log_level level);
const char *log_level_name(enum log_level level);
/* How many lines of a level were written since the log was opened. */
int64_t log_lines(const struct log *l, enum log_level level);

/* A `key=value` field of a log line. */
struct log_field {
	const char *key; /* NULL: the end of the fields */
	const char *text; /* if `is_text` is set and `text` is NULL, the field is left
			     out */
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
/* An empty list of fields. */
#define LOG_NOTHING \
	{           \
		0   \
	}
#define LOG_FIELDS(...) ((const struct log_field[]){ __VA_ARGS__, { 0 } })

/* Writes a line, such as log_line(log, LOG_LEVEL_WARN, "workspace failed",
 * LOG_TEXT("workspace", name)). If `l` is NULL, nothing is written. On a full disk the line is
 * lost without a fault. */
#define log_line(l, level, what, ...) log_write(l, level, what, LOG_FIELDS(__VA_ARGS__))
void log_write(struct log *l, enum log_level level, const char *what,
	       const struct log_field *fields);

/* Limits how often a line is written. The limit is for lines that guests or other processes may
 * cause again and again. */
struct log_pause {
	int64_t until; /* end of the pause; 0: no line was written yet */
	int64_t n; /* number of lines that were left out during the pause */
};

/* Does the same as log_line(), but writes at most one line a minute for each `pause`. The next
 * written line contains the number of lines that were left out. */
#define log_seldom(l, pause, level, what, ...) \
	log_write_seldom(l, pause, level, what, LOG_FIELDS(__VA_ARGS__))
void log_write_seldom(struct log *l, struct log_pause *pause, enum log_level level,
		      const char *what, const struct log_field *fields);

#endif
