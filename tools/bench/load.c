#include "tools/bench/load.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"

enum { STALLED_MS = 20000, BACKLOG = 1024 };

struct running {
	const struct act *act;
	const struct script *script;
	struct speaker **speakers;
	int clients, window, epoll;
	double seconds;
	int64_t from, until; /* cycles that end between these times count */
	bool stopping;
	uint64_t cycles, failed, open;
	struct series *out;
};

/* --- sockets ----------------------------------------------------------------------- */

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

static int load_socket(const char *path, bool listens)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (snprintf(at.sun_path, sizeof(at.sun_path), "%s", path) >=
	    (int)sizeof(at.sun_path))
		errno = ENAMETOOLONG;
	else if (!listens && !connect(fd, (struct sockaddr *)&at, sizeof(at)))
		return fd;
	else if (listens && !bind(fd, (struct sockaddr *)&at, sizeof(at)) &&
		 !listen(fd, BACKLOG))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int load_connect(const char *path)
{
	return load_socket(path, false);
}

int load_listen(const char *path)
{
	int fd = load_socket(path, true);

	return fd < 0 ? bench_fail("%s: %m", path) : fd;
}

/* --- requests ----------------------------------------------------------------------- */

/* Writes a new key of the kind that clients make. If `ordered`, the key is a UUIDv7 of the
 * present time, else a UUIDv4. */
static void load_put_key(struct speaker *s, bool ordered)
{
	uint64_t a = bench_random(&s->random), b = bench_random(&s->random);

	if (ordered)
		a = (uint64_t)clock_wall_ms() << 16 | 0x7000 | (a & 0xfff);
	else
		a = (a & ~UINT64_C(0xf000)) | 0x4000;
	b = (b & ~(UINT64_C(3) << 62)) | UINT64_C(1) << 63;
	text_addf(&s->out, "%08lx-%04lx-%04lx-%04lx-%012lx", a >> 32, a >> 16 & 0xffff,
		  a & 0xffff, b >> 48, b & UINT64_C(0xffffffffffff));
}

static void load_put_part(struct speaker *s, char word)
{
	static char bytes[LOAD_PART / 3 * 4];
	const int64_t part = s->asked % LOAD_PARTS;

	if (word == 'o')
		text_addf(&s->out, "%ld", part * LOAD_PART);
	else if (word == 'u')
		text_addf(&s->out, "%ld", s->asked / LOAD_PARTS);
	else if (word == 'z' && part == LOAD_PARTS - 1)
		text_addf(&s->out, ",\"size\":%ld", (int64_t)LOAD_PARTS * LOAD_PART);
	else if (word == 'c')
		text_add(&s->out, memset(bytes, 'x', sizeof(bytes)), sizeof(bytes));
}

static void load_put_word(struct speaker *s, char word)
{
	static char body[LOAD_BODY];
	struct text *out = &s->out;

	if (word == '#' || word == '>')
		text_addf(out, "%d", word == '#' ? s->number : s->next);
	else if (word == 'k' || word == 'K')
		load_put_key(s, word == 'k' || bench_random(&s->random) >> 40 & 1);
	else if (word == 'b')
		text_add(out, memset(body, 'x', sizeof(body)), sizeof(body));
	else if (word == 'i' || word == 'e')
		text_addf(out, "%s", s->taken[word == 'e']);
	else if (word == 's')
		text_addf(out, "%s",
			  stage_token(&s->scene->stages[s->act->stage], s->number));
	else if (word == '0')
		text_add(out, "", 1);
	else if (word == 'N')
		text_addf(out, "$4\r\ns%03d", s->number);
	else if (word == 'I')
		text_addf(out, "$%zu\r\n%s", strlen(s->taken[0]), s->taken[0]);
	else
		load_put_part(s, word);
}

/* Writes the length of the bytes from `from` on into the place before these bytes. */
static void load_put_length(struct speaker *s, size_t from, char kind)
{
	const size_t size = s->out.len - from;
	const uint32_t big = htonl((uint32_t)(size + (kind == 'q' ? 4 : 0)));
	char text[12];

	/* An empty line of four bytes ends the head in HTTP. The length counts only the bytes
	 * behind the head. */
	snprintf(text, sizeof(text), "%4zu", size - 4);
	memcpy(s->out.data + from - 4, kind == 'l' ? text : (const char *)&big, 4);
}

