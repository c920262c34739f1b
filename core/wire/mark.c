#include "core/wire/mark.h"

#include <ctype.h>
#include <string.h>

static const char FF = (char)0xff;

void mark_init(struct mark_reader *r)
{
	*r = (struct mark_reader){ .n = -1 };
}

static char *pass_run(struct mark_reader *r, char *to)
{
	for (; r->run > 0; r->run--)
		*to++ = FF;
	return to;
}

/* Reads a byte after the FF bytes of a mark. An invalid byte ends the mark, and the bytes of
 * the invalid mark are dropped. */
static enum mark mark_take(struct mark_reader *r, char c)
{
	if (r->n < 0) {
		r->kind = c;
		r->run = 0;
		r->n = c == MARK_ASK || c == MARK_OK || c == MARK_NEW ? 0 : -1;
		return MARK_NONE;
	}
	if (!isxdigit((unsigned char)c)) {
		r->n = -1;
		return MARK_NONE;
	}
	r->nonce[r->n++] = c;
	if (r->n < MARK_NONCE)
		return MARK_NONE;
	r->n = -1;
	return (enum mark)r->kind;
}

enum mark mark_read(struct mark_reader *r, const char **data, size_t *len, char *out,
		    size_t *n)
{
	enum mark found = MARK_NONE;
	char *to = out;

	while (*len > 0 && !found) {
		const char *at = *data, *ff;
		size_t plain = 1;

		if (*at == FF) {
			/* A byte FF inside a mark ends the unfinished mark and begins another
			 * mark. */
			r->n = -1;
			r->run += r->run < MARK_RUN;
		} else if (r->n >= 0 || r->run == MARK_RUN) {
			found = mark_take(r, *at);
		} else {
			to = pass_run(r, to);
			ff = memchr(at, 0xff, *len);
			plain = ff ? (size_t)(ff - at) : *len;
			to = mempcpy(to, at, plain);
		}
		*data += plain;
		*len -= plain;
	}
	*n = (size_t)(to - out);
	return found;
}

void mark_write(char out[MARK_SIZE], enum mark kind, const char nonce[MARK_NONCE + 1])
{
	memset(out, 0xff, MARK_RUN);
	out[MARK_RUN] = (char)kind;
	memcpy(out + MARK_RUN + 1, nonce, MARK_NONCE);
}
