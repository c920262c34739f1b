/*
 * money - amounts of money, which are stored in millionths of a dollar, as texts for people.
 */
#ifndef CORE_BASE_MONEY_H
#define CORE_BASE_MONEY_H

#include <stdbool.h>
#include <stdint.h>

/* Writes an amount as $5, $4.20 or $0.031. */
void money_write(int64_t millionths, char out[32]);
/* Reads an amount such as $5, $4.20 or 4.20$. A shell replaces $5 outside of quotes, but not 5$.
 * Returns false if the text is no such amount, or has more than six decimals. */
bool money_read(const char *text, int64_t *millionths);

#endif
