/*
 * stream - shows the output of a command that runs elsewhere, as if the command ran here.
 *
 * The command's output is printed when the output arrives. Signals that would end this process
 * are passed on to the command instead. The command is a job of the workspace's guest, and the
 * job's output is read from offsets. If the host was away, reading continues at the same
 * offsets.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "tools/cadre/cli.h"

enum {
	LOOK_SECONDS = 20, /* the time for which one call waits for more output */
	AGAIN_MS = 1000, /* a second interrupt within this time kills the command */
	AWAY_MS = 10000, /* the time for which the host may be away */
	QUIET_MS = 5000, /* the time after which the user is told that there is no answer
			    yet */
	PAUSE_MS = 100, /* the least time between calls that brought no output */
};

struct reading {
	const char *name, *size, *offset;
	FILE *to;
	/* Numbers of bytes. `at`: bytes read. `shown`: bytes printed. `most`: maximum number of
	 * bytes to print. `whole`: bytes that the stream has, as far as is known. */
	int64_t at, shown, most, whole;
	bool full; /* the limit is reached, so nothing more is printed */
	int error; /* errno of a failed write, or 0 */
};

struct following {
	struct cli *cli;
	const struct op *op;
	const json_t *args;
	const json_t *answer; /* the first answer */
	struct reading streams[2];
	bool running, more;
	int code; /* the command's exit code */
	int64_t interrupted; /* time of the last interrupt; 0: no interrupt */
	int last, sending; /* `last`: signal that was passed on last; `sending`: number of
			      unanswered calls that pass on signals */
	bool killed, left, lost; /* lost: the command ended together with its guest */
	bool replaced; /* some bytes of the output were no text */
	struct fault unsent; /* the fault of a call that failed to pass on a signal */
	char *text[2]; /* --json: the output gathered for the single answer */
	size_t size[2];
};

/* The signals that are passed on to the command. */
static const int passed[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, 0 };

/* --- calls ---------------------------------------------------------------------------- */

/* Waits until input for the client or a signal arrives, or `ms` milliseconds have passed. */
static void wait_some(struct cli *cli, int ms)
{
	int own = client_timeout(cli->client);
	struct epoll_event event;

	if (ms < 0 || (own >= 0 && own < ms))
		ms = own;
	epoll_pwait(client_fd(cli->client), &event, 1, ms, &cli->waiting);
	client_step(cli->client);
}

/* Makes the arguments for a further operation on the command. The value of each argument is
 * taken from the first answer, or else from the arguments of the first call. */
static json_t *next_args(const struct following *w, const struct op *op)
{
	json_t *next = json_object();

	for (size_t i = 0; i < op->in->n_fields; i++) {
		const struct field *f = &op->in->fields[i];
		json_t *said = json_object_get(w->answer, f->name);

		said = said ? said : json_object_get(w->args, f->name);
		if (said && !field_is_key(f))
			json_object_set(next, f->name, said);
	}
	return next;
}

static void signal_sent(void *arg, const char *result, const struct fault *f)
{
	struct following *w = arg;

	w->sending--;
	if (!result && f->code != FAULT_NOT_FOUND)
		w->unsent = *f;
}

static void stream_send_signal(struct following *w, int number)
{
	json_t *args = next_args(w, w->op->signals);

	json_object_set_new(args, "signal", json_integer(number));
	w->sending++;
	client_start(w->cli->client, w->op->signals, args, signal_sent, w);
	json_decref(args);
}

/* Passes on the noted signals. A second SIGINT soon after the first kills the command. One more
 * SIGINT ends only this process. */
static void pass_signals(struct following *w)
{
	int number;

	while ((number = signals_next()) && !w->left) {
		int64_t now = clock_steady_ms();
		bool again = number == SIGINT && w->interrupted &&
			     now - w->interrupted < AGAIN_MS;

		w->left = number == SIGINT && w->killed;
		w->last = number;
		if (number == SIGINT)
			w->interrupted = now;
		w->killed = w->killed || again;
		stream_send_signal(w, again ? SIGKILL : number);
	}
	if (w->unsent.code)
		w->left = true;
}

