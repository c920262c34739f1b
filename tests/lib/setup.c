#include "tests/lib/setup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct setup_words words = { .command = "/opt/bin/cadre",
					  .line = "/opt/bin/cadre hook CLIENT",
					  .plugin = "export const plugin = 1;\n" };

struct setup_words setup_words_for(struct arena *a, const struct setup_client *c)
{
	struct setup_words w = words;

	w.line = arena_printf(a, "%s hook %s", w.command, c->name);
	return w;
}

struct setup_draft setup_draft_of(const char *text, size_t len)
{
	struct setup_draft d = { .name = "file", .there = text != NULL };

	if (text)
		text_add(&d.text, text, len);
	return d;
}

void setup_same(const struct setup_draft *d, const char *text, size_t len)
{
	if (d->text.len == len && (!len || !memcmp(d->text.data, text, len)))
		return;
	fail_msg("is:\n%s\nnot:\n%s", d->text.len ? d->text.data : "", len ? text : "");
}

void setup_round_trip(const char *client, enum setup_part part, const char *text,
		      size_t len, struct text *with)
{
	const struct setup_client *c = setup_client_named(client);
	struct setup_draft d = setup_draft_of(text, len);
	struct setup_tally first = { 0 }, second = { 0 };
	struct arena a = { 0 };
	struct setup_words w = setup_words_for(&a, c);
	struct fault f = { 0 };
	struct text kept = { 0 };

	if (setup_put(c, part, &w, &d, &first, &f) < 0)
		fail_msg("%s: %s in:\n%s", client, f.text, text);
	assert_true(first.missing > 0);
	assert_true(d.there);
	text_add(&kept, d.text.data, d.text.len);
	assert_int_equal(setup_put(c, part, &w, &d, &second, &f), 0);
	setup_same(&d, kept.data, kept.len);
	assert_int_equal(second.missing + second.changed, 0);
	assert_int_equal(second.found, first.found + first.missing);
	assert_int_equal(setup_cut(c, part, &w, &d, &f), 0);
	assert_int_equal(d.there, text != NULL);
	if (text)
		setup_same(&d, text, len);
	if (with)
		*with = kept;
	else
		text_release(&kept);
	text_release(&d.text);
	arena_release(&a);
}
