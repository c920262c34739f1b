#include "tests/lib/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "storage/store_inside.h"
#include "tests/lib/hooks.h"

static _Noreturn void give_up(const char *what, const struct fault *f)
{
	fprintf(stderr, "%s: %s\n", what, f->text);
	abort();
}

struct store *world_store(void)
{
	static struct store *first; /* kept, since the migrations take 70 ms */
	struct fault f = { 0 };
	struct store *s;

	if ((!first && store_open(&first, NULL, STORE_MEMORY, NULL, &f) < 0) ||
	    store_open(&s, NULL, STORE_MEMORY | STORE_BLANK, NULL, &f) < 0 ||
	    store_copy(s, first, &f) < 0)
		give_up("no state in memory", &f);
	return s;
}

void world_open(struct world *w)
{
	*w = (struct world){ .seed = 1 };
	settings_init(&w->settings);
	memset(w->settings.secret, 7, sizeof(w->settings.secret));
	w->settings.home = "/state";
	w->settings.config.limits_enabled =
		false; /* tests may call as often as they like */
	w->store = world_store();
}

void world_close(struct world *w)
{
	store_close(w->store);
	w->store = NULL;
}

/* --- calls -------------------------------------------------------------------- */

static int complain(struct answer *a, const char *what, const struct fault *inner)
{
	a->fault = (struct fault){ 0 };
	return fault_set(&a->fault, FAULT_INTERNAL, inner ? inner->where : "",
			 "the answer %s: %s", what, inner ? inner->text : "");
}

/* Decodes an answer strictly with the operation's record. If decoding fails, the answer becomes
 * a fault. */
static int check_reply(const struct op *op, json_t *reply, struct answer *a)
{
	struct arena arena = { 0 };
	struct fault inner = { 0 };
	json_t *bare = json_copy(reply);
	void *out = arena_alloc(&arena, op->out->size + 1);
	int rc = 0;

	json_object_del(bare, "replayed");
	if (op_decode(op->out, bare, out, DECODE_STRICT, &arena, &inner) < 0)
		rc = complain(a, "is not what its record says", &inner);
	json_decref(bare);
	arena_release(&arena);
	return rc;
}

static int read_reply(struct call *call, struct answer *a)
{
	struct text text = { 0 };
	json_error_t error;

	call_encode(call, &text);
	a->reply = json_loads(text.data, JSON_REJECT_DUPLICATES, &error);
	if (!a->reply) {
		struct fault inner = { 0 };

		fault_set(&inner, FAULT_INTERNAL, "", "%s in %.150s", error.text,
			  text.data);
		text_release(&text);
		return complain(a, "is no JSON", &inner);
	}
	text_release(&text);
	return check_reply(call->op, a->reply, a);
}

void world_ask(struct world *w, struct store *store, const struct asked *q,
	       struct answer *a)
{
	struct call call = {
		.store = store,
		.settings = &w->settings,
		.identity = q->identity,
		.form = q->form,
		.now = w->now,
		.seed = w->seed,
		.ids = w->ids,
		.keep_events = w->keep_events,
		.host = w->hosted,
		.settles = w->settles,
		.made = q->made,
		.replayed = q->replayed,
		.arena = { .fail_after = q->fail_after },
	};

	*a = (struct answer){ 0 };
	notes_point(&w->notes);
	w->notes.now = w->now;
	store_set_now(store, w->now);
	w->settings.notes = &w->notes.notes;
	w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
	a->rc = call_decode(&call, q->op, q->args);
	if (a->rc >= 0)
		a->rc = call_run(&call);
	a->fault = call.fault;
	/* A guest would have to perform this operation, so the answer has no result. */
	if (a->rc >= 0 && call.workspace.asked) {
		a->guest = true;
		a->reply = json_object();
	} else if (a->rc >= 0) {
		a->rc = read_reply(&call, a);
		a->made = call.made;
		a->replayed = call.replayed;
		a->wait_on = call.wait_on;
		a->wait_key = call.wait_key;
		a->given = call.given;
		w->ids = call.ids;
	}
	arena_release(&call.arena);
}

void answer_release(struct answer *a)
{
	json_decref(a->reply);
	a->reply = NULL;
}

/* --- rows of a state -------------------------------------------------------------- */

static uint64_t mix_row(uint64_t h, sqlite3_stmt *st)
{
	for (int i = 0; i < sqlite3_column_count(st); i++) {
		int type = sqlite3_column_type(st, i);
		int64_t n = sqlite3_column_int64(st, i);

		h = hash_more(h, &type, sizeof(type));
		if (type == SQLITE_INTEGER)
			h = hash_more(h, &n, sizeof(n));
		else
			h = hash_more(h, sqlite3_column_blob(st, i),
				      (size_t)sqlite3_column_bytes(st, i));
	}
	return h;
}

static uint64_t mix_table(uint64_t h, sqlite3 *db, const char *table)
{
	char *sql = sqlite3_mprintf("SELECT * FROM \"%w\"", table);
	sqlite3_stmt *st = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		abort();
	while (sqlite3_step(st) == SQLITE_ROW)
		h = mix_row(h, st);
	sqlite3_finalize(st);
	sqlite3_free(sql);
	return h;
}

uint64_t world_digest_without(struct store *store, const char *table)
{
	static const char tables[] =
		"SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> ?";
	uint64_t h = HASH_EMPTY;
	sqlite3_stmt *st = NULL;

	if (sqlite3_prepare_v2(store->db, tables, -1, &st, NULL) != SQLITE_OK)
		abort();
	sqlite3_bind_text(st, 1, table, -1, SQLITE_STATIC);
	while (sqlite3_step(st) == SQLITE_ROW)
		h = mix_table(h, store->db, (const char *)sqlite3_column_text(st, 0));
	sqlite3_finalize(st);
	return h;
}

uint64_t world_digest(struct store *store)
{
	return world_digest_without(store, "");
}

int64_t world_number(struct store *store, const char *sql)
{
	sqlite3_stmt *st = NULL;
	int64_t n = -1;

	if (sqlite3_prepare_v2(store->db, sql, -1, &st, NULL) != SQLITE_OK) {
		fprintf(stderr, "%s: %s\n", sqlite3_errmsg(store->db), sql);
		abort();
	}
	if (sqlite3_step(st) == SQLITE_ROW)
		n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return n;
}
