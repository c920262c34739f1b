#include "core/machine/trash.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/machine/machine_copy.h"
#include "core/machine/work.h"
#include "storage/durable.h"

/* --- entries ------------------------------------------------------------------------- */

/* Reads the time that clock_stamp() wrote at the beginning of an entry's name. Returns
 * milliseconds since 1970, or -1 if the name does not begin with a time. */
static int64_t stamp_read(const char *name)
{
	struct tm tm = { 0 };
	const char *end = strptime(name, "%Y%m%d-%H%M%S", &tm);

	return end && *end == '.' && end - name == CLOCK_STAMP - 1
		       ? (int64_t)timegm(&tm) * 1000
		       : -1;
}

/* The name of a VM's entry ends with VM_END. A workspace's own name never ends with `.vm`,
 * since the last four characters of a workspace's name are hexadecimal digits. */
#define VM_END ".vm"
enum { VM_END_LEN = sizeof(VM_END) - 1 };

static bool entry_read(const char *home, const char *file, struct arena *a,
		       struct trash_entry *out)
{
	int64_t at = stamp_read(file);
	size_t len;
	char *end;

	if (at < 0)
		return false;
	out->removed_at = at;
	out->bytes = strtoll(file + CLOCK_STAMP, &end, 10);
	if (end == file + CLOCK_STAMP || *end != '.' || !end[1])
		return false;
	len = strlen(end + 1);
	out->kind = TRASH_FOLDER;
	if (len > VM_END_LEN && !strcmp(end + 1 + len - VM_END_LEN, VM_END)) {
		out->kind = TRASH_VM;
		len -= VM_END_LEN;
	}
	out->name = arena_strndup(a, end + 1, len);
	out->path = arena_printf(a, "%s/trash/%s", home, file);
	return true;
}

static int trash_newest_first(const void *a, const void *b)
{
	const struct trash_entry *x = a, *y = b;

	if (x->removed_at != y->removed_at)
		return x->removed_at < y->removed_at ? 1 : -1;
	return (x->moved_ns < y->moved_ns) - (x->moved_ns > y->moved_ns);
}

/* Whether `st` is the status of a folder that belongs to `owner`. `st` must be filled by a call
 * that does not follow links. */
static bool is_folder_of(const struct stat *st, uid_t owner)
{
	return S_ISDIR(st->st_mode) && st->st_uid == owner;
}

/* Opens the trash. Returns a descriptor and sets the state's owner, or returns -1 with errno.
 * Fails if the trash is a link or no folder, or if the trash does not belong to the state's
 * owner. */
static int open_trash(const char *home, struct arena *a, uid_t *owner)
{
	int fd = open(arena_printf(a, "%s/trash", home),
		      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st, own;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && stat(home, &own) == 0 &&
	    is_folder_of(&st, own.st_uid)) {
		*owner = own.st_uid;
		return fd;
	}
	close(fd);
	errno = EPERM;
	return -1;
}

/* Reads the entry `file` of the open trash. Returns false if the file is not an entry. */
static bool entry_look(int trash, const char *home, const char *file, uid_t owner,
		       struct arena *a, struct trash_entry *out)
{
	struct stat st;

	if (!entry_read(home, file, a, out) ||
	    fstatat(trash, file, &st, AT_SYMLINK_NOFOLLOW) || !is_folder_of(&st, owner))
		return false;
	out->moved_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
	return true;
}

/* The beginning of an entry's name while the entry is being removed. The entry is renamed
 * before its first file is removed. So if a removal is interrupted, nobody can restore the
 * incomplete entry. */
#define REMOVING ".removing-"

/* Lists the entries. If `removing` is not NULL, also lists the paths of entries whose removal
 * was interrupted. */
