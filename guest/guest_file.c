/*
 * Serves the messages that read, write or list files in the workspace.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/wire/base64.h"
#include "guest/guest_inside.h"
#include "guest/guest_serve.h"
#include "guest/guest_target.h"

int guest_path_fault(int error, const char *where, const char *path, struct fault *f)
{
	enum fault_code code = FAULT_IO;

	if (error == EXDEV || error == ELOOP)
		return fault_set(f, FAULT_DENIED, where,
				 "%.150s: a symlink, or outside the workspace", path);
	if (error == ENOENT)
		code = FAULT_NOT_FOUND;
	else if (error == EACCES || error == EPERM)
		code = FAULT_DENIED;
	else if (error == EISDIR || error == ENOTDIR || error == EINVAL ||
		 error == ENAMETOOLONG || error == ENXIO)
		code = FAULT_INVALID;
	else if (error == ENOSPC || error == EDQUOT || error == ENOMEM)
		code = FAULT_UNAVAILABLE;
	return fault_set(f, code, where, "%.150s: %s", path, strerror(error));
}

/* Returns the part of the absolute path `path` that follows `root`; NULL if the path is not
 * below `root`. */
static const char *path_below(const char *path, const char *root)
{
	size_t n = strlen(root);

	while (n > 1 && root[n - 1] == '/')
		n--;
	if (strncmp(path, root, n) != 0)
		return NULL;
	return path[n] == '/' || path[n] == '\0' ? path + n : NULL;
}

static int outside(const char *path, const char *where, struct fault *f)
{
	return fault_set(f, FAULT_DENIED, where, "%.150s is outside the workspace", path);
}

/* Whether a path leads into the guest's own folder. The path has no `.` and no `..`. The path
 * is absolute or starts at the root of the workspace. */
static bool path_is_state(const struct guest *g, const char *clean)
{
	const char *own = g->state;

	if (*clean == '/')
		return path_below(clean, own) != NULL;
	own = path_below(g->state, g->dir);
	if (!own)
		return false;
	own += strspn(own, "/");
	return !*own || path_below(clean, own) != NULL;
}

bool guest_state_inside(const struct guest *g)
{
	return path_below(g->state, g->dir) != NULL;
}

/* Makes sure that the workspace's folder exists. If another folder has replaced this folder,
 * for example a new clone of a repository, opens the other folder. */
static int find_folder(struct guest *g, struct fault *f)
{
	struct stat st;
	int fd;

	if (fstat(g->root, &st) == 0 && st.st_nlink > 0)
		return 0;
	fd = open(g->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		fault_set(f, FAULT_NOT_FOUND, "",
			  "the workspace's folder is gone: %.200s", g->dir);
		return fault_hint(
			f, "Put the folder back, or make another one in its place.");
	}
	close(g->root);
	g->root = fd;
	return 0;
}

/* Makes a clean path, as guest_path() does. If `anywhere` is true, an absolute path may lead
 * outside the workspace. */
static int clean_path(const struct guest *g, const char *path, const char *where,
		      bool anywhere, struct arena *a, const char **out, struct fault *f)
{
	const char *from = path;
	char *clean, *to, *begin;

	if (!*path)
		return fault_set(f, FAULT_INVALID, where, "the path is empty");
	if (*path == '/') {
		from = path_below(path, g->dir);
		if (!from)
			from = path_below(path, g->options->dir);
		if (!from && !anywhere)
			return outside(path, where, f);
	}
	begin = to = clean = arena_alloc(a, strlen(from ? from : path) + 2);
	if (!from) {
		from = path;
		*begin++ = '/';
		to = begin;
	}
	while (*(from += strspn(from, "/"))) {
		size_t n = strcspn(from, "/");

		if (n == 2 && memcmp(from, "..", 2) == 0) {
			if (to == begin)
				return outside(path, where, f);
			while (to > begin && *--to != '/')
				;
		} else if (n != 1 || *from != '.') {
			if (to != begin)
				*to++ = '/';
			to = mempcpy(to, from, n);
		}
		from += n;
	}
	*to = '\0';
	*out = to == clean ? "." : clean;
	if (!path_is_state(g, *out))
		return 0;
	return fault_set(f, FAULT_NOT_FOUND, where,
			 "%.150s belongs to the guest, not to the workspace", path);
}

