/* A client that makes random calls and writes the answers to its journal. */
#include "tests/crash/worker.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/crash/crash.h"
#include "tests/lib/place.h"

/* --- calls ------------------------------------------------------------------------- */

static const char *key_name(const struct op *op)
{
	return op->flags & OP_REQUEST ? "request_id" : "idempotency_key";
}

static json_t *ask(struct worker *w, const struct op *op, json_t *args, struct fault *f)
{
	struct text out = { 0 };
	json_t *result = NULL;

	*f = (struct fault){ 0 };
	if (client_call(w->client, op, args, &out, f) >= 0)
		result = json_loadb(out.data, out.len, 0, NULL);
	text_release(&out);
	if (!result && !f->code)
		fault_set(f, FAULT_INTERNAL, "", "the answer is no JSON");
	return result;
}

static json_t *fault_text(const struct fault *f)
{
	return json_sprintf("%s%s%s", f->where, f->where[0] ? ": " : "", f->text);
}

/* Tries the call until an answer arrives, at most TRIES times. If `once`, tries only once.
 * Without an answer the call stays open. The outcome of an open call is learnt only by a repeat
 * with the same key. */
static json_t *settle(struct worker *w, const struct op *op, const char *key,
		      json_t *args, bool once)
{
	struct fault f;
	json_t *result;

	for (int i = 0; i < TRIES; i++) {
		result = ask(w, op, args, &f);
		if (result) {
			journal_write(&w->journal, "end", key, "ok", json_incref(result));
			worker_team_answered(w, op, args);
			if (op->flags & OP_REQUEST)
				snprintf(w->seen[w->n_seen++ % SEEN_MOST],
					 sizeof(w->seen[0]), "%s", key);
			return result;
		}
		if (f.code != FAULT_UNAVAILABLE) {
			journal_write(&w->journal, "end", key, fault_info(f.code)->name,
				      fault_text(&f));
			return NULL;
		}
		journal_write(&w->journal, "note", key, "unavailable", fault_text(&f));
		if (once)
			return NULL;
		pause_for(20);
	}
	return NULL;
}

static void past_set(struct past *p, const char *key, const struct op *op, json_t *args)
{
	json_decref(p->args);
	snprintf(p->key, sizeof(p->key), "%s", key);
	p->op = op;
	p->args = json_incref(args);
}

static void name_seen(const struct worker *w, json_t *args)
{
	json_t *names = json_array();

	for (int i = 0; i < SEEN_MOST && i < w->n_seen; i++)
		json_array_append_new(names, json_string(w->seen[i]));
	json_object_set_new(args, "seen", names);
}

json_t *attempt(struct worker *w, const char *name, json_t *args, const char *key)
{
	const struct op *op = op_find(name);
	bool once = !(op->flags & OP_REQUEST) && dice_percent(&w->dice, 50);
	json_t *result;

	json_object_set_new(args, key_name(op), json_string(key));
	if (op->flags & OP_REQUEST)
		name_seen(w, args);
	journal_write(&w->journal, "try", key, name, json_incref(args));
	result = settle(w, op, key, args, once);
	/* A call of task.claim that got no task is not kept for repeats, since a repeat would
	 * be a new claim. */
	if (result && !(op->flags & OP_REQUEST) &&
	    (strcmp(name, "task.claim") || json_object_get(result, "task")))
		past_set(&w->past[w->n_past++ % PAST_MOST], key, op, args);
	json_decref(args);
	return result;
}

const char *new_key(struct worker *w, char key[48])
{
	snprintf(key, 48, "%s-%06ld", w->name, ++w->journal.number);
	return key;
}

/* --- messages ------------------------------------------------------------------------ */

static const char *somebody(struct worker *w)
{
	const char *name;

	do
		name = client_names[dice_below(&w->dice, CLIENTS)];
	while (!strcmp(name, w->name));
	return name;
}

