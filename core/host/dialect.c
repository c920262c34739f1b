#include "core/host/dialect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/version.h"
#include "core/call/space.h"
#include "core/host/guests/hosted_door.h"
#include "core/host/handout.h"
#include "core/host/host_inside.h"
#include "core/host/job.h"
#include "core/wire/base64.h"
#include "ops.gen.h"

/* --- fit --------------------------------------------------------------------- */

/*
 * Cuts the answers that contain a guest's data, so that each answer fits a frame.
 *
 * The database's part of an answer was measured before COMMIT (core/call/space.h). The guest's
 * part of an answer arrived later, in any number of frames.
 */

/* The command's stderr gets room first, since stderr is usually short. The command's stdout is
 * cut to the rest of the room. */
static void fit_exec(struct job *job)
{
	struct workspace_exec_out *out = job->call.out;
	int64_t errors, output;
	size_t all = job->call.space, half = all / 2;

	if (!out->stdout || !out->stderr)
		return;
	if (text_json_size(out->stdout) < half)
		half = all - text_json_size(out->stdout);
	out->stderr = space_text(&job->call, out->stderr, half, &errors);
	out->stdout = space_text(&job->call, out->stdout, all, &output);
	if (!errors && !output)
		return;
	if (!out->has_stdout_size)
		out->stdout_size = output ? output : (int64_t)strlen(out->stdout);
	if (!out->has_stderr_size)
		out->stderr_size = errors ? errors : (int64_t)strlen(out->stderr);
	out->has_stdout_size = out->has_stderr_size = true;
	out->has_job_id = out->job_id != 0;
}

/* Cuts output to the caller's bound, since an older guest may send more bytes than the bound. */
static void fit_poll(struct job *job)
{
	struct workspace_exec_poll_out *out = job->call.out;
	int64_t errors, output;

	if (!job->call.form.most || !out->stdout || !out->stderr)
		return;
	out->stderr = space_text(&job->call, out->stderr, job->call.space / 2, &errors);
	out->stdout = space_text(&job->call, out->stdout, job->call.space, &output);
	if (errors || output)
		out->has_more = out->more = true;
}

static void fit_list_dir(struct job *job)
{
	struct workspace_list_dir_out *out = job->call.out;
	size_t n = 0;

	while (n < out->n_entries &&
	       space_take(&job->call, &record_dir_entry, &out->entries[n]))
		n++;
	if (n == out->n_entries)
		return;
	out->n_entries = n;
	out->has_more = out->more = true;
}

/* Returns how many of the bytes are text without NUL, or 0 if the bytes are not text. With
 * `more`, the last character may be incomplete, since the file continues behind these bytes. */
static size_t text_bytes(const char *bytes, size_t n, bool more)
{
	size_t at = 0, wide;

	while (at < n && bytes[at]) {
		wide = (unsigned char)bytes[at] < 0x80 ? 1 : text_wide(bytes + at);
		if (!wide)
			break;
		at += wide;
	}
	return at == n || (more && bytes[at] && n - at < 4) ? at : 0;
}

/* Gives a model a part of the file in plain text, since a model reads plain text better than
 * base64. */
static void fit_read(struct job *job)
{
	struct workspace_file_read_out *out = job->call.out;
	size_t len = out->content ? strlen(out->content) : 0, n;
	char *bytes;
	ssize_t came;

	if (!job->call.form.most || !out->content)
		return;
	bytes = arena_alloc(&job->call.arena, len + 1);
	came = base64_decode(bytes, out->content, len);
	n = came > 0 ? text_bytes(bytes, (size_t)came, out->more) : 0;
	if (came < 0 || (came && !n))
		return;
	n = text_json_fit(bytes, n, &job->call.space);
	out->text = arena_strndup(&job->call.arena, bytes, n);
	out->content = NULL;
	out->has_more = out->more = out->more || n < (size_t)came;
	out->size = (int64_t)n;
}

/* Cuts the answer to its room. Keeps whole items of a list, or the first parts of a command's
 * output. A cut output is sent with its full sizes and with the job that keeps the rest. */
