/*
 * vault_page - a file of the mirror: its text, and how it proves itself.
 *
 * A page has two lines of its own. `rev` names the event that the page shows. `sum` is the
 * first half of a SHA-256 over all other bytes of the page, `rev` included. A file with a
 * correct sum is exactly as the mirror wrote the file; a person has changed a file with a wrong
 * sum. Nothing here does I/O.
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

/* Empties and begins a page. Returns the page's text, to which the caller adds the rest. */
struct text *page_start(struct page *p, enum page_form form);

/* Appends JSON and escapes the characters that a file may not hold; such characters occur only
 * within JSON strings. */
void page_add_json(struct text *t, const struct text *json);

struct card;
/* Renders the file of a card. The file leaves out the time of the agent's last call: this time
 * changes without an event, so the file would be written again and again. */
void card_page(const struct card *card, struct page *p);

/* Computes the sum of the page's file if the file shows event `rev`. */
void page_sum(const struct page *p, int64_t rev, char sum[PAGE_SUM + 1]);

/* Appends the bytes of the page's file, with `rev` as its event, to `out`. */
void page_seal(const struct page *p, int64_t rev, struct text *out);

/* Whether a file holds this page, with any `rev`, and with a correct sum. */
bool page_same(const struct page *p, const char *data, size_t len);

/* Whether the mirror wrote the bytes `data`. */
bool page_sealed(const char *data, size_t len);
/* The offset behind the line of the sum, which is where the page's text continues from
 * page->split on. 0: the mirror did not write the bytes `data`. */
size_t page_tail(const char *data, size_t len);

/* The integer behind `name` (as in "row: ") in the frontmatter, or 0. */
int64_t page_number(const char *data, size_t len, const char *name);

/* Whether the frontmatter has the line `line`. */
bool page_says(const char *data, size_t len, const char *line);

/* Frees the memory of a page. */
void page_release(struct page *p);

#endif
