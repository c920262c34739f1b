#include "core/host/turns/hosted_turn.h"

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/host/guests/hosted_answer.h"
#include "core/host/host_inside.h"
#include "core/turn/runner_client.h"
#include "ops.gen.h"

enum {
	COME_MS = 60000, /* longest time for which a turn waits for its guest */
	SILENT_MS = 60000, /* a guest stands still if its answer is late by more than this
			      time */
	START_MS = 20000,
	POLL_S = 30,
	POLL_MORE_MS = 20000,
	PACE_MS = 50, /* pause between polls while the turn prints */
	SMALL = 64 << 10, /* new output below this size is read on the loop's thread */
	POLL_ROOM = 256 << 10, /* maximum bytes of JSON in an answer to a poll */
	AGAIN_MS = 1000, /* first pause after a failed write; each further pause is twice
			    as long */
	AGAIN_MOST_MS = 60000, /* longest pause after a failed write */
	ERRORS = 160, /* number of the last bytes of the error output that are kept as the
			 reason of a failure */
};

enum stage { WAITS, STARTS, RUNS, ENDS };

struct hosted_turn {
	struct host *host;
	struct hosted_turn *next, **at;
	int64_t turn, workspace;
	char *runner, *prompt, *session; /* session may be NULL */
	const struct runner_client *client; /* NULL: the runner's client is unknown */
	enum stage stage;
	bool listed;
	int refs; /* number of references from the list, the timers, requests to the
		     guest, and writes */
	int64_t since; /* when the turn began to wait for its guest */
	int64_t heard_at; /* time of the turn's start, of the guest's last answer, of the
			     last stored output, or of the stop, whichever is latest */
	bool asking, storing;
	bool reading; /* a worker uses `fresh`, `told` and `errors` */
	bool more; /* the guest has further output already */
	bool full; /* the state stores no more output of this turn */
	int64_t stored; /* bytes of output in the state */
	int64_t dropped; /* bytes of output that were not stored, or that the guest
			    lost */
	int64_t missing; /* bytes that the guest lost, and that `told` does not mention
			    yet */
	char boot_id[72]; /* boot id of the guest in which the turn runs */
	int64_t job; /* id that the guest has given the turn's command */
	int64_t offset[2];
	char token[72]; /* token of the turn's agent */
	struct text fresh[2]; /* output of each stream that the host has not read yet; the
				 output may end inside the agent's token */
	struct runner_told told;
	struct text errors; /* the last bytes of the error output */
	char said[200]; /* id of the client's session that the turn's row contains */
	int signal; /* last signal that was sent or has to be sent; 0: no signal */
	bool over, timed_out; /* reported by the guest; `fresh` may still have output */
	int64_t exit_code;
	enum turn_state end; /* how the turn ended, if the stage is ENDS */
	int64_t again_ms; /* pause after a failed write; 0: the last write succeeded */
	bool lost; /* the guest ended, which counts as a failure of the runner */
	bool stood; /* the guest stood still, and was killed */
	bool limited; /* the client reports that it is at the limit of its plan */
	char why[400];
	uv_timer_t timer; /* fires for the next poll or the next try to write */
	uv_timer_t patience; /* fires for the next signal */
};

static void unref(struct hosted_turn *u)
{
	if (--u->refs > 0)
		return;
	runner_told_release(&u->told);
	text_release(&u->fresh[0]);
	text_release(&u->fresh[1]);
	text_release(&u->errors);
	free(u->runner);
	free(u->prompt);
	free(u->session);
	free(u);
}

static void handle_closed(uv_handle_t *handle)
{
	unref(handle->data);
}

/* Removes a turn from the list. The turn's memory is kept until its timers, requests and writes
 * have ended. */
static void hosted_turn_drop(struct hosted_turn *u)
{
	if (!u->listed)
		return;
	u->listed = false;
	u->stage = ENDS;
	*u->at = u->next;
	if (u->next)
		u->next->at = u->at;
	uv_close((uv_handle_t *)&u->timer, handle_closed);
	uv_close((uv_handle_t *)&u->patience, handle_closed);
	unref(u);
}

