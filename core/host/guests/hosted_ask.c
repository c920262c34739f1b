#include "core/host/guests/hosted_ask.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/call/space.h"
#include "core/host/guests/guest_conn.h"
#include "core/host/guests/hosted_answer.h"
#include "core/host/host_inside.h"
#include "core/host/job.h"
#include "core/host/workspaces/hosted_workspace.h"
#include "core/wire/base64.h"
#include "ops.gen.h"

/* A stream of a command's output. */
struct output {
	struct piece *first, **end;
	size_t len; /* bytes kept */
	int64_t size; /* bytes of the whole stream, as far as known; at least len */
	bool full; /* further bytes are not kept */
};

/* An answer that is being gathered. A struct gather is in the call's arena, and job->owner
 * points to it. */
struct gather {
	struct answer_parts parts;
	struct output stream[2];
	int64_t written[2]; /* bytes that the command wrote to each stream; 0: unknown */
	bool replaced; /* some bytes of the output were not UTF-8 or were NUL, and were
			  replaced */
	int64_t job_id; /* number of the guest's job, which keeps the rest of the
			   output */
	size_t room; /* bytes of JSON left for a directory's entries */
};

/* The functions below are members of struct ask_kind. A fill function completes the message. A
 * check function sets the call's fault, or corrects the answer. A take function sets the call's
 * answer or fault. A take function returns true if it has asked for a further part. */

static struct gather *gather_of(struct job *job);
static bool ask_is_gone(struct job *job);
static void ask_guest(struct job *job, struct guest_conn *conn, const char *type,
		      const void *src, int64_t ms);
static void ask_fields(struct job *job, struct guest_conn *conn, int64_t ms);

/* --- gather ------------------------------------------------------------------ */

/*
 * Joins an answer that a guest sends in parts.
 *
 * Each part is copied once. Of each stream, whole characters up to a bound are kept. The bytes
 * behind the bound are only counted. A directory's list ends when the room of the answer (about
 * one frame) is used up.
 */

/* Bytes that the field names and the two numbers of an entry need in JSON. The texts of the
 * entry are not included. */
enum { ENTRY_COST = 120 };

struct piece {
	struct piece *next;
	size_t len;
	char text[];
};

/* --- streams ------------------------------------------------------------------------ */

/* Returns the length of the longest beginning of `s` that has at most `most` bytes and ends
 * with a whole character. */
static size_t whole_characters(const char *s, size_t len, size_t most)
{
	return len <= most ? len : text_start(s, most);
}

/* Takes a part of a stream. Returns true if some bytes of the part were kept. `size` is the
 * size of the whole stream as the guest reports it, or 0. At most `most` bytes of the stream
 * are kept in all. */
static bool output_take(struct output *s, const char *part, int64_t size, int64_t most,
			struct arena *a)
{
	size_t len = strlen(part), room = s->full ? 0 : (size_t)most - s->len;
	size_t n = whole_characters(part, len, room);
	struct piece *p;

	if (n < len) {
		s->full = true;
		if (s->size < (int64_t)(s->len + len))
			s->size = (int64_t)(s->len + len);
	}
	if (n > 0) {
		p = arena_alloc(a, sizeof(*p) + n);
		memcpy(p->text, part, p->len = n);
		if (!s->first)
			s->end = &s->first;
		*s->end = p;
		s->end = &p->next;
		s->len += n;
	}
	if (s->size < size)
		s->size = size;
	if (s->size < (int64_t)s->len)
		s->size = (int64_t)s->len;
	return n > 0;
}

/* Whether bytes of a further part would be kept. `more` means that the guest reports a further
 * part. */
static bool output_wants(const struct output *s, bool more)
{
	return more && !s->full;
}

/* Returns the offset at which the next part begins. */
static int64_t output_offset(const struct output *s)
{
	return s->full ? s->size : (int64_t)s->len;
}

static char *gather_join(const struct output *s, struct arena *a)
{
	char *text = arena_alloc(a, s->len + 1), *at = text;

	for (const struct piece *p = s->first; p; p = p->next) {
		memcpy(at, p->text, p->len);
		at += p->len;
	}
	return text;
}

/* Joins the parts of each stream into one text. The JSON of both texts together fits into
 * ANSWER_ROOM. A stream gets half of the room, plus the room that the other stream leaves. */
