#include "core/home/home_config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/home/home_find.h"
#include "core/home/paths.h"

const char config_file_name[] = "cadre.toml";

enum { CONFIG_PATH = 4096 + 16 };

static int home_config_refuse(const char *path, const char *what, struct fault *f)
{
	size_t n = strlen(path);

	return fault_set(f, FAULT_INVALID, "", "%s: %s", path + (n > 120 ? n - 120 : 0),
			 what);
}

/* --- the file -------------------------------------------------------------------- */

/* A file of another user, such as /tmp/cadre.toml, must not configure this process. */
static bool is_trusted(const struct stat *st)
{
	return st->st_uid == geteuid() || st->st_uid == 0;
}

/* Reads the values of a file if the file exists and is trusted. A project's file must not be a
 * link. */
static int home_config_take_file(struct config_set *s, const char *path, bool projects,
				 struct fault *f)
{
	struct config_file file = { .path = path, .projects = projects };
	char *data = xmalloc(CONFIG_FILE_MOST + 2);
	const char *why = NULL;
	struct stat st = { 0 };
	ssize_t n = paths_read(AT_FDCWD, path, projects ? O_NOFOLLOW : 0, data,
			       CONFIG_FILE_MOST + 2, &st);

	if (!st.st_mode && errno == ELOOP) {
		why = "is a link, which is not followed";
	} else if (!st.st_mode) {
		if (errno == EACCES && !stat(path, &st) && is_trusted(&st))
			why = "may not be read";
	} else if (!is_trusted(&st)) {
		why = NULL;
	} else if (!S_ISREG(st.st_mode)) {
		why = "is not a file";
	} else if (n < 0) {
		why = "cannot be read";
	} else if (n > CONFIG_FILE_MOST) {
		why = "more than 64 KiB";
	} else {
		file.data = data;
		file.len = (size_t)n;
		config_take_file(s, &file, f);
	}
	free(data);
	return why ? home_config_refuse(path, why, f) : (int)f->code;
}

/* Makes the path of a user's configuration file. `user` is the user's home, or NULL if the home
 * is unknown. Returns false if the user can have no configuration file. */
static bool config_users_path(const char *user, char path[CONFIG_PATH])
{
	const char *base = getenv("XDG_CONFIG_HOME"), *below = "";

	if (!base || *base != '/') {
		base = user;
		below = "/.config";
	}
	return base && snprintf(path, CONFIG_PATH, "%s%s/cadre/%s", base, below,
				config_file_name) < PATH_MAX;
}

static bool config_states_path(const char *state, char path[CONFIG_PATH])
{
	return snprintf(path, CONFIG_PATH, "%s/%s", state, config_file_name) <
	       CONFIG_PATH;
}

static int take_users(struct config_set *s, struct fault *f)
{
	char path[CONFIG_PATH];

	return config_users_path(s->user, path) ? home_config_take_file(s, path, false, f)
						: 0;
}

/* Reads the nearest cadre.toml in or above `cwd` that belongs to the state's project. Skips
 * files of other projects. */
static int take_projects(struct config_set *s, const char *cwd, struct fault *f)
{
	char dir[4096], path[4096];
	struct stat st;

	if (!paths_join(dir, cwd, ""))
		return 0;
	do {
		if (!strcmp(dir, s->state) || !paths_join(path, dir, config_file_name) ||
		    lstat(path, &st))
			continue;
		if (find_is_of(dir, s->state) && is_trusted(&st))
			return home_config_take_file(s, path, true, f);
	} while (paths_up(dir));
	return 0;
}

/* Reads the user's file, then the state's file, then the project's file. */
static int take_files(struct config_set *s, const char *cwd, struct fault *f)
{
	char path[CONFIG_PATH];

	if (take_users(s, f) < 0 || !s->state)
		return f->code;
	if (config_states_path(s->state, path) &&
	    home_config_take_file(s, path, false, f) < 0)
		return f->code;
	return cwd ? take_projects(s, cwd, f) : 0;
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

bool config_is_variable(const char *name, size_t len)
{
	char own[CONFIG_VARIABLE_SIZE];

	for (size_t i = 0; i < record_config.n_fields; i++) {
		config_variable(&record_config.fields[i], own);
		if (strlen(own) == len && memcmp(own, name, len) == 0)
			return true;
	}
	return false;
}

int config_check_shipped(const char *dir, struct fault *f)
{
	struct config_set s = { 0 };
	char path[4200];

	snprintf(path, sizeof(path), "%s/%s", dir, config_file_name);
	if (home_config_take_file(&s, path, true, f) < 0)
		fault_hint(f, "if the file is yours: move it away, run `cadre init`, "
			      "and move it back");
	config_release(&s);
	return f->code;
}

int config_load(struct config_set *s, const char *state, const char *const *flags,
		struct fault *f)
{
	char cwd[PATH_MAX], user[4096];

	if (paths_home(user))
		s->user = arena_strdup(&s->arena, user);
	s->state = arena_strdup(&s->arena, state);
	if (getcwd(cwd, sizeof(cwd)))
		s->cwd = arena_strdup(&s->arena, cwd);
	if (take_files(s, s->cwd, f) < 0 || take_variables(s, f) < 0)
		return f->code;
	for (; flags && *flags; flags++)
		if (config_take_flag(s, *flags, f) < 0)
			return f->code;
	return 0;
}

/* --- how a running host notices a change ------------------------------------------- */

static struct config_stamp stamp_of(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return (struct config_stamp){ 0 };
	return (struct config_stamp){
		.ino = (int64_t)st.st_ino,
		.size = st.st_size,
		.changed_at = st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec,
	};
}

bool config_watch_look(struct config_watch *w, const struct home *h)
{
	struct config_stamp now[2] = { 0 };
	char user[4096], path[CONFIG_PATH];
	bool changed;

	if (config_users_path(paths_home(user) ? user : NULL, path))
		now[0] = stamp_of(path);
	if (config_states_path(h->dir, path))
		now[1] = stamp_of(path);
	changed = memcmp(now, w->seen, sizeof(now)) != 0;
	memcpy(w->seen, now, sizeof(now));
	return changed;
}

int config_watch_level(const struct home *h, enum log_level *out, struct fault *f)
{
	struct config_set set = { 0 };
	struct config config;

	if (config_load(&set, h->dir, h->flags, f) == 0) {
		config_read(&set, &config);
		*out = (enum log_level)config.log_level;
	}
	config_release(&set);
	return f->code;
}
