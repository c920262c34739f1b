/*
 * op - operations as data.
 *
 * Every operation is one `struct op` in op_table[], which is generated from schema/. The tables
 * hold no logic. Decoding, checks, schemas, help and documents cannot disagree, because all of
 * them read these tables. Nothing here does I/O.
 */
#ifndef CORE_OP_OP_H
#define CORE_OP_OP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/fault.h"

enum kind {
	KIND_TEXT,
	KIND_INT,
	KIND_BOOL,
	KIND_TIME, /* int64_t ms since 1970; in JSON a text of RFC 3339 */
	KIND_ENUM, /* int64_t, the value's position among the choices */
	KIND_JSON, /* const char *, an object as compact JSON text */
	KIND_MAP, /* struct pair * and a count n_NAME; in JSON an object whose values are
		     texts */
	KIND_RECORD,
};

/* Maximum numbers of types, and of fields in a record. opgen checks the schema against TYPE_MAX
 * and FIELD_MAX. */
enum { TYPE_MAX = 512, FIELD_MAX = 64 };

enum {
	FIELD_OPTIONAL = 1,
	FIELD_LIST = 2,
	FIELD_DEFAULT = 4,
	FIELD_PLAIN = 8, /* lists of tools leave out the field's doc, because the field's
			    name is clear */
	FIELD_CALLER = 16, /* the field is a configuration key that a project's cadre.toml
			      may set (core/config/config.h) */
	FIELD_UNLISTED = 32, /* tools of MCP take the field, but do not list it */
};

enum {
	OP_WRITE = 1,
	OP_IDEMPOTENT = 2,
	OP_DESTRUCTIVE = 4,
	OP_NEEDS_HOST = 8,
	OP_REQUEST = 16, /* the call's key is request_id, not idempotency_key */
	OP_PREFERS_HOST = 32, /* a read whose answer is complete only if the host runs
				 it */
	OP_NEEDS_CURSOR = 64, /* needs call->keep_events, the oldest event that a follower
				 has not read */
	OP_MOVES_WORKSPACES = 128, /* changes the wanted state of workspaces */
	OP_IDENTIFIES = 256, /* the answer is an identity with name, team and token */
	OP_ABOVE = 512, /* a read that may also be called by leads of teams above the
			   named team */
	OP_LAX = 1024, /* a write that may be lost when the power fails */
};

/* The least powerful caller that may call an operation. The values are in order of power. */
enum who { WHO_OBSERVER, WHO_MEMBER, WHO_LEAD, WHO_OPERATOR, WHO_HOST };

/* Things that an answer gives to the caller. If the answer is lost, the door takes the given
 * messages or the given claim back. */
enum gives { GIVES_NOTHING, GIVES_MESSAGES, GIVES_CLAIM };

enum rate { RATE_DEFAULT, RATE_CREATE, RATE_EXEC, RATE_TEAM_MESSAGE, RATE_FREE };

/* Ways to give a value to the command, and forms of a value on screens. The names are the words
 * that follow `given` in schema/. */
enum given_as {
	GIVEN_AS_IS,
	GIVEN_FILE, /* the text itself; @FILE reads the text from a file, and - reads it
		       from standard input */
	GIVEN_PATH, /* a path, relative to the current directory */
	GIVEN_TREE, /* a path relative to the top of the project; the command converts a
		       path relative to the current directory */
	GIVEN_PLACE, /* a path if the text begins with `.` or `/`, otherwise a name */
	GIVEN_NUMBER, /* a number that screens show, such as #102; the preceding field of
			 the record is the id for the number */
	GIVEN_EVENT, /* the detail of an event; screens show the detail in the words of
			the event's kind, which is in the record's field `event` */
	GIVEN_KIND, /* the kind of an event; lines on a terminal tell the whole event as a
		       sentence of this kind */
	GIVEN_FOUND, /* a text with found words in brackets; screens show the words bold */
	GIVEN_SECRET, /* only @FILE or -, since other users can see the words of a
			 command */
	GIVEN_MONEY, /* millionths of a dollar; $4.20 on screens and at the command line */
	GIVEN_BUDGET, /* an amount of a budget; money if the record's field `kind` is `cost` */
	GIVEN_WAIT, /* seconds to wait; lists of tools name the least and the most */
	GIVEN_SHARE, /* percent; screens draw a bar */
	GIVEN_ROUGH, /* a time that is known to the minute */
	GIVEN_FOLDER, /* a folder on the caller's machine; screens add the branch */
	GIVEN_BRANCH, /* a name behind the names above it, separated by " / "; a screen
			 draws a tree */
};

