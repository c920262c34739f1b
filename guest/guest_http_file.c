/*
 * Files of the workspace, as teammates fetch and leave them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "guest/guest_http_inside.h"
#include "guest/guest_target.h"

enum { FLUSH_STEP = 8 << 20 };

/* A file that is coming; it may outlive its exchange by a write to the disk. */
struct arrival {
	struct http_visit *visit; /* NULL: whoever sent it is gone */
	struct guest *guest;
	struct file_target target;
	struct arena arena;
	uv_fs_t sync;
	int64_t size, flushed;
};

/* --- paths --------------------------------------------------------------------------- */

static bool guest_http_file_is_utf8(const char *s)
{
	while (*s) {
		size_t n = (unsigned char)*s < 0x80 ? 1 : text_wide(s);

		if (n == 0)
			return false;
		s += n;
	}
	return true;
}

/* Resolves the part of the URL behind /files/ to a relative path without `.` and
 * `..`. */
static int guest_http_file_take_path(struct http_visit *v, const char **out,
				     struct fault *f)
{
	struct guest *g = v->front->guest;
	const char *raw = strchr(v->x->path + 1, '/') + 1;
	const char *path = http_unescape(&v->x->arena, raw, strlen(raw));

	if (!path || !guest_http_file_is_utf8(path))
		return fault_set(f, FAULT_INVALID, "/path",
				 "a broken escape, NUL, or no UTF-8");
	if (!*path || *path == '/')
		return fault_set(f, FAULT_INVALID, "/path",
				 "not a path below the workspace");
	for (const char *at = path; *at; at += strspn(at, "/")) {
		size_t n = strcspn(at, "/");

		if (n == 2 && memcmp(at, "..", 2) == 0)
			return fault_set(f, FAULT_INVALID, "/path",
					 "`..` leads nowhere here");
		at += n;
	}
	return guest_path(g, path, "/path", &v->x->arena, out, f);
}

/* --- GET -------------------------------------------------------------------------------- */

static size_t more(struct http *x, char *buf, size_t len)
{
	struct http_visit *v = x->owner;
	ssize_t n = file_read_range(v->fd, buf, len, v->at);

	if (n <= 0)
		return 0;
	v->at += n;
	return (size_t)n;
}

/* Reads a range: the bytes from `*from` to before `*to`, of `size`.  1: a range; 0: no valid
 * range, so all bytes; -1: the file has no such bytes. */
static int guest_http_file_read_range(const char *said, int64_t size, int64_t *from,
				      int64_t *to)
{
	char *end;
	long long first, last;

	*from = 0;
	*to = size;
	if (!said || strncasecmp(said, "bytes=", 6) != 0 || strchr(said, ','))
		return 0;
	said += 6;
	if (*said == '-') {
		last = strtoll(said + 1, &end, 10);
		if (end == said + 1 || *end || last < 0)
			return 0;
		*from = last < size ? size - last : 0;
		return last > 0 && size > 0 ? 1 : -1;
	}
	first = strtoll(said, &end, 10);
	if (end == said || *end != '-' || first < 0)
		return 0;
	said = end + 1;
	last = *said ? strtoll(said, &end, 10) : size - 1;
	if (*said && (*end || last < first))
		return 0;
	if (first >= size)
		return -1;
	*from = first;
	*to = last < size - 1 ? last + 1 : size;
	return 1;
}

static void no_range(struct http_visit *v, int64_t size)
{
	struct fault f = { 0 };

	http_add_header(v->x, "Content-Range",
			arena_printf(&v->x->arena, "bytes */%lld", (long long)size));
	fault_set(&f, FAULT_INVALID, "", "the file has %lld bytes", (long long)size);
	visit_fail(v, 416, &f);
}

static void send_file(struct http_visit *v, int64_t size)
{
	const char *asked = http_header(v->x, "if-range") ? NULL
							  : http_header(v->x, "range");
	int64_t from, to;
	int part = guest_http_file_read_range(asked, size, &from, &to);

	if (part < 0) {
		close(v->fd);
		v->fd = -1;
		no_range(v, size);
		return;
	}
	http_add_header(v->x, "Accept-Ranges", "bytes");
	if (part)
		http_add_header(v->x, "Content-Range",
				arena_printf(&v->x->arena, "bytes %lld-%lld/%lld",
					     (long long)from, (long long)to - 1,
					     (long long)size));
	v->at = from;
	http_stream(v->x, part ? 206 : 200, "application/octet-stream", to - from, more);
}

void file_get(struct http_visit *v)
{
	const char *path;
	struct fault f = { 0 };
	struct stat st;

	if (guest_http_file_take_path(v, &path, &f) == 0)
		v->fd = guest_file_open(v->front->guest->root, path, &st, "/path", &f);
	if (f.code)
		visit_fail(v, 0, &f);
	else
		send_file(v, st.st_size);
}