int guest_path(struct guest *g, const char *path, const char *where, struct arena *a,
	       const char **out, struct fault *f)
{
	/* In a VM, the team may use paths outside the workspace. */
	return clean_path(g, path, where, g->options->vm, a, out, f) ? (int)f->code
								     : find_folder(g, f);
}

static int open_below(int root, const char *path, int flags, uint64_t resolve)
{
	int top = *path == '/' ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | resolve,
	};
	long fd;

	do {
		fd = syscall(SYS_openat2, top < 0 ? root : top,
			     top < 0   ? path
			     : path[1] ? path + 1
				       : ".",
			     &how, sizeof(how));
	} while (fd < 0 && (errno == EAGAIN || errno == EINTR));
	if (top >= 0) {
		int error = errno;

		close(top);
		errno = error;
	}
	return (int)fd;
}

int guest_path_open(int root, const char *path, int flags, const char *where,
		    struct fault *f)
{
	int fd = open_below(root, path, flags, RESOLVE_NO_SYMLINKS);

	return fd < 0 ? guest_path_fault(errno, where, path, f) : fd;
}

static int no_file(const char *where, const char *path, struct fault *f)
{
	return fault_set(f, FAULT_INVALID, where, "%.150s is not a file", path);
}

int guest_file_open(int root, const char *path, struct stat *st, const char *where,
		    struct fault *f)
{
	int look = guest_path_open(root, path, O_PATH, where, f), fd;
	bool is_file = look >= 0 && fstat(look, st) == 0 && S_ISREG(st->st_mode);

	if (look < 0)
		return look;
	close(look);
	if (!is_file)
		return no_file(where, path, f);
	/* A pipe may have replaced the file since the check. With O_NONBLOCK, open() of a pipe
	 * does not block the guest. */
	fd = guest_path_open(root, path, O_RDONLY | O_NONBLOCK, where, f);
	if (fd < 0 || (fstat(fd, st) == 0 && S_ISREG(st->st_mode)))
		return fd;
	close(fd);
	return no_file(where, path, f);
}

/* Returns the path that a workdir means. In a VM, /workspace is a real folder. Outside a VM, a
 * path below /workspace means a path below the workspace's directory. */
static const char *meant(const struct guest *g, const char *path)
{
	const char *rest = g->options->vm ? NULL : path_below(path, "/workspace");

	if (!rest || path_below(path, g->dir))
		return path;
	rest += strspn(rest, "/");
	return *rest ? rest : ".";
}

int guest_workdir(struct guest *g, const char *path, struct arena *a, struct fault *f)
{
	const bool vm = g->options->vm;
	const char *clean = ".";
	int fd;

	if (path && *path &&
	    clean_path(g, meant(g, path), "/workdir", vm || path_below(path, "/tmp"), a,
		       &clean, f))
		return f->code;
	if (!vm && *clean == '/' && !path_below(clean, "/tmp"))
		return outside(path, "/workdir", f);
	if (find_folder(g, f))
		return f->code;
	fd = open_below(g->root, clean, O_PATH | O_DIRECTORY, 0);
	return fd < 0 ? guest_path_fault(errno, "/workdir", clean, f) : fd;
}

enum { ENTRY_ROOM = 160 /* bytes of an entry in JSON without its name */ };

static const char *list_kind_of(mode_t mode)
{
	if (S_ISDIR(mode))
		return "dir";
	return S_ISLNK(mode) ? "symlink" : "file";
}

