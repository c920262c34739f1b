#include "storage/kept.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"

struct kept_row {
	uint64_t age, hash;
	enum sql id;
	size_t n_key;
	char key[KEPT_KEY];
	char row[]; /* the struct, then the bytes of its texts */
};

struct key {
	size_t n;
	uint64_t hash;
	char bytes[KEPT_KEY];
};

/* --- keys --------------------------------------------------------------------- */

static bool key_put(struct key *k, const void *data, size_t n)
{
	if (k->n + n > sizeof(k->bytes))
		return false;
	memcpy(k->bytes + k->n, data, n);
	k->n += n;
	return true;
}

static bool key_put_slot(struct key *k, const struct slot *slot, const char *at)
{
	const char *text = *(const char *const *)at;
	const struct blob *b = (const struct blob *)at;

	switch (slot->kind) {
	case SLOT_INT:
		return key_put(k, at, sizeof(int64_t));
	case SLOT_BOOL:
		return key_put(k, at, sizeof(bool));
	case SLOT_TEXT:
		return text ? key_put(k, text, strlen(text) + 1) : false;
	case SLOT_BLOB:
		return key_put(k, &b->size, sizeof(b->size)) &&
		       key_put(k, b->data, b->size);
	}
	return false;
}

/* The parameters as bytes; false if they are too long to keep anything. */
static bool kept_key_of(struct key *k, enum sql id, const void *in)
{
	const struct statement *t = &statement_table[id];

	k->n = 0;
	for (int i = 0; i < t->n_params; i++)
		if (!key_put_slot(k, &t->params[i], (const char *)in + t->params[i].at))
			return false;
	k->hash = hash_more(HASH_EMPTY ^ (uint64_t)id, k->bytes, k->n);
	return true;
}

/* The first of the two places where a row with this key may be. */
static struct kept_row **kept_place_of(struct kept *k, const struct key *key)
{
	return &k->places[(key->hash ^ key->hash >> 32) % (KEPT_PLACES / 2) * 2];
}

static bool is_row_of(const struct kept_row *r, enum sql id, const struct key *key)
{
	return r->hash == key->hash && r->id == id && r->n_key == key->n &&
	       memcmp(r->key, key->bytes, key->n) == 0;
}

static bool is_forgotten(const struct kept *k, const struct kept_row *r)
{
	return r->age != k->age[statement_table[r->id].kept];
}

static const struct kept_row *kept_row_of(struct kept *k, enum sql id,
					  const struct key *key)
{
	struct kept_row **place = kept_place_of(k, key);

	for (int i = 0; i < 2; i++)
		if (place[i] && is_row_of(place[i], id, key) &&
		    !is_forgotten(k, place[i]))
			return place[i];
	return NULL;
}

/* Puts a row into a place of its key: a forgotten row is replaced first, else the older
 * one. */
static void kept_put_row(struct kept *k, const struct key *key, struct kept_row *r)
{
	struct kept_row **place = kept_place_of(k, key);

	if (place[0] && is_forgotten(k, place[0])) {
		free(place[0]);
	} else {
		free(place[1]);
		place[1] = place[0];
	}
	place[0] = r;
}

/* --- rows --------------------------------------------------------------------- */

/* The bytes of a text with its NUL, or of a blob; `*where` is the pointer in the row. */
static size_t kept_bytes_of(const struct slot *slot, char *row, const void ***where)
{
	struct blob *b = (struct blob *)(row + slot->at);

	*where = (const void **)(row + slot->at);
	if (slot->kind == SLOT_BLOB)
		return b->size;
	return slot->kind == SLOT_TEXT && **where ? strlen(**where) + 1 : 0;
}

bool kept_find(struct kept *k, enum sql id, const void *in, void *row, struct arena *a)
{
	const struct statement *t = &statement_table[id];
	const struct kept_row *r;
	const void **where;
	struct key key;
	size_t n;

	if (!kept_key_of(&key, id, in) || !(r = kept_row_of(k, id, &key)))
		return false;
	memcpy(row, r->row, t->row_size);
	for (int i = 0; i < t->n_columns; i++)
		if ((n = kept_bytes_of(&t->columns[i], row, &where)))
			*where = memcpy(arena_alloc(a, n), *where, n);
	return true;
}

void kept_add(struct kept *k, enum sql id, const void *in, const void *row)
{
	const struct statement *t = &statement_table[id];
	size_t n, size = t->row_size;
	struct kept_row *r;
	const void **where;
	struct key key;
	char *end;

	if (!kept_key_of(&key, id, in))
		return;
	for (int i = 0; i < t->n_columns; i++)
		size += kept_bytes_of(&t->columns[i], (char *)(uintptr_t)row, &where);
	if (!(r = malloc(sizeof(*r) + size)))
		return;
	*r = (struct kept_row){ k->age[t->kept], key.hash, id, key.n, { 0 } };
	memcpy(r->key, key.bytes, key.n);
	end = memcpy(r->row, row, t->row_size);
	end += t->row_size;
	for (int i = 0; i < t->n_columns; i++) {
		if (!(n = kept_bytes_of(&t->columns[i], r->row, &where)))
			continue;
		*where = memcpy(end, *where, n);
		end += n;
	}
	kept_put_row(k, &key, r);
}

/* --- forgetting ------------------------------------------------------------------ */

void kept_forget(struct kept *k)
{
	for (int i = 0; i < KEPT_STATEMENTS; i++)
		k->age[i]++;
}

uint64_t kept_age(const struct kept *k)
{
	return k->age[0];
}

void kept_invalidate(struct kept *k, unsigned statements)
{
	for (; statements; statements &= statements - 1)
		k->age[__builtin_ctz(statements)]++;
}

void kept_check(struct kept *k, uint32_t version)
{
	if (version != k->version)
		kept_forget(k);
	k->version = version;
}

void kept_release(struct kept *k)
{
	for (int i = 0; i < KEPT_PLACES; i++)
		free(k->places[i]);
	*k = (struct kept){ 0 };
}
