/*
 * vault - reading and changing notes.
 *
 * The handler of a write runs twice. The first run plans the write. The second run decides the
 * write, after the work on the files. See core/vault/vault.h.
 */
#include "core/vault/vault_inside.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/access/who.h"
#include "core/event/event.h"
#include "core/call/space.h"
#include "core/vault/vault_front.h"
#include "core/vault/vault_text.h"

enum { READ_ROOM = 2 << 20 }; /* bytes of JSON that fit a frame of any door */

/* --- deciding ------------------------------------------------------------------- */

int vault_team_in(struct call *call, const char *path, struct vault_team_row *row)
{
	if (strncmp(path, "teams/", 6) != 0)
		return 0;
	return sql_row(call, vault_team, row,
		       .name = arena_strndup(&call->arena, path + 6,
					     strcspn(path + 6, "/")));
}

/* Finds the living team that owns the note's folder, because this team gets the event. For this
 * event the operator acts as a member of the team. */
static int team_of(struct call *call, const char *path, int64_t *team)
{
	struct vault_team_row r = { 0 };
	int rc = vault_team_in(call, path, &r);

	*team = r.id;
	if (rc <= 0 || call->identity.agent || call->identity.level == WHO_HOST)
		return rc < 0 ? rc : 0;
	return who_team(call,
			arena_strndup(&call->arena, path + 6, strcspn(path + 6, "/")));
}

/* Writes the event's detail, with the path after the change, the path before the change, and
 * the note's size. */
static const char *detail_of(struct call *call, const struct vault_work *w)
{
	struct text t = { 0 };
	const char *detail;

	text_addf(&t, "{\"path\":");
	text_add_json(&t, w->to ? w->to : w->path);
	if (w->to) {
		text_addf(&t, ",\"from\":");
		text_add_json(&t, w->path);
	}
	if (w->move.to)
		text_addf(&t, ",\"bytes\":%" PRId64, w->move.is.size);
	text_addf(&t, "}");
	detail = arena_strdup(&call->arena, t.data);
	text_release(&t);
	return detail;
}

static int vault_decide(struct call *call)
{
	const struct vault_work *w = call->vault;
	const struct note_move *m = &w->move;
	int64_t team, event;
	int rc = team_of(call, w->path, &team);

	if (rc < 0 || (rc = vault_held(call, w)) < 0 ||
	    (event = sql_new_id(call, event)) < 0 ||
	    (rc = event_by(call, .seq = event, .kind = w->event, .team = team,
			   .actor = event_actor(call), .detail = detail_of(call, w))) < 0)
		return call->fault.code;
	call->made = event;
	rc = sql_run(call, vault_move_add, .event = call->made, .from_path = m->from,
		     .to_path = m->to, .ino = m->is.ino, .mtime = m->is.mtime_ns,
		     .size = m->is.size, .was_ino = m->was.ino,
		     .was_mtime = m->was.mtime_ns, .was_size = m->was.size);
	for (size_t i = 0; rc >= 0 && i < w->n_done; i++)
		rc = sql_run(call, vault_move_made, .event = w->done[i]);
	return rc < 0 ? rc : 0;
}

/* For a repeated call, reads the size of the note from the event of the first call. */
static int vault_report(struct call *call, int64_t *size)
{
	struct event_told_row r;
	json_t *detail;
	int rc = sql_row(call, event_told, &r, .seq = call->made);

	if (rc < 0)
		return rc;
	detail = json_loads(rc > 0 && r.detail ? r.detail : "", 0, NULL);
	*size = json_integer_value(json_object_get(detail, "bytes"));
	json_decref(detail);
	return 0;
}

int vault_finish(struct call *call, const char **path, int64_t *size)
{
	const struct vault_work *w = call->vault;

	if (!call->made && !w->staged)
		return 0;
	*path = w->to ? w->to : w->path;
	if (call->made)
		return size ? vault_report(call, size) : 0;
	if (size)
		*size = w->move.is.size;
	return vault_decide(call);
}

/* --- writing --------------------------------------------------------------------- */

