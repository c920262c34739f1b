#include "core/home/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *paths_env(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

bool paths_join(char out[4096], const char *dir, const char *name)
{
	return snprintf(out, 4096, "%s%s%s", strcmp(dir, "/") ? dir : "",
			*name ? "/" : "", name) < 4096;
}

bool paths_up(char *dir)
{
	char *slash = strrchr(dir, '/');

	if (!slash || !slash[1])
		return false;
	slash[slash == dir ? 1 : 0] = '\0';
	return true;
}

bool paths_line(const char *path, char *line, size_t room)
{
	/* A pipe or a terminal under this name must not make us wait. */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	ssize_t n = -1;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode))
		n = read(fd, line, room - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	/* Git, too, drops the carriage returns of an editor for Windows. */
	for (size_t end = strlen(line); end && line[end - 1] == '\r';)
		line[--end] = '\0';
	return true;
}

bool paths_home(char out[4096])
{
	const char *home = paths_env("HOME");
	struct passwd entry, *user = NULL;
	char texts[4096];

	if (home && home[0] == '/')
		return paths_join(out, home, "");
	return !getpwuid_r(geteuid(), &entry, texts, sizeof(texts), &user) && user &&
	       user->pw_dir[0] == '/' && paths_join(out, user->pw_dir, "");
}

bool paths_user_state(char out[4096])
{
	const char *base = paths_env("XDG_STATE_HOME");
	char home[4096];

	if (base && base[0] == '/')
		return paths_join(out, base, "cadre");
	return paths_home(home) && paths_join(out, home, ".local/state/cadre");
}
