/* transfer_value - checks the value that a file gives for a column. */
#include <inttypes.h>
#include <string.h>

#include "core/team/estop.h"
#include "core/transfer/transfer_inside.h"

/* The leases of a stopped team end ESTOP_FAR later than other leases. */
static const int64_t count_most = INT64_C(1) << 52, far = (INT64_C(1) << 45) + ESTOP_FAR;
enum { TEXT_MOST = 16 << 20, SLUG_MOST = 64, PER_MS = 100 };

int64_t transfer_key_most(int64_t now)
{
	return now * PER_MS;
}

int64_t transfer_count_most(int64_t now)
{
	return count_most + transfer_key_most(now);
}

int64_t transfer_time_most(int64_t now)
{
	return now + far;
}

static const struct type *transfer_value_type_of(const char *name)
{
	for (size_t i = 0; i < type_count; i++)
		if (!strcmp(type_table[i]->name, name))
			return type_table[i];
	return NULL;
}

static int transfer_value_check_range(const struct transfer_column *c, int64_t n,
				      int64_t min, int64_t max, struct fault *f)
{
	if (n >= min && n <= max)
		return 0;
	return fault_set(f, FAULT_INVALID, "/file",
			 "%s is %" PRId64 ", but must be %" PRId64 " to %" PRId64,
			 c->name, n, min, max);
}

static int64_t last_choice(const struct type *t)
{
	int64_t n = -1;

	for (const struct choice *c = t->choices; c->name; c++)
		n++;
	return n;
}

static int transfer_value_check_number(const struct transfer_column *c, int64_t n,
				       int64_t now, struct fault *f)
{
	const struct type *t = c->type ? transfer_value_type_of(c->type) : NULL;
	const int64_t key_most = transfer_key_most(now);

	switch (c->kind) {
	case TRANSFER_KEY:
		return transfer_value_check_range(c, n, 1, key_most, f);
	case TRANSFER_ROW:
		return transfer_value_check_range(c, n, c->none ? -1 : 1, key_most, f);
	case TRANSFER_AS:
	case TRANSFER_SUBJECT:
		return transfer_value_check_range(c, n, 0, key_most, f);
	case TRANSFER_EVENT:
		if (n >= 0 && n <= INT32_MAX && event_kind((int)n))
			return 0;
		return fault_set(f, FAULT_INVALID, "/file",
				 "%s: there is no event %" PRId64, c->name, n);
	case TRANSFER_TIME:
		return transfer_value_check_range(c, n, 0, transfer_time_most(now), f);
	case TRANSFER_FLAG:
		return transfer_value_check_range(c, n, 0, 1, f);
	case TRANSFER_IS:
		return transfer_value_check_range(c, n, c->is, c->is, f);
	case TRANSFER_TYPE:
		if (t && t->kind == KIND_ENUM)
			return transfer_value_check_range(c, n, 0, last_choice(t), f);
		if (t && t->kind == KIND_INT)
			return transfer_value_check_range(c, n, t->min, t->max, f);
		break;
	case TRANSFER_SIGNED:
		return 0;
	case TRANSFER_INT:
	case TRANSFER_TEXT:
	case TRANSFER_SLUG:
		break;
	}
	return transfer_value_check_range(c, n, 0, transfer_count_most(now), f);
}

static int transfer_value_check_size(const struct transfer_column *c, size_t size,
				     int64_t min, int64_t max, struct fault *f)
{
	if ((int64_t)size >= min && (int64_t)size <= max)
		return 0;
	return fault_set(f, FAULT_INVALID, "/file",
			 "%s has %zu bytes, but must have %" PRId64 " to %" PRId64,
			 c->name, size, min, max);
}

static int check_slug(const struct transfer_column *c, const char *s, struct fault *f)
{
	if (!s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-")])
		return 0;
	return fault_set(f, FAULT_INVALID, "/file",
			 "%s may have only small letters, digits and dashes", c->name);
}

static int transfer_value_check_json(const struct transfer_column *c, const char *s,
				     struct fault *f)
{
	json_t *json = json_loads(s, 0, NULL);
	bool object = json_is_object(json);

	json_decref(json);
	if (object)
		return 0;
	return fault_set(f, FAULT_INVALID, "/file", "%s has to be a JSON object",
			 c->name);
}

static int transfer_value_check_text(const struct transfer_column *c,
				     const struct transfer_value *v, struct fault *f)
{
	const struct type *t = c->kind == TRANSFER_TYPE ? transfer_value_type_of(c->type)
							: NULL;

	if (c->kind == TRANSFER_SLUG &&
	    transfer_value_check_size(c, v->size, 1, SLUG_MOST, f) == 0)
		return check_slug(c, v->text, f);
	if (!t)
		return transfer_value_check_size(c, v->size, 0, TEXT_MOST, f);
	if (t->max && transfer_value_check_size(c, v->size, t->min, t->max, f) < 0)
		return f->code;
	if (t->kind == KIND_JSON)
		return transfer_value_check_json(c, v->text, f);
	if (type_matches(t, v->text))
		return 0;
	return fault_set(f, FAULT_INVALID, "/file", "%s is not a valid %s", c->name,
			 t->name);
}

int transfer_take(const struct transfer_column *c, const json_t *json, int64_t now,
		  struct transfer_value *v, struct fault *f)
{
	*v = (struct transfer_value){ .null = !json };
	if (!json)
		return c->null ? 0
			       : fault_set(f, FAULT_INVALID, "/file", "%s is missing",
					   c->name);
	if (c->text ? !json_is_string(json) : !json_is_integer(json))
		return fault_set(f, FAULT_INVALID, "/file", "%s has to be %s", c->name,
				 c->text ? "a text" : "a whole number");
	if (c->text) {
		v->text = json_string_value(json);
		v->size = json_string_length(json);
		return transfer_value_check_text(c, v, f);
	}
	v->n = json_integer_value(json);
	return transfer_value_check_number(c, v->n, now, f);
}
