#include "core/wire/receipt.h"

#include "core/wire/wire.h"

enum { RECEIPTS_MAX = 1000 };

static void *receipt_out(struct receipts *all, struct receipt **at)
{
	struct receipt *r = *at;

	*at = r->next;
	all->n--;
	json_decref(r->id);
	return r;
}

void *receipt_keep(struct receipts *all, struct receipt *r, const json_t *id)
{
	struct receipt **at = &r->next;

	*r = (struct receipt){ all->first, json_incref((json_t *)id) };
	all->first = r;
	if (++all->n <= RECEIPTS_MAX)
		return NULL;
	while ((*at)->next)
		at = &(*at)->next;
	return receipt_out(all, at);
}

void *receipt_take(struct receipts *all, const char *id)
{
	for (struct receipt **at = &all->first; *at; at = &(*at)->next)
		if (!id || wire_id_is((*at)->id, id))
			return receipt_out(all, at);
	return NULL;
}
