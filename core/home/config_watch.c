#include "core/home/config_watch.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "core/home/home_config.h"
#include "core/home/paths.h"

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
