#include "core/machine/git_worktree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/machine/child.h"
#include "core/machine/machine_copy.h"
#include "storage/durable.h"

enum { HELD_TRIES = 100, HELD_MS = 100 };

struct making {
	struct arena *arena;
	const char *name, *path; /* `path` contains no links, as in git's list */
	const char *mark;
	int lock; /* descriptor of the locked mark, which git inherits; or -1 */
	int64_t ms;
	bool listed, locked; /* git lists a worktree at `path`; that worktree is locked */
	bool ended; /* git was killed, so its children may still write */
};

static bool git_worktree_is_there(const struct making *m, const char *below)
{
	struct stat st;

	return lstat(arena_printf(m->arena, "%s%s", m->path, below), &st) == 0;
}

/* --- git --------------------------------------------------------------------------- */

static int git_hear(struct making *m, const char *const *words, struct child_end *end,
		    struct fault *f)
{
	if (child_hear(words, NULL, m->ms, m->lock, m->arena, end, f) == 0) {
		m->ended |= WIFSIGNALED(end->status);
		return 0;
	}
	m->ended = true;
	if (f->code == FAULT_TIMEOUT)
		return fault_hint(f, "Allow more time: --agent.worktree_minutes.");
	return fault_hint(f, "Install it: apt-get install git.");
}

static int git_run(struct making *m, const char *const *words, struct fault *f)
{
	struct child_end end;

	return git_hear(m, words, &end, f) ? f->code : child_judge(&end, "git", f);
}

/* Whether git runs and exits with status 0. */
static bool git_has(struct making *m, const char *const *words, struct fault *f)
{
	struct child_end end;

	return git_hear(m, words, &end, f) == 0 && !end.status;
}

static int git_list(struct making *m, struct fault *f)
{
	static const char *const words[] = { "git", "worktree", "list", "--porcelain",
					     NULL };
	struct child_end end;
	bool here = false;
	char *rest;

	if (git_hear(m, words, &end, f))
		return f->code;
	if (child_judge(&end, "this directory is not in a git repository", f))
		return fault_hint(
			f, "Run the command in a repository, or without --worktree.");
	m->listed = m->locked = false;
	rest = end.out;
	for (const char *at; (at = strsep(&rest, "\n"));) {
		if (strncmp(at, "worktree ", 9) == 0)
			here = strcmp(at + 9, m->path) == 0;
		m->listed |= here;
		m->locked |= here && strncmp(at, "locked", 6) == 0;
	}
	return 0;
}

/* --- the mark ---------------------------------------------------------------------- */

/* Whether the file at the mark's path is the file that this call has open. Another call may
 * have removed the mark. */
static bool holds_mark(const struct making *m)
{
	struct stat open, there;

	return fstat(m->lock, &open) == 0 && lstat(m->mark, &there) == 0 &&
	       open.st_dev == there.st_dev && open.st_ino == there.st_ino;
}

/* Opens the mark, or makes a missing mark. `*half` is set to true if another call has made the
 * mark. Returns false if the other call has removed the mark meanwhile. */
static bool open_mark(struct making *m, bool *half)
{
	const int flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW;

	m->lock = open(m->mark, flags | O_CREAT | O_EXCL, 0600);
	*half = m->lock < 0 && errno == EEXIST;
	if (*half)
		m->lock = open(m->mark, flags);
	return m->lock >= 0 || !*half || errno != ENOENT;
}

/* Opens and locks the mark. If an earlier call was killed, a git process of that call may still
 * hold the lock; the function waits some seconds for the lock. */