struct pair {
	const char *key, *value;
};

struct choice {
	const char *name, *doc; /* a table of choices ends with a NULL name */
};

struct type {
	const char *name, *doc;
	enum kind kind;
	int64_t min, max; /* range of an int, or of a text's length in bytes; there is no
			     limit if both are 0 */
	const char *pattern; /* POSIX extended regular expression, or NULL */
	const struct choice *choices; /* only for KIND_ENUM */
	const struct record *record; /* only for KIND_RECORD */
	enum given_as given;
	int index; /* index in type_table[], for caches of compiled patterns */
};

struct field {
	const char *name, *doc;
	const struct type *type;
	unsigned flags;
	uint16_t at; /* offset of the value, or of the list's pointer */
	uint16_t at2; /* offset of n_NAME (list, map) or has_NAME, or 0 if there is no
			 such member */
	int64_t most; /* maximum number of values in a list, or 0 for no limit */
	int64_t def_int;
	const char *def_text; /* NULL for the default of a list or map, which is empty */
	const char *const *aliases; /* other names of the field, NULL-terminated, or
				       NULL */
	const char *names; /* the noun of the things that the argument names, or NULL */
	const char *
		by; /* a field such as `role`, by which role:X names all things whose role
		       is X; or NULL */
};

struct record {
	const char *name, *doc;
	const struct field *fields;
	size_t n_fields, size;
	const char *const *lacks; /* names that are no fields, each before a hint; ends
				     with NULL; NULL: there are none */
};

struct call;

