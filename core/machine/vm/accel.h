/*
 * accel - how VMs are run on this machine.
 */
#ifndef CORE_MACHINE_VM_ACCEL_H
#define CORE_MACHINE_VM_ACCEL_H

/* "kvm" when a VM with this kernel and initrd really came up with it, else
 * "tcg".  Tried once per process, a few seconds at most; from any thread but a
 * loop's.  $CADRE_ACCEL says it without a trial. */
const char *accel_choose(const char *kernel, const char *initrd);

/* The rate of this processor's time stamps in kHz, 0 when it has none.  Told to
 * a kernel under TCG: it has no other clock to measure it by, and on a busy
 * machine it waits forever for one. */
long accel_tsc_khz(void);

#endif
