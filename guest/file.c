/*
 * Files below the workspace.  A file is replaced as a whole: a temporary one
 * beside it, fsync, rename; so a reader sees the old or the new one, and a
 * written one survives a crash.  No symlink is followed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/wire/base64.h"
#include "guest/serve.h"

enum {
	FILE_MAX = 32 << 20,
	PIECE = FRAME_ROOM / 4 * 3, /* what fits a frame as base64 */
	MODES = 07777,
};

/* A file that is being replaced. */
struct target {
	struct guest *guest;
	const char *where; /* field that names it */
	const char *path, *name; /* clean path, and its last part */
	int folder, fd; /* fd: the temporary file */
	char temporary[32];
	struct stat old; /* st_mode 0: there is none */
};

/* What will stand there: some bytes of the old file, new ones, the rest. */
struct change {
	size_t keep; /* bytes of the old file in front */
	const void *data;
	size_t len;
	size_t drop; /* bytes of the old file that the new ones stand for */
	bool has_mode;
	int64_t mode;
};

/* --- reading --------------------------------------------------------------------- */

static int open_file(struct errand *q, const char *path, const char *where,
		     struct stat *st, struct fault *f)
{
	const char *clean;
	int fd;

	if (guest_path(q->guest, path, where, &q->arena, &clean, f))
		return f->code;
	/* A pipe must not hold up the guest. */
	fd = guest_path_open(q->guest->root, clean, O_RDONLY | O_NONBLOCK, where, f);
	if (fd < 0)
		return fd;
	if (fstat(fd, st) == 0 && S_ISREG(st->st_mode))
		return fd;
	close(fd);
	return fault_set(f, FAULT_INVALID, where, "%.150s is no file", clean);
}

static ssize_t read_range(int fd, char *to, size_t len, off_t at)
{
	size_t got = 0;

	while (got < len) {
		ssize_t n = pread(fd, to + got, len - got, at + (off_t)got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
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

static int check_range(const struct range *r, struct fault *f)
{
	if (r->offset < 0)
		return fault_set(f, FAULT_INVALID, "/offset", "below 0");
	if (r->limit < -1)
		return fault_set(f, FAULT_INVALID, "/limit", "below 0");
	return 0;
}

static int read_piece(struct errand *q, const struct range *r, struct piece *out,
		      struct fault *f)
{
	struct stat st;
	int64_t want;
	ssize_t got;
	char *raw, *text;
	int fd;

	if (check_range(r, f))
		return f->code;
	fd = open_file(q, r->path, r->where, &st, f);
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
	got = read_range(fd, raw, (size_t)want, r->offset);
	close(fd);
	if (got < 0)
		return guest_path_fault(errno, r->where, r->path, f);
	text = arena_alloc(&q->arena, base64_size((size_t)got) + 1);
	base64_encode(text, raw, (size_t)got);
	*out = (struct piece){ text, got, st.st_size, r->offset + got < st.st_size };
	return 0;
}

int answer_read(struct errand *q, struct fault *f)
{
	const struct wire_file_read *in = q->body;
	struct range r = { in->path, "/path", in->offset,
			   in->has_limit ? in->limit : -1 };
	struct piece p;

	if (read_piece(q, &r, &p, f))
		return f->code;
	errand_answer(q, "FileContent",
		      &(struct wire_file_content){ .content = p.base64,
						   .size = p.size,
						   .has_total = true,
						   .total = p.total,
						   .has_more = p.more,
						   .more = p.more });
	return 0;
}

int answer_download(struct errand *q, struct fault *f)
{
	const struct wire_file_download *in = q->body;
	struct range r = { in->guest_path, "/guest_path", in->offset,
			   in->has_limit ? in->limit : -1 };
	struct piece p;

	if (read_piece(q, &r, &p, f))
		return f->code;
	errand_answer(q, "FileData",
		      &(struct wire_file_data){ .data = p.base64,
						.size = p.size,
						.has_total = true,
						.total = p.total,
						.has_more = p.more,
						.more = p.more });
	return 0;
}

/* --- replacing ---------------------------------------------------------------------- */

static bool sync_folder(int folder)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool good = fd >= 0 && fsync(fd) == 0;

	if (fd >= 0)
		close(fd);
	return good;
}

static int make_folder(int above, const char *name)
{
	if (mkdirat(above, name, 0777))
		return errno == EEXIST ? 0 : -1;
	return sync_folder(above) ? 0 : -1;
}

/* Opens the folder of a path, making what is missing of it. */
static int open_folder(struct target *t, struct arena *a, struct fault *f)
{
	char *rest = arena_strdup(a, t->path), *slash;

	t->folder =
		guest_path_open(t->guest->root, ".", O_PATH | O_DIRECTORY, t->where, f);
	while (t->folder >= 0 && (slash = strchr(rest, '/'))) {
		int above = t->folder;

		*slash = '\0';
		if (make_folder(above, rest)) {
			close(above);
			t->folder = -1;
			return guest_path_fault(errno, t->where, t->path, f);
		}
		t->folder =
			guest_path_open(above, rest, O_PATH | O_DIRECTORY, t->where, f);
		close(above);
		rest = slash + 1;
	}
	t->name = rest;
	return t->folder < 0 ? f->code : 0;
}

static int look_at_old(struct target *t, struct fault *f)
{
	if (fstatat(t->folder, t->name, &t->old, AT_SYMLINK_NOFOLLOW)) {
		t->old.st_mode = 0;
		return errno == ENOENT ? 0
				       : guest_path_fault(errno, t->where, t->path, f);
	}
	if (S_ISLNK(t->old.st_mode))
		return guest_path_fault(ELOOP, t->where, t->path, f);
	if (!S_ISREG(t->old.st_mode))
		return fault_set(f, FAULT_INVALID, t->where, "%.150s is no file",
				 t->path);
	return 0;
}

static int open_target(struct errand *q, struct target *t, const char *path,
		       struct fault *f)
{
	int rc = guest_path(q->guest, path, t->where, &q->arena, &t->path, f);

	t->guest = q->guest;
	t->folder = t->fd = -1;
	if (!rc && strcmp(t->path, ".") == 0)
		rc = fault_set(f, FAULT_INVALID, t->where,
			       "the workspace itself is no file");
	if (!rc)
		rc = open_folder(t, &q->arena, f);
	return rc ? rc : look_at_old(t, f);
}

static bool write_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		data += n;
		len -= (size_t)n;
	}
	return true;
}

