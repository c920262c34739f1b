/*
 * hook_session - keeps the folder in which a client's session began, and the task of which the
 * session was reminded.
 *
 * A client may change its folder while its model works, but the client stays the same agent. So
 * a symbolic link stores the folder in which the session began. The link is in the user's XDG
 * state folder. The session may go on after the user logs out, and this folder still exists
 * then. A new session removes links that no session has used for KEPT_DAYS days.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <fcntl.h>
#include <unistd.h>

#include "core/home/home_find.h"
#include "core/home/paths.h"
#include "storage/durable.h"
#include "tools/cadre/hook/hook.h"

enum { DAY = 86400, KEPT_DAYS = 30 };

/* Whether the session has a name that can be a part of the link's name. */
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

/* Makes the link if the link is missing. Returns whether this call made the link. */
static bool hook_session_make_link(const char *folder, const char *link, const char *cwd)
{
	struct fault none = { 0 };

	if (symlink(cwd, link) == 0) {
		hook_session_sweep(folder);
		return true;
	}
	return errno == ENOENT && home_may_make(&none) == 0 &&
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
	/* The link of a resumed or compacted session stays, because the client continues the
	 * same session. */
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

/* Makes the name of the link that tells which task the session was last reminded of. */
static bool find_reminder(const struct hook_event *e, const char *client, char link[4096])
{
	char folder[4096], first[4096];

	return hook_session_has_name(e) && find_link(e, client, folder, first) &&
	       snprintf(link, 4096, "%s.reminder", first) < 4096;
}

bool session_reminds(const struct hook_event *e, const char *client, const char *task)
{
	char link[4096], before[64];
	ssize_t n;

	if (!find_reminder(e, client, link))
		return false;
	n = readlink(link, before, sizeof(before));
	if (n == (ssize_t)strlen(task) && !memcmp(before, task, (size_t)n))
		return false;
	unlink(link);
	return symlink(task, link) == 0;
}

void session_forget(const struct hook_event *e, const char *client)
{
	char folder[4096], link[4096];

	if (hook_session_has_name(e) && find_link(e, client, folder, link))
		unlink(link);
	if (find_reminder(e, client, link))
		unlink(link);
}