/* The guest of the turn's workspace; NULL: the guest cannot be reached now. */
static struct hosted_guest *guest_of(const struct hosted_turn *u)
{
	struct hosted_guest *t = hosted_guest_of(u->host, u->workspace);

	return t && t->up ? t : NULL;
}

/* --- end of a turn ------------------------------------------------------------------- */

static void hosted_turn_settle(struct hosted_turn *u);

static void on_again(uv_timer_t *timer)
{
	hosted_turn_settle(timer->data);
}

/* Tries a failed write again after a pause, since a full disk may have room by then. */
static void settle_later(struct hosted_turn *u)
{
	if (!u->listed || u->host->stopping)
		return;
	u->again_ms = !u->again_ms                      ? AGAIN_MS
		      : u->again_ms * 2 < AGAIN_MOST_MS ? u->again_ms * 2
							: AGAIN_MOST_MS;
	uv_timer_start(&u->timer, on_again, (uint64_t)u->again_ms, 0);
}

static void hosted_turn_on_ended(struct job *job)
{
	struct hosted_turn *u = job->owner;
	struct host *host = u->host;
	bool failed = job->call.fault.code != 0;

	if (failed)
		log_line(host->log, LOG_LEVEL_WARN, "the end of a turn cannot be stored",
			 LOG_NUMBER("turn", u->turn), LOG_FAULT(&job->call.fault));
	job_free(job);
	if (failed && u->listed && !host->stopping) {
		settle_later(u);
	} else {
		hosted_turn_drop(u);
		turns_poke(host);
	}
	unref(u);
}

static void write_end(struct hosted_turn *u)
{
	u->refs++;
	host_ask(u->host, turn_end, hosted_turn_on_ended, u, .turn = u->turn,
		 .state = u->end, .has_exit_code = u->over, .exit_code = u->exit_code,
		 .reason = *u->why ? u->why : NULL, .lost = u->lost, .stood = u->stood,
		 .limited = u->limited,
		 .has_limited_until = u->limited && u->told.limited_until,
		 .limited_until = u->told.limited_until, .dropped = u->dropped,
		 .tokens_in = u->told.tokens_in, .tokens_out = u->told.tokens_out,
		 .cost = u->told.cost, .whole_tokens = u->told.whole_tokens,
		 .whole_cost = u->told.whole_cost);
}

static void hosted_turn_end(struct hosted_turn *u, enum turn_state state, const char *why)
{
	if (u->stage == ENDS)
		return;
	u->stage = ENDS;
	uv_timer_stop(&u->timer);
	uv_timer_stop(&u->patience);
	u->end = state;
	snprintf(u->why, sizeof(u->why), "%s", why ? why : "");
	hosted_turn_settle(u);
}

/* The last line of the turn's error output, as the reason of a failure. `*n` is set to the
 * length of this line in bytes. */
static const char *last_error(const struct hosted_turn *u, int *n)
{
	const char *s = u->errors.len ? u->errors.data : "", *end = s + u->errors.len;
	const char *from;

	while (end > s && (end[-1] == '\n' || end[-1] == ' '))
		end--;
	for (from = end; from > s && from[-1] != '\n';)
		from--;
	while (from < end && text_is_inside(*from))
		from++; /* skips the rest of a character that was cut */
	*n = (int)(end - from);
	return from;
}

/* Whether the runner's client has reported that it is at the limit of its plan. */
static bool is_limited(const struct hosted_turn *u)
{
	return u->client && (u->told.limited ||
			     (u->errors.len && runner_client_limit(u->errors.data)));
}

