#include "core/op/face.h"

#include <stdio.h>
#include <string.h>

/* --- paths ----------------------------------------------------------------------- */

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c | 0x20) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Replaces escapes such as %41 in place. Bytes that are no escape stay unchanged. */
static size_t route_unescape(char *s, size_t n)
{
	size_t out = 0;

	for (size_t i = 0; i < n; i++) {
		int high = i + 2 < n && s[i] == '%' ? hex_digit(s[i + 1]) : -1;
		int low = high < 0 ? -1 : hex_digit(s[i + 2]);

		if (low < 0) {
			s[out++] = s[i];
			continue;
		}
		s[out++] = (char)(high * 16 + low);
		i += 2;
	}
	return out;
}

/* Returns the list of the values that a step names with commas between them. */
static json_t *step_list(const struct field *fd, char *words)
{
	json_t *list = json_array();
	char *word;

	while ((word = strsep(&words, ",")))
		json_array_append_new(list, field_word(fd, word));
	return list;
}

/* Returns the value of a step in a path. A step that is too long or no text (with %00 or bad
 * UTF-8) becomes null, which op_decode() refuses as missing. */
static json_t *step_value(const struct field *fd, const char *step, size_t n)
{
	char word[1024];

	if (n >= sizeof(word))
		return json_null();
	memcpy(word, step, n);
	n = route_unescape(word, n);
	word[n] = '\0';
	if (strlen(word) != n)
		return json_null();
	return (fd->flags & FIELD_LIST) && type_splits(fd->type) && strchr(word, ',')
		       ? step_list(fd, word)
		       : field_word(fd, word);
}

/* A field of a template, such as `{task}`, names an argument. Sets this argument. */
static void route_take_field(const struct record *in, const char *template, size_t n,
			     const char *step, size_t len, json_t *args)
{
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)n, template);
	json_object_set_new(args, name, step_value(field_find(in, name), step, len));
}

/* Whether `path` fits a template such as `/tasks/{task}/claim`. Every field matches one step
 * that is not empty. Sets *n_fields to the number of fields. If `args` is not NULL, adds the
 * fields' values to `args`. */
static bool path_fits(const char *template, const char *path, int *n_fields,
		      const struct record *in, json_t *args)
{
	*n_fields = 0;
	while (*template && *path == '/') {
		size_t t = 1 + strcspn(template + 1, "/");
		size_t p = 1 + strcspn(path + 1, "/");

		if (template[1] == '{') {
			if (p == 1)
				return false;
			++*n_fields;
			if (args)
				route_take_field(in, template + 2, t - 3, path + 1, p - 1,
						 args);
		} else if (t != p || strncmp(template, path, t) != 0) {
			return false;
		}
		template += t;
		path += p;
	}
	return !*template && !*path;
}

/* A route that fits a request. */
struct fit {
	const struct op *op;
	const struct face *face;
	const struct record *in;
	const char *template;
	int n_fields;
};

/* Compares a route with the best route so far. The route with the fewest fields is taken, so
 * that /tasks/{task} does not hide /tasks/ready. */
static void try(struct fit *best, const char *method, const char *path,
		const char *own_method, struct fit route)
{
	if (!route.template || strcmp(own_method, method) != 0 ||
	    !path_fits(route.template, path, &route.n_fields, NULL, NULL))
		return;
	if (!best->op || route.n_fields < best->n_fields)
		*best = route;
}

const struct op *op_route(const char *method, const char *path, const struct face **face,
			  json_t *args)
{
	struct fit best = { 0 };

	for (size_t i = 0; i < op_count; i++) {
		const struct op *op = &op_table[i];

		try(&best, method, path, op->http_method,
		    (struct fit){ .op = op, .in = op->in, .template = op->http_path });
	}
	for (size_t i = 0; i < face_count; i++) {
		const struct face *f = &face_table[i];

		try(&best, method, path, f->http_method,
		    (struct fit){ f->op, f, f->in, f->http_path, 0 });
	}
	if (best.op)
		path_fits(best.template, path, &best.n_fields, best.in, args);
	*face = best.face;
	return best.op;
}
