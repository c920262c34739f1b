#include "core/machine/yaml.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { DEPTH = 32, NODES_MOST = 20000 };

/* --- the library ------------------------------------------------------------------ */

static struct {
	void *handle;
	__typeof__(yaml_parser_initialize) *initialize;
	__typeof__(yaml_parser_delete) *parser_delete;
	__typeof__(yaml_parser_set_input_string) *set_input_string;
	__typeof__(yaml_parser_parse) *parse;
	__typeof__(yaml_event_delete) *event_delete;
} lib;

static pthread_once_t lib_once = PTHREAD_ONCE_INIT;

static void open_lib(void)
{
	const struct {
		const char *name;
		void *place;
	} symbols[] = {
		{ "yaml_parser_initialize", &lib.initialize },
		{ "yaml_parser_delete", &lib.parser_delete },
		{ "yaml_parser_set_input_string", &lib.set_input_string },
		{ "yaml_parser_parse", &lib.parse },
		{ "yaml_event_delete", &lib.event_delete },
	};

	lib.handle = dlopen("libyaml-0.so.2", RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; lib.handle && i < sizeof(symbols) / sizeof(*symbols); i++) {
		void *symbol = dlsym(lib.handle, symbols[i].name);

		if (!symbol)
			lib.handle = NULL;
		memcpy(symbols[i].place, &symbol, sizeof(symbol));
	}
}

/* --- scalars ------------------------------------------------------------------------- */

static bool yaml_is_one_of(const char *s, const char *const *words)
{
	while (*words && strcmp(s, *words) != 0)
		words++;
	return *words != NULL;
}

static json_t *yaml_number(const char *s)
{
	size_t digits = strspn(s + (*s == '-' || *s == '+'), "0123456789");
	const char *rest = s + (*s == '-' || *s == '+') + digits;
	char *end;
	double d;

	/* A number with a leading 0 and at least one more digit before the point stays a text,
	 * since people use names such as `007`. */
	if (digits > 1 && *(rest - digits) == '0')
		return NULL;
	errno = 0;
	if (digits && !*rest) {
		long long n = strtoll(s, &end, 10);

		return errno ? NULL : json_integer(n);
	}
	/* A number contains only digits, signs, one point and an exponent. Hexadecimal numbers
	 * and words such as `inf` stay texts. */
	if (!strpbrk(s, "0123456789") || s[strspn(s, "+-.0123456789eE")] ||
	    strchr("eE", *s))
		return NULL;
	d = strtod(s, &end);
	return *end || errno || !isfinite(d) ? NULL : json_real(d);
}

static json_t *plain(const char *s)
{
	static const char *const nulls[] = { "", "~", "null", "Null", "NULL", NULL };
	static const char *const yes[] = { "true", "True", "TRUE", NULL };
	static const char *const no[] = { "false", "False", "FALSE", NULL };
	json_t *n;

	if (yaml_is_one_of(s, nulls))
		return json_null();
	if (yaml_is_one_of(s, yes))
		return json_true();
	if (yaml_is_one_of(s, no))
		return json_false();
	n = yaml_number(s);
	return n ? n : json_string(s);
}

/* --- reading ------------------------------------------------------------------------- */

struct node {
	json_t *json; /* a mapping or list; the outer node owns it */
	char *key; /* in a mapping: the key of the next value */
};

struct reader {
	yaml_parser_t parser;
	yaml_event_t event;
	struct node nodes[DEPTH];
	int depth; /* number of open nodes */
	int n; /* number of nodes read so far */
	json_t *root; /* the whole document, owned by the reader */
	struct note_keys *keys; /* NULL: the caller does not need the keys' line
				   numbers */
	struct arena *arena;
	struct fault *fault;
	bool flow; /* the root is `{...}`, whose keys do not have lines of their own */
};

static int yaml_refuse(struct reader *r, const char *what)
{
	return fault_set(r->fault, FAULT_CONFLICT, "/path", "the frontmatter: %.150s",
			 what);
}

static int bad_yaml(struct reader *r)
{
	return fault_set(r->fault, FAULT_CONFLICT, "/path",
			 "the frontmatter, line %d: %.150s",
			 (int)r->parser.problem_mark.line + 2,
			 r->parser.problem ? r->parser.problem : "it is not YAML");
}

/* Puts `value` into the innermost open node. yaml_put() takes over the caller's reference to
 * `value`. */
