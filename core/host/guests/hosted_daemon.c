#include "core/host/guests/hosted_daemon.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/host/guests/hosted_answer.h"
#include "core/host/guests/hosted_guest.h"
#include "core/host/host_inside.h"
#include "ops.gen.h"

/* --- collect ----------------------------------------------------------------- */

/*
 * collect - moves results from a guest into the state without loss.
 *
 * The host asks for pages of results. One operation stores one result. The host's next request
 * names a result in `ack` if the result is committed, or if the state will never take the
 * result. A result too large for a frame arrives in parts, and the host joins the parts before
 * it stores the result. If a guest reports results, but no result of its page can be stored,
 * the host pauses before it asks for the next page. The first pause lasts 1 s, the next 2 s,
 * and so on up to 30 s.
 */

enum { RESULT_ID_MOST = 64 /* bytes of an assignment's id in a guest's message */ };

struct results {
	struct daemon_result *all; /* results of the page, in the arena */
	size_t n;
	size_t n_bad; /* results that were dropped or became failures */
	struct fault why; /* fault of the first bad result */
};

/* --- results ----------------------------------------------------------------- */

/*
 * results - reads the results of a page that a guest sent.
 *
 * A guest may be broken or may lie. If one result of a page cannot be read, the other results
 * of the page are stored all the same. A bad result that names its assignment is stored as a
 * failure with the reason. The failure ends the assignment, and the assignment's sender reads
 * the reason.
 */

/* Turns a result into a failure, and appends `why` to the result's stderr. */
static void result_fail(struct daemon_result *r, const struct fault *why, struct arena *a)
{
	const char *err = r->stderr ? r->stderr : "";

	r->success = false;
	if (r->exit_code == 0)
		r->exit_code = -1;
	r->stdout = r->stdout ? r->stdout : "";
	r->stderr = arena_printf(a,
				 "%s%scadre: this result cannot be read as it came: "
				 "%.80s %.160s\n",
				 err, *err ? "\n" : "", why->where, why->text);
	r->has_more = r->more = false;
}

/* Checks a result's exit code, and the length of the id of the result's assignment. */
static int results_check(const struct daemon_result *r, struct fault *f)
{
	if (strlen(r->source_message_id) > RESULT_ID_MOST)
		return fault_set(f, FAULT_INVALID, "/source_message_id",
				 "is longer than %d bytes, the most that an id may have",
				 RESULT_ID_MOST);
	if (r->exit_code < INT32_MIN || r->exit_code > INT32_MAX)
		return fault_set(f, FAULT_INVALID, "/exit_code",
				 "is not the exit status of a process: %lld",
				 (long long)r->exit_code);
	return 0;
}

/* The assignment's id in a result that could not be decoded; NULL: the id is missing or
 * invalid. */
static const char *results_id_of(const json_t *json)
{
	const json_t *id = json_object_get(json, "source_message_id");
	const char *s = json_string_value(id);

	return s && *s && strlen(s) == json_string_length(id) &&
			       strlen(s) <= RESULT_ID_MOST
		       ? s
		       : NULL;
}

static void note_bad(struct results *page, const struct fault *why)
{
	if (page->n_bad++ == 0)
		page->why = *why;
}

/* Reads one result of a page. False: the result is bad and names no assignment, so it cannot be
 * stored. */
static bool read_one(struct results *page, json_t *json, struct daemon_result *r,
		     struct arena *a)
{
	struct fault why = { 0 };

	if (op_decode(&record_daemon_result, json, r, DECODE_LENIENT, a, &why) == 0 &&
	    results_check(r, &why) == 0)
		return true;
	note_bad(page, &why);
	*r = (struct daemon_result){ .source_message_id = results_id_of(json) };
	result_fail(r, &why, a);
	return r->source_message_id != NULL;
}

/* Copies a result's texts into `a`, because the page is still used after the guest's answer was
 * freed. */
static void results_keep(struct daemon_result *r, struct arena *a)
{
	r->task_id = arena_strdup(a, r->task_id);
	r->stdout = arena_strdup(a, r->stdout);
	r->stderr = arena_strdup(a, r->stderr);
	r->source_message_id = arena_strdup(a, r->source_message_id);
}

/* Copies at most `most` results out of a DaemonResults message. Returns FAULT_IO if the message
 * has no list of results. */
static int results_read(struct results *page, const struct packet *answer, size_t most,
			struct arena *a, struct fault *f)
{
	json_t *list = json_object_get(answer->json, "results");
	size_t n = json_array_size(list);

