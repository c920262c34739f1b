/*
 * op - operations as data.
 *
 * Every operation is one `struct op` in op_table[], generated from schema/.
 * The tables hold no logic; the code here reads the tables, so that decoding, checks,
 * schemas, help and documents cannot disagree.  Nothing here does I/O.
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
	KIND_ENUM, /* int64_t position */
	KIND_JSON, /* const char *: an object as compact JSON text */
	KIND_MAP, /* struct pair *, n_: an object of texts */
	KIND_RECORD,
};

/* Bounds of types and fields that opgen holds the schema to. */
enum { TYPE_MAX = 512, FIELD_MAX = 64 };

enum {
	FIELD_OPTIONAL = 1,
	FIELD_LIST = 2,
	FIELD_DEFAULT = 4,
	FIELD_PLAIN = 8, /* lists of tools leave its doc out: the name says it */
	FIELD_CALLER = 16, /* a project's cadre.toml may set it: core/config/config.h */
	FIELD_UNLISTED = 32, /* taken by tools of MCP, and not shown in their lists */
};

enum {
	OP_WRITE = 1,
	OP_IDEMPOTENT = 2,
	OP_DESTRUCTIVE = 4,
	OP_NEEDS_HOST = 8,
	OP_REQUEST = 16, /* request_id instead of idempotency_key */
	OP_PREFERS_HOST = 32, /* a read that says all only where the host runs it */
	OP_NEEDS_CURSOR = 64, /* is told what the mirror has read: call->keep_events */
	OP_MOVES_WORKSPACES = 128, /* changes what workspaces are to be */
	OP_IDENTIFIES = 256, /* the answer is an identity: name, team and token */
	OP_ABOVE = 512, /* a read that leads of teams above the one named may call, too */
	OP_LAX = 1024, /* a write that need not outlive a loss of power */
};

/* The least powerful caller that may call an operation; in order of power. */
enum who { WHO_OBSERVER, WHO_MEMBER, WHO_LEAD, WHO_OPERATOR, WHO_HOST };

/* Things that an answer hands out: if the answer is lost, nobody holds these things. */
enum gives { GIVES_NOTHING, GIVES_MESSAGES, GIVES_CLAIM };

enum rate { RATE_DEFAULT, RATE_CREATE, RATE_EXEC, RATE_TEAM_MESSAGE, RATE_FREE };

/* Ways to give the command a text; the words of `type ... given WORD`. */
enum given_as {
	GIVEN_AS_IS,
	GIVEN_FILE, /* itself, or @FILE or - for where it is */
	GIVEN_PATH, /* a path, from here */
	GIVEN_TREE, /* a path from the top of the project; the command takes it from here */
	GIVEN_PLACE, /* a path if it begins with . or /, else a name */
	GIVEN_NUMBER, /* a number that screens show, as #102, for the id that the field before
			 it tells */
	GIVEN_EVENT, /* the detail of an event, which screens tell in the words of its kind, the
			field `event` beside it */
	GIVEN_SECRET, /* only @FILE or -: others see the words of a command */
};

struct pair {
	const char *key, *value;
};

struct choice {
	const char *name, *doc; /* a table of these ends with a NULL name */
};

struct type {
	const char *name, *doc;
	enum kind kind;
	int64_t min, max; /* of an int; bytes of a text; both 0: unbounded */
	const char *pattern; /* POSIX ERE, or NULL */
	const struct choice *choices; /* KIND_ENUM */
	const struct record *record; /* KIND_RECORD */
	enum given_as given;
	int index; /* place in type_table[], for caches of compiled patterns */
};

