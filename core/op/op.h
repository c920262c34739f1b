/*
 * op - operations as data.
 *
 * Every operation is one `struct op` in op_table[], generated from schema/. The tables hold no
 * logic. Decoding, checks, schemas, help and documents all read these tables, so that they
 * cannot disagree. Nothing here does I/O.
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
	KIND_TIME, /* int64_t ms since the epoch; RFC 3339 text outside */
	KIND_ENUM, /* int64_t: the value's position among the choices */
	KIND_JSON, /* const char *: an object as compact JSON text */
	KIND_MAP, /* struct pair * and a count n_: an object whose values are texts */
	KIND_RECORD,
};

/* Limits of types and fields. opgen checks the schema against them. */
enum { TYPE_MAX = 512, FIELD_MAX = 64 };

enum {
	FIELD_OPTIONAL = 1,
	FIELD_LIST = 2,
	FIELD_DEFAULT = 4,
	FIELD_PLAIN = 8, /* lists of tools leave out its doc, because the name is
			    clear */
	FIELD_CALLER = 16, /* a project's cadre.toml may set it: core/config/config.h */
	FIELD_UNLISTED = 32, /* tools of MCP take the field, but do not list it */
};

enum {
	OP_WRITE = 1,
	OP_IDEMPOTENT = 2,
	OP_DESTRUCTIVE = 4,
	OP_NEEDS_HOST = 8,
	OP_REQUEST = 16, /* request_id instead of idempotency_key */
	OP_PREFERS_HOST = 32, /* a read whose answer is complete only if the host runs
				 it */
	OP_NEEDS_CURSOR = 64, /* gets call->keep_events: the events that the mirror has
				 read */
	OP_MOVES_WORKSPACES = 128, /* changes the wanted state of workspaces */
	OP_IDENTIFIES = 256, /* the answer is an identity: name, team and token */
	OP_ABOVE = 512, /* a read that leads of teams above the named team may call,
			   too */
	OP_LAX = 1024, /* a write that may be lost when the power fails */
};

/* The least powerful caller that may call an operation. The values are in order of power. */
enum who { WHO_OBSERVER, WHO_MEMBER, WHO_LEAD, WHO_OPERATOR, WHO_HOST };

/* Things that an answer hands out. If the answer is lost, nobody holds them. */
enum gives { GIVES_NOTHING, GIVES_MESSAGES, GIVES_CLAIM };

enum rate { RATE_DEFAULT, RATE_CREATE, RATE_EXEC, RATE_TEAM_MESSAGE, RATE_FREE };

/* Ways to give a text to the command. The names are the words of `type ... given WORD`. */
enum given_as {
	GIVEN_AS_IS,
	GIVEN_FILE, /* the text itself, or @FILE or - for a file or standard input that
		       holds it */
	GIVEN_PATH, /* a path, relative to the current directory */
	GIVEN_TREE, /* a path from the top of the project; the command accepts a path
		       from the current directory */
	GIVEN_PLACE, /* a path if it begins with . or /, else a name */
	GIVEN_NUMBER, /* a number that screens show, as #102; the field before it gives
			 the id for the number */
	GIVEN_EVENT, /* the detail of an event; screens show it in the words of the
			event's kind, which the field `event` of the same record
			names */
	GIVEN_SECRET, /* only @FILE or -: other users can see the words of a command */
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
	int64_t min, max; /* range of an int, or bytes of a text; both 0: no limit */
	const char *pattern; /* POSIX ERE, or NULL */
	const struct choice *choices; /* KIND_ENUM */
	const struct record *record; /* KIND_RECORD */
	enum given_as given;
	int index; /* index in type_table[], for caches of compiled patterns */
};

struct field {
	const char *name, *doc;
	const struct type *type;
	unsigned flags;
	uint16_t at; /* offset of the value, or of the list's pointer */
	uint16_t at2; /* offset of n_NAME (list, map) or has_NAME; 0: no such field */
	int64_t most; /* the most values of a list; 0: any number */
	int64_t def_int;
	const char *def_text; /* NULL for the default of a list or map, which is empty */
	const char *const *aliases; /* NULL-terminated, or NULL */
	const char *names; /* the noun whose things the argument names, or NULL */
	const char *
		by; /* FIELD:VALUE names each thing of the noun whose FIELD is VALUE; or NULL */
};

struct record {
	const char *name, *doc;
	const struct field *fields;
	size_t n_fields, size;
};

struct call;

