/* A guest that gets very many connections. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "tests/guest/cases.h"
#include "tests/lib/place.h"
#include "tests/lib/usage.h"

enum { CONNECTS = 2000, A_SECOND = 1000 };

/* Opens a connection, sends a message, half a message or nothing, and closes the connection.
 * The guest may refuse the connection. */
static void call_and_leave(const struct fixture *x, int turn)
{
	static const char ping[] = "\0\0\0\x0f{\"type\":\"Ping\"}";
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%.90s/%s.sock", x->state,
		 turn % 4 == 3 ? "relay" : "control");
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	if (turn % 2)
		send(fd, ping, turn % 4 == 1 ? sizeof(ping) - 1 : 9, MSG_NOSIGNAL);
	close(fd);
}

static void still_served(int fd, int turn)
{
	json_t *a = askf(fd, "{\"type\":\"Exec\",\"command\":\"echo %d\"}", turn);
	char said[16];

	snprintf(said, sizeof(said), "%d\n", turn);
	assert_string_equal(text_at(a, "stdout"), said);
	json_decref(a);
}

/* For two seconds the test opens a thousand connections per second, while a host is connected.
 * The guest serves the host all the time, and frees the descriptors and memory of the other
 * connections. */
void test_connects(void **state)
{
	struct fixture *x = *state;
	int host = dial_hello(x, "control.sock");
	long descriptors, memory;
	int64_t began, until;

	still_served(host, 0);
	descriptors = descriptors_of(x->pid);
	memory = memory_of(x->pid);
	began = clock_steady_ms();
	for (int i = 0; i < CONNECTS; i++) {
		call_and_leave(x, i);
		if (i % 200 == 199)
			still_served(host, i);
		if ((clock_steady_ms() - began) * A_SECOND < i * INT64_C(1000))
			pause_ms(1);
	}
	for (until = clock_steady_ms() + patience_ms(10000);
	     descriptors_of(x->pid) > descriptors + 2 && clock_steady_ms() < until;)
		pause_ms(20);
	assert_in_range(descriptors_of(x->pid), 0, descriptors + 2);
	assert_true(memory_of(x->pid) - memory < 64 << 10);
	close(dial_hello(x, "relay.sock"));
	close(host);
}
