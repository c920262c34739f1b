/*
 * vault_page - a file of the mirror: its text, and how it proves itself.
 *
 * A page says in two lines of its own which event it shows (`rev`) and the
 * first half of a SHA-256 over all its other bytes, `rev` included (`sum`).  A
 * file whose sum fits is exactly as the mirror wrote it; one whose sum does not
 * fit has been in a person's hands.  Nothing here does I/O.
 */
#ifndef CORE_VAULT_VAULT_PAGE_H
#define CORE_VAULT_VAULT_PAGE_H

#include "core/op/op.h"

enum page_form { PAGE_MARKDOWN, PAGE_JSON };
enum { PAGE_SUM = 16 }; /* digits of a sum */

struct page {
	struct text text; /* without the two lines */
	size_t split; /* offset at which the two lines go in */
	enum page_form form;
};

/* Empties the page, and begins it: its text, to which the rest is added. */
struct text *page_start(struct page *p, enum page_form form);

/* Appends JSON and escapes the characters that a file may not hold; such characters stand
 * only within JSON strings. */
void page_add_json(struct text *t, const struct text *json);

struct card;
/* The card's file, without the time of its agent's last call, which moves without an event and
 * would have the file written for nothing. */
void card_page(const struct card *card, struct page *p);

/* The sum that the file has as of event `rev`. */
void page_sum(const struct page *p, int64_t rev, char sum[PAGE_SUM + 1]);

/* Appends the file's bytes, as of event `rev`, to `out`. */
void page_seal(const struct page *p, int64_t rev, struct text *out);

/* Whether a file holds this page, as of any event, with a sum that fits. */
bool page_same(const struct page *p, const char *data, size_t len);

/* Whether the mirror wrote the bytes `data`. */
bool page_sealed(const char *data, size_t len);
/* The offset behind the line of the sum, at page->split of the page; 0: the mirror did not write
 * the bytes `data`. */
size_t page_tail(const char *data, size_t len);

/* The integer behind `name` (as in "row: ") in the frontmatter, or 0. */
int64_t page_number(const char *data, size_t len, const char *name);

/* Whether the frontmatter has the line `line`. */
bool page_says(const char *data, size_t len, const char *line);

/* Frees the memory of a page. */
void page_release(struct page *p);

#endif
