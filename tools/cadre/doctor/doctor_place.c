/* doctor_place - the environment, and the folder of a state: its place, permissions, free space. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/home/home_config.h"
#include "core/machine/private.h"
#include "storage/store_restore.h"
#include "tools/cadre/doctor/doctor.h"

/* --- the environment ------------------------------------------------------------ */

static bool is_variable(const char *name, size_t len)
{
	static const char *const others[] = {
		"CADRE_ACCEL",   "CADRE_AGENT",      "CADRE_GUEST",      "CADRE_HOME",
		"CADRE_IMAGES",  "CADRE_LINK_TOKEN", "CADRE_MCP_CONFIG", "CADRE_PROGRAM",
		"CADRE_SESSION", "CADRE_SOCKET",     "CADRE_TEAM",       "CADRE_TEST_VFS",
		"CADRE_TOKEN",   "CADRE_TURN",       "CADRE_WORKSPACE",
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strlen(others[i]) == len && memcmp(others[i], name, len) == 0)
			return true;
	return config_is_variable(name, len);
}

/* A variable that is spelled wrong would else be passed over in silence. */
void check_environment(struct doctor *d)
{
	for (char **e = environ; *e; e++) {
		size_t len = strcspn(*e, "=");

		if (strncmp(*e, "CADRE_", 6) == 0 && !is_variable(*e, len))
			doctor_say(
				d, VERDICT_WARN, "environment",
				"unset it, or spell it as `cadre help` and `cadre config` do",
				"%.*s says nothing to cadre", (int)(len < 80 ? len : 80),
				*e);
	}
}

/* --- the folder ------------------------------------------------------------------ */

static const char *file_system(long type)
{
	static const struct {
		long type;
		const char *name;
	} known[] = {
		{ 0xef53, "ext4" },        { 0x58465342, "xfs" },
		{ 0x9123683e, "btrfs" },   { 0x01021994, "tmpfs" },
		{ 0x794c7630, "overlay" }, { 0x2fc12fc1, "zfs" },
		{ 0xf2f52010, "f2fs" },    { 0x6969, "nfs" },
		{ 0x01021997, "9p" },      { 0xff534d42, "cifs" },
		{ 0xfe534d42, "smb" },     { 0x517b, "smb" },
		{ 0x65735546, "fuse" },    { 0x6a656a63, "virtiofs" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].type == (type & 0xffffffff))
			return known[i].name;
	return NULL;
}

static bool is_remote(const char *name)
{
	static const char *const remote[] = { "nfs", "9p",   "cifs",
					      "smb", "fuse", "virtiofs" };

	for (size_t i = 0; name && i < sizeof(remote) / sizeof(remote[0]); i++)
		if (!strcmp(name, remote[i]))
			return true;
	return false;
}

void check_folder(struct doctor *d)
{
	const char *dir = d->cli->home.dir, *name;
	struct statfs fs;

	if (statfs(dir, &fs))
		return doctor_say(d, VERDICT_BAD, "folder", NULL, "%s: %s", dir,
				  strerror(errno));
	name = file_system((long)fs.f_type);
	if (is_remote(name))
		doctor_say(d, VERDICT_BAD, "file system",
			   "move it to a local disk: CADRE_HOME=DIR",
			   "%s is on %s, where locks and shared memory do not hold", dir,
			   name);
	else if (name)
		doctor_say(d, VERDICT_OK, "file system", NULL, "%s on %s", dir, name);
	else
		doctor_say(d, VERDICT_WARN, "file system", "see that it is a local disk",
			   "%s is on an unknown one (%lx)", dir, (long)fs.f_type);
}

/* --- who may look -------------------------------------------------------------------- */

/* Calls `each` for the state's folder, its files, and those in the folders that hold copies of
 * them, and for the state's own vault; others are closed by the state's own.  A vault elsewhere is
 * a person's. */
static void visit_private(struct doctor *d,
			  void (*each)(struct doctor *d, const char *path))
{
	static const char *const folders[] = { "", "/backups", "/log" };

	if (home_owns_vault(&d->cli->home))
		each(d, d->cli->home.vault);
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		char dir[4200], path[4500];
		struct dirent *e;
		DIR *all;

		snprintf(dir, sizeof(dir), "%s%s", d->cli->home.dir, folders[i]);
		each(d, dir);
		all = opendir(dir);
		while (all && (e = readdir(all))) {
			struct stat st;

			snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
			if (!lstat(path, &st) && S_ISREG(st.st_mode))
				each(d, path);
		}
		if (all)
			closedir(all);
	}
}

/* Whether others may read it: settings and what says to git that all is ignored may be
 * anybody's to read. */
static bool doctor_place_is_open(const char *path, struct stat *st)
{
	const char *name = strrchr(path, '/') + 1;

	return !lstat(path, st) && (st->st_mode & 077) && !S_ISLNK(st->st_mode) &&
	       strcmp(name, "cadre.toml") != 0 && strcmp(name, ".gitignore") != 0;
}

static void doctor_place_tell_open(struct doctor *d, const char *path)
{
	bool secret = !strcmp(strrchr(path, '/') + 1, "secret");
	struct stat st;

	if (doctor_place_is_open(path, &st))
		doctor_say(d, VERDICT_BAD, secret ? "secret" : "permissions",
			   S_ISDIR(st.st_mode) ? DOCTOR_FIX "chmod 700 it"
					       : DOCTOR_FIX "chmod 600 it",
			   "%s is open to others: %o", path, st.st_mode & 0777);
}