int vault_old(struct call *call, const char *path, struct text *old,
	      struct note_stamp *was)
{
	int rc = notes_of(call)->read(notes_of(call)->self, path,
				      (struct note_part){ 0, NOTE_MOST + 1 }, old, was,
				      &call->fault);

	if (rc == 0)
		*was = (struct note_stamp){ 0 };
	return rc;
}

bool vault_has_front(const char *path)
{
	size_t n = strlen(path);

	return n > 3 && strcmp(path + n - 3, ".md") == 0;
}

int vault_stage(struct call *call, struct vault_work *w, const struct text *text,
		const struct note_stamp *was)
{
	int rc;

	if (text->len > NOTE_MOST) {
		fault_set(&call->fault, FAULT_EXHAUSTED, "/content",
			  "%.150s would be over 10 MiB", w->path);
		return fault_hint(&call->fault, "Continue in another note.");
	}
	rc = notes_of(call)->stage(notes_of(call)->self, w->path, text, &w->move,
				   &call->arena, &call->fault);
	w->move.was = *was;
	return rc;
}

static int run_put(struct call *call, struct vault_work *w)
{
	struct text old = { 0 }, new = { 0 };
	struct note_stamp was;
	size_t front;
	int rc;

	if (w->mode == NOTE_OVERWRITE)
		rc = notes_of(call)->look(notes_of(call)->self, w->path, &was,
					  &call->fault);
	else
		rc = vault_old(call, w->path, &old, &was);
	if (rc == 0)
		was = (struct note_stamp){ 0 };
	front = vault_has_front(w->path) ? vault_note_front(old.data, old.len) : 0;
	if (rc >= 0) {
		vault_note_compose(w->mode, &old, front, w->content, &new);
		rc = vault_stage(call, w, &new, &was);
	}
	text_release(&old);
	text_release(&new);
	return rc;
}

int vault_plan(struct call *call, const char *path,
	       int (*run)(struct call *call, struct vault_work *w))
{
	call->vault->run = run;
	call->vault->event = EVENT_VAULT_WRITTEN;
	return vault_note(call, path, "/path", VAULT_WRITE, &call->vault->path);
}

/* Writes `content` into the note `path`. `told` and `size` are fields of the answer. */
static int vault_put(struct call *call, const char *path, enum note_mode mode,
		     const char *content, const char **told, int64_t *size)
{
	int rc = vault_plan(call, path, run_put);

	call->vault->mode = mode;
	call->vault->content = content;
	return rc < 0 ? rc : vault_finish(call, told, size);
}

int vault_write(struct call *call, const struct vault_write_in *in,
		struct vault_write_out *out)
{
	struct vault_card card;
	int rc = vault_card_named(call, in->path, &card);

	if (rc > 0) {
		*out = (struct vault_write_out){ card.path,
						 (int64_t)strlen(in->content) };
		return vault_write_card(call, &card, in->content);
	}
	return rc < 0 ? rc
		      : vault_put(call, in->path, NOTE_OVERWRITE, in->content, &out->path,
				  &out->size);
}

int vault_append(struct call *call, const struct vault_append_in *in,
		 struct vault_append_out *out)
{
	return vault_put(call, in->path, NOTE_APPEND, in->content, &out->path,
			 &out->size);
}

int vault_prepend(struct call *call, const struct vault_prepend_in *in,
		  struct vault_prepend_out *out)
{
	return vault_put(call, in->path, NOTE_PREPEND, in->content, &out->path,
			 &out->size);
}

/* --- moving ------------------------------------------------------------ */

int vault_none(struct call *call, const char *path)
{
	fault_set(&call->fault, FAULT_NOT_FOUND, "/path", "there is no note %.180s",
		  path);
	return fault_hint(&call->fault, "List the notes with: {vault.list}.");
}

int vault_find(struct call *call, struct vault_work *w, const char *to)
{
	int rc = notes_of(call)->look(notes_of(call)->self, w->path, &w->move.is,
				      &call->fault);

	if (rc == 0)
		return vault_none(call, w->path);
	w->move.from = w->path;
	w->move.to = to;
	return rc;
}

