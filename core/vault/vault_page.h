/*
 * vault_page - the text of a mirror's file, and the sum that shows whether a person has changed
 * the file.
 *
 * Each page has two extra lines, `rev` and `sum`. `rev` names the event that the page shows.
 * `sum` is the first 8 bytes of a SHA-256 in hexadecimal digits. The SHA-256 covers all other
 * bytes of the page, `rev` included. If the sum is correct, the file is exactly as the mirror
 * wrote it. If the sum is wrong, a person has changed the file. Nothing here does I/O.
 */
#ifndef CORE_VAULT_VAULT_PAGE_H
#define CORE_VAULT_VAULT_PAGE_H

#include "core/op/op.h"

enum page_form { PAGE_MARKDOWN, PAGE_JSON };
enum { PAGE_SUM = 16 }; /* digits of a sum */

struct page {
	struct text text; /* text without the lines of `rev` and `sum` */
	size_t split; /* offset of the lines of `rev` and `sum` */
	enum page_form form;
};

/* Empties a page and writes its beginning. Returns the page's text, to which the caller adds
 * the rest of the page. */
struct text *page_start(struct page *p, enum page_form form);

/* Appends JSON, and escapes the characters that a file may not have. Characters that must be
 * escaped are only in JSON strings. */
void page_add_json(struct text *t, const struct text *json);

struct card;
/* Renders the file of a card. The file leaves out the time of the agent's last call, because
 * this time changes without an event. A file with the time of the last call would be written
 * again and again. */
void card_page(const struct card *card, struct page *p);

/* Computes the sum of the page's file for the event `rev`. */
void page_sum(const struct page *p, int64_t rev, char sum[PAGE_SUM + 1]);

/* Appends the page's file for the event `rev` to `out`. */
void page_seal(const struct page *p, int64_t rev, struct text *out);

/* Whether the file `data` consists of this page's text, a `rev` of any value, and the correct
 * sum. */
bool page_same(const struct page *p, const char *data, size_t len);

/* Whether the mirror wrote the bytes `data`. */
bool page_sealed(const char *data, size_t len);
/* The offset behind the `sum` line. The bytes from this offset on are the page's text from
 * page->split on. 0: the mirror did not write the bytes `data`. */
size_t page_tail(const char *data, size_t len);

/* The number in the frontmatter's line that begins with `name`, or 0. */
int64_t page_number(const char *data, size_t len, const char *name);

/* Whether the frontmatter has the line `line`. */
bool page_says(const char *data, size_t len, const char *line);

/* Frees the memory of a page. */
void page_release(struct page *p);

#endif
