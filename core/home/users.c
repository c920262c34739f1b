#include "core/home/users.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/home/found.h"
#include "core/home/paths.h"

int users_folder(char out[4096], struct fault *f)
{
	if (paths_user_state(out))
		return 0;
	fault_set(f, FAULT_NOT_FOUND, "/home",
		  "neither HOME nor XDG_STATE_HOME is set, and user %u has no home",
		  (unsigned)geteuid());
	return fault_hint(f, "set HOME, or name the state's folder: --home DIR");
}

int users_may_make(struct fault *f)
{
	const char *said = paths_env("XDG_STATE_HOME");
	char base[4096];
	struct stat st;

	if (said && said[0] == '/' ? !paths_join(base, said, "") : !paths_home(base))
		return users_folder(base, f);
	while (stat(base, &st))
		if (errno != ENOENT || !paths_up(base))
			return fault_set(f, FAULT_IO, "/home", "%.150s: %m", base);
	if (st.st_uid == geteuid() || !st.st_uid)
		return 0;
	fault_set(f, FAULT_DENIED, "/home",
		  "%.150s is another user's: nothing is made in it", base);
	return fault_hint(f, "set HOME or XDG_STATE_HOME to a folder of your own "
			     "(with sudo: without -E), or name the state: --home DIR");
}

int users_may_write(const char *path, struct fault *f)
{
	struct stat st;

	if (lstat(path, &st))
		return fault_set(f, FAULT_IO, "/home", "%.150s: %m", path);
	return users_check_owner(st.st_uid, path, f);
}

int users_check_owner(uid_t owner, const char *path, struct fault *f)
{
	if (owner == geteuid())
		return 0;
	fault_set(f, FAULT_DENIED, "/home", "%.150s belongs to another user", path);
	if (geteuid())
		return fault_hint(f, "use a state folder of your own: --home DIR");
	return fault_hint(f,
			  "be that user (sudo -u '#%u'), or use a state folder of your "
			  "own: --home DIR",
			  (unsigned)owner);
}
