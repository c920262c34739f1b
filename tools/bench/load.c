#include "tools/bench/load.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
	FRAME = 4096,
	SAMPLES = 1 << 20,
	WINDOW = 64,
	READ = 64 << 10,
};

struct sender {
	int fd;
	char frame[FRAME + 512];
	size_t size, key; /* of the frame, and where its key stands */
	char in[READ];
	size_t n_in;
	int64_t sent[WINDOW]; /* when; a ring, answers come in order */
	unsigned head, tail;
};

struct run {
	const struct load *load;
	struct sender *senders;
	int epoll;
	uint64_t next_key, salt;
	uint64_t done, failed;
	uint32_t *samples; /* us */
	size_t n_samples;
	bool draining;
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int write_all(int fd, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, data, size);

		if (n <= 0)
			return -1;
		data += n;
		size -= (size_t)n;
	}
	return 0;
}

static size_t put_frame(char *frame, const char *json)
{
	size_t n = strlen(json);

	for (int i = 0; i < 4; i++)
		frame[i] = (char)(n >> (24 - 8 * i));
	memcpy(frame + 4, json, n);
	return n + 4;
}

/* A fresh key in the frame that is sent again and again. */
static void set_key(struct run *r, struct sender *s)
{
	char key[37];
	uint64_t n = r->next_key++;

	snprintf(key, sizeof(key), "%08x-%04x-7%03x-8%03x-%012llx",
		 (unsigned)(n >> 16), (unsigned)(n & 0xffff),
		 (unsigned)(r->salt & 0xfff), (unsigned)(r->salt >> 12 & 0xfff),
		 (unsigned long long)(r->salt >> 16));
	memcpy(s->frame + s->key, key, 36);
}

static int say_hello(struct run *r, struct sender *s, int n)
{
	char json[256], frame[300], in[1024];
	size_t size;

	snprintf(json, sizeof(json),
		 "{\"type\":\"Hello\",\"version\":\"0\",\"role\":\"client\","
		 "\"boot_id\":\"\",\"team\":\"%s\",\"agent\":\"a%d\",\"as\":true}",
		 r->load->team, n);
	size = put_frame(frame, json);
	if (write_all(s->fd, frame, size))
		return -1;
	return read(s->fd, in, sizeof(in)) > 0 ? 0 : -1;
}

static void make_frame(struct run *r, struct sender *s, int n)
{
	char json[FRAME + 500], body[FRAME];
	int size = r->load->body < FRAME - 1 ? r->load->body : FRAME - 1;

	memset(body, 'x', (size_t)size);
	body[size] = '\0';
	snprintf(json, sizeof(json),
		 "{\"type\":\"Call\",\"id\":1,\"op\":\"message.send\",\"args\":"
		 "{\"to\":[\"a%d\"],\"idempotency_key\":"
		 "\"00000000-0000-7000-8000-000000000000\","
		 "\"content\":\"%s\"}}",
		 (n + 1) % r->load->clients, body);
	s->size = put_frame(s->frame, json);
	s->key = (size_t)(strstr(s->frame + 4, "00000000-") - s->frame);
}

static int sender_open(struct run *r, struct sender *s, int n, struct fault *f)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = s };

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", r->load->socket);
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->fd < 0 || connect(s->fd, (struct sockaddr *)&to, sizeof(to)) ||
	    say_hello(r, s, n) || epoll_ctl(r->epoll, EPOLL_CTL_ADD, s->fd, &e))
		return fault_set(f, FAULT_UNAVAILABLE, "", "%s: %s",
				 r->load->socket, strerror(errno));
	make_frame(r, s, n);
	return 0;
}

static int send_some(struct run *r, struct sender *s, int n, int64_t now)
{
	char out[16 * sizeof(s->frame)];
	size_t used = 0;

	for (int i = 0; i < n; i++) {
		if (used + s->size > sizeof(out)) {
			if (write_all(s->fd, out, used))
				return -1;
			used = 0;
		}
		set_key(r, s);
		memcpy(out + used, s->frame, s->size);
		used += s->size;
		s->sent[s->head++ % WINDOW] = now;
	}
	return used ? write_all(s->fd, out, used) : 0;
}

