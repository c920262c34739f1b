#include "tests/answer/scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "tests/lib/child.h"
#include "tests/lib/place.h"
#include "tests/lib/switch.h"

static void on_request(void *arg, struct rig_peer *peer, json_t *request)
{
	struct scene *s = arg;
	const char *type = json_string_value(json_object_get(request, "type"));
	bool mine = s->asked && !strcmp(type, s->asked);

	if (mine)
		s->answers++;
	s->rig.acked += (int)json_array_size(json_object_get(request, "ack"));
	if (mine && s->raw)
		rig_say(peer, s->raw, s->raw_size);
	else if (mine && s->make)
		rig_reply(peer, s->make(s), request);
	else if (mine && s->answer)
		rig_reply(peer, json_deep_copy(s->answer), request);
	/* If honest_too, the wrong answer is itself a request of the guest. The right answer
	 * then follows. */
	if (mine && (s->raw || s->make || (s->answer && !s->honest_too)))
		return;
	if (wire_find(type)->senders & SIDE_HOST)
		rig_reply(peer, rig_honest(request), request);
}

/* --- links ------------------------------------------------------------------------------ */

static int free_port(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	getsockname(fd, (struct sockaddr *)&at, &size);
	port = ntohs(at.sin_port);
	close(fd);
	return port;
}

void place_unix(struct scene *s)
{
	snprintf(s->listen, sizeof(s->listen), "unix:%s", s->guest);
	snprintf(s->dial, sizeof(s->dial), "unix:%s", s->guest);
}

void place_tcp(struct scene *s)
{
	snprintf(s->listen, sizeof(s->listen), "tcp:127.0.0.1:%d", free_port());
	memcpy(s->dial, s->listen, sizeof(s->dial));
}

void place_hybrid(struct scene *s)
{
	char path[100];

	snprintf(path, sizeof(path), "%s/v.sock", s->base);
	s->between = switch_vmm(path, s->guest);
	snprintf(s->listen, sizeof(s->listen), "unix:%s", s->guest);
	snprintf(s->dial, sizeof(s->dial), "hybrid:%s", path);
}

void place_serial(struct scene *s)
{
	char host[100];

	snprintf(host, sizeof(host), "%s/qemu", s->base);
	mkdir(host, 0700);
	s->between = switch_qemu(host, s->guest);
	snprintf(s->listen, sizeof(s->listen), "serial:%s", s->guest);
	snprintf(s->dial, sizeof(s->dial), "serial:%s", host);
}

struct scene *scene_open(void (*place)(struct scene *s), bool old)
{
	struct scene *s = test_calloc(1, sizeof(*s));
	bool there = false;

	assert_int_equal(temp_make(s->base, "answer"), 0);
	snprintf(s->guest, sizeof(s->guest), "%s/guest", s->base);
	mkdir(s->guest, 0700);
	/* Another process may take a free port before the test listens on this port. */
	for (int i = 0; i < 20 && !there; i++) {
		place(s);
		there = rig_open(&s->rig, s->listen, s->dial, old, on_request, s);
		if (!there)
			rig_close(&s->rig);
	}
	assert_true(there);
	assert_true(rig_link(&s->rig, PATIENCE_MS));
	return s;
}

void scene_close(struct scene *s)
{
	rig_close(&s->rig);
	if (s->between > 0)
		child_end(s->between, 10000);
	temp_remove(s->base);
	test_free(s);
}

void scene_hold(struct futile *pause)
{
	if (pause->ms)
		pause->until = clock_boot_ms() + FUTILE_MOST_MS;
}

void scene_elapse(struct futile *pause)
{
	pause->until = clock_boot_ms();
}