void load_say(struct speaker *s, const char *text)
{
	size_t length = 0;
	char kind = 0;

	for (const char *word; *text; text = word) {
		word = strchrnul(text, '~');
		text_add(&s->out, text, (size_t)(word - text));
		if (*word && strchr("4ql", word[1])) {
			kind = word[1];
			text_add(&s->out, "    ", 4);
			length = s->out.len;
		} else if (*word) {
			load_put_word(s, word[1]);
		}
		word += *word ? 2 : 0;
	}
	if (length)
		load_put_length(s, length, kind);
	s->asked++;
}

static int load_flush(struct speaker *s)
{
	const size_t n = s->out.len;

	s->out.len = 0;
	return n && load_write_all(s->fd, s->out.data, n)
		       ? bench_fail("the server does not listen")
		       : 0;
}

/* --- answers -------------------------------------------------------------------------- */

/* Copies from an answer the text behind each word of the script's `take`. Returns false if the
 * answer lacks such a word, or if a text is too long. */
static bool load_take(struct speaker *s, const char *data, size_t size)
{
	for (int i = 0; i < 2 && s->script->take[i]; i++) {
		const char *word = s->script->take[i];
		const char *at = memmem(data, size, word, strlen(word));
		size_t n = 0;

		if (!at)
			return false;
		at += strlen(word);
		while (at + n < data + size && !strchr("\",}\r", at[n]))
			n++;
		if (n >= LOAD_TAKEN)
			return false;
		memcpy(s->taken[i], at, n);
		s->taken[i][n] = '\0';
	}
	return true;
}

/* Prints the first bytes of an answer, with a dot in place of each byte that is not printable. */
static void load_tell(const char *data, size_t size)
{
	char text[300];
	const size_t n = size < sizeof(text) ? size : sizeof(text);

	for (size_t i = 0; i < n; i++)
		text[i] = isprint((unsigned char)data[i]) ? data[i] : '.';
	bench_tell("an answer was %.*s", (int)n, text);
}

/* Reads once. Returns the length of the whole answer at the beginning of `in`, 0 if the answer
 * is not complete, or -1 after a failure. */
static ssize_t load_read(struct speaker *s)
{
	ssize_t got = read(s->fd, s->in + s->n_in, s->room - s->n_in);

	if (got <= 0)
		return bench_fail("the server went away");
	s->n_in += (size_t)got;
	return (ssize_t)s->script->door->whole(s, s->in, s->n_in);
}

static void load_drop(struct speaker *s, size_t size)
{
	s->n_in -= size;
	memmove(s->in, s->in + size, s->n_in);
}

/* Sends one request, and waits for the answer. */
static int load_ask(struct speaker *s, const char *text)
{
	ssize_t size = 0;
	bool good;

	load_say(s, text);
	if (load_flush(s))
		return -1;
	while (size == 0)
		size = load_read(s);
	if (size < 0)
		return -1;
	good = s->script->door->good(s->in, (size_t)size);
	if (!good)
		load_tell(s->in, (size_t)size);
	load_drop(s, (size_t)size);
	return good ? 0 : -1;
}

/* --- speakers -------------------------------------------------------------------------- */

static struct speaker *load_speaker(struct scene *scene, const struct act *act,
				    int number)
{
	struct speaker *s = xcalloc(1, sizeof(*s));

	s->scene = scene;
	s->act = act;
	s->script = act->script;
	s->number = number;
	s->random = (uint64_t)bench_now() * 2 + 1;
	s->next = (number + 1) % (act->clients ? act->clients : 1);
	s->room = act->script->door->room ? act->script->door->room : LOAD_ROOM;
	s->in = xmalloc(s->room);
	s->fd = -1;
	return s;
}

/* Connects, and sends at most `hellos` of the door's first messages. */
static int load_join(struct speaker *s, size_t hellos)
{
	const struct door *d = s->script->door;
	int rc = 0;

	s->fd = d->join(s);
	for (size_t i = 0; i < hellos && d->hello[i] && s->fd >= 0 && rc == 0; i++)
		rc = load_ask(s, d->hello[i]);
	s->asked = 0;
	return s->fd < 0 || rc ? bench_fail("client %d could not join", s->number) : 0;
}

static void load_leave(struct speaker *s)
{
	if (s->fd >= 0)
		close(s->fd);
	bench_stop_program(s->child, SIGTERM);
	free(s->in);
	text_release(&s->out);
	free(s);
}