static void outputs_join(const struct output s[2], const char *text[2], size_t len[2],
			 struct arena *a)
{
	char *joined[2] = { gather_join(&s[0], a), gather_join(&s[1], a) };
	size_t half = ANSWER_ROOM / 2, left = half;

	/* If one stream does not fill its half of the room, the other stream gets the unused
	 * room. */
	text_json_fit(joined[0], s[0].len, &left);
	left += half;
	len[1] = text_json_fit(joined[1], s[1].len, &left);
	half = ANSWER_ROOM / 2;
	text_json_fit(joined[0], s[0].len, &half);
	left += ANSWER_ROOM / 2 - half;
	len[0] = text_json_fit(joined[0], s[0].len, &left);
	for (int i = 0; i < 2; i++) {
		joined[i][len[i]] = '\0';
		text[i] = joined[i];
	}
}

/* --- directories ---------------------------------------------------------------------- */

static bool gather_fits(const char *s, size_t *room)
{
	size_t len = strlen(s);

	return text_json_fit(s, len, room) == len;
}

static bool entry_fits(const struct dir_entry *e, size_t *room)
{
	if (*room < ENTRY_COST)
		return false;
	*room -= ENTRY_COST;
	return gather_fits(e->name, room) && gather_fits(e->kind, room) &&
	       gather_fits(e->permissions, room);
}

/* Whether `e` can be an entry of a directory. */
static bool listing_is_entry(const struct dir_entry *e)
{
	static const char *const kinds[] = { "file", "dir", "symlink" };
	bool known = false;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		known |= strcmp(e->kind, kinds[i]) == 0;
	return known && e->size >= 0 && *e->name && !strchr(e->name, '/') &&
	       strcmp(e->name, ".") != 0 && strcmp(e->name, "..") != 0;
}

/* Adds entries as long as they fit into `*room`, and subtracts their size from `*room`. Before
 * the first page, `*room` is ANSWER_ROOM. Returns false if an entry did not fit. The list then
 * ends before this entry. */
static bool listing_take(struct workspace_list_dir_out *out,
			 const struct wire_dir_listing *part, size_t *room,
			 struct arena *a)
{
	for (size_t i = 0; i < part->n_entries; i++) {
		const struct dir_entry *from = &part->entries[i];
		struct dir_entry *e;

		if (!entry_fits(from, room))
			return false;
		e = arena_push(a, &out->entries, &out->n_entries, sizeof(*e));
		*e = *from;
		e->name = arena_strdup(a, from->name);
		e->kind = arena_strdup(a, from->kind);
		e->permissions = arena_strdup(a, from->permissions);
	}
	return true;
}

/* --- command ----------------------------------------------------------------- */

/*
 * Reads a guest's answers about commands and jobs, with the parts of the output.
 */

static void fill_exec(struct job *job, const struct gather *g, bool more)
{
	struct workspace_exec_out *out = job->call.out;
	const char *text[2];
	int64_t size[2];
	bool cut[2];
	size_t len[2];

	outputs_join(g->stream, text, len, &job->call.arena);
	for (int i = 0; i < 2; i++) {
		size[i] = g->written[i] > g->stream[i].size ? g->written[i]
							    : g->stream[i].size;
		cut[i] = !out->running &&
			 ((int64_t)len[i] < size[i] || output_wants(&g->stream[i], more));
	}
	out->stdout = text[0];
	out->stderr = text[1];
	out->has_stdout_size = cut[0];
	out->has_stderr_size = cut[1];
	out->stdout_size = size[0];
	out->stderr_size = size[1];
	out->has_replaced = out->replaced = g->replaced;
	out->has_job_id = g->job_id && (out->running || cut[0] || cut[1]);
	out->job_id = g->job_id; /* fit_exec() sends this id if the output has to be
				    cut */
}

/* Asks for the rest of the output. Returns false, with the call's fault set, if the rest cannot
 * be asked for. */
static bool hosted_ask_command_ask_rest(struct job *job, struct gather *g,
					struct guest_conn *conn)
{
	struct wire_exec_poll m = {
		.job_id = g->job_id,
		.stdout_offset = output_offset(&g->stream[0]),
		.stderr_offset = output_offset(&g->stream[1]),
	};
	int64_t ms = answer_more(&g->parts, &job->call.fault);

