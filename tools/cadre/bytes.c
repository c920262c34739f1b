/*
 * bytes - files of a workspace on the command line: raw here, base64 there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/base64.h"
#include "tools/cadre/cli.h"

bool bytes_are_sent(const struct op *op)
{
	return !strcmp(op->name, "workspace.file_write");
}

bool bytes_are_given(const struct op *op)
{
	return !strcmp(op->name, "workspace.file_read");
}

json_t *bytes_wrap(const char *data, size_t len)
{
	char *text = malloc(base64_size(len) + 1);
	json_t *json;

	if (!text)
		abort();
	base64_encode(text, data, len);
	json = json_string(text);
	free(text);
	return json;
}

int bytes_print(const json_t *answer)
{
	const json_t *content = json_object_get(answer, "content");
	size_t len = json_string_length(content);
	char *data = malloc(len + 1);
	ssize_t n;

	if (!data)
		abort();
	n = base64_decode(data, len ? json_string_value(content) : "", len);
	if (n > 0)
		fwrite(data, 1, (size_t)n, stdout);
	free(data);
	return n < 0;
}
