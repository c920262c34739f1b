#include "core/machine/vm/vm_image.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *image_folder(struct arena *a)
{
	const char *own = getenv("CADRE_IMAGES"), *data = getenv("XDG_DATA_HOME");
	const char *home = getenv("HOME");

	if (own && own[0] == '/')
		return arena_strdup(a, own);
	if (data && data[0] == '/')
		return arena_printf(a, "%s/cadre/images", data);
	return arena_printf(a, "%s/.local/share/cadre/images", home ? home : "");
}

static bool vm_image_is_name(const char *name, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i]))
			return false;
	return n > 0 && n <= 64 && name[0] != '.';
}

int image_check_name(const char *name, const char *where, struct fault *f)
{
	if (vm_image_is_name(name, strlen(name)))
		return 0;
	return fault_set(f, FAULT_INVALID, where,
			 "an image's name has 1 to 64 of the characters a-z A-Z "
			 "0-9 . _ -");
}

static int is_visible(const struct dirent *e)
{
	return vm_image_is_name(e->d_name, strlen(e->d_name));
}

static bool vm_image_is_whole(const char *dir)
{
	struct arena a = { 0 };
	bool whole = !access(arena_printf(&a, "%s/vmlinuz", dir), R_OK) &&
		     !access(arena_printf(&a, "%s/initrd", dir), R_OK) &&
		     !access(arena_printf(&a, "%s/root.qcow2", dir), R_OK);

	arena_release(&a);
	return whole;
}

/* Adds the complete versions of the image `name` to the list `*out`. */
static void list_versions(struct arena *a, const char *folder, const char *name,
			  struct image **out, size_t *n)
{
	struct dirent **found = NULL;
	int count = scandir(arena_printf(a, "%s/%s", folder, name), &found, is_visible,
			    alphasort);

	for (int i = 0; i < count; i++) {
		const char *dir =
			arena_printf(a, "%s/%s/%s", folder, name, found[i]->d_name);

		if (vm_image_is_whole(dir))
			arena_add(a, *out, *n,
				  (struct image){
					  .name = arena_strdup(a, name),
					  .version = arena_strdup(a, found[i]->d_name),
					  .dir = dir,
				  });
		free(found[i]);
	}
	free(found);
}

int image_list(struct arena *a, struct image **out, size_t *n, struct fault *f)
{
	const char *folder = image_folder(a);
	struct dirent **found = NULL;
	int count = scandir(folder, &found, is_visible, alphasort);

	*out = NULL;
	*n = 0;
	if (count < 0 && errno != ENOENT)
		return fault_set(f, FAULT_IO, "", "%s: %s", folder, strerror(errno));
	for (int i = 0; i < count; i++) {
		list_versions(a, folder, found[i]->d_name, out, n);
		free(found[i]);
	}
	free(found);
	return 0;
}

int image_find(const char *wanted, struct arena *a, struct image *out, struct fault *f)
{
	const char *name = wanted && *wanted ? wanted : IMAGE_DEFAULT;
	const char *at = strchr(name, '@');
	size_t len = at ? (size_t)(at - name) : strlen(name), n = 0;
	struct image *all = NULL;

	if (!vm_image_is_name(name, len) ||
	    (at && !vm_image_is_name(at + 1, strlen(at + 1))))
		return fault_set(f, FAULT_INVALID, "/image", "not an image's name: %.80s",
				 name);
	list_versions(a, image_folder(a), arena_strndup(a, name, len), &all, &n);
	while (at && n > 0 && strcmp(all[n - 1].version, at + 1))
		n--;
	if (n == 0) {
		fault_set(f, FAULT_NOT_FOUND, "/image", "there is no image %.80s", name);
		return fault_hint(f, "Make the image with: cadre image build%s%.*s",
				  strcmp(name, IMAGE_DEFAULT) ? " --name " : "",
				  strcmp(name, IMAGE_DEFAULT) ? (int)len : 0, name);
	}
	*out = all[n - 1];
	return 0;
}