static int git_worktree_take_mark(struct making *m, bool *half, struct fault *f)
{
	const struct timespec pause = { .tv_nsec = HELD_MS * 1000000L };

	for (int i = 0; i < HELD_TRIES; i++) {
		if (m->lock < 0 && !open_mark(m, half))
			continue;
		if (m->lock < 0 || dir_sync_above(m->mark))
			return fault_set(f, FAULT_IO, "", "cannot make %.200s: %s",
					 m->mark, strerror(errno));
		if (flock(m->lock, LOCK_EX | LOCK_NB)) {
			nanosleep(&pause, NULL);
		} else if (holds_mark(m)) {
			return 0;
		} else {
			close(m->lock);
			m->lock = -1;
		}
	}
	fault_set(f, FAULT_CONFLICT, "",
		  "git still makes %.200s, for a command that was ended", m->path);
	return fault_hint(
		f, "Wait until git ends, or end git: `fuser -v '%s'` names the process.",
		m->mark);
}

/* Removes the mark, and syncs the removal to the disk. If the mark stayed, a later call would
 * remove the worktree with all work in it. */
static int drop_mark(const struct making *m, struct fault *f)
{
	if (unlink(m->mark) == 0 && dir_sync_above(m->mark) == 0)
		return 0;
	return fault_set(f, FAULT_IO, "", "cannot remove %.200s: %s", m->mark,
			 strerror(errno));
}

/* --- the worktree ------------------------------------------------------------------ */

/* Whether git has made the whole worktree, although the earlier call was interrupted. If the
 * worktree differs from its branch, fills a fault. Such a difference means that a power failure
 * has lost files, or that somebody works in the worktree. */
static bool git_worktree_is_made(struct making *m, struct fault *f)
{
	const char *const words[] = {
		"git", "-C", m->path, "status", "--porcelain", NULL
	};
	struct child_end end = { 0 };

	if (!m->listed || m->locked || !git_worktree_is_there(m, "/.git") ||
	    git_hear(m, words, &end, f))
		return false;
	if (!end.status && !*end.out)
		return true;
	fault_set(f, FAULT_CONFLICT, "", "%.200s may be incomplete: git was ended early",
		  m->path);
	fault_hint(f,
		   "See `git -C '%s' status`. If nothing there is yours, "
		   "`git worktree remove --force` it and try again.",
		   m->path);
	return false;
}

static int git_worktree_refuse_place(const struct making *m, struct fault *f)
{
	fault_set(f, FAULT_CONFLICT, "",
		  "%.200s exists, and is not a worktree of this repository", m->path);
	return fault_hint(f, "Move your files out of it and remove it, or run "
			     "another agent.");
}

/* Removes an incomplete worktree, and also its branch if the branch holds no work. Refuses to
 * touch a worktree of another repository. */
static int remove_half(struct making *m, struct fault *f)
{
	const char *const tree[] = { "git",     "worktree", "remove", "--force",
				     "--force", m->path,    NULL };
	const char *const branch[] = { "git", "branch", "-d", m->name, NULL };

	if (!m->listed && git_worktree_is_there(m, "/.git"))
		return git_worktree_refuse_place(m, f);
	if (tree_remove(m->path, f) || (m->listed && git_run(m, tree, f)))
		return f->code;
	git_has(m, branch, f);
	return f->code;
}

/* Whether a file or folder is at the worktree's path. Fills a fault if the file or folder is
 * not a worktree of this repository. */
static bool worktree_is_taken(const struct making *m, struct fault *f)
{
	if (!git_worktree_is_there(m, ""))
		return false;
	if (!m->listed || !git_worktree_is_there(m, "/.git"))
		git_worktree_refuse_place(m, f);
	return true;
}

/* Makes git forget a worktree whose folder is missing. */
static int forget_gone(struct making *m, struct fault *f)
{
	const char *const forget[] = { "git", "worktree", "remove", m->path, NULL };

	if (m->listed && m->locked) {
		fault_set(f, FAULT_CONFLICT, "", "%.200s is gone, and locked in git",
			  m->path);
		return fault_hint(f,
				  "Bring it back, or run `git worktree unlock '%s'`, and "
				  "try again.",
				  m->path);
	}
	return m->listed ? git_run(m, forget, f) : 0;
}