static int yaml_put(struct reader *r, json_t *value)
{
	struct node *in = r->depth ? &r->nodes[r->depth - 1] : NULL;

	if (!value)
		return yaml_refuse(r, "a value is not a text");
	if (!in) {
		r->root = value;
		return 0;
	}
	if (json_is_array(in->json))
		return json_array_append_new(in->json, value);
	json_object_set_new(in->json, in->key, value);
	free(in->key);
	in->key = NULL;
	return 0;
}

static bool wants_key(const struct reader *r)
{
	const struct node *in = r->depth ? &r->nodes[r->depth - 1] : NULL;

	return in && json_is_object(in->json) && !in->key;
}

static void note_key(struct reader *r, const char *name)
{
	struct note_key *key;

	if (!r->keys || r->depth != 1)
		return;
	key = arena_push(r->arena, &r->keys->v, &r->keys->n, sizeof(*key));
	*key = (struct note_key){ arena_strdup(r->arena, name),
				  r->event.start_mark.line };
}

static int take_scalar(struct reader *r)
{
	const char *s = (const char *)r->event.data.scalar.value;
	json_t *probe;

	if (strlen(s) != r->event.data.scalar.length)
		return yaml_refuse(r, "a text holds U+0000");
	if (wants_key(r)) {
		probe = json_string(s);
		if (!probe)
			return yaml_refuse(r, "a key is not a text");
		json_decref(probe);
		r->nodes[r->depth - 1].key = strdup(s);
		note_key(r, s);
		return r->nodes[r->depth - 1].key ? 0 : yaml_refuse(r, "no memory");
	}
	return yaml_put(r,
			r->event.data.scalar.plain_implicit ? plain(s) : json_string(s));
}

static int yaml_enter(struct reader *r, json_t *node, bool flow)
{
	int rc;

	if (wants_key(r)) {
		json_decref(node);
		return yaml_refuse(r, "a key is not a text");
	}
	if (r->depth == DEPTH) {
		json_decref(node);
		return yaml_refuse(r, "it is nested too deep");
	}
	if (r->depth == 0)
		r->flow = flow;
	rc = yaml_put(r, node);
	if (rc == 0)
		r->nodes[r->depth++] = (struct node){ .json = node };
	return rc;
}

static int yaml_leave(struct reader *r)
{
	r->depth--;
	return 0;
}

static int yaml_take(struct reader *r)
{
	if (++r->n > NODES_MOST)
		return yaml_refuse(r, "it is too long");
	switch (r->event.type) {
	case YAML_SCALAR_EVENT:
		return take_scalar(r);
	case YAML_MAPPING_START_EVENT:
		return yaml_enter(r, json_object(),
				  r->event.data.mapping_start.style ==
					  YAML_FLOW_MAPPING_STYLE);
	case YAML_SEQUENCE_START_EVENT:
		return yaml_enter(r, json_array(), true);
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		return yaml_leave(r);
	case YAML_ALIAS_EVENT:
		return yaml_refuse(r, "anchors are not supported");
	case YAML_DOCUMENT_START_EVENT:
		return r->root ? yaml_refuse(r, "it has more than one document") : 0;
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		return 0;
	}
	return 0;
}

static int yaml_read_all(struct reader *r)
{
	bool over = false;
	int rc = 0;

	while (!over && rc == 0) {
		if (!lib.parse(&r->parser, &r->event))
			return bad_yaml(r);
		over = r->event.type == YAML_STREAM_END_EVENT;
		rc = yaml_take(r);
		lib.event_delete(&r->event);
	}
	return rc;
}

int yaml_read(const char *data, size_t len, json_t **out, struct note_keys *keys,
	      struct arena *a, struct fault *f)
{
	struct reader r = { .keys = keys, .arena = a, .fault = f };
	int rc;

	pthread_once(&lib_once, open_lib);
	if (!lib.handle || !lib.initialize(&r.parser)) {
		fault_set(f, FAULT_UNAVAILABLE, "", "libyaml is not installed");
		return fault_hint(f, "Install the package libyaml-0-2.");
	}
	lib.set_input_string(&r.parser, (const unsigned char *)data, len);
	rc = yaml_read_all(&r);
	lib.parser_delete(&r.parser);
	for (int i = 0; i < r.depth; i++)
		free(r.nodes[i].key);
	if (rc == 0 && (!r.root || json_is_null(r.root))) {
		json_decref(r.root);
		r.root = json_object();
	}
	if (rc == 0 && !json_is_object(r.root))
		rc = yaml_refuse(&r, "it is not a mapping");
	if (keys && r.flow)
		keys->n = 0;
	if (rc == 0)
		*out = r.root;
	else
		json_decref(r.root);
	return rc;
}