/* Every message begins with the key of its call, so that stored messages can be told apart. */
static json_t *content_of(struct worker *w, const char *key)
{
	static const char filler[] = "nothing that was acknowledged may be missing ";
	int n = dice_percent(&w->dice, 5) ? 200 : dice_below(&w->dice, 8);
	json_t *text;
	char *s;
	size_t len = strlen(key) + 1;

	s = calloc(1, len + 1 + (size_t)n * (sizeof(filler) - 1));
	memcpy(s, key, len - 1);
	s[len - 1] = ' ';
	for (int i = 0; i < n; i++, len += sizeof(filler) - 1)
		memcpy(s + len, filler, sizeof(filler) - 1);
	text = json_string(s);
	free(s);
	return text;
}

static void act_send(struct worker *w)
{
	char key[48];
	json_t *args, *to = json_array();

	new_key(w, key);
	if (dice_percent(&w->dice, 4)) {
		json_array_append_new(to, json_string("*"));
	} else {
		json_array_append_new(to, json_string(somebody(w)));
		if (dice_percent(&w->dice, 15))
			json_array_append_new(to, json_string(somebody(w)));
	}
	args = json_pack("{sosossss}", "to", to, "content", content_of(w, key),
			 "priority", dice_percent(&w->dice, 10) ? "urgent" : "normal",
			 "message_type", "text");
	json_decref(attempt(w, "message.send", args, key));
}

static void act_reply(struct worker *w, const char *id)
{
	char key[48];
	json_t *args;

	new_key(w, key);
	args = json_pack("{ssso}", "message_id", id, "content", content_of(w, key));
	json_decref(attempt(w, "message.reply", args, key));
}

static void take_message(struct worker *w, const json_t *message)
{
	const char *id = json_string_value(json_object_get(message, "message_id"));
	int luck = dice_below(&w->dice, 100);

	if (luck < 8)
		act_reply(w, id);
	else if (luck < 85 && w->n_held < HELD_MOST)
		snprintf(w->held[w->n_held++], 40, "%s", id);
}

static void act_receive(struct worker *w)
{
	bool keep = !dice_percent(&w->dice, 15);
	char key[48];
	json_t *args, *result, *message;
	size_t i;

	new_key(w, key);
	args = json_pack("{sisisbsi}", "limit", 1 + dice_below(&w->dice, 8),
			 "lease_seconds", LEASE_S, "keep", keep, "wait_seconds",
			 dice_percent(&w->dice, 10));
	result = attempt(w, "message.receive", args, key);
	if (result && !keep)
		w->n_held = 0; /* this receive acknowledged all held messages */
	json_array_foreach(json_object_get(result, "messages"), i, message)
		take_message(w, message);
	json_decref(result);
}

static void act_ack(struct worker *w)
{
	int n = dice_percent(&w->dice, 60) ? 1 : w->n_held;
	json_t *ids = json_array();
	char key[48];

	for (; n > 0 && w->n_held > 0; n--)
		json_array_append_new(ids, json_string(w->held[--w->n_held]));
	if (json_array_size(ids))
		json_decref(attempt(w, "message.ack",
				    json_pack("{so}", "message_ids", ids),
				    new_key(w, key)));
	else
		json_decref(ids);
}

/* --- the board ------------------------------------------------------------------------ */

static json_t *create(struct worker *w)
{
	char key[48];
	json_t *args;

	new_key(w, key);
	args = json_pack("{sssi}", "title", key, "priority", 1 + dice_below(&w->dice, 5));
	return attempt(w, "task.create", args, key);
}

static void act_create(struct worker *w)
{
	json_decref(create(w));
}

static void act_claim(struct worker *w)
{
	json_t *args = json_pack("{sisi}", "lease_seconds", CLAIM_S, "wait_seconds",
				 dice_percent(&w->dice, 10));
	const char *id = NULL, *owner = NULL;
	json_int_t epoch = 0;
	char key[48];
	json_t *result = attempt(w, "task.claim", args, new_key(w, key));

	/* The answer to a repeated call may name another client as the owner of the task. */
	if (result &&
	    !json_unpack(result, "{s{ssss}sI}", "task", "id", &id, "owner", &owner,
			 "epoch", &epoch) &&
	    !strcmp(owner, w->name) && w->n_claims < CLAIMS_MOST) {
		struct claim *c = &w->claims[w->n_claims++];

		snprintf(c->task, sizeof(c->task), "%s", id);
		c->epoch = epoch;
	}
	json_decref(result);
}