static void fit_answer(struct job *job)
{
	space_open(&job->call);
	if (job->call.op->out == &record_workspace_exec_out)
		fit_exec(job);
	else if (job->call.op->out == &record_workspace_exec_poll_out)
		fit_poll(job);
	else if (job->call.op->out == &record_workspace_file_read_out)
		fit_read(job);
	else if (job->call.op->out == &record_workspace_list_dir_out)
		fit_list_dir(job);
}

struct speech {
	const char *type;
	enum heard (*hear)(struct conn *c, struct job *job, struct fault *f);
	/* Appends the answer to c->flow.out. If this fails, sets `f`, and the caller sends the
	 * fault. */
	void (*answer)(struct conn *c, struct job *job, struct fault *f);
	bool tells_conflicts; /* the answer has a field for conflicts */
};

static const char *speech_text(const json_t *json, const char *key);
static json_t *speech_args(struct job *job);
static void speech_copy(json_t *args, const char *to, const json_t *from,
			const char *key);
static enum heard speech_decode(struct conn *c, struct job *job, const struct op *op,
				json_t *args, struct fault *f);

/*
 * Reads the messages in which a guest's agent uses the vault or makes a sub-team, and writes
 * the answers.
 */

/* --- reading of messages -------------------------------------------------------- */

static enum heard hear_vault_read(struct conn *c, struct job *job, struct fault *f)
{
	const json_t *m = job->packet.json;
	json_t *args = speech_args(job);

	speech_copy(args, "path", m, "path");
	speech_copy(args, "offset", m, "offset");
	speech_copy(args, "length", m, "length");
	return speech_decode(c, job, op_vault_read, args, f);
}

static enum heard hear_vault_write(struct conn *c, struct job *job, struct fault *f)
{
	const json_t *m = job->packet.json;
	const char *mode = speech_text(m, "mode");
	const struct op *op = !mode || !strcmp(mode, "overwrite") ? op_vault_write
			      : !strcmp(mode, "append")           ? op_vault_append
			      : !strcmp(mode, "prepend")          ? op_vault_prepend
								  : NULL;
	json_t *args = speech_args(job);

	if (!op) {
		fault_set(f, FAULT_INVALID, "/mode", "'%.60s' is not a mode", mode);
		fault_hint(f, "Use overwrite, append or prepend.");
		return HEARD_NONSENSE;
	}
	speech_copy(args, "path", m, "path");
	speech_copy(args, "idempotency_key", m, "idempotency_key");
	json_object_set(args, "content", json_object_get(m, "content"));
	return speech_decode(c, job, op, args, f);
}

static enum heard hear_vault_list(struct conn *c, struct job *job, struct fault *f)
{
	const json_t *m = job->packet.json;
	json_t *args = speech_args(job);

	speech_copy(args, "path", m, "path");
	speech_copy(args, "recursive", m, "recursive");
	return speech_decode(c, job, op_vault_list, args, f);
}

/* Searches as the older dialect did: for a regular expression, and with two lines around each
 * match. The message may set `regex` and `context_lines` to other values. */
static enum heard hear_vault_search(struct conn *c, struct job *job, struct fault *f)
{
	const json_t *m = job->packet.json;
	json_t *args = speech_args(job);

	json_object_set_new(args, "regex", json_true());
	json_object_set_new(args, "context_lines", json_integer(2));
	speech_copy(args, "query", m, "query");
	speech_copy(args, "max_results", m, "max_results");
	speech_copy(args, "tag", m, "tag_filter");
	speech_copy(args, "path", m, "path");
	speech_copy(args, "regex", m, "regex");
	speech_copy(args, "context_lines", m, "context_lines");
	return speech_decode(c, job, op_vault_search, args, f);
}

static enum heard hear_sub_team(struct conn *c, struct job *job, struct fault *f)
{
	static const char *const same[] = { "name",           "roles",
					    "max_vms",        "golden",
					    "inbox_capacity", "idempotency_key",
					    "snapshot",       NULL };
	static const char *const policy[] = { "allow_internet", "allow_inter_vm",
					      "allowed_ports", NULL };
	static const char *const budget[] = { "max_vms",     "max_tokens",   "max_cost",
					      "max_seconds", "max_messages", NULL };
	const json_t *m = job->packet.json;
	json_t *args = speech_args(job);

