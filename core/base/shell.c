#include "core/base/shell.h"

#include <string.h>

/* Characters that have no special meaning in a shell. */
static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789@%+=:,./_-";

char *shell_word(struct arena *a, const char *text)
{
	const char *quote;
	char *out;

	if (*text && !text[strspn(text, plain)])
		return arena_strdup(a, text);
	out = arena_strdup(a, "'");
	while ((quote = strchr(text, '\''))) {
		out = arena_printf(a, "%s%.*s'\\''", out, (int)(quote - text), text);
		text = quote + 1;
	}
	return arena_printf(a, "%s%s'", out, text);
}

const char *shell_text(struct arena *a, const char *word)
{
	char *out = arena_strdup(a, "");
	size_t n;

	if (*word != '\'')
		return *word && !word[strspn(word, plain)] ? word : NULL;
	for (;;) {
		n = strcspn(++word, "'");
		out = arena_printf(a, "%s%.*s", out, (int)n, word);
		word += n;
		if (strncmp(word, "'\\''", 4) != 0)
			return strcmp(word, "'") ? NULL : out;
		out = arena_printf(a, "%s'", out);
		word += 3;
	}
}

const char *shell_bare(struct arena *a, const char *line)
{
	char *out = arena_strdup(a, line), *to = out;

	for (const char *s = line; *s; s++)
		if (!strchr("'\"\\", *s) && !(s[0] == ' ' && s[1] == ' '))
			*to++ = *s;
	*to = '\0';
	return out;
}
