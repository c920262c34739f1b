#include "core/call/id.h"

#include <inttypes.h>
#include <string.h>

static const int64_t mask48 = ((int64_t)1 << 48) - 1;
static const int64_t spread = 2442737;

static int load_keys(struct call *call)
{
	struct state_keys_row k;
	int rc;

	if (call->ids.known)
		return 0;
	if ((rc = sql_row(call, state_keys, &k)) < 0)
		return rc;
	call->ids = (struct id_keys){ true, k.id_a, k.id_b, k.id_c };
	return 0;
}

static char *id_put_hex(char *at, uint64_t v, int digits)
{
	for (int i = digits - 1; i >= 0; i--, v >>= 4)
		at[i] = "0123456789abcdef"[v & 15];
	return at + digits;
}

/* Reads so many digits: false where there are fewer. */
static bool take_hex(const char **s, int digits, uint64_t *v)
{
	for (*v = 0; digits > 0; digits--, ++*s) {
		const char c = **s;

		if (c >= '0' && c <= '9')
			*v = *v << 4 | (uint64_t)(c - '0');
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			*v = *v << 4 | (uint64_t)((c | 32) - 'a' + 10);
		else
			return false;
	}
	return true;
}

const char *id_public(struct call *call, enum id_noun noun, int64_t row, int64_t at)
{
	const struct id_keys *k = &call->ids;
	char *id, *p;

	if (load_keys(call) < 0)
		return NULL;
	id = p = arena_alloc(&call->arena, ID_SIZE);
	p = id_put_hex(p, (uint64_t)at >> 16, 8);
	*p++ = '-';
	p = id_put_hex(p, (uint64_t)at, 4);
	*p++ = '-';
	p = id_put_hex(p, (uint64_t)(0x7000 | k->a), 4);
	*p++ = '-';
	p = id_put_hex(p, (uint64_t)(0x8000 | (int64_t)noun << 10 | k->b), 4);
	*p++ = '-';
	p = id_put_hex(p, (uint64_t)(((row + at * spread) & mask48) ^ k->c), 12);
	*p = '\0';
	return id;
}

int id_parse(struct call *call, enum id_noun noun, const char *text, int64_t *row,
	     int64_t *at)
{
	uint64_t high, low, a, b, n;
	const char *s = text;
	int rc;

	if ((rc = load_keys(call)) < 0)
		return rc;
	if (!take_hex(&s, 8, &high) || *s++ != '-' || !take_hex(&s, 4, &low) ||
	    *s++ != '-' || !take_hex(&s, 4, &a) || *s++ != '-' || !take_hex(&s, 4, &b) ||
	    *s++ != '-' || !take_hex(&s, 12, &n) || *s)
		return 0;
	if ((int64_t)a != (0x7000 | call->ids.a) ||
	    (int64_t)b != (0x8000 | (int64_t)noun << 10 | call->ids.b))
		return 0;
	*at = (int64_t)(high << 16 | low);
	*row = (((int64_t)n ^ call->ids.c) - *at * spread) & mask48;
	return 1;
}
