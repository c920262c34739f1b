/* The parts of rules.sql, which the assembler puts into the program. */
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tests/crash/judge.h"

__asm__(".section .rodata\n"
	"rules_text: .incbin \"tests/crash/rules.sql\"\n"
	".byte 0\n"
	".previous\n");
extern const char rules_text[];

static const char part_mark[] = "\n-- part: ", rule_mark[] = "\n-- rule: ";

static const char *nearer(const char *a, const char *b)
{
	return a && (!b || a < b) ? a : b;
}

static const char *next_mark(const char *at)
{
	return nearer(strstr(at, part_mark), strstr(at, rule_mark));
}

bool rules_next(struct rule *r)
{
	const char *at = next_mark(r->end ? r->end : rules_text), *line;

	free(r->says);
	free(r->sql);
	r->says = r->sql = NULL;
	if (!at)
		return false;
	r->is_rule = !strncmp(at, rule_mark, strlen(rule_mark));
	at += strlen(rule_mark);
	line = at + strcspn(at, "\n");
	r->end = next_mark(line) ? next_mark(line) : line + strlen(line);
	r->says = xasprintf("%.*s", (int)(line - at), at);
	r->sql = xasprintf("%.*s", (int)(r->end - line), line);
	return true;
}

char *rules_part(const char *name)
{
	struct rule r = { 0 };

	while (rules_next(&r) && (r.is_rule || strcmp(r.says, name)))
		;
	free(r.says);
	return r.sql;
}