static size_t trash_read(const char *home, struct arena *a, struct trash_entry **entries,
			 const char ***removing, size_t *n_removing)
{
	uid_t owner;
	int fd = open_trash(home, a, &owner);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct trash_entry entry;
	struct dirent *e;
	size_t n = 0;

	*entries = NULL;
	while (dir && (e = readdir(dir)))
		if (entry_look(fd, home, e->d_name, owner, a, &entry))
			arena_add(a, *entries, n, entry);
		else if (removing && !strncmp(e->d_name, REMOVING, strlen(REMOVING)))
			arena_add(a, *removing, *n_removing,
				  arena_printf(a, "%s/trash/%s", home, e->d_name));
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	if (n)
		qsort(*entries, n, sizeof(**entries), trash_newest_first);
	return n;
}

size_t trash_list(const char *home, struct arena *a, struct trash_entry **entries)
{
	return trash_read(home, a, entries, NULL, NULL);
}

/* --- moving folders into the trash ----------------------------------------------------- */

int trash_put(const char *home, const char *path, const struct trash_entry *as,
	      struct fault *f)
{
	struct arena a = { 0 };
	char when[CLOCK_STAMP];
	uid_t owner;
	int rc = dir_make(arena_printf(&a, "%s/trash", home), 0700);
	int fd = rc ? -1 : open_trash(home, &a, &owner);

	for (int i = 0; fd >= 0 && i < 100; i++) {
		clock_stamp(as->removed_at + 1000 * i, when);
		rc = renameat(AT_FDCWD, path, fd,
			      arena_printf(&a, "%s.%" PRId64 ".%s%s", when, as->bytes,
					   as->name, as->kind == TRASH_VM ? VM_END : ""));
		if (!rc || (errno != EEXIST && errno != ENOTEMPTY))
			break;
	}
	if (fd < 0 || rc || fsync(fd) || dir_sync_above(path))
		fault_set(f, FAULT_IO, "", "cannot move %.150s into the trash: %m", path);
	if (fd >= 0)
		close(fd);
	arena_release(&a);
	return f->code ? f->code : TRASH_TAKEN;
}

int trash_take(const char *home, const char *path, const char *name, int64_t now_ms,
	       const struct trash_bounds *bounds, struct fault *f)
{
	int64_t bytes;
	char own[4200];
	struct stat st;

	if (bounds->keep_ms <= 0)
		return TRASH_NOTHING;
	/* An agent may have removed the owner's rights to the folder. The rights are needed to
	 * move and read the folder. */
	if (!lstat(path, &st) && is_folder_of(&st, geteuid()) && (~st.st_mode & 0700))
		(void)!fchmodat(AT_FDCWD, path, (st.st_mode & 07777) | 0700,
				AT_SYMLINK_NOFOLLOW);
	snprintf(own, sizeof(own), "%s/.cadre", path);
	if (tree_remove(own, f) < 0)
		return f->code;
	if (rmdir(path) == 0 || errno == ENOENT)
		return TRASH_NOTHING;
	bytes = work_look(path, NULL, 0, NULL, NULL, NULL);
	if (bytes > bounds->bytes)
		return TRASH_TOO_LARGE;
	return trash_put(home, path,
			 &(struct trash_entry){
				 .name = name, .removed_at = now_ms, .bytes = bytes },
			 f);
}

size_t trash_called(const char *folder)
{
	size_t len = strcspn(folder, ".");
	const char *end = folder + len;

	while (!strncmp(end, ".gone", 5))
		end += 5;
	return *end ? 0 : len;
}

int trash_take_snapshots(const char *home, const char *folder, const char *workspace,
			 int64_t now_ms, const struct trash_bounds *bounds,
			 struct fault *f)
{
	enum { BEFORE_MS = 1000 };
	struct arena a = { 0 };
	DIR *dir = opendir(folder);
	struct dirent *e;
	int rc = 0;

	if (!dir && errno != ENOENT)
		rc = fault_set(f, FAULT_IO, "", "cannot read the snapshots of %s: %m",
			       workspace);
	while (rc >= 0 && dir && (e = readdir(dir))) {
		size_t n = strlen(e->d_name);

		if (!strchr(e->d_name, '.') && n > TRASH_ID_SHOWN)
			rc = trash_take(
				home, arena_printf(&a, "%s/%s", folder, e->d_name),
				arena_printf(&a, "%s" TRASH_SNAPSHOT "%s", workspace,
					     e->d_name + n - TRASH_ID_SHOWN),
				now_ms - BEFORE_MS, bounds, f);
	}
	if (dir)
		closedir(dir);
	arena_release(&a);
	return rc < 0 ? rc : 0;
}

