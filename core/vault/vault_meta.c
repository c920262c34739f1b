/* vault_meta - frontmatter and tags of notes. */
#include <string.h>

#include "core/call/space.h"
#include "core/vault/vault_front.h"
#include "core/vault/vault_inside.h"
#include "ops.gen.h"

/* Refuses a note that is not Markdown, because only notes in Markdown have a frontmatter. */
static int vault_meta_check_kind(struct call *call, const char *path)
{
	if (vault_has_front(path))
		return 0;
	fault_set(&call->fault, FAULT_INVALID, "/path",
		  "only .md notes have frontmatter");
	return call->fault.code;
}

/* Refuses a frontmatter that is too large for the answer. The caller can read the frontmatter
 * in the note's text. */
static int vault_meta_check_room(struct call *call, const char *front)
{
	if (!call->form.most || strlen(front) <= space_all(call))
		return 0;
	fault_set(&call->fault, FAULT_INVALID, "/path",
		  "the frontmatter takes %zu bytes, and the answer may "
		  "take only %zu",
		  strlen(front), call->form.most);
	return fault_hint(&call->fault,
			  "Read the note in parts: {vault.read}; an answer's "
			  "`next` is the next `offset`.");
}

/* --- reading ------------------------------------------------------------------------ */

static int run_frontmatter(struct call *call, struct vault_work *w)
{
	struct vault_frontmatter_out *out = call->out;
	struct text text = { 0 };
	struct note_stamp stamp;
	json_t *front = NULL;
	int rc = vault_old(call, w->path, &text, &stamp);

	if (rc == 0)
		rc = vault_none(call, w->path);
	if (rc > 0)
		rc = front_read(call, text.data ? text.data : "", text.len, &front);
	if (rc == 0) {
		out->path = w->path;
		out->frontmatter = vault_json(call, front);
		rc = vault_meta_check_room(call, out->frontmatter);
	}
	json_decref(front);
	text_release(&text);
	return rc;
}

int vault_frontmatter(struct call *call, const struct vault_frontmatter_in *in,
		      struct vault_frontmatter_out *out)
{
	int rc = vault_note(call, in->path, "/path", VAULT_READ, &call->vault->path);

	(void)out;
	call->vault->run = run_frontmatter;
	return rc < 0 ? rc : vault_meta_check_kind(call, call->vault->path);
}

/* --- writing ------------------------------------------------------------------------ */

/* Makes `changes` in the frontmatter of the text `old`, and stages the new text. Takes
 * ownership of `changes`. */
static int put_front(struct call *call, struct vault_work *w, const struct text *old,
		     const struct note_stamp *was, json_t *changes)
{
	struct text new = { 0 };
	int rc = front_write(call, old, changes, &new);

	if (rc == 0)
		rc = vault_stage(call, w, &new, was);
	text_release(&new);
	json_decref(changes);
	return rc;
}

/* Calls the function `changes` with a note's frontmatter. Then makes the changes that this
 * function returned in the frontmatter. */
static int change_front(struct call *call, struct vault_work *w,
			json_t *(*changes)(struct call *call, json_t *front))
{
	struct text old = { 0 };
	struct note_stamp was;
	json_t *front = NULL;
	int rc = vault_old(call, w->path, &old, &was);

	if (rc == 0)
		rc = vault_none(call, w->path);
	if (rc > 0)
		rc = front_read(call, old.data ? old.data : "", old.len, &front);
	if (rc == 0)
		rc = put_front(call, w, &old, &was, changes(call, front));
	json_decref(front);
	text_release(&old);
	return rc;
}

static json_t *given_fields(struct call *call, json_t *front)
{
	const struct vault_set_in *in = call->in;
	json_error_t error;

	(void)front;
	return json_take(in->frontmatter, strlen(in->frontmatter), 0, &error);
}

static int run_set(struct call *call, struct vault_work *w)
{
	return change_front(call, w, given_fields);
}

int vault_set(struct call *call, const struct vault_set_in *in, struct vault_set_out *out)
{
	int rc = vault_plan(call, in->path, run_set);

	if (rc < 0 || (rc = vault_meta_check_kind(call, call->vault->path)) < 0)
		return rc;
	return vault_finish(call, &out->path, &out->size);
}

/* --- tags --------------------------------------------------------------------------- */

/* A tag without the `#` that people write. The sign is not part of the tag. */
static const char *bare(const char *tag)
{
	return tag + strspn(tag, "#");
}

static bool vault_meta_is_in(const char *const *tags, size_t n, const char *tag)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(bare(tags[i]), tag) == 0)
			return true;
	return false;
}

static void add_new(json_t *list, const char *tag)
{
	json_t *had;
	size_t i;

	json_array_foreach(list, i, had)
		if (strcmp(json_string_value(had), tag) == 0)
			return;
	if (*tag)
		json_array_append_new(list, json_string(tag));
}

/* Returns the changes that must be made in a note's frontmatter, so that the note has its new
 * tags. */
static json_t *new_tags(struct call *call, json_t *front)
{
	const struct vault_tag_in *in = call->in;
	json_t *list = json_array();
	const char **tags;
	size_t n = front_tags(front, &call->arena, &tags);

	for (size_t i = 0; i < n; i++)
		if (!vault_meta_is_in(in->remove, in->n_remove, tags[i]))
			add_new(list, tags[i]);
	for (size_t i = 0; i < in->n_add; i++)
		add_new(list, bare(in->add[i]));
	if (json_array_size(list))
		return json_pack("{s:o}", "tags", list);
	json_decref(list);
	return json_pack("{s:n}", "tags");
}

static int run_tag(struct call *call, struct vault_work *w)
{
	return change_front(call, w, new_tags);
}

int vault_tag(struct call *call, const struct vault_tag_in *in, struct vault_tag_out *out)
{
	int rc = vault_plan(call, in->path, run_tag);

	if (rc < 0 || (rc = vault_meta_check_kind(call, call->vault->path)) < 0)
		return rc;
	if (!in->n_add && !in->n_remove)
		return fault_set(&call->fault, FAULT_INVALID, "/add",
				 "say which tags to add or remove");
	return vault_finish(call, &out->path, &out->size);
}