	if (ms > 0)
		ask_guest(job, conn, "ExecPoll", &m, ms);
	return ms > 0;
}

/* One part of each stream, as a guest sends the two parts in one message. `size` is the number
 * of bytes that the guest keeps of a stream. `written` is the number of bytes that the command
 * wrote to a stream. A 0 means that the guest does not report the number. */
struct streams {
	const char *part[2];
	int64_t size[2], written[2];
	bool replaced;
};

#define STREAMS_OF(m)                                                  \
	((struct streams){ { (m).stdout, (m).stderr },                 \
			   { (m).stdout_size, (m).stderr_size },       \
			   { (m).stdout_written, (m).stderr_written }, \
			   (m).replaced })

/* Checks the sizes, which the caller will see. A size is 0 (not reported), or at least the
 * number of bytes that have arrived and at most STREAM_MOST. */
static bool check_streams(const struct gather *g, const struct streams *m,
			  struct fault *f)
{
	for (int i = 0; i < 2 && !f->code; i++) {
		int64_t came = output_offset(&g->stream[i]) + (int64_t)strlen(m->part[i]);

		if (m->size[i] && (m->size[i] < came || m->size[i] > STREAM_MOST))
			answer_refuse(f,
				      "sends %lld bytes of output, but gives %lld as "
				      "the size of all output",
				      (long long)came, (long long)m->size[i]);
		else if (m->written[i] < 0)
			answer_refuse(f, "says that a command wrote %lld bytes",
				      (long long)m->written[i]);
	}
	return !f->code;
}

/* Takes one part of each stream. Returns false if no bytes of the two parts were kept. */
static bool hosted_ask_command_take_part(struct job *job, struct gather *g,
					 const struct streams *m)
{
	const struct workspace_exec_in *in = job->call.in;
	bool brought = false;

	g->replaced |= m->replaced;
	for (int i = 0; i < 2; i++) {
		if (m->written[i] > g->written[i])
			g->written[i] = m->written[i];
		if (output_take(&g->stream[i], m->part[i], m->size[i],
				in->max_output_bytes, &job->call.arena))
			brought = true;
	}
	return brought;
}

static bool take_exec_rest(struct job *job, struct packet *answer,
			   struct guest_conn *conn)
{
	struct gather *g = job->owner;
	struct fault *f = &job->call.fault;
	struct wire_background_status m = { 0 };
	struct streams streams;
	bool brought;

	if (answer_decode(answer, &m, &job->call.arena, f) < 0)
		return false;
	streams = STREAMS_OF(m);
	if (!check_streams(g, &streams, &job->call.fault))
		return false;
	brought = hosted_ask_command_take_part(job, g, &streams);
	if (m.more &&
	    (output_wants(&g->stream[0], true) || output_wants(&g->stream[1], true))) {
		if (brought)
			return hosted_ask_command_ask_rest(job, g, conn);
		answer_refuse(&job->call.fault,
			      "announces more output again and again, and sends none");
		return false;
	}
	fill_exec(job, g, false);
	return false;
}

static bool check_exit_code(int64_t code, struct fault *f)
{
	if (code < INT32_MIN || code > INT32_MAX)
		answer_refuse(f, "says that a command ended with %lld", (long long)code);
	return !f->code;
}

static bool check_job_id(int64_t id, struct fault *f)
{
	if (id < 1 || id > INT32_MAX)
		answer_refuse(f, "gives a command the job number %lld", (long long)id);
	return !f->code;
}

/* Checks a guest's report that a command has ended or still runs. A command may still run only
 * if the call has set `follow`. */
static bool check_exec(const struct job *job, struct wire_exec_result *m, struct fault *f)
{
	const struct workspace_exec_in *in = job->call.in;

	m->running = m->running && in->follow;
	if (m->running && !m->has_job_id)
		answer_refuse(f, "says that a command runs on, and names no job");
	return !f->code && check_exit_code(m->exit_code, f) &&
	       (!m->has_job_id || check_job_id(m->job_id, f));
}

/* A command's output may arrive in parts. The first part reports that the command has ended, or
 * (with `follow`) that it still runs. The host polls the job that keeps the other parts. */