static bool copy(int from, int to, off_t at, size_t len)
{
	char buf[16 << 10];

	while (len > 0) {
		size_t want = len < sizeof(buf) ? len : sizeof(buf);
		ssize_t n = read_range(from, buf, want, at);

		if (n <= 0 || !write_all(to, buf, (size_t)n))
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

static bool write_change(struct target *t, const struct change *c)
{
	size_t size = t->old.st_mode ? (size_t)t->old.st_size : 0;
	size_t behind = c->keep + c->drop;
	bool good = true;
	int old = -1;

	if (c->keep || behind < size) {
		old = openat(t->folder, t->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		good = old >= 0;
	}
	good = good && copy(old, t->fd, 0, c->keep) &&
	       write_all(t->fd, c->data, c->len) &&
	       (behind >= size || copy(old, t->fd, (off_t)behind, size - behind));
	if (old >= 0)
		close(old);
	return good;
}

static bool make_temporary(struct target *t)
{
	unsigned char r[8];

	if (getrandom(r, sizeof(r), 0) != sizeof(r))
		return false;
	snprintf(t->temporary, sizeof(t->temporary),
		 ".cadre-%02x%02x%02x%02x%02x%02x%02x%02x", r[0], r[1], r[2], r[3], r[4],
		 r[5], r[6], r[7]);
	t->fd = openat(t->folder, t->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		       0600);
	return t->fd >= 0;
}

static int replace(struct target *t, const struct change *c, struct fault *f)
{
	mode_t mode = t->old.st_mode ? t->old.st_mode & MODES : 0644;
	bool good;
	int error;

	if (c->has_mode)
		mode = (mode_t)c->mode;
	good = make_temporary(t) && write_change(t, c) && fchmod(t->fd, mode) == 0 &&
	       fsync(t->fd) == 0 &&
	       renameat(t->folder, t->temporary, t->folder, t->name) == 0;
	error = errno;
	if (!good && t->fd >= 0)
		unlinkat(t->folder, t->temporary, 0);
	if (t->fd >= 0)
		close(t->fd);
	if (good && !sync_folder(t->folder)) {
		good = false;
		error = EIO;
	}
	return good ? 0 : guest_path_fault(error, t->where, t->path, f);
}

static void close_target(struct target *t)
{
	if (t->folder >= 0)
		close(t->folder);
}

static int check_change(const struct target *t, const struct change *c, struct fault *f)
{
	size_t size = t->old.st_mode ? (size_t)t->old.st_size : 0;
	size_t behind = c->keep + c->drop < size ? size - c->keep - c->drop : 0;

	if (c->has_mode && (c->mode < 0 || c->mode > MODES))
		return fault_set(f, FAULT_INVALID, "/mode", "no file mode");
	if (c->keep > size)
		return fault_set(f, FAULT_INVALID, "/offset",
				 "behind the end of the file, %zu bytes", size);
	if (c->keep + c->len + behind > FILE_MAX)
		return fault_set(f, FAULT_INVALID, t->where,
				 "file too large: %zu bytes (max 32 MiB)",
				 c->keep + c->len + behind);
	return 0;
}

/* --- FileWrite and FileUpload ----------------------------------------------------------- */

struct writing {
	const char *path, *where, *base64, *field;
	bool has_mode, has_offset;
	int64_t mode, offset;
};

static int write_file(struct errand *q, const struct writing *w, struct fault *f)
{
	struct target t = { .where = w->where };
	struct change c = { .has_mode = w->has_mode, .mode = w->mode };
	size_t n = strlen(w->base64);
	char *data = arena_alloc(&q->arena, n / 4 * 3 + 1);
	ssize_t len = base64_decode(data, w->base64, n);
	int rc;

	if (len < 0)
		return fault_set(f, FAULT_INVALID, w->field, "no base64");
	if (w->offset < 0 || w->offset > FILE_MAX)
		return fault_set(f, FAULT_INVALID, "/offset", "not from 0 to 32 MiB");
	c.data = data;
	c.len = (size_t)len;
	rc = open_target(q, &t, w->path, f);
	c.keep = w->has_offset ? (size_t)w->offset : 0;
	c.drop = w->has_offset ? c.len : SIZE_MAX / 2;
	if (!rc)
		rc = check_change(&t, &c, f);
	if (!rc)
		rc = replace(&t, &c, f);
	close_target(&t);
	if (!rc)
		errand_answer(q, "Ok", NULL);
	return rc;
}

int answer_write(struct errand *q, struct fault *f)
{
	const struct wire_file_write *in = q->body;
	struct writing w = {
		.path = in->path,
		.where = "/path",
		.base64 = in->content,
		.field = "/content",
		.has_mode = in->has_mode,
		.mode = in->mode,
		.has_offset = in->has_offset,
		.offset = in->offset,
	};

	return write_file(q, &w, f);
}

int answer_upload(struct errand *q, struct fault *f)
{
	const struct wire_file_upload *in = q->body;
	struct writing w = {
		.path = in->guest_path,
		.where = "/guest_path",
		.base64 = in->data,
		.field = "/data",
		.has_mode = in->has_mode,
		.mode = in->mode,
		.has_offset = in->has_offset,
		.offset = in->offset,
	};

	return write_file(q, &w, f);
}

/* --- EditFile -------------------------------------------------------------------------- */

static int find_place(struct errand *q, const struct wire_edit_file *in, struct change *c,
		      struct fault *f)
{
	size_t n = strlen(in->old_string);
	struct stat st;
	char *data, *at;
	ssize_t got;
	int fd = open_file(q, in->path, "/path", &st, f);

	if (fd < 0)
		return fd;
	if (st.st_size > FILE_MAX) {
		close(fd);
		return fault_set(f, FAULT_INVALID, "/path",
				 "file too large: %lld bytes (max 32 MiB)",
				 (long long)st.st_size);
	}
	data = arena_alloc(&q->arena, (size_t)st.st_size + 1);
	got = read_range(fd, data, (size_t)st.st_size, 0);
	close(fd);
	if (got < 0)
		return guest_path_fault(errno, "/path", in->path, f);
	at = memmem(data, (size_t)got, in->old_string, n);
	if (!at)
		return fault_set(f, FAULT_INVALID, "/old_string",
				 "old_string not found in %.150s", in->path);
	*c = (struct change){ .keep = (size_t)(at - data),
			      .drop = n,
			      .data = in->new_string,
			      .len = strlen(in->new_string) };
	return 0;
}

int answer_edit(struct errand *q, struct fault *f)
{
	const struct wire_edit_file *in = q->body;
	struct target t = { .where = "/path", .folder = -1 };
	struct change c;
	int rc;

	if (!*in->old_string)
		return fault_set(f, FAULT_INVALID, "/old_string", "empty");
	rc = find_place(q, in, &c, f);
	if (!rc)
		rc = open_target(q, &t, in->path, f);
	if (!rc)
		rc = check_change(&t, &c, f);
	if (!rc)
		rc = replace(&t, &c, f);
	close_target(&t);
	if (!rc)
		errand_answer(q, "Ok", NULL);
	return rc;
}
