#include "core/machine/trash.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/machine/copy.h"
#include "storage/durable.h"

struct trash_bounds trash_bounds_of(int64_t days, int64_t mib)
{
	return (struct trash_bounds){ .keep_ms = days * 24 * 3600 * 1000,
				      .bytes = mib << 20 };
}

/* --- sizes --------------------------------------------------------------------------- */

enum { DEPTH_MOST = 256 }; /* folders in one another that are counted */

/* Bytes on the disk of all that is in a folder, which is closed. */
static int64_t folder_bytes(int fd, int depth)
{
	DIR *dir = fdopendir(fd);
	int64_t sum = 0;
	struct dirent *e;
	struct stat st;

	if (!dir) {
		close(fd);
		return 0;
	}
	while ((e = readdir(dir))) {
		int inner;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		sum += (int64_t)st.st_blocks * 512;
		if (!S_ISDIR(st.st_mode) || depth >= DEPTH_MOST)
			continue;
		inner = openat(dirfd(dir), e->d_name,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (inner >= 0)
			sum += folder_bytes(inner, depth + 1);
	}
	closedir(dir);
	return sum;
}

/* Whether a folder holds anything. */
static bool holds_anything(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	bool any = false;

	while (dir && !any && (e = readdir(dir)))
		any = strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	if (dir)
		closedir(dir);
	return any;
}

/* --- entries ------------------------------------------------------------------------- */

/* Milliseconds of a name that begins with a stamp as clock_stamp() writes it; -1: it does
 * not. */
static int64_t stamp_read(const char *name)
{
	struct tm tm = { 0 };
	const char *end = strptime(name, "%Y%m%d-%H%M%S", &tm);

	return end && *end == '.' && end - name == CLOCK_STAMP - 1
		       ? (int64_t)timegm(&tm) * 1000
		       : -1;
}

static bool entry_read(const char *home, const char *file, struct arena *a,
		       struct trash_entry *out)
{
	int64_t at = stamp_read(file);
	char *end;

	if (at < 0)
		return false;
	out->removed_at = at;
	out->bytes = strtoll(file + CLOCK_STAMP, &end, 10);
	if (end == file + CLOCK_STAMP || *end != '.' || !end[1])
		return false;
	out->name = arena_strdup(a, end + 1);
	out->path = arena_printf(a, "%s/trash/%s", home, file);
	return true;
}

static int newest_first(const void *a, const void *b)
{
	return strcmp(((const struct trash_entry *)b)->path,
		      ((const struct trash_entry *)a)->path);
}

size_t trash_list(const char *home, struct arena *a, struct trash_entry **entries)
{
	DIR *dir = opendir(arena_printf(a, "%s/trash", home));
	struct trash_entry entry;
	struct dirent *e;
	size_t n = 0;

	*entries = NULL;
	while (dir && (e = readdir(dir)))
		if (entry_read(home, e->d_name, a, &entry))
			*(struct trash_entry *)arena_push(a, entries, &n, sizeof(entry)) =
				entry;
	if (dir)
		closedir(dir);
	if (n)
		qsort(*entries, n, sizeof(**entries), newest_first);
	return n;
}

/* --- in and out ------------------------------------------------------------------------ */

/* Moves the folder under a name that no entry has. */
static int move_in(const char *home, const char *path, const char *name, int64_t now_ms,
		   int64_t bytes, struct fault *f)
{
	struct arena a = { 0 };
	const char *trash = arena_printf(&a, "%s/trash", home), *to = NULL;
	char when[CLOCK_STAMP];
	int rc;

	rc = dir_make(trash, 0700);
	for (int i = 0; !rc && i < 100; i++) {
		clock_stamp(now_ms + 1000 * i, when);
		to = arena_printf(&a, "%s/%s.%" PRId64 ".%s", trash, when, bytes, name);
		rc = rename(path, to);
		if (!rc || (errno != EEXIST && errno != ENOTEMPTY))
			break;
		rc = 0;
	}
	if (rc || dir_sync_path(trash) || dir_sync_above(path))
		fault_set(f, FAULT_IO, "", "cannot move %.150s into the trash: %m", path);
	arena_release(&a);
	return f->code ? f->code : TRASH_TAKEN;
}

int trash_take(const char *home, const char *path, const char *name, int64_t now_ms,
	       const struct trash_bounds *bounds, struct fault *f)
{
	char own[4200];
	int64_t bytes;
	int fd;

	if (bounds->keep_ms <= 0)
		return TRASH_NOTHING;
	snprintf(own, sizeof(own), "%s/.cadre", path);
	if (tree_remove(own, f) < 0)
		return f->code;
	fd = holds_anything(path)
		     ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
		     : -1;
	if (fd < 0)
		return TRASH_NOTHING;
	bytes = folder_bytes(fd, 0);
	if (bytes > bounds->bytes)
		return TRASH_TOO_LARGE;
	return move_in(home, path, name, now_ms, bytes, f);
}

void trash_trim(const char *home, int64_t now_ms, const struct trash_bounds *bounds)
{
	struct arena a = { 0 };
	struct trash_entry *entries;
	size_t n = trash_list(home, &a, &entries);
	struct fault ignored = { 0 };
	int64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		sum += entries[i].bytes;
		if (sum > bounds->bytes ||
		    entries[i].removed_at + bounds->keep_ms <= now_ms)
			tree_remove(entries[i].path, &ignored);
	}
	arena_release(&a);
}
