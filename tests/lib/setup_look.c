#include <stdio.h>
#include <string.h>

#include "tests/lib/setup.h"

static void both(struct setup_look *l, const char *s)
{
	text_addf(&l->out, "%s", s);
	text_addf(&l->plain, "%s", s);
}

static void throw_between(struct setup_look *l, int depth)
{
	static const char *const some[] = { "", "", "", " ", "  ", "\t" };

	if (l->comments && dice_percent(l->dice, 12))
		text_addf(&l->out, " /* \" , } ] // %d */", dice_below(l->dice, 9));
	if (l->comments && dice_percent(l->dice, 10))
		text_addf(&l->out, " // it's {\"cadre\": [%s", l->eol);
	if (l->flat) {
		text_addf(&l->out, "%s", some[dice_below(l->dice, 6)]);
		return;
	}
	text_addf(&l->out, "%s", some[dice_below(l->dice, 4)]);
	for (int i = dice_percent(l->dice, 90) ? 1 : dice_below(l->dice, 3); i; i--)
		text_addf(&l->out, "%s", l->eol);
	for (int i = 0; i < depth; i++)
		text_addf(&l->out, "%s", l->unit);
}

static void throw_scalar(struct setup_look *l)
{
	static const char *const some[] = { "1",
					    "-0.5e+3",
					    "true",
					    "null",
					    "\"\"",
					    "\"a\\u0000\\\"b\\\\\"",
					    "\"π\"",
					    "\"\xf0\x9f\x98\x80 // no comment\"",
					    "\"\\ud83d\\ude00\"",
					    "\"/* x */\"",
					    "\"}\"" };

	both(l, some[dice_below(l->dice, 11)]);
}

static void throw_value(struct setup_look *l, int depth);

/* Writes the comma and the space before a member or item. `n` is the number of members or items
 * before it. */
static void throw_comma(struct setup_look *l, int depth, int n)
{
	if (n)
		both(l, ",");
	throw_between(l, depth);
}

/* Writes random members or items. If `own` is not NULL, `own` is the first member or item. */
static void throw_members(struct setup_look *l, int depth, char open, const char *own)
{
	int n = dice_below(l->dice, 4), i = 0;
	char brackets[2] = { open };

	both(l, brackets);
	if (own) {
		throw_comma(l, depth + 1, i++);
		both(l, own);
	}
	for (int k = 0; k < n; k++) {
		char key[40];

		throw_comma(l, depth + 1, i++);
		snprintf(key, sizeof(key), "\"k%dé\": ", l->n++);
		if (open == '{')
			both(l, key);
		throw_value(l, depth + 1);
	}
	if (i && l->trailing)
		text_addf(&l->out, ",");
	if (i || dice_percent(l->dice, 30))
		throw_between(l, depth);
	brackets[0] = open == '{' ? '}' : ']';
	both(l, brackets);
}

static void throw_value(struct setup_look *l, int depth)
{
	bool flat = l->flat;
	int kind = dice_below(l->dice, depth > 4 ? 1 : 4);

	l->flat = flat || dice_percent(l->dice, 25);
	if (kind == 2)
		throw_members(l, depth, '{', NULL);
	else if (kind == 3)
		throw_members(l, depth, '[', NULL);
	else
		throw_scalar(l);
	l->flat = flat;
}

/* Returns, at random, NULL or an entry that a person could have written to run `cadre mcp`. */
static const char *own_entry(struct setup_look *l, const struct setup_client *c)
{
	if (!dice_percent(l->dice, 25))
		return NULL;
	l->own[PART_MCP]++;
	return strstr(c->entry, "[\"@\"")
		       ? "\"cadre\": {\"command\": [\"cadre\", \"mcp\", \"--mine\"]}"
		       : "\"cadre\": { \"args\": [\"mcp\"], \"env\": {}, \"command\": \"cadre\" }";
}

/* Returns, at random, NULL or a hook that a person could have written to run `cadre hook`. */
static const char *own_hook(struct setup_look *l, const struct setup_client *c,
			    char out[200])
{
	static const char *const some[] = {
		"{\"command\": \"env X=1 cadre hook %s\"}",
		"{ \"hooks\": [ {\"command\":\"test -x cadre && cadre hook %s\"} ] }",
	};

	if (!dice_percent(l->dice, 30))
		return NULL;
	l->own[PART_HOOKS]++;
	snprintf(out, 200, some[dice_below(l->dice, 2)], c->name);
	return out;
}

/* Writes the members of the root object to which `cadre setup` will add parts later. */
static void throw_ours(struct setup_look *l, const struct setup_client *c, int *i)
{
	bool flat = l->flat;
	char key[40], own[200];

	if (dice_percent(l->dice, 60)) {
		throw_comma(l, 1, (*i)++);
		snprintf(key, sizeof(key), "\"%s\": ", c->servers);
		both(l, key);
		l->flat = flat || dice_percent(l->dice, 30);
		throw_members(l, 1, '{', own_entry(l, c));
		l->flat = flat;
	}
	if (!c->hook || dice_percent(l->dice, 40))
		return;
	throw_comma(l, 1, (*i)++);
	both(l, "\"hooks\": {");
	for (int n = dice_below(l->dice, 3), k = 0; k < n; k++) {
		throw_comma(l, 2, k);
		snprintf(key, sizeof(key), "\"%s\": ", setup_event(c, k * 2));
		both(l, key);
		throw_members(l, 2, '[', own_hook(l, c, own));
	}
	throw_between(l, 1);
	both(l, "}");
}