struct op {
	const char *name, *summary, *doc; /* doc: the paragraphs after the summary */
	unsigned flags;
	enum who who;
	enum rate rate;
	const struct record *in, *out;
	const struct field *wait; /* argument: seconds for which a door may repeat the
				     call; NULL: the call never waits */
	const struct field *when; /* the call waits only if this flag is set; NULL:
				     always */
	const struct field *within; /* argument: seconds that a host may take, or NULL */
	const struct field *runs; /* argument: a command that runs elsewhere, or NULL */
	const struct field *bytes_in, *bytes_out; /* bytes in base64, or NULL */
	const struct field *prints; /* a field of the answer that is printed in full;
				       NULL: no field */
	const struct field
		*editor; /* argument: if no word gives this text, a person at a terminal
			    writes it in an editor; NULL: no such argument */
	const struct field *owner; /* argument: the owner of the guest's door that
				      serves the call */
	enum gives gives;
	const struct op *rest; /* the operation that reads the parts for which an answer
				  had no room, or NULL */
	/* Flags in the answer of a read that waits. `reached`: the wanted state is reached.
	 * `over`: the wanted state will not be reached by itself. NULL: the read does not wait. */
	const struct field *reached, *over;
	/* The flag in the read's answer that says: a host is needed, and no host runs. NULL: no
	 * host is needed. */
	const struct field *hostless;
	const struct op *until; /* the read that waits for the work which this operation
				   begins, or NULL */
	const char *const *until_values; /* states for which `until` waits,
					    NULL-terminated; NULL: the default of
					    `until` */
	const struct field
		*misses; /* an answer without this field found nothing; NULL: no such
			    field */
	/* Fields of the answer. If a call has waited and its answer has none of these fields,
	 * its time ran out. NULL-terminated, or NULL. */
	const char *const *awaits;
	const struct field *follows; /* argument: the answer is sent while the command
					runs; or NULL */
	const struct op *signals; /* with `follows`: the operation that passes signals
				     to the command */
	/* The operation that does the same for each record of its argument `many_list`. The
	 * records are lines of the command's standard input. NULL: no such operation. */
	const struct op *many;
	const struct field *many_list;
	const struct wire *message; /* the message that asks a guest, or NULL */
	const char *http_method, *http_path; /* NULL: no route */
	const char *tool, *action; /* tool NULL: in no tool; action NULL: the tool's
				      only action */
	const char *const *cli; /* words of the command, NULL-terminated, or NULL */
	const char *const *cli_fields; /* the fields that words without an option fill,
					  NULL-terminated */
	bool cli_rest; /* the last of cli_fields takes all remaining words of the
			  command line */
	const char *const *also; /* other first words for the command, NULL-terminated, or
				    NULL */
	const uint64_t *brief; /* bits of the fields that a brief answer keeps: first
				  the fields of the answer, then those of the record in
				  each field; NULL: all fields */
	const char *const *columns; /* fields to print as columns, NULL-terminated, or
				       NULL */
	const char *const *page; /* fields of the answer's record for a page: first the
				    heading, then the fields below the heading up to |,
				    then the fields that are shown in full;
				    NULL-terminated, or NULL */
	const char *const *overview; /* lists of the answer, then after | single values;
					NULL-terminated, or NULL */
	const char *says; /* a line that shows the answer, with {parts}; NULL: no such
			     line */
	const char *empty; /* advice that is shown for an empty list, or NULL */
	const char *next; /* a person's possible next step, or NULL */
	const char *example; /* an example of the command line, or NULL */
	bool quiet; /* the command prints nothing if there is no state */
	bool clock; /* times are shown as clock times, not as time ago */
	const char *const *reads; /* texts that the operation reads by range, as
				     RECORD.FIELD; NULL-terminated, or NULL */
	const enum fault_code *faults; /* ends with FAULT_NONE */
	const int *events; /* event kinds, ends with 0 */
	int (*run)(struct call *call, const void *in, void *out);
	/* Runs a call of an operation that needs more than one transaction. NULL:
	 * call_transact() runs the call. */
	int (*steps)(struct call *call);
	int index; /* index of the operation in op_table[] */
};

struct event_kind {
	int number;
	const char *name, *doc;
	const char *says; /* how screens show the event's detail; NULL: unchanged */
	unsigned wakes; /* bits 1 << enum wake: the waits that the event ends */
};

/* Causes that end a wait. The names are the words of `event ... WAKES`. */
enum wake {
	WAKE_NONE,
	WAKE_INBOX, /* an agent has mail; the key is the agent */
	WAKE_READY, /* a team has a task to claim; the key is the team */
	WAKE_EVENT, /* a team has an event; the key is the team */
};