/* Sets how the turn ended. Called when the turn has ended and all its output has been stored. */
static void end_over(struct hosted_turn *u)
{
	const char *error;
	char why[240];
	int n;

	if (u->signal) {
		hosted_turn_end(u, TURN_STATE_INTERRUPTED, "it was stopped");
	} else if (u->timed_out) {
		u->exit_code = -1;
		snprintf(why, sizeof(why), "it ran longer than %lld s",
			 (long long)u->host->settings.config.runner_timeout_seconds);
		hosted_turn_end(u, TURN_STATE_FAILED, why);
	} else if (u->exit_code && is_limited(u)) {
		u->limited = true;
		hosted_turn_end(u, TURN_STATE_INTERRUPTED,
				"its client is at the limit of its plan");
	} else if (u->exit_code) {
		error = last_error(u, &n);
		snprintf(why, sizeof(why), "its command ended with %lld%s%.*s",
			 (long long)u->exit_code, n ? ": " : "", n, error);
		hosted_turn_end(u, TURN_STATE_FAILED, why);
	} else {
		hosted_turn_end(u, TURN_STATE_DONE, NULL);
	}
}

/* --- output of a turn ------------------------------------------------------------------ */

static void poll_soon(struct hosted_turn *u, int64_t ms);

/* After a failed write, puts the output back in front of newer output. */
static void hosted_turn_take_back(struct hosted_turn *u, const struct turn_output_in *in)
{
	struct text newer = u->told.text;

	u->told.text = (struct text){ 0 };
	text_add(&u->told.text, in->text, strlen(in->text));
	text_add(&u->told.text, newer.data, newer.len);
	text_release(&newer);
	*u->said = '\0';
}

static void hosted_turn_on_stored(struct job *job)
{
	struct hosted_turn *u = job->owner;
	const struct turn_output_in *in = job->call.in;
	const struct turn_output_out *out = job->call.out;

	u->storing = false;
	if (job->call.fault.code) {
		log_line(u->host->log, LOG_LEVEL_WARN,
			 "a turn's output cannot be stored yet",
			 LOG_NUMBER("turn", u->turn), LOG_FAULT(&job->call.fault));
		hosted_turn_take_back(u, in);
		settle_later(u);
	} else {
		u->full |= !out->kept;
		u->stored += (int64_t)strlen(in->text);
		u->heard_at = clock_steady_ms();
		u->again_ms = 0;
		hosted_turn_settle(u);
	}
	job_free(job);
	unref(u);
}

/* Starts to store the turn's new output, and the client's session if the turn's row does not
 * have this session yet. */
static void hosted_turn_store(struct hosted_turn *u)
{
	bool named = strcmp(u->said, u->told.session) != 0;
	struct text *text = &u->told.text;
	size_t n = text_hide(text, u->token);
	struct turn_output_in *in;
	struct job *job;

	n = u->stage == ENDS ? text->len : n;
	if (u->full) {
		u->dropped += (int64_t)n;
		text_drop(text, n);
		n = 0;
	}
	if (!n && !named)
		return;
	u->refs++;
	job = host_job(u->host, op_turn_output, hosted_turn_on_stored, u);
	in = job->call.in;
	in->turn = u->turn;
	in->text = n ? arena_strndup(&job->call.arena, text->data, n) : "";
	in->has_start = true;
	in->start = u->stored;
	in->session = named ? arena_strdup(&job->call.arena, u->told.session) : NULL;
	memcpy(u->said, u->told.session, sizeof(u->said));
	text_drop(text, n);
	u->storing = true;
	host_submit(u->host, job);
}

/* Moves a stream's new output to `told`, from which the output is stored. The agent's token is
 * hidden, since teammates may read the output. */
static void hand_on(struct hosted_turn *u, int stream, bool all)
{
	struct text *t = &u->fresh[stream];
	size_t n = text_hide(t, u->token);

	n = all ? t->len : n;
	if (!n)
		return;
	if (stream == 0) {
		runner_client_take(u->client, t->data, n, &u->told);
	} else {
		text_add(&u->told.text, t->data, n);
		text_add(&u->errors, t->data, n);
		text_drop(&u->errors,
			  u->errors.len > ERRORS ? u->errors.len - ERRORS : 0);
	}
	text_drop(t, n);
}

