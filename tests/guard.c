/*
 * guard - makes the calls of the hot path under callgrind, which counts instructions.
 *
 *	valgrind --tool=callgrind --instr-atstart=no --collect-atstart=no guard
 *
 * Each round makes many calls of one kind, in transactions of a fixed size. The tables of the
 * state are filled. The count of a call begins with the parsed arguments and ends with the
 * answer's text. Clock and random numbers are replaced by fixed numbers, so that a round needs
 * the same number of instructions in every run. After each round the program dumps the count
 * under NAME:CALLS. tests/guard/run compares the count with a count that is kept in a file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#include "core/base/alloc.h"
#include "core/call/call.h"
#include "core/wire/wire.h"
#include "tests/lib/folder.h"
#include "tests/lib/hooks.h"

enum {
	AGENTS = 64,
	HISTORY = 2048,
	BATCH = 32,
	FRAME = 1024,
	IDS = 2048,
	SEARCHES = 256
};

struct guard {
	char dir[64];
	struct store *store, *reader;
	struct settings settings;
	struct id_keys ids;
	int64_t now;
	uint64_t seed;
	int64_t at; /* calls so far in this round */
	char id[IDS][40]; /* ids from earlier rounds, by the number of the call */
	long epoch[IDS];
};

/* A round of calls of one operation. ask() makes the arguments of a call. `given` names the
 * member of each answer that the guard keeps. */
struct round {
	const char *name, *op;
	int calls;
	void (*ask)(const struct guard *g, int64_t i, char args[FRAME]);
	const char *given; /* the member of the answer that holds an id, or NULL */
};

static _Noreturn void give_up(const char *what, const struct fault *f)
{
	fprintf(stderr, "guard: %s: %s: %s\n", what, f->where, f->text);
	exit(1);
}

/* --- one call ---------------------------------------------------------------------- */

/* Writes the frame as a client does, with a new key if the operation takes a key. */
static void frame_of(struct guard *g, const struct round *r, char frame[2 * FRAME])
{
	char args[FRAME], key[80] = "";

	r->ask(g, g->at, args);
	if (field_find(op_find(r->op)->in, "idempotency_key"))
		snprintf(key, sizeof(key),
			 "\"idempotency_key\":\"%08x-%04x-7000-8000-%012x\"%s",
			 (unsigned)(g->now >> 16), (unsigned)(g->now & 0xffff),
			 (unsigned)g->seed, args[1] == '}' ? "" : ",");
	snprintf(frame, 2 * FRAME,
		 "{\"type\":\"Call\",\"id\":1,\"op\":\"%s\",\"args\":{%s%s}", r->op, key,
		 args + 1);
}

static void keep_given(struct guard *g, const struct round *r, const char *answer)
{
	static const char epoch[] = "\"epoch\":";
	const char *at = r->given ? strstr(answer, r->given) : NULL;

	if (!r->given)
		return;
	if (!at || g->at >= IDS) {
		fprintf(stderr, "guard: %s: %.300s\n", r->name, answer);
		exit(1);
	}
	at += strlen(r->given);
	snprintf(g->id[g->at], sizeof(g->id[0]), "%.*s", (int)strcspn(at, "\""), at);
	at = strstr(answer, epoch);
	if (at)
		g->epoch[g->at] = strtol(at + sizeof(epoch) - 1, NULL, 10);
}

/* Counts the instructions from the decoded JSON to the answer's text. The JSON parser is left
 * out, since the number of its instructions would hide changes in other code. */
static void run_counted(struct call *call, const struct op *op, json_t *args,
			struct text *answer)
{
	CALLGRIND_TOGGLE_COLLECT;
	if (call_decode(call, op, args) || op_perform(call))
		give_up(op->name, &call->fault);
	call_encode(call, answer);
	CALLGRIND_TOGGLE_COLLECT;
}