int vault_vacant(struct call *call, const char *to)
{
	struct note_stamp there;
	int rc = notes_of(call)->look(notes_of(call)->self, to, &there, &call->fault);

	return rc <= 0 ? rc
		       : fault_set(&call->fault, FAULT_CONFLICT, "/to",
				   "there is a note %.180s already", to);
}

static int run_move(struct call *call, struct vault_work *w)
{
	int rc = vault_find(call, w, w->to);

	return rc < 0 ? rc : vault_vacant(call, w->to);
}

int vault_move(struct call *call, const struct vault_move_in *in,
	       struct vault_move_out *out)
{
	struct vault_work *w = call->vault;
	const char *to = in->to, *name;
	int rc = vault_note(call, in->path, "/path", VAULT_WRITE, &w->path);

	if (rc < 0)
		return rc;
	name = strrchr(w->path, '/');
	name = name ? name + 1 : w->path;
	if (to[strlen(to) - 1] == '/')
		to = arena_printf(&call->arena, "%s%s", to, name);
	if ((rc = vault_note(call, to, "/to", VAULT_WRITE, &w->to)) < 0)
		return rc;
	if (strcmp(w->path, w->to) == 0)
		return fault_set(&call->fault, FAULT_INVALID, "/to",
				 "the note has this path already");
	w->run = run_move;
	w->event = EVENT_VAULT_MOVED;
	return vault_finish(call, &out->path, &out->size);
}

/* --- reading ------------------------------------------------------------------------ */

const char *vault_json(struct call *call, json_t *json)
{
	char *text = json_dumps(json, JSON_COMPACT);
	const char *kept = arena_strdup(&call->arena, text ? text : "{}");

	free(text);
	return kept;
}

/* Returns the frontmatter as JSON. Returns NULL if the note has no frontmatter, or if the
 * frontmatter is not YAML. Such a note can still be read as text. */
static const char *front_json(struct call *call, const char *data, size_t len)
{
	const char *out = NULL;
	json_t *front = NULL;

	if (vault_note_front(data, len) && front_read(call, data, len, &front) == 0)
		out = vault_json(call, front);
	call->fault = (struct fault){ 0 };
	json_decref(front);
	return out;
}

static void vault_take_part(struct call *call, const struct text *part,
			    const struct note_stamp *stamp)
{
	const struct vault_read_in *in = call->in;
	struct vault_read_out *out = call->out;
	const char *data = part->data ? part->data : "";
	size_t room = call->form.most ? space_all(call) : READ_ROOM;
	size_t n = vault_note_fit(data, part->len, room);

	out->path = call->vault->path;
	out->content = vault_note_text(&call->arena, data, n);
	out->size = stamp->size;
	out->modified_at = stamp->mtime_ns / 1000000;
	out->next = in->offset + (int64_t)n;
	out->more = out->next < stamp->size;
	if ((int64_t)part->len == stamp->size && part->len)
		out->edited = vault_edited(call, out->path, data, part->len);
	if (in->offset == 0 && vault_has_front(out->path))
		out->frontmatter = front_json(call, data, n);
	/* The field `frontmatter` may be left out, because the content includes the frontmatter
	 * as well. */
	if (out->frontmatter && call->form.most &&
	    strlen(out->frontmatter) + text_json_size(out->content) > room)
		out->frontmatter = NULL;
}

static int run_read(struct call *call, struct vault_work *w)
{
	const struct vault_read_in *in = call->in;
	int64_t most = in->has_length && in->length < READ_ROOM ? in->length : READ_ROOM;
	struct note_stamp stamp;
	struct text part = { 0 };
	int rc = notes_of(call)->read(notes_of(call)->self, w->path,
				      (struct note_part){ in->offset, most }, &part,
				      &stamp, &call->fault);

	if (rc > 0)
		vault_take_part(call, &part, &stamp);
	text_release(&part);
	return rc == 0 ? vault_none(call, w->path) : rc;
}

int vault_read(struct call *call, const struct vault_read_in *in,
	       struct vault_read_out *out)
{
	(void)out;
	call->vault->run = run_read;
	return vault_note(call, in->path, "/path", VAULT_READ, &call->vault->path);
}
