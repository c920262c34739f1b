/*
 * hook_session - the folder in which a client's session began.
 *
 * A client may go elsewhere while its model works, and stays who it was.  A link tells the
 * folder.  It is in the user's own state folder, which stays when the user logs out, as the
 * session may; a session that begins removes those that none has looked at for long.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/home/paths.h"
#include "core/home/users.h"
#include "storage/durable.h"
#include "tools/cadre/hook/hook.h"

enum { DAY = 86400, KEPT_DAYS = 30 };

/* Whether the client says by which name its session is to be known. */
static bool hook_session_has_name(const struct hook_event *e)
{
	static const char good[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

	return e->session[0] && !e->session[strspn(e->session, good)];
}

static bool find_link(const struct hook_event *e, const char *client, char folder[4096],
		      char link[4096])
{
	char own[4096], name[sizeof(e->session) + 64];

	snprintf(name, sizeof(name), "%s-%s", client, e->session);
	return paths_user_state(own) && paths_join(folder, own, "sessions") &&
	       paths_join(link, folder, name);
}

static time_t looked_at(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) ? 0 : st.st_mtime;
}

static void hook_session_sweep(const char *folder)
{
	const time_t old = time(NULL) - (time_t)KEPT_DAYS * DAY;
	DIR *dir = opendir(folder);
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (e->d_type == DT_LNK && looked_at(dirfd(dir), e->d_name) < old)
			unlinkat(dirfd(dir), e->d_name, 0);
	if (dir)
		closedir(dir);
}

/* Makes the link where there is none: whether there was none. */
static bool hook_session_make_link(const char *folder, const char *link, const char *cwd)
{
	struct fault none = { 0 };

	if (symlink(cwd, link) == 0) {
		hook_session_sweep(folder);
		return true;
	}
	return errno == ENOENT && users_may_make(&none) == 0 &&
	       dir_make_all(folder, 0700) == 0 && symlink(cwd, link) == 0;
}

bool session_stay(struct hook_event *e, const char *client, bool begins)
{
	char folder[4096], link[4096], began[sizeof(e->cwd)];
	ssize_t n;

	if (!hook_session_has_name(e) || !e->cwd[0])
		return true;
	if (!find_link(e, client, folder, link))
		return false;
	/* A session that is resumed or compacted starts again, and is the same one. */
	if (begins && access(link, F_OK) < 0)
		unlink(link);
	if (hook_session_make_link(folder, link, e->cwd))
		return true;
	n = readlink(link, began, sizeof(began) - 1);
	if (n <= 0)
		return false;
	began[n] = '\0';
	memcpy(e->cwd, began, (size_t)n + 1);
	if (looked_at(AT_FDCWD, link) < time(NULL) - DAY)
		utimensat(AT_FDCWD, link, NULL, AT_SYMLINK_NOFOLLOW);
	return true;
}

void session_forget(const struct hook_event *e, const char *client)
{
	char folder[4096], link[4096];

	if (hook_session_has_name(e) && find_link(e, client, folder, link))
		unlink(link);
}
