/* card_page - writes the page of an agent's card. */
#include <jansson.h>

#include "core/base/alloc.h"
#include "core/vault/vault_page.h"

#include "ops.gen.h"

static int add_dump(const char *data, size_t len, void *text)
{
	text_add(text, data, len);
	return 0;
}

void card_page(const struct card *card, struct page *p)
{
	struct text *t = page_start(p, PAGE_JSON);
	struct text compact = { 0 }, dump = { 0 };
	struct card shown = *card;
	json_t *json;

	shown.has_last_active = false;
	op_encode(&record_card, &shown, &compact);
	json = json_loadb(compact.data, compact.len, 0, NULL);
	if (!json)
		out_of_memory(); /* op_encode() writes valid JSON, so only a lack of
				    memory can cause this */
	json_dump_callback(json, add_dump, &dump, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	page_add_json(t, &dump);
	json_decref(json);
	text_release(&compact);
	text_release(&dump);
	/* The end "\n}" of the dump becomes ",\n". The lines of `rev` and `sum` follow, and the
	 * brace comes behind these two lines. */
	t->len -= 2;
	text_addf(t, ",\n");
	p->split = t->len;
	text_addf(t, "}\n");
}