static bool ask_take_exec(struct job *job, struct packet *answer, struct guest_conn *conn)
{
	struct workspace_exec_out *out = job->call.out;
	struct gather *g = job->owner;
	struct wire_exec_result m = { 0 };
	struct fault *f = &job->call.fault;
	struct streams streams;

	if (g)
		return take_exec_rest(job, answer, conn);
	if (answer_decode(answer, &m, &job->call.arena, f) < 0 || !check_exec(job, &m, f))
		return false;
	g = gather_of(job);
	streams = STREAMS_OF(m);
	if (!check_streams(g, &streams, f))
		return false;
	g->job_id = m.has_job_id ? m.job_id : 0;
	out->running = out->has_running = m.running;
	out->exit_code = m.exit_code;
	out->has_exit_code = !m.running;
	hosted_ask_command_take_part(job, g, &streams);
	if (m.more && !m.running && m.has_job_id && !ask_is_gone(job) &&
	    !job->call.form.most &&
	    (output_wants(&g->stream[0], true) || output_wants(&g->stream[1], true)))
		return hosted_ask_command_ask_rest(job, g, conn);
	fill_exec(job, g, m.more);
	return false;
}

static void ask_check_background(struct job *job, void *answer)
{
	const struct wire_background_started *m = answer;

	check_job_id(m->job_id, &job->call.fault);
}

static void ask_check_poll(struct job *job, void *answer)
{
	struct wire_background_status *m = answer;

	check_exit_code(m->exit_code, &job->call.fault);
	/* The caller gets a size only if the guest has dropped output. The caller gets output
	 * that the guest keeps from later polls. */
	m->has_stdout_size = m->has_stdout_written && m->stdout_written > 0;
	m->stdout_size = m->stdout_written;
	m->has_stderr_size = m->has_stderr_written && m->stderr_written > 0;
	m->stderr_size = m->stderr_written;
}

static void ask_check_set_env(struct job *job, void *answer)
{
	const struct wire_set_env_result *m = answer;

	if (m->count < 0 || m->count > INT32_MAX)
		answer_refuse(&job->call.fault, "says that %lld variables are set",
			      (long long)m->count);
}

/* --- file -------------------------------------------------------------------- */

/*
 * Asks a guest for files and directories.
 */

static void ask_fill_read(struct job *job, void *message)
{
	const struct workspace_file_read_in *in = job->call.in;
	struct wire_file_read *m = message;

	m->has_offset = in->offset > 0;
	int64_t most = (int64_t)space_all(&job->call) / 4 * 3; /* bytes before base64 */

	m->limit = in->length;
	m->has_limit = in->has_length;
	if (job->call.form.most && (!m->has_limit || m->limit > most)) {
		m->limit = most;
		m->has_limit = true;
	}
}

/* A guest takes a file's content only in base64, so a text is encoded. */
static void ask_fill_write(struct job *job, void *message)
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

/* Checks that the guest reports the true number of bytes, and sends no more bytes than were
 * asked for. */
static void ask_check_content(struct job *job, void *answer)
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
		answer_refuse(f, "announces more bytes again and again, and sends none");
	else if (!base64_is(m->content, n))
		answer_refuse(f, "sends text that is not base64");
}

/* The next page begins behind the last name received. */
static void ask_fill_list(struct job *job, void *message)
{
	const struct workspace_list_dir_out *out = job->call.out;
	struct wire_list_dir *m = message;

	if (out->n_entries > 0)
		m->after = out->entries[out->n_entries - 1].name;
}

/* Names must ascend over all pages, so that no name is listed twice. */
static bool hosted_ask_file_check_page(struct job *job, const struct wire_dir_listing *m)
{
	const struct workspace_list_dir_out *out = job->call.out;
	struct fault *f = &job->call.fault;
	const char *last = "";

	if (out->n_entries > 0)
		last = out->entries[out->n_entries - 1].name;
	for (size_t i = 0; i < m->n_entries && !f->code; i++) {
		if (!listing_is_entry(&m->entries[i]))
			answer_refuse(f, "lists a name that no directory can hold");
		else if (strcmp(m->entries[i].name, last) <= 0)
			answer_refuse(f, "lists a name twice");
		last = m->entries[i].name;
	}
	return !f->code;
}