/* --- output --------------------------------------------------------------------------- */

/* Prints the bytes of a stream in an answer, up to the stream's limit. A character that the
 * limit would cut is not printed. */
static void print_stream(struct reading *s, const json_t *part)
{
	json_t *text = json_object_get(part, s->name);
	int64_t size = json_int_at(part, s->size);
	const char *data = json_string_value(text);
	size_t n = json_string_length(text);

	s->at += (int64_t)n;
	s->whole = size > s->whole ? size : s->whole;
	s->whole = s->at > s->whole ? s->at : s->whole;
	if (s->full || !n)
		return;
	if ((int64_t)n > s->most - s->shown) {
		s->full = true;
		n = text_start(data, (size_t)(s->most - s->shown));
	}
	if ((fwrite(data, 1, n, s->to) < n || fflush(s->to)) && !s->error)
		s->error = errno;
	s->shown += (int64_t)n;
}

/* Warns if output was cut, so that no reader takes the output for the whole stream. */
static void tell_cut(const struct reading *s)
{
	if (s->shown < s->whole)
		fprintf(stderr,
			"cadre: %s was cut: %lld of %lld bytes; to get all, let the "
			"command write to a file, and read the file\n",
			s->name, (long long)s->shown, (long long)s->whole);
}

/* Takes an answer. Returns whether the answer has new output. */
static bool stream_take_part(struct following *w, const json_t *part)
{
	const json_t *code = json_object_get(part, "exit_code");
	int64_t before = w->streams[0].at + w->streams[1].at;

	for (int i = 0; i < 2; i++)
		print_stream(&w->streams[i], part);
	w->running = json_is_true(json_object_get(part, "running"));
	w->more = json_is_true(json_object_get(part, "more"));
	w->replaced |= json_is_true(json_object_get(part, "replaced"));
	if (code)
		w->code = (int)json_integer_value(code);
	return w->streams[0].at + w->streams[1].at > before;
}

/* --- following ------------------------------------------------------------------------- */

static void stream_ask_rest(struct following *w, struct awaited *a)
{
	json_t *args = next_args(w, w->op->rest);

	for (int i = 0; i < 2; i++)
		json_object_set_new(args, w->streams[i].offset,
				    json_integer(w->streams[i].at));
	if (w->running)
		json_object_set_new(args, "wait_seconds", json_integer(LOOK_SECONDS));
	client_form(w->cli->client, (struct form){ 0 });
	client_start(w->cli->client, w->op->rest, args, awaited_take, a);
	json_decref(args);
}

/* Waits until the time `from` + PAUSE_MS. Returns the time at which the wait ended. */
static int64_t pause_after(struct following *w, int64_t from)
{
	int64_t now;

	while ((now = clock_steady_ms()) < from + PAUSE_MS && !w->left) {
		wait_some(w->cli, (int)(from + PAUSE_MS - now));
		pass_signals(w);
	}
	return now;
}

/* Waits a moment for a host that is away. Returns false if the host was away for too long. */
static bool stream_wait_for_host(struct following *w, int64_t *since)
{
	int64_t now = clock_steady_ms();

	if (!*since && isatty(STDERR_FILENO))
		fputs("cadre: the host went away; waiting for it\n", stderr);
	*since = *since ? *since : now;
	return pause_after(w, now) - *since < AWAY_MS;
}

/* Explains a fault `not_found`. If the job or the workspace is unknown, the command ended
 * together with its guest. If another object is unknown, such as a renamed team, the fault
 * stays, because the state of the command is not known. */
static void tell_lost(struct following *w, struct fault *f)
{
	const struct fault why = *f;
	bool anew = strcmp(f->where, "/job_id") == 0;

	if (!anew && strcmp(f->where, "/workspace") != 0)
		return;
	w->lost = true;
	*f = (struct fault){ 0 };
	fault_set(f, FAULT_UNAVAILABLE, "", "%.200s; the command was interrupted",
		  anew ? "the workspace's guest was started again" : why.text);
	fault_hint(f, "%s", "Look at the command's effects before you run it again.");
}