static void run_call(struct guard *g, const struct round *r, struct store *store)
{
	char frame[2 * FRAME], agent[16];
	struct packet p = { 0 };
	struct fault f = { 0 };
	struct text answer = { 0 };
	struct call call = {
		.store = store,
		.settings = &g->settings,
		.identity = { .level = WHO_OPERATOR,
			      .team = "t",
			      .agent = agent,
			      .proven = true,
			      .as = true },
		.now = ++g->now,
		.seed = ++g->seed * 2654435761,
		.ids = g->ids,
	};

	frame_of(g, r, frame);
	snprintf(agent, sizeof(agent), "a%d", (int)(g->at % AGENTS));
	if (packet_read(&p, frame, strlen(frame), &f))
		give_up(frame, &f);
	run_counted(&call, op_find(r->op), json_object_get(p.json, "args"), &answer);
	keep_given(g, r, answer.data);
	g->ids = call.ids;
	g->at++;
	text_release(&answer);
	arena_release(&call.arena);
	packet_release(&p);
}

/* --- rounds ------------------------------------------------------------------------ */

static void begin(struct store *store, bool write)
{
	struct fault f = { 0 };

	CALLGRIND_TOGGLE_COLLECT;
	if (store_begin(store, write, &f))
		give_up("begin", &f);
	CALLGRIND_TOGGLE_COLLECT;
}

static void end(struct store *store, bool write)
{
	struct fault f = { 0 };

	CALLGRIND_TOGGLE_COLLECT;
	if (!write)
		store_rollback(store);
	else if (store_commit(store, &f))
		give_up("commit", &f);
	CALLGRIND_TOGGLE_COLLECT;
}

static void run_batch(struct guard *g, const struct round *r)
{
	bool write = op_find(r->op)->flags & OP_WRITE;
	struct store *store = write ? g->store : g->reader;

	begin(store, write);
	for (int i = 0; i < BATCH && g->at < r->calls; i++)
		run_call(g, r, store);
	end(store, write);
}

static void run_round(struct guard *g, const struct round *r)
{
	for (g->at = 0; g->at < r->calls;)
		run_batch(g, r);
}

static void count_round(struct guard *g, const struct round *r)
{
	struct fault f = { 0 };
	char name[64];

	if (store_checkpoint(g->store, &f) < 0)
		give_up("checkpoint", &f);
	CALLGRIND_START_INSTRUMENTATION;
	CALLGRIND_ZERO_STATS;
	run_round(g, r);
	CALLGRIND_STOP_INSTRUMENTATION;
	snprintf(name, sizeof(name), "%s:%d", r->name, r->calls);
	CALLGRIND_DUMP_STATS_AT(name);
}

/* --- the calls' arguments -------------------------------------------------------------- */

#define BODY "the parser is on its way"

static void ask_send(const struct guard *g, int64_t i, char args[FRAME])
{
	(void)g;
	snprintf(args, FRAME, "{\"to\":[\"a%d\"],\"content\":\"" BODY "\"}",
		 (int)((i + 1) % AGENTS));
}

static void ask_all(const struct guard *g, int64_t i, char args[FRAME])
{
	(void)g;
	(void)i;
	snprintf(args, FRAME, "{\"to\":[\"*\"],\"content\":\"" BODY "\"}");
}

static void ask_receive(const struct guard *g, int64_t i, char args[FRAME])
{
	(void)g;
	(void)i;
	snprintf(args, FRAME, "{\"limit\":1}");
}

static void ask_ack(const struct guard *g, int64_t i, char args[FRAME])
{
	snprintf(args, FRAME, "{\"message_ids\":[\"%s\"]}", g->id[i]);
}

static void ask_create(const struct guard *g, int64_t i, char args[FRAME])
{
	(void)g;
	snprintf(args, FRAME,
		 "{\"title\":\"Mend part %d of the parser\",\"description\":\"" BODY
		 "\"}",
		 (int)i);
}

static void ask_nothing(const struct guard *g, int64_t i, char args[FRAME])
{
	(void)g;
	(void)i;
	snprintf(args, FRAME, "{}");
}

static void ask_note(const struct guard *g, int64_t i, char args[FRAME])
{
	snprintf(args, FRAME, "{\"task\":\"%s\",\"text\":\"" BODY "\"}", g->id[i]);
}

static void ask_complete(const struct guard *g, int64_t i, char args[FRAME])
{
	snprintf(args, FRAME,
		 "{\"task\":\"%s\",\"epoch\":%ld,\"result\":\"done as asked\"}", g->id[i],
		 g->epoch[i]);
}

