/* Where a state may be. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "storage/inside.h"

/* File systems of other machines, or of user space, where a lock or an fsync
 * may mean nothing; virtiofs is a fuse. */
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
	if (faccessat(dir, "state.db", F_OK, 0) == 0)
		return 0;
	if (!make) {
		fault_set(f, FAULT_NOT_FOUND, "", "there is no state in %s", path);
		return fault_hint(f, "make one with `cadre init`");
	}
	return 0;
}