/* Waits for the next answer, and if necessary for the return of the host. NULL with a fault:
 * there is no answer. NULL without a fault: this process ends before the command. */
static json_t *next_part(struct following *w, struct fault *f)
{
	int64_t since = 0;

	for (;;) {
		struct fault fault = { 0 };
		struct awaited a = { .fault = &fault };

		stream_ask_rest(w, &a);
		while (!a.done) {
			wait_some(w->cli, -1);
			pass_signals(w);
			if (w->left)
				return NULL;
		}
		if (a.answer)
			return a.answer;
		if (fault.code != FAULT_UNAVAILABLE || !stream_wait_for_host(w, &since)) {
			*f = fault;
			if (f->code == FAULT_NOT_FOUND)
				tell_lost(w, f);
			return NULL;
		}
		if (w->left)
			return NULL;
	}
}

/* Whether output can still be written. If no process reads the output, asks the command to end. */
static bool stream_is_read(struct following *w)
{
	if (!w->streams[0].error && !w->streams[1].error)
		return true;
	if (w->running) {
		stream_send_signal(w, SIGTERM);
		while (w->sending)
			wait_some(w->cli, -1);
	}
	return false;
}

static int64_t int_of(const struct following *w, const char *name)
{
	const json_t *said = json_object_get(w->args, name);

	return said ? json_integer_value(said) : field_find(w->op->in, name)->def_int;
}

static void follow_on(struct following *w, struct fault *f)
{
	while ((w->running || w->more) && !w->left && stream_is_read(w)) {
		int64_t asked = clock_steady_ms();
		json_t *part = next_part(w, f);
		bool brought = part && stream_take_part(w, part);

		if (part && json_is_true(json_object_get(part, "timed_out")) && !w->more)
			fault_set(f, FAULT_TIMEOUT, "/timeout_secs",
				  "command timed out after %llds",
				  (long long)int_of(w, w->op->within->name));
		json_decref(part);
		if (f->code || (!w->running && !brought))
			return;
		if (!brought) /* pause, since a guest may answer without a wait */
			pause_after(w, asked);
	}
}

/* --- the whole command ----------------------------------------------------------------- */

/* Waits for the first answer. If a signal arrives before the job is known, the signal is kept
 * for AGAIN_MS. If no answer arrives within AGAIN_MS, the signal ends this process, because the
 * guest may report the command only at the command's end. */
static void stream_first_answer(struct cli *cli, struct awaited *a)
{
	int64_t until = 0, tells = clock_steady_ms() + QUIET_MS, next;

	while (!a->done) {
		int64_t now = clock_steady_ms();
		int number = signals_came();

		if (number && until && now >= until)
			signals_die(cli, number);
		else if (number && !until)
			until = now + AGAIN_MS;
		if (tells && now >= tells) {
			cli_tell("cadre: the host has not answered yet; waiting for it");
			tells = 0;
		}
		next = until ? until : tells;
		wait_some(cli, next ? (int)(next - now) : -1);
	}
}

json_t *stream_begin(struct cli *cli, const struct op *op, json_t *args, struct fault *f)
{
	struct awaited a = { .fault = f };

	if (cli_client(cli, HOME_WRITE, f) < 0)
		return NULL;
	if (!json_object_get(args, op->follows->name))
		json_object_set_new(args, op->follows->name, json_true());
	signals_block(passed, &cli->waiting);
	signals_note(passed);
	signal(SIGPIPE, SIG_IGN);
	client_form(cli->client, run_form(cli));
	client_start(cli->client, op, args, awaited_take, &a);
	stream_first_answer(cli, &a);
	cli->streams = true;
	return a.answer;
}

