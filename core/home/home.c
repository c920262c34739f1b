/*
 * home - discovery, permissions and settings of a state folder.
 */
#include "core/home/home.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/nic.h"
#include "core/home/home_config.h"
#include "core/home/home_find.h"
#include "core/home/paths.h"
#include "core/machine/golden.h"
#include "core/machine/pid.h"
#include "core/machine/process_stat.h"
#include "core/machine/work.h"
#include "storage/durable.h"
#include "storage/store_restore.h"

uint64_t home_random(void)
{
	uint64_t n;
	ssize_t got = getrandom(&n, sizeof(n), 0);

	assert(got == sizeof(n)); /* getrandom() of 8 bytes is never interrupted */
	return n;
}

const char *home_keep(struct home *h, const char *text)
{
	size_t n = strlen(text) + 1;
	char *at = h->texts + h->texts_used;

	if (n > sizeof(h->texts) - h->texts_used)
		return NULL;
	memcpy(at, text, n);
	h->texts_used += n;
	return at;
}

static int home_too_long(const char *path, struct fault *f)
{
	return fault_set(f, FAULT_INVALID, "", "the path is too long: %.100s", path);
}

/* --- the file .gitignore ----------------------------------------------------------- */

/* Without the state's .gitignore, `git add -A` would add the secret and the messages. A branch,
 * a stash or an archive can replace or remove the state's .gitignore. So each command that
 * finds a state in a project checks the state's .gitignore. */
static const char ignore_name[] = ".gitignore", ignore_content[] = "*\n";

enum { LENGTH = sizeof(ignore_content) - 1 };

static bool is_right(int dir)
{
	char bytes[LENGTH + 2];
	ssize_t n = paths_read(dir, ignore_name, O_NOFOLLOW, bytes, sizeof(bytes), NULL);

	return n == LENGTH && !memcmp(bytes, ignore_content, LENGTH);
}