static void hosted_turn_hand_on(struct hosted_turn *u, bool all)
{
	hand_on(u, 0, all);
	hand_on(u, 1, all);
	if (all)
		runner_client_end(u->client,
				  &u->told); /* the last line may have no newline */
	if (u->missing)
		text_addf(&u->told.text,
			  "\n"
			  "[cadre: %" PRId64 " bytes were not kept]\n",
			  u->missing);
	u->missing = 0;
}

static void hosted_turn_work(struct job *job, struct store *store)
{
	(void)store;
	hosted_turn_hand_on(job->owner, job->number);
}

static void hosted_turn_on_read(struct job *job)
{
	struct hosted_turn *u = job->owner;

	u->reading = false;
	job_free(job);
	hosted_turn_settle(u);
	unref(u);
}

static bool hosted_turn_has_unread(const struct hosted_turn *u)
{
	return u->fresh[0].len || u->fresh[1].len || u->missing || u->told.line.len ||
	       u->told.passed;
}

/* Reads the new output. If there is much output, a worker reads it, since reading may take
 * long. If there is little output, the loop's thread reads it at once, without a wait for a
 * worker. */
static void hosted_turn_read(struct hosted_turn *u)
{
	const bool all = u->over || u->stage == ENDS;
	struct job *job;

	if (u->fresh[0].len + u->fresh[1].len + u->told.line.len < SMALL) {
		hosted_turn_hand_on(u, all);
		hosted_turn_settle(u);
		return;
	}
	job = job_new(&u->host->jobs);
	u->refs++;
	u->reading = true;
	job->owner = u;
	job->number = all;
	job->read = hosted_turn_work;
	job->done = hosted_turn_on_read;
	host_work(u->host, job);
}

/* Stores the turn's output. When the output is stored, asks the guest for more output, or
 * writes how the turn ended. */
static void hosted_turn_settle(struct hosted_turn *u)
{
	if (u->storing || u->reading || !u->listed)
		return;
	if (u->stage == ENDS && hosted_turn_has_unread(u)) {
		hosted_turn_read(u);
		return;
	}
	hosted_turn_store(u);
	if (u->storing)
		return;
	if (u->stage == ENDS)
		write_end(u);
	else if (u->over)
		end_over(u);
	else
		poll_soon(u, u->more ? 1 : PACE_MS);
}

static void take_output(struct hosted_turn *u, const struct wire_background_status *m)
{
	const char *const texts[] = { m->stdout, m->stderr };

	u->over = !m->running && !m->more;
	for (int i = 0; i < 2; i++) {
		text_add(&u->fresh[i], texts[i], strlen(texts[i]));
		u->offset[i] += (int64_t)strlen(texts[i]);
	}
}

/* Counts the bytes of output that the guest could not keep, because its disk was full. The lost
 * bytes are the end of the output. */
static void note_lost(struct hosted_turn *u, const struct wire_background_status *m)
{
	int64_t lost = (m->has_stdout_written ? m->stdout_written - m->stdout_size : 0) +
		       (m->has_stderr_written ? m->stderr_written - m->stderr_size : 0);

	if (lost <= 0)
		return;
	u->missing = lost;
	u->dropped += lost;
}

/* --- polling --------------------------------------------------------------------------- */

static void hosted_turn_lose(struct hosted_turn *u)
{
	u->lost = !u->signal;
	hosted_turn_end(u, TURN_STATE_INTERRUPTED, "its guest ended");
}

static void on_polled(void *arg, struct packet *answer, struct fault *f)
{
	struct hosted_turn *u = arg;
	struct wire_background_status m = { 0 };
	struct arena a = { 0 };
	struct fault bad = { 0 };

	u->asking = false;
	if (answer)
		u->heard_at = clock_steady_ms();
	if (u->stage != RUNS) {
		unref(u);
		return;
	}
	if (!answer) {
		if (f->code == FAULT_NOT_FOUND)
			hosted_turn_lose(u); /* another guest than the turn's guest
						answers */
		else if (f->code == FAULT_TIMEOUT)
			poll_soon(u, PACE_MS);
		/* if the guest has no link, hosted_turns_tick() polls again */
		unref(u);
		return;
	}
	if (answer_decode(answer, &m, &a, &bad) < 0) {
		if (bad.code == FAULT_NOT_FOUND)
			hosted_turn_lose(u);
		else
			hosted_turn_end(u, TURN_STATE_FAILED, bad.text);
	} else {
		take_output(u, &m);
		u->exit_code = m.exit_code;
		u->timed_out = m.timed_out;
		u->more = m.more;
		if (u->over)
			note_lost(u, &m);
		if (hosted_turn_has_unread(u))
			hosted_turn_read(u);
		else
			hosted_turn_settle(u);
	}
	arena_release(&a);
	unref(u);
}

