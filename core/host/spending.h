/*
 * spending - sees to it that what agents spend of their limits comes into rows soon.
 *
 * A transaction of the writer writes it where none has for RATE_KEEP_MS (batch.c); where none
 * comes, one of its own does.
 */
#ifndef CORE_HOST_SPENDING_H
#define CORE_HOST_SPENDING_H

struct host;

void spending_open(struct host *host);
/* Before the loop sleeps: sets the timer where something was spent. */
void spending_look(struct host *host);
/* Writes what is left, and ends the timer. */
void spending_close(struct host *host);

#endif