int act_greet(struct scene *scene, const struct act *a, struct series *out)
{
	struct speaker *s = load_speaker(scene, a, 0);
	int64_t begun = bench_now();
	int rc = load_join(s, 1);

	series_add(out, bench_ms(begun));
	load_leave(s);
	return rc;
}

/* --- cycles ------------------------------------------------------------------------- */

static void load_begin(struct running *r, struct speaker *s, int64_t now)
{
	s->begun[s->head++ % LOAD_WINDOW] = now;
	s->step = 0;
	r->open++;
	load_say(s, r->script->asks[0]);
}

static void load_end(struct running *r, struct speaker *s, bool good, int64_t now)
{
	int64_t begun = s->begun[s->tail++ % LOAD_WINDOW];

	r->open--;
	if (good && now >= r->from && now < r->until) {
		r->cycles++;
		series_add(r->out, (double)(now - begun) / 1e6);
	}
	if (!r->stopping)
		load_begin(r, s, now);
}

static void load_hear(struct running *r, struct speaker *s, const char *data, size_t size,
		      int64_t now)
{
	const struct script *script = r->script;
	const bool takes = script->take[0] && s->step == script->take_at;
	bool good = script->door->good(data, size) &&
		    (!takes || load_take(s, data, size));

	if (!good && r->failed++ == 0)
		load_tell(data, size);
	if (good && s->step + 1 < LOAD_STEPS && script->asks[s->step + 1])
		load_say(s, script->asks[++s->step]);
	else
		load_end(r, s, good, now);
}

static int load_listen_to(struct running *r, struct speaker *s, int64_t now)
{
	ssize_t size = load_read(s);
	size_t at = 0;

	if (size < 0)
		return -1;
	while (size > 0) {
		load_hear(r, s, s->in + at, (size_t)size, now);
		at += (size_t)size;
		size = (ssize_t)r->script->door->whole(s, s->in + at, s->n_in - at);
	}
	load_drop(s, at);
	return load_flush(s);
}

static int load_drive(struct running *r)
{
	struct epoll_event events[64];

	while (r->open > 0) {
		int n = epoll_wait(r->epoll, events, 64, STALLED_MS);
		int64_t now = bench_now();

		if (n <= 0)
			return bench_fail("no answer for %d s", STALLED_MS / 1000);
		r->stopping = now >= r->until;
		for (int i = 0; i < n; i++)
			if (load_listen_to(r, events[i].data.ptr, now))
				return -1;
	}
	return 0;
}

/* --- the run --------------------------------------------------------------------------- */

static int load_join_all(struct running *r, struct scene *scene)
{
	for (int i = 0; i < r->clients; i++) {
		struct speaker *s = r->speakers[i] = load_speaker(scene, r->act, i);
		struct epoll_event e = { .events = EPOLLIN, .data.ptr = s };

		if (load_join(s, 3) || epoll_ctl(r->epoll, EPOLL_CTL_ADD, s->fd, &e))
			return -1;
	}
	return 0;
}

static int load_start(struct running *r)
{
	int64_t now = bench_now();

	r->from = now + INT64_C(200000000); /* cycles that end in the first 0.2 s do not
					       count */
	r->until = r->from + (int64_t)(r->seconds * 1e9);
	for (int i = 0; i < r->clients; i++) {
		for (int k = 0; k < r->window; k++)
			load_begin(r, r->speakers[i], now);
		if (load_flush(r->speakers[i]))
			return -1;
	}
	return 0;
}

int act_load(struct scene *scene, const struct act *a, struct series *out)
{
	struct running r = { .act = a,
			     .script = a->script,
			     .clients = a->clients ? a->clients : 1,
			     .window = a->window ? a->window : 1,
			     .epoll = epoll_create1(EPOLL_CLOEXEC),
			     .seconds = a->seconds > 0 ? a->seconds : 1.2,
			     .out = out };
	int rc;

	if (scene->ground->fast)
		r.seconds /= 2;
	r.speakers = xcalloc((size_t)r.clients, sizeof(*r.speakers));
	rc = load_join_all(&r, scene) || load_start(&r) || load_drive(&r);
	series_rate(out, (double)r.cycles / r.seconds * (a->scale > 0 ? a->scale : 1));
	for (int i = 0; i < r.clients && r.speakers[i]; i++)
		load_leave(r.speakers[i]);
	close(r.epoll);
	free(r.speakers);
	return rc == 0 && (r.failed || !r.cycles)
		       ? bench_fail("%llu answers were failures",
				    (unsigned long long)r.failed)
		       : rc;
}