static void close_open(struct doctor *d, const char *path)
{
	struct stat st;
	mode_t was;

	if (!doctor_place_is_open(path, &st))
		return;
	was = st.st_mode & 0777;
	if (!S_ISDIR(st.st_mode))
		private_tree(path); /* unless it is another's, or has a name elsewhere */
	if (lstat(path, &st) || (S_ISREG(st.st_mode) && (st.st_mode & 077)) ||
	    chmod(path, S_ISDIR(st.st_mode) ? PRIVATE_FOLDER : PRIVATE_FILE))
		return;
	if (!lstat(path, &st) && (st.st_mode & 0777) != was)
		doctor_did(d, "%s had the mode %o, and has %o", path, was,
			   st.st_mode & 0777);
}

/* Finds a folder of the state or of its vault that its owner may not enter. */
static bool find_shut(struct doctor *d, char *path, size_t size)
{
	enum { DEEP = 64 };
	const struct home *home = &d->cli->home;

	return private_shut(home->dir, 1, path, size) ||
	       private_shut(home->vault, DEEP, path, size);
}

void check_permissions(struct doctor *d)
{
	char path[4200];
	struct stat st;

	if (find_shut(d, path, sizeof(path)))
		doctor_say(d, VERDICT_BAD, "folders",
			   DOCTOR_FIX "chmod 700 it, or start the host anew",
			   "its owner cannot look into %s", path);
	snprintf(path, sizeof(path), "%s/secret", d->cli->home.dir);
	if (lstat(path, &st))
		doctor_say(d, VERDICT_BAD, "secret",
			   "bring it back: a backup has it as FILE.secret", "%s: %s",
			   path, strerror(errno));
	visit_private(d, doctor_place_tell_open);
	if (d->worst == VERDICT_OK)
		doctor_say(d, VERDICT_OK, "secret", NULL, "readable by its owner alone");
}

int fix_permissions(struct doctor *d, struct fault *f)
{
	char path[4200], last[4200] = "";

	(void)f;
	while (find_shut(d, path, sizeof(path)) && strcmp(path, last) != 0) {
		private_enter_root(path);
		if (!private_shut(path, 0, last, sizeof(last)))
			doctor_did(d, "%s is open to its owner", path);
		snprintf(last, sizeof(last), "%s", path);
	}
	visit_private(d, close_open);
	return 0;
}

/* --- room and files ------------------------------------------------------------------ */

void check_space(struct doctor *d)
{
	struct statvfs fs;
	long long mib;

	if (statvfs(d->cli->home.dir, &fs))
		return;
	mib = (long long)fs.f_bavail * (long long)fs.f_frsize >> 20;
	if (mib < 16)
		doctor_say(d, VERDICT_BAD, "space",
			   "free some: writes are refused when it is full",
			   "%lld MiB left", mib);
	else if (mib < 256)
		doctor_say(d, VERDICT_WARN, "space", "free some, or run `cadre gc`",
			   "%lld MiB left", mib);
	else
		doctor_say(d, VERDICT_OK, "space", NULL, "%lld MiB left", mib);
}

/* Names the folders in which fixes have kept what they took away. */
static void doctor_place_tell_kept(struct doctor *d)
{
	DIR *dir = opendir(d->cli->home.dir);
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (!strncmp(e->d_name, "doctor-", 7))
			doctor_say(d, VERDICT_OK, "replaced",
				   "remove it when the state is as it should be",
				   "what a fix took away is kept in %s/%s",
				   d->cli->home.dir, e->d_name);
	if (dir)
		closedir(dir);
}

/* A restore that was killed leaves its copy of the backup. */
static bool doctor_place_is_staged(const struct doctor *d, char path[4200])
{
	snprintf(path, 4200, "%s/restore.tmp", d->cli->home.dir);
	return access(path, F_OK) == 0;
}

void check_restore(struct doctor *d)
{
	char path[4200];

	if (doctor_place_is_staged(d, path))
		doctor_say(d, VERDICT_WARN, "restore",
			   DOCTOR_FIX "remove it, unless a restore runs",
			   "a restore that did not end has left %s", path);
}

/* While the state is held, no restore runs. */
int fix_restore(struct doctor *d, struct fault *f)
{
	char path[4200];

	restore_unstage(d->cli->home.dir);
	if (doctor_place_is_staged(d, path))
		return fault_set(f, FAULT_IO, "", "cannot remove %.200s", path);
	doctor_did(d, "%s is removed; the state is as it was before that restore", path);
	return 0;
}

/* A host that serves files which are not here any more ends within a second; one
 * that stands still cannot. */
void check_ground(struct doctor *d)
{
	pid_t holder = home_holder(&d->cli->home);
	char path[4200], fd[64], to[4300];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/state.db (deleted)", d->cli->home.dir);
	snprintf(fd, sizeof(fd), "/proc/%d/fd", (int)holder);
	dir = holder ? opendir(fd) : NULL;
	while (dir && (e = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), e->d_name, to, sizeof(to) - 1);

		if (n <= 0 || (to[n] = '\0', strcmp(to, path)))
			continue;
		doctor_say(d, VERDICT_BAD, "moved", "end it: cadre down, then cadre up",
			   "process %d has a state.db open that was removed or replaced",
			   (int)holder);
		break;
	}
	if (dir)
		closedir(dir);
	snprintf(path, sizeof(path), "%s/replaced", d->cli->home.dir);
	if (access(path, F_OK) == 0)
		doctor_say(d, VERDICT_OK, "replaced",
			   "remove it when the state is as it should be",
			   "a former state is kept in %s", path);
	doctor_place_tell_kept(d);
}