static void count(struct run *r, struct sender *s, const char *json, size_t n,
		  int64_t now)
{
	static const char good[] = "{\"type\":\"CallResult\"";
	int64_t took = now - s->sent[s->tail++ % WINDOW];

	if (n < sizeof(good) - 1 || memcmp(json, good, sizeof(good) - 1)) {
		if (r->failed++ == 0)
			fprintf(stderr, "%.*s\n", (int)n, json);
	} else if (!r->draining)
		r->done++;
	if (r->n_samples < SAMPLES)
		r->samples[r->n_samples++] = (uint32_t)(took / 1000);
}

/* Reads what is there; returns how many answers, or -1. */
static int take_answers(struct run *r, struct sender *s, int64_t now)
{
	ssize_t got = read(s->fd, s->in + s->n_in, sizeof(s->in) - s->n_in);
	size_t at = 0;
	int n = 0;

	if (got <= 0)
		return -1;
	s->n_in += (size_t)got;
	while (s->n_in - at >= 4) {
		const unsigned char *h = (unsigned char *)s->in + at;
		size_t size = (size_t)h[0] << 24 | (size_t)h[1] << 16 |
			      (size_t)h[2] << 8 | h[3];

		if (s->n_in - at < 4 + size)
			break;
		count(r, s, s->in + at + 4, size, now);
		at += 4 + size;
		n++;
	}
	memmove(s->in, s->in + at, s->n_in - at);
	s->n_in -= at;
	return n;
}

static bool busy(const struct run *r)
{
	for (int i = 0; i < r->load->clients; i++)
		if (r->senders[i].head != r->senders[i].tail)
			return true;
	return false;
}

static int drive(struct run *r, int64_t end)
{
	struct epoll_event events[64];

	while (busy(r)) {
		int n = epoll_wait(r->epoll, events, 64, 5000);
		int64_t now = now_ns();

		if (n <= 0)
			return -1;
		r->draining = now >= end;
		for (int i = 0; i < n; i++) {
			struct sender *s = events[i].data.ptr;
			int got = take_answers(r, s, now);

			if (got < 0 || (!r->draining &&
					send_some(r, s, got, now)))
				return -1;
		}
	}
	return 0;
}

static int by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void report(struct run *r, struct load_result *result, double seconds)
{
	size_t n = r->n_samples;

	qsort(r->samples, n, sizeof(*r->samples), by_size);
	*result = (struct load_result){
		.done = r->done,
		.failed = r->failed,
		.seconds = seconds,
		.p50_ms = n ? r->samples[n / 2] / 1000.0 : 0,
		.p99_ms = n ? r->samples[n - 1 - n / 100] / 1000.0 : 0,
		.max_ms = n ? r->samples[n - 1] / 1000.0 : 0,
	};
}

int load_run(const struct load *load, struct load_result *result,
	     struct fault *f)
{
	struct run r = { .load = load };
	size_t n = (size_t)load->clients;
	int64_t start;
	int rc = 0;

	r.senders = calloc(n, sizeof(*r.senders));
	r.samples = calloc(SAMPLES, sizeof(*r.samples));
	r.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!r.senders || !r.samples ||
	    getrandom(&r.salt, sizeof(r.salt), 0) != sizeof(r.salt))
		abort();
	for (int i = 0; i < load->clients; i++)
		r.senders[i].fd = -1;
	for (int i = 0; i < load->clients && rc == 0; i++)
		rc = sender_open(&r, &r.senders[i], i, f);
	start = now_ns();
	for (int i = 0; i < load->clients && rc == 0; i++)
		rc = send_some(&r, &r.senders[i],
			       load->window < WINDOW ? load->window : WINDOW,
			       start);
	if (rc == 0 && drive(&r, start + load->seconds * INT64_C(1000000000)))
		rc = fault_set(f, FAULT_IO, "", "the host went away");
	if (rc == 0)
		report(&r, result, load->seconds);
	for (int i = 0; i < load->clients; i++)
		if (r.senders[i].fd >= 0)
			close(r.senders[i].fd);
	close(r.epoll);
	free(r.samples);
	free(r.senders);
	return rc;
}
