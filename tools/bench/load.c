#include "tools/bench/load.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/alloc.h"

enum { STALLED_MS = 20000 };

struct running {
	const struct load *load;
	struct speaker **speakers;
	int epoll;
	int64_t from, until; /* what ends between them counts */
	bool stopping;
	uint64_t cycles, failed, open;
	float *samples; /* ms */
	size_t n_samples, room;
};

/* --- for scripts ----------------------------------------------------------------- */

void load_say(struct speaker *s, const char *data, size_t size)
{
	if (s->n_out + size > sizeof(s->out))
		abort();
	memcpy(s->out + s->n_out, data, size);
	s->n_out += size;
}

int load_write_all(int fd, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, data, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		data += n;
		size -= (size_t)n;
	}
	return 0;
}

int load_join(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd;

	if (snprintf(to.sun_path, sizeof(to.sun_path), "%s", path) >=
	    (int)sizeof(to.sun_path))
		return bench_fail("%s is too long for a socket", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		return fd;
	bench_fail("%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

ssize_t load_read_answer(int fd, char *data, size_t room,
			 size_t (*whole)(const char *data, size_t size))
{
	size_t n = 0;

	while (n < room) {
		ssize_t got = read(fd, data + n, room - n);

		if (got <= 0)
			return -1;
		n += (size_t)got;
		if (whole(data, n))
			return (ssize_t)n;
	}
	return -1;
}

/* --- cycles ------------------------------------------------------------------------- */

static void load_begin(struct running *r, struct speaker *s, int64_t now)
{
	s->begun[s->head++ % LOAD_WINDOW] = now;
	s->step = 0;
	r->open++;
	r->load->script->ask(s, 0);
}

static void keep_sample(struct running *r, double ms)
{
	if (r->n_samples == r->room) {
		r->room = r->room ? r->room * 2 : 1 << 16;
		r->samples = xreallocarray(r->samples, r->room, sizeof(*r->samples));
	}
	r->samples[r->n_samples++] = (float)ms;
}

static void end_cycle(struct running *r, struct speaker *s, bool good, int64_t now)
{
	int64_t begun = s->begun[s->tail++ % LOAD_WINDOW];

	r->open--;
	if (good && now >= r->from && now < r->until) {
		r->cycles++;
		keep_sample(r, (double)(now - begun) / 1e6);
	}
	if (!r->stopping)
		load_begin(r, s, now);
}

/* Most of an answer's bytes are text; of the others one sees how many. */
static void tell_answer(const char *data, size_t size)
{
	char text[300];
	const size_t n = size < sizeof(text) ? size : sizeof(text);

	for (size_t i = 0; i < n; i++)
		text[i] = isprint((unsigned char)data[i]) ? data[i] : '.';
	bench_tell("an answer was %.*s", (int)n, text);
}

static void load_hear(struct running *r, struct speaker *s, const char *data, size_t size,
		      int64_t now)
{
	const struct script *script = r->load->script;
	bool good = script->heard(s, s->step, data, size);

	if (!good && r->failed++ == 0)
		tell_answer(data, size);
	if (good && s->step + 1 < script->n_steps)
		script->ask(s, ++s->step);
	else
		end_cycle(r, s, good, now);
}

static int listen_to(struct running *r, struct speaker *s, int64_t now)
{
	ssize_t got = read(s->fd, s->in + s->n_in, sizeof(s->in) - s->n_in);
	size_t at = 0, size;

	if (got <= 0)
		return bench_fail("the server went away");
	s->n_in += (size_t)got;
	while (at < s->n_in &&
	       (size = r->load->script->whole(s->in + at, s->n_in - at))) {
		load_hear(r, s, s->in + at, size, now);
		at += size;
	}
	memmove(s->in, s->in + at, s->n_in - at);
	s->n_in -= at;
	if (s->n_out && load_write_all(s->fd, s->out, s->n_out))
		return bench_fail("the server does not listen");
	s->n_out = 0;
	return 0;
}

static int drive(struct running *r)
{
	struct epoll_event events[64];

	while (r->open > 0) {
		int n = epoll_wait(r->epoll, events, 64, STALLED_MS);
		int64_t now = bench_now();

		if (n <= 0)
			return bench_fail("no answer for %d s", STALLED_MS / 1000);
		r->stopping = now >= r->until;
		for (int i = 0; i < n; i++)
			if (listen_to(r, events[i].data.ptr, now))
				return -1;
	}
	return 0;
}

/* --- the run --------------------------------------------------------------------------- */

static int join_all(struct running *r)
{
	for (int i = 0; i < r->load->clients; i++) {
		struct speaker *s = xcalloc(1, sizeof(*s));
		struct epoll_event e = { .events = EPOLLIN, .data.ptr = s };

		r->speakers[i] = s;
		s->load = r->load;
		s->number = i;
		s->random = (uint64_t)bench_now() * 2 + 1;
		s->fd = r->load->script->join(s);
		if (s->fd < 0 || epoll_ctl(r->epoll, EPOLL_CTL_ADD, s->fd, &e))
			return bench_fail("client %d could not join", i);
	}
	return 0;
}

static int first_words(struct running *r)
{
	int64_t now = bench_now();

	r->from = now + (int64_t)(r->load->warm * 1e9);
	r->until = r->from + (int64_t)(r->load->seconds * 1e9);
	for (int i = 0; i < r->load->clients; i++) {
		struct speaker *s = r->speakers[i];

		for (int k = 0; k < r->load->window; k++)
			load_begin(r, s, now);
		if (load_write_all(s->fd, s->out, s->n_out))
			return bench_fail("the server does not listen");
		s->n_out = 0;
	}
	return 0;
}

static int load_by_size(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return x < y ? -1 : x > y;
}

static void sum_up(struct running *r, struct outcome *out)
{
	size_t n = r->n_samples;

	qsort(r->samples, n, sizeof(*r->samples), load_by_size);
	*out = (struct outcome){
		.rate = (double)r->cycles / r->load->seconds,
		.cycles = r->cycles,
		.failed = r->failed,
		.p50_ms = n ? r->samples[n / 2] : 0,
		.p99_ms = n ? r->samples[n - 1 - n / 100] : 0,
		.p999_ms = n ? r->samples[n - 1 - n / 1000] : 0,
		.max_ms = n ? r->samples[n - 1] : 0,
	};
}

int load_run(const struct load *l, struct outcome *out)
{
	struct running r = { .load = l, .epoll = epoll_create1(EPOLL_CLOEXEC) };
	int rc;

	r.speakers = xcalloc((size_t)l->clients, sizeof(*r.speakers));
	if (r.epoll < 0)
		abort();
	rc = join_all(&r) || first_words(&r) || drive(&r) ? -1 : 0;
	if (rc == 0)
		sum_up(&r, out);
	for (int i = 0; i < l->clients && r.speakers[i]; i++) {
		if (r.speakers[i]->fd >= 0)
			close(r.speakers[i]->fd);
		free(r.speakers[i]->own);
		free(r.speakers[i]);
	}
	close(r.epoll);
	free(r.speakers);
	free(r.samples);
	if (rc == 0 && out->failed)
		return bench_fail("%llu answers were failures",
				  (unsigned long long)out->failed);
	return rc;
}
