/*
 * setup - texts that `cadre setup` edits, and random files to test the editing.
 */
#ifndef TESTS_LIB_SETUP_H
#define TESTS_LIB_SETUP_H

#include "tests/lib/dice.h"
#include "tools/cadre/setup/setup.h"

/* Returns the name of event number `i`, where only those of the client's events are counted
 * (from 0) at which `cadre hook` may print something. Returns NULL if there is no event with
 * this number. */
const char *setup_event(const struct setup_client *c, int i);
/* The program that the client is set up to run. */
#define SETUP_COMMAND "/opt/bin/cadre"
/* Makes a draft with a copy of a text. A NULL text means that there is no file. */
struct setup_draft setup_draft_of(const char *text, size_t len);
/* Fails unless the draft's text is equal to `text`. */
void setup_same(const struct setup_draft *d, const char *text, size_t len);
/* Puts a part of a client into a text twice, and then removes the part. The removal must
 * restore the text. A NULL text means that there is no file. `with` gets the text with the
 * part, unless `with` is NULL. */
void setup_round_trip(const char *client, enum setup_part part, const char *text,
		      size_t len, struct text *with);

/* Puts a part into a text, or removes the part. A fault is stored in `f`. */
struct text setup_put_text(const char *client, enum setup_part part, const char *text,
			   struct setup_tally *t, struct fault *f);
struct text setup_cut_text(const char *client, enum setup_part part, const char *text,
			   struct fault *f);
/* Fails unless setup_put() refuses the part with the fault `code`, and the fault's text
 * contains `why`. Except for PART_HOOKS, `text` must stay unchanged. */
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
	int n; /* number of keys so far, which each new key contains */
	int own[PART_COUNT]; /* for each part, the count of entries or hooks that a person
				wrote for cadre */
};

void setup_throw_json(struct setup_look *l, const struct setup_client *c);
void setup_throw_toml(struct setup_look *l);

#endif
