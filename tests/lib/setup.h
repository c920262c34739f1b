/*
 * setup - texts that `cadre setup` edits, and files of every look for that.
 */
#ifndef TESTS_LIB_SETUP_H
#define TESTS_LIB_SETUP_H

#include "tests/lib/dice.h"
#include "tools/cadre/setup/setup.h"

/* The event number `i` of a client at which `cadre hook` has something to tell, or NULL. */
const char *setup_event(const struct setup_client *c, int i);
/* The program that is set up. */
#define SETUP_COMMAND "/opt/bin/cadre"
/* A draft with a copy of a text; NULL: there is no file. */
struct setup_draft setup_draft_of(const char *text, size_t len);
/* Fails unless the draft is that text. */
void setup_same(const struct setup_draft *d, const char *text, size_t len);
/* Puts a part of a client into a text (NULL: there is no file), twice, and takes it away, which
 * has to give the text back; the text with it is left in `with`, if that is wanted. */
void setup_round_trip(const char *client, enum setup_part part, const char *text,
		      size_t len, struct text *with);

/* Puts a part into a text, or takes it away; the fault is kept. */
struct text setup_put_text(const char *client, enum setup_part part, const char *text,
			   struct setup_tally *t, struct fault *f);
struct text setup_cut_text(const char *client, enum setup_part part, const char *text,
			   struct fault *f);
/* Fails unless putting is refused for that reason, with the text as it was. */
void setup_refused(const char *client, enum setup_part part, const char *text, int code,
		   const char *why);

/* --- setup_look.c ------------------------------------------------------------------------- */

/* A file that is being thrown together. */
struct setup_look {
	struct dice *dice;
	struct text out,
		plain; /* the file, and the same without what JSON does not have */
	const char *eol, *unit;
	bool comments, trailing, flat;
	int n; /* keys so far: none is there twice */
	int own[PART_COUNT]; /* entries and hooks that a person wrote for cadre */
};

void setup_throw_json(struct setup_look *l, const struct setup_client *c);
void setup_throw_toml(struct setup_look *l);

#endif