struct op {
	const char *name, *summary, *doc; /* `doc` holds the paragraphs after the
					     summary */
	unsigned flags;
	enum who who;
	enum rate rate;
	const struct record *in, *out;
	const struct field *wait; /* argument with the seconds for which a door may repeat
				     the call, or NULL if the call never waits */
	const struct field *when; /* flag that must be set for the call to wait, or NULL
				     if there is no such flag */
	const struct field *within; /* argument with the seconds that a host may take, or
				       NULL */
	const struct field *runs; /* argument with a command that runs elsewhere, or
				     NULL */
	const struct field *bytes_in, *bytes_out; /* fields with bytes in base64, or
						     NULL */
	const struct field *prints; /* field of the answer that is printed in full, or
				       NULL */
	const struct field
		*editor; /* argument that a person at a terminal writes in an editor if no
			    word gives the text, or NULL */
	const struct field *owner; /* argument that gets the owner of a guest's door if
				      the call comes through the door; NULL: no door
				      serves the operation */
	enum gives gives;
	const struct op *rest; /* the operation that reads the parts for which an answer
				  had no room, or NULL */
	/* Flags in the answer of a read that waits for a state, or NULL. `reached` says that
	 * the state is reached. `over` says that the state will not be reached by itself. */
	const struct field *reached, *over;
	/* Flag in the answer of a read that waits, or NULL if the read needs no host. The flag
	 * says that a host is needed and that no host runs. */
	const struct field *hostless;
	const struct op *until; /* the read that waits until the work of this operation is
				   done, or NULL */
	const char *const *until_values; /* states for which `until` waits,
					    NULL-terminated, or NULL for the default of
					    `until` */
	const struct field
		*misses; /* field that the answer lacks if nothing was found, or NULL */
	/* Fields of the answer, NULL-terminated, or NULL. If a call has waited and its answer
	 * has none of these fields, the time of the call ran out. */
	const char *const *awaits;
	const struct field *follows; /* argument by which a caller gets the answer while
					the command runs, or NULL */
	const struct op *signals; /* the operation that passes signals to the command, if
				     `follows` is set */
	/* The operation whose answer replaces this operation's answer over MCP, or NULL. The
	 * answer is replaced if its first field has one of the NULL-terminated values. */
	const struct op *hands;
	const char *const *hands_values;
	/* The operation that does the same work for each record of its argument `many_list`, or
	 * NULL. The command reads the records from lines of standard input. */
	const struct op *many;
	const struct field *many_list;
	const struct wire *message; /* the wire message that asks a guest to do the work,
				       or NULL */
	const char *http_method, *http_path; /* NULL if the operation has no route */
	const char *tool, *action; /* `tool` is NULL if no tool has the operation;
				      `action` is NULL if the tool has only one action */
	const char *const *cli; /* words of the command, NULL-terminated, or NULL */
	const char *const *cli_fields; /* the fields that words without an option fill,
					  NULL-terminated */
	bool cli_rest; /* the last of cli_fields takes all remaining words of the
			  command line */
	const char *const *also; /* other first words for the command, NULL-terminated, or
				    NULL */
	const uint64_t *brief; /* bit sets of the fields that a brief answer keeps; NULL:
				  all fields. brief[0] is for the answer's fields, brief[1
				  + i] for the record in field i */
	int64_t pages; /* number of items on a brief answer's first page if the call names
			  no limit; 0: the default of `limit` */
	const char *const *columns; /* fields to print as columns, NULL-terminated, or
				       NULL */
	const char *const *lines; /* fields of a row that a line on a terminal shows, then |
				     and the fields that a narrow line leaves out;
				     NULL-terminated, or NULL */
	const char *below; /* a text of the row that stands below the line, or NULL */
	const char *const *page; /* fields of the answer's record that a page shows: the
				    heading, the fields below the heading, then | and the
				    fields that are shown in full; NULL-terminated, or
				    NULL */
	const char *const *overview; /* lists of the answer, then | and single values;
					NULL-terminated, or NULL */
	const char *says; /* template with {parts} for a line that shows the answer, or
			     NULL */
	const char *empty; /* advice that is shown for an empty list, or NULL */
	const char *next; /* a person's possible next step, or NULL */
	const char *waits_for; /* what a read waits for, with parts of its arguments, or
				  NULL */
	const char *example; /* an example of the command line, or NULL */
	bool quiet; /* the command prints nothing if there is no state */
	bool clock; /* times are shown as clock times, not as ages */
	const char *const *reads; /* texts, as RECORD.FIELD, that the operation reads by
				     range; NULL-terminated, or NULL */
	const enum fault_code *faults; /* ends with FAULT_NONE */
	const int *events; /* event kinds; the last entry is 0 */
	int (*run)(struct call *call, const void *in, void *out);
	/* Runs a call of this operation in more than one transaction. If `steps` is NULL,
	 * call_transact() runs the call. */
	int (*steps)(struct call *call);
	int index; /* index of the operation in op_table[] */
};

struct event_kind {
	int number;
	const char *name, *doc;
	const char
		*tells; /* template with {parts} of the event for a sentence whose subject
			      is the actor, or NULL */
	const char *says; /* how screens show the event's detail, or NULL to show the
			     detail unchanged */
	unsigned wakes; /* the waits that the event ends, as bits 1 << enum wake */
};

/* Causes that end a wait. The names are words in the `event` lines of schema/. */
enum wake {
	WAKE_NONE,
	WAKE_INBOX, /* an agent has mail; the key of the wait is the agent */
	WAKE_READY, /* a team has a task to claim; the key of the wait is the team */
	WAKE_EVENT, /* a team has an event; the key of the wait is the team */
};