/* Takes a page of a directory's list. Returns true if the next page was asked for. The call's
 * answer contains the entries for which it has room. */
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
		answer_refuse(&job->call.fault,
			      "announces more names again and again, and sends none");
	ms = job->call.fault.code ? -1 : answer_more(&g->parts, &job->call.fault);
	if (ms > 0)
		ask_fields(job, conn, ms);
	return ms > 0;
}

static bool ask_take_list(struct job *job, struct packet *answer, struct guest_conn *conn)
{
	struct wire_dir_listing m = { 0 };
	struct arena page = { 0 };
	bool asked = false;

	if (answer_decode(answer, &m, &page, &job->call.fault) == 0)
		asked = take_page(job, &m, conn);
	arena_release(&page);
	return asked;
}

/* --- replay ------------------------------------------------------------------ */

/*
 * Stores a guest's answer to a call with an idempotency key. A repeat of the call gets the
 * stored answer.
 */

enum { STDOUT_KEPT = 4096, STDERR_KEPT = 2048 };

/* Cuts a stream before it is stored. If the stream is cut, `*size` gets the size of the whole
 * stream. An answer that has no room for all output has the same size. */
static void cut_stream(const char **text, size_t most, int64_t *size, bool *has_size,
		       struct arena *a)
{
	size_t n = strlen(*text);

	if (n <= most)
		return;
	if (!*has_size)
		*size = (int64_t)n;
	*has_size = true;
	*text = arena_strndup(a, *text, text_start(*text, most));
}

/* Returns the call's answer in the form that a repeated call gets. */
static const char *kept_answer(const struct job *job, struct arena *a)
{
	const struct record *r = job->call.op->out;
	void *out = arena_alloc(a, r->size);
	struct text text = { 0 };
	const char *kept;

	memcpy(out, job->call.out, r->size);
	if (r == &record_workspace_exec_out) {
		struct workspace_exec_out *e = out;

		cut_stream(&e->stdout, STDOUT_KEPT, &e->stdout_size, &e->has_stdout_size,
			   a);
		cut_stream(&e->stderr, STDERR_KEPT, &e->stderr_size, &e->has_stderr_size,
			   a);
	}
	op_encode(r, out, &text);
	kept = arena_strndup(a, text.data, text.len);
	text_release(&text);
	return kept;
}

/* Whether a row with the call's key was made. The host has to settle this row even if the
 * caller has left. */
static bool replay_has_row(const struct job *job)
{
	return job->call.has_key && job->call.made;
}

static void replay_on_kept(struct job *note)
{
	struct job *asking = note->owner;

	if (note->call.fault.code)
		log_line(asking->conn->host->log, LOG_LEVEL_WARN,
			 "a guest's answer cannot be stored",
			 LOG_FAULT(&note->call.fault));
	job_free(note);
	conn_answer(asking);
}

/* Settles the row of the call's key, if there is a row, and then answers the job. After
 * replay_keep() has returned, its caller must not use the job. A success is stored for repeats
 * of the call. If the call failed and `nothing_done`, the key becomes free. Only the call that
 * made the row may free the key. */
static void replay_keep(struct job *job, bool nothing_done)
{
	struct host *host = job->conn->host;
	struct workspace_answered_in *in;
	struct job *note;

	if (!replay_has_row(job) ||
	    (job->call.fault.code && (job->call.replayed || !nothing_done))) {
		conn_answer(job);
		return;
	}
	note = host_job(host, op_workspace_answered, replay_on_kept, job);
	in = note->call.in;
	in->caller = call_key_caller(&job->call);
	in->key = call_key_text(&job->call, &note->call.arena);
	in->asked = job->call.asked;
	if (!job->call.fault.code)
		in->answer = kept_answer(job, &note->call.arena);
	host_submit(host, note);
}

enum {
	GRACE_MS = 15000, /* added to the time of the command */
	LINK_MS = 3000, /* longest wait for a guest's link, since a host that starts has
			   to dial all guests first */
};

/* Describes how a message to a guest is made, and how the guest's answer is read. Four structs
 * have fields in common: the call's arguments, the message, the guest's answer and the call's
 * answer. Fields with equal names are copied from one struct to the next. An ask_kind handles
 * the fields whose names differ. A message without such fields needs no ask_kind. */
