/*
 * Files of a workspace: ranges read and parts written over a guest's socket,
 * several under way.  The floor is a copy of the same file.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/wire/base64.h"
#include "core/wire/frame.h"
#include "core/wire/wire.h"
#include "ops.gen.h"
#include "tools/bench/bench.h"

enum { MIB = 1 << 20, PART = 3 * MIB / 2, AHEAD = 4, ROUNDS = 3 };

struct wire_side {
	char dir[256], path[320];
	pid_t guest;
	int fd;
	struct frame_reader in;
	struct text out;
	char *bytes; /* a part */
	char *base64;
	int64_t size;
};

/* --- frames ---------------------------------------------------------------------- */

static int bench_file_dial(struct wire_side *w)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	snprintf(at.sun_path, sizeof(at.sun_path), "%.80s/g/control.sock", w->dir);
	for (int i = 0; i < 500; i++) {
		w->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (connect(w->fd, (struct sockaddr *)&at, sizeof(at)) == 0)
			return 0;
		close(w->fd);
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	return bench_fail("no guest at %s", at.sun_path);
}

static int bench_file_load_say(struct wire_side *w, const char *type, const void *src,
			       int64_t id)
{
	json_t *json = json_integer(id);
	struct fault f = { 0 };
	size_t sent = 0;
	int rc;

	w->out.len = 0;
	rc = wire_write(&w->out, type, src, json, &f);
	json_decref(json);
	while (!rc && sent < w->out.len) {
		ssize_t n = write(w->fd, w->out.data + sent, w->out.len - sent);

		if (n <= 0)
			return bench_fail("write: %s", strerror(errno));
		sent += (size_t)n;
	}
	return rc ? bench_fail_fault(type, &f) : 0;
}

/* The next answer of this type, Heartbeats aside, decoded into `dst`. */
static int bench_file_hear(struct wire_side *w, const char *type, void *dst,
			   struct packet *p)
{
	static char data[256 << 10];
	static size_t at, len;
	struct arena a = { 0 };
	struct fault f = { 0 };

	for (;;) {
		size_t used;
		int rc;

		if (at == len) {
			ssize_t n = read(w->fd, data, sizeof(data));

			if (n <= 0)
				return bench_fail("the guest went away");
			at = 0;
			len = (size_t)n;
		}
		rc = frame_read(&w->in, data + at, len - at, &used, &f);
		at += used;
		if (rc == 0)
			continue;
		if (rc < 0 || packet_take(p, &w->in, &f))
			return bench_fail_fault(type, &f);
		if (!strcmp(p->type, type))
			break;
		if (strcmp(p->type, "Heartbeat"))
			return bench_fail("%s is answered with %s", type, p->type);
		packet_release(p);
	}
	if (dst && packet_decode_as(p, wire_find(type)->record, dst, &a, &f))
		return bench_fail_fault(type, &f);
	arena_release(&a);
	return 0;
}

/* --- the two ways ------------------------------------------------------------------ */

static int64_t part_at(const struct wire_side *w, int64_t offset)
{
	return w->size - offset < PART ? w->size - offset : PART;
}

static int bench_file_ask_part(struct wire_side *w, int64_t offset)
{
	struct wire_file_read m = {
		.path = "file",
		.offset = offset,
		.has_offset = true,
		.limit = PART,
		.has_limit = true,
	};

	return bench_file_load_say(w, "FileRead", &m, offset);
}

static int bench_file_read(struct wire_side *w)
{
	int64_t asked = 0;

	for (; asked < w->size && asked < AHEAD * PART; asked += PART)
		if (bench_file_ask_part(w, asked))
			return -1;
	for (int64_t got = 0; got < w->size; got += PART) {
		struct wire_file_content m = { 0 };
		struct packet p;
		ssize_t n;

		if (bench_file_hear(w, "FileContent", &m, &p))
			return -1;
		n = base64_decode(w->bytes, m.content, strlen(m.content));
		packet_release(&p);
		if (n != part_at(w, got))
			return bench_fail("a part of %zd bytes", n);
		if (asked < w->size && bench_file_ask_part(w, asked))
			return -1;
		asked += PART;
	}
	return 0;
}

