/*
 * dial - a connection to a name that has several addresses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "core/link/link.h"

/* The addresses that names have in this test, instead of the addresses that the machine would
 * find. */
static const char *const *addresses;

/* NOLINTNEXTLINE: replaces the C library's function, which libuv calls */
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
		struct addrinfo **found)
{
	struct addrinfo **end = found;

	(void)name, (void)hints;
	*found = NULL;
	for (const char *const *a = addresses; *a; a++) {
		struct addrinfo *one = calloc(1, sizeof(*one));
		struct sockaddr_in *at = calloc(1, sizeof(*at));

		at->sin_family = AF_INET;
		at->sin_port = htons((uint16_t)strtol(service, NULL, 10));
		inet_aton(*a, &at->sin_addr);
		one->ai_family = AF_INET;
		one->ai_socktype = SOCK_STREAM;
		one->ai_addr = (struct sockaddr *)at;
		one->ai_addrlen = sizeof(*at);
		*end = one;
		end = &one->ai_next;
	}
	return 0;
}

void freeaddrinfo(struct addrinfo *found)
{
	while (found) {
		struct addrinfo *next = found->ai_next;

		free(found->ai_addr);
		free(found);
		found = next;
	}
}

struct dialled {
	int fd;
	bool failed;
};

static void on_dialled(void *arg, int fd, const struct fault *why)
{
	struct dialled *d = arg;

	d->fd = fd;
	d->failed = why != NULL;
}

/* A port of 127.0.0.1, with or without a listener. */
static int open_port(bool listens, int *fd)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(at);

	*fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(*fd, (struct sockaddr *)&at, sizeof(at)), 0);
	if (listens)
		assert_int_equal(listen(*fd, 4), 0);
	getsockname(*fd, (struct sockaddr *)&at, &size);
	return ntohs(at.sin_port);
}

static struct dialled dial(int port)
{
	struct link_address to = { .kind = LINK_TCP, .number = (unsigned)port };
	struct dialled d = { .fd = -1 };
	uv_loop_t loop;

	snprintf(to.path, sizeof(to.path), "somewhere");
	uv_loop_init(&loop);
	link_dial(&loop, &to, 0, on_dialled, &d);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
	return d;
}

/* The addresses 127.0.0.2 and 127.0.0.3 refuse connections. link_dial() tries the addresses in
 * order until one accepts. */
static void test_next_address(void **state)
{
	static const char *const some[] = { "127.0.0.2", "127.0.0.3", "127.0.0.1", NULL };
	struct dialled d;
	int listener;

	(void)state;
	addresses = some;
	d = dial(open_port(true, &listener));
	assert_false(d.failed);
	assert_true(d.fd >= 0);
	close(d.fd);
	close(listener);
}

static void test_none_answers(void **state)
{
	static const char *const some[] = { "127.0.0.2", "127.0.0.3", "127.0.0.4", NULL };
	struct dialled d;
	int listener;

	(void)state;
	addresses = some;
	d = dial(open_port(false, &listener));
	assert_true(d.failed);
	close(listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_next_address),
		cmocka_unit_test(test_none_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
