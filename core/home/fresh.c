#include "core/home/fresh.h"

#include <sys/stat.h>
#include <unistd.h>

#include "core/home/found.h"
#include "core/home/home_config.h"
#include "core/home/tracked.h"

/* A folder without a state becomes one if it is this user's and holds nothing but, at
 * most, settings. */
static enum found_why judge_fresh(int dir, const char *path)
{
	/* The folder is examined before the notes are: another `init` notes it, then
	 * fills it. */
	bool is_fresh = found_is_fresh(dir, config_file_name);
	struct stat st;

	if (known_look(dir, path) != KNOWN_NOT)
		return FOUND_NONE;
	if (fstat(dir, &st) || st.st_uid != geteuid())
		return FOUND_FOREIGN;
	return is_fresh ? FOUND_NONE : FOUND_UNKNOWN;
}

/* Refuses to make a state at `path` when git tracks files there. */
static int fresh_check_index(const char *path, struct fault *f)
{
	switch (tracked_look(path)) {
	case TRACKED_NOTHING:
		return 0;
	case TRACKED_SOME:
		fault_set(f, FAULT_DENIED, "",
			  "%.150s holds files that git tracks, so others can change it",
			  path);
		return fault_hint(f, "git rm -r --cached %.150s, then: cadre init", path);
	case TRACKED_UNREADABLE:
		break;
	}
	fault_set(f, FAULT_DENIED, "",
		  "%.150s is not made: the index of the git repository around it cannot "
		  "be read",
		  path);
	return fault_hint(f, "repair or remove its .git, or name another folder: "
			     "cadre --home DIR init");
}

/* An existing folder of a project must be this user's state, or hold no state yet.
 * Settings in it that are older than the state may have come with the project. */
int fresh_check(const char *path, struct fault *f)
{
	enum found_why why = found_judge(path);
	int dir;

	if (why == FOUND_NONE && fresh_check_index(path, f) < 0)
		return f->code;
	dir = why == FOUND_NONE ? found_open(path) : -1;
	if (dir >= 0) {
		why = judge_fresh(dir, path);
		if (why == FOUND_NONE && known_look(dir, path) == KNOWN_NOT)
			config_check_shipped(path, f);
		close(dir);
	}
	return f->code ? (int)f->code : found_refuse(path, why, f);
}
