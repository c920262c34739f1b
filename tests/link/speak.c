#include "tests/link/speak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "core/link/link.h"
#include "tests/lib/raw.h"

enum { PATIENCE_MS = 30000 };

static void on_dialled(void *arg, int fd, const struct fault *why)
{
	*(int *)arg = fd;
	if (fd < 0)
		fprintf(stderr, "not reached: %s\n", why->text);
}

static int dial(const char *address, unsigned port)
{
	struct link_address to;
	struct fault f = { 0 };
	uv_loop_t loop;
	int fd = -1;

	if (link_parse(address, "/address", &to, &f)) {
		fprintf(stderr, "%s\n", f.text);
		return -1;
	}
	uv_loop_init(&loop);
	link_dial(&loop, &to, port, on_dialled, &fd);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	return fd;
}

static void print_answer(struct raw *r)
{
	json_t *answer = raw_hear(r, PATIENCE_MS);

	if (answer)
		json_dumpf(answer, stdout, JSON_COMPACT | JSON_SORT_KEYS);
	puts(answer ? "" : "closed");
	fflush(stdout);
	json_decref(answer);
}

int speak(const char *address, unsigned port)
{
	struct raw r = { .fd = dial(address, port) };
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	if (r.fd < 0)
		return 1;
	while (r.fd >= 0 && (n = getline(&line, &room, stdin)) > 0) {
		n -= line[n - 1] == '\n';
		raw_frame(&r, line, (size_t)n, PATIENCE_MS);
		print_answer(&r);
	}
	free(line);
	raw_hang_up(&r);
	return 0;
}