static int send_part(struct wire_side *w, int64_t offset)
{
	int64_t n = part_at(w, offset);
	struct wire_file_write m = {
		.path = "written",
		.upload = "bench",
		.content = w->base64,
		.offset = offset,
		.has_offset = true,
		.has_size = offset + n == w->size,
		.size = w->size,
	};

	base64_encode(w->base64, w->bytes, (size_t)n);
	return bench_file_load_say(w, "FileWrite", &m, offset);
}

static int bench_file_write(struct wire_side *w)
{
	struct packet p;
	int64_t sent = 0;

	for (; sent < w->size && sent < AHEAD * PART; sent += PART)
		if (send_part(w, sent))
			return -1;
	for (int64_t done = 0; done < w->size; done += PART, sent += PART) {
		if (bench_file_hear(w, "Ok", NULL, &p))
			return -1;
		packet_release(&p);
		if (sent < w->size && send_part(w, sent))
			return -1;
	}
	return 0;
}

/* --- the scene ------------------------------------------------------------------------ */

static int bench_file_make(struct wire_side *w)
{
	int fd = open(w->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	uint64_t state = 1;

	for (size_t i = 0; i + 8 <= PART; i += 8) {
		uint64_t v = bench_random(&state);

		memcpy(w->bytes + i, &v, 8);
	}
	for (int64_t at = 0; at < w->size; at += PART)
		if (write(fd, w->bytes, (size_t)part_at(w, at)) < 0)
			return bench_fail("%s: %s", w->path, strerror(errno));
	close(fd);
	return 0;
}

static int open_side(struct wire_side *w, struct bench_ground *g)
{
	char dir[300], state[300];
	const char *const argv[] = { g->self,   "guest", "--dir", dir,
				     "--state", state,   NULL };
	struct start start = { .argv = argv, .in = -1, .out = -1, .extra = -1 };
	struct wire_hello hello = { .version = "bench", .role = "bench", .boot_id = "b" };
	struct packet p;

	if (ground_folder(g, "file", w->dir))
		return -1;
	snprintf(dir, sizeof(dir), "%s/d", w->dir);
	snprintf(state, sizeof(state), "%s/g", w->dir);
	snprintf(w->path, sizeof(w->path), "%s/file", dir);
	mkdir(dir, 0700);
	w->size = (g->fast ? 64 : 256) * (int64_t)MIB;
	w->bytes = malloc(PART);
	w->base64 = malloc(base64_size(PART) + 1);
	if (bench_file_make(w))
		return -1;
	w->guest = bench_start_program(&start);
	if (w->guest < 0 || bench_file_dial(w) ||
	    bench_file_load_say(w, "Hello", &hello, 1) ||
	    bench_file_hear(w, "Hello", NULL, &p))
		return -1;
	packet_release(&p);
	return 0;
}

/* Seconds that a copy of the file takes, fsync included. */
static double copy_file(struct wire_side *w)
{
	char to[340];
	int64_t begun = bench_now();
	int in = open(w->path, O_RDONLY | O_CLOEXEC), out;

	snprintf(to, sizeof(to), "%s.copy", w->path);
	out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	while (sendfile(out, in, NULL, 64 * MIB) > 0)
		;
	fsync(out);
	close(in);
	close(out);
	unlink(to);
	return (double)(bench_now() - begun) / 1e9;
}

/* A copy, then the file over the socket, one way and the other. */
static int bench_file_play_round(struct wire_side *w, struct judge way[2])
{
	double mb = (double)w->size / 1e6;

	for (int i = 0; i < 2; i++) {
		double base = copy_file(w);
		int64_t begun = bench_now();

		if (i == 0 ? bench_file_read(w) : bench_file_write(w))
			return -1;
		judge_round(&way[i], mb / ((double)(bench_now() - begun) / 1e9),
			    mb / base);
	}
	return 0;
}

int bench_file(struct bench_ground *g)
{
	struct wire_side w = { .fd = -1 };
	struct judge way[2] = { 0 };
	int rc = open_side(&w, g);

	for (int i = 0; i < ROUNDS && !rc; i++)
		rc = bench_file_play_round(&w, way);
	if (w.guest > 0)
		bench_stop_program(w.guest, SIGTERM);
	if (w.fd >= 0)
		close(w.fd);
	frame_release(&w.in);
	text_release(&w.out);
	free(w.bytes);
	free(w.base64);
	if (!rc) {
		score_rounds(g, "file-read", &way[0]);
		score_rounds(g, "file-write", &way[1]);
	}
	return rc;
}