static void hosted_turn_ask(struct hosted_turn *u, struct hosted_guest *t,
			    const char *type, const void *m, int64_t ms,
			    guest_conn_done *done)
{
	u->refs++;
	guest_conn_ask(&t->control, type, m, ms, done, u);
}

static void poll_now(struct hosted_turn *u)
{
	struct hosted_guest *t = guest_of(u);
	struct wire_exec_poll m = {
		.job_id = u->job,
		.stdout_offset = u->offset[0],
		.stderr_offset = u->offset[1],
		.has_wait_seconds = true,
		.wait_seconds = POLL_S,
		.has_room = true,
		.room = POLL_ROOM,
	};

	if (u->stage != RUNS || u->asking || u->storing || u->reading || u->again_ms ||
	    !t)
		return;
	if (strcmp(t->boot_id, u->boot_id) != 0) {
		hosted_turn_lose(u);
		return;
	}
	u->asking = true;
	hosted_turn_ask(u, t, "ExecPoll", &m, POLL_S * 1000 + POLL_MORE_MS, on_polled);
}

static void hosted_turn_on_timer(uv_timer_t *timer)
{
	poll_now(timer->data);
}

static void poll_soon(struct hosted_turn *u, int64_t ms)
{
	if (u->stage == RUNS && u->listed)
		uv_timer_start(&u->timer, hosted_turn_on_timer, (uint64_t)ms, 0);
}

/* --- stopping -------------------------------------------------------------------------- */

static void hosted_turn_send_signal(struct hosted_turn *u);

static void on_signalled(void *arg, struct packet *answer, struct fault *f)
{
	(void)answer;
	(void)f; /* unused: other functions notice that the turn or guest ended */
	unref(arg);
}

static void on_patience(uv_timer_t *timer)
{
	struct hosted_turn *u = timer->data;

	u->signal = u->signal == SIGINT ? SIGTERM : SIGKILL;
	hosted_turn_send_signal(u);
}

static void hosted_turn_send_signal(struct hosted_turn *u)
{
	struct hosted_guest *t = guest_of(u);
	const struct wire_exec_kill m = { .job_id = u->job, .signal = u->signal };

	if (u->stage != RUNS)
		return;
	if (t)
		hosted_turn_ask(u, t, "ExecKill", &m, START_MS, on_signalled);
	uv_timer_start(&u->patience, on_patience,
		       (uint64_t)u->host->settings.config.runner_interrupt_ms, 0);
}

static struct hosted_turn *hosted_turn_find(struct host *host, int64_t turn)
{
	struct hosted_turn *u = host->turns->running;

	while (u && u->turn != turn)
		u = u->next;
	return u;
}

/* Stops a turn, because messages wait for its agent, or because its agent is gone. Does nothing
 * if the turn has ended already. */
static void hosted_turn_stop(struct host *host, int64_t turn)
{
	struct hosted_turn *u = hosted_turn_find(host, turn);

	if (!u || u->signal)
		return;
	u->signal = SIGINT;
	u->heard_at = clock_steady_ms();
	if (u->stage == WAITS)
		hosted_turn_end(u, TURN_STATE_INTERRUPTED,
				"the turn was stopped before its command ran");
	else
		hosted_turn_send_signal(u); /* if the stage is STARTS, on_started() sends
					       the signal later */
}

/* --- starting -------------------------------------------------------------------------- */