static void act_work(struct worker *w)
{
	static const char *const ends[] = { "task.complete", "task.complete",
					    "task.complete", "task.release",
					    "task.fail" };
	int luck = dice_below(&w->dice, 9), i;
	const char *name = luck < 5 ? ends[luck] : luck < 8 ? "task.start" : NULL;
	char key[48];
	json_t *args;
	struct claim *c;

	if (!w->n_claims)
		return;
	i = dice_below(&w->dice, w->n_claims);
	c = &w->claims[i];
	args = json_pack("{sssI}", "task", c->task, "epoch", (json_int_t)c->epoch);
	if (luck != 5 && luck != 6 && luck != 7) /* the claim is ended or forgotten */
		*c = w->claims[--w->n_claims];
	if (!name) {
		json_decref(args);
		return;
	}
	new_key(w, key);
	if (strcmp(name, "task.start") && strcmp(name, "task.release"))
		json_object_set_new(args, "result", json_string(key));
	json_decref(attempt(w, name, args, key));
}

/* --- commands -------------------------------------------------------------------------- */

/* Each run of the command writes a line and sleeps, so that some commands still run when their
 * guest is killed. */
static json_t *command_of(struct worker *w, const char *key)
{
	return json_sprintf("echo ran >> %s/runs/%s; sleep 0.%d", w->base, key,
			    dice_below(&w->dice, 4));
}

static void act_assign(struct worker *w)
{
	const char *to = daemon_names[dice_below(&w->dice, DAEMONS)];
	json_t *payload, *args;
	char key[48], *content;

	if (!w->runs)
		return;
	new_key(w, key);
	payload = json_pack("{ssso}", "task_id", key, "command", command_of(w, key));
	content = json_dumps(payload, JSON_COMPACT);
	args = json_pack("{s[s]ssss}", "to", to, "content", content, "message_type",
			 "task_assignment");
	json_decref(attempt(w, "message.send", args, key));
	free(content);
	json_decref(payload);
}

/* Assigns a new task of the board to a daemon. Only the lead assigns tasks. */
static void act_assign_task(struct worker *w)
{
	json_t *task, *args;
	const char *id;
	char key[48];

	if (!w->runs || strcmp(w->name, client_names[0]))
		return;
	task = create(w);
	id = json_string_value(json_object_get(json_object_get(task, "task"), "id"));
	if (id) {
		new_key(w, key);
		args = json_pack("{sssssosi}", "task", id, "agent",
				 daemon_names[dice_below(&w->dice, DAEMONS)], "command",
				 command_of(w, key), "timeout_secs", 60);
		json_decref(attempt(w, "task.assign", args, key));
	}
	json_decref(task);
}

/* --- repeats ------------------------------------------------------------------------------ */

/* Repeats an acknowledged call. The answer to the repeat must have the same ids as the first
 * answer. */
static void act_again(struct worker *w)
{
	int n = w->n_past < PAST_MOST ? w->n_past : PAST_MOST;
	const struct past *p = n ? &w->past[dice_below(&w->dice, n)] : NULL;
	struct fault f;
	json_t *result;

	if (!p)
		return;
	result = ask(w, p->op, p->args, &f);
	if (result)
		journal_write(&w->journal, "again", p->key, "ok", result);
	else if (f.code != FAULT_UNAVAILABLE)
		journal_write(&w->journal, "again", p->key, fault_info(f.code)->name,
			      fault_text(&f));
}

static const struct {
	int weight;
	void (*act)(struct worker *w);
} acts[] = {
	{ 30, act_send }, { 16, act_receive }, { 18, act_ack },   { 6, act_create },
	{ 8, act_claim }, { 12, act_work },    { 6, act_assign }, { 3, act_assign_task },
	{ 6, act_again }, { 4, act_found },    { 6, act_spend },  { 3, act_end_team },
};

static void act(struct worker *w)
{
	int total = 0, luck;
	size_t i = 0;

	for (i = 0; i < sizeof(acts) / sizeof(*acts); i++)
		total += acts[i].weight;
	luck = dice_below(&w->dice, total);
	for (i = 0; luck >= acts[i].weight; i++)
		luck -= acts[i].weight;
	acts[i].act(w);
}

