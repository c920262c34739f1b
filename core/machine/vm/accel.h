/*
 * accel - finds whether the VMs of this machine can run with KVM.
 */
#ifndef CORE_MACHINE_VM_ACCEL_H
#define CORE_MACHINE_VM_ACCEL_H

/* Returns "kvm" if a VM with this kernel and initrd really starts with KVM, else "tcg". The
 * first call in a process tries KVM for a few seconds at most, and all later calls return the
 * same result. Any thread may call accel_choose(), except a thread that runs an event loop. If
 * $CADRE_ACCEL is set, this variable decides the result, and KVM is not tried. */
const char *accel_choose(const char *kernel, const char *initrd);

/* Returns the frequency of this processor's time stamp counter in kHz, or 0 if the processor is
 * no x86-64. A kernel that starts under TCG reads this frequency from its command line. Under
 * TCG the kernel has no other clock to measure the frequency, and on a busy machine the
 * kernel's measurement might never end. */
long accel_tsc_khz(void);

#endif
