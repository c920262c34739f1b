#include "core/host/collect.h"

#include <stdlib.h>
#include <string.h>

#include "core/host/answer.h"
#include "core/host/running.h"
#include "ops.gen.h"

enum {
	PAGE = 20,
	POLL_MS = 30000,
};

/* A page of results on its way into the state; while one is there, no other
 * is asked for. */
struct collect {
	struct tether *tether;
	struct arena arena;
	struct daemon_result *results;
	size_t n, at; /* the one being stored */
	struct text out, err; /* its parts */
	struct answer_parts parts;
	const char **acks;
	size_t n_acks;
};

static void ask(struct tether *t, const struct collect *done);

static void collect_free(struct collect *c)
{
	if (!c)
		return;
	arena_release(&c->arena);
	text_release(&c->out);
	text_release(&c->err);
	free(c);
}

/* The page is stored, as far as it could be: acknowledge it with the next
 * question. */
static void end_page(struct collect *c)
{
	struct tether *t = c->tether;
	struct daemon *d = &t->daemon;

	d->collect = NULL;
	d->polling = false;
	if (t->up && !t->closing && (c->n_acks > 0 || d->poll_again))
		ask(t, c);
	collect_free(c);
}

static void store_rest(struct collect *c);

static void on_stored(struct job *job)
{
	struct collect *c = job->owner;
	struct tether *t = c->tether;
	enum fault_code code = job->call.fault.code;

	/* One that the state will never take is acknowledged as well: it
	 * would come again for ever. */
	if (!code || code == FAULT_NOT_FOUND || code == FAULT_INVALID)
		c->acks[c->n_acks++] = c->results[c->at].source_message_id;
	if (code)
		log_seldom(t->host->log, &t->lost, LOG_LEVEL_WARN,
			   "result %.64s of workspace %s: %s",
			   c->results[c->at].source_message_id, t->id,
			   job->call.fault.text);
	job_free(job);
	c->at++;
	store_rest(c);
	tether_let_go(t);
}

static const char *whole(const struct text *parts, const char *part)
{
	return parts->len ? parts->data : part;
}

static void store(struct collect *c)
{
	const struct daemon_result *r = &c->results[c->at];
	struct job *job = host_job(c->tether->host, op_result_store, on_stored, c);
	struct result_store_in *in = job->call.in;
	struct arena *a = &job->call.arena;

	in->agent = c->tether->agent;
	in->message_id = r->source_message_id;
	in->success = r->success;
	in->exit_code = r->exit_code;
	in->stdout = arena_strdup(a, whole(&c->out, r->stdout));
	in->stderr = arena_strdup(a, whole(&c->err, r->stderr));
	in->elapsed_secs = r->elapsed_secs;
	tether_keep(c->tether);
	host_submit(c->tether->host, job);
}

/* --- parts ------------------------------------------------------------------------ */

static void on_part(void *arg, struct packet *answer, struct fault *f);

/* What was got of a result stays; the fault is logged, and it is asked for again
 * when the guest says that it has results. */
static void give_up(struct collect *c, const struct fault *f)
{
	struct tether *t = c->tether;

	if (f->code == FAULT_IO)
		log_seldom(t->host->log, &t->wrong, LOG_LEVEL_WARN, "workspace %s: %s",
			   t->id, f->text);
	end_page(c);
}

static void ask_part(struct collect *c)
{
	struct fault f = { 0 };
	struct wire_poll_daemon_results m = {
		.limit = 1,
		.message_id = c->results[c->at].source_message_id,
		.stdout_offset = (int64_t)c->out.len,
		.stderr_offset = (int64_t)c->err.len,
	};
	int64_t ms = answer_more(&c->parts, &f);

	if (ms > 0)
		line_ask(&c->tether->control, "PollDaemonResults", &m, ms, on_part, c);
	else
		give_up(c, &f);
}