	speech_copy(args, "parent", m, "parent_team");
	for (int i = 0; budget[i]; i++)
		speech_copy(args, budget[i], json_object_get(m, "budget"), budget[i]);
	for (int i = 0; same[i]; i++)
		speech_copy(args, same[i], m, same[i]);
	for (int i = 0; policy[i]; i++)
		speech_copy(args, policy[i], json_object_get(m, "policy"), policy[i]);
	return speech_decode(c, job, op_team_create, args, f);
}

/* --- answers --------------------------------------------------------------------- */

static void answer_vault_read(struct conn *c, struct job *job, struct fault *f)
{
	const struct vault_read_out *out = job->call.out;
	struct wire_vault_content m = {
		.path = out->path,
		.content = out->content,
		.frontmatter = out->frontmatter,
		.has_size = true,
		.size = out->size,
		.has_more = out->more,
		.more = out->more,
	};

	wire_write(&c->flow.out, "VaultContent", &m, job->id, f);
}

static void answer_vault_write(struct conn *c, struct job *job, struct fault *f)
{
	wire_write(&c->flow.out, "VaultWriteOk", NULL, job->id, f);
}

static void answer_vault_list(struct conn *c, struct job *job, struct fault *f)
{
	const struct vault_list_out *out = job->call.out;
	struct arena *a = &job->call.arena;
	struct wire_vault_entries m = {
		.n_entries = out->n_entries,
		.has_more = out->more,
		.more = out->more,
	};

	m.entries = arena_alloc(a, (m.n_entries + 1) * sizeof(*m.entries));
	for (size_t i = 0; i < m.n_entries; i++)
		m.entries[i] = out->entries[i].kind == VAULT_KIND_FOLDER
				       ? arena_printf(a, "%s/", out->entries[i].path)
				       : out->entries[i].path;
	wire_write(&c->flow.out, "VaultEntries", &m, job->id, f);
}

static void answer_vault_search(struct conn *c, struct job *job, struct fault *f)
{
	const struct vault_search_out *out = job->call.out;
	struct wire_vault_search_results m = {
		.results = out->results,
		.n_results = out->n_results,
		.total_matches = out->total_matches,
	};

	wire_write(&c->flow.out, "VaultSearchResults", &m, job->id, f);
}

static void answer_sub_team(struct conn *c, struct job *job, struct fault *f)
{
	const struct team_create_in *in = job->call.in;
	const struct team_create_out *out = job->call.out;
	const struct fault *why = &job->call.fault;
	struct wire_sub_team_created m = {
		.success = !why->code,
		.team_name = in->name,
		.member_count = (int64_t)out->n_members,
		.message = why->code ? why->text : "created",
	};

	wire_write(&c->flow.out, "SubTeamCreated", &m, job->id, f);
}

/* Returns a text of a message, or NULL if the text is absent or empty. */
static const char *speech_text(const json_t *json, const char *key)
{
	const char *s = json_find_text(json, key);

	return s && *s ? s : NULL;
}

/* --- Hello ------------------------------------------------------------------- */

/* Copies a text to `*at`, in c->texts, and moves `*at` behind the text. If `s` is NULL, returns
 * NULL. */
static const char *dialect_keep(char **at, const char *s)
{
	size_t size = s ? strlen(s) + 1 : 0;
	char *kept = *at;

	if (!s)
		return NULL;
	memcpy(kept, s, size);
	*at += size;
	return kept;
}