/* Renames a folder that is called .gitignore. The renamed folder keeps its contents. */
static void ignore_move_folder(int dir)
{
	char aside[40];
	struct stat st;

	if (fstatat(dir, ignore_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(st.st_mode) ||
	    unlinkat(dir, ignore_name, AT_REMOVEDIR) == 0)
		return;
	snprintf(aside, sizeof(aside), "%s.%jx", ignore_name, (uintmax_t)st.st_ino);
	renameat(dir, ignore_name, dir, aside);
}

/* Writes the right .gitignore into the folder open as `dir` if the file is missing or differs.
 * Returns true if a different file was replaced. Does nothing if the folder cannot be written. */
static bool ignore_keep(int dir)
{
	char temp[40];
	struct stat st;
	/* This check comes before is_right(). Otherwise a right file that another process
	 * writes after is_right() would count as a different file. */
	bool other = !fstatat(dir, ignore_name, &st, AT_SYMLINK_NOFOLLOW);

	/* Only the folder's owner writes the file, since the owner could not change a file that
	 * root made. */
	if (is_right(dir) || fstat(dir, &st) || st.st_uid != geteuid())
		return false;
	ignore_move_folder(dir);
	snprintf(temp, sizeof(temp), "%s.%d", ignore_name, (int)getpid());
	return !paths_write(dir, temp, ignore_name, ignore_content, LENGTH) && other;
}

/* --- the folder -------------------------------------------------------------------- */

/* Ways in which a state folder was chosen, in the order of the enum. The caller named the
 * folder, a search upward found it, or it is the user's own folder. Or `init` makes the folder,
 * in a project or at a named path. */
enum meant { MEANT_NAMED, MEANT_FOUND, MEANT_USERS, MEANT_INIT, MEANT_INIT_NAMED };

/* Git must not commit the state, so the state's .gitignore makes git ignore the whole folder. */
static void write_ignore(const char *path)
{
	int dir = home_open(path);

	if (dir < 0)
		return;
	ignore_keep(dir);
	close(dir);
}

/* Keeps the right `.gitignore` in a project's state folder. If the user named the folder, the
 * user alone decides about its `.gitignore`. */
static void keep_ignore(struct home *h, int dir, enum meant meant)
{
	if (meant != MEANT_FOUND && meant != MEANT_INIT)
		return;
	if (!ignore_keep(dir) || h->note[0])
		return;
	snprintf(h->note, sizeof(h->note),
		 "%.400s/.gitignore was changed: cadre wrote it again, "
		 "so that git ignores the whole folder",
		 h->dir);
}

static int make_home(const char *path, struct fault *f)
{
	if (dir_make_all(path, 0700))
		return fault_set(f, FAULT_IO, "/home", "cannot make %.150s: %m", path);
	write_ignore(path);
	dir_sync_path(path);
	return 0;
}

/* Makes a folder private only if the folder is a state, or is about to become a state. A folder
 * that was named by mistake is not changed. */
static int keep_private(int dir, const char *path, enum meant meant, enum home_use use,
			struct fault *f)
{
	struct stat st;

	if (fstat(dir, &st) || !(st.st_mode & 077))
		return 0;
	if (meant == MEANT_NAMED && !home_has_state(dir) &&
	    !(use == HOME_MAKE && find_is_fresh(dir, NULL))) {
		if (use != HOME_MAKE)
			return 0;
		fault_set(f, FAULT_DENIED, "/home",
			  "%.150s is open to other users, and holds files that "
			  "do not belong to cadre",
			  path);
		return fault_hint(f, "`cadre init` makes the folder a private state");
	}
	if (fchmod(dir, 0700))
		return fault_set(f, FAULT_IO, "/home", "cannot make %.150s private: %m",
				 path);
	return 0;
}

static int no_folder(const char *path, struct fault *f)
{
	if (errno == ENOTDIR || errno == ELOOP)
		return fault_set(f, FAULT_INVALID, "/home", "%.150s is not a folder",
				 path);
	if (errno != ENOENT)
		return fault_set(f, FAULT_IO, "/home", "%.200s: %m", path);
	fault_set(f, FAULT_NOT_FOUND, "/home", "there is no state at %.150s", path);
	return fault_hint(f, "make a state: cadre init");
}

static int home_check_folder(int dir, const char *path, enum meant meant,
			     enum home_use use, struct fault *f)
{
	struct stat st;

	if (fstat(dir, &st))
		return no_folder(path, f);
	/* Root may read another user's state. */
	if ((use != HOME_LOOK || geteuid()) && home_check_owner(st.st_uid, path, f) < 0)
		return f->code;
	if ((use != HOME_LOOK || meant == MEANT_FOUND || home_has_state(dir)) &&
	    find_check_parts(dir, path, f) < 0)
		return f->code;
	return keep_private(dir, path, meant, use, f);
}

/* Sets h->dir to an absolute path without links, so that each state has only one path. */
static int home_settle(struct home *h, char path[4096], enum meant meant,
		       enum home_use use, struct fault *f)
{
	struct stat st;
	int dir, rc;

	if (meant != MEANT_FOUND && use == HOME_MAKE && stat(path, &st) &&
	    errno == ENOENT && make_home(path, f) < 0)
		return f->code;
	h->found = meant == MEANT_FOUND;
	if (h->found)
		memcpy(h->dir, path, sizeof(h->dir));
	else if (!realpath(path, h->dir))
		return no_folder(path, f);
	dir = home_open(h->dir);
	if (dir < 0)
		return no_folder(path, f);
	rc = home_check_folder(dir, h->dir, meant, use, f);
	if (rc == 0)
		keep_ignore(h, dir, meant);
	close(dir);
	return rc;
}

/* Finds the working directory, without which the state cannot be found. */
static int find_here(char out[4096], struct fault *f)
{
	if (getcwd(out, 4096))
		return 0;
	if (errno == ENOENT)
		fault_set(f, FAULT_NOT_FOUND, "", "the current directory is gone");
	else
		fault_set(f, FAULT_IO, "", "cannot find the current directory: %m");
	return fault_hint(f,
			  "go to an existing directory, or name the state: --home DIR");
}

/* Fills the fault of a search that found no state upward, and no state in the user's own
 * folder. */
static int found_nothing(const char *here, const char *users, struct fault *f)
{
	fault_set(
		f, FAULT_NOT_FOUND, "/home",
		"no state: there is no .cadre in %.200s or above it, and none at %.150s",
		here, users);
	return fault_hint(f, "make a state for this project: cadre init");
}

/* Whether a user's own folder holds a state, perhaps a lost one. The folder also keeps notes of
 * states elsewhere, which are no state. */
static bool users_has_state(const char *path)
{
	int dir = home_open(path);
	bool has = dir >= 0 && home_has_state(dir);

	if (dir >= 0)
		close(dir);
	return has || home_is_lost(path, NULL, 0) || home_lost_secret(path);
}

/* Finds the state of the project, or else the user's own state. Makes no state. Only `init`, or
 * a caller who names the folder, makes a state. */
static int find_project(struct home *h, enum home_use use, struct fault *f)
{
	struct found x = { 0 };
	char dir[4096], here[4096];

	if (use == HOME_MAKE)
		use = HOME_WRITE;
	if (find_here(dir, f) < 0)
		return f->code;
	find_upward(&x, dir);
	if (x.path[0] && x.passed[0])
		snprintf(h->note, sizeof(h->note), "%.200s %s: cadre uses %.200s instead",
			 x.passed, trust_reason(x.why), x.path);
	if (x.path[0])
		return home_settle(h, x.path, MEANT_FOUND, use, f);
	if (x.passed[0] && x.why == FOUND_EDITED)
		write_ignore(x.passed); /* git may have changed the .gitignore too */
	if (x.passed[0])
		return trust_refuse(x.passed, x.why, f);
	memcpy(here, dir, sizeof(here));
	if (find_check_gone(dir, f) < 0 || home_users_folder(dir, f) < 0)
		return f->code;
	if (home_settle(h, dir, MEANT_USERS, use, f) < 0 && f->code != FAULT_NOT_FOUND)
		return f->code;
	if (!f->code && users_has_state(h->dir))
		return 0;
	*f = (struct fault){ 0 };
	return found_nothing(here, dir, f);
}

static int find_dir(struct home *h, const char *dir, enum home_use use, struct fault *f)
{
	char path[4096];

	if (!dir)
		dir = paths_env("CADRE_HOME");
	if (dir && !paths_join(path, dir, ""))
		return home_too_long(dir, f);
	if (dir)
		return home_settle(h, path, MEANT_NAMED, use, f);
	if (paths_env("CADRE_SOCKET"))
		return 0; /* inside a workspace the socket is the only way to the state */
	return find_project(h, use, f);
}

/* --- a new state ------------------------------------------------------------------- */

/* Adds the state to the notes of known states, so that the state counts at this path. A restore
 * alone does not add the state to the notes. Only folders called .cadre are found upward, so a
 * folder with another name is not added. */
static int note_known(const struct home *h, struct fault *f)
{
	const char *name = strrchr(h->dir, '/');
	int dir, rc;

	if (!name || strcmp(name, "/.cadre") != 0)
		return 0;
	dir = home_open(h->dir);
	if (dir < 0)
		return no_folder(h->dir, f);
	rc = trust_look(dir, h->dir) ? 0 : trust_add(dir, h->dir, KNOWN_MADE, f);
	close(dir);
	return rc;
}

/* Does the same as note_known(), but a failure is only reported to the user. A caller who names
 * the folder each time needs no note. */
static int note_named(struct home *h)
{
	struct fault f = { 0 };

	if (note_known(h, &f) < 0)
		snprintf(h->note, sizeof(h->note),
			 "cadre uses this state only if you name it (--home, "
			 "CADRE_HOME): %s",
			 f.text);
	return 0;
}

static int make_dir(struct home *h, const char *dir, struct fault *f)
{
	char path[4096], cwd[4096];
	bool stray = false;

	if (!dir)
		dir = paths_env("CADRE_HOME");
	if (!dir && paths_env("CADRE_SOCKET"))
		return 0; /* no state is made inside a workspace */
	if (dir && !paths_join(path, dir, ""))
		return home_too_long(dir, f);
	if (!dir && find_here(cwd, f) < 0)
		return f->code;
	if (!dir && !find_place(cwd, path, &stray, f))
		return f->code ? (int)f->code : home_too_long(cwd, f);
	if (stray)
		return trust_refuse(path, FOUND_STRAY, f);
	if (!dir && (find_check_fresh(path, f) < 0 || trust_prepare(f) < 0))
		return f->code;
	if (home_settle(h, path, dir ? MEANT_INIT_NAMED : MEANT_INIT, HOME_MAKE, f) < 0)
		return f->code;
	return dir ? note_named(h) : note_known(h, f);
}

/* --- the environment --------------------------------------------------------------- */

/* Writes the name of this process's session. Another session may get the same number later. So
 * the name has the start of the session's first process, too. */
static const char *home_name_session(char *out, size_t size)
{
	struct process leader;

	pid_find(getsid(0), &leader);
	snprintf(out, size, "cli:%lld:%lld:%s", (long long)leader.pid,
		 (long long)leader.start, leader.boot);
	return out;
}

static int load_identity(struct home *h, struct fault *f)
{
	static const char *const names[] = { "CADRE_TEAM", "CADRE_AGENT", "CADRE_TOKEN",
					     "CADRE_SESSION" };
	const char *values[4];
	char session[128];
	bool inside;

	inside = paths_env("CADRE_SOCKET") != NULL; /* this process is in a workspace */
	for (size_t i = 0; i < 4; i++) {
		values[i] = paths_env(names[i]);
		if (i == 3 && !values[i])
			values[i] = home_name_session(session, sizeof(session));
		if (values[i] && !(values[i] = home_keep(h, values[i])))
			return fault_set(f, FAULT_INVALID, "", "%s is too long",
					 names[i]);
	}
	h->identity = (struct identity){
		.level = values[1] ? WHO_OBSERVER : WHO_OPERATOR,
		.team = values[0],
		.agent = values[1],
		.token = values[2],
		.kept = inside,
		.session = values[3],
		/* Each workspace belongs to an agent. If CADRE_SOCKET is set but CADRE_AGENT is
		 * not, the client has passed on only some variables. The process then acts as a
		 * caller without an identity, not as the operator. */
		.nobody = inside && !values[1],
	};
	h->who = values[1] ? HOME_BY_VARIABLE : HOME_BY_DEFAULT;
	return 0;
}

/* Sets h->run and h->socket to paths below `base`. `own`: `base` is the user's own folder, and
 * not a folder that all users share. Returns false if a name does not fit into a socket's
 * address. */
static bool place_run(struct home *h, const char *base, bool own, const struct stat *st)
{
	char user[16] = "";
	int n;

	if (!base)
		return false;
	if (!own)
		snprintf(user, sizeof(user), "-%u", (unsigned)geteuid());
	n = snprintf(h->run, sizeof(h->run), "%s/cadre%s/%jx-%jx", base, user,
		     (uintmax_t)st->st_dev, (uintmax_t)st->st_ino);
	if ((size_t)n >= sizeof(h->run))
		return false;
	n = snprintf(h->socket, sizeof(h->socket), "%s/host.sock", h->run);
	return (size_t)n < sizeof(h->socket);
}

/* Returns $XDG_RUNTIME_DIR, or NULL if that folder cannot be used. $XDG_RUNTIME_DIR may be
 * inherited from another user (su), or name a folder that no login has made (containers). */
static const char *runtime_folder(void)
{
	const char *path = paths_env("XDG_RUNTIME_DIR");
	struct stat st;

	if (!path || stat(path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return NULL;
	return path;
}

int home_find_sockets(struct home *h, struct fault *f)
{
	const char *door = paths_env("CADRE_SOCKET");
	const char *runtime = runtime_folder(), *temp = paths_env("TMPDIR");
	struct stat st;

	if (h->dir[0] && stat(h->dir, &st))
		return fault_set(f, FAULT_IO, "", "%.150s: %m", h->dir);
	if (h->dir[0] && !place_run(h, runtime, true, &st) &&
	    !place_run(h, temp, false, &st) && !place_run(h, "/tmp", false, &st))
		return home_too_long(h->dir, f);
	if (door &&
	    snprintf(h->socket, sizeof(h->socket), "%s", door) >= (int)sizeof(h->socket))
		return home_too_long(door, f);
	return 0;
}

/* --- the configuration ------------------------------------------------------------- */

static void settings_keep_texts(struct home *h, struct fault *f)
{
	for (size_t i = 0; i < record_config.n_fields; i++) {
		const struct field *key = &record_config.fields[i];
		const char **at = (const char **)((char *)&h->settings.config + key->at);

		if (key->type->kind == KIND_TEXT && *at && !(*at = home_keep(h, *at)))
			fault_set(f, FAULT_INVALID, "", "%s is too long", key->name);
	}
}

/* Checks the value of network.range fully. The pattern of this key refuses only some wrong
 * ranges. */
static int settings_check_range(struct config_set *set, const struct config *c,
				struct fault *f)
{
	const struct field *key = field_find(&record_config, "network.range");
	struct fault why = { 0 };
	struct nic_range range;

	if (!c->network_range || nic_range_parse(c->network_range, &range, &why) == 0)
		return 0;
	fault_set(f, FAULT_INVALID, "", "%.100s: %s", config_whence(set, key), why.text);
	return fault_hint(f, "%s", why.hint);
}

/* The vault is in the state folder unless the configuration names another folder. */
static int load_config(struct home *h, const char *const *flags, struct fault *f)
{
	struct config *c = &h->settings.config;
	struct config_set set = { 0 };

	h->flags = flags;
	if (config_load(&set, h->dir, flags, f) == 0) {
		config_read(&set, c);
		settings_check_range(&set, c, f);
		settings_keep_texts(h, f);
	}
	config_release(&set);
	if (c->vault_root)
		snprintf(h->vault, sizeof(h->vault), "%s", c->vault_root);
	else
		snprintf(h->vault, sizeof(h->vault), "%s/vault", h->dir);
	return f->code;
}

/* Finds the network of a state. The names of the network's interfaces and tables end in the
 * last digits of the id that place_run() makes. A state without a configured range gets its own
 * network: one of the 1,024 networks in 10.64.0.0/10, each with room for 4,093 VMs. */
static int find_network(struct home *h, struct fault *f)
{
	struct settings *s = &h->settings;
	char text[32];
	struct stat st;
	unsigned tag;

	if (stat(h->dir, &st))
		return fault_set(f, FAULT_IO, "", "%.150s: %m", h->dir);
	tag = (unsigned)st.st_ino & 0xffff;
	snprintf(text, sizeof(text), "%04x", tag);
	s->tag = home_keep(h, text);
	s->network_range = s->config.network_range;
	if (!s->network_range) {
		snprintf(text, sizeof(text), "10.%u.%u.0/20", 64 + (tag >> 4 & 63),
			 (tag & 15) << 4);
		s->network_range = home_keep(h, text);
	}
	if (!s->tag || !s->network_range)
		return fault_set(f, FAULT_INVALID, "", "texts are too long");
	return 0;
}

/* --- the secret -------------------------------------------------------------------- */

/* Writes the whole secret into a file of another name first. So processes that start at the
 * same time use the same secret, and a crash never leaves half a secret. */
static int make_secret(const char *path, struct fault *f)
{
	char temp[4300];
	uint8_t secret[32];
	int fd, rc = 0;

	snprintf(temp, sizeof(temp), "%s.%d", path, getpid());
	fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return fault_set(f, FAULT_IO, "", "cannot make %.150s: %m", temp);
	if (getrandom(secret, 32, 0) != 32 || write(fd, secret, 32) != 32 || fsync(fd) ||
	    (link(temp, path) && errno != EEXIST) || dir_sync_above(path))
		rc = fault_set(f, FAULT_IO, "", "cannot make %.150s: %m", path);
	close(fd);
	unlink(temp);
	return rc;
}

/* Loads the secret. No other function loads the secret. Hosts that share a state must share its
 * secret. The secret is not stored in a row of the state, since a reader of a copy of state.db
 * would then have the tokens of all agents. */
static int load_secret(struct home *h, bool create, struct fault *f)
{
	char path[4200], secret[33];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/secret", h->dir);
	n = paths_read(AT_FDCWD, path, O_NOFOLLOW, secret, sizeof(secret), NULL);
	if (n < 0 && errno == ENOENT && create) {
		if (make_secret(path, f) < 0)
			return f->code;
		n = paths_read(AT_FDCWD, path, O_NOFOLLOW, secret, sizeof(secret), NULL);
	}
	if (n == 32) {
		memcpy(h->settings.secret, secret, 32);
		return 0;
	}
	if (n >= 0) {
		fault_set(f, FAULT_IO, "", "%.150s has %zd bytes instead of 32", path, n);
		return fault_hint(f, "put the right file back (a backup has it as "
				     "FILE.secret), or remove this one and run: cadre "
				     "restore FILE");
	}
	if (errno != ENOENT)
		return fault_set(f, FAULT_IO, "", "cannot read %.150s: %m", path);
	fault_set(f, FAULT_NOT_FOUND, "/home", "there is no state at %.150s", h->dir);
	return fault_hint(f, "make a state: cadre init; a state.db from elsewhere "
			     "needs its `secret` as well");
}

/* Fills h->settings and h->vault for the state in h->dir. `flags` are the flags of
 * config_load(). With `create`, a missing secret is made. Returns 0 or a fault. */
static int settings_load(struct home *h, const char *const *flags, bool create,
			 struct fault *f)
{
	if (load_config(h, flags, f) < 0 || find_network(h, f) < 0)
		return f->code;
	/* A lost state may have lost its secret too. No new secret is made for a lost state. */
	return h->gone ? 0 : load_secret(h, create, f);
}

/* --- the whole home ---------------------------------------------------------------- */

/* Checks whether the state was lost. Unless `use` is HOME_LOOK, writes the name of the state's
 * database into the state's id. Before HOME_MAKE makes a new database, the old name is removed
 * from the id. */
static int home_look_at(struct home *h, enum home_use use, struct fault *f)
{
	int dir = home_open(h->dir);
	bool is_open = dir >= 0, has_state = is_open && home_has_state(dir);
	struct fault none = { 0 };

	h->gone = home_is_lost(h->dir, NULL, 0) || home_lost_secret(h->dir) ||
		  (h->found && is_open && !has_state);
	if (use == HOME_MAKE && !h->gone) {
		if (is_open && !has_state)
			state_id_unbind(dir, f);
		if (f->code || home_make_empty(h->dir, f) < 0)
			goto out;
	}
	if (use != HOME_LOOK && !h->gone && is_open && home_has_state(dir))
		state_id_bind(dir, f);
	if (is_open)
		state_id_settle(dir, &none); /* if this fails, the next process retries */
out:
	if (is_open)
		close(dir);
	return f->code;
}

static void home_start(struct home *h)
{
	*h = (struct home){ 0 };
	settings_init(&h->settings);
}

/* Reads the settings and names that depend on the state folder. */
static int home_load(struct home *h, enum home_use use, const char *const *flags,
		     struct fault *f)
{
	if (home_find_sockets(h, f) < 0)
		return f->code;
	if (!h->dir[0])
		return 0;
	h->settings.home = h->dir;
	snprintf(h->lock, sizeof(h->lock), "%s/host.lock", h->dir);
	if (restore_finish(h->dir, f) < 0 || home_look_at(h, use, f) < 0 ||
	    settings_load(h, flags, use == HOME_MAKE, f) < 0)
		return f->code;
	notes_disk_init(&h->notes, h->vault, h->dir);
	h->settings.notes = &h->notes.notes;
	h->settings.check_golden = golden_check;
	h->settings.check_folder = folder_check;
	h->settings.find_host = home_host_of;
	h->settings.look_at_work = work_look;
	h->settings.find_usage = process_find_usage;
	return 0;
}

int home_find(struct home *h, const char *dir, enum home_use use, struct fault *f)
{
	return home_find_with(h, dir, use, NULL, f);
}

int home_find_with(struct home *h, const char *dir, enum home_use use,
		   const char *const *flags, struct fault *f)
{
	home_start(h);
	if (load_identity(h, f) < 0 || find_dir(h, dir, use, f) < 0 ||
	    home_load(h, use, flags, f) < 0)
		return f->code;
	return h->gone ? home_refuse_lost(h->dir, f) : 0;
}

int home_init(struct home *h, const char *dir, const char *const *flags, struct fault *f)
{
	home_start(h);
	if (load_identity(h, f) < 0 || make_dir(h, dir, f) < 0 ||
	    home_load(h, HOME_MAKE, flags, f) < 0)
		return f->code;
	return h->gone ? home_refuse_lost(h->dir, f) : 0;
}

int home_renew(struct home *h, struct fault *f)
{
	struct stat st;

	if (stat(h->dir, &st)) {
		fault_set(f, FAULT_NOT_FOUND, "/home",
			  "there is no state at %.150s any more", h->dir);
		return fault_hint(
			f, "bring the folder back, or make a new state: cadre init");
	}
	if (home_is_lost(h->dir, NULL, 0) || home_lost_secret(h->dir))
		return home_refuse_lost(h->dir, f);
	return home_find_sockets(h, f) < 0 ? (int)f->code : load_secret(h, false, f);
}

bool home_owns_vault(const struct home *h)
{
	const size_t n = strlen(h->dir);

	return strncmp(h->vault, h->dir, n) == 0 && h->vault[n] == '/' &&
	       !strstr(h->vault + n, "/..");
}

unsigned home_store_flags(const struct home *h)
{
	bool normal = h->settings.config.state_durability == DURABILITY_NORMAL;

	return normal ? STORE_NORMAL : 0;
}