struct field {
	const char *name, *doc;
	const struct type *type;
	unsigned flags;
	uint16_t at; /* offset of the value, or of the list's pointer */
	uint16_t at2; /* offset of n_NAME (list, map) or has_NAME; 0: no such field */
	int64_t most; /* values of a list; 0: any number */
	int64_t def_int;
	const char *def_text; /* NULL for the empty default of a list or map */
	const char *const *aliases; /* NULL-terminated, or NULL */
	const char *names; /* the noun that an argument names one of, or NULL */
	const char *
		by; /* FIELD:VALUE names all of that noun whose FIELD is VALUE; or NULL */
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
				     call; NULL: it never waits */
	const struct field *when; /* the call waits only with this flag; NULL: always */
	const struct field *within; /* seconds that a host may take, or NULL */
	const struct field *runs; /* a command that runs elsewhere, or NULL */
	const struct field *bytes_in, *bytes_out; /* bytes in base64, or NULL */
	const struct field *prints; /* of the answer: printed in full; NULL: none */
	const struct field
		*editor; /* argument: a text that a person at a terminal writes in
				       an editor where no word gives it; NULL: none */
	const struct field *owner; /* names the owner of the guest's door that serves it */
	enum gives gives;
	const struct op *rest; /* reads what an answer had no room for, or NULL */
	/* Flags in the answer of a read that waits: the wanted state is there; the wanted
	 * state will not come by itself.  NULL: the read does not wait. */
	const struct field *reached, *over;
	/* The flag in that answer that a host is needed, and none runs.  NULL: no host is
	 * needed. */
	const struct field *hostless;
	const struct op *until; /* the read that waits for the work that this operation
				   begins, or NULL */
	const char *const *until_values; /* states that `until` awaits, NULL-terminated;
					    NULL: the default of `until` */
	const struct field
		*misses; /* an answer without this field found nothing; or NULL */
	/* Parts of the answer: time ran out for a call that waited and has none of them.
	 * NULL-terminated, or NULL. */
	const char *const *awaits;
	const struct field *follows; /* argument: answer while the command runs; or NULL */
	const struct op *signals; /* then: passes signals on to the command */
	/* Does it for each record of its argument `many_list`, which are lines of the command's
	 * standard input; NULL: none. */
	const struct op *many;
	const struct field *many_list;
	const struct wire *message; /* by which a guest is asked, or NULL */
	const char *http_method, *http_path; /* NULL: no route */
	const char *tool, *action; /* NULL: in no tool; action NULL: alone */
	const char *const *cli; /* words of the command, NULL-terminated, or NULL */
	const char *const *cli_fields; /* bare words fill these, NULL-terminated */
	bool cli_rest; /* the last of cli_fields takes all further words of the command
			  line */
	const char *const *also; /* other first words for the command, NULL-terminated, or
				    NULL */
	const uint64_t *brief; /* fields that a brief answer keeps, as bits: of the
				  answer, then of the record in each field; NULL: all */
	const char *const *columns; /* for printing, NULL-terminated, or NULL */
	const char *const *page; /* fields of the answer's record: a heading, what stands
				    below it up to |, what is shown in full; NULL-terminated,
				    or NULL */
	const char *const *overview; /* lists of the answer, then behind | single values;
					NULL-terminated, or NULL */
	const char *says; /* the answer in a line, with {parts}; NULL: as it is */
	const char *empty; /* advice for an empty list, or NULL */
	const char *next; /* a person's possible next step, or NULL */
	const char *example; /* the command as it may be typed, or NULL */
	bool quiet; /* the command says nothing where no state is */
	bool clock; /* times are told by the clock, not as ago */
	const char *const *reads; /* texts that it reads by range, as RECORD.FIELD,
				     NULL-terminated, or NULL */
	const enum fault_code *faults; /* ends with FAULT_NONE */
	const int *events; /* event kinds, ends with 0 */
	int (*run)(struct call *call, const void *in, void *out);
	/* Runs a call of an operation for which one transaction is not enough; NULL:
	 * call_transact() does. */
	int (*steps)(struct call *call);
	int index; /* stable place of the operation in op_table[] */
};

struct event_kind {
	int number;
	const char *name, *doc;
	const char *says; /* how screens tell its detail; NULL: as it is */
	unsigned wakes; /* bits 1 << enum wake: the waits that the event ends */
};

/* Causes that end a wait; the words of `event ...  WAKES`. */
enum wake {
	WAKE_NONE,
	WAKE_INBOX, /* an agent has mail: key is the agent */
	WAKE_READY, /* a team has a task to claim: key is the team */
	WAKE_EVENT, /* a team has an event: key is the team */
};

/* A kind of thing with names, which a door completes while a person types. */
struct noun {
	const char *name;
	const char *list, *rows; /* operation that lists the things; the answer's list */
	const char *called, *doc; /* fields of each thing: its name, more about it */
	const char *find,
		*found_by; /* operation that answers whether there is one, and its
					argument for the name; NULL: none does */
};

