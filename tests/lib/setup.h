/*
 * setup - texts that `cadre setup` edits, and random files to test the editing.
 */
#ifndef TESTS_LIB_SETUP_H
#define TESTS_LIB_SETUP_H

#include "tests/lib/dice.h"
#include "tools/cadre/setup/setup.h"

/* Counts the client's events at which `cadre hook` may print something. Returns event number
 * `i`, or NULL if there is no event with this number. */
const char *setup_event(const struct setup_client *c, int i);
/* The program that the client is set up to run. */
#define SETUP_COMMAND "/opt/bin/cadre"
/* Makes a draft with a copy of a text. A NULL text means that there is no file. */
struct setup_draft setup_draft_of(const char *text, size_t len);
/* Fails unless the draft's text is equal to `text`. */
void setup_same(const struct setup_draft *d, const char *text, size_t len);
/* Puts a part of a client into a text twice, and removes the part again, which must restore the
 * text. A NULL text means that there is no file. `with` gets the text with the part, unless
 * `with` is NULL. */
void setup_round_trip(const char *client, enum setup_part part, const char *text,
		      size_t len, struct text *with);

/* Puts a part into a text, or removes the part. A fault is stored in `f`. */
struct text setup_put_text(const char *client, enum setup_part part, const char *text,
			   struct setup_tally *t, struct fault *f);
struct text setup_cut_text(const char *client, enum setup_part part, const char *text,
			   struct fault *f);
/* Fails unless the part is refused with the fault `code`, whose text contains `why`, and the
 * client's text stays unchanged. */
void setup_refused(const char *client, enum setup_part part, const char *text, int code,
		   const char *why);

/* --- setup_look.c ------------------------------------------------------------------------- */

/* A random file under construction. */
struct setup_look {
	struct dice *dice;
	struct text out,
		plain; /* the file, and a copy as plain JSON without comments and extra commas */
	const char *eol, *unit;
	bool comments, trailing, flat;
	int n; /* number of keys so far, which is a part of each new key */
	int own[PART_COUNT]; /* numbers of entries and hooks that a person wrote for cadre */
};

void setup_throw_json(struct setup_look *l, const struct setup_client *c);
void setup_throw_toml(struct setup_look *l);

#endif
