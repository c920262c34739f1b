/*
 * hint - writes the hints of faults in the words of a door.
 */
#include "core/op/op.h"

#include <stdio.h>
#include <string.h>

static void hint_add(struct text *out, const char *s)
{
	text_add(out, s, strlen(s));
}

static void hint_write_command(const struct op *op, struct text *out)
{
	hint_add(out, "cadre");
	for (size_t i = 0; op->cli[i]; i++)
		text_addf(out, " %s", op->cli[i]);
}

static void write_op(const struct op *op, enum hint_style style, struct text *out)
{
	if (style == HINT_TOOL && op->tool) {
		hint_add(out, op->tool);
		if (op->action)
			text_addf(out, " action=%s", op->action);
	} else if (style == HINT_ROUTE && op->http_path)
		text_addf(out, "%s %s", op->http_method, op->http_path);
	else if (op->cli)
		hint_write_command(op, out);
	else
		hint_add(out, op->name);
}

/* Writes the text that replaces a word between braces. Returns false if the word is neither an
 * operation nor a choice. */
static bool write_word(const char *word, enum hint_style style, struct text *out)
{
	const char *bar = strchr(word, '|');
	const struct op *op = op_find(word);

	if (op)
		write_op(op, style, out);
	else if (bar && style == HINT_COMMAND)
		hint_add(out, bar + 1);
	else if (bar)
		text_add(out, word, (size_t)(bar - word));
	return op || bar;
}

void hint_write(const char *hint, enum hint_style style, struct text *out)
{
	const char *open, *close;
	char word[200];

	while ((open = strchr(hint, '{')) && (close = strchr(open, '}'))) {
		text_add(out, hint, (size_t)(open - hint));
		snprintf(word, sizeof(word), "%.*s", (int)(close - open - 1), open + 1);
		if (!write_word(word, style, out))
			text_add(out, open, (size_t)(close + 1 - open));
		hint = close + 1;
	}
	hint_add(out, hint); /* done even if `hint` is empty, so that `out` has a
				buffer */
}

static void write_available(const char *names, struct text *out)
{
	size_t n;

	for (const char *s = names; *s; s += n + (s[n] == ',')) {
		n = strcspn(s, ",");
		text_addf(out, s == names ? ",\"available\":[\"%.*s\"" : ",\"%.*s\"",
			  (int)n, s);
	}
	if (*names)
		text_add(out, "]", 1);
}

void fault_write(const struct fault *f, enum hint_style style, struct text *out)
{
	struct text hint = { 0 };

	hint_write(f->hint, style, &hint);
	text_addf(out, "{\"code\":\"%s\",\"where\":", fault_info(f->code)->name);
	text_add_json(out, f->where);
	text_addf(out, ",\"text\":");
	text_add_json(out, f->text);
	text_addf(out, ",\"hint\":");
	text_add_json(out, hint.data);
	text_release(&hint);
	if (f->retry_after_ms)
		text_addf(out, ",\"retry_after_ms\":%lld", (long long)f->retry_after_ms);
	write_available(f->available, out);
	text_add(out, "}", 1);
}

const char *hint_plain(const char *hint, char out[HINT_SIZE])
{
	struct text text = { 0 };

	hint_write(hint, HINT_COMMAND, &text);
	snprintf(out, HINT_SIZE, "%s", text.data);
	text_release(&text);
	return out;
}