static const char *permissions_of(mode_t mode, struct arena *a)
{
	char *s = arena_strdup(a, "rwxrwxrwx");

	for (int i = 0; i < 9; i++)
		if (!(mode & (0400u >> i)))
			s[i] = '-';
	return s;
}

static int list_by_name(const void *a, const void *b)
{
	return strcmp(((const struct dir_entry *)a)->name,
		      ((const struct dir_entry *)b)->name);
}

static void read_entries(DIR *dir, const char *after, struct arena *a,
			 struct wire_dir_listing *out)
{
	struct dirent *e;
	struct stat st;

	while ((e = readdir(dir))) {
		struct dir_entry *to;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		    (after && strcmp(e->d_name, after) <= 0) ||
		    fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		to = arena_push(a, &out->entries, &out->n_entries, sizeof(*to));
		*to = (struct dir_entry){
			.name = arena_strdup(a, e->d_name),
			.kind = list_kind_of(st.st_mode),
			.size = st.st_size,
			.permissions = permissions_of(st.st_mode, a),
			.modified = st.st_mtime,
			.has_modified = true,
		};
	}
}

/* Shortens a listing to the entries that fit into a frame. */
static void list_fit(struct wire_dir_listing *out)
{
	size_t room = FRAME_ROOM, n = 0;

	for (; n < out->n_entries; n++) {
		const char *name = out->entries[n].name;
		size_t len = strlen(name);

		if (room < ENTRY_ROOM || text_json_fit(name, len, &room) < len)
			break;
		room -= room < ENTRY_ROOM ? room : ENTRY_ROOM;
	}
	out->more = out->has_more = n < out->n_entries;
	out->n_entries = n;
}

int answer_list(struct guest_request *q, struct fault *f)
{
	const struct wire_list_dir *in = q->body;
	struct wire_dir_listing out = { 0 };
	const char *clean;
	DIR *dir;
	int fd;

	if (guest_path(q->guest, in->path, "/path", &q->arena, &clean, f))
		return f->code;
	fd = guest_path_open(q->guest->root, clean, O_RDONLY | O_DIRECTORY, "/path", f);
	if (fd < 0)
		return fd;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return guest_path_fault(errno, "/path", clean, f);
	}
	read_entries(dir, in->after, &q->arena, &out);
	closedir(dir);
	if (out.n_entries)
		qsort(out.entries, out.n_entries, sizeof(*out.entries), list_by_name);
	list_fit(&out);
	guest_request_answer(q, "DirListing", &out);
	return 0;
}

enum { IDLE_MS = 60000, ID_MOST = 64 };

struct upload {
	struct upload *next, **place;
	char id[ID_MOST + 1];
	char *path; /* path of the target */
	struct file_target target;
	uint64_t used; /* loop time of the last part */
};

static void upload_drop(struct upload *u)
{
	struct guest *g = u->target.guest;

	*u->place = u->next;
	if (u->next)
		u->next->place = u->place;
	g->n_uploads--;
	target_drop(&u->target);
	target_close(&u->target);
	free(u->path);
	free(u);
}

static struct upload *upload_find(struct guest *g, const char *id)
{
	struct upload *u = g->uploads;

	while (u && strcmp(u->id, id) != 0)
		u = u->next;
	return u;
}

/* Copies the target's path into the upload. The target has borrowed the path from the message
 * with the upload's first part, and that message is freed earlier than the target. */
static void upload_keep(struct upload *u)
{
	const char *slash;

	u->path = xstrdup(u->target.path);
	slash = strrchr(u->path, '/');
	u->target.path = u->path;
	u->target.name = slash ? slash + 1 : u->path;
}

static int upload_begin(struct guest_request *q, const struct upload_part *part,
			struct upload **out, struct fault *f)
{
	struct guest *g = q->guest;
	struct upload *u;

