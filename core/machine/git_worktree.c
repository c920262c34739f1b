#include "core/machine/git_worktree.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "storage/durable.h"

/* The part of libgit2 that is used; its headers need not be there. */
typedef struct git_repository git_repository;
typedef struct git_worktree git_worktree;
typedef struct git_reference git_reference;

enum { GIT_BRANCH_LOCAL = 1 };

struct git_error {
	char *message;
	int klass;
};

static struct {
	void *handle;
	int (*init)(void);
	int (*open)(git_repository **out, const char *path, unsigned flags,
		    const char *ceilings);
	void (*free_repository)(git_repository *repo);
	const char *(*common)(const git_repository *repo);
	int (*add)(git_worktree **out, git_repository *repo, const char *name,
		   const char *path, const void *options);
	int (*lookup)(git_worktree **out, git_repository *repo, const char *name);
	int (*prune)(git_worktree *worktree, const void *options);
	void (*free_worktree)(git_worktree *worktree);
	int (*branch)(git_reference **out, git_repository *repo, const char *name,
		      int type);
	void (*free_branch)(git_reference *branch);
	int (*unborn)(git_repository *repo);
	const struct git_error *(*last_error)(void);
} lib;

static pthread_once_t lib_once = PTHREAD_ONCE_INIT;

static void open_lib(void)
{
	static const char *const files[] = { "libgit2.so.1.5", "libgit2.so.1.7",
					     "libgit2.so.1.8", "libgit2.so.1.9",
					     "libgit2.so" };
	const struct {
		const char *name;
		void *place;
	} symbols[] = {
		{ "git_libgit2_init", &lib.init },
		{ "git_repository_open_ext", &lib.open },
		{ "git_repository_free", &lib.free_repository },
		{ "git_repository_commondir", &lib.common },
		{ "git_worktree_add", &lib.add },
		{ "git_worktree_lookup", &lib.lookup },
		{ "git_worktree_prune", &lib.prune },
		{ "git_worktree_free", &lib.free_worktree },
		{ "git_branch_lookup", &lib.branch },
		{ "git_reference_free", &lib.free_branch },
		{ "git_repository_head_unborn", &lib.unborn },
		{ "git_error_last", &lib.last_error },
	};

	for (size_t i = 0; !lib.handle && i < sizeof(files) / sizeof(*files); i++)
		lib.handle = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; lib.handle && i < sizeof(symbols) / sizeof(*symbols); i++) {
		void *symbol = dlsym(lib.handle, symbols[i].name);

		if (!symbol)
			lib.handle = NULL;
		memcpy(symbols[i].place, &symbol, sizeof(symbol));
	}
	if (lib.handle && lib.init() < 0)
		lib.handle = NULL;
}

static int failed(const char *what, const char *path, struct fault *f)
{
	const struct git_error *e = lib.last_error();

	return fault_set(f, FAULT_IO, "", "cannot %s %.200s: %.200s", what, path,
			 e && e->message ? e->message : "git does not say why");
}

static bool is_there(const char *path)
{
	char git[4200];
	struct stat st;

	snprintf(git, sizeof(git), "%s/.git", path);
	return stat(git, &st) == 0;
}

/* A worktree that is there has to be of the same repository. */
static void check_same(git_repository *repo, const char *path, struct fault *f)
{
	git_repository *other = NULL;

	if (lib.open(&other, path, 0, NULL) < 0) {
		fault_set(f, FAULT_CONFLICT, "", "%.200s is no worktree any more", path);
		fault_hint(f, "Move what you need out of it, and remove it.");
	} else if (strcmp(lib.common(repo), lib.common(other)) != 0) {
		fault_set(f, FAULT_CONFLICT, "",
			  "%.200s is a worktree of another repository", path);
		fault_hint(f, "Remove it (`git worktree remove`), or run another agent.");
	}
	if (other)
		lib.free_repository(other);
}

/* Refuses what git could not make a worktree of, before it leaves half of one. */
static int check_new(git_repository *repo, const char *name, const char *path,
		     struct fault *f)
{
	git_worktree *gone = NULL;
	git_reference *branch = NULL;

	if (lib.unborn(repo) == 1) {
		fault_set(f, FAULT_CONFLICT, "", "the repository has no commit yet");
		return fault_hint(f, "Commit something first.");
	}
	/* Git may know a worktree yet whose folder is gone. */
	if (lib.lookup(&gone, repo, name) == 0) {
		if (lib.prune(gone, NULL) < 0)
			failed("renew the worktree", name, f);
		lib.free_worktree(gone);
	}
	if (!f->code && lib.branch(&branch, repo, name, GIT_BRANCH_LOCAL) == 0) {
		lib.free_branch(branch);
		fault_set(f, FAULT_CONFLICT, "", "there is a branch %.200s already",
			  name);
		fault_hint(f, "To go on with it: git worktree add '%s' %s; or delete it.",
			   path, name);
	}
	return f->code;
}

static int add(const char *from, const char *name, const char *path, struct fault *f)
{
	git_repository *repo = NULL;
	git_worktree *made = NULL;

	if (lib.open(&repo, from, 0, NULL) < 0) {
		failed("find a git repository at", from, f);
		return fault_hint(f, "Call it in the repository, or without --worktree.");
	}
	if (is_there(path))
		check_same(repo, path, f);
	else if (!check_new(repo, name, path, f) &&
		 lib.add(&made, repo, name, path, NULL) < 0)
		failed("make a worktree at", path, f);
	if (made)
		lib.free_worktree(made);
	lib.free_repository(repo);
	return f->code;
}

int git_worktree_make(const char *from, const char *name, const char *path,
		      struct fault *f)
{
	char parent[4096], *slash;

	pthread_once(&lib_once, open_lib);
	if (!lib.handle) {
		fault_set(f, FAULT_UNAVAILABLE, "", "worktrees need libgit2");
		return fault_hint(f, "Install it: apt-get install libgit2-1.5, or "
				     "libgit2.so of another version.");
	}
	snprintf(parent, sizeof(parent), "%s", path);
	if ((slash = strrchr(parent, '/')))
		*slash = '\0';
	if (dir_make(parent, 0700))
		return fault_set(f, FAULT_IO, "", "cannot make %.200s: %m", parent);
	return add(from, name, path, f);
}
