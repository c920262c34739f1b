/* openapi - describes the routes of all operations in one document (OpenAPI 3.1.0). */
#include <string.h>

#include "core/base/version.h"
#include "core/op/face.h"

/* --- schemas ------------------------------------------------------------------------- */

/* Adds to `schemas` all records inside a record, and all records inside those records. */
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
		"\"description\":\"Milliseconds to wait before you repeat the call.\"},"
		"\"available\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
		"\"description\":\"The first existing names, if the named thing does not "
		"exist.\"}}}}}";
	json_t *s = json_loads(text, 0, NULL);
	json_t *codes = json_array(), *code = NULL;

#define X(id, name, exit, http, wire, doc, hint) \
	json_array_append_new(codes, json_string(name));
	FAULT_LIST(X)
#undef X
	json_unpack(s, "{s:{s:{s:{s:o}}}}", "properties", "error", "properties", "code",
		    &code);
	json_object_set_new(code, "enum", codes);
	return s;
}

/* --- routes ----------------------------------------------------------------------------- */

/* A route of an operation, or of a face (core/op/face.h). */
struct route {
	const char *method, *path;
	const struct op *op;
	const struct record *in;
	json_t *id, *summary, *answer; /* operation() takes over these references */
};

/* Whether a field is a step of the route's path. */
static bool is_step(const struct route *r, const char *name)
{
	const size_t n = strlen(name);

	for (const char *at = r->path; (at = strchr(at, '{')); at++)
		if (strncmp(at + 1, name, n) == 0 && at[n + 1] == '}')
			return true;
	return false;
}

/* Whether the route's arguments are in a body, as for POST, PUT and PATCH. */
static bool openapi_has_body(const struct route *r)
{
	return *r->method == 'P';
}

/* Describes the arguments in the path. If the route has no body, also describes all other
 * arguments. */
static json_t *parameters_of(const struct route *r)
{
	json_t *all = json_array();

	for (size_t i = 0; i < r->in->n_fields; i++) {
		const struct field *fd = &r->in->fields[i];
		const bool step = is_step(r, fd->name);
		const bool must = !(fd->flags & (FIELD_OPTIONAL | FIELD_DEFAULT));

		if (!step && openapi_has_body(r))
			continue;
		json_array_append_new(all, json_pack("{s:s, s:s, s:b, s:s, s:o}", "name",
						     fd->name, "in",
						     step ? "path" : "query", "required",
						     step || must, "description", fd->doc,
						     "schema", field_schema_naming(fd)));
	}
	return all;
}

static json_t *body_of(const struct route *r)
{
	json_t *s = op_schema_naming(r->in), *must = json_object_get(s, "required");
	json_t *props = json_object_get(s, "properties");

	for (size_t i = 0; i < r->in->n_fields; i++) {
		const char *name = r->in->fields[i].name;

		if (!is_step(r, name))
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

/* Makes the schema of an answer. The answer to a repeated call has the field `replayed` besides
 * the fields of the record. */
static json_t *answer_of(const struct op *op)
{
	json_t *s = op_schema_naming(op->out);

	json_object_del(s, "additionalProperties");
	if (op->flags & OP_WRITE)
		json_object_set_new(
			json_object_get(s, "properties"), "replayed",
			json_pack("{s:s, s:s}", "type", "boolean", "description",
				  "An earlier call with this key gave this answer."));
	return s;
}

static json_t *operation(const struct route *r, const char *doc)
{
	const size_t noun = strcspn(r->op->name, ".");
	json_t *o = json_pack("{s:o, s:o, s:[o], s:o, s:{s:{s:s, s:{s:{s:o}}}, s:{s:s}}}",
			      "operationId", r->id, "summary", r->summary, "tags",
			      json_stringn(r->op->name, noun), "parameters",
			      parameters_of(r), "responses", "200", "description",
			      "The result.", "content", "application/json", "schema",
			      r->answer, "default", "$ref",
			      "#/components/responses/fault");

	if (doc && *doc)
		json_object_set_new(o, "description", json_string(doc));
	if (openapi_has_body(r))
		json_object_set_new(o, "requestBody", body_of(r));
	return o;
}

static void openapi_add_path(json_t *paths, const struct route *r, const char *doc)
{
	json_t *path = json_object_get(paths, r->path);
	char method[8] = "";

	if (!path) {
		path = json_object();
		json_object_set_new(paths, r->path, path);
	}
	for (size_t i = 0; i + 1 < sizeof(method) && r->method[i]; i++)
		method[i] = (char)(r->method[i] | 0x20);
	json_object_set_new(path, method, operation(r, doc));
}

static void add_op(json_t *paths, json_t *schemas, const struct op *op)
{
	const size_t noun = strcspn(op->name, ".");
	struct route r = {
		op->http_method,
		op->http_path,
		op,
		op->in,
		json_sprintf("%.*s_%s", (int)noun, op->name, op->name + noun + 1),
		json_string(op->summary),
		answer_of(op),
	};

	openapi_add_path(paths, &r, op->doc);
	add_records(op->in, schemas);
	add_records(op->out, schemas);
}

/* Adds the route of a face. The faults of a face have forms that `responses` does not describe.
 * The form of each fault has the member `code`. */
static void add_face(json_t *paths, const struct face *face)
{
	const size_t summary = strcspn(face->doc, "\n");
	struct route r = {
		face->http_method,
		face->http_path,
		face->op,
		face->in,
		json_sprintf("face_%s", face->name),
		json_stringn(face->doc, summary),
		face_schema(face),
	};

	openapi_add_path(paths, &r,
			 face->doc + summary + strspn(face->doc + summary, "\n"));
}

json_t *openapi_document(void)
{
	json_t *paths = json_object(), *schemas = json_object();

	json_object_set_new(schemas, "fault", fault_schema());
	for (size_t i = 0; i < op_count; i++) {
		const struct op *op = &op_table[i];

		if (op->http_path && op->who != WHO_HOST)
			add_op(paths, schemas, op);
	}
	for (size_t i = 0; i < face_count; i++)
		if (face_table[i].http_path)
			add_face(paths, &face_table[i]);
	return json_pack("{s:s, s:{s:s, s:s, s:s, s:{s:s}}, s:[{s:s}], s:[{s:[]}], s:o,"
			 " s:{s:o, s:{s:{s:s, s:{s:{s:{s:s}}}}}, s:{s:{s:s, s:s}}}}",
			 "openapi", "3.1.0", "info", "title", "cadre", "version",
			 CADRE_VERSION, "description",
			 "Coordination for teams of AI coding agents.", "license", "name",
			 "MIT", "servers", "url", "/", "security", "token", "paths",
			 paths, "components", "schemas", schemas, "responses", "fault",
			 "description", "The fault.", "content", "application/json",
			 "schema", "$ref", "#/components/schemas/fault",
			 "securitySchemes", "token", "type", "http", "scheme", "bearer");
}
