/*
 * home - discovery and permissions of a state folder.
 */
#include "core/home/home.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/home/found.h"
#include "core/home/fresh.h"
#include "core/home/gone.h"
#include "core/home/ignore.h"
#include "core/home/lost.h"
#include "core/home/paths.h"
#include "core/home/settings.h"
#include "core/home/users.h"
#include "core/machine/golden.h"
#include "core/machine/work.h"
#include "storage/durable.h"
#include "storage/store_restore.h"

uint64_t home_random(void)
{
	uint64_t n;
	ssize_t got = getrandom(&n, sizeof(n), 0);

	assert(got == sizeof(n)); /* 8 bytes are never interrupted */
	return n;
}

static int home_too_long(const char *path, struct fault *f)
{
	return fault_set(f, FAULT_INVALID, "", "the path is too long: %.100s", path);
}

/* --- the folder --------------------------------------------------------------- */

/* The reason for a folder: it was named, found upward, is the user's own, or `init` makes
 * it, in a project or where somebody names it. */
enum meant { MEANT_NAMED, MEANT_FOUND, MEANT_USERS, MEANT_INIT, MEANT_INIT_NAMED };

/* The state must not be committed: its .gitignore makes git ignore the whole folder. */
static void write_ignore(const char *path)
{
	int dir = found_open(path);

	if (dir < 0)
		return;
	ignore_keep(dir);
	close(dir);
}

/* A folder that somebody names has a `.gitignore` of his own, or none. */
static void keep_ignore(struct home *h, int dir, enum meant meant)
{
	if (meant != MEANT_FOUND && meant != MEANT_INIT)
		return;
	if (!ignore_keep(dir) || h->note[0])
		return;
	snprintf(h->note, sizeof(h->note),
		 "%.400s/.gitignore was another one: it ignores all again", h->dir);
}

static int make_home(const char *path, struct fault *f)
{
	if (dir_make_all(path, 0700))
		return fault_set(f, FAULT_IO, "/home", "cannot make %.150s: %m", path);
	write_ignore(path);
	dir_sync_path(path);
	return 0;
}

/* Makes a folder private only if it is, or is about to be, a state: a folder that was
 * named by mistake stays as it is. */
static int keep_private(int dir, const char *path, enum meant meant, enum home_use use,
			struct fault *f)
{
	struct stat st;

	if (fstat(dir, &st) || !(st.st_mode & 077))
		return 0;
	if (meant == MEANT_NAMED && !found_has_state(dir) &&
	    !(use == HOME_MAKE && found_is_fresh(dir, NULL))) {
		if (use != HOME_MAKE)
			return 0;
		fault_set(f, FAULT_DENIED, "/home",
			  "%.150s is open to others and holds other things", path);
		return fault_hint(f, "`cadre init` makes it a state, and private");
	}
	if (fchmod(dir, 0700))
		return fault_set(f, FAULT_IO, "/home", "cannot make %.150s private: %m",
				 path);
	return 0;
}

static int no_folder(const char *path, struct fault *f)
{
	if (errno == ENOTDIR || errno == ELOOP)
		return fault_set(f, FAULT_INVALID, "/home", "%.150s is no folder", path);
	if (errno != ENOENT)
		return fault_set(f, FAULT_IO, "/home", "%.200s: %m", path);
	fault_set(f, FAULT_NOT_FOUND, "/home", "there is no state at %.150s", path);
	return fault_hint(f, "make one: cadre init");
}

static int home_check_folder(int dir, const char *path, enum meant meant,
			     enum home_use use, struct fault *f)
{
	struct stat st;

	if (fstat(dir, &st))
		return no_folder(path, f);
	/* Root may look at another user's state. */
	if ((use != HOME_LOOK || geteuid()) && users_check_owner(st.st_uid, path, f) < 0)
		return f->code;
	if ((use != HOME_LOOK || meant == MEANT_FOUND || found_has_state(dir)) &&
	    found_check_parts(dir, path, f) < 0)
		return f->code;
	return keep_private(dir, path, meant, use, f);
}