static bool has_branch(struct making *m, struct fault *f)
{
	const char *const words[] = { "git",
				      "show-ref",
				      "--verify",
				      "-q",
				      arena_printf(m->arena, "refs/heads/%s", m->name),
				      NULL };

	return git_has(m, words, f);
}

static bool has_commit(struct making *m, struct fault *f)
{
	const char *const words[] = { "git",      "rev-parse",     "-q",
				      "--verify", "HEAD^{commit}", NULL };

	return git_has(m, words, f);
}

/* Decides whether `git worktree add` has succeeded. If the checkout fails, git leaves no
 * worktree. If only a hook of the repository fails, git leaves a complete worktree; this counts
 * as success. */
static int judge_add(struct making *m, struct child_end *end, struct fault *f)
{
	struct fault why = { 0 };

	if (child_judge(end, "git", &why) == 0)
		return 0;
	if (WIFEXITED(end->status) && git_list(m, f) == 0 && m->listed &&
	    git_worktree_is_there(m, "/.git"))
		return 0;
	if (!f->code)
		*f = why;
	return f->code;
}

static int add_tree(struct making *m, const char **said, struct fault *f)
{
	const char *const known[] = { "git", "worktree", "add", m->path, m->name, NULL };
	const char *const new[] = { "git",   "worktree", "add",  "--no-track", "-b",
				    m->name, m->path,    "HEAD", NULL };
	const bool branch = has_branch(m, f);
	struct child_end end = { 0 };

	if (!f->code && !branch && !has_commit(m, f) && !f->code) {
		fault_set(f, FAULT_CONFLICT, "", "the repository has no commit yet");
		fault_hint(f, "Make a commit first.");
	}
	if (f->code || git_hear(m, branch ? known : new, &end, f))
		return f->code;
	if (end.status)
		*said = end.err;
	return judge_add(m, &end, f);
}

static int keep_tree(struct making *m, struct fault *f)
{
	if (tree_sync(m->path) || tree_sync("."))
		return fault_set(f, FAULT_IO, "", "cannot sync %.200s: %s", m->path,
				 strerror(errno));
	return drop_mark(m, f);
}

static int git_worktree_make_tree(struct making *m, bool half, const char **said,
				  struct fault *f)
{
	struct fault ignored = { 0 };

	if (half && git_worktree_is_made(m, f))
		return keep_tree(m, f);
	if (f->code || (half && remove_half(m, f)))
		return f->code;
	/* Another call may have made the worktree after this call had checked the path. */
	if (!half && (worktree_is_taken(m, f) || forget_gone(m, f))) {
		drop_mark(m, &ignored);
		return f->code;
	}
	if (add_tree(m, said, f) == 0)
		return keep_tree(m, f);
	if (!m->ended)
		drop_mark(m, &ignored);
	return f->code;
}

int git_worktree_make(const char *name, const char *path, int64_t ms, struct arena *a,
		      const char **said, struct fault *f)
{
	const char *slash = strrchr(path, '/');
	char *above = arena_strndup(a, path, (size_t)(slash - path)), real[PATH_MAX];
	struct making m = { .arena = a, .name = name, .lock = -1, .ms = ms };
	bool half = false;

	if (dir_make(above, 0700) || !realpath(above, real))
		return fault_set(f, FAULT_IO, "", "cannot make %.200s: %s", above,
				 strerror(errno));
	m.path = arena_printf(a, "%s%s", real, slash);
	m.mark = arena_printf(a, "%s.making", m.path);
	/* If the path is in use, no mark is made, since a later call may remove a folder that
	 * has a mark. */
	if (access(m.mark, F_OK) && (git_list(&m, f) || worktree_is_taken(&m, f)))
		return f->code;
	if (git_worktree_take_mark(&m, &half, f) == 0 && git_list(&m, f) == 0)
		git_worktree_make_tree(&m, half, said, f);
	if (m.lock >= 0)
		close(m.lock);
	return f->code;
}
