/*
 * log - messages of a host to the person who runs it.
 *
 * HOME/log/host.log: one line each, with time and level; at 8 MiB the file is
 * put aside as host.log.1, and four of those are kept.  Any thread may write.
 * A line never holds a token, an environment or the text of a message.
 */
#ifndef CORE_HOST_LOG_H
#define CORE_HOST_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/fault.h"

enum log_level {
	LOG_LEVEL_ERROR, /* something is lost or broken */
	LOG_LEVEL_WARN, /* it goes on, but somebody should look */
	LOG_LEVEL_NOTE, /* what the host did */
	LOG_LEVEL_DEBUG, /* how */
};

enum { LOG_LEVELS = LOG_LEVEL_DEBUG + 1 };

struct log;

/* Opens the log of the state folder `home`, made if needed.  Lines below
 * `least` are left out; `echo` repeats the others on stderr. */
int log_open(struct log **out, const char *home, enum log_level least, bool echo,
	     struct fault *f);
void log_close(struct log *l); /* NULL is fine */

const char *log_level_name(enum log_level level);
/* How many lines of a level were written since the log was opened. */
int64_t log_lines(const struct log *l, enum log_level level);

/* Writes a line; a NULL log takes none.  A full disk is no reason to stop. */
void log_line(struct log *l, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Limits a line that something other than this host may cause again and again. */
struct log_pause {
	int64_t until; /* 0: none was written yet */
	int64_t n; /* that were left out since */
};

/* log_line(), once a minute at most for each pause; the next line says how many were
 * left out. */
void log_seldom(struct log *l, struct log_pause *pause, enum log_level level,
		const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif
