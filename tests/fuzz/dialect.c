/*
 * dialect - a host reads any bytes as lines that a guest or a client sends.
 *
 * The host's own code reads each line as the body of a frame. Each message of the older
 * dialect, and each Call of an operation, becomes a call or a fault. Every fault can be written
 * to the connection. On a channel that proves the sender's identity, no message changes this
 * identity.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/host/dialect.h"
#include "core/host/host_inside.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hear_body(struct conn *c, const char *body, size_t size)
{
	struct fault f = { 0 };
	struct job *job = job_new(&c->host->jobs);
	enum heard what;

	packet_read(&job->packet, body, size, &f);
	job->call.settings = &c->host->home->settings;
	what = f.code ? HEARD_NONSENSE : dialect_read(c, job, &f);
	c->started = true;
	assert((what == HEARD_NONSENSE) == (f.code != 0));
	if (what == HEARD_NONSENSE)
		wire_write_fault(&c->flow.out, &f, !c->greeted, job->packet.id);
	else if (what == HEARD_CALL)
		assert(job->call.op && job->call.in);
	if (c->pinned)
		assert(!strcmp(c->identity.agent, "ann") &&
		       !strcmp(c->identity.team, "red") &&
		       c->identity.level == WHO_OBSERVER && !c->identity.as);
	job_free(job);
}

/* The host must answer in frames, whatever bytes it received. */
static void check_frames(const struct text *out)
{
	struct frame_reader r = { 0 };
	struct fault f = { 0 };
	size_t at = 0, used;

	while (at < out->len &&
	       frame_read(&r, out->data + at, out->len - at, &used, &f) > 0) {
		json_t *json = json_loadb(r.body, r.size, JSON_ALLOW_NUL, NULL);

		assert(json_is_string(json_object_get(json, "type")));
		json_decref(json);
		at += used;
	}
	assert(at == out->len && !f.code);
	frame_release(&r);
}

static void converse(struct host *host, bool pinned, const char *data, size_t size)
{
	static const struct identity ann = {
		.level = WHO_OBSERVER, .team = "red", .agent = "ann", .token = "secret"
	};
	static const struct identity anybody = { .level = WHO_OPERATOR };
	struct conn c = { .host = host, .pinned = pinned };
	size_t n;

	dialect_pin(&c, pinned ? &ann : &anybody);
	for (size_t at = 0; at < size; at += n + 1) {
		const char *end = memchr(data + at, '\n', size - at);

		n = end ? (size_t)(end - data) - at : size - at;
		hear_body(&c, data + at, n);
	}
	check_frames(&c.flow.out);
	text_release(&c.flow.out);
	free(c.texts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct home home;
	static struct host host = { .home = &home, .boot_id = "boot" };

	converse(&host, true, (const char *)data, size);
	converse(&host, false, (const char *)data, size);
	return 0;
}