/* Copies the texts of an identity into one block of memory, which the connection owns. */
static void keep_identity(struct conn *c, const struct identity *who)
{
	const char *const all[] = { who->team, who->by_default, who->agent, who->token,
				    who->session };
	char *before = c->texts, *at;
	size_t room = 1;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		room += all[i] ? strlen(all[i]) + 1 : 0;
	at = c->texts = xmalloc(room);
	c->identity = *who;
	c->identity.team = dialect_keep(&at, who->team);
	c->identity.by_default = dialect_keep(&at, who->by_default);
	c->identity.agent = dialect_keep(&at, who->agent);
	c->identity.token = dialect_keep(&at, who->token);
	c->identity.session = dialect_keep(&at, who->session);
	free(before);
}

void dialect_pin(struct conn *c, const struct identity *who)
{
	keep_identity(c, who);
}

/* A client that names an agent acts as that agent, and proves its right with the agent's token.
 * An operator acts as an agent by the member `as` of its Hello. */
static void take_identity(struct conn *c, const json_t *hello)
{
	bool as = json_is_true(json_object_get(hello, "as"));
	struct identity who = c->identity;

	who.agent = speech_text(hello, "agent");
	who.token = speech_text(hello, "token");
	who.session = speech_text(hello, "session");
	if (speech_text(hello, "team"))
		who.team = speech_text(hello, "team");
	if (who.agent && as)
		who.proven = who.as = true;
	else if (who.agent)
		who.level = WHO_OBSERVER;
	if (speech_text(hello, "default")) /* "": the client has no default team */
		who.by_default = *speech_text(hello, "default")
					 ? speech_text(hello, "default")
					 : NULL;
	who.nobody = json_is_true(json_object_get(hello, "nobody"));
	who.kept = json_is_true(json_object_get(hello, "kept"));
	keep_identity(c, &who);
}

/* Refuses a Hello that names another agent or team than the channel proves, or that has the
 * member `as`. */
static int check_claims(struct conn *c, const json_t *hello, struct fault *f)
{
	const char *agent = speech_text(hello, "agent"),
		   *team = speech_text(hello, "team");
	struct identity who = c->identity;

	if (json_is_true(json_object_get(hello, "as")))
		return fault_set(f, FAULT_DENIED, "/as",
				 "a caller cannot act as another agent on this channel");
	if (agent && strcmp(agent, who.agent))
		return fault_set(f, FAULT_DENIED, "/agent",
				 "this channel belongs to %.64s", who.agent);
	if (team && strcmp(team, who.team))
		return fault_set(f, FAULT_DENIED, "/team",
				 "this channel belongs to team %.64s", who.team);
	who.session = speech_text(hello, "session");
	keep_identity(c, &who);
	return 0;
}

static enum heard hear_hello(struct conn *c, struct job *job, struct fault *f)
{
	struct wire_hello hello = {
		.version = CADRE_VERSION,
		.role = "host",
		.boot_id = c->host->boot_id,
	};

	if (c->started) {
		fault_set(f, FAULT_INVALID, "/type", "the first message must be Hello");
		return HEARD_NONSENSE;
	}
	c->greeted = true;
	if (!c->pinned)
		take_identity(c, job->packet.json);
	else if (check_claims(c, job->packet.json, f))
		return HEARD_NONSENSE;
	if (wire_write(&c->flow.out, "Hello", &hello, job->packet.id, f))
		return HEARD_NONSENSE;
	return HEARD_ANSWERED;
}

/* --- calls ------------------------------------------------------------------- */

static enum heard speech_decode(struct conn *c, struct job *job, const struct op *op,
				json_t *args, struct fault *f)
{
	job->call.identity = c->identity;
	if (call_decode(&job->call, op, args)) {
		*f = job->call.fault;
		return HEARD_NONSENSE;
	}
	job_own(job);
	return HEARD_CALL;
}

/* Reads the form in which the caller wants its answer. A bound under ROOM_LEAST counts as
 * ROOM_LEAST. */
static struct form form_of(json_t *json)
{
	json_int_t most = json_int_at(json, "most");

	return (struct form){ .brief = json_is_true(json_object_get(json, "brief")),
			      .tells = json_is_true(json_object_get(json, "tells")),
			      .most = most <= 0           ? 0
				      : most < ROOM_LEAST ? ROOM_LEAST
							  : (size_t)most };
}

