/*
 * byte_lock - a lock on one byte of a file, for which callers wait in the kernel's queue.
 *
 * The locks belong to the open file description (OFD). Two open descriptions of one process
 * exclude each other. When a description is closed, the kernel drops its locks. No caller
 * polls. If a new caller asks just when the lock becomes free, the new caller may overtake the
 * waiting callers. To prevent this, every caller must hold the lock on a second byte while
 * waiting for the first byte.
 */
#ifndef STORAGE_BYTE_LOCK_H
#define STORAGE_BYTE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Takes, changes or drops the lock on byte `byte` of `fd`; `type` is F_WRLCK, F_RDLCK or
 * F_UNLCK. Returns 0, or -1 with errno. EAGAIN and EACCES mean that another descriptor has the
 * lock. */
int byte_lock(int fd, int64_t byte, short type);
/* Whether another descriptor holds a lock on the byte. */
bool byte_is_locked(int fd, int64_t byte);
/* Waits for the lock until `until` (clock_steady_ms()). Returns 0, or -1 with errno, which is
 * ETIMEDOUT when the time has run out. SIGRTMIN interrupts the waiting thread. The function
 * installs an empty handler for this signal. */
int byte_lock_wait(int fd, int64_t byte, short type, int64_t until);

#endif