/* Time in ms since the last heartbeat of the turn's guest; 0: the time is unknown. */
static int64_t beatless_ms(const struct hosted_turn *u)
{
	const struct hosted_guest *t = hosted_guest_of(u->host, u->workspace);

	return t && t->daemon.heard_at ? clock_boot_ms() - t->daemon.heard_at : 0;
}

/* Ends a turn whose guest does not answer. Also kills the guest, if this host knows the guest's
 * process. */
static void end_silent(struct hosted_turn *u, int64_t silent_ms)
{
	char why[100];

	snprintf(why, sizeof(why), "its guest has not answered for %" PRId64 " s",
		 silent_ms / 1000);
	u->stood = hosted_workspace_kill(u->host, u->workspace,
					 "a guest stands still and is ended");
	u->lost = u->stood && u->stage == RUNS;
	hosted_turn_end(u, TURN_STATE_INTERRUPTED, why);
}

static void on_started(void *arg, struct packet *answer, struct fault *f)
{
	struct hosted_turn *u = arg;
	struct wire_background_started m = { 0 };
	struct arena a = { 0 };
	struct fault bad = { 0 };

	if (u->stage != STARTS) {
		unref(u);
		return;
	}
	if (!answer)
		bad = *f;
	else
		answer_decode(answer, &m, &a, &bad);
	if (!bad.code) {
		u->job = m.job_id;
		u->stage = RUNS;
		poll_now(u);
		if (u->signal)
			hosted_turn_send_signal(u);
	} else if (bad.code == FAULT_TIMEOUT && beatless_ms(u) > SILENT_MS) {
		end_silent(u, beatless_ms(u));
	} else if (bad.code == FAULT_UNAVAILABLE || bad.code == FAULT_TIMEOUT ||
		   bad.code == FAULT_CONFLICT) {
		hosted_turn_end(u, TURN_STATE_INTERRUPTED, bad.text);
	} else {
		hosted_turn_end(u, TURN_STATE_FAILED, bad.text);
	}
	arena_release(&a);
	unref(u);
}

/* The runner's command. Before the shell runs the command, the shell unsets the variables that
 * runner.env_drop lists. */
static const char *hosted_turn_command_of(const struct hosted_turn *u, struct arena *a)
{
	const char *command = runner_command(u->runner, a);
	char *dropped = arena_strdup(a, u->host->settings.config.runner_env_drop);

	for (char *s = dropped; s && *s; s++)
		*s = (char)(*s == ',' ? ' ' : *s);
	return dropped ? arena_printf(a, "unset %s\n%s", dropped, command) : command;
}

static void hosted_turn_start(struct hosted_turn *u, struct hosted_guest *t)
{
	/* CADRE_TEAM and CADRE_AGENT are set here to the present names, since the guest may
	 * have been started with earlier names. */
	struct pair env[] = { { "CADRE_SESSION", u->session ? u->session : "" },
			      { "CADRE_TEAM", t->team_name },
			      { "CADRE_AGENT", t->agent_name } };
	struct arena a = { 0 };
	struct wire_turn_start m = {
		.turn = u->turn,
		.command = hosted_turn_command_of(u, &a),
		.prompt = u->prompt,
		.env = env,
		.n_env = sizeof(env) / sizeof(*env),
		.timeout_secs = u->host->settings.config.runner_timeout_seconds,
	};

	memcpy(u->boot_id, t->boot_id, sizeof(u->boot_id));
	memcpy(u->token, t->agent_token, sizeof(u->token));
	u->stage = STARTS;
	u->heard_at = clock_steady_ms();
	hosted_turn_ask(u, t, "TurnStart", &m, START_MS, on_started);
	arena_release(&a);
}

/* Starts the turn if its guest can be reached. Ends the turn if the guest is too old for turns,
 * or cannot be reached within COME_MS. */
static void try_start(struct hosted_turn *u)
{
	struct hosted_guest *t = guest_of(u);

	if (t && !t->knows_turns)
		hosted_turn_end(u, TURN_STATE_FAILED,
				"the guest of its workspace is too old for turns");
	else if (t)
		hosted_turn_start(u, t);
	else if (clock_steady_ms() - u->since > COME_MS)
		hosted_turn_end(u, TURN_STATE_INTERRUPTED, "its guest does not answer");
}

