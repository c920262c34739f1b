/*
 * The kernel is Debian's for clouds, fetched and unpacked without being
 * installed.  Its drivers for VMs are modules.  The modules that a guest needs go
 * into the initrd, each behind the modules on which it depends.
 */
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/machine/child.h"
#include "tools/cadre/image/image.h"

#define META "linux-image-cloud-amd64"

/* `when` is known to guest/guest_boot.c: always, with a network card, with vsock, or
 * once the guest runs. */
static const struct module {
	char when;
	const char *path;
} modules[] = {
	{ 'a', "drivers/virtio/virtio_ring" },
	{ 'a', "drivers/virtio/virtio" },
	{ 'a', "drivers/virtio/virtio_mmio" },
	{ 'a', "drivers/block/virtio_blk" },
	{ 'a', "drivers/char/virtio_console" },
	{ 'n', "net/core/failover" },
	{ 'n', "drivers/net/net_failover" },
	{ 'n', "drivers/net/virtio_net" },
	{ 'v', "net/vmw_vsock/vsock" },
	{ 'v', "net/vmw_vsock/vmw_vsock_virtio_transport_common" },
	{ 'v', "net/vmw_vsock/vmw_vsock_virtio_transport" },
	{ 'z', "drivers/char/hw_random/virtio-rng" },
	{ 'z', "fs/overlayfs/overlay" },
};

/* Finds the kernel package that the meta package depends on today. */
static int find_package(struct image_build *b, const char **package, struct fault *f)
{
	const char *words[] = { "apt-cache", "depends", META, NULL };
	static const char mark[] = "Depends: linux-image-";
	char *text, *at;

	if (child_read(words, NULL, &b->arena, &text, f))
		return f->code;
	at = strstr(text, mark);
	if (!at) {
		fault_set(f, FAULT_NOT_FOUND, "", "the package archive has no " META);
		return fault_hint(f, "Debian's lists are fetched by: apt-get update");
	}
	at += strlen("Depends: ");
	*package = arena_strndup(&b->arena, at, strcspn(at, "\n "));
	return 0;
}

/* Finds the kernel's version: the one folder in lib/modules. */
static int find_version(struct image_build *b, const char *root, struct fault *f)
{
	DIR *dir = opendir(arena_printf(&b->arena, "%s/lib/modules", root));
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			b->kernel = arena_strdup(&b->arena, e->d_name);
	if (dir)
		closedir(dir);
	return b->kernel ? 0
			 : fault_set(f, FAULT_IO, "", "the kernel came without modules");
}

int image_guest(struct image_build *b, struct fault *f)
{
	static const char *const places[] = { "cadre-guest", "../lib/cadre/cadre-guest",
					      "../cadre-guest" };
	char self[PATH_MAX], *slash;
	const char **guest = &b->guest;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	for (size_t i = 0; slash && i < sizeof(places) / sizeof(*places); i++) {
		*guest = arena_printf(&b->arena, "%.*s/%s", (int)(slash - self), self,
				      places[i]);
		if (access(*guest, X_OK) == 0)
			return 0;
	}
	fault_set(f, FAULT_NOT_FOUND, "", "cadre-guest is not beside %.100s", self);
	return fault_hint(f, "It comes with cadre: make, or make install.");
}

/* The name of a module in the initrd: sorted by name they are in the order of loading. */
static const char *module_name(struct image_build *b, size_t i)
{
	return arena_printf(&b->arena, "modules/%c%02zu-%s.ko", modules[i].when, i,
			    strrchr(modules[i].path, '/') + 1);
}

static int make_initrd(struct image_build *b, const char *root, struct fault *f)
{
	struct archive ar;

	if (archive_open(&ar, arena_printf(&b->arena, "%s/initrd", b->half), f))
		return f->code;
	archive_folder(&ar, "dev");
	archive_device(&ar, "dev/console", 0600, 5, 1);
	archive_folder(&ar, "modules");
	archive_file(&ar, "init", 0755, b->guest);
	for (size_t i = 0; i < sizeof(modules) / sizeof(*modules); i++)
		archive_file(&ar, module_name(b, i), 0644,
			     arena_printf(&b->arena, "%s/lib/modules/%s/kernel/%s.ko",
					  root, b->kernel, modules[i].path));
	return archive_close(&ar);
}

int image_kernel(struct image_build *b, struct fault *f)
{
	const char *root = arena_printf(&b->arena, "%s/kernel", b->work);
	const char *packages[] = { NULL, NULL };

	if (find_package(b, &packages[0], f))
		return f->code;
	image_say(b, "fetching the kernel, %s", packages[0]);
	if (image_unpack(b, packages, root, f) || find_version(b, root, f))
		return f->code;
	if (rename(arena_printf(&b->arena, "%s/boot/vmlinuz-%s", root, b->kernel),
		   arena_printf(&b->arena, "%s/vmlinuz", b->half)))
		return fault_set(f, FAULT_IO, "", "the kernel is not in its package: %m");
	progress_say(b->progress, "packing what the kernel starts with");
	return make_initrd(b, root, f);
}
