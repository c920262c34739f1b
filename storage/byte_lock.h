/*
 * byte_lock - a lock on one byte of a file, and waiting for it in the kernel's queue.
 *
 * The locks belong to the open file description (OFD): two descriptors of one process
 * exclude each other, and the kernel drops a lock with its descriptor.  Nobody polls; but
 * a caller who asks while the lock is free overtakes the callers who wait.  To prevent overtaking,
 * there is a second byte: a waiter holds the second byte while it waits for the first.
 */
#ifndef STORAGE_BYTE_LOCK_H
#define STORAGE_BYTE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Takes, changes or drops (`type`: F_WRLCK, F_RDLCK, F_UNLCK) the lock on byte `byte` of
 * `fd`: 0, or -1 with errno (EAGAIN or EACCES: another has it). */
int byte_lock(int fd, int64_t byte, short type);
/* Whether another descriptor holds the byte. */
bool byte_is_locked(int fd, int64_t byte);
/* Waits for it until `until` (clock_steady_ms()): 0, or -1 with errno, ETIMEDOUT when the
 * time is over.  SIGRTMIN interrupts the waiting thread, unless the process uses it. */
int byte_lock_wait(int fd, int64_t byte, short type, int64_t until);

#endif