void hosted_turn_new(struct host *host, const struct turn_start *s)
{
	struct hosted_turn *u = xcalloc(1, sizeof(*u));

	u->host = host;
	u->turn = s->turn;
	u->workspace = s->workspace;
	u->runner = xstrdup(s->runner);
	u->prompt = xstrdup(s->prompt);
	u->session = xstrdup(s->session);
	u->client = runner_client_of(u->runner);
	u->since = clock_steady_ms();
	u->listed = true;
	u->next = host->turns->running;
	u->at = &host->turns->running;
	if (u->next)
		u->next->at = &u->next;
	host->turns->running = u;
	uv_timer_init(&host->loop, &u->timer);
	uv_timer_init(&host->loop, &u->patience);
	u->timer.data = u->patience.data = u;
	u->refs = 3;
	try_start(u);
}

/* --- guests ---------------------------------------------------------------------------- */

static void on_cleared(void *arg, struct packet *answer, struct fault *f)
{
	(void)arg;
	(void)answer;
	(void)f; /* unused: after a failure the next TurnStart ends the turn that still
		    runs in the guest */
}

/* Whether a turn of this host runs or is being started in the guest `t`. */
static bool hosted_turn_is_ours(const struct hosted_guest *t)
{
	for (const struct hosted_turn *u = t->host->turns->running; u; u = u->next)
		if (u->workspace == t->workspace && u->stage != WAITS && u->stage != ENDS)
			return true;
	return false;
}

void hosted_turns_greeted(struct hosted_guest *t)
{
	if (t->knows_turns && !hosted_turn_is_ours(t))
		guest_conn_ask(&t->control, "TurnStop", NULL, START_MS, on_cleared, NULL);
	hosted_turns_tick(t->host);
}

/* Whether the guest of a turn stands still, so that the turn has to be ended. A guest stands
 * still if u->heard_at is longer ago than the maximum time of a turn plus a minute. While a
 * turn is being stopped, the limit is three times runner.interrupt_ms plus a minute. While the
 * host reads output or repeats a failed write, no guest stands still. */
static bool hosted_turn_stands_still(const struct hosted_turn *u)
{
	const struct config *c = &u->host->settings.config;
	const int64_t most = u->signal ? 3 * c->runner_interrupt_ms
				       : c->runner_timeout_seconds * 1000;

	return u->stage == RUNS && !u->reading && !u->again_ms &&
	       clock_steady_ms() - u->heard_at > most + SILENT_MS;
}

void hosted_turns_tick(struct host *host)
{
	struct hosted_turn *next;

	for (struct hosted_turn *u = host->turns->running; u; u = next) {
		next = u->next;
		if (u->stage == WAITS)
			try_start(u);
		else if (u->stage == RUNS && !hosted_guest_of(host, u->workspace))
			hosted_turn_end(u, TURN_STATE_INTERRUPTED,
					"its workspace was ended");
		else if (hosted_turn_stands_still(u))
			end_silent(u, clock_steady_ms() - u->heard_at);
		else if (u->stage == RUNS && !uv_is_active((uv_handle_t *)&u->timer))
			poll_now(u);
	}
}

static void hosted_turns_close(struct host *host)
{
	while (host->turns->running)
		hosted_turn_drop(host->turns->running);
}

/* --- host_turns -------------------------------------------------------------- */

/*
 * host_turns - starts turns for agents with mail, and stops turns.
 *
 * The operation turn.next reads the rows, and returns the turns to start and the turns to stop.
 * The host runs turn.next when an agent with a runner may have mail, when a turn has ended, and
 * when a failed turn may be tried again. The functions above this comment handle a running
 * turn.
 */

enum { RETRY_AFTER_MS = 1000, MOST = 8 };

static void host_turns_on_timer(uv_timer_t *timer)
{
	turns_poke(timer->data);
}

