#include "mcp/extra.h"

#include <string.h>

const struct extra *extra_find(const struct extra *table, const char *name)
{
	while (table->name && strcmp(table->name, name) != 0)
		table++;
	return table->name ? table : NULL;
}

const struct extra *extra_resource(const char *uri)
{
	const struct extra *e = extra_find(extras.resources, uri);

	if (e)
		return e;
	for (e = extras.templates; e->name; e++)
		if (strncmp(uri, e->name, strlen(e->name)) == 0)
			return e;
	return NULL;
}

void extra_list(const struct extra *table, struct text *out)
{
	for (; table->name; table++)
		text_addf(out, "%s%s", out->data[out->len - 1] == '[' ? "" : ",",
			  table->listed);
}
