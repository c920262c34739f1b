/*
 * spool_witness - how far a spool had got, told in a file beside its folder.
 *
 * DIR.seq holds the spool's identity and how many commands it has let begin.  A copy of
 * DIR that is put back does not bring it along, so the spool is seen to be older than
 * that.  It is a second witness beside the host, for what began while no host listened:
 * where it cannot be written, or is gone, the host's word is all there is.
 */
#ifndef STORAGE_SPOOL_SPOOL_WITNESS_H
#define STORAGE_SPOOL_SPOOL_WITNESS_H

#include <stdbool.h>
#include <stdint.h>

struct spool_witness {
	char identity[64];
	int64_t seq;
};

/* False where there is none that can be read. */
bool spool_witness_read(const char *dir, struct spool_witness *w);
/* On the disk when it returns.  A failure leaves what was there. */
void spool_witness_write(const char *dir, const char *identity, int64_t seq);

#endif