struct tool {
	const char *name, *set, *doc;
};

/* A part of the work with cadre, as help shows it: the commands of some nouns. */
struct topic {
	const char *name, *doc;
	const char *const *nouns; /* NULL-terminated */
	const char *const *first; /* operations in the order of their use; NULL: none */
};

enum side { SIDE_HOST = 1, SIDE_GUEST = 2 };

struct wire {
	const char *name, *doc; /* PascalCase tag */
	unsigned ports; /* 1: 5000, 2: 5001, 3: both; 0 for an answer */
	unsigned senders; /* enum side bits; 0 for an answer */
	const struct record *record;
	const struct wire *answer; /* NULL: Ok, or none for an answer */
	const struct wire *guest_answer; /* to a guest's, where it is another */
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

/* The operation of this name, such as task.claim; NULL if there is none. */
const struct op *op_find(const char *name);
/* The operation that `action` (or NULL) of an MCP tool names; NULL if none. */
const struct op *op_tool(const char *tool, const char *action);
const struct field *field_find(const struct record *r, const char *name); /* or alias */
/* The word of an enum's value, by the type of that field. */
const char *field_choice(const struct record *r, const char *field, int64_t value);
/* The field that was most likely meant by a wrong name; NULL if none is near. */
const struct field *field_nearest(const struct record *r, const char *name);
/* Says that a record has no field of that name, and which may be meant; `where` is its place in
 * the arguments.  Returns the fault's code. */
int field_unknown(const struct record *r, const char *name, const char *where,
		  struct fault *f);
size_t type_size(const struct type *t); /* of one value in a struct or list */
const struct wire *wire_find(const char *name);
/* The answer type, other than Error, to this request of that side. */
const struct wire *wire_answer(const struct wire *asked, enum side sender);
const struct event_kind *event_kind(int number); /* NULL if unknown */
const struct noun *noun_find(const char *name);
/* Whether the operation is one of that noun's, as task.claim is of task. */
bool op_has_noun(const struct op *op, const char *noun);
/* The topic that has the operation's noun; NULL if none has. */
const struct topic *op_topic(const struct op *op);
/* The operation's place among the operations that the topic shows first; for any other
 * operation, the number of operations shown first. */
size_t topic_rank(const struct topic *t, const struct op *op);
/* The name under which a field stands among arguments: its own, or an alias. */
const char *field_spelling(const struct field *fd, const json_t *args);
/* The argument under which a write is known when it comes again. */
const char *op_key(const struct op *op);
bool field_is_key(const struct field *fd);
/* Whether a door has to be ready for a wait: the operation has one, and its flag, if it has
 * one, is set.  A wait of 0 seconds counts, too. */
bool op_waits(const struct op *op, const json_t *args);

/* --- values (decode.c, encode.c, text.c) --------------------------------- */

enum decode_mode {
	DECODE_STRICT,
	DECODE_LENIENT, /* unknown keys pass */
	DECODE_EXACT, /* as the record's JSON schema: no value stands for another, null for none */
};

/* Fills `dst` (r->size zeroed bytes) from a JSON object.  Checks unknown keys
 * (the nearest known one is the hint), types, ranges, patterns, enums, lists,
 * nested records; fills defaults; refuses U+0000.  Texts are borrowed from
 * `src` where possible, else in `arena`.  fault.where is a JSON pointer. */
int op_decode(const struct record *r, json_t *src, void *dst, enum decode_mode mode,
	      struct arena *arena, struct fault *fault);

/* JSON text, compact, of a struct; appended to `out`.  Absent optionals are
 * left out. */
struct text {
	char *data; /* malloc'd; NUL-terminated */
	size_t len, room;
	bool counts; /* len alone is kept: nothing is written, data stays NULL */
};
void text_add(struct text *t, const char *data, size_t len);
void text_addf(struct text *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Appends `"name":`, which needs no escapes, behind a comma unless it is the first member. */
void text_add_member(struct text *t, const char *name, bool first);
/* Appends `s` as a JSON string, in quotes; bad UTF-8 becomes U+FFFD. */
void text_add_json(struct text *t, const char *s);

/* Memory that one text's values may take once they are parsed, beside its strings. */
enum { JSON_MOST_MIB = 16 };

/* json_loadb() of a text that anybody may have sent: passes over a byte order mark, and refuses,
 * before it parses, a text whose values would take more than JSON_MOST_MIB. */
json_t *json_take(const char *text, size_t len, size_t flags, json_error_t *error);
/* A member that is a text: NULL without one, or "". */
const char *json_find_text(const json_t *json, const char *name);
const char *json_text_at(const json_t *json, const char *name);
/* A member that is a whole number, 0 without one. */
long long json_int_at(const json_t *json, const char *name);
/* How many bytes of `s` fit when its JSON may take `room` bytes; whole
 * characters only.  `*room` is lowered by what they take. */
size_t text_json_fit(const char *s, size_t len, size_t *room);
/* How many bytes at `s`, which ends with a NUL, drive a terminal or hide the text beside
 * them.  These are C0, DEL and the C1 controls, which some terminals obey in UTF-8 too.
 * Marks that turn the direction of a text count, too: U+061C, U+200E, U+200F, U+202A to
 * U+202E, U+2066 to U+2069.  0: the text is shown as it is; with `lines`, so are tabs and
 * the ends of lines. */
size_t text_control_len(const char *s, bool lines);
/* How many bytes a blank at `s` takes, which any white space of Unicode is; 0: there is none. */
size_t text_blank_len(const char *s);
/* The first byte behind the blanks at `s`. */
const char *text_past_blanks(const char *s);
/* Appends text of another author for a model to read, by a hook, a brief or a prompt.
 * The text cannot pass for words of cadre or of the model's client.  A blank is put
 * before a heading `[From …`, and a parenthesis replaces the `<` of a client's tag. */
void text_add_said(struct text *t, const char *s);
/* Overwrites such bytes with question marks, from the byte `from` on; lines stay. */
void text_mask(struct text *t, size_t from);
/* Overwrites each `secret` with asterisks.  Returns how many bytes may be shown: behind them stands
 * what may be the beginning of another one. */
size_t text_hide(struct text *t, const char *secret);
/* Takes away the first bytes. */
void text_drop(struct text *t, size_t n);
void text_release(struct text *t);
/* Bytes of the well-formed character of two or more bytes at `s`; 0 if there
 * is none.  Overlong forms, surrogates and what lies beyond U+10FFFF are not
 * well-formed.  A NUL ends the text and is no continuation, so that nothing
 * behind it is read. */
size_t text_wide(const char *s);

/* Whether a byte of UTF-8 continues a character. */
bool text_is_inside(char c);

/* The start of the character at `at`: a text that is cut there has no broken character. */
size_t text_start(const char *s, size_t at);
void op_encode(const struct record *r, const void *src, struct text *out);
/* Copies the fields that both structs have under one name, with one kind of value; all
 * others of `dst` stay, and so do those that are absent in `src`.  Texts, lists and maps
 * are borrowed from `src`. */
void record_copy(const struct record *from, const void *src, const struct record *to,
		 void *dst);
/* How many bytes op_encode() would append; takes no memory. */
size_t op_size(const struct record *r, const void *src);
/* Appends the answer of an operation in few words, for a reader who pays for each word: without
 * empty and default values, without the parts that op->brief leaves out, and with times to the
 * second. */
void op_encode_brief(const struct op *op, const void *out_struct, struct text *out);
/* How many bytes a record takes as a value of a list in that answer. */
size_t op_size_brief(const struct op *op, const struct record *r, const void *src);
/* An upper bound of op_size(), far cheaper: no text is looked into. */
size_t op_size_most(const struct record *r, const void *src);

/* A hash of a decoded struct: equal arguments, whatever their order in JSON,
 * have equal hashes.  The field named `except` (or NULL) is left out. */
uint64_t op_hash(const struct record *r, const void *src, const char *except);

/* RFC 3339 with milliseconds, UTC: "2026-11-21T08:00:00.000Z"; `out` takes 25
 * bytes.  time_parse returns -1 when `s` is none (an offset is understood). */
#define TIME_MOST INT64_C(253402300799999) /* the end of the year 9999 */
void time_format(int64_t ms, char out[25]);
int64_t time_parse(const char *s);

/* A date, a time or both; parts that a text does not have are 0. */
struct time_parts {
	int year, month, day, hour, minute, second; /* 60: a leap second */
	int nanosecond; /* further digits are cut off */
	int offset; /* minutes east of UTC */
};

/* Take a part of a time in RFC 3339 from `*s`, which moves on; false when `*s` has none. */
bool time_take_date(const char **s, struct time_parts *t);
bool time_take_clock(const char **s, struct time_parts *t);
bool time_take_offset(const char **s, struct time_parts *t);

/* --- descriptions (describe.c) ------------------------------- */

json_t *op_schema(const struct record *r); /* JSON Schema 2020-12 */
/* The same where a record in it is "#/components/schemas/NAME". */
json_t *op_schema_naming(const struct record *r);
json_t *field_schema_naming(const struct field *fd);
/* The same of a value by its type alone; a record is any object. */
json_t *type_shape(const struct type *t);
/* The input schema of a tool or bundle, with the actions that a caller of level `most` may
 * ask for; only types, and texts that a model needs. */
json_t *tool_schema(const char *tool, enum who most);
/* Adds the fields of an answer to `props`, by their types alone; the records in it are put
 * into `defs`. */
void record_shape(const struct record *r, json_t *props, json_t *defs);

/* --- the command line (args.c, usage.c) ----------------------------------- */

/* The operation whose `cli` words begin argv, and in `*taken` how many words these
 * are. */
const struct op *op_command(int argc, char **argv, int *taken);
/* Arguments from words: `--name value`, `--name=value`, `--flag`, bare words
 * in cli_fields' order; `-` or `@file` is left to the caller. NULL on fault. */
json_t *op_args(const struct op *op, int argc, char **argv, struct fault *f);
/* A JSON value from a word (of a command, path or query), new: by the field's type a
 * number, flag or JSON text where the word is one; every other word stays a text. */
json_t *field_word(const struct field *fd, const char *word);
/* Whether values of a list may stand in one word with commas between: names,
 * numbers and choices hold none; free text may, and stays whole. */
bool type_splits(const struct type *t);
/* Whether a text is of the form that the type's pattern asks for; true without one. */
bool type_matches(const struct type *t, const char *s);
/* The field of a record's only required text, which may stand for the record: a
 * criterion's text, a role's name.  NULL: the record is written as JSON. */
const struct field *record_short(const struct record *r);
void op_usage(const struct op *op, struct text *out);
/* Writes the placeholder behind an option in help: "N", "TEXT", "TASK_ID"; "" for a
 * flag. */
void field_value(const struct field *fd, char out[32]);
/* How the words of op->runs are taken: `exec WORKSPACE COMMAND...`. */
extern const char op_command_text[];

/* --- pages --------------------------------------------------------------------- */

/* The argument that begins the next page of an operation's list; NULL: none. */
const struct field *page_argument(const struct op *op);
/* The value of that argument for the page behind an answer that says `more`, borrowed
 * from the answer; NULL if there is no further page. */
const json_t *page_next(const struct op *op, const json_t *answer);

/* --- hints (hint.c) ----------------------------------------------------------- */

/* How a door speaks: in commands of a shell, in tools with their actions, in routes. */
enum hint_style { HINT_COMMAND, HINT_TOOL, HINT_ROUTE };

/* Appends the hint of a fault in the words of a door.  Braces hold the name of an
 * operation, as in {task.list}, or a choice {A|B}: B for a person who types commands, A
 * for others.  A door that writes a hint calls this function. */
void hint_write(const char *hint, enum hint_style style, struct text *out);
/* Appends a fault as JSON, with its hint in the words of a door. */
void fault_write(const struct fault *f, enum hint_style style, struct text *out);

/* A hint in the words of the command, for logs and standard error; returns `out`. */
enum { HINT_SIZE = 512 };
const char *hint_plain(const char *hint, char out[HINT_SIZE]);

/* --- OpenAPI (openapi.c) ----------------------------------------------------- */

/* The routes of all operations that are not the host's own, as OpenAPI 3.1 has them. */
json_t *openapi_document(void);

/* --- routes (route.c) ------------------------------------------------------ */

struct face;

/* The operation that a request names, and in `*face` the face of it, NULL if none; path
 * parameters are put into `args`. */
const struct op *op_route(const char *method, const char *path, const struct face **face,
			  json_t *args);

#endif
