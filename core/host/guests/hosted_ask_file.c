/*
 * hosted_ask_file - how a guest is asked for files and directories.
 */
#include <string.h>

#include "core/host/guests/hosted_ask_inside.h"
#include "core/call/space.h"
#include "core/wire/base64.h"
#include "ops.gen.h"

void ask_fill_read(struct job *job, void *message)
{
	const struct workspace_file_read_in *in = job->call.in;
	struct wire_file_read *m = message;

	m->has_offset = in->offset > 0;
	int64_t most = (int64_t)space_all(&job->call) / 4 * 3; /* as base64 */

	m->limit = in->length;
	m->has_limit = in->has_length;
	if (job->call.form.most && (!m->has_limit || m->limit > most)) {
		m->limit = most;
		m->has_limit = true;
	}
}

/* Guests are told bytes in base64 alone. */
void ask_fill_write(struct job *job, void *message)
{
	const struct workspace_file_write_in *in = job->call.in;
	struct wire_file_write *m = message;
	size_t n = in->text ? strlen(in->text) : 0;
	char *content;

	if (!in->text)
		return;
	content = arena_alloc(&job->call.arena, base64_size(n) + 1);
	base64_encode(content, in->text, n);
	m->content = content;
}

/* The size is that of the bytes, and no more of them than were asked for. */
void ask_check_content(struct job *job, void *answer)
{
	const struct wire_file_content *m = answer;
	const struct workspace_file_read_in *in = job->call.in;
	struct fault *f = &job->call.fault;
	size_t n = strlen(m->content);
	ssize_t bytes = base64_bytes(m->content, n);

	if (bytes < 0 || bytes != m->size)
		answer_refuse(f, "says %lld bytes and sends %zd in base64",
			      (long long)m->size, bytes);
	else if (in->has_length && bytes > in->length)
		answer_refuse(f, "sends %zd bytes of the %lld that were asked for", bytes,
			      (long long)in->length);
	else if (bytes == 0 && m->more)
		answer_refuse(f, "says more and more, and sends nothing");
	else if (!base64_is(m->content, n))
		answer_refuse(f, "sends what is no base64");
}

/* The next page begins behind the last name that came. */
void ask_fill_list(struct job *job, void *message)
{
	const struct workspace_list_dir_out *out = job->call.out;
	struct wire_list_dir *m = message;

	if (out->n_entries > 0)
		m->after = out->entries[out->n_entries - 1].name;
}

/* Names go up, over all pages: none comes twice. */
static bool hosted_ask_file_check_page(struct job *job, const struct wire_dir_listing *m)
{
	const struct workspace_list_dir_out *out = job->call.out;
	struct fault *f = &job->call.fault;
	const char *last = "";

	if (out->n_entries > 0)
		last = out->entries[out->n_entries - 1].name;
	for (size_t i = 0; i < m->n_entries && !f->code; i++) {
		if (!listing_is_entry(&m->entries[i]))
			answer_refuse(f, "lists what is no entry of a directory");
		else if (strcmp(m->entries[i].name, last) <= 0)
			answer_refuse(f, "lists names again that it has listed");
		last = m->entries[i].name;
	}
	return !f->code;
}

/* A long directory comes in pages; as much of it as fits is answered. */
static bool take_page(struct job *job, const struct wire_dir_listing *m,
		      struct guest_conn *conn)
{
	struct workspace_list_dir_out *out = job->call.out;
	struct gather *g = gather_of(job);
	int64_t ms;

	if (!hosted_ask_file_check_page(job, m))
		return false;
	if (!listing_take(out, m, &g->room, &job->call.arena)) {
		out->more = out->has_more = true;
		return false;
	}
	if (!m->more)
		return false;
	if (m->n_entries == 0)
		answer_refuse(&job->call.fault, "says more and more, and sends nothing");
	ms = job->call.fault.code ? -1 : answer_more(&g->parts, &job->call.fault);
	if (ms > 0)
		ask_fields(job, conn, ms);
	return ms > 0;
}

bool ask_take_list(struct job *job, struct packet *answer, struct guest_conn *conn)
{
	struct wire_dir_listing m = { 0 };
	struct arena page = { 0 };
	bool asked = false;

	if (answer_decode(answer, &m, &page, &job->call.fault) == 0)
		asked = take_page(job, &m, conn);
	arena_release(&page);
	return asked;
}