	*page = (struct results){ 0 };
	if (!json_is_array(list))
		return answer_refuse(f, "sends a bad DaemonResults: no list of results");
	if (n > most)
		n = most;
	page->all = arena_alloc(a, (n + 1) * sizeof(*page->all));
	for (size_t i = 0; i < n; i++) {
		struct daemon_result *r = &page->all[page->n];

		if (read_one(page, json_array_get(list, i), r, a))
			results_keep(&page->all[page->n++], a);
		else
			*r = (struct daemon_result){ 0 };
	}
	return 0;
}

enum {
	PAGE = 20,
	POLL_MS = 30000,
};

/* A page of results that is being stored. While a page is being stored, the host asks the guest
 * for no other page. */
struct collect {
	struct hosted_guest *guest;
	struct arena arena;
	struct results page;
	size_t at; /* index of the result that is being stored */
	size_t n_stored; /* results that were new to the state */
	struct text out, err; /* output and errors of result `at`, gathered from parts */
	struct answer_parts parts;
	const char **acks;
	size_t n_acks;
	bool told; /* the guest reported results before the page was asked for */
	bool failed; /* the guest is connected, but did not answer with a page */
};

static void collect_ask(struct hosted_guest *t);

static void collect_free(struct collect *c)
{
	if (!c)
		return;
	arena_release(&c->arena);
	text_release(&c->out);
	text_release(&c->err);
	free(c);
}

/* Sets the time of the next request for results. If a result of the page was stored, the host
 * asks for the next page at once. If no result was stored, the host pauses in two cases: the
 * guest had reported or sent results, or the guest failed. */
static void weigh(struct collect *c)
{
	struct daemon *d = &c->guest->daemon;

	if (c->n_stored > 0)
		futile_end(&d->futile);
	else if (c->page.n + c->page.n_bad > 0 || c->failed || c->told)
		futile_note(&d->futile, clock_boot_ms());
}

/* Asks the guest for results, if the guest may have results and no pause lasts. */
static void collect_go_on(struct hosted_guest *t)
{
	struct daemon *d = &t->daemon;

	if (t->up && !t->closing && t->control.state == GUEST_CONN_UP && !d->polling &&
	    (d->collect || d->poll_again) && !futile_waits(&d->futile, clock_boot_ms()))
		collect_ask(t);
}

/* Ends a page whose last result was handled. The next request acknowledges the page's stored
 * results. */
static void collect_end_page(struct collect *c)
{
	struct hosted_guest *t = c->guest;
	struct daemon *d = &t->daemon;

	weigh(c);
	d->polling = false;
	if (c->n_acks == 0) {
		d->collect = NULL;
		collect_free(c);
	}
	collect_go_on(t);
}

static void store_rest(struct collect *c);

/* Whether the state has taken the result or will never take the result. The host acknowledges
 * even a result that the state will never take, since otherwise the guest would send the result
 * again for ever. */
static bool collect_is_done(const struct job *job)
{
	enum fault_code code = job->call.fault.code;

	return !code || code == FAULT_NOT_FOUND || code == FAULT_INVALID;
}

static void collect_on_stored(struct job *job)
{
	struct collect *c = job->owner;
	struct hosted_guest *t = c->guest;
	const struct result_store_out *out = job->call.out;
	const char *id = c->page.all[c->at].source_message_id;

	if (collect_is_done(job))
		c->acks[c->n_acks++] = id;
	if (job->call.fault.code)
		log_seldom(t->host->log, &t->lost, LOG_LEVEL_WARN,
			   "a result is not stored", LOG_TEXT("workspace", t->id),
			   LOG_TEXT("message", id), LOG_FAULT(&job->call.fault));
	else if (out->stored)
		c->n_stored++;
	else
		log_seldom(
			t->host->log, &t->stray, LOG_LEVEL_INFO,
			"no assignment waits for this result: the guest may forget the result",
			LOG_TEXT("workspace", t->id), LOG_TEXT("message", id));
	job_free(job);
	c->at++;
	store_rest(c);
	hosted_guest_let_go(t);
}

static const char *whole(const struct text *parts, const char *part)
{
	return parts->len ? parts->data : part;
}

static void collect_store(struct collect *c)
{
	const struct daemon_result *r = &c->page.all[c->at];

	hosted_guest_keep(c->guest);
	host_ask(c->guest->host, result_store, collect_on_stored, c,
		 .agent = c->guest->agent, .message_id = r->source_message_id,
		 .success = r->success, .exit_code = r->exit_code,
		 .stdout = whole(&c->out, r->stdout), .stderr = whole(&c->err, r->stderr),
		 .elapsed_secs = r->elapsed_secs);
}

/* --- parts ------------------------------------------------------------------------ */

