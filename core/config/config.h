/*
 * config - the keys of the configuration, their values, and the source of each value.
 *
 * The keys are the fields of record `config` (schema/config.op). A value is taken from files
 * (cadre.toml), then from the environment (CADRE_SECTION_KEY), then from a flag
 * (--section.key). The last source wins. Each value is checked at its source, even if the value
 * of another source wins. An unknown key is a fault that names the nearest known key. A
 * project's file may set only keys that concern the caller, since somebody other than the user
 * may have written the file.
 */
#ifndef CORE_CONFIG_CONFIG_H
#define CORE_CONFIG_CONFIG_H

#include "core/config/toml.h"
#include "core/op/op.h"
#include "ops.gen.h"

enum config_source { CONFIG_DEFAULT, CONFIG_FILE, CONFIG_VARIABLE, CONFIG_FLAG };

struct config_origin {
	enum config_source source;
	const char *file; /* absolute path of the file */
	struct toml_place at; /* place in the file */
};

/* A zeroed struct is an empty set; config_release() frees it. */
struct config_set {
	struct arena arena;
	json_t *given; /* values by key name; NULL before the first value */
	struct config_origin origins[FIELD_MAX]; /* in the order of record_config */
	const char *file; /* the file that was read last; NULL: no file */
	const char *state; /* folder of the state that is configured; NULL: unknown */
	const char *cwd, *user; /* folders that `dir` and `~/dir` are relative to; may
				   be NULL */
};

/* Fills `c` with the defaults of all keys. */
void config_defaults(struct config *c);

struct config_file {
	const char *path; /* absolute path of the file */
	const char *data;
	size_t len;
	bool projects; /* a project's file, which may set only keys that concern the caller */
};

/* Takes all values of a file. Returns 0 or a fault that names file and line. */
int config_take_file(struct config_set *s, const struct config_file *file,
		     struct fault *f);
/* Takes one value from the text of a variable or a flag. Returns 0 or a fault. */
int config_take_word(struct config_set *s, enum config_source source,
		     const struct field *key, const char *word, struct fault *f);
/* Takes one value from a flag of the form `section.key=value`. */
int config_take_flag(struct config_set *s, const char *flag, struct fault *f);

/* Fills `c` with the present values; the texts in `c` live as long as `s`. */
void config_read(struct config_set *s, struct config *c);
void config_release(struct config_set *s);

/* The source of a key's value, in words: `default`, `/a/cadre.toml:3`, `CADRE_GC_KEEP_DAYS`,
 * `--gc.keep_days`. The text is in the arena of `s`. */
const char *config_whence(struct config_set *s, const struct field *key);

/* --- names --------------------------------------------------------------------- */

enum { CONFIG_VARIABLE_SIZE = 80 };

/* Refuses an unknown key, unless the fault is filled already. The hint names the key that was
 * most likely meant. */
int config_unknown(const struct record *r, const char *name, struct fault *f);
/* Writes the name of the key's variable: CADRE_SECTION_KEY. */
void config_variable(const struct field *key, char out[CONFIG_VARIABLE_SIZE]);

#endif
