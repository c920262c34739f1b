#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/guest_inside.h"

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

/* Returns the part of an absolute path behind `root`; NULL if the path is not below
 * `root`. */
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

/* Whether a path without `.` and `..`, from the root of the workspace or absolute,
 * leads into the guest's own folder. */
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

/* Makes sure that the workspace's folder is there.  Takes another folder in its place,
 * such as that of a repository cloned anew. */
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

/* guest_path(), where an absolute path may be `anywhere`. */
static int clean_path(const struct guest *g, const char *path, const char *where,
		      bool anywhere, struct arena *a, const char **out, struct fault *f)
{
	const char *from = path;
	char *clean, *to, *begin;

	if (!*path)
		return fault_set(f, FAULT_INVALID, where, "an empty path");
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
			 "%.150s is the guest's own, and no file of the workspace", path);
}

int guest_path(struct guest *g, const char *path, const char *where, struct arena *a,
	       const char **out, struct fault *f)
{
	/* All of a VM is the team's. */
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
	return fault_set(f, FAULT_INVALID, where, "%.150s is no file", path);
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
	/* The file may have been replaced by now: a pipe must not hold up the guest. */
	fd = guest_path_open(root, path, O_RDONLY | O_NONBLOCK, where, f);
	if (fd < 0 || (fstat(fd, st) == 0 && S_ISREG(st->st_mode)))
		return fd;
	close(fd);
	return no_file(where, path, f);
}

/* The path that a workdir means: in a directory of this machine /workspace is the directory, as
 * it is in a VM. */
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
