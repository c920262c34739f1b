/* notes_trash - removes notes from a vault's trash, and empty folders of the trash. */
#include <fcntl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/machine/machine_copy.h"
#include "core/machine/notes_inside.h"

bool notes_is_trashed(const char *path)
{
	size_t n = strlen(NOTES_TRASH);

	return strncmp(path, NOTES_TRASH, n) == 0 && (path[n] == '/' || !path[n]);
}

int notes_forget(const void *self, const char *name, struct fault *f)
{
	int root = notes_root(self, false), trash = -1, rc = 0;
	char path[300];

	if (root >= 0) {
		trash = notes_open(root, NOTES_TRASH, O_RDONLY | O_DIRECTORY);
		close(root);
	}
	if (trash < 0)
		return errno == ENOENT ? 0 : notes_fault(f, "open", NOTES_TRASH);
	snprintf(path, sizeof(path), "/proc/self/fd/%d/%.255s", trash, name);
	rc = tree_remove(path, f);
	close(trash);
	return rc;
}

/* Removes the folder `path`, if the folder is empty. Returns true if the folder was removed. */
static bool notes_trash_remove_folder(int root, const char *path)
{
	const char *name;
	int dir = notes_folder(root, path, false, &name);
	bool gone = dir >= 0 && unlinkat(dir, name, AT_REMOVEDIR) == 0;

	if (dir >= 0)
		close(dir);
	return gone;
}

void notes_clear_trash(int root, const char *path)
{
	char folder[NOTE_PATH + 128], *slash;

	snprintf(folder, sizeof(folder), "%s", path);
	while ((slash = strrchr(folder, '/'))) {
		*slash = '\0';
		if (!strchr(folder, '/') || !notes_trash_remove_folder(root, folder))
			return;
	}
}