/* A kind of things that have names. A door completes the names while a person types. */
struct noun {
	const char *name;
	const char *list, *rows; /* the operation that lists the things, and the list's
				    field in the answer */
	const char *called, *doc; /* the fields with a thing's name and with its
				     description */
	const char *find,
		*found_by; /* the operation that says whether a thing exists, and its
			      argument for the thing's name; or NULL */
};

struct tool {
	const char *name, *set, *doc;
	bool unlisted; /* every session takes the tool, and no list shows it */
};

/* A group of commands in the help. A topic has the commands of some nouns. */
struct topic {
	const char *name, *doc;
	const char *const *nouns; /* nouns of the topic, NULL-terminated */
	const char *const *first; /* operations that help shows first, in the order of
				     their use, or NULL */
};

enum side { SIDE_HOST = 1, SIDE_GUEST = 2 };

struct wire {
	const char *name, *doc; /* `name` is a tag in PascalCase */
	unsigned ports; /* bits: 1 for port 5000, 2 for port 5001; 0 for an answer */
	unsigned senders; /* bits of enum side; 0 for an answer */
	const struct record *record;
	const struct wire *answer; /* NULL if the answer is Ok, or if this message is an
				      answer */
	const struct wire *guest_answer; /* the answer that a guest gets instead of
					    `answer`, or NULL */
};

extern const struct op op_table[]; /* sorted by name */
extern const size_t op_count;
extern const struct type *const type_table[];
extern const size_t type_count;
extern const struct event_kind event_table[]; /* sorted by number */
extern const size_t event_count;
extern const struct noun noun_table[]; /* in schema order */
extern const size_t noun_count;
extern const struct topic topic_table[]; /* in schema order */
extern const size_t topic_count;
extern const struct tool tool_table[]; /* in schema order */
extern const size_t tool_count;
extern const struct wire wire_table[]; /* sorted by name */
extern const size_t wire_count;

/* Finds the operation with this name, such as task.claim. Returns NULL if there is no such
 * operation. */
const struct op *op_find(const char *name);
/* Finds the operation for `action` of an MCP tool. `action` is NULL if the tool has only one
 * action. Returns NULL if there is no such operation. */
const struct op *op_tool(const char *tool, const char *action);
/* Finds a field by its name or an alias. Returns NULL if there is no such field. */
const struct field *field_find(const struct record *r, const char *name);
/* Finds the field that `name`, a member of `args`, means. If two fields have the alias `name`, the
 * alias means the first field, or the second field if `args` gives the first under another name. */
const struct field *field_given(const struct record *r, const char *name,
				const json_t *args);
/* Returns the word for a value of the enum field `field`. */
const char *field_choice(const struct record *r, const char *field, int64_t value);
/* Returns the field that a wrong name most likely means, or NULL if no name is similar. */
const struct field *field_nearest(const struct record *r, const char *name);
/* Returns the hint for a name that is no field of the record, or NULL. */
const char *field_instead(const struct record *r, const char *name);
/* Sets a fault that says that a record has no field `name`, with a hint of the name that may be
 * meant. `where` is the place of the unknown field in the arguments. Returns the fault's code. */
int field_unknown(const struct record *r, const char *name, const char *where,
		  struct fault *f);
size_t type_size(const struct type *t); /* size of one value in a struct or list */
const struct wire *wire_find(const char *name);
/* Returns the type of the answer, other than Error, to a request that `sender` sends. */
const struct wire *wire_answer(const struct wire *asked, enum side sender);
const struct event_kind *event_kind(int number); /* returns NULL for an unknown number */
const struct noun *noun_find(const char *name);
/* Whether the operation belongs to the noun, as task.claim belongs to task. */
bool op_has_noun(const struct op *op, const char *noun);
/* Returns the topic that contains the operation's noun, or NULL if no topic contains the noun. */
const struct topic *op_topic(const struct op *op);
/* Returns the operation's place among the operations that the topic shows first. For any other
 * operation, returns the number of operations that the topic shows first. */
size_t topic_rank(const struct topic *t, const struct op *op);
/* Returns the name that the arguments use for a field, which is the field's own name or an
 * alias. */
