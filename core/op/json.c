#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/op/op.h"

/* Estimated bytes of a list or object, and of any other value. */
enum { CONTAINER_COST = 256, VALUE_COST = 96 };

/* Estimates the memory that the values of a text take once they are parsed. `[],` takes some
 * 130 bytes. Strings are not counted, since a string takes no more memory than its text. */
static size_t json_cost(const char *text, size_t len)
{
	size_t cost = 0;
	bool string = false;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (string && c == '\\')
			i++;
		else if (c == '"')
			string = !string;
		else if (!string && (c == '{' || c == '['))
			cost += CONTAINER_COST;
		else if (!string && c == ',')
			cost += VALUE_COST;
	}
	return cost;
}

json_t *json_take(const char *text, size_t len, size_t flags, json_error_t *error)
{
	static const char mark[] = "\xef\xbb\xbf";
	const size_t skipped = len >= 3 && !memcmp(text, mark, 3) ? 3 : 0;
	const size_t most = (size_t)JSON_MOST_MIB << 20;

	text += skipped;
	len -= skipped;
	if (len <= most / CONTAINER_COST || json_cost(text, len) <= most)
		return json_loadb(text, len, flags, error);
	*error = (json_error_t){ 0 };
	snprintf(error->text, sizeof(error->text), "the values take more than %d MiB",
		 JSON_MOST_MIB);
	return NULL;
}

const char *json_find_text(const json_t *json, const char *name)
{
	return json_string_value(json_object_get(json, name));
}

const char *json_text_at(const json_t *json, const char *name)
{
	const char *text = json_find_text(json, name);

	return text ? text : "";
}

long long json_int_at(const json_t *json, const char *name)
{
	return json_integer_value(json_object_get(json, name));
}
