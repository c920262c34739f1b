/*
 * events - lists past events, and with -f waits for new events.
 *
 * The file also has the verb gc, which repeats its operation until the operation has nothing
 * left to remove.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>

#include "core/base/clock.h"
#include "core/vault/vault_trash.h"
#include "ops.gen.h"
#include "tools/cadre/cli.h"
#include "tools/cadre/screen/progress.h"

enum { FOLLOW_SECONDS = 60, FOLLOW_FIRST = 10 };

/* Prints events. With --json, each event is one line of JSON. */
static void print_events(const struct cli *cli, const struct op *op, const json_t *answer,
			 struct layout *kept)
{
	json_t *events = json_object_get(answer, "events"), *event;
	size_t i;

	if (cli->json) {
		json_array_foreach(events, i, event) {
			columns_trim_one(cli, event);
			print_json(event);
		}
	} else if (json_array_size(events)) {
		print_more_rows(cli, op, field_find(op->out, "events")->type->record,
				events, kept);
	}
	fflush(stdout);
}

/* Calls the operation that lists events. Returns NULL with the fault filled if the call failed.
 * A busy team may cause more calls than the rate limit allows. If the rate limit refuses a
 * call, this function calls again as soon as the limit allows. */
static json_t *ask_in_time(struct cli *cli, const struct op *op, json_t *args,
			   struct fault *f)
{
	json_t *answer;

	while (!(answer = run_op(cli, op, args, f)) && f->code == FAULT_RATE_LIMITED) {
		poll(NULL, 0, (int)f->retry_after_ms);
		*f = (struct fault){ 0 };
	}
	return answer;
}

/* Prints events as they happen. The first round prints the last FOLLOW_FIRST events, unless the
 * caller says from when on, or how many. Each later round asks for the events after the last
 * printed event. If no such event exists, a round waits for at most FOLLOW_SECONDS. */
static int events_follow(struct cli *cli, const struct op *op, json_t *args)
{
	struct layout kept = { 0 };
	struct fault f = { 0 };
	json_t *answer;
	const bool said = json_object_get(args, "limit") ||
			  json_object_get(args, "after") ||
			  json_object_get(args, "since");

	cli->clock = op->clock;
	if (!said)
		json_object_set_new(args, "limit", json_integer(FOLLOW_FIRST));
	while ((answer = ask_in_time(cli, op, args, &f))) {
		print_events(cli, op, answer, &kept);
		if (!said)
			json_object_del(args, "limit");
		json_object_set(args, "after", json_object_get(answer, "next"));
		json_object_set_new(args, "wait_seconds", json_integer(FOLLOW_SECONDS));
		json_decref(answer);
		if (ferror(stdout))
			return 0; /* cli_unwritten() reports the failure */
	}
	return cli_fault(cli, &f);
}

int events_main(struct cli *cli, int argc, char **argv)
{
	const struct op *op = op_event_list;
	struct fault f = { 0 };
	bool follows;
	json_t *args;
	int status;

	argc--;
	argv++;
	follows = cli_take_word(&argc, argv, "-f") |
		  cli_take_word(&argc, argv, "--follow");
	if (!follows)
		return run_words(cli, op, argc, argv);
	signal(SIGPIPE, SIG_DFL); /* SIGPIPE ends `cadre events -f | head` */
	if ((status = columns_check(cli, op)))
		return status;
	args = op_args(op, argc, argv, &f);
	if (!args)
		return cli_fault(cli, &f);
	when_spell(op, args);
	if (cli->team)
		json_object_set_new(args, "team", json_string(cli->team));
	status = events_follow(cli, op, args);
	json_decref(args);
	return status;
}

/* --- gc ------------------------------------------------------------------------------- */

static void add_up(json_t *sum, const json_t *answer)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)answer, name, value)
		if (json_is_integer(value))
			json_object_set_new(sum, name,
					    json_integer(json_int_at(sum, name) +
							 json_integer_value(value)));
}

static void say_removed(struct progress *p, const json_t *sum)
{
	progress_say(p, "removed so far: %lld events, %lld messages",
		     json_int_at(sum, "events"), json_int_at(sum, "messages"));
}

/* Prints how much was removed, such as `removed 12 events, 3 messages`. */
static void say_all_removed(const struct cli *cli, const json_t *sum)
{
	static const struct {
		const char *name, *one, *many;
	} kinds[] = { { "events", "event", "events" },
		      { "messages", "message", "messages" },
		      { "deliveries", "delivery", "deliveries" },
		      { "keys", "idempotency key", "idempotency keys" } };
	struct arena a = { 0 };
	const char *all = "";

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		long long n = json_int_at(sum, kinds[i].name);

		if (n)
			all = arena_printf(&a, "%s%s%lld %s", all, *all ? ", " : "", n,
					   n == 1 ? kinds[i].one : kinds[i].many);
	}
	cli_prose(cli,
		  *all ? arena_printf(&a, "removed %s", all)
		       : "nothing to remove: all rows are recent, or still needed",
		  0);
	arena_release(&a);
}

/* Runs the first slice of the operation. If the operation needs a confirmation, asks the
 * person, and runs the slice again if the person agrees. */
static json_t *first_slice(struct cli *cli, const struct op *op, json_t *args,
			   struct fault *f)
{
	json_t *answer = run_op(cli, op, args, f);

	if (answer || !run_goes_on(cli, f))
		return answer;
	*f = (struct fault){ 0 };
	json_object_set_new(args, "confirm", json_true());
	return run_op(cli, op, args, f);
}

/* Removes old notes from the vault's trash, because the operation state.gc removes only rows.
 * The age of a note is counted up to call.now. No operation runs here, so this function sets
 * call.now itself. */
static int trim_notes(struct cli *cli, struct fault *f)
{
	struct call call = { .settings = &cli->home.settings, .now = clock_wall_ms() };

	if (store_open(&call.store, cli->home.dir, STORE_READ, NULL, f) == 0)
		vault_trash_trim(&call);
	store_close(call.store);
	arena_release(&call.arena);
	return f->code;
}

/* Runs the operation in slices, so that no other caller waits long for the state. */
int gc_main(struct cli *cli, int argc, char **argv)
{
	const struct op *op = op_state_gc;
	struct fault f = { 0 };
	json_t *args = op_args(op, argc - 1, argv + 1, &f), *sum = json_object(),
	       *answer = args ? first_slice(cli, op, args, &f) : NULL;
	struct progress *progress = progress_begin(cli, "looking for old events and "
							"messages");
	bool more;

	while (answer) {
		add_up(sum, answer);
		say_removed(progress, sum);
		more = json_is_true(json_object_get(answer, "more"));
		json_decref(answer);
		answer = more ? run_op(cli, op, args, &f) : NULL;
	}
	progress_end(progress);
	if (!f.code && trim_notes(cli, &f) == 0) {
		json_object_set_new(sum, "more", json_false());
		if (cli->json)
			print_json(sum);
		else
			say_all_removed(cli, sum);
	}
	json_decref(sum);
	json_decref(args);
	return f.code ? cli_fault(cli, &f) : 0;
}
