/*
 * The vault, and teams below a team, as a guest's agent says them.
 */
#include "core/host/host_inside.h"
#include "core/host/speech.h"
#include "ops.gen.h"

#include <string.h>

/* --- hearing -------------------------------------------------------------------- */

enum heard hear_vault_read(struct conn *c, struct job *job, struct fault *f)
{
	const json_t *m = job->packet.json;
	json_t *args = speech_args(job);

	speech_copy(args, "path", m, "path");
	speech_copy(args, "offset", m, "offset");
	speech_copy(args, "length", m, "length");
	return speech_decode(c, job, op_vault_read, args, f);
}

enum heard hear_vault_write(struct conn *c, struct job *job, struct fault *f)
{
	const json_t *m = job->packet.json;
	const char *mode = speech_text(m, "mode");
	const struct op *op = !mode || !strcmp(mode, "overwrite") ? op_vault_write
			      : !strcmp(mode, "append")           ? op_vault_append
			      : !strcmp(mode, "prepend")          ? op_vault_prepend
								  : NULL;
	json_t *args = speech_args(job);

	if (!op) {
		fault_set(f, FAULT_INVALID, "/mode", "'%.60s' is no mode", mode);
		fault_hint(f, "Use overwrite, append or prepend.");
		return HEARD_NONSENSE;
	}
	speech_copy(args, "path", m, "path");
	speech_copy(args, "idempotency_key", m, "idempotency_key");
	json_object_set(args, "content", json_object_get(m, "content"));
	return speech_decode(c, job, op, args, f);
}

enum heard hear_vault_list(struct conn *c, struct job *job, struct fault *f)
{
	const json_t *m = job->packet.json;
	json_t *args = speech_args(job);

	speech_copy(args, "path", m, "path");
	speech_copy(args, "recursive", m, "recursive");
	return speech_decode(c, job, op_vault_list, args, f);
}

/* Searches as the older dialect did: unless the message says otherwise, for a regular
 * expression, with two lines around each match. */
enum heard hear_vault_search(struct conn *c, struct job *job, struct fault *f)
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

enum heard hear_sub_team(struct conn *c, struct job *job, struct fault *f)
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

/* --- answering ------------------------------------------------------------------- */

void answer_vault_read(struct conn *c, struct job *job, struct fault *f)
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

void answer_vault_write(struct conn *c, struct job *job, struct fault *f)
{
	wire_write(&c->flow.out, "VaultWriteOk", NULL, job->id, f);
}

void answer_vault_list(struct conn *c, struct job *job, struct fault *f)
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

void answer_vault_search(struct conn *c, struct job *job, struct fault *f)
{
	const struct vault_search_out *out = job->call.out;
	struct wire_vault_search_results m = {
		.results = out->results,
		.n_results = out->n_results,
		.total_matches = out->total_matches,
	};

	wire_write(&c->flow.out, "VaultSearchResults", &m, job->id, f);
}

void answer_sub_team(struct conn *c, struct job *job, struct fault *f)
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
