/*
 * Files below the workspace.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/wire/base64.h"
#include "guest/guest_serve.h"
#include "guest/guest_target.h"
#include "guest/upload.h"

/* --- reading --------------------------------------------------------------------- */

static int guest_file_open_below(struct guest_request *q, const char *path,
				 const char *where, struct stat *st, struct fault *f)
{
	const char *clean;

	if (guest_path(q->guest, path, where, &q->arena, &clean, f))
		return f->code;
	return guest_file_open(q->guest->root, clean, st, where, f);
}

struct range {
	const char *path, *where;
	int64_t offset, limit; /* limit -1: to the end */
};

struct piece {
	const char *base64;
	int64_t size, total;
	bool more;
};

static int guest_file_check_range(const struct range *r, struct fault *f)
{
	if (r->offset < 0)
		return fault_set(f, FAULT_INVALID, "/offset", "below 0");
	if (r->limit < -1)
		return fault_set(f, FAULT_INVALID, "/limit", "below 0");
	return 0;
}

static int read_piece(struct guest_request *q, const struct range *r, struct piece *out,
		      struct fault *f)
{
	struct stat st;
	int64_t want;
	ssize_t got;
	char *raw, *text;
	int fd;

	if (guest_file_check_range(r, f))
		return f->code;
	fd = guest_file_open_below(q, r->path, r->where, &st, f);
	if (fd < 0)
		return fd;
	want = st.st_size > r->offset ? st.st_size - r->offset : 0;
	if (r->limit >= 0 && r->limit < want)
		want = r->limit;
	if (want > PIECE && !q->peer->hello) {
		close(fd);
		return fault_set(f, FAULT_INVALID, r->where,
				 "file too large: %lld bytes (at most %d at "
				 "once: use offset and limit)",
				 (long long)want, PIECE);
	}
	want = want > PIECE ? PIECE : want;
	raw = arena_alloc(&q->arena, (size_t)want + 1);
	got = file_read_range(fd, raw, (size_t)want, r->offset);
	close(fd);
	if (got < 0)
		return guest_path_fault(errno, r->where, r->path, f);
	text = arena_alloc(&q->arena, base64_size((size_t)got) + 1);
	base64_encode(text, raw, (size_t)got);
	*out = (struct piece){ text, got, st.st_size, r->offset + got < st.st_size };
	return 0;
}

/* FileRead, and FileDownload as its older name. */
static int answer_range(struct guest_request *q, const struct range *r, struct fault *f)
{
	struct piece p = { 0 };
	struct wire_file_content new;
	struct wire_file_data old;

	if (read_piece(q, r, &p, f))
		return f->code;
	new = (struct wire_file_content){ .content = p.base64,
					  .size = p.size,
					  .has_total = true,
					  .total = p.total,
					  .has_more = p.more,
					  .more = p.more };
	old = (struct wire_file_data){ .data = p.base64,
				       .size = p.size,
				       .has_total = true,
				       .total = p.total,
				       .has_more = p.more,
				       .more = p.more };
	if (strcmp(q->packet.wire->name, "FileRead") == 0)
		guest_request_answer(q, "FileContent", &new);
	else
		guest_request_answer(q, "FileData", &old);
	return 0;
}

int answer_read(struct guest_request *q, struct fault *f)
{
	const struct wire_file_read *in = q->body;
	const struct range r = { in->path, "/path", in->offset,
				 in->has_limit ? in->limit : -1 };

	return answer_range(q, &r, f);
}

int answer_download(struct guest_request *q, struct fault *f)
{
	const struct wire_file_download *in = q->body;
	const struct range r = { in->guest_path, "/guest_path", in->offset,
				 in->has_limit ? in->limit : -1 };

	return answer_range(q, &r, f);
}

/* --- FileWrite and FileUpload ----------------------------------------------------------- */

struct writing {
	const char *path, *where, *base64, *field;
	bool has_mode, has_offset;
	int64_t mode, offset;
	struct upload_part part;
};

static int guest_file_write(struct guest_request *q, const struct writing *w,
			    struct fault *f)
{
	struct file_target t = { .where = w->where };
	struct file_change c = { .has_mode = w->has_mode, .mode = w->mode };
	size_t n = strlen(w->base64);
	char *data = arena_alloc(&q->arena, n / 4 * 3 + 1);
	ssize_t len = base64_decode(data, w->base64, n);
	int rc;