/* Takes a part; true when it brought something and there is more. */
static bool take_part(struct collect *c, const struct wire_daemon_results *m,
		      struct fault *f)
{
	const struct daemon_result *r = m->results;
	size_t before = c->out.len + c->err.len, now;

	if (m->n_results != 1 ||
	    strcmp(r->source_message_id, c->results[c->at].source_message_id) != 0) {
		answer_refuse(f, "is asked for a part of one result and sends another");
		return false;
	}
	text_add(&c->out, r->stdout, strlen(r->stdout));
	text_add(&c->err, r->stderr, strlen(r->stderr));
	now = c->out.len + c->err.len;
	if (r->more && now == before)
		answer_refuse(f, "says more and more, and sends nothing");
	return r->more && now < RESULT_MOST;
}

static void on_part(void *arg, struct packet *answer, struct fault *f)
{
	struct collect *c = arg;
	struct wire_daemon_results m = { 0 };
	struct arena a = { 0 };
	bool more = false;

	if (answer && answer_decode(answer, &m, &a, f) == 0)
		more = take_part(c, &m, f);
	arena_release(&a);
	if (f->code || c->tether->closing)
		give_up(c, f);
	else if (more)
		ask_part(c);
	else
		store(c);
}

/* --- pages ------------------------------------------------------------------------ */

static void store_rest(struct collect *c)
{
	const struct daemon_result *r;

	c->out.len = c->err.len = 0;
	c->parts = (struct answer_parts){ 0 };
	if (c->at == c->n || c->tether->closing) {
		end_page(c);
		return;
	}
	r = &c->results[c->at];
	if (!r->has_more || !r->more) {
		store(c);
		return;
	}
	text_add(&c->out, r->stdout, strlen(r->stdout));
	text_add(&c->err, r->stderr, strlen(r->stderr));
	ask_part(c);
}

/* The texts of an answer die with it: the page outlives it. */
static void copy_page(struct collect *c, const struct wire_daemon_results *m)
{
	/* A guest of the older dialect forgets what it has told, however much. */
	c->n = !c->tether->old && m->n_results > PAGE ? PAGE : m->n_results;
	c->results = arena_alloc(&c->arena, (c->n + 1) * sizeof(*c->results));
	c->acks = arena_alloc(&c->arena, (c->n + 1) * sizeof(*c->acks));
	for (size_t i = 0; i < c->n; i++) {
		struct daemon_result *r = &c->results[i];

		*r = m->results[i];
		r->task_id = arena_strdup(&c->arena, r->task_id);
		r->stdout = arena_strdup(&c->arena, r->stdout);
		r->stderr = arena_strdup(&c->arena, r->stderr);
		r->source_message_id = arena_strdup(&c->arena, r->source_message_id);
	}
}

static void on_results(void *arg, struct packet *answer, struct fault *f)
{
	struct collect *c = arg;
	struct wire_daemon_results m = { 0 };
	struct arena a = { 0 };

	if (answer && answer_decode(answer, &m, &a, f) == 0)
		copy_page(c, &m);
	arena_release(&a);
	if (f->code)
		give_up(c, f);
	else
		store_rest(c);
}

static void ask(struct tether *t, const struct collect *done)
{
	struct collect *c = calloc(1, sizeof(*c));
	struct wire_poll_daemon_results m = { .limit = PAGE };

	if (!c)
		abort();
	c->tether = t;
	t->daemon.collect = c;
	t->daemon.polling = true;
	t->daemon.poll_again = false;
	if (done) {
		m.ack = done->acks;
		m.n_ack = done->n_acks;
	}
	line_ask(&t->control, "PollDaemonResults", &m, POLL_MS, on_results, c);
}

void collect_poke(struct tether *t)
{
	if (!t->up || !t->agent)
		return;
	if (t->daemon.polling)
		t->daemon.poll_again = true;
	else
		ask(t, NULL);
}

void collect_release(struct tether *t)
{
	collect_free(t->daemon.collect);
	t->daemon.collect = NULL;
}