/* --- the worker's process --------------------------------------------------------------------- */

static void find_open(void *arg, const char *line, json_t *json)
{
	struct worker *w = arg;
	const char *tried = json_string_value(json_object_get(json, "try"));
	const char *ended = json_string_value(json_object_get(json, "end"));

	(void)line;
	if (tried && w->n_open < OPEN_MOST)
		past_set(&w->open[w->n_open++], tried,
			 op_find(json_string_value(json_object_get(json, "op"))),
			 json_object_get(json, "args"));
	for (int i = 0; ended && i < w->n_open; i++)
		if (!strcmp(w->open[i].key, ended)) {
			if (json_object_get(json, "result"))
				worker_team_answered(w, w->open[i].op, w->open[i].args);
			json_decref(w->open[i].args);
			w->open[i] = w->open[--w->n_open];
			w->open[w->n_open].args = NULL;
			break;
		}
}

/* Repeats the calls that an earlier process of this worker left open. If `all`, repeats every
 * open call. Otherwise repeats all open calls with OP_REQUEST, and about half of the other open
 * calls. */
static void settle_open(struct worker *w, bool all)
{
	for (int i = 0; i < w->n_open; i++)
		if (all || w->open[i].op->flags & OP_REQUEST ||
		    dice_percent(&w->dice, 50))
			json_decref(settle(w, w->open[i].op, w->open[i].key,
					   w->open[i].args, false));
}

/* Receives all waiting messages at the end, when no process is killed any more. */
static void drain(struct worker *w)
{
	for (int i = 0; i < 1000; i++) {
		json_t *args = json_pack("{sisisb}", "limit", 100, "lease_seconds", 600,
					 "keep", 1);
		char key[48];
		json_t *result = attempt(w, "message.receive", args, new_key(w, key));
		size_t n = json_array_size(json_object_get(result, "messages")) +
			   json_array_size(json_object_get(result, "results"));

		json_decref(result);
		if (!n)
			break;
	}
}

/* Whether the harness still holds the other end of standard input open. */
static bool goes_on(void)
{
	struct pollfd p = { .fd = 0, .events = POLLIN };

	return poll(&p, 1, 0) == 0;
}

static int open_worker(struct worker *w, bool direct, struct fault *f)
{
	char path[128], home[128];
	struct client_options o = { .home = &w->home, .direct = direct };

	snprintf(path, sizeof(path), "%s/journal/%s", w->base, w->name);
	snprintf(home, sizeof(home), "%s/state", w->base);
	journal_read(path, find_open, w);
	if (journal_open(&w->journal, path) < 0)
		return fault_set(f, FAULT_IO, "", "no journal");
	if (home_find(&w->home, home, HOME_LOOK, f) < 0)
		return f->code;
	o.identity = w->home.identity;
	snprintf(w->session, sizeof(w->session), "%.60s.%d", o.identity.session,
		 getpid());
	o.identity.session = w->session;
	return client_open(&w->client, &o, f);
}

static void close_worker(struct worker *w)
{
	for (int i = 0; i < PAST_MOST; i++)
		json_decref(w->past[i].args);
	for (int i = 0; i < w->n_open; i++)
		json_decref(w->open[i].args);
	client_close(w->client);
	journal_close(&w->journal);
}

int worker_main(int argc, char **argv)
{
	struct worker *w = calloc(1, sizeof(*w));
	struct fault f = { 0 };
	const char *how;

	if (argc != 6 || !w)
		return 2;
	how = argv[5];
	w->base = argv[2];
	w->name = argv[3];
	w->dice.state = strtoull(argv[4], NULL, 10);
	w->runs = strchr(how, 'r');
	if (open_worker(w, strchr(how, 'd'), &f) < 0) {
		fprintf(stderr, "%s: %s\n", w->name, f.text);
		return 1;
	}
	settle_open(w, strchr(how, 's'));
	if (strchr(how, 's'))
		drain(w);
	while (!strchr(how, 's') && goes_on()) {
		act(w);
		pause_for(dice_below(&w->dice, 10));
	}
	close_worker(w);
	free(w);
	return 0;
}
