#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/base/near.h"
#include "core/config/config.h"

void config_variable(const struct field *key, char out[CONFIG_VARIABLE_SIZE])
{
	int n = snprintf(out, CONFIG_VARIABLE_SIZE, "CADRE_%s", key->name);

	for (int i = 6; i < n && out[i]; i++)
		out[i] = (char)(out[i] == '.' ? '_' : toupper((unsigned char)out[i]));
}

static const char *last_part(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}

static bool same_section(const char *name, const char *key)
{
	size_t n = strcspn(name, ".");

	return name[n] == '.' && strncmp(name, key, n + 1) == 0;
}

/* The smaller of two numbers: the edit distance between a name and a key, and the edit distance
 * between their last parts plus 1. ELSEWHERE is added if the name has a section that is not the
 * key's section. */
static size_t distance(const char *name, const char *key)
{
	enum { ELSEWHERE = 4 };
	size_t whole = near_distance(name, key);
	size_t last = near_distance(last_part(name), last_part(key)) + 1;
	size_t near = whole < last ? whole : last;

	return strchr(name, '.') && !same_section(name, key) ? near + ELSEWHERE : near;
}

/* The key that is nearest to a name, even if the distance is great. A wrong key in the hint
 * does no harm, since the hint also names the command that lists all keys. */
static const struct field *nearest(const struct record *r, const char *name)
{
	const struct field *near = r->fields;

	for (size_t i = 1; i < r->n_fields; i++)
		if (distance(name, r->fields[i].name) < distance(name, near->name))
			near = &r->fields[i];
	return near;
}

/* Writes the keys of the section `name`, or "" if there is no such section. */
static void list_section(const struct record *r, const char *name, char list[160])
{
	const size_t len = strlen(name);
	size_t n = 0;

	*list = '\0';
	for (size_t i = 0; i < r->n_fields && n < 160; i++)
		if (!strncmp(r->fields[i].name, name, len) &&
		    r->fields[i].name[len] == '.')
			n += (size_t)snprintf(list + n, 160 - n, "%s%s", n ? ", " : "",
					      r->fields[i].name);
}

int config_unknown(const struct record *r, const char *name, struct fault *f)
{
	char list[160];

	fault_set(f, FAULT_INVALID, "", "unknown key '%.60s'", name);
	list_section(r, name, list);
	if (*list)
		return fault_hint(f, "Its keys are: %s", list);
	return fault_hint(f, "Did you mean '%s'?  `cadre config` lists all keys.",
			  nearest(r, name)->name);
}
