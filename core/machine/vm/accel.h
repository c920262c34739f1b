/*
 * accel - finds how VMs can run on this machine.
 */
#ifndef CORE_MACHINE_VM_ACCEL_H
#define CORE_MACHINE_VM_ACCEL_H

/* Returns "kvm" if a VM with this kernel and initrd really starts with KVM, else "tcg". Tries
 * KVM once per process, for a few seconds at most. May be called from any thread except that of
 * an event loop. $CADRE_ACCEL sets the result without a trial. */
const char *accel_choose(const char *kernel, const char *initrd);

/* The rate of this processor's time stamps in kHz; 0 if the processor has no time stamps. The
 * number is given to a kernel that runs under TCG. That kernel has no other clock to measure
 * the rate, and on a busy machine its measurement might never end. */
long accel_tsc_khz(void);

#endif