/*~ The caller and the call.  Station 5 of 12.
 *
 * op_find() looks the operation up by its name, and call_decode() turns the JSON into the C
 * struct that the operation's table describes. call_decode() checks types, sizes, patterns and
 * the lengths of lists, once for all doors. A handler therefore never sees a text that is too
 * long or a number out of range, and has no code for such values.
 *
 * The identity is taken from the connection and not from the call, unless the call arrived at
 * an agent's HTTP door. A connection that a guest has made is `pinned`: the connection uses a
 * channel that only the guest's VM can use. So a program in a VM always speaks as the agent of
 * this VM, even if the program claims to be another agent. The socket of the host can be opened
 * only by this user. A client of this socket names its agent in its Hello, and proves its
 * identity with a token unless the client is the operator. Only the state shows whether the
 * agent exists and whether the token is valid. So core/call/call.c checks the agent and the
 * token inside the transaction.
 *
 * Most other functions of this file speak the older dialect of the wire, which has a message
 * for each action. Messages of the older dialect are translated into the same operations.
 *
 * Next: core/host/writer.c
 */
static enum heard hear_call(struct conn *c, struct job *job, struct fault *f)
{
	const char *name = speech_text(job->packet.json, "op");
	json_t *args = json_object_get(job->packet.json, "args");
	const struct op *op = name ? op_find(name) : NULL;
	char session[200] = "", door[200] = "";
	struct form form;

	if (!op || op->who == WHO_HOST) {
		fault_set(f, FAULT_NOT_FOUND, "/op", "there is no operation '%s'",
			  name ? name : "");
		return HEARD_NONSENSE;
	}
	if (!args || json_is_null(args)) {
		args = json_object();
		json_object_set_new(job->packet.json, "args", args);
	}
	/* Several clients may share a channel, so each client names its session. */
	if (c->pinned && speech_text(job->packet.json, "session"))
		snprintf(session, sizeof(session), "%s",
			 speech_text(job->packet.json, "session"));
	if (speech_text(job->packet.json, "door")) {
		snprintf(door, sizeof(door), "%s", speech_text(job->packet.json, "door"));
		if (door_limit(c, op, args, door, f))
			return HEARD_NONSENSE;
	}
	job->confirms = json_is_true(json_object_get(job->packet.json, "confirms"));
	form = form_of(job->packet.json);
	if (speech_decode(c, job, op, args, f) != HEARD_CALL)
		return HEARD_NONSENSE;
	job->call.form = form;
	if (*door)
		door_identify(c, &job->call, door);
	if (*session)
		job->call.identity.session = arena_strdup(&job->call.arena, session);
	return HEARD_CALL;
}

/* Cancels a request of the same connection. The caller behind the guest has stopped waiting for
 * the answer. */
static enum heard hear_cancel(struct conn *c, struct job *job, struct fault *f)
{
	const char *id = speech_text(job->packet.json, "request");

	(void)f;
	if (id)
		conn_cancel(c, id,
			    json_is_true(json_object_get(job->packet.json, "gone")));
	return HEARD_ANSWERED;
}

static enum heard hear_arrived(struct conn *c, struct job *job, struct fault *f)
{
	const char *id = speech_text(job->packet.json, "request");

	(void)f;
	if (id)
		handout_arrived(c, id);
	return HEARD_ANSWERED;
}

/* Makes the JSON arguments of the operation that stands for an older message. The arguments are
 * freed with the message. */
static json_t *speech_args(struct job *job)
{
	json_t *args = json_object();

	json_object_set_new(job->packet.json, "args", args);
	return args;
}

/* Copies a member of `from` if the member is present and neither null nor "". */
static void speech_copy(json_t *args, const char *to, const json_t *from, const char *key)
{
	json_t *v = json_object_get(from, key);

	if (v && !json_is_null(v) && !(json_is_string(v) && json_string_length(v) == 0))
		json_object_set(args, to, v);
}

