/*
 * http - any bytes at a workspace's HTTP door for teammates.
 *
 * The door's host accepts every caller as a teammate and answers like a real host. Any token is
 * accepted, so the input also reaches the code for messages, tasks and files. For any input the
 * output is HTTP, the exchange ends, and nothing is written outside the workspace.
 */
#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/guest_http_inside.h"
#include "tests/lib/folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CLEAN_EVERY = 2000, ROUNDS_MOST = 20000 };

/* --- a host that accepts every caller ---------------------------------------------- */

struct asking {
	struct asking *next;
	json_t *call;
	asked_done *done;
	void *arg;
};

static struct asking *asked;

struct asking *ask_host(struct guest *g, json_t *message, asked_done *done, void *arg,
			struct fault *f)
{
	struct asking *a = calloc(1, sizeof(*a));

	(void)g, (void)f;
	assert(a);
	a->call = json_incref(message);
	a->done = done;
	a->arg = arg;
	a->next = asked;
	asked = a;
	return a;
}

static void forget(struct asking *a)
{
	struct asking **at = &asked;

	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	json_decref(a->call);
	free(a);
}

void ask_drop(struct guest *g, struct asking *a)
{
	(void)g;
	forget(a);
}

bool ask_hear(struct guest_request *heard)
{
	(void)heard;
	return false;
}

void ask_host_went(struct guest *g)
{
	(void)g;
}

static json_t *answer_to(const json_t *call)
{
	const char *op = json_string_value(json_object_get(call, "op"));

	assert(op && json_is_object(json_object_get(call, "args")));
	if (json_object_size(json_object_get(call, "args")) % 4 == 3)
		return json_pack("{s:s, s:s, s:s, s:s}", "type", "Error", "code",
				 "Conflict", "message", "odd", "where", "/content");
	return json_pack("{s:s, s:{s:s, s:{s:s}, s:[]}}", "type", "CallResult", "result",
			 "message_id", "1", "card", "name", "bob", "messages");
}

static void answer_all(void)
{
	while (asked) {
		const struct fault none = { 0 };
		struct asking *a = asked;
		asked_done *done = a->done;
		void *arg = a->arg;
		json_t *answer = answer_to(a->call);

		forget(a);
		done(arg, answer, &none);
		json_decref(answer);
	}
}

/* --- the workspace ------------------------------------------------------------------ */

static char top[64], root[80];
static struct guest *guest;

static void make_root(void)
{
	char file[128];
	int fd;

	assert(mkdir(root, 0700) == 0);
	guest->root = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(file, sizeof(file), "%s/file", root);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert(guest->root >= 0 && fd >= 0 && write(fd, "some bytes", 10) == 10);
	close(fd);
}

static void remove_top(void)
{
	folder_remove(top);
}

static void open_guest(void)
{
	static const struct guest_options options = { .version = "0", .name = "w" };
	static char state[96];
	struct fault f = { 0 };

	snprintf(top, sizeof(top), "%s/fuzz-http-XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	assert(mkdtemp(top));
	atexit(remove_top);
	snprintf(root, sizeof(root), "%s/root", top);
	snprintf(state, sizeof(state), "%s/.cadre", root);
	guest = calloc(1, sizeof(*guest));
	assert(guest && uv_loop_init(&guest->loop) == 0);
	guest->options = &options;
	guest->dir = root;
	guest->state = state;
	make_root();
	assert(guest_http_open(guest, "127.0.0.1:0", &f) == 0);
}

/* Checks that the folder holds only the workspace, and empties the workspace. */
static void clean(void)
{
	struct dirent **names;
	int n = scandir(top, &names, NULL, alphasort);

	assert(n == 3);
	while (n > 0)
		free(names[--n]);
	free(names);
	close(guest->root);
	assert(folder_remove(root) == 0);
	make_root();
}

/* --- an input -------------------------------------------------------------------------- */

static bool hear(int fd, bool *first)
{
	char buf[65536];
	ssize_t n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);

	if (n > 0 && *first)
		assert(n >= 9 && memcmp(buf, "HTTP/1.1 ", 9) == 0);
	if (n > 0)
		*first = false;
	return n != 0;
}

static void turn(void)
{
	uv_run(&guest->loop, UV_RUN_NOWAIT);
	answer_all();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int inputs;
	size_t step = size ? 1 + data[0] * 4u : 1, at = 1;
	bool open = true, first = true;
	int ends[2];

	if (!guest)
		open_guest();
	if (++inputs % CLEAN_EVERY == 0)
		clean();
	assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	http_adopt(guest->front->server, ends[1]);
	while (at < size && open) {
		size_t n = size - at < step ? size - at : step;
		ssize_t sent = send(ends[0], data + at, n, MSG_DONTWAIT | MSG_NOSIGNAL);

		at += sent > 0 ? (size_t)sent : 0;
		turn();
		open = hear(ends[0], &first);
	}
	shutdown(ends[0], SHUT_WR);
	for (int i = 0; open; i++) {
		struct pollfd p = { .fd = ends[0], .events = POLLIN };

		assert(i < ROUNDS_MOST);
		turn();
		if (i > 4)
			poll(&p, 1, 1);
		open = hear(ends[0], &first);
	}
	close(ends[0]);
	turn();
	return 0;
}
