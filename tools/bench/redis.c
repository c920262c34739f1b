/*
 * Redis: a stream per client, in the protocol of its clients (RESP).
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "tools/bench/rival.h"

/* --- answers ------------------------------------------------------------------------ */

/* Bytes up to and with the end of the line; 0 if it is not there yet. */
static size_t redis_line_size(const char *data, size_t size)
{
	const char *end = memchr(data, '\n', size);

	return end ? (size_t)(end - data) + 1 : 0;
}

/* Length of a whole RESP2 value; the parts of an array are skipped without recursion. */
static size_t resp_whole(const char *data, size_t size)
{
	size_t at = 0;
	long left = 1;

	for (; left > 0; left--) {
		size_t line = at < size ? redis_line_size(data + at, size - at) : 0;
		long n;

		if (!line)
			return 0;
		n = strtol(data + at + 1, NULL, 10);
		if (data[at] == '*' && n > 0)
			left += n;
		if (data[at] == '$' && n >= 0)
			line += (size_t)n + 2;
		at += line;
		if (at > size)
			return 0;
	}
	return at;
}

/* --- requests ----------------------------------------------------------------------- */

static void say_words(struct speaker *s, int n, const char *const *words)
{
	char head[32];

	load_say(s, head, (size_t)snprintf(head, sizeof(head), "*%d\r\n", n));
	for (int i = 0; i < n; i++) {
		size_t size = strlen(words[i]);

		load_say(s, head, (size_t)snprintf(head, sizeof(head), "$%zu\r\n", size));
		load_say(s, words[i], size);
		load_say(s, "\r\n", 2);
	}
}

static int join_redis(struct speaker *s)
{
	const int *body = s->load->arg;

	s->own = xcalloc(1, (size_t)*body + 1);
	memset(s->own, 'x', (size_t)*body);
	return load_join(s->load->socket);
}

static void ask_add(struct speaker *s, const char *stream)
{
	const char *const words[] = {
		"XADD", stream, "*", "from", "a1", "content", s->own
	};

	say_words(s, 7, words);
}

static void redis_ask_cycle(struct speaker *s, int step)
{
	char stream[16];
	const char *const read[] = { "XREADGROUP", "GROUP",   "g",    "c", "COUNT",
				     "1",          "STREAMS", stream, ">" };
	const char *const ack[] = { "XACK", stream, "g", s->id };

	snprintf(stream, sizeof(stream), "s%d", s->number);
	if (step == 0)
		ask_add(s, stream);
	else if (step == 1)
		say_words(s, 9, read);
	else
		say_words(s, 4, ack);
}

static bool redis_heard(struct speaker *s, int step, const char *data, size_t size)
{
	const char *end;

	if (data[0] == '-')
		return false;
	if (step == 2)
		return size > 1 && data[1] == '1';
	if (step == 0 && data[0] == '$') { /* the id, which the group then reads */
		data += redis_line_size(data, size);
		end = strchr(data, '\r');
		s->n_id = (size_t)(end - data);
		if (s->n_id >= LOAD_ID)
			return false;
		memcpy(s->id, data, s->n_id);
		s->id[s->n_id] = '\0';
		return true;
	}
	return memmem(data, size, s->id, s->n_id) != NULL;
}

const struct script script_redis_send = {
	.n_steps = 1,
	.join = join_redis,
	.ask = redis_ask_cycle,
	.whole = resp_whole,
	.heard = redis_heard,
};
const struct script script_redis_cycle = {
	.n_steps = 3,
	.join = join_redis,
	.ask = redis_ask_cycle,
	.whole = resp_whole,
	.heard = redis_heard,
};

/* --- the server ------------------------------------------------------------------------ */

static int make_groups(struct rival *p, int clients)
{
	char line[64], answer[256];
	int fd = load_join(p->socket), rc = fd < 0 ? -1 : 0;

	for (int i = 0; i < clients && rc == 0; i++) {
		int n = snprintf(line, sizeof(line), "XGROUP CREATE s%d g $ MKSTREAM\r\n",
				 i);

		if (load_write_all(fd, line, (size_t)n) ||
		    load_read_answer(fd, answer, sizeof(answer), resp_whole) < 0 ||
		    answer[0] != '+')
			rc = bench_fail("Redis makes no group");
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

static bool redis_wait_for(const char *path)
{
	static const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };

	for (int i = 0; i < 1000; i++) {
		if (access(path, F_OK) == 0)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

int redis_open(struct rival *p, struct bench_ground *g, int clients)
{
	const char *argv[] = { "redis-server",
			       "--port",
			       "0",
			       "--unixsocket",
			       p->socket,
			       "--dir",
			       p->dir,
			       "--appendonly",
			       "yes",
			       "--appendfsync",
			       "always",
			       "--save",
			       "",
			       "--auto-aof-rewrite-percentage",
			       "0",
			       "--daemonize",
			       "no",
			       "--logfile",
			       "redis.log",
			       NULL };
	struct start start = { .argv = argv, .in = -1, .out = -1, .extra = -1 };

	*p = (struct rival){ 0 };
	if (ground_folder(g, "redis", p->dir))
		return -1;
	snprintf(p->socket, sizeof(p->socket), "%s/redis.sock", p->dir);
	p->pid = bench_start_program(&start);
	if (p->pid < 0 || !redis_wait_for(p->socket))
		return bench_fail("redis-server did not start: see tools/setup --peers");
	return make_groups(p, clients);
}

void rival_close(struct rival *p)
{
	bench_stop_program(p->pid, SIGINT);
	if (p->dir[0])
		bench_remove_tree(p->dir);
}
