/*
 * spending - writes the buckets of limits to rows soon after agents have spent.
 *
 * Every RATE_KEEP_MS a transaction of the writer also writes the buckets (batch.c).  If the
 * writer has no transaction, a timer starts one for the buckets.
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
