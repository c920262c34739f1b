/*
 * check - parts of a client that are not as they were set up: an entry or hook is missing,
 * names a program that is gone or another one, or acts as the operator; a file is broken, or
 * switches it off; or instructions are all that is left.
 */
#include <stdio.h>
#include <string.h>

#include "tools/cadre/setup/setup.h"

static const char *const parts[] = { "the MCP server", "hooks", "the instructions" };

/* Adds what is wrong with a part, behind a semicolon where something is there. */
static void check_add(struct text *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void check_add(struct text *out, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text_addf(out, "%s%s", out->len ? "; " : "", text);
}

/* Adds a fault, once: two parts may be in one file. */
static void add_fault(struct text *out, const struct fault *f)
{
	if (!out->len || !strstr(out->data, f->text))
		check_add(out, "%s", f->text);
}

/* Findings about a client. */
struct seen {
	struct text wrong;
	struct text mend; /* the files that a person has to mend */
	int ours, yours; /* entries and hooks */
	bool may_have; /* a file that cannot be read may have something of ours */
	bool misled; /* an entry of a person's for cadre does not do what it should */
};

static void to_mend(struct seen *s, const char *file)
{
	if (!s->mend.len || !strstr(s->mend.data, file))
		text_addf(&s->mend, "%s%s", s->mend.len ? ", " : "mend ", file);
}

static void check_release(struct seen *s)
{
	text_release(&s->wrong);
	text_release(&s->mend);
}

static void check_look_at(struct setup_plan *p, const struct setup_client *c,
			  enum setup_part part, struct seen *s)
{
	struct setup_tally t;
	struct fault f = { 0 };
	struct setup_target *target = setup_plan_target(p, c, part, &f);
	const char *file = target ? target->shown : "that file";

	if (setup_plan_look(p, c, part, &t, &f)) {
		add_fault(&s->wrong, &f);
		to_mend(s, file);
		s->may_have |= part != PART_TEXT && f.code != FAULT_CONFLICT &&
			       setup_plan_may_have(p, target, &f);
		return;
	}
	if (t.missing)
		check_add(&s->wrong, "%s: %d of %d missing (%s)", parts[part], t.missing,
			  t.missing + t.found, file);
	if (t.changed && (part == PART_TEXT || (part == PART_HOOKS && c->plugin)))
		check_add(&s->wrong, "%s: of another version (%s)", parts[part], file);
	if (t.gone[0])
		check_add(&s->wrong, "%s: there is no %s any more (%s)", parts[part],
			  t.gone, file);
	if (t.other[0])
		check_add(&s->wrong, "%s: %s is another program than this (%s)",
			  parts[part], t.other, file);
	if (t.as_operator)
		check_add(&s->wrong, "%s: --operator makes it act as the operator (%s)",
			  parts[part], file);
	/* Setup leaves such an entry as it is. */
	if (part == PART_MCP && t.yours && (t.gone[0] || t.other[0] || t.as_operator)) {
		s->misled = true;
		to_mend(s, file);
	}
	if (part != PART_TEXT) {
		s->ours += t.found - t.yours;
		s->yours += t.yours;
	}
}

static void look_for_off(struct setup_plan *p, const struct setup_client *c,
			 enum setup_part part, struct seen *s)
{
	struct setup_found_off *off;
	size_t n;

	setup_plan_off(p, c, part, &off, &n);
	for (size_t i = 0; i < n; i++) {
		check_add(&s->wrong, "%s", off[i].text);
		to_mend(s, off[i].file);
	}
}

static void look_at_parts(struct setup_plan *p, const struct setup_client *c,
			  struct seen *s)
{
	check_look_at(p, c, PART_MCP, s);
	check_look_at(p, c, PART_HOOKS, s);
}

/* Whether a client that reads the instructions has anything else of cadre. */
static bool has_reader(struct setup_plan *p, const struct setup_target *text)
{
	bool has = false;

	for (const struct setup_client *c = setup_clients; c->name && !has; c++) {
		struct seen s = { 0 };
		struct fault ignored = { 0 };

		if (setup_plan_target(p, c, PART_TEXT, &ignored) != text)
			continue;
		look_at_parts(p, c, &s);
		has = s.ours || s.yours || s.may_have;
		check_release(&s);
	}
	return has;
}

/* Whether instructions are left that no client reads which is set up.  One client tells of them: a
 * client that reads the instructions, or a client whose files are broken. */
static bool is_left_over(struct setup_plan *p, const struct setup_client *c,
			 struct seen *s)
{
	struct fault f = { 0 };
	struct setup_target *t = setup_plan_target(p, c, PART_TEXT, &f);
	struct setup_tally tally;

	if (!t || (t->told && !s->mend.len) || has_reader(p, t))
		return false;
	setup_plan_look(p, c, PART_TEXT, &tally, &f);
	if (f.code ? f.code == FAULT_CONFLICT || !setup_plan_may_have(p, t, &f)
		   : !tally.found)
		return false;
	check_add(&s->wrong, "instructions are there, of this client or another (%s)",
		  t->shown);
	return t->told = true;
}

static const char *todo_of(struct setup_plan *p, const struct setup_client *c,
			   const struct seen *s, bool left_over)
{
	const char *place = p->project[0] ? "--project" : "--user";

	return arena_printf(&p->arena, "%s%scadre setup %s %s%s%s",
			    s->mend.len ? s->mend.data : "", s->mend.len ? ", then " : "",
			    c->name, place,
			    left_over ? "; or be rid of it: cadre setup --remove " : "",
			    left_over ? place : "");
}

static int check_client(struct setup_plan *p, const struct setup_client *c, bool asked,
			setup_say *say, void *arg)
{
	struct seen s = { 0 };
	bool left_over, any;
	int bad;

	look_at_parts(p, c, &s);
	if (s.ours || s.yours)
		for (int part = PART_MCP; part <= PART_HOOKS; part++)
			look_for_off(p, c, (enum setup_part)part, &s);
	left_over = is_left_over(p, c, &s);
	check_look_at(p, c, PART_TEXT, &s);
	any = s.ours || s.may_have || s.misled || left_over;
	bad = s.wrong.len > 0;
	if (!any && !asked)
		bad = 0;
	else if (bad)
		say(arg, false, c, any || s.mend.len ? s.wrong.data : "is not set up",
		    todo_of(p, c, &s, left_over));
	else
		say(arg, true, c,
		    p->project[0] ? "is set up in the project" : "is set up for the user",
		    NULL);
	check_release(&s);
	return bad;
}

int setup_check(struct setup_plan *p, bool asked, setup_say *say, void *arg)
{
	int bad = 0;

	for (const struct setup_client **c = p->clients; *c; c++)
		bad += check_client(p, *c, asked, say, arg);
	return bad;
}