	if (len < 0)
		return fault_set(f, FAULT_INVALID, w->field, "no base64");
	if (w->part.id)
		return upload_take(q, &w->part, data, (size_t)len, f);
	if (w->offset < 0 || w->offset > FILE_MAX) {
		fault_set(f, FAULT_INVALID, "/offset", "not from 0 to 32 MiB");
		return fault_hint(f,
				  "A larger file is written in parts: name an upload.");
	}
	c.data = data;
	c.len = (size_t)len;
	rc = target_open(q->guest, &q->arena, &t, w->path, f);
	c.keep = w->has_offset ? (size_t)w->offset : 0;
	c.drop = w->has_offset ? c.len : SIZE_MAX / 2;
	if (!rc)
		rc = target_check(&t, &c, f);
	if (!rc)
		rc = target_replace(&t, &c, f);
	target_close(&t);
	if (!rc)
		guest_request_answer(q, "Ok", NULL);
	return rc;
}

static int write_fields(struct guest_request *q, const struct wire_file_write *in,
			const char *where, const char *field, struct fault *f)
{
	struct writing w = {
		.path = in->path,
		.where = where,
		.part = { .id = in->upload,
			  .path = in->path,
			  .where = where,
			  .offset = in->offset,
			  .has_size = in->has_size,
			  .size = in->size,
			  .has_mode = in->has_mode,
			  .mode = in->mode },
		.base64 = in->content,
		.field = field,
		.has_mode = in->has_mode,
		.mode = in->mode,
		.has_offset = in->has_offset,
		.offset = in->offset,
	};

	return guest_file_write(q, &w, f);
}

int answer_write(struct guest_request *q, struct fault *f)
{
	return write_fields(q, q->body, "/path", "/content", f);
}

int answer_upload(struct guest_request *q, struct fault *f)
{
	const struct wire_file_upload *in = q->body;
	struct wire_file_write m = { .path = in->guest_path, .content = in->data };

	record_copy(&record_wire_file_upload, in, &record_wire_file_write, &m);
	return write_fields(q, &m, "/guest_path", "/data", f);
}

/* --- EditFile -------------------------------------------------------------------------- */

static int guest_file_find_place(struct guest_request *q, const struct wire_edit_file *in,
				 struct file_change *c, struct fault *f)
{
	size_t n = strlen(in->old_string);
	struct stat st;
	char *data, *at;
	ssize_t got;
	int fd = guest_file_open_below(q, in->path, "/path", &st, f);

	if (fd < 0)
		return fd;
	if (st.st_size > FILE_MAX) {
		close(fd);
		return fault_set(f, FAULT_INVALID, "/path",
				 "file too large: %lld bytes (max 32 MiB)",
				 (long long)st.st_size);
	}
	data = arena_alloc(&q->arena, (size_t)st.st_size + 1);
	got = file_read_range(fd, data, (size_t)st.st_size, 0);
	close(fd);
	if (got < 0)
		return guest_path_fault(errno, "/path", in->path, f);
	at = memmem(data, (size_t)got, in->old_string, n);
	if (!at)
		return fault_set(f, FAULT_INVALID, "/old_string",
				 "old_string not found in %.150s", in->path);
	*c = (struct file_change){ .keep = (size_t)(at - data),
				   .drop = n,
				   .data = in->new_string,
				   .len = strlen(in->new_string) };
	return 0;
}

int answer_edit(struct guest_request *q, struct fault *f)
{
	const struct wire_edit_file *in = q->body;
	struct file_target t = { .where = "/path", .folder = -1 };
	struct file_change c;
	int rc;

	if (!*in->old_string)
		return fault_set(f, FAULT_INVALID, "/old_string", "empty");
	rc = guest_file_find_place(q, in, &c, f);
	if (!rc)
		rc = target_open(q->guest, &q->arena, &t, in->path, f);
	if (!rc)
		rc = target_check(&t, &c, f);
	if (!rc)
		rc = target_replace(&t, &c, f);
	target_close(&t);
	if (!rc)
		guest_request_answer(q, "Ok", NULL);
	return rc;
}
