#include <string.h>

#include "core/base/hash.h"
#include "core/config/toml_inside.h"

struct toml_table *toml_table_new(struct arena *a, enum toml_made made, int depth)
{
	struct toml_table *t = arena_alloc(a, sizeof(*t));

	t->made = made;
	t->depth = depth;
	return t;
}

static bool toml_table_is_key(const struct toml_entry *e, const char *key, size_t len)
{
	return e->key.len == len && !memcmp(e->key.data, key, len);
}

/* Finds the bucket of a key. */
static struct toml_entry **toml_table_bucket_of(const struct toml_table *t,
						const char *key, size_t len)
{
	uint64_t h = hash_more(HASH_EMPTY, key, len);

	return &t->buckets[(h ^ h >> 32) & (t->n_buckets - 1)];
}

struct toml_entry *toml_find(const struct toml_table *t, const char *key, size_t len)
{
	struct toml_entry *e;

	if (!t->buckets) {
		for (e = t->first; e && !toml_table_is_key(e, key, len);)
			e = e->next;
		return e;
	}
	for (e = *toml_table_bucket_of(t, key, len);
	     e && !toml_table_is_key(e, key, len);)
		e = e->chain;
	return e;
}

static void link_entry(const struct toml_table *t, struct toml_entry *e)
{
	struct toml_entry **bucket = toml_table_bucket_of(t, e->key.data, e->key.len);

	e->chain = *bucket;
	*bucket = e;
}

/* Adds an index when a table has more keys than can be looked through quickly; few
 * have. */
static void toml_table_grow(struct arena *a, struct toml_table *t)
{
	t->n_buckets = t->n_buckets ? t->n_buckets * 4 : 32;
	t->buckets = arena_alloc(a, t->n_buckets * sizeof(struct toml_entry *));
	for (struct toml_entry *e = t->first; e; e = e->next)
		link_entry(t, e);
}

struct toml_entry *toml_add(struct arena *a, struct toml_table *t,
			    const struct toml_key *key)
{
	struct toml_entry *e = arena_alloc(a, sizeof(*e));

	e->key = key->name;
	e->at = key->at;
	*(t->last ? &t->last->next : &t->first) = e;
	t->last = e;
	t->n++;
	if (t->n > (t->n_buckets ? t->n_buckets : 8))
		toml_table_grow(a, t);
	else if (t->buckets)
		link_entry(t, e);
	return e;
}

struct toml_value *toml_push(struct arena *a, struct toml_array *array)
{
	return arena_push(a, &array->items, &array->n, sizeof(struct toml_value));
}