static void on_part(void *arg, struct packet *answer, struct fault *f);

static void log_wrong(struct hosted_guest *t, const struct fault *f)
{
	log_seldom(t->host->log, &t->wrong, LOG_LEVEL_WARN,
		   "a guest's results cannot be read", LOG_TEXT("workspace", t->id),
		   LOG_FAULT(f));
}

/* Ends the page of a guest that is gone or busy. The host asks for a page again when the guest
 * reports results. */
static void collect_give_up(struct collect *c, const struct fault *f)
{
	if (f->code == FAULT_IO)
		log_wrong(c->guest, f);
	c->failed = c->guest->control.state == GUEST_CONN_UP;
	collect_end_page(c);
}

/* Stores a result as a failure because its next part cannot be read. The assignment's sender
 * gets the parts that arrived, and the reason. As long as the guest keeps this result, the host
 * cannot read the results behind it. */
static void collect_fail(struct collect *c, const struct fault *f)
{
	struct daemon_result *r = &c->page.all[c->at];

	log_wrong(c->guest, f);
	if (c->err.len > 0)
		r->stderr = arena_strndup(&c->arena, c->err.data, c->err.len);
	result_fail(r, f, &c->arena);
	c->err.len = 0;
	collect_store(c);
}

static void collect_ask_part(struct collect *c)
{
	struct fault f = { 0 };
	struct wire_poll_daemon_results m = {
		.limit = 1,
		.message_id = c->page.all[c->at].source_message_id,
		.stdout_offset = (int64_t)c->out.len,
		.stderr_offset = (int64_t)c->err.len,
	};
	int64_t ms = answer_more(&c->parts, &f);

	if (ms > 0)
		guest_conn_ask(&c->guest->control, "PollDaemonResults", &m, ms, on_part,
			       c);
	else
		collect_fail(c, &f);
}

/* Appends a part to `out` and `err`. Returns true if the host should ask for another part of
 * the result. */
static bool collect_take_part(struct collect *c, const struct wire_daemon_results *m,
			      struct fault *f)
{
	const struct daemon_result *r = m->results;
	size_t before = c->out.len + c->err.len, now;

	if (m->n_results != 1 ||
	    strcmp(r->source_message_id, c->page.all[c->at].source_message_id) != 0) {
		answer_refuse(
			f, "is asked for a part of one result, and sends another result");
		return false;
	}
	text_add(&c->out, r->stdout, strlen(r->stdout));
	text_add(&c->err, r->stderr, strlen(r->stderr));
	now = c->out.len + c->err.len;
	if (r->more && now == before)
		answer_refuse(f,
			      "announces more results again and again, and sends none");
	return r->more && now < RESULT_MOST;
}

/* Whether a fault only means that the guest cannot answer now, so that the result itself may be
 * good. */
static bool is_away(enum fault_code code)
{
	return code == FAULT_UNAVAILABLE || code == FAULT_TIMEOUT ||
	       code == FAULT_EXHAUSTED;
}

static void on_part(void *arg, struct packet *answer, struct fault *f)
{
	struct collect *c = arg;
	struct wire_daemon_results m = { 0 };
	struct arena a = { 0 };
	bool more = false;

	if (answer && answer_decode(answer, &m, &a, f) == 0)
		more = collect_take_part(c, &m, f);
	arena_release(&a);
	if (c->guest->closing || is_away(f->code))
		collect_give_up(c, f);
	else if (f->code)
		collect_fail(c, f);
	else if (more)
		collect_ask_part(c);
	else
		collect_store(c);
}

/* --- pages ------------------------------------------------------------------------ */

static void store_rest(struct collect *c)
{
	const struct daemon_result *r;

	c->out.len = c->err.len = 0;
	c->parts = (struct answer_parts){ 0 };
	if (c->at == c->page.n || c->guest->closing) {
		collect_end_page(c);
		return;
	}
	r = &c->page.all[c->at];
	if (!r->has_more || !r->more) {
		collect_store(c);
		return;
	}
	text_add(&c->out, r->stdout, strlen(r->stdout));
	text_add(&c->err, r->stderr, strlen(r->stderr));
	collect_ask_part(c);
}