const char *field_spelling(const struct field *fd, const json_t *args);
/* Returns the name of the argument by which a repeated write is recognised. */
const char *op_key(const struct op *op);
bool field_is_key(const struct field *fd);
/* Whether a call may wait, and a door has to be ready for the wait. A call may wait if its
 * operation has an argument `wait`, and if the flag `when` is set or does not exist. A wait of
 * 0 seconds also counts as a wait. */
bool op_waits(const struct op *op, const json_t *args);

/* --- values (decode.c, encode.c, text.c) --------------------------------- */

enum decode_mode {
	DECODE_STRICT,
	DECODE_LENIENT, /* unknown keys are allowed */
	DECODE_EXACT, /* only values that fit the record's JSON schema: no short forms,
			 and null does not stand for a missing value */
};

/* Fills `dst` (r->size zeroed bytes) from a JSON object. Checks keys, types, ranges, patterns,
 * enums, lists and nested records. The hint for an unknown key names the nearest known key.
 * Fills in defaults, and refuses U+0000. Texts are borrowed from `src` if possible, and
 * otherwise are stored in `arena`. fault->where is a JSON pointer. */
int op_decode(const struct record *r, json_t *src, void *dst, enum decode_mode mode,
	      struct arena *arena, struct fault *fault);

/* A growing text. op_encode() appends a struct to a text as compact JSON, without absent
 * optional fields. */
