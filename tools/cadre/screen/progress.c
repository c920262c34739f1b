/* A separate thread draws the progress line, because the main thread is mostly busy or waiting. */
#include "tools/cadre/screen/progress.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "tools/cadre/cli.h"

enum { FIRST_MS = 500, NEXT_MS = 200, TEXT = 400 };

struct progress {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t change;
	char text[TEXT];
	int64_t begun;
	bool over, drawn;
};

/* Draws the line. The last column stays free, because a terminal may begin a new line behind
 * the last column. */
static void draw(struct progress *p)
{
	struct arena a = { 0 };
	int64_t seconds = (clock_steady_ms() - p->begun) / 1000;
	const char *time = seconds ? arena_printf(&a, "%lld s  ", (long long)seconds)
				   : "";
	const char *text = cli_plain(&a, p->text, false);
	size_t width = (size_t)cli_columns(STDERR_FILENO) - 1, taken = strlen(time);
	const size_t room = width > taken ? width - taken : 0;
	const bool cut = cli_width(text) > room;
	size_t fit = cli_fit(text, cut && room ? room - 1 : room);

	fprintf(stderr, "\r\033[K%s%.*s%s", taken < width ? time : "", (int)fit, text,
		cut && room ? "…" : "");
	fflush(stderr);
	p->drawn = true;
	arena_release(&a);
}

static void *keep_drawing(void *arg)
{
	struct progress *p = arg;
	int64_t next = p->begun + FIRST_MS;

	pthread_mutex_lock(&p->lock);
	while (!p->over) {
		struct timespec until = { .tv_sec = next / 1000,
					  .tv_nsec = next % 1000 * 1000000 };

		pthread_cond_timedwait(&p->change, &p->lock, &until);
		if (p->over || clock_steady_ms() < next)
			continue;
		draw(p);
		next = clock_steady_ms() + NEXT_MS;
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* Starts the thread that draws the line. Only the main thread handles signals. */
static int start_thread(struct progress *p)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&p->thread, NULL, keep_drawing, p);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

struct progress *progress_begin(const struct cli *cli, const char *text)
{
	const char *term = getenv("TERM");
	pthread_condattr_t attr;
	struct progress *p;

	if (cli->json || !isatty(STDERR_FILENO) || !term || !strcmp(term, "dumb"))
		return NULL;
	p = xcalloc(1, sizeof(*p));
	p->begun = clock_steady_ms();
	snprintf(p->text, sizeof(p->text), "%s", text);
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->change, &attr);
	pthread_condattr_destroy(&attr);
	if (start_thread(p) == 0)
		return p;
	free(p);
	return NULL;
}

void progress_say(struct progress *p, const char *fmt, ...)
{
	va_list ap;

	if (!p)
		return;
	va_start(ap, fmt);
	pthread_mutex_lock(&p->lock);
	vsnprintf(p->text, sizeof(p->text), fmt, ap);
	pthread_mutex_unlock(&p->lock);
	va_end(ap);
}

void progress_end(struct progress *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->over = true;
	pthread_cond_signal(&p->change);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	if (p->drawn)
		fputs("\r\033[K", stderr);
	fflush(stderr);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->change);
	free(p);
}