static enum heard hear_message(struct conn *c, struct job *job, struct fault *f)
{
	static const char *const same[] = { "content",        "message_type", "priority",
					    "thread",         "reply_to",     "metadata",
					    "idempotency_key" };
	const json_t *m = job->packet.json;
	const char *from = speech_text(m, "from");
	json_t *args = speech_args(job), *to = json_array();

	json_array_append(to, json_object_get(m, "to"));
	json_object_set_new(args, "to", to);
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
		speech_copy(args, same[i], m, same[i]);
	if (!json_object_get(args, "content"))
		json_object_set_new(args, "content", json_string(""));
	if (from && c->identity.agent && strcmp(from, c->identity.agent))
		speech_copy(args, "from", m, "from");
	return speech_decode(c, job, op_message_send, args, f);
}

/* A client without a request_id cannot ask for lost messages again, so the messages for this
 * client are acknowledged immediately. */
static enum heard hear_receive(struct conn *c, struct job *job, struct fault *f)
{
	const json_t *m = job->packet.json;
	json_t *args = speech_args(job);

	speech_copy(args, "limit", m, "limit");
	speech_copy(args, "wait_seconds", m, "wait_seconds");
	speech_copy(args, "request_id", m, "request_id");
	if (!json_object_get(args, "request_id"))
		json_object_set_new(args, "lease_seconds", json_integer(0));
	return speech_decode(c, job, op_message_receive, args, f);
}

static enum heard hear_claim(struct conn *c, struct job *job, struct fault *f)
{
	const json_t *m = job->packet.json;
	const char *agent = speech_text(m, "agent_name");
	json_t *args = speech_args(job);

	speech_copy(args, "task", m, "task_id");
	speech_copy(args, "team", m, "team");
	if (agent && c->identity.agent && strcmp(agent, c->identity.agent))
		speech_copy(args, "agent", m, "agent_name");
	return speech_decode(c, job, op_task_claim, args, f);
}

/* --- answers in the dialect --------------------------------------------------- */

/* Appends a number without printf(), which would take a tenth of the time of an answer. */
static void add_int(struct text *out, int64_t n)
{
	char digits[24], *at = digits + sizeof(digits);
	uint64_t left = n < 0 ? -(uint64_t)n : (uint64_t)n;

	do
		*--at = (char)('0' + left % 10);
	while (left /= 10);
	if (n < 0)
		*--at = '-';
	text_add(out, at, (size_t)(digits + sizeof(digits) - at));
}