/* A kind of thing with names. A door completes these names while a person types. */
struct noun {
	const char *name;
	const char *list, *rows; /* operation that lists the things; the list in its
				    answer */
	const char *called, *doc; /* fields of each thing: its name, and a description */
	const char *find,
		*found_by; /* operation that answers whether a thing exists, and its
			      argument for the name; NULL: no such operation */
};

struct tool {
	const char *name, *set, *doc;
};

/* A part of the work with cadre, as help shows it. It has the commands of some nouns. */
struct topic {
	const char *name, *doc;
	const char *const *nouns; /* NULL-terminated */
	const char *const *first; /* operations in the order of their use; NULL: no
				     order */
};

enum side { SIDE_HOST = 1, SIDE_GUEST = 2 };

struct wire {
	const char *name, *doc; /* PascalCase tag */
	unsigned ports; /* 1: 5000, 2: 5001, 3: both; 0 for an answer */
	unsigned senders; /* enum side bits; 0 for an answer */
	const struct record *record;
	const struct wire *answer; /* NULL: the answer Ok; for an answer: no further
				      answer */
	const struct wire *guest_answer; /* the answer to a guest, if it is another */
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

/* Finds the operation with this name, such as task.claim; NULL if there is no such operation. */
const struct op *op_find(const char *name);
/* Finds the operation that `action` (or NULL) of an MCP tool names; NULL if there is no such
 * operation. */
const struct op *op_tool(const char *tool, const char *action);
/* by name or alias */
const struct field *field_find(const struct record *r, const char *name);
/* The word of an enum's value. The type of the field `field` gives the words. */
const char *field_choice(const struct record *r, const char *field, int64_t value);
/* The field that was most likely meant by a wrong name; NULL if no name is similar. */
const struct field *field_nearest(const struct record *r, const char *name);
/* Sets the fault that a record has no field with this name, and names the field that may be
 * meant. `where` is the record's place in the arguments. Returns the fault's code. */
int field_unknown(const struct record *r, const char *name, const char *where,
		  struct fault *f);
size_t type_size(const struct type *t); /* size of one value in a struct or list */
const struct wire *wire_find(const char *name);
/* The type of the answer, other than Error, to a request that `sender` sends. */
const struct wire *wire_answer(const struct wire *asked, enum side sender);
const struct event_kind *event_kind(int number); /* NULL if unknown */
const struct noun *noun_find(const char *name);
/* Whether the operation belongs to the noun, as task.claim belongs to task. */
bool op_has_noun(const struct op *op, const char *noun);
/* The topic that contains the operation's noun; NULL if no topic does. */
const struct topic *op_topic(const struct op *op);
/* The operation's place among the operations that the topic shows first; for any other
 * operation, the number of operations shown first. */
size_t topic_rank(const struct topic *t, const struct op *op);
/* The name that the arguments use for a field: the field's own name, or an alias. */
const char *field_spelling(const struct field *fd, const json_t *args);
/* The argument by which a repeated write is recognised. */
const char *op_key(const struct op *op);
bool field_is_key(const struct field *fd);
/* Whether a call may wait, so that a door has to be ready for a wait. The operation must have a
 * wait, and the flag of the wait, if it has one, must be set. A wait of 0 seconds counts, too. */
bool op_waits(const struct op *op, const json_t *args);

/* --- values (decode.c, encode.c, text.c) --------------------------------- */

enum decode_mode {
	DECODE_STRICT,
	DECODE_LENIENT, /* unknown keys are allowed */
	DECODE_EXACT, /* as the record's JSON schema: no value stands for another, and
			 null does not stand for a missing value */
};

/* Fills `dst` (r->size zeroed bytes) from a JSON object. Checks for unknown keys (the hint
 * names the nearest known key), and checks types, ranges, patterns, enums, lists and nested
 * records. Fills in defaults, and refuses U+0000. Texts are borrowed from `src` if possible,
 * else they are in `arena`. fault.where is a JSON pointer. */
int op_decode(const struct record *r, json_t *src, void *dst, enum decode_mode mode,
	      struct arena *arena, struct fault *fault);

/* A growing text. op_encode() appends a struct to it as compact JSON, without absent optional
 * fields. */
struct text {
	char *data; /* malloc'd; NUL-terminated */
	size_t len, room;
	bool counts; /* only len is counted: nothing is written, and data stays NULL */
};
void text_add(struct text *t, const char *data, size_t len);
void text_addf(struct text *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Appends `"name":`, which needs no escapes. A comma is put before it unless it is the first
 * member. */
void text_add_member(struct text *t, const char *name, bool first);
/* Appends `s` as a JSON string in quotes. Bad UTF-8 becomes U+FFFD. */
void text_add_json(struct text *t, const char *s);

/* The most memory that the values of one text may take once they are parsed, without the
 * strings. */
enum { JSON_MOST_MIB = 16 };

/* Parses a text that any sender may have sent, like json_loadb(). Skips a byte order mark.
 * Refuses, before it parses, a text whose values would take more than JSON_MOST_MIB. */
json_t *json_take(const char *text, size_t len, size_t flags, json_error_t *error);
/* The member `name` if it is a text that is not empty; else NULL. */
const char *json_find_text(const json_t *json, const char *name);
const char *json_text_at(const json_t *json, const char *name);
/* The member `name` if it is a whole number; else 0. */
long long json_int_at(const json_t *json, const char *name);
/* The number of bytes of `s` whose JSON takes at most `room` bytes. Counts whole characters
 * only. `*room` is lowered by the bytes of JSON. */
size_t text_json_fit(const char *s, size_t len, size_t *room);
/* The number of bytes at `s` that control a terminal or hide the text beside them. `s` ends
 * with a NUL. These bytes are C0, DEL and the C1 controls, which some terminals obey in UTF-8
 * too. Marks that turn the direction of a text count, too: U+061C, U+200E, U+200F, U+202A to
 * U+202E, U+2066 to U+2069. Returns 0 for a character that may be shown unchanged; with
 * `lines`, also for tabs and ends of lines. */
size_t text_control_len(const char *s, bool lines);
/* The number of bytes of the blank at `s`; 0 if there is no blank. A blank is any white space
 * of Unicode. */
size_t text_blank_len(const char *s);
/* The first byte after the blanks at `s`. */
const char *text_past_blanks(const char *s);
/* Appends text by another author that a model reads in a hook, a brief or a prompt. The model
 * cannot take the text for words of cadre or of the model's client. A blank is put before a
 * heading `[From …`, and a parenthesis replaces the `<` of a client's tag. */
void text_add_said(struct text *t, const char *s);
/* Overwrites the bytes that text_control_len() counts with question marks, from the byte `from`
 * on. Ends of lines stay. */
void text_mask(struct text *t, size_t from);
/* Overwrites each `secret` with asterisks. Returns the number of bytes that may be shown. The
 * bytes after these may be the beginning of another secret. */
size_t text_hide(struct text *t, const char *secret);
/* Removes the first `n` bytes. */
void text_drop(struct text *t, size_t n);
void text_release(struct text *t);
/* The number of bytes of the well-formed character at `s`, if it has two or more bytes; else 0.
 * Overlong forms, surrogates and values beyond U+10FFFF are not well-formed. A NUL ends the
 * text and continues no character, so nothing after the NUL is read. */
size_t text_wide(const char *s);

/* Whether a byte of UTF-8 continues a character. */
bool text_is_inside(char c);

/* The start of the character at `at`: a text that is cut there has no broken character. */
size_t text_start(const char *s, size_t at);
void op_encode(const struct record *r, const void *src, struct text *out);
/* Copies the fields that both structs have under the same name, with the same kind of value.
 * All other fields of `dst` stay unchanged, and also the fields that are absent in `src`.
 * Texts, lists and maps are borrowed from `src`. */
void record_copy(const struct record *from, const void *src, const struct record *to,
		 void *dst);
/* The number of bytes that op_encode() would append. Takes no memory. */
size_t op_size(const struct record *r, const void *src);
/* Appends the answer of an operation in a short form, for a reader who pays for each word. The
 * short form has no empty and default values, and no parts that op->brief leaves out. Its times
 * have no milliseconds. */
void op_encode_brief(const struct op *op, const void *out_struct, struct text *out);
/* The number of bytes that a record takes as a value of a list in a brief answer. */
size_t op_size_brief(const struct op *op, const struct record *r, const void *src);
/* An upper bound of op_size(). It is far cheaper, because it does not look into texts. */
size_t op_size_most(const struct record *r, const void *src);

/* A hash of a decoded struct: equal arguments, whatever their order in JSON,
 * have equal hashes.  The field named `except` (or NULL) is left out. */
uint64_t op_hash(const struct record *r, const void *src, const char *except);

/* RFC 3339 with milliseconds, UTC: "2026-11-21T08:00:00.000Z"; `out` takes 25
 * bytes. time_parse() also reads a time with an offset. It returns -1 if `s` is no time. */
#define TIME_MOST INT64_C(253402300799999) /* the end of the year 9999 */
void time_format(int64_t ms, char out[25]);
int64_t time_parse(const char *s);

/* A date, a time or both. Parts that the text does not have are 0. */
struct time_parts {
	int year, month, day, hour, minute, second; /* second 60: a leap second */
	int nanosecond; /* further digits are cut off */
	int offset; /* minutes east of UTC */
};

/* Take a part of a time in RFC 3339 from `*s`, and move `*s` after the part. Return false if
 * `*s` does not begin with such a part. */
bool time_take_date(const char **s, struct time_parts *t);
bool time_take_clock(const char **s, struct time_parts *t);
bool time_take_offset(const char **s, struct time_parts *t);

/* --- descriptions (describe.c) ------------------------------- */

json_t *op_schema(const struct record *r); /* JSON Schema 2020-12 */
/* Like op_schema(), but a record inside the record is "#/components/schemas/NAME". */
json_t *op_schema_naming(const struct record *r);
json_t *field_schema_naming(const struct field *fd);
/* The JSON Schema of a value, by its type alone. A record is any object. */
json_t *type_shape(const struct type *t);
/* The input schema of a tool or bundle. It has the actions that a caller of level `most` may
 * call, their types, and only the texts that a model needs. */
json_t *tool_schema(const char *tool, enum who most);
/* Adds the fields of an answer to `props`, by their types alone. The records in the answer are
 * added to `defs`. */
void record_shape(const struct record *r, json_t *props, json_t *defs);

/* --- the command line (args.c, usage.c) ----------------------------------- */

/* Finds the operation whose `cli` words begin argv. `*taken` gets the number of these words. */
const struct op *op_command(int argc, char **argv, int *taken);
/* Makes arguments from words: `--name value`, `--name=value`, `--flag`, and bare words in the
 * order of cli_fields. The caller handles `-` and `@file`. Returns NULL on a fault. */
json_t *op_args(const struct op *op, int argc, char **argv, struct fault *f);
/* Makes a JSON value from a word of a command, path or query. If the field's type allows it and
 * the word has the form, the value is a number, flag or JSON value. Any other word becomes a
 * text. */
json_t *field_word(const struct field *fd, const char *word);
/* Whether one word may hold several values of a list, with commas between them. Names, numbers
 * and choices contain no comma. Free text may contain commas, and is not split. */
bool type_splits(const struct type *t);
/* Whether a text matches the type's pattern. True if the type has no pattern. */
bool type_matches(const struct type *t, const char *s);
/* The field for a record's only required text, such as a criterion's text or a role's name.
 * This text may stand for the record. NULL: the record is written as JSON. */
const struct field *record_short(const struct record *r);
void op_usage(const struct op *op, struct text *out);
/* Writes the placeholder that help shows after an option: "N", "TEXT", "TASK_ID"; "" for a
 * flag. */
void field_value(const struct field *fd, char out[32]);
/* The help text for the words of op->runs: `exec WORKSPACE COMMAND...`. */
extern const char op_command_text[];

/* --- pages --------------------------------------------------------------------- */

/* The argument that begins the next page of an operation's list; NULL: the list has no pages. */
const struct field *page_argument(const struct op *op);
/* The value of the page argument for the page after an answer with `more`. The value is
 * borrowed from the answer. NULL if there is no further page. */
const json_t *page_next(const struct op *op, const json_t *answer);

/* --- hints (hint.c) ----------------------------------------------------------- */

/* The words in which a door writes hints: commands of a shell, tools with their actions, or
 * routes. */
enum hint_style { HINT_COMMAND, HINT_TOOL, HINT_ROUTE };

/* Appends the hint of a fault in the words of a door. Braces hold the name of an operation, as
 * in {task.list}, or a choice {A|B}. B is for a person who types commands, A for other readers.
 * Every door that writes a hint calls this function. */
void hint_write(const char *hint, enum hint_style style, struct text *out);
/* Appends a fault as JSON, with its hint in the words of a door. */
void fault_write(const struct fault *f, enum hint_style style, struct text *out);

/* Writes a hint in the words of the command, for logs and standard error. Returns `out`. */
enum { HINT_SIZE = 512 };
const char *hint_plain(const char *hint, char out[HINT_SIZE]);

/* --- OpenAPI (openapi.c) ----------------------------------------------------- */

/* The routes of all operations except the host's own, as OpenAPI 3.1. */
json_t *openapi_document(void);

/* --- routes (route.c) ------------------------------------------------------ */

struct face;

/* Finds the operation that a request names. `*face` gets the face of the request, or NULL if
 * the request is for the operation itself. Path parameters are put into `args`. */
const struct op *op_route(const char *method, const char *path, const struct face **face,
			  json_t *args);

#endif