struct ask_kind {
	const struct record *asks;
	const struct record *in; /* if the struct serves only one operation: the arguments
				    of this operation; NULL: it serves all operations */
	/* Sets fields of the message that have another name in the arguments. */
	void (*fill)(struct job *job, void *message);
	/* Sets the call's fault if the answer is wrong. */
	void (*check)(struct job *job, void *answer);
	/* If `take` is set, fields are not copied and `check` is not called. Then `take` itself
	 * sets the call's answer or its fault. Returns true if another message was sent to get
	 * the rest of the answer. */
	bool (*take)(struct job *job, struct packet *answer, struct guest_conn *conn);
};

static const struct ask_kind *ask_kind_of(const struct job *job);
static void on_answer(void *arg, struct packet *answer, struct fault *f);

/* Whether the caller has stopped waiting. If so, the guest gets no further requests for the
 * call. */
static bool ask_is_gone(struct job *job)
{
	return job->conn->closing || atomic_load(&job->gone);
}

/* Sends the guest a message of the type `type`. The message is the call's own message, or a
 * request for a further part. */
static void ask_guest(struct job *job, struct guest_conn *conn, const char *type,
		      const void *src, int64_t ms)
{
	guest_conn_ask(conn, type, src, ms, on_answer, job);
}

/* If the caller limits the size of the answer, tells the guest how many bytes the answer may
 * have. The guest keeps the rest of the answer for a later call. */
static void set_room(const struct job *job, const struct record *r, void *message)
{
	const struct field *room = field_find(r, "room");

	if (!room || !job->call.form.most)
		return;
	*(int64_t *)((char *)message + room->at) = (int64_t)space_all(&job->call);
	*(bool *)((char *)message + room->at2) = true;
}

static void ask_fields(struct job *job, struct guest_conn *conn, int64_t ms)
{
	const struct wire *w = job->call.op->message;
	const struct ask_kind *kind = ask_kind_of(job);
	void *m = arena_alloc(&job->call.arena, w->record->size);

	record_copy(job->call.op->in, job->call.in, w->record, m);
	if (kind && kind->fill)
		kind->fill(job, m);
	set_room(job, w->record, m);
	ask_guest(job, conn, w->name, m, ms);
}

/* Fills the call's answer from the call's arguments and then from the guest's answer. If the
 * guest's answer is an Ok without fields, all fields are from the arguments. */
static void hosted_ask_take_fields(struct job *job, struct packet *answer)
{
	const struct op *op = job->call.op;
	const struct ask_kind *kind = ask_kind_of(job);
	const struct record *r = wire_answer(op->message, SIDE_HOST)->record;
	struct fault *f = &job->call.fault;
	void *m = arena_alloc(&job->call.arena, r->size);

	if (op->message->answer &&
	    answer_decode_as(answer, r, m, &job->call.arena, f) < 0)
		return;
	if (kind && kind->check)
		kind->check(job, m);
	if (f->code)
		return;
	record_copy(op->in, job->call.in, op->out, job->call.out);
	record_copy(r, m, op->out, job->call.out);
}

static struct gather *gather_of(struct job *job)
{
	struct gather *g = job->owner;

	if (g)
		return g;
	g = job->owner = arena_alloc(&job->call.arena, sizeof(*g));
	g->room = ANSWER_ROOM;
	return g;
}

static const struct ask_kind ask_kinds[] = {
	{ .asks = &record_wire_exec,
	  .in = &record_workspace_exec_in,
	  .take = ask_take_exec },
	{ .asks = &record_wire_exec_background, .check = ask_check_background },
	{ .asks = &record_wire_exec_poll, .check = ask_check_poll },
	{ .asks = &record_wire_file_read,
	  .in = &record_workspace_file_read_in,
	  .fill = ask_fill_read,
	  .check = ask_check_content },
	{ .asks = &record_wire_file_write,
	  .in = &record_workspace_file_write_in,
	  .fill = ask_fill_write },
	{ .asks = &record_wire_list_dir,
	  .in = &record_workspace_list_dir_in,
	  .fill = ask_fill_list,
	  .take = ask_take_list },
	{ .asks = &record_wire_set_env, .check = ask_check_set_env },
};