/* --- POST ---------------------------------------------------------------------------------- */

static void guest_http_file_drop(struct arrival *a)
{
	target_drop(&a->target);
	target_close(&a->target);
	arena_release(&a->arena);
	free(a);
}

static void guest_http_file_fail(struct arrival *a, int status, const struct fault *f)
{
	struct http_visit *v = a->visit;

	v->arrival = NULL;
	guest_http_file_drop(a);
	visit_fail(v, status, f);
}

static void guest_http_file_too_large(struct arrival *a)
{
	struct fault f = { 0 };

	fault_set(&f, FAULT_INVALID, "", "file too large: at most 1 GiB");
	guest_http_file_fail(a, 413, &f);
}

static void take_piece(struct http *x, const char *data, size_t len)
{
	struct http_visit *v = x->owner;
	struct arrival *a = v->arrival;
	struct fault f = { 0 };

	if (a->size + (int64_t)len > UPLOAD_MAX) {
		guest_http_file_too_large(a);
		return;
	}
	while (len > 0) {
		ssize_t n = write(a->target.fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			guest_path_fault(errno, "/path", a->target.path, &f);
			guest_http_file_fail(a, 0, &f);
			return;
		}
		data += n;
		len -= (size_t)n;
		a->size += n;
	}
	if (a->size - a->flushed < FLUSH_STEP)
		return;
	/* The disk is busy meanwhile: fsync() at the end then has little to do. */
	sync_file_range(a->target.fd, a->flushed, a->size - a->flushed,
			SYNC_FILE_RANGE_WRITE);
	a->flushed = a->size;
}

static void guest_http_file_put_in_place(struct arrival *a)
{
	struct http_visit *v = a->visit;
	bool new = a->target.old.st_mode == 0;
	struct fault f = { 0 };

	if (a->sync.result < 0)
		guest_path_fault((int)-a->sync.result, "/path", a->target.path, &f);
	else
		target_end(&a->target, false, 0, &f);
	if (f.code) {
		guest_http_file_fail(a, 0, &f);
		return;
	}
	v->arrival = NULL;
	visit_answer_json(v, new ? 201 : 200,
			  json_pack("{s:s, s:I}", "path", a->target.path, "size",
				    (json_int_t)a->size));
	guest_http_file_drop(a);
}

static void guest_http_file_on_synced(uv_fs_t *sync)
{
	struct arrival *a = sync->data;

	uv_fs_req_cleanup(sync);
	if (a->visit)
		guest_http_file_put_in_place(a);
	else
		guest_http_file_drop(a);
}

static void end_file(struct http *x)
{
	struct http_visit *v = x->owner;
	struct arrival *a = v->arrival;

	x->unhurried = true; /* the disk is */
	a->sync.data = a;
	if (uv_fs_fsync(&a->guest->loop, &a->sync, a->target.fd,
			guest_http_file_on_synced))
		guest_http_file_put_in_place(a);
}

static int check_post(struct http_visit *v, int *status, struct fault *f)
{
	if (v->x->has_length && v->x->length > UPLOAD_MAX) {
		*status = 413;
		return fault_set(f, FAULT_INVALID, "", "file too large: at most 1 GiB");
	}
	if (http_header(v->x, "content-range"))
		return fault_set(f, FAULT_INVALID, "", "a file comes as a whole");
	if (http_header(v->x, "content-encoding"))
		return fault_set(f, FAULT_INVALID, "", "a file comes as it is");
	return 0;
}

void file_post(struct http_visit *v)
{
	struct arrival *a;
	struct fault f = { 0 };
	const char *path;
	int status = 0;

	if (check_post(v, &status, &f) || guest_http_file_take_path(v, &path, &f)) {
		visit_fail(v, status, &f);
		return;
	}
	a = xcalloc(1, sizeof(*a));
	a->visit = v;
	a->guest = v->front->guest;
	a->target.where = "/path";
	v->arrival = a;
	if (target_open(a->guest, &a->arena, &a->target, path, &f) ||
	    target_begin(&a->target, &f))
		guest_http_file_fail(a, 0, &f);
	else
		http_read(v->x, take_piece, end_file);
}

/* --- the end ------------------------------------------------------------------------------- */

void file_gone(struct http_visit *v)
{
	struct arrival *a = v->arrival;

	if (v->fd >= 0)
		close(v->fd);
	v->fd = -1;
	v->arrival = NULL;
	if (!a)
		return;
	a->visit = NULL;
	if (!a->sync.data) /* else guest_http_file_on_synced() drops it */
		guest_http_file_drop(a);
}
