/*
 * clients - clients that connect to the host's socket and do not read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/answer/cases.h"
#include "tests/answer/scene.h"

/* Connects a client to the host. At least `bytes` bytes of answers wait for the client. *fd is
 * the client's end of the connection. */
static struct conn *client_open(struct scene *s, size_t bytes, int *fd)
{
	const struct identity who = { .level = WHO_OBSERVER,
				      .team = "red",
				      .agent = "ann" };
	struct conn *c;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
				    0, ends),
			 0);
	conn_adopt(&s->rig.host, ends[1], &who, true);
	c = s->rig.host.clients->first;
	for (size_t n = 0; n < bytes; n += sizeof(s->rig.host.buffer))
		text_add(&c->flow.out, s->rig.host.buffer, sizeof(s->rig.host.buffer));
	c->is_dirty = true;
	c->dirty = s->rig.host.clients->dirty;
	s->rig.host.clients->dirty = c;
	conn_flush(&s->rig.host);
	*fd = ends[0];
	return c;
}

static size_t clients(const struct scene *s)
{
	size_t n = 0;

	for (const struct conn *c = s->rig.host.clients->first; c; c = c->next)
		n++;
	return n;
}

/* Reads all bytes from the host that have arrived at `fd`. Returns false if the host has closed
 * the connection. */
static bool client_read(struct scene *s, int fd)
{
	char some[64 << 10];
	ssize_t n;

	do {
		rig_step(&s->rig, false);
		n = read(fd, some, sizeof(some));
	} while (n > 0);
	if (n < 0 && errno != ECONNRESET)
		assert_int_equal(errno, EAGAIN);
	return n < 0 && errno == EAGAIN;
}

/* A client that reads nothing for a minute loses its connection. A client that reads keeps its
 * connection. */
void test_unread_long(void **state)
{
	struct scene *s = scene_open(place_unix, false);
	int slow, reads;

	(void)state;
	client_open(s, 3 << 20, &slow);
	client_open(s, 3 << 20, &reads);
	for (int i = 0; i < UNREAD_SOFT_S - 1; i++)
		unread_tick(&s->rig.host);
	assert_int_equal(clients(s), 2);
	assert_true(client_read(s, reads));
	unread_tick(&s->rig.host);
	assert_int_equal(clients(s), 1);
	assert_true(client_read(s, reads));
	assert_false(client_read(s, slow));
	assert_int_equal(s->rig.host.clients->unread.memory, 0);
	close(slow);
	close(reads);
	scene_close(s);
}

/* There is one limit for the unread bytes of all clients together. Above the limit, the host
 * first closes the connection with the most unread bytes. */
void test_unread_all(void **state)
{
	enum { MOST = 6 }; /* buffers: one of 64 MiB, five of 32 MiB; `small` has 8 MiB */
	struct scene *s = scene_open(place_unix, false);
	int fd[MOST + 1], small;

	(void)state;
	client_open(s, 4 << 20, &small);
	for (int i = 0; i < MOST; i++)
		client_open(s, (size_t)(i ? 30 : 60) << 20, &fd[i]);
	assert_int_equal(clients(s), MOST + 1);
	client_open(s, (size_t)30 << 20, &fd[MOST]);
	assert_int_equal(clients(s), MOST + 1);
	assert_in_range(s->rig.host.clients->unread.memory, 1, UNREAD_ALL);
	assert_false(client_read(s, fd[0]));
	assert_true(client_read(s, small));
	for (int i = 0; i <= MOST; i++)
		close(fd[i]);
	close(small);
	scene_close(s);
}
