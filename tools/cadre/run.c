/*
 * run - one operation from the words of a command line.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/cadre/cli.h"

enum { CONTENT_MAX = 4 << 20 };

json_t *run_op(struct cli *cli, const struct op *op, json_t *args, struct fault *f)
{
	struct text out = { 0 };
	json_t *answer = NULL;

	if (cli_client(cli, op->flags & OP_WRITE, f) == 0 &&
	    client_call(cli->client, op, args, &out, f) == 0) {
		answer = json_loadb(out.data, out.len, 0, NULL);
		if (!answer)
			fault_set(f, FAULT_INTERNAL, "", "%s gave no JSON", op->name);
	}
	text_release(&out);
	return answer;
}

/* --- words ---------------------------------------------------------------------- */

static const struct field *flag_named_wait(const struct op *op)
{
	for (size_t i = 0; i < op->in->n_fields; i++)
		if (op->in->fields[i].type->kind == KIND_BOOL &&
		    !strncmp(op->in->fields[i].name, "wait", 4))
			return &op->in->fields[i];
	return NULL;
}

/* --wait asks for the longest wait, or for the one that the operation does by
 * itself when told to; --take receives for good. */
static char *spell_out(const struct op *op, char *word, struct arena *a)
{
	const struct field *flag;

	if (!strcmp(word, "--wait") && op->wait) {
		flag = flag_named_wait(op);
		return flag ? arena_printf(a, "--%s", flag->name)
			    : arena_printf(a, "--%s=%lld", op->wait->name,
					   (long long)op->wait->type->max);
	}
	if (!strcmp(word, "--take") && (op->flags & OP_REQUEST) &&
	    field_find(op->in, "lease_seconds"))
		return arena_printf(a, "--lease_seconds=0");
	return word;
}

static json_t *read_words(struct cli *cli, const struct op *op, int argc, char **argv,
			  struct fault *f)
{
	struct arena arena = { 0 };
	const struct field *team = field_find(op->in, "team");
	json_t *args;

	for (int i = 0; i < argc && strcmp(argv[i], "--"); i++)
		argv[i] = spell_out(op, argv[i], &arena);
	if (team && !strcmp(team->name, "team") && cli->team) {
		/* Given as an option it may be the argument that a verb needs. */
		char **words = arena_alloc(&arena, (size_t)(argc + 2) * sizeof(*words));

		words[0] = arena_printf(&arena, "--team=%s", cli->team);
		memcpy(words + 1, argv, (size_t)argc * sizeof(*words));
		args = op_args(op, argc + 1, words, f);
	} else {
		args = op_args(op, argc, argv, f);
	}
	arena_release(&arena);
	return args;
}

/* --- texts from elsewhere ---------------------------------------------------------- */

static int read_all(int fd, struct text *out, const char *name, struct fault *f)
{
	char data[65536];
	ssize_t n;

	while ((n = read(fd, data, sizeof(data))) > 0 || (n < 0 && errno == EINTR)) {
		if (n > 0)
			text_add(out, data, (size_t)n);
		if (out->len > CONTENT_MAX)
			return fault_set(f, FAULT_INVALID, name, "more than 4 MiB");
	}
	return n < 0 ? fault_set(f, FAULT_IO, name, "cannot be read: %m") : 0;
}

/* What `-`, `@file` and `@@text` stand for; NULL with the fault filled when it
 * cannot be had, and the value itself when it is just a text. */
static json_t *fetch(const char *value, const char *where, struct fault *f)
{
	struct text out = { 0 };
	json_t *text = NULL;
	int fd = 0;

	if (value[0] == '@' && value[1] == '@')
		return json_string(value + 1);
	if (value[0] == '@')
		fd = open(value + 1, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && strchr(value, ' '))
		return json_string(value);
	if (fd < 0) {
		fault_set(f, FAULT_NOT_FOUND, where, "cannot open %.150s: %m", value + 1);
		fault_hint(f, "for a text that begins with @ write @@");
		return NULL;
	}
	if (read_all(fd, &out, where, f) == 0) {
		text = json_stringn(out.data ? out.data : "", out.len);
		if (!text)
			fault_set(f, FAULT_INVALID, where, "not a text in UTF-8");
	}
	if (fd)
		close(fd);
	text_release(&out);
	return text;
}

static int fetch_texts(const struct op *op, json_t *args, struct fault *f)
{
	for (size_t i = 0; i < op->in->n_fields; i++) {
		const struct field *field = &op->in->fields[i];
		const char *value = json_string_value(json_object_get(args, field->name));
		char where[64];
		json_t *text;

		if (strcmp(field->type->name, "content") || !value ||
		    (strcmp(value, "-") && value[0] != '@'))
			continue;
		snprintf(where, sizeof(where), "/%s", field->name);
		text = fetch(value, where, f);
		if (!text)
			return f->code;
		json_object_set_new(args, field->name, text);
	}
	return 0;
}

static void set_key(const struct cli *cli, const struct op *op, json_t *args)
{
	if (cli->key && (op->flags & OP_WRITE))
		json_object_set_new(
			args, op->flags & OP_REQUEST ? "request_id" : "idempotency_key",
			json_string(cli->key));
}

/* --- the whole ------------------------------------------------------------------------ */

/* A command that ran elsewhere looks as if it had run here. */
static int print_run(const json_t *answer)
{
	const char *out = json_string_value(json_object_get(answer, "stdout"));
	const char *err = json_string_value(json_object_get(answer, "stderr"));
	int code = (int)json_integer_value(json_object_get(answer, "exit_code"));

	fputs(out ? out : "", stdout);
	fflush(stdout);
	fputs(err ? err : "", stderr);
	return code < 0 || code > 255 ? 1 : code;
}

static int finish(const struct cli *cli, const struct op *op, const json_t *answer)
{
	if (cli->json)
		print_json(answer);
	else if (op->rate == RATE_EXEC && !strcmp(op->cli[0], "exec"))
		return print_run(answer);
	else
		print_answer(cli, op, answer);
	return 0;
}

int run_words(struct cli *cli, const struct op *op, int argc, char **argv)
{
	struct fault f = { 0 };
	json_t *args = read_words(cli, op, argc, argv, &f);
	json_t *answer = NULL;
	int status;

	if (args && fetch_texts(op, args, &f) == 0) {
		set_key(cli, op, args);
		answer = run_op(cli, op, args, &f);
	}
	status = answer ? finish(cli, op, answer) : cli_fault(cli, &f);
	json_decref(answer);
	json_decref(args);
	return status;
}
