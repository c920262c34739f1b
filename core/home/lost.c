#include "core/home/lost.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/store.h"

/* Names of files and folders that only cadre puts into a state folder. */
static const char *const traces[] = {
	"secret",    "state.lock", "state.db-wal", "state.db-shm", "search.db",
	"host.lock", "workspaces", "guests",       "snapshots",    "disks",
	"backups",   "replaced",   "vault",        "log",          "restore.tmp",
};

static bool lost_is_there(int dir, const char *name, off_t least)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (least == 0 || st.st_size >= least);
}

static size_t list_traces(int dir, char *left, size_t room)
{
	size_t n = 0, len = 0;

	for (size_t i = 0; i < sizeof(traces) / sizeof(*traces); i++) {
		if (!lost_is_there(dir, traces[i], 0))
			continue;
		n++;
		if (left && len < room)
			len += (size_t)snprintf(left + len, room - len, "%s%s",
						len ? ", " : "", traces[i]);
	}
	return n;
}

/* An empty state.db is one that is being made, unless state.lock names a log beside it:
 * then it was cut off.  Another process may be making the state: its state.db comes
 * first, so it is looked for last. */
static bool lost_look_into(int dir, char *left, size_t room)
{
	size_t n = list_traces(dir, left, room);

	if (lost_is_there(dir, "state.db", 0))
		return lost_is_there(dir, "state.lock", 1) &&
		       !lost_is_there(dir, "state.db", 1);
	return n > 0;
}

bool lost_look(const char *path, char *left, size_t room)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool lost;

	if (left && room)
		left[0] = '\0';
	if (dir < 0)
		return false;
	lost = !lost_is_there(dir, "state.db", 1) && lost_look_into(dir, left, room);
	close(dir);
	return lost;
}

/* A new state gets its secret before its state.db is filled, so the secret is looked for
 * first. */
bool lost_secret(const char *dir)
{
	char path[4200];
	struct stat st;

	snprintf(path, sizeof(path), "%s/secret", dir);
	return lost_has_state(dir) && lstat(path, &st) && errno == ENOENT;
}

static int refuse_secret(const char *dir, struct fault *f)
{
	fault_set(f, FAULT_NOT_FOUND, "/home",
		  "%.150s/secret is gone: the tokens of all agents are made with it",
		  dir);
	return fault_hint(f, "put it back (a backup has it as FILE.secret), or: cadre "
			     "restore FILE; where it is lost for good: cadre restore "
			     "--any-secret, with the state.db that is here");
}

int lost_refuse(const char *dir, struct fault *f)
{
	char left[120], path[4200];
	struct stat st;

	if (lost_secret(dir))
		return refuse_secret(dir, f);
	lost_look(dir, left, sizeof(left));
	snprintf(path, sizeof(path), "%s/state.db", dir);
	fault_set(f, FAULT_NOT_FOUND, "/home", "state.db of %.100s is %s%s%.100s%s", dir,
		  lstat(path, &st) ? "gone" : "empty", *left ? "; " : "", left,
		  *left ? " are of the state that was there" : "");
	return fault_hint(f, "bring it back, or: cadre restore FILE; to begin anew on "
			     "purpose: cadre init --anew");
}

int lost_make_empty(const char *dir, struct fault *f)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/state.db", dir);
	if (access(path, F_OK) == 0)
		return 0;
	if (store_check_place(dir, f) < 0)
		return f->code;
	if (mknod(path, S_IFREG | 0600, 0) == 0 || errno == EEXIST)
		return 0;
	return fault_set(f, FAULT_UNAVAILABLE, "/home", "cannot make %.150s: %s", path,
			 strerror(errno));
}

bool lost_has_state(const char *dir)
{
	char path[4200];
	struct stat st;

	snprintf(path, sizeof(path), "%s/state.db", dir);
	return stat(path, &st) == 0 && st.st_size > 0;
}