/* Sets h->dir: absolute and without links, so that one state has one path. */
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
	dir = found_open(h->dir);
	if (dir < 0)
		return no_folder(path, f);
	rc = home_check_folder(dir, h->dir, meant, use, f);
	if (rc == 0)
		keep_ignore(h, dir, meant);
	close(dir);
	return rc;
}

/* Finds the working directory, without which the state cannot be told. */
static int find_here(char out[4096], struct fault *f)
{
	if (getcwd(out, 4096))
		return 0;
	if (errno == ENOENT)
		fault_set(f, FAULT_NOT_FOUND, "", "the current directory is gone");
	else
		fault_set(f, FAULT_IO, "", "cannot tell the current directory: %m");
	return fault_hint(f, "go to one that is there, or name the state: --home DIR");
}

/* The fault of a search upward that found no state, nor the user's own. */
static int found_nothing(const char *here, const char *users, struct fault *f)
{
	fault_set(
		f, FAULT_NOT_FOUND, "/home",
		"no state: there is no .cadre in %.200s or above it, and none at %.150s",
		here, users);
	return fault_hint(f, "make one for this project: cadre init");
}

/* Makes nothing: that is for `init`, and for who names the folder. */
static int find_project(struct home *h, enum home_use use, struct fault *f)
{
	struct found x = { 0 };
	char dir[4096], here[4096];

	if (use == HOME_MAKE)
		use = HOME_WRITE;
	if (find_here(dir, f) < 0)
		return f->code;
	found_upward(&x, dir);
	if (x.path[0] && x.passed[0])
		found_say(&x, h->note, sizeof(h->note));
	if (x.path[0])
		return home_settle(h, x.path, MEANT_FOUND, use, f);
	if (x.passed[0] && x.why == FOUND_EDITED)
		write_ignore(x.passed); /* git may have changed the .gitignore too */
	if (x.passed[0])
		return found_refuse(x.passed, x.why, f);
	memcpy(here, dir, sizeof(here));
	if (gone_check(dir, f) < 0 || users_folder(dir, f) < 0)
		return f->code;
	if (home_settle(h, dir, MEANT_USERS, use, f) == 0 || f->code != FAULT_NOT_FOUND)
		return f->code;
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

/* Writes the database's name into the id (if `binds`), and ends the note of a restore. */
static int name_database(const char *path, bool binds, struct fault *f)
{
	int dir = found_open(path);
	struct fault none = { 0 };

	if (dir < 0)
		return 0;
	if (binds && found_has_state(dir))
		state_id_bind(dir, f);
	state_id_settle(dir, &none); /* if it fails, the next process does it */
	close(dir);
	return f->code;
}

/* Makes the id name no database, before a new one is made. */
static int home_begin(const char *path, struct fault *f)
{
	int dir = found_open(path);

	if (dir >= 0 && !found_has_state(dir))
		state_id_unbind(dir, f);
	if (dir >= 0)
		close(dir);
	return f->code ? (int)f->code : lost_make_empty(path, f);
}

/* --- a new one ------------------------------------------------------------------ */

/* Notes the state so that it counts at this place; a restored state does not do so by
 * itself.  Only folders of this name are found upward, so others are not noted. */
static int note_known(const struct home *h, struct fault *f)
{
	const char *name = strrchr(h->dir, '/');
	int dir, rc;

	if (!name || strcmp(name, "/.cadre") != 0)
		return 0;
	dir = found_open(h->dir);
	if (dir < 0)
		return no_folder(h->dir, f);
	rc = known_look(dir, h->dir) ? 0 : known_add(dir, h->dir, KNOWN_MADE, f);
	close(dir);
	return rc;
}

/* A folder that is named each time need not be found. */
static int note_named(struct home *h)
{
	struct fault f = { 0 };

	if (note_known(h, &f) < 0)
		snprintf(h->note, sizeof(h->note),
			 "it counts only where it is named (--home, CADRE_HOME): %s",
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
	if (!dir && !found_place(cwd, path, &stray, f))
		return f->code ? (int)f->code : home_too_long(cwd, f);
	if (stray)
		return found_refuse(path, FOUND_STRAY, f);
	if (!dir && (fresh_check(path, f) < 0 || known_prepare(f) < 0))
		return f->code;
	if (home_settle(h, path, dir ? MEANT_INIT_NAMED : MEANT_INIT, HOME_MAKE, f) < 0)
		return f->code;
	return dir ? note_named(h) : note_known(h, f);
}

/* --- the environment -------------------------------------------------------------- */

static int load_identity(struct home *h, struct fault *f)
{
	static const char *const names[] = { "CADRE_TEAM", "CADRE_AGENT", "CADRE_TOKEN",
					     "CADRE_SESSION" };
	const char *values[4];
	char session[40];
	bool inside;

	snprintf(session, sizeof(session), "cli:%d", getsid(0));
	inside = paths_env("CADRE_SOCKET") != NULL; /* a workspace */
	for (size_t i = 0; i < 4; i++) {
		values[i] = paths_env(names[i]);
		if (i == 3 && !values[i])
			values[i] = session;
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
		/* A workspace is its agent's.  A client that hands on a part of the variables makes
		 * nobody the operator. */
		.nobody = inside && !values[1],
	};
	h->who = values[1] ? HOME_BY_VARIABLE : HOME_BY_DEFAULT;
	return 0;
}

/* Sets run and socket below `base`, which is the user's own (`own`) or shared by
 * all users; false when a name does not fit a socket's address. */
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

/* The variable may have come along from another user (su), or name what no login has
 * made (containers). */
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

static void home_start(struct home *h)
{
	*h = (struct home){ 0 };
	settings_init(&h->settings);
}

/* Settings and names that are read once the folder is known. */
static int home_load(struct home *h, enum home_use use, const char *const *flags,
		     struct fault *f)
{
	if (home_find_sockets(h, f) < 0)
		return f->code;
	if (!h->dir[0])
		return 0;
	h->settings.home = h->dir;
	snprintf(h->lock, sizeof(h->lock), "%s/host.lock", h->dir);
	if (restore_finish(h->dir, f) < 0)
		return f->code;
	h->gone = lost_look(h->dir, NULL, 0) || lost_secret(h->dir) ||
		  (h->found && found_is_gone(h->dir));
	if (use == HOME_MAKE && !h->gone && home_begin(h->dir, f) < 0)
		return f->code;
	if (name_database(h->dir, use != HOME_LOOK && !h->gone, f) < 0)
		return f->code;
	if (settings_load(h, flags, use == HOME_MAKE, f) < 0)
		return f->code;
	notes_disk_init(&h->notes, h->vault, h->dir);
	h->settings.notes = &h->notes.notes;
	h->settings.check_golden = golden_check;
	h->settings.check_folder = folder_check;
	h->settings.find_host = home_host_of;
	h->settings.look_at_work = work_look;
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
	return h->gone ? lost_refuse(h->dir, f) : 0;
}

int home_init(struct home *h, const char *dir, const char *const *flags, struct fault *f)
{
	home_start(h);
	if (load_identity(h, f) < 0 || make_dir(h, dir, f) < 0 ||
	    home_load(h, HOME_MAKE, flags, f) < 0)
		return f->code;
	return h->gone ? lost_refuse(h->dir, f) : 0;
}

int home_renew(struct home *h, struct fault *f)
{
	struct stat st;

	if (stat(h->dir, &st)) {
		fault_set(f, FAULT_NOT_FOUND, "/home",
			  "there is no state at %.150s any more", h->dir);
		return fault_hint(f, "bring its folder back, or make one: cadre init");
	}
	if (lost_look(h->dir, NULL, 0) || lost_secret(h->dir))
		return lost_refuse(h->dir, f);
	return home_find_sockets(h, f) < 0 ? (int)f->code : settings_renew(h, f);
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