	if (!*part->id || strlen(part->id) > ID_MOST)
		return fault_set(f, FAULT_INVALID, "/upload", "must have 1 to %d bytes",
				 ID_MOST);
	if (g->n_uploads >= UPLOADS)
		return fault_set(f, FAULT_EXHAUSTED, "/upload",
				 "%d uploads in parts are under way already", UPLOADS);
	u = xcalloc(1, sizeof(*u));
	u->target.where = strcmp(part->where, "/path") == 0 ? "/path" : "/guest_path";
	if (target_open(q->guest, &q->arena, &u->target, part->path, f) ||
	    target_begin(&u->target, f)) {
		target_close(&u->target);
		free(u);
		return f->code;
	}
	upload_keep(u);
	snprintf(u->id, sizeof(u->id), "%s", part->id);
	u->next = g->uploads;
	u->place = &g->uploads;
	if (u->next)
		u->next->place = &u->next;
	g->uploads = u;
	g->n_uploads++;
	*out = u;
	return 0;
}

static int upload_check(const struct upload_part *part, size_t len, struct fault *f)
{
	if (part->offset < 0 || part->offset > UPLOAD_MAX ||
	    part->offset + (int64_t)len > UPLOAD_MAX)
		return fault_set(f, FAULT_INVALID, "/offset",
				 "file too large: at most 1 GiB");
	if (part->has_mode && (part->mode < 0 || part->mode > MODES))
		return fault_set(f, FAULT_INVALID, "/mode", "not a file mode");
	return 0;
}

static int upload_write_part(struct upload *u, const char *data, size_t len, off_t at,
			     struct fault *f)
{
	const off_t begun = at;
	const size_t all = len;

	while (len > 0) {
		ssize_t n = pwrite(u->target.fd, data, len, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return guest_path_fault(errno, u->target.where, u->path, f);
		data += n;
		at += n;
		len -= (size_t)n;
	}
	/* The kernel begins to write these bytes to the disk now, so that fsync() at the end
	 * has little to write. */
	sync_file_range(u->target.fd, begun, (off_t)all, SYNC_FILE_RANGE_WRITE);
	return 0;
}

static int upload_end(struct upload *u, const struct upload_part *part, struct fault *f)
{
	struct stat st;
	int rc;

	if (fstat(u->target.fd, &st) || st.st_size != part->size)
		return fault_set(f, FAULT_INVALID, "/size",
				 "the parts make %lld bytes, not %lld",
				 (long long)st.st_size, (long long)part->size);
	rc = target_end(&u->target, part->has_mode, part->mode, f);
	upload_drop(u);
	return rc;
}

/* Writes one part of an uploaded file, and answers its request. Returns 0 or a fault. A fault
 * ends the upload and removes all parts received so far. */
static int upload_take(struct guest_request *q, const struct upload_part *part,
		       const char *data, size_t len, struct fault *f)
{
	struct upload *u = upload_find(q->guest, part->id);
	int rc = upload_check(part, len, f);

	if (!rc && !u)
		rc = upload_begin(q, part, &u, f);
	if (!rc)
		rc = upload_write_part(u, data, len, (off_t)part->offset, f);
	if (!rc && part->has_size)
		rc = upload_end(u, part, f);
	else if (u)
		u->used = uv_now(&q->guest->loop);
	if (rc && (u = upload_find(q->guest, part->id)))
		upload_drop(u);
	if (!rc)
		guest_request_answer(q, "Ok", NULL);
	return rc;
}

void file_uploads_tick(struct guest *g)
{
	struct upload *next;

	for (struct upload *u = g->uploads; u; u = next) {
		next = u->next;
		if (uv_now(&g->loop) - u->used > IDLE_MS)
			upload_drop(u);
	}
}

void file_uploads_free(struct guest *g)
{
	while (g->uploads)
		upload_drop(g->uploads);
}

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
	int64_t offset, limit; /* limit -1: up to the end of the file */
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

/* Answers FileRead. The older name of FileRead is FileDownload. */
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
		fault_set(f, FAULT_INVALID, "/offset", "must be from 0 to 32 MiB");
		return fault_hint(f, "Write a larger file in parts: name an upload.");
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
