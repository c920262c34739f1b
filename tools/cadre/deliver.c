/*
 * deliver - the last moment of a command that was given something.
 *
 * A message that nobody saw is not acknowledged, a claim that nobody was told of is
 * not held.  A signal ends such a command at once only while it waits.  Once it has its
 * answer, a signal is noted: the command first says whether all of its output was
 * written, and then ends by that signal.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "ops.gen.h"
#include "tools/cadre/cli.h"

static const int endings[] = { SIGINT, SIGTERM, SIGHUP, 0 };

bool deliver_gives(const struct op *op)
{
	return op->gives;
}

void deliver_begin(struct cli *cli, const struct op *op, json_t *args)
{
	const char *name = op_key(op);
	char key[37];

	if (!json_object_get(args, name)) {
		client_key(key);
		json_object_set_new(args, name, json_string(key));
	}
	signals_block(endings, &cli->waiting);
	signal(SIGPIPE, SIG_IGN);
	cli->confirms = true;
}

void deliver_answer(struct cli *cli)
{
	signals_note(endings);
	sigprocmask(SIG_SETMASK, &cli->waiting, NULL);
}

static bool has_any(const json_t *answer, const char *name)
{
	return json_array_size(json_object_get(answer, name)) > 0;
}

/* Says that the answer was seen, so that this session's next receive acknowledges it.
 * If that fails, the messages come again: no reason to fail the command. */
static void deliver_note_seen(struct cli *cli, const struct op *op, const json_t *args,
			      const json_t *answer)
{
	bool receives = op->flags & OP_REQUEST;
	json_t *name = json_object_get(args, op_key(op));
	struct fault f = { 0 };
	json_t *note;

	if (!has_any(answer, "messages") && !has_any(answer, "results") &&
	    !json_object_get(answer, "reply"))
		return;
	note = json_pack("{s:[O], s:O*, s:O*}", "requests", name, "agent",
			 json_object_get(args, receives ? "agent" : "from"), "team",
			 json_object_get(args, "team"));
	json_decref(run_op(cli, op_message_seen, note, &f));
	json_decref(note);
}

static void hint_at_undo(const json_t *answer)
{
	bool gave = has_any(answer, "messages") || has_any(answer, "results") ||
		    json_object_get(answer, "task") || json_object_get(answer, "reply");

	if (gave)
		fputs("hint: what it gave is taken back; ask again\n", stderr);
}

int deliver_end(struct cli *cli, const struct op *op, const json_t *args,
		const json_t *answer, int status)
{
	bool written = !cli_unwritten(cli);
	int number;

	if (cli->client)
		client_settle_all(cli->client, written && answer);
	if (answer && !written) {
		hint_at_undo(answer);
		status = fault_info(FAULT_IO)->exit_status;
	}
	if (answer && written)
		deliver_note_seen(cli, op, args, answer);
	number = signals_next();
	if (number)
		signals_die(cli, number);
	return status;
}