static void ask_page(const struct guard *g, int64_t i, char args[FRAME])
{
	(void)g;
	(void)i;
	snprintf(args, FRAME, "{\"limit\":20}");
}

/* Every message and the text of every task matches the search. The answer has five of the
 * hits. */
static void ask_words(const struct guard *g, int64_t i, char args[FRAME])
{
	(void)g;
	(void)i;
	snprintf(args, FRAME, "{\"query\":\"way\",\"limit\":5}");
}

/* The title of every task matches, too. */
static void ask_titles(const struct guard *g, int64_t i, char args[FRAME])
{
	(void)g;
	(void)i;
	snprintf(args, FRAME, "{\"query\":\"parser\",\"limit\":5}");
}

/* Most rounds need the rows or ids that earlier rounds made. The rounds of searches are
 * the first, since later rounds write rows that the index does not hold yet. */
static const struct round rounds[] = {
	{ "search", "search.find", 32, ask_words, NULL },
	{ "titles", "search.find", 32, ask_titles, NULL },
	{ "send", "message.send", 512, ask_send, NULL },
	{ "broadcast", "message.send", 32, ask_all, NULL },
	{ "receive", "message.receive", 512, ask_receive, "\"message_id\":\"" },
	{ "ack", "message.ack", 512, ask_ack, NULL },
	{ "create", "task.create", 256, ask_create, NULL },
	{ "claim", "task.claim", 256, ask_nothing, "\"id\":\"" },
	{ "note", "task.note", 256, ask_note, NULL },
	{ "complete", "task.complete", 256, ask_complete, NULL },
	{ "list", "task.list", 32, ask_page, NULL },
	{ "ready", "task.ready", 32, ask_page, NULL },
};

/* --- the state ---------------------------------------------------------------------- */

static void make_team(struct guard *g)
{
	json_t *roles = json_pack("[{s:s}]", "name", "lead"), *args;
	struct call call = { .store = g->store,
			     .settings = &g->settings,
			     .identity = { .level = WHO_OPERATOR },
			     .now = g->now };

	for (int i = 0; i < AGENTS; i++)
		json_array_append_new(roles,
				      json_pack("{s:o}", "name", json_sprintf("a%d", i)));
	args = json_pack("{s:s, s:i, s:o}", "name", "t", "inbox_capacity", 0, "roles",
			 roles);
	store_set_now(g->store, g->now);
	if (call_decode(&call, op_find("team.create"), args) < 0 || call_run(&call) < 0)
		give_up("no team", &call.fault);
	arena_release(&call.arena);
	json_decref(args);
}

static void open_state(struct guard *g)
{
	const char *place = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	struct fault f = { 0 };

	snprintf(g->dir, sizeof(g->dir), "%s/cadre-guard.XXXXXX", place);
	if (!mkdtemp(g->dir))
		abort();
	settings_init(&g->settings);
	g->now = 1767225600000;
	if (store_open(&g->store, g->dir, STORE_CREATE | STORE_NO_CHECKPOINT, NULL, &f))
		give_up("the state", &f);
	make_team(g);
	if (store_open(&g->reader, g->dir, STORE_READ, NULL, &f))
		give_up("the reader", &f);
}

/* Fills the tables, so that a call that reads too many rows costs more instructions. */
static void fill(struct guard *g)
{
	run_round(g, &(struct round){ "", "message.send", HISTORY, ask_send, NULL });
	run_round(g, &(struct round){ "", "task.create", HISTORY, ask_create, NULL });
	/* The first searches make the index, and later searches merge parts of the index. */
	run_round(g, &(struct round){ "", "search.find", SEARCHES, ask_words, NULL });
}

int main(void)
{
	struct guard *g = xcalloc(1, sizeof(*g));

	open_state(g);
	fill(g);
	for (size_t i = 0; i < sizeof(rounds) / sizeof(rounds[0]); i++)
		count_round(g, &rounds[i]);
	store_close(g->reader);
	store_close(g->store);
	folder_remove(g->dir);
	free(g);
	return 0;
}
