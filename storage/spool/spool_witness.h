/*
 * spool_witness - the count of a spool, recorded in a file beside its folder.
 *
 * DIR.seq holds the spool's identity and how many commands it has let begin.  A copy of
 * DIR that is put back does not bring it along, so the spool is seen to be older than
 * that.  DIR.seq is a second witness beside the host, for commands that began while no
 * host listened.  If DIR.seq is missing or cannot be written, only the host's record
 * counts.
 */
#ifndef STORAGE_SPOOL_SPOOL_WITNESS_H
#define STORAGE_SPOOL_SPOOL_WITNESS_H

#include <stdbool.h>
#include <stdint.h>

struct spool_witness {
	char identity[64];
	int64_t seq;
};

/* Reads the witness file: false where there is none that can be read. */
bool spool_witness_read(const char *dir, struct spool_witness *w);
/* Writes the witness file durably; a failure leaves the old file. */
void spool_witness_write(const char *dir, const char *identity, int64_t seq);

#endif
