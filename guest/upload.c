#include "guest/upload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "guest/guest_target.h"

enum { IDLE_MS = 60000, ID_MOST = 64 };

struct upload {
	struct upload *next, **place;
	char id[ID_MOST + 1];
	char *path; /* of the target */
	struct file_target target;
	uint64_t used; /* loop time */
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

/* A target borrows its path from the first part of the upload, so the path is copied
 * to outlive it. */
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
		return fault_set(f, FAULT_INVALID, "/upload", "not of 1 to %d bytes",
				 ID_MOST);
	if (g->n_uploads >= UPLOADS)
		return fault_set(f, FAULT_EXHAUSTED, "/upload",
				 "%d files come in parts already", UPLOADS);
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
		return fault_set(f, FAULT_INVALID, "/mode", "no file mode");
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
	/* The disk is busy meanwhile: fsync() at the end then has little to do. */
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

/* Takes a part of a file.  A fault ends the upload: the parts that are there are of no
 * use. */
int upload_take(struct guest_request *q, const struct upload_part *part, const char *data,
		size_t len, struct fault *f)
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

void uploads_tick(struct guest *g)
{
	struct upload *next;

	for (struct upload *u = g->uploads; u; u = next) {
		next = u->next;
		if (uv_now(&g->loop) - u->used > IDLE_MS)
			upload_drop(u);
	}
}

void uploads_free(struct guest *g)
{
	while (g->uploads)
		upload_drop(g->uploads);
}
