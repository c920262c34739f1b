#include "tests/lib/setup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/cadre/hook/hook.h"

const char *setup_event(const struct setup_client *c, int i)
{
	const struct hook_client *h = hook_clients;
	const struct hook_rule *r;

	while (strcmp(h->name, c->name) != 0)
		h++;
	for (r = h->rules; r->event; r++)
		if (r->kind != HOOK_END && !i--)
			break;
	return r->event;
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
	struct fault f = { 0 };
	struct text kept = { 0 };

	if (setup_put(c, part, SETUP_COMMAND, &d, &first, &f) < 0)
		fail_msg("%s: %s in:\n%s", client, f.text, text);
	assert_true(first.missing + first.yours > 0);
	assert_true(d.there);
	text_add(&kept, d.text.data, d.text.len);
	assert_int_equal(setup_put(c, part, SETUP_COMMAND, &d, &second, &f), 0);
	setup_same(&d, kept.data, kept.len);
	assert_int_equal(second.missing + second.changed, 0);
	assert_int_equal(second.found, first.found + first.missing);
	assert_int_equal(second.yours, first.yours);
	assert_int_equal(setup_cut(c, part, SETUP_COMMAND, &d, &f), 0);
	assert_int_equal(d.there, text != NULL);
	if (text)
		setup_same(&d, text, len);
	if (with)
		*with = kept;
	else
		text_release(&kept);
	text_release(&d.text);
}

struct text setup_put_text(const char *client, enum setup_part part, const char *text,
			   struct setup_tally *t, struct fault *f)
{
	const struct setup_client *c = setup_client_named(client);
	struct setup_draft d = setup_draft_of(text, strlen(text));

	*t = (struct setup_tally){ 0 };
	*f = (struct fault){ 0 };
	setup_put(c, part, SETUP_COMMAND, &d, t, f);
	return d.text;
}

struct text setup_cut_text(const char *client, enum setup_part part, const char *text,
			   struct fault *f)
{
	const struct setup_client *c = setup_client_named(client);
	struct setup_draft d = setup_draft_of(text, strlen(text));

	*f = (struct fault){ 0 };
	setup_cut(c, part, SETUP_COMMAND, &d, f);
	return d.text;
}

void setup_refused(const char *client, enum setup_part part, const char *text, int code,
		   const char *why)
{
	struct setup_tally t;
	struct fault f;
	struct text got = setup_put_text(client, part, text, &t, &f);

	if (f.code != code || !strstr(f.text, why))
		fail_msg("%s: %d '%s', not '%s'", text, f.code, f.text, why);
	if (part != PART_HOOKS)
		assert_string_equal(got.data, text);
	text_release(&got);
}
