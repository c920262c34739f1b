/* Measures how long a VM workspace takes to start, from the call that makes the workspace to
 * the guest's answer. The base is a bare boot. */
#include <stdio.h>
#include <string.h>

#include "core/machine/vm/accel.h"
#include "core/machine/vm/vm_image.h"
#include "guest/guest_boot.h"
#include "tools/bench/stage.h"

#define QEMU "qemu-system-x86_64"

static bool boot_has_image(void)
{
	struct arena a = { 0 };
	struct image image;
	struct fault f = { 0 };
	bool has = image_find(NULL, &a, &image, &f) == 0;

	arena_release(&a);
	return has;
}

/* Opens the scene if VMs can boot on this machine. */
int scene_boot(struct scene *s)
{
	static const char *const find[] = { "sh", "-c",
					    "command -v " QEMU " qemu-img >/dev/null",
					    NULL };
	const char *const make[] = { s->ground->self, "image", "build", NULL };
	struct series scrap = { 0 };

	s->skipped = bench_run_program(&(struct start){ .argv = find }) ||
		     (!boot_has_image() &&
		      (bench_run_program(&(struct start){ .argv = make }) ||
		       !boot_has_image()));
	if (s->skipped) {
		bench_tell("boot: skipped: no " QEMU ", no qemu-img, or no image");
		return 0;
	}
	/* The first run of each act finds out what the processor can do for VMs, so the first
	 * run is not measured. */
	return scene_open(s) || act_boot(s, NULL, &scrap) ||
	       act_bare_boot(s, NULL, &scrap);
}

/* Makes a VM workspace, and measures the time until the guest is ready. Then ends the team with
 * the VM. */
int act_boot(struct scene *s, const struct act *a, struct series *out)
{
	int64_t begun = bench_now();
	int rc;

	(void)a;
	rc = stage_make_ready(&s->stages[0],
			      "{\"name\":\"g\",\"roles\":[{\"name\":\"w\","
			      "\"workspace\":true,\"backend\":\"qemu\"}]}");
	series_add(out, bench_ms(begun));
	stage_end_team(&s->stages[0]);
	return rc;
}

/* Returns a kernel command line like that of core/machine/vm/qemu.c, but without the parameters
 * for a workspace. */
static const char *boot_words(struct arena *a, const char *accel)
{
	const char *tcg = arena_printf(
		a, " mitigations=off tsc=reliable tsc_early_khz=%ld", accel_tsc_khz());

	return arena_printf(a,
			    "console=ttyS0 quiet loglevel=3 panic=-1 reboot=t "
			    "cryptomgr.notests%s cadre.probe",
			    strcmp(accel, "tcg") ? "" : tcg);
}

/* Boots the kernel and initrd of VM workspaces in a VM that has no disk, no link to the host
 * and no workspace. Waits until the VM's first program has run (see guest/guest_boot.h). */
int act_bare_boot(struct scene *s, const struct act *act, struct series *out)
{
	static const char script[] = QEMU
		" -M microvm,x-option-roms=off -accel \"$0\" -cpu max -m 512M -nodefaults"
		" -no-user-config -display none -no-reboot -serial stdio"
		" -kernel \"$1/vmlinuz\" -initrd \"$1/initrd\" -append \"$2\""
		" | grep -q '" BOOT_ALIVE "'";
	const char *argv[] = { "sh", "-c", script, NULL, NULL, NULL, NULL };
	struct arena a = { 0 };
	struct fault f = { 0 };
	struct image image;
	int64_t begun;
	int rc;

	(void)s, (void)act;
	if (image_find(NULL, &a, &image, &f))
		return bench_fail_fault("no image", &f);
	argv[3] = accel_choose(arena_printf(&a, "%s/vmlinuz", image.dir),
			       arena_printf(&a, "%s/initrd", image.dir));
	argv[4] = image.dir;
	argv[5] = boot_words(&a, argv[3]);
	begun = bench_now();
	rc = bench_run_program(&(struct start){ .argv = argv });
	series_add(out, bench_ms(begun));
	arena_release(&a);
	return rc ? bench_fail("a bare boot failed") : 0;
}