void setup_throw_json(struct setup_look *l, const struct setup_client *c)
{
	static const char *const eols[] = { "\n", "\r\n" }, *const units[] = { "  ", "\t",
									       "    ",
									       "" };
	bool early;
	int i = 0;

	l->eol = eols[dice_below(l->dice, 2)];
	l->unit = units[dice_below(l->dice, 4)];
	l->comments = dice_percent(l->dice, 50);
	l->trailing = dice_percent(l->dice, 30);
	l->flat = dice_percent(l->dice, 15);
	if (dice_percent(l->dice, 15))
		text_addf(&l->out, "\xef\xbb\xbf");
	both(l, "{");
	early = dice_percent(l->dice, 40);
	if (early)
		throw_ours(l, c, &i);
	for (int n = dice_below(l->dice, 4); n--;) {
		char key[40];

		throw_comma(l, 1, i++);
		snprintf(key, sizeof(key), "\"k%d \\u00e9\": ", l->n++);
		both(l, key);
		throw_value(l, 1);
	}
	if (!early && dice_percent(l->dice, 80))
		throw_ours(l, c, &i);
	if (i && l->trailing)
		text_addf(&l->out, ",");
	throw_between(l, 0);
	both(l, "}");
	if (dice_percent(l->dice, 80))
		text_addf(&l->out, "%s", l->eol);
}

/* --- TOML ---------------------------------------------------------------------- */

static void throw_toml_value(struct setup_look *l)
{
	static const char *const some[] = {
		"1",
		"0x1F",
		"true",
		"inf",
		"1979-05-27T07:32:00Z",
		"\"a\\\"b # no\"",
		"'C:\\x'",
		"\"\"\"\n[mcp_servers.cadre]\n\"\"\"",
		"'''it's'''",
		"[ 1, 2, # two\n\t3,\n]",
		"{ a = 1, b = [\"x\"] }",
		"\"π \xf0\x9f\x98\x80\"",
	};

	for (const char *s = some[dice_below(l->dice, 12)]; *s; s++)
		text_addf(&l->out, "%s%c", *s == '\n' && l->eol[0] == '\r' ? "\r" : "",
			  *s);
}

static void throw_pairs(struct setup_look *l)
{
	static const char *const keys[][2] = { { "k", " = " },
					       { "\"k é", "\" = " },
					       { "k", ".deep.er=" },
					       { "\t'k", "'\t=\t" } };

	for (int n = dice_below(l->dice, 4); n--;) {
		int which = dice_below(l->dice, 4);

		if (dice_percent(l->dice, 20))
			text_addf(&l->out, "  # [mcp_servers.cadre]%s", l->eol);
		if (dice_percent(l->dice, 20))
			text_addf(&l->out, "%s", l->eol);
		text_addf(&l->out, "%s%d%s", keys[which][0], l->n++, keys[which][1]);
		throw_toml_value(l);
		text_addf(&l->out, "%s%s", dice_percent(l->dice, 20) ? " # why" : "",
			  l->eol);
	}
}

void setup_throw_toml(struct setup_look *l)
{
	static const char *const heads[][2] = { { "[t", "]" },
						{ "[mcp_servers.s", "]" },
						{ "[[a", ".b]]" },
						{ "[ mcp_servers . \"s ", "\" ]" } };

	l->eol = dice_percent(l->dice, 30) ? "\r\n" : "\n";
	if (dice_percent(l->dice, 15))
		text_addf(&l->out, "\xef\xbb\xbf");
	throw_pairs(l);
	if (dice_percent(l->dice, 20))
		text_addf(&l->out, "mcp_servers.dotted.command = 'x'%s", l->eol);
	for (int n = dice_below(l->dice, 4); n--;) {
		int which = dice_below(l->dice, 4);

		text_addf(&l->out, "%s%d%s%s", heads[which][0], l->n++, heads[which][1],
			  l->eol);
		throw_pairs(l);
	}
	if (dice_percent(l->dice, 20)) {
		l->own[PART_MCP]++;
		text_addf(
			&l->out,
			"[mcp_servers.cadre]%scommand = 'cadre'%sargs = ['mcp', '--mine']%s",
			l->eol, l->eol, l->eol);
	}
	for (int n = dice_below(l->dice, 3); n--;)
		text_addf(&l->out, "%s", l->eol);
	if (dice_percent(l->dice, 15))
		text_addf(&l->out, "# end");
	else if (dice_percent(l->dice, 20) && l->out.len > 3 &&
		 l->out.data[l->out.len - 1] == '\n')
		l->out.data[l->out.len -= strlen(l->eol)] = '\0';
}
