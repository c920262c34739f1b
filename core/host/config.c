#include "core/host/config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE_MOST = 64 << 10 };

static const char name_of_file[] = "cadre.toml";

static int refuse(const char *path, const char *what, struct fault *f)
{
	size_t n = strlen(path);

	return fault_set(f, FAULT_INVALID, "", "%s: %s", path + (n > 120 ? n - 120 : 0),
			 what);
}

/* --- the file -------------------------------------------------------------------- */

/* Another user's file, say /tmp/cadre.toml, does not tell us what to do. */
static bool is_trusted(const struct stat *st)
{
	return st->st_uid == geteuid() || st->st_uid == 0;
}

/* Opens it if it is there and trusted: a descriptor, -1 if not, or a fault. */
static int open_file(const char *path, struct fault *f)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0) {
		if (errno == EACCES && !stat(path, &st) && is_trusted(&st))
			refuse(path, "may not be read", f);
		return -1;
	}
	if (!fstat(fd, &st) && is_trusted(&st))
		return fd;
	close(fd);
	return -1;
}

static int find_upward(char path[PATH_MAX + 16], struct fault *f)
{
	char dir[PATH_MAX], *slash;
	int fd = -1;

	slash = getcwd(dir, sizeof(dir)) ? dir + strlen(dir) : NULL;
	for (; fd < 0 && slash && !f->code; slash = strrchr(dir, '/')) {
		*slash = '\0';
		snprintf(path, PATH_MAX + 16, "%s/%s", dir, name_of_file);
		fd = open_file(path, f);
	}
	return fd;
}

static int find_users(char path[PATH_MAX + 16], struct fault *f)
{
	const char *base = getenv("XDG_CONFIG_HOME"), *below = "";

	if (!base || *base != '/') {
		base = getenv("HOME");
		below = "/.config";
	}
	if (!base || *base != '/' ||
	    snprintf(path, PATH_MAX + 16, "%s%s/cadre/%s", base, below, name_of_file) >=
		    PATH_MAX)
		return -1;
	return open_file(path, f);
}

static int take_file(struct config_set *s, const char *path, int fd, struct fault *f)
{
	char *data = malloc(SIZE_MOST + 1);
	struct stat st;
	ssize_t n = -1;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		refuse(path, "not a file", f);
	else if (data && (n = read(fd, data, SIZE_MOST + 1)) < 0)
		refuse(path, "cannot be read", f);
	else if (n > SIZE_MOST)
		refuse(path, "more than 64 KiB", f);
	else
		config_take_file(s, path, data, n < 0 ? 0 : (size_t)n, f);
	free(data);
	return f->code;
}

/* --- the rest ------------------------------------------------------------------------ */

static int take_variables(struct config_set *s, struct fault *f)
{
	for (size_t i = 0; i < record_config.n_fields; i++) {
		const struct field *key = &record_config.fields[i];
		char name[CONFIG_VARIABLE_SIZE];
		const char *value;

		config_variable(key, name);
		value = getenv(name);
		if (value && *value &&
		    config_take_word(s, CONFIG_VARIABLE, key, value, f) < 0)
			return f->code;
	}
	return 0;
}

int config_load(struct config_set *s, const char *const *flags, struct fault *f)
{
	char path[PATH_MAX + 16], cwd[PATH_MAX];
	int fd = find_upward(path, f);

	s->user = getenv("HOME");
	if (getcwd(cwd, sizeof(cwd)))
		s->cwd = arena_strdup(&s->arena, cwd);
	if (fd < 0 && !f->code)
		fd = find_users(path, f);
	if (fd >= 0) {
		take_file(s, path, fd, f);
		close(fd);
	}
	if (f->code || take_variables(s, f) < 0)
		return f->code;
	for (; flags && *flags; flags++)
		if (config_take_flag(s, *flags, f) < 0)
			return f->code;
	return 0;
}
