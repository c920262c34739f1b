/*
 * bytes - files of a workspace on the command line: raw here, base64 there.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/wire/base64.h"
#include "tools/cadre/cli.h"

enum { PART = 3 << 19 /* bytes of a file that is sent in parts */ };

json_t *bytes_wrap(const char *data, size_t len)
{
	char *text = xmalloc(base64_size(len) + 1);
	json_t *json;

	base64_encode(text, data, len);
	json = json_string(text);
	free(text);
	return json;
}

static int print_part(const struct op *op, const json_t *answer, int64_t *size)
{
	const json_t *content = json_object_get(answer, op->bytes_out->name);
	size_t len = json_string_length(content);
	char *data = xmalloc(len + 1);
	ssize_t n;

	n = base64_decode(data, len ? json_string_value(content) : "", len);
	if (n > 0)
		fwrite(data, 1, (size_t)n, stdout);
	*size = n;
	free(data);
	return n < 0;
}

int bytes_print(struct cli *cli, const struct op *op, json_t *args, const json_t *answer)
{
	bool all = !json_object_get(args, "length");
	int64_t at = json_integer_value(json_object_get(args, "offset")), size = 0;
	const json_t *part = answer;
	struct fault f = { 0 };
	json_t *own = NULL;
	int rc = 0;

	while (part && !(rc = print_part(op, part, &size))) {
		if (!all || size == 0 || !json_is_true(json_object_get(part, "more")))
			break;
		json_object_set_new(args, "offset", json_integer(at += size));
		json_decref(own);
		part = own = run_op(cli, op, args, &f);
	}
	json_decref(own);
	return f.code ? cli_fault(cli, &f) : rc;
}

/* --- large files ------------------------------------------------------------------ */

/* The parts of an upload, read from `fd`; the last answer. */
static json_t *send_parts(struct cli *cli, const struct op *op, json_t *args, int fd,
			  int64_t size, struct fault *f)
{
	char *data = xmalloc(PART), name[40];
	json_t *answer = NULL;

	snprintf(name, sizeof(name), "%llx", (unsigned long long)home_random());
	json_object_set_new(args, "upload", json_string(name));
	for (int64_t at = 0; at < size; at += PART) {
		ssize_t n = pread(fd, data, PART, at);

		if (n <= 0) {
			fault_set(f, FAULT_IO, "/content", "the file became shorter");
			break;
		}
		json_decref(answer);
		json_object_set_new(args, "offset", json_integer(at));
		json_object_set_new(args, op->bytes_in->name,
				    bytes_wrap(data, (size_t)n));
		if (at + n >= size)
			json_object_set_new(args, "size", json_integer(at + n));
		if (!(answer = run_op(cli, op, args, f)))
			break;
	}
	free(data);
	if (f->code) {
		json_decref(answer);
		return NULL;
	}
	return answer;
}

json_t *bytes_send(struct cli *cli, const struct op *op, json_t *args, struct fault *f)
{
	const char *path = NULL;
	json_t *answer = NULL;
	struct stat st;
	int fd;

	if (op->bytes_in && field_find(op->in, "upload"))
		path = json_string_value(json_object_get(args, op->bytes_in->name));
	if (!path || path[0] != '@' || path[1] == '@' ||
	    json_object_get(args, "upload") || json_object_get(args, "offset"))
		return NULL;
	fd = open(path + 1, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL; /* fetch_texts() says why */
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > PART)
		answer = send_parts(cli, op, args, fd, st.st_size, f);
	close(fd);
	return answer;
}
