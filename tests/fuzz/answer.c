/*
 * answer - a host reads any bytes as the answers of a guest.
 *
 * The first byte chooses the host's call and the dialect. The next lines are the guest's
 * answers, one line for each question of the host. A line with a JSON object is sent with the
 * question's id. A line that begins with `=` sends the rest of the line unchanged. A line that
 * begins with `-` sends no answer. After the last line the guest begins again with the first
 * line. The host's own code reads the answers over a real link, and every call must end.
 */
#include <assert.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/host/guests/hosted_answer.h"
#include "core/host/guests/hosted_daemon.h"
#include "core/host/guests/hosted_push.h"
#include "tests/lib/rig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEPS = 400, LINK_MS = 2000, LINES_MOST = 32, GREETED = 2 };

static const struct {
	const char *op, *args;
} calls[] = {
	{ "workspace.exec", "{\"workspace\":\"w\",\"command\":\"x\"}" },
	{ "workspace.exec",
	  "{\"workspace\":\"w\",\"command\":\"x\",\"max_output_bytes\":9}" },
	{ "workspace.exec_background", "{\"workspace\":\"w\",\"command\":\"x\"}" },
	{ "workspace.exec_kill", "{\"workspace\":\"w\",\"job_id\":1}" },
	{ "workspace.exec_poll", "{\"workspace\":\"w\",\"job_id\":1}" },
	{ "workspace.file_edit",
	  "{\"workspace\":\"w\",\"path\":\"p\",\"old_string\":\"a\",\"new_string\":\"b\"}" },
	{ "workspace.file_read", "{\"workspace\":\"w\",\"path\":\"p\",\"length\":9}" },
	{ "workspace.file_write",
	  "{\"workspace\":\"w\",\"path\":\"p\",\"content\":\"QQ==\"}" },
	{ "workspace.list_dir", "{\"workspace\":\"w\"}" },
	{ "workspace.set_env", "{\"workspace\":\"w\",\"vars\":{\"A\":\"b\"}}" },
	{ NULL, NULL }, /* no call: the host asks for results */
	{ NULL, NULL }, /* no call: the host pushes messages */
};

enum { CALLS = sizeof(calls) / sizeof(*calls) };

struct talk {
	const char *line[LINES_MOST];
	size_t size[LINES_MOST];
	int n, next;
	int greetings; /* correct answers so far; the link is up after GREETED answers */
	bool over;
};

static char folder[] = "/tmp/fuzz-answer.XXXXXX";

static void clean(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/control.sock", folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/relay.sock", folder);
	unlink(path);
	rmdir(folder);
}

static void split(struct talk *t, const char *data, size_t size)
{
	for (size_t at = 0; at < size && t->n < LINES_MOST;) {
		const char *end = memchr(data + at, '\n', size - at);
		size_t n = end ? (size_t)(end - data) - at : size - at;

		t->line[t->n] = data + at;
		t->size[t->n++] = n;
		at += n + 1;
	}
}

static void on_request(void *arg, struct rig_peer *peer, json_t *request)
{
	struct talk *t = arg;
	const char *line;
	json_t *json;
	size_t n;

	if (t->greetings < GREETED || !t->n) {
		t->greetings++;
		rig_reply(peer, rig_honest(request), request);
		return;
	}
	if (t->over)
		return;
	line = t->line[t->next % t->n];
	n = t->size[t->next++ % t->n];
	json = json_loadb(line, n, JSON_ALLOW_NUL, NULL);
	if (json_is_object(json))
		rig_reply(peer, json_incref(json), request);
	else if (n && *line == '=')
		rig_say(peer, line + 1, n - 1);
	else if (!n || *line != '-')
		rig_say(peer, line, n);
	json_decref(json);
}

static void ask(struct rig *r, const char *op, const char *args)
{
	json_t *answer = NULL;

	assert(rig_call(r, op, json_loads(args, 0, NULL)));
	for (int i = 0; i < STEPS && !(answer = rig_answer(r)); i++)
		rig_step(r, false);
	json_decref(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool begun;
	struct talk talk = { 0 };
	struct rig *r = malloc(sizeof(*r));
	char address[64];
	bool there;
	int what;

	if (!begun) {
		begun = true;
		signal(SIGPIPE, SIG_IGN); /* a host ignores this signal too */
		assert(mkdtemp(folder));
		atexit(clean);
	}
	snprintf(address, sizeof(address), "unix:%s", folder);
	split(&talk, size ? (const char *)data + 1 : "", size ? size - 1 : 0);
	what = size ? (data[0] & 0x7f) % CALLS : 0;
	there = rig_open(r, address, address, size && data[0] & 0x80, on_request, &talk);
	assert(there);
	if (rig_link(r, LINK_MS)) {
		r->pushes = what == CALLS - 1 ? 3 : 0;
		if (calls[what].op)
			ask(r, calls[what].op, calls[what].args);
		else if (r->pushes)
			push_poke(r->guest);
		else
			collect_poke(r->guest, true);
		for (int i = 0; i < (calls[what].op ? 2 : STEPS / 4); i++)
			rig_step(r, false);
	}
	talk.over = true;
	rig_close(r);
	free(r);
	return 0;
}