static void on_results(void *arg, struct packet *answer, struct fault *f)
{
	struct collect *c = arg;
	struct hosted_guest *t = c->guest;
	/* A guest of the older dialect forgets the results that it has sent, so the host takes
	 * all results. */
	size_t most = t->old ? SIZE_MAX : PAGE;

	/* Earlier heartbeats may have reported results. This answer is newer than those
	 * heartbeats, so the host forgets their reports. */
	t->daemon.poll_again = t->daemon.told = false;
	if (answer && results_read(&c->page, answer, most, &c->arena, f) == 0) {
		c->acks = arena_alloc(&c->arena, (c->page.n + 1) * sizeof(*c->acks));
		if (c->page.n_bad > 0)
			log_seldom(t->host->log, &t->wrong, LOG_LEVEL_WARN,
				   "a guest sends bad results",
				   LOG_TEXT("workspace", t->id),
				   LOG_NUMBER("results", c->page.n_bad),
				   LOG_TEXT("where", c->page.why.where),
				   LOG_FAULT(&c->page.why));
	}
	if (f->code)
		collect_give_up(c, f);
	else
		store_rest(c);
}

/* Asks for a page, and acknowledges the stored results of the page before. */
static void collect_ask(struct hosted_guest *t)
{
	struct collect *c = xcalloc(1, sizeof(*c)), *done = t->daemon.collect;
	struct wire_poll_daemon_results m = { .limit = PAGE };

	c->guest = t;
	c->told = t->daemon.told && !done;
	t->daemon.collect = c;
	t->daemon.polling = true;
	t->daemon.poll_again = t->daemon.told = false;
	if (done) {
		m.ack = done->acks;
		m.n_ack = done->n_acks;
	}
	guest_conn_ask(&t->control, "PollDaemonResults", &m, POLL_MS, on_results, c);
	collect_free(done);
}

void collect_poke(struct hosted_guest *t, bool told)
{
	if (!t->up || !t->agent)
		return;
	t->daemon.poll_again = true;
	t->daemon.told |= told;
	collect_go_on(t);
}

void collect_tick(struct hosted_guest *t)
{
	collect_go_on(t);
}

static void collect_release(struct hosted_guest *t)
{
	collect_free(t->daemon.collect);
	t->daemon.collect = NULL;
}

enum {
	SILENT_MS = 16000, /* a little longer than the time of three heartbeats */
	UNDER_WAY_MOST = 6, /* maximum number of heartbeats under way; six can report one
			       command's end and the starts of five commands */
};

/* --- heartbeats ------------------------------------------------------------------ */

static void note_beat(struct hosted_guest *t, struct job *job);

/* Counts a heartbeat as done, and handles the newest heartbeat that arrived meanwhile. */
static void beat_done(struct hosted_guest *t)
{
	struct job *newer = t->daemon.newer;

	t->daemon.under_way--;
	t->daemon.newer = NULL;
	if (newer && !t->closing)
		note_beat(t, newer);
	else
		job_free(newer);
	hosted_guest_let_go(t);
}

static void hosted_daemon_on_written(struct job *job)
{
	struct hosted_guest *t = job->owner;

	if (job->call.fault.code)
		t->daemon.beat_hash = 0; /* so that the next heartbeat is stored */
	job_free(job);
	beat_done(t);
}

/* Submits `job`, which stores a heartbeat. */
static void write_beat(struct hosted_guest *t, struct job *job)
{
	t->daemon.under_way++;
	hosted_guest_keep(t);
	host_submit(t->host, job);
}

/* Looks whether a lease of the agent has less than half of its time left. Runs on a reader's
 * thread. */
static void look_at_leases(struct job *job, struct store *store)
{
	struct call *call = &job->call;
	struct lease_ending_row row = { 0 };

	call->store = store;
	if (call_begin(call, false))
		return;
	if (sql_row(call, lease_ending, &row, .agent = job->number, .now = call->now) > 0)
		job->number = row.n;
	else
		job->number = 0;
	store_rollback(store);
}

static void on_leases(struct job *job)
{
	struct hosted_guest *t = job->owner;
	bool ending = !job->call.fault.code && job->number > 0;

	job->read = NULL;
	job->done = hosted_daemon_on_written;
	if (ending && !t->closing) {
		/* Balances the `++` of note_beat(), since write_beat() counts this heartbeat
		 * anew. */
		t->daemon.under_way--;
		write_beat(t, job);
		hosted_guest_let_go(t);
	} else {
		job_free(job);
		beat_done(t);
	}
}

static struct job *beat_job(struct hosted_guest *t, const struct wire_heartbeat *beat)
{
	struct job *job =
		host_job(t->host, op_guest_heartbeat, hosted_daemon_on_written, t);
	struct guest_heartbeat_in *in = job->call.in;
	struct arena *a = &job->call.arena;

	in->agent = t->agent;
	in->waiting = beat->waiting;
	in->workspace = t->workspace;
	in->spool = arena_strdup(a, t->spool);
	in->has_spool_seq = beat->has_spool_seq;
	in->spool_seq = beat->spool_seq;
	in->running = arena_alloc(a, (beat->n_running + 1) * sizeof(char *));
	in->n_running = beat->n_running;
	for (size_t i = 0; i < beat->n_running; i++)
		in->running[i] = arena_strdup(a, beat->running[i]);
	return job;
}