static const struct ask_kind *ask_kind_of(const struct job *job)
{
	for (size_t i = 0; i < sizeof(ask_kinds) / sizeof(*ask_kinds); i++)
		if (ask_kinds[i].asks == job->call.op->message->record &&
		    (!ask_kinds[i].in || ask_kinds[i].in == job->call.op->in))
			return &ask_kinds[i];
	return NULL;
}

/* Whether the call's fault proves that the guest did nothing. After any other fault the guest
 * may have acted. Once the first part of an answer has arrived, the guest has acted. If the
 * guest may have acted, the key stays used. */
static bool did_nothing(const struct job *job)
{
	const enum fault_code code = job->call.fault.code;

	return !job->owner && (code == FAULT_INVALID || code == FAULT_NOT_FOUND ||
			       code == FAULT_CONFLICT || code == FAULT_DENIED ||
			       code == FAULT_EXHAUSTED);
}

static bool hosted_ask_take(struct job *job, struct packet *answer,
			    struct guest_conn *conn)
{
	const struct ask_kind *kind = ask_kind_of(job);

	if (kind && kind->take)
		return kind->take(job, answer, conn);
	hosted_ask_take_fields(job, answer);
	return false;
}

static void on_answer(void *arg, struct packet *answer, struct fault *f)
{
	struct job *job = arg;
	struct hosted_guest *t =
		hosted_guest_of(job->conn->host, job->call.workspace.asked);

	if (!answer)
		job->call.fault = *f;
	else if (!t)
		fault_set(&job->call.fault, FAULT_UNAVAILABLE, "/workspace",
			  "the workspace is gone");
	else if ((!ask_is_gone(job) || replay_has_row(job)) &&
		 hosted_ask_take(job, answer, &t->control))
		return;
	if (t && answer && job->call.fault.code)
		log_seldom(t->host->log, &t->wrong, LOG_LEVEL_WARN,
			   "a guest's answer breaks the protocol",
			   LOG_TEXT("workspace", t->id), LOG_FAULT(&job->call.fault));
	replay_keep(job, did_nothing(job));
}

/* --- waiting for a link ------------------------------------------------------------- */

static void hosted_ask_guest(struct job *job, struct hosted_guest *t)
{
	int64_t ms = ANSWER_MS;

	if (job->call.op->within)
		ms = call_within(&job->call) * 1000 + GRACE_MS;
	ask_fields(job, &t->control, ms);
}

static void hosted_ask_refuse(struct host *host, struct job *job)
{
	bool boots = hosted_boots(host, job->call.workspace.asked);

	fault_set(&job->call.fault, FAULT_UNAVAILABLE, "/workspace",
		  boots ? "the workspace's VM is still booting"
			: "the workspace's guest does not answer");
	job->call.fault.retry_after_ms = boots ? 5000 : 1000;
	replay_keep(job, true);
}

/* Asks the guest, or refuses the call. Returns false if the call has to wait, since the guest
 * may still become reachable. */
static bool hosted_ask_begin(struct host *host, struct job *job)
{
	struct hosted_guest *t = hosted_guest_of(host, job->call.workspace.asked);

	if (ask_is_gone(job))
		hosted_ask_refuse(host, job);
	else if (t && t->up)
		hosted_ask_guest(job, t);
	else if (host->stopping || clock_boot_ms() >= job->due)
		hosted_ask_refuse(host, job);
	else
		return false;
	return true;
}

void ask_look(struct host *host)
{
	struct chain waiting = host->guests->unlinked;

	host->guests->unlinked = (struct chain){ 0 };
	for (struct job *job; (job = chain_pop(&waiting));)
		if (!hosted_ask_begin(host, job))
			chain_add(&host->guests->unlinked, job);
}

void ask_start(struct host *host, struct job *job)
{
	if (!job->call.op->message) {
		fault_set(&job->call.fault, FAULT_INTERNAL, "", "%s has no message",
			  job->call.op->name);
		replay_keep(job, true);
		return;
	}
	job->due = clock_boot_ms() + LINK_MS;
	if (!hosted_ask_begin(host, job))
		chain_add(&host->guests->unlinked, job);
}