static void ask_again(struct host *host, int64_t ms)
{
	uv_timer_start(&host->turns->timer, host_turns_on_timer,
		       ms > 0 ? (uint64_t)ms : 1, 0);
}

static void take_agents(struct turns *t, const struct turn_next_out *out)
{
	if (out->n_agents > t->room) {
		t->room = out->n_agents;
		t->agents = xreallocarray(t->agents, t->room, sizeof(*t->agents));
	}
	if (out->n_agents)
		memcpy(t->agents, out->agents, out->n_agents * sizeof(*t->agents));
	t->n_agents = out->n_agents;
}

static void on_next(struct job *job)
{
	struct host *host = job->owner;
	struct turns *t = host->turns;
	const struct turn_next_out *out = job->call.out;

	t->busy = false;
	if (job->call.fault.code) {
		log_line(host->log, LOG_LEVEL_WARN, "turns cannot begin",
			 LOG_FAULT(&job->call.fault));
		if (!host->stopping)
			ask_again(host, RETRY_AFTER_MS);
		job_free(job);
		return;
	}
	t->began = true;
	take_agents(t, out);
	/* A host that stops starts no turns. The next host ends the turns that turn.next has
	 * marked as begun. */
	for (size_t i = 0; i < out->n_starts && !host->stopping; i++)
		hosted_turn_new(host, &out->starts[i]);
	for (size_t i = 0; i < out->n_stops; i++)
		hosted_turn_stop(host, out->stops[i]);
	if (out->has_again_at && !host->stopping)
		ask_again(host, out->again_at - job->call.now + 1);
	t->again |= out->more;
	job_free(job);
	if (t->again)
		turns_poke(host);
}

void turns_poke(struct host *host)
{
	struct turns *t = host->turns;

	if (host->stopping)
		return;
	t->again = t->busy;
	if (t->busy)
		return;
	t->busy = true;
	host_ask(host, turn_next, on_next, host, .start = !t->began, .most = MOST);
}

static int by_row(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static bool has_runner(const struct turns *t, int64_t agent)
{
	return t->n_agents &&
	       bsearch(&agent, t->agents, t->n_agents, sizeof(agent), by_row) != NULL;
}

/* Whether an event may be the reason to start or stop a turn. */
static bool matters(const struct turns *t, const struct host_event_row *e)
{
	switch (e->kind) {
	case EVENT_MESSAGE_SENT:
	case EVENT_MESSAGE_REQUEUED:
		return e->target ? has_runner(t, e->target) : t->n_agents > 0;
	case EVENT_TURN_RUNNER:
	case EVENT_WORKSPACE_READY:
		return true;
	case EVENT_AGENT_REPLACED:
	case EVENT_AGENT_REMOVED:
		return has_runner(t, e->subject);
	case EVENT_TEAM_THAWED:
	case EVENT_TEAM_UPDATED:
		return t->n_agents > 0;
	default:
		return false;
	}
}

/* Runs turn.next if the event may start or stop a turn. */
static void turns_event(struct host *host, const struct host_event_row *e)
{
	if (matters(host->turns, e))
		turns_poke(host);
}

static void turns_caught_up(struct host *host, bool missed)
{
	if (missed)
		turns_poke(host);
}

static void turns_make(struct host *host)
{
	uv_timer_init(&host->loop, &host->turns->timer);
	host->turns->timer.data = host;
}

/* Runs turn.next with `start`, so that the operation first ends the turns that an earlier host
 * has left. */
static void turns_start(struct host *host)
{
	turns_poke(host);
}

/* Forgets the running turns. The commands of these turns run on in the guests, and the next
 * host ends the turns. */
static void turns_close(struct host *host)
{
	hosted_turns_close(host);
	uv_close((uv_handle_t *)&host->turns->timer, NULL);
}

static void turns_release(struct host *host)
{
	free(host->turns->agents);
}

const struct host_room room_turns = {
	.size = sizeof(struct turns),
	.make = turns_make,
	.start = turns_start,
	.event = turns_event,
	.caught_up = turns_caught_up,
	.close = turns_close,
	.release = turns_release,
};