struct text {
	char *data; /* allocated by malloc(), NUL-terminated */
	size_t len, room;
	bool counts; /* only `len` grows, no byte is written, and `data` stays NULL */
};
void text_add(struct text *t, const char *data, size_t len);
void text_addf(struct text *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Appends a member's name as `"name":`. The name needs no escapes. A comma is written before
 * the name unless `first` is set. */
void text_add_member(struct text *t, const char *name, bool first);
/* Appends `s` as a JSON string in quotes. Bad UTF-8 becomes U+FFFD. */
void text_add_json(struct text *t, const char *s);

/* Maximum memory, in MiB, of the parsed values of one text. The memory of strings is not
 * counted. */
enum { JSON_MOST_MIB = 16 };

/* Does the same as json_loadb(), but for a text from any sender. Skips a byte order mark. A
 * text whose values would take more than JSON_MOST_MIB is refused before it is parsed. */
json_t *json_take(const char *text, size_t len, size_t flags, json_error_t *error);
/* Returns the member `name` if it is a text, otherwise NULL. */
const char *json_find_text(const json_t *json, const char *name);
const char *json_text_at(const json_t *json, const char *name);
/* Returns the member `name` if it is a whole number, otherwise 0. */
long long json_int_at(const json_t *json, const char *name);
/* Returns the number of bytes of `s` that fit as JSON into *room bytes. Counts only whole
 * characters. Lowers *room by the bytes of JSON. */
size_t text_json_fit(const char *s, size_t len, size_t *room);
/* Returns the size in bytes of the character at `s` if it controls a terminal or turns the
 * direction of a text. `s` ends with a NUL. The controls are C0, DEL and C1. Some terminals
 * obey C1 controls in UTF-8, too. The marks of direction are U+061C, U+200E, U+200F, U+202A to
 * U+202E, and U+2066 to U+2069. Returns 0 for a character that may be shown unchanged. If
 * `lines` is set, tabs and ends of lines may also be shown unchanged. */
size_t text_control_len(const char *s, bool lines);
/* Returns the number of bytes of the blank at `s`, or 0 if there is no blank. A blank is any
 * white space of Unicode. */
size_t text_blank_len(const char *s);
/* Returns the first byte after the blanks at `s`. */
const char *text_past_blanks(const char *s);
/* Appends another author's text to a text that a model reads, such as a prompt or the output of
 * a hook. The model cannot take the appended text for words of cadre or of the model's client.
 * A blank is written before a heading `[From …`, and a parenthesis replaces the `<` of a
 * client's tag. */
void text_add_said(struct text *t, const char *s);
/* From the byte `from` on, writes question marks over the bytes that text_control_len() counts.
 * Tabs and ends of lines stay. */
void text_mask(struct text *t, size_t from);
/* Writes asterisks over each `secret` in the text. Returns the number of bytes that may be
 * shown. The remaining bytes may be the beginning of a `secret` whose end is not in the text
 * yet. */
size_t text_hide(struct text *t, const char *secret);
/* Removes the first `n` bytes. */
void text_drop(struct text *t, size_t n);
void text_release(struct text *t);
/* Returns the number of bytes of the character at `s` if it is well-formed and has two or more
 * bytes, otherwise 0. Overlong forms, surrogates and values beyond U+10FFFF are not
 * well-formed. A NUL ends the text and continues no character, so no byte after the NUL is
 * read. */
size_t text_wide(const char *s);

/* Whether a byte of UTF-8 continues a character. */
bool text_is_inside(char c);

/* Returns the start of the character that contains the byte `at`. A text that is cut at the
 * start of a character has no broken character. */
size_t text_start(const char *s, size_t at);
void op_encode(const struct record *r, const void *src, struct text *out);
/* Copies each field that both structs have under the same name, with the same kind of value.
 * Other fields of `dst` stay unchanged, as do fields that are absent in `src`. Texts, lists and
 * maps are borrowed from `src`. */
void record_copy(const struct record *from, const void *src, const struct record *to,
		 void *dst);
/* Returns the number of bytes that op_encode() would append. Allocates no memory. */
size_t op_size(const struct record *r, const void *src);
/* Appends the answer of an operation in a short form, for a reader who pays for each word. The
 * short form leaves out empty values, default values, and the parts that op->brief does not
 * keep. Times in the short form have no milliseconds. */
void op_encode_brief(const struct op *op, const void *out_struct, struct text *out);
/* Returns the number of bytes that a record takes as a value of a list in a brief answer. */
size_t op_size_brief(const struct op *op, const struct record *r, const void *src);
/* Returns an upper bound of op_size(). op_size_most() is far faster than op_size(), because
 * op_size_most() does not examine the characters of texts. */
size_t op_size_most(const struct record *r, const void *src);

/* Returns a hash of a decoded struct. Equal arguments have equal hashes, whatever the order of
 * the arguments in JSON. The field named `except` is left out, unless `except` is NULL. */
uint64_t op_hash(const struct record *r, const void *src, const char *except);

/* time_format() writes a time as RFC 3339 in UTC with milliseconds, such as
 * "2026-11-21T08:00:00.000Z". time_parse() also reads a time with an offset, and returns -1 if
 * `s` is not a time or is a time before 1970. */
#define TIME_MOST INT64_C(253402300799999) /* the end of the year 9999 */
void time_format(int64_t ms, char out[25]);
int64_t time_parse(const char *s);

/* A date, a time or both. Parts that the text does not have are 0. */
struct time_parts {
	int year, month, day, hour, minute, second; /* `second` is 60 in a leap second */
	int nanosecond; /* digits after the ninth are cut off */
	int offset; /* minutes east of UTC */
};

/* Read a part of a time in RFC 3339 at *s, and move *s past the part. Return false if the text
 * at *s does not begin with such a part. */
bool time_take_date(const char **s, struct time_parts *t);
bool time_take_clock(const char **s, struct time_parts *t);
bool time_take_offset(const char **s, struct time_parts *t);

/* --- descriptions (describe.c) ------------------------------- */

json_t *op_schema(const struct record *r); /* JSON Schema 2020-12 */
/* Works like op_schema(), but refers to a record inside the record as
 * "#/components/schemas/NAME". */
json_t *op_schema_naming(const struct record *r);
json_t *field_schema_naming(const struct field *fd);
/* Makes the JSON Schema of a value from the value's type alone. The schema of a record allows
 * any object. */
json_t *type_shape(const struct type *t);
/* Makes the input schema of a tool. If the tool has several actions, the schema has only the
 * actions that a caller of level `most` may call. The schema gives the types of all arguments.
 * The schema has only the texts that a model needs. */
json_t *tool_schema(const char *tool, enum who most);
/* Adds the schemas of an answer's fields to `props`, made from the types of the fields alone.
 * Adds the schemas of the records in the answer to `defs`. */
void record_shape(const struct record *r, json_t *props, json_t *defs);

/* --- the command line (args.c, usage.c) ----------------------------------- */

/* Finds the operation whose `cli` words are the first words of argv. Sets *taken to the number
 * of `cli` words. */
const struct op *op_command(int argc, char **argv, int *taken);
/* Makes arguments from options, such as `--name value`, `--name=value` and `--flag`, and from
 * bare words in the order of cli_fields. The caller handles `-` and `@file`. Returns NULL on a
 * fault. */
json_t *op_args(const struct op *op, int argc, char **argv, struct fault *f);
/* Makes a JSON value from a word of a command, path or query. The value is a number, flag or
 * JSON value if the field has such a type and the word has the form of the type. If the word
 * does not have the form of the field's type, the value is a text. */
json_t *field_word(const struct field *fd, const char *word);
/* Whether one word may hold several values of a list, with commas between them. Names, numbers
 * and choices never contain a comma. Free text may contain commas, and is not split. */
bool type_splits(const struct type *t);
/* Whether a text matches the type's pattern. Any text matches a type without a pattern. */
bool type_matches(const struct type *t, const char *s);
/* Returns the only required field of a record if this field is a text, such as a criterion's
 * text or a role's name. This text may stand for the record. Returns NULL if the record must be
 * written as JSON. */
const struct field *record_short(const struct record *r);
void op_usage(const struct op *op, struct text *out);
/* Writes the placeholder that help shows after an option, such as "N", "TEXT" or "TASK_ID". The
 * placeholder of a flag is "". */
void field_value(const struct field *fd, char out[32]);
/* The help text for the words of op->runs, as in `exec WORKSPACE COMMAND...`. */
extern const char op_command_text[];

/* --- pages --------------------------------------------------------------------- */

/* Returns the argument that says where the next page of an operation's list begins, or NULL if
 * the list has no pages. */
const struct field *page_argument(const struct op *op);
/* Returns the value of the page argument for the page after `answer`, or NULL if there is no
 * further page. The value is borrowed from the answer. */
const json_t *page_next(const struct op *op, const json_t *answer);

/* --- hints (hint.c) ----------------------------------------------------------- */

/* The words in which a door writes hints. The words are commands of a shell, tools with their
 * actions, or routes. */
enum hint_style { HINT_COMMAND, HINT_TOOL, HINT_ROUTE };

/* Appends the hint of a fault in the style `style`, which is the style of the door that
 * answers. Braces in a hint hold the name of an operation, as in {task.list}, or a choice
 * {A|B}. B is written for a person who types commands, and A is written for other readers.
 * Every door that writes a hint calls this function. */
void hint_write(const char *hint, enum hint_style style, struct text *out);
/* Appends a fault as JSON, with the fault's hint in the words of a door. */
void fault_write(const struct fault *f, enum hint_style style, struct text *out);

/* Writes a hint in the words of the command, for logs and standard error. Returns `out`. */
enum { HINT_SIZE = 512 };
const char *hint_plain(const char *hint, char out[HINT_SIZE]);

/* --- OpenAPI (openapi.c) ----------------------------------------------------- */

/* Describes the routes of all operations, except operations that only the host may call, as
 * OpenAPI 3.1. */
json_t *openapi_document(void);

/* --- routes (route.c) ------------------------------------------------------ */

struct face;

/* Finds the operation that a request names. Sets *face to the face that the request names, or
 * to NULL if the request names the operation itself. Adds path parameters to `args`. */
const struct op *op_route(const char *method, const char *path, const struct face **face,
			  json_t *args);

#endif