/* Reports how much output was read before the host went away, and how to read the rest. */
static void tell_away(const struct following *w, struct fault *f)
{
	struct fault why = *f;
	const char *workspace = json_find_text(w->args, "workspace");
	const char *team = json_find_text(w->args, "team");

	*f = (struct fault){ 0 };
	fault_set(f, why.code, why.where,
		  "lost contact with the command after %lld bytes of output: %s",
		  (long long)(w->streams[0].at + w->streams[1].at), why.text);
	fault_hint(f,
		   "The command still runs, unless its guest was ended too. When the "
		   "host is back: cadre%s%s workspace poll %s %lld --stdout-offset %lld "
		   "--stderr-offset %lld",
		   team ? " --team " : "", team ? team : "", workspace ? workspace : "?",
		   json_int_at(w->answer, "job_id"), (long long)w->streams[0].at,
		   (long long)w->streams[1].at);
}

static int end_left(const struct following *w)
{
	fprintf(stderr, "cadre: the wait ends; the command may still run%s%s\n",
		w->unsent.code ? ": " : "", w->unsent.text);
	return 128 + w->last;
}

/* Prints the whole output and the exit code as one answer. */
static void print_whole(const struct following *w)
{
	json_t *whole = json_pack("{si}", "exit_code", w->code);

	for (int i = 0; i < 2; i++) {
		fflush(w->streams[i].to);
		json_object_set_new(whole, w->streams[i].name,
				    json_stringn(w->text[i], w->size[i]));
	}
	for (int i = 0; i < 2; i++)
		if (w->streams[i].shown < w->streams[i].whole) {
			json_object_set_new(whole, w->streams[i].size,
					    json_integer(w->streams[i].whole));
			json_object_set(whole, "job_id",
					json_object_get(w->answer, "job_id"));
		}
	if (w->replaced)
		json_object_set_new(whole, "replaced", json_true());
	print_json_new(whole);
}

static int stream_end(struct following *w, struct fault *f)
{
	if (w->streams[0].error == EPIPE)
		signals_die(w->cli, SIGPIPE);
	if (w->left)
		return end_left(w);
	if ((f->code == FAULT_UNAVAILABLE || f->code == FAULT_NOT_FOUND) && !w->lost)
		tell_away(w, f);
	if (f->code)
		return cli_fault(w->cli, f);
	if (w->cli->json) {
		print_whole(w);
		return 0;
	}
	for (int i = 0; i < 2; i++)
		tell_cut(&w->streams[i]);
	if (w->replaced)
		fputs("cadre: U+FFFD stands for NUL, and for bytes that are not UTF-8; "
		      "to get the bytes, let the command write to a file, and read the "
		      "file\n",
		      stderr);
	if (w->streams[1].error && !w->code)
		return fault_info(FAULT_IO)->exit_status;
	return w->code < 0 || w->code > 255 ? 1 : w->code;
}

int stream_print(struct cli *cli, const struct op *op, const json_t *args,
		 const json_t *answer)
{
	struct following w = {
		.cli = cli,
		.op = op,
		.args = args,
		.answer = answer,
		.streams = { { .name = "stdout",
			       .size = "stdout_size",
			       .offset = "stdout_offset",
			       .to = stdout },
			     { .name = "stderr",
			       .size = "stderr_size",
			       .offset = "stderr_offset",
			       .to = stderr } },
	};
	struct fault f = { 0 };
	int code;

	for (int i = 0; i < 2; i++) {
		struct reading *s = &w.streams[i];

		if (cli->json && !(s->to = open_memstream(&w.text[i], &w.size[i])))
			out_of_memory();
		s->most = int_of(&w, "max_output_bytes");
	}
	stream_take_part(&w, answer);
	for (int i = 0; i < 2 && json_object_get(answer, "job_id"); i++)
		w.more = w.more || w.streams[i].at < w.streams[i].whole;
	follow_on(&w, &f);
	code = stream_end(&w, &f);
	for (int i = 0; i < 2 && cli->json; i++) {
		fclose(w.streams[i].to);
		free(w.text[i]);
	}
	return code;
}