static uint64_t hash_of(const struct guest_heartbeat_in *beat)
{
	uint64_t h = HASH_EMPTY;

	for (size_t i = 0; i < beat->n_running; i++)
		h = hash_more(h, beat->running[i], strlen(beat->running[i]));
	return hash_more(h, &beat->spool_seq, sizeof(beat->spool_seq));
}

/* Sets the agent's status at the first heartbeat after a greeting, or after a time without
 * heartbeats. Also sets the status when the daemon begins to run commands, and when the daemon
 * runs no more commands. At all other times the agent sets its status itself. */
static void take_status(struct hosted_guest *t, struct guest_heartbeat_in *in)
{
	struct daemon *d = &t->daemon;
	bool works = in->n_running > 0;

	if (d->known && !d->offline && works == d->works)
		return;
	in->has_status = true;
	in->status = works      ? AGENT_STATUS_WORKING
		     : d->known ? AGENT_STATUS_IDLE
				: AGENT_STATUS_READY;
}

static void note_beat(struct hosted_guest *t, struct job *job)
{
	struct daemon *d = &t->daemon;
	struct guest_heartbeat_in *in = job->call.in;
	uint64_t hash = hash_of(in);

	take_status(t, in);
	if (in->has_status || hash != d->beat_hash) {
		d->known = true;
		d->offline = false;
		d->works = in->n_running > 0;
		d->beat_hash = hash;
		write_beat(t, job);
		return;
	}
	if (in->n_running == 0) {
		job_free(job);
		return;
	}
	job->read = look_at_leases;
	job->number = t->agent;
	job->done = on_leases;
	job->call.now = clock_wall_ms();
	job->ready = arena_mark(&job->call.arena);
	d->under_way++;
	hosted_guest_keep(t);
	host_read(t->host, job);
}

static void hear_beat(struct hosted_guest *t, const struct wire_heartbeat *beat)
{
	struct daemon *d = &t->daemon;
	struct job *job;

	if (!t->agent)
		return;
	if (beat->has_spool_seq && beat->spool_seq > t->spool_seq)
		t->spool_seq = beat->spool_seq;
	job = beat_job(t, beat);
	job_free(d->newer);
	d->newer = NULL;
	/* A command may end its task at once, and the end of a task cancels the task's waiting
	 * commands. So a heartbeat that reports a new command is stored without waiting for
	 * earlier heartbeats. */
	if (!d->under_way || (d->under_way < UNDER_WAY_MOST && beat->n_running > 0 &&
			      hash_of(job->call.in) != d->beat_hash))
		note_beat(t, job);
	else
		d->newer = job;
}

void daemon_beat(struct hosted_guest *t, struct packet *heartbeat)
{
	struct wire_heartbeat beat = { 0 };
	struct arena a = { 0 };
	struct fault f = { 0 };

	t->daemon.heard_at = clock_boot_ms();
	if (answer_decode(heartbeat, &beat, &a, &f) == 0) {
		if (beat.n_running > BEAT_RUNNING_MOST)
			beat.n_running = BEAT_RUNNING_MOST;
		hear_beat(t, &beat);
		if (beat.results > 0)
			collect_poke(t, true);
	}
	if (f.code)
		log_seldom(t->host->log, &t->wrong, LOG_LEVEL_WARN,
			   "a guest's message breaks the protocol",
			   LOG_TEXT("workspace", t->id), LOG_FAULT(&f));
	arena_release(&a);
}

void daemon_pulse(struct hosted_guest *t)
{
	const struct wire_heartbeat beat = { 0 };

	t->daemon.heard_at = clock_boot_ms();
	hear_beat(t, &beat);
	collect_poke(t, false);
}

void daemon_tick(struct hosted_guest *t, int64_t now)
{
	struct daemon *d = &t->daemon;

	collect_tick(t);
	if (!d->heard_at)
		d->heard_at = now;
	if (d->offline || !t->agent || d->heard_at + SILENT_MS > now)
		return;
	d->offline = true;
	host_ask(t->host, workspace_note, job_free, NULL, .workspace = t->workspace,
		 .offline = true);
}

void daemon_up(struct hosted_guest *t)
{
	t->daemon.heard_at = clock_boot_ms();
	t->daemon.known = false;
	collect_poke(t, false);
}

void daemon_release(struct hosted_guest *t)
{
	job_free(t->daemon.newer);
	collect_release(t);
}
