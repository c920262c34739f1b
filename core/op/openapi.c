/* openapi - the routes of all operations as one document (OpenAPI 3.1.0). */
#include <string.h>

#include "core/base/version.h"
#include "core/op/op.h"

/* --- schemas ------------------------------------------------------------------------- */

/* Adds the records in a record to `schemas`, and those in them. */
static void add_records(const struct record *r, json_t *schemas)
{
	for (size_t i = 0; i < r->n_fields; i++) {
		const struct record *in = r->fields[i].type->kind == KIND_RECORD
						  ? r->fields[i].type->record
						  : NULL;

		if (!in || json_object_get(schemas, in->name))
			continue;
		json_object_set_new(schemas, in->name, op_schema_naming(in));
		add_records(in, schemas);
	}
}

static json_t *fault_schema(void)
{
	static const char text[] =
		"{\"type\":\"object\",\"required\":[\"error\"],\"properties\":{\"error\":{"
		"\"type\":\"object\",\"required\":[\"code\",\"where\",\"text\",\"hint\"],"
		"\"properties\":{"
		"\"code\":{\"type\":\"string\",\"description\":\"Kind of fault.\"},"
		"\"where\":{\"type\":\"string\","
		"\"description\":\"JSON pointer to the argument at fault, or empty.\"},"
		"\"text\":{\"type\":\"string\",\"description\":\"What was wrong.\"},"
		"\"hint\":{\"type\":\"string\",\"description\":\"What may help.\"},"
		"\"retry_after_ms\":{\"type\":\"integer\","
		"\"description\":\"When it may be tried again.\"}}}}}";
	json_t *s = json_loads(text, 0, NULL);
	json_t *codes = json_array();

#define X(id, name, exit, http, wire, doc, hint) \
	json_array_append_new(codes, json_string(name));
	FAULT_LIST(X)
#undef X
	json_object_set_new(
		json_object_get(
			json_object_get(json_object_get(json_object_get(s, "properties"),
							"error"),
					"properties"),
			"code"),
		"enum", codes);
	return s;
}

/* --- operations ------------------------------------------------------------------------- */

/* Whether a field is a step of the operation's path. */
static bool is_step(const struct op *op, const char *name)
{
	const size_t n = strlen(name);

	for (const char *at = op->http_path; (at = strchr(at, '{')); at++)
		if (strncmp(at + 1, name, n) == 0 && at[n + 1] == '}')
			return true;
	return false;
}

/* Whether its arguments come in a body: with POST, PUT and PATCH. */
static bool has_body(const struct op *op)
{
	return *op->http_method == 'P';
}

/* The arguments in the path, and without a body all others, as parameters. */
static json_t *parameters_of(const struct op *op)
{
	json_t *all = json_array();

	for (size_t i = 0; i < op->in->n_fields; i++) {
		const struct field *fd = &op->in->fields[i];
		const bool step = is_step(op, fd->name);
		const bool must = !(fd->flags & (FIELD_OPTIONAL | FIELD_DEFAULT));

		if (!step && has_body(op))
			continue;
		json_array_append_new(all, json_pack("{s:s, s:s, s:b, s:s, s:o}", "name",
						     fd->name, "in",
						     step ? "path" : "query", "required",
						     step || must, "description", fd->doc,
						     "schema", field_schema_naming(fd)));
	}
	return all;
}

static json_t *body_of(const struct op *op)
{
	json_t *s = op_schema_naming(op->in), *must = json_object_get(s, "required");
	json_t *props = json_object_get(s, "properties");

	for (size_t i = 0; i < op->in->n_fields; i++) {
		const char *name = op->in->fields[i].name;

		if (!is_step(op, name))
			continue;
		json_object_del(props, name);
		for (size_t k = json_array_size(must); k-- > 0;)
			if (!strcmp(json_string_value(json_array_get(must, k)), name))
				json_array_remove(must, k);
	}
	if (must && !json_array_size(must))
		json_object_del(s, "required");
	return json_pack("{s:b, s:{s:{s:o}}}", "required",
			 json_object_get(s, "required") != NULL, "content",
			 "application/json", "schema", s);
}

/* An answer has more than its record where a call was repeated. */
static json_t *answer_of(const struct op *op)
{
	json_t *s = op_schema_naming(op->out);

	json_object_del(s, "additionalProperties");
	if (op->flags & OP_WRITE)
		json_object_set_new(json_object_get(s, "properties"), "replayed",
				    json_pack("{s:s, s:s}", "type", "boolean",
					      "description",
					      "The call had been done under its key."));
	return json_pack("{s:s, s:{s:{s:o}}}", "description", "What came of it.",
			 "content", "application/json", "schema", s);
}

static json_t *operation(const struct op *op)
{
	const size_t noun = strcspn(op->name, ".");
	json_t *id = json_sprintf("%.*s_%s", (int)noun, op->name, op->name + noun + 1);
	json_t *o = json_pack("{s:o, s:s, s:[o], s:o, s:{s:o, s:{s:s}}}", "operationId",
			      id, "summary", op->summary, "tags",
			      json_stringn(op->name, noun), "parameters",
			      parameters_of(op), "responses", "200", answer_of(op),
			      "default", "$ref", "#/components/responses/fault");

	if (op->doc && *op->doc)
		json_object_set_new(o, "description", json_string(op->doc));
	if (has_body(op))
		json_object_set_new(o, "requestBody", body_of(op));
	return o;
}

static void add_path(json_t *paths, const struct op *op)
{
	json_t *path = json_object_get(paths, op->http_path);
	char method[8] = "";

	if (!path) {
		path = json_object();
		json_object_set_new(paths, op->http_path, path);
	}
	for (size_t i = 0; i + 1 < sizeof(method) && op->http_method[i]; i++)
		method[i] = (char)(op->http_method[i] | 0x20);
	json_object_set_new(path, method, operation(op));
}

json_t *openapi_document(void)
{
	json_t *paths = json_object(), *schemas = json_object();

	json_object_set_new(schemas, "fault", fault_schema());
	for (size_t i = 0; i < op_count; i++) {
		const struct op *op = &op_table[i];

		if (!op->http_path || op->who == WHO_HOST)
			continue;
		add_path(paths, op);
		add_records(op->in, schemas);
		add_records(op->out, schemas);
	}
	return json_pack("{s:s, s:{s:s, s:s, s:s, s:{s:s}}, s:[{s:s}], s:[{s:[]}], s:o,"
			 " s:{s:o, s:{s:{s:s, s:{s:{s:{s:s}}}}}, s:{s:{s:s, s:s}}}}",
			 "openapi", "3.1.0", "info", "title", "cadre", "version",
			 CADRE_VERSION, "description",
			 "Coordination for teams of AI coding agents.", "license", "name",
			 "MIT", "servers", "url", "/", "security", "token", "paths",
			 paths, "components", "schemas", schemas, "responses", "fault",
			 "description", "Why it was not done.", "content",
			 "application/json", "schema", "$ref",
			 "#/components/schemas/fault", "securitySchemes", "token", "type",
			 "http", "scheme", "bearer");
}
