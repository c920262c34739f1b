/* place - checks whether a folder may hold a state. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "storage/store_inside.h"

/* Returns the name of the file system, if the file system belongs to another machine or runs in
 * user space. Otherwise returns NULL. On a file system that another machine or a program
 * serves, a lock or an fsync may have no effect. virtiofs is a kind of fuse. */
static const char *distrusted(int dir)
{
	static const struct {
		uint32_t magic;
		const char *name;
	} kinds[] = {
		{ 0x6969, "nfs" },      { 0x01021997, "9p" },
		{ 0x65735546, "fuse" }, { 0x517B, "smb" },
		{ 0xFE534D42, "smb" },  { 0xFF534D42, "smb (cifs)" },
		{ 0x5346414F, "afs" },  { 0x00C36400, "ceph" },
	};
	struct statfs fs;

	if (fstatfs(dir, &fs) < 0)
		return NULL;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (kinds[i].magic == (uint32_t)fs.f_type)
			return kinds[i].name;
	return NULL;
}

/* Checks that the folder can be written.  Even a reader must be able to write, for the
 * reader's lock and for SQLite's -wal and -shm.  Without -wal and -shm, SQLite reads only
 * files that are declared immutable.  A file that this process cannot write may still be
 * written by others through another mount. */
static int check_writable(int dir, const char *path, struct fault *f)
{
	if (faccessat(dir, ".", W_OK, AT_EACCESS) == 0)
		return 0;
	fault_set(f, FAULT_UNAVAILABLE, "",
		  "cannot write %.150s (%s): cadre needs this even to read", path,
		  strerror(errno));
	return fault_hint(f,
			  "make it writable, or copy it while no process uses "
			  "it, and read the copy: cp -a %.150s COPY; cadre --home "
			  "COPY status",
			  path);
}

int place_check(int dir, const char *path, bool make, struct fault *f)
{
	const char *kind = distrusted(dir);

	if (kind) {
		fault_set(f, FAULT_UNAVAILABLE, "",
			  "%s is on %s, where locks and "
			  "fsync cannot be relied on",
			  path, kind);
		return fault_hint(f, "set CADRE_HOME to a folder on a local disk");
	}
	if (!make && faccessat(dir, "state.db", F_OK, 0) != 0) {
		fault_set(f, FAULT_NOT_FOUND, "", "there is no state in %s", path);
		return fault_hint(f, "make a state with `cadre init`");
	}
	return check_writable(dir, path, f);
}

/* Makes the state file without opening the file, since only SQLite may open a state file.
 * SQLite gives -wal and -shm the mode of the state file. */
int place_make_state(struct store *s, int dir, struct fault *f)
{
	if (!(s->flags & STORE_CREATE) || faccessat(dir, "state.db", F_OK, 0) == 0)
		return 0;
	if (ground_vacant(s, f) < 0)
		return f->code;
	/* If the state's folder already holds a folder `workspaces`, the workspaces in it
	 * belong to another state. While the folder `replaced` exists, no host removes the
	 * folders of the other state's workspaces (store_restore.h). */
	if (faccessat(dir, "workspaces", F_OK, 0) == 0)
		mkdirat(dir, "replaced", 0700);
	if (mknodat(dir, "state.db", S_IFREG | 0600, 0) == 0 || errno == EEXIST)
		return 0;
	return fault_set(f, FAULT_UNAVAILABLE, "", "cannot make %s: %s", s->path,
			 strerror(errno));
}

int store_check_place(const char *path, struct fault *f)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;

	if (dir < 0)
		return fault_set(f, FAULT_IO, "/home", "%.150s: %s", path,
				 strerror(errno));
	rc = place_check(dir, path, true, f);
	close(dir);
	return rc;
}
