/*
 * check - parts of a client that are not as they were set up: an entry or hook is missing,
 * or the command that one names is gone.
 */
#include <stdio.h>
#include <string.h>

#include "tools/cadre/setup/setup.h"

static const char *const parts[] = { "the MCP server", "hooks", "the instructions" };

/* Adds what is wrong with a part, behind a semicolon where something is there. */
static void add(struct text *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void add(struct text *out, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text_addf(out, "%s%s", out->len ? "; " : "", text);
}

/* Adds what is wrong; returns how many entries of the part were found that setup
 * put there. */
static int look(struct setup_plan *p, const struct setup_client *c, enum setup_part part,
		struct text *out)
{
	struct setup_tally t;
	struct fault f = { 0 };
	struct setup_target *target = setup_plan_target(p, c, part, &f);

	setup_plan_look(p, c, part, &t, &f);
	if (f.code)
		add(out, "%s", f.text);
	else if (t.missing)
		add(out, "%s: %d of %d missing (%s)", parts[part], t.missing,
		    t.missing + t.found, target->shown);
	if (!f.code && t.changed &&
	    (part == PART_TEXT || (part == PART_HOOKS && c->plugin)))
		add(out, "%s: of another version (%s)", parts[part], target->shown);
	if (t.gone[0])
		add(out, "%s: there is no %s any more (%s)", parts[part], t.gone,
		    target->shown);
	return t.found - t.yours;
}

static int check_client(struct setup_plan *p, const struct setup_client *c, bool asked,
			setup_say *say, void *arg)
{
	struct text wrong = { 0 };
	const char *todo = arena_printf(&p->arena, "cadre setup %s %s", c->name,
					p->project[0] ? "--project" : "--user");
	int found = 0, bad = 0;

	for (int part = PART_MCP; part < PART_COUNT; part++) {
		int n = look(p, c, (enum setup_part)part, &wrong);

		found += part == PART_TEXT ? 0 : n; /* which others have too */
	}
	if (!found && !asked) {
		text_release(&wrong);
		return 0;
	}
	if (wrong.len)
		say(arg, false, c, found ? wrong.data : "is not set up", todo);
	else
		say(arg, true, c,
		    p->project[0] ? "is set up in the project" : "is set up for the user",
		    NULL);
	bad = wrong.len > 0;
	text_release(&wrong);
	return bad;
}

int setup_check(struct setup_plan *p, bool asked, setup_say *say, void *arg)
{
	int bad = 0;

	for (const struct setup_client **c = p->clients; *c; c++)
		bad += check_client(p, *c, asked, say, arg);
	return bad;
}