/* Opens an entry's folder and locks the folder without waiting. `lock` is LOCK_EX to remove the
 * entry, or LOCK_SH to protect the entry from removal. Returns a descriptor, or -1 with errno. */
static int open_locked(const char *path, int lock)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && flock(fd, lock | LOCK_NB)) {
		int why = errno;

		close(fd);
		errno = why;
		return -1;
	}
	return fd;
}

/* Whether `path` still names the open folder `fd`. The folder may have been moved or removed
 * before it was locked. */
static bool leads_to(const char *path, int fd)
{
	struct stat at, open;

	return lstat(path, &at) == 0 && fstat(fd, &open) == 0 &&
	       at.st_ino == open.st_ino && at.st_dev == open.st_dev;
}

bool trash_is_entry(const char *home, const char *path)
{
	struct arena a = { 0 };
	struct trash_entry entry;
	const char *slash = strrchr(path, '/');
	struct stat st;
	bool is = slash && entry_read(home, slash + 1, &a, &entry) &&
		  !strcmp(entry.path, path) && !lstat(path, &st) && S_ISDIR(st.st_mode);

	arena_release(&a);
	return is;
}

int trash_hold(const char *home, const char *path)
{
	int fd = trash_is_entry(home, path) ? open_locked(path, LOCK_SH)
					    : (errno = ENOENT, -1);

	if (fd >= 0 && !leads_to(path, fd)) {
		close(fd);
		errno = ENOENT;
		return -1;
	}
	return fd;
}

/* --- removing entries ------------------------------------------------------------------- */

/* Removes a folder of the trash, unless a process has locked the folder. First renames the
 * folder to `to`; if `to` is NULL, the folder is already renamed. Returns false if a process
 * has locked the folder, or if the folder cannot be renamed. */
static bool trash_remove(const char *path, const char *to)
{
	int fd = open_locked(path, LOCK_EX);
	bool removed = fd >= 0 || errno != EWOULDBLOCK;
	struct fault ignored = { 0 };

	if (removed && to)
		removed = rename(path, to) == 0 && dir_sync_above(to) == 0;
	if (removed)
		tree_remove(to ? to : path, &ignored);
	if (fd >= 0)
		close(fd);
	return removed;
}

bool trash_trim(const char *home, int64_t now_ms, const struct trash_bounds *bounds)
{
	struct arena a = { 0 };
	struct trash_entry *entries;
	const char **rest = NULL;
	size_t n_rest = 0, n = trash_read(home, &a, &entries, &rest, &n_rest);
	bool disks = false;
	int64_t sum = 0;

	while (n_rest)
		trash_remove(rest[--n_rest], NULL);
	for (size_t i = 0; i < n; i++) {
		sum += entries[i].bytes;
		if (sum <= bounds->bytes &&
		    entries[i].removed_at + bounds->keep_ms > now_ms)
			continue;
		disks |= trash_remove(entries[i].path,
				      arena_printf(&a, "%s/trash/" REMOVING "%s", home,
						   strrchr(entries[i].path, '/') + 1)) &&
			 entries[i].kind == TRASH_VM;
	}
	arena_release(&a);
	return disks;
}

int trash_lost(const char *home, const char *name, const char *what, struct fault *f)
{
	struct arena a = { 0 };
	struct trash_entry *entries;
	size_t n = trash_list(home, &a, &entries), i = 0;

	while (i < n && strcmp(entries[i].name, name) != 0)
		i++;
	fault_set(f, FAULT_NOT_FOUND, "", "its %s is gone%s%.80s", what,
		  i < n ? "; the trash holds the former files: cadre undo "
			: ": the workspace goes on when that is put back",
		  i < n ? name : "");
	arena_release(&a);
	return f->code;
}