static void dialect_add_id(struct text *out, const json_t *id)
{
	char *s;

	if (json_is_integer(id)) {
		text_add(out, ",\"id\":", 6);
		add_int(out, json_integer_value(id));
		return;
	}
	s = id ? json_dumps(id, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
	if (s)
		text_addf(out, ",\"id\":%s", s);
	free(s);
}

/* Appends a CallResult for any call. `old` means that the client has not sent Hello. `id` is
 * the request's id. */
static void dialect_result(struct text *out, struct call *call, bool old,
			   const json_t *id)
{
	static const char head[] = "{\"type\":\"CallResult\"";
	static const char result[] = ",\"result\":";
	struct fault f = { 0 };
	size_t start;

	if (call->fault.code) {
		wire_write_fault(out, &call->fault, old, id);
		return;
	}
	start = frame_open(out);
	text_add(out, head, sizeof(head) - 1);
	dialect_add_id(out, id);
	text_add(out, result, sizeof(result) - 1);
	call_encode(call, out);
	text_add(out, "}", 1);
	if (frame_close(out, start, &f))
		wire_write_fault(out, &f, old, id);
}

static void dialect_answer_message(struct conn *c, struct job *job, struct fault *f)
{
	const struct message_send_out *out = job->call.out;
	struct wire_team_message_delivered m = { .message_id = out->message_id };

	wire_write(&c->flow.out, "TeamMessageDelivered", &m, job->id, f);
}

static void fill_envelope(struct team_envelope *to, const struct envelope *e,
			  struct arena *a)
{
	char *at = arena_alloc(a, 25);

	time_format(e->timestamp, at);
	*to = (struct team_envelope){
		.message_id = e->message_id,
		.from = e->from,
		.to = e->to,
		.content = e->content,
		.message_type = e->message_type,
		.timestamp = at,
		.seq = e->seq,
		.has_seq = true,
		.priority = e->priority,
		.has_priority = true,
		.thread = e->thread,
		.reply_to = e->reply_to,
		.metadata = e->metadata,
	};
}

static void answer_receive(struct conn *c, struct job *job, struct fault *f)
{
	const struct message_receive_out *out = job->call.out;
	struct arena *a = &job->call.arena;
	struct wire_team_messages m = {
		.n_messages = out->n_messages,
		.more = out->more,
		.has_more = out->more,
	};

	m.messages = arena_alloc(a, (m.n_messages + 1) * sizeof(*m.messages));
	for (size_t i = 0; i < m.n_messages; i++)
		fill_envelope(&m.messages[i], &out->messages[i], a);
	wire_write(&c->flow.out, "TeamMessages", &m, job->id, f);
}

/* If another agent has claimed the task, answers with the message TaskClaimed instead of a
 * fault. The older host did the same. */
static void answer_claim(struct conn *c, struct job *job, struct fault *f)
{
	const struct task_claim_out *out = job->call.out;
	const struct fault *why = &job->call.fault;
	const struct task_claim_in *in = job->call.in;
	struct wire_task_claimed m = {
		.success = !why->code && out->has_task,
		.task_id = in->task ? in->task : "",
		.message = why->code       ? why->text
			   : out->has_task ? "claimed"
					   : "no task is ready",
		.epoch = out->epoch,
		.has_epoch = out->has_epoch,
		.lease_until = out->lease_until,
		.has_lease_until = out->has_lease_until,
	};

	if (m.success)
		m.task_id = out->task.id;
	wire_write(&c->flow.out, "TaskClaimed", &m, job->id, f);
}

static void answer_call(struct conn *c, struct job *job, struct fault *f)
{
	(void)f;
	dialect_result(&c->flow.out, &job->call, !c->greeted, job->id);
}

/* --- messages that the host understands -------------------------------------------- */

static const struct speech speeches[] = {
	{ "Call", hear_call, answer_call, true },
	{ "Arrived", hear_arrived, NULL, false },
	{ "Cancel", hear_cancel, NULL, false },
	{ "CreateSubTeam", hear_sub_team, answer_sub_team, true },
	{ "Hello", hear_hello, NULL, false },
	{ "TaskClaim", hear_claim, answer_claim, true },
	{ "TeamMessage", hear_message, dialect_answer_message, false },
	{ "TeamReceive", hear_receive, answer_receive, false },
	{ "VaultList", hear_vault_list, answer_vault_list, false },
	{ "VaultRead", hear_vault_read, answer_vault_read, false },
	{ "VaultSearch", hear_vault_search, answer_vault_search, false },
	{ "VaultWrite", hear_vault_write, answer_vault_write, false },
};

enum { SPEECHES = sizeof(speeches) / sizeof(*speeches) };

enum heard dialect_read(struct conn *c, struct job *job, struct fault *f)
{
	const struct packet *p = &job->packet;

	for (int i = 0; i < SPEECHES; i++)
		if (!strcmp(p->type, speeches[i].type)) {
			job->kind = i;
			return speeches[i].hear(c, job, f);
		}
	if (packet_belongs(p, SIDE_GUEST, WIRE_CONTROL, f) == 0)
		fault_set(f, FAULT_INVALID, "/type", "%s is not served here", p->type);
	return HEARD_NONSENSE;
}

void dialect_answer(struct conn *c, struct job *job)
{
	enum fault_code code = job->call.fault.code;
	struct fault f = job->call.fault;

	if (!code && job->call.workspace.asked)
		fit_answer(job);
	if (!code || (code == FAULT_CONFLICT && speeches[job->kind].tells_conflicts)) {
		f = (struct fault){ 0 };
		speeches[job->kind].answer(c, job, &f);
	}
	if (f.code)
		wire_write_fault(&c->flow.out, &f, !c->greeted, job->id);
}
