#include "core/host/collect.h"

#include <stdlib.h>
#include <string.h>

#include "core/host/running.h"
#include "ops.gen.h"

enum {
	PAGE = 20,
	POLL_MS = 30000,
	OUTPUT_MOST = 4 << 20, /* of one result; the guest keeps 2 MiB */
};

/* A page of results on its way into the state; while one is there, no other
 * is asked for. */
struct collect {
	struct tether *tether;
	struct arena arena;
	struct daemon_result *results;
	size_t n, at; /* the one being stored */
	struct text out, err; /* its parts */
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
		log_line(t->host->log, LOG_LEVEL_WARN, "result %s of workspace %s: %s",
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

static void ask_part(struct collect *c)
{
	struct wire_poll_daemon_results m = {
		.limit = 1,
		.message_id = c->results[c->at].source_message_id,
		.stdout_offset = (int64_t)c->out.len,
		.stderr_offset = (int64_t)c->err.len,
	};

	line_ask(&c->tether->control, "PollDaemonResults", &m, POLL_MS, on_part, c);
}

static void on_part(void *arg, struct packet *answer, struct fault *f)
{
	struct collect *c = arg;
	struct wire_daemon_results m = { 0 };
	struct arena a = { 0 };
	size_t before = c->out.len + c->err.len;
	bool more = false;

	if (answer && packet_decode(answer, &m, &a, f) == 0 && m.n_results == 1) {
		text_add(&c->out, m.results[0].stdout, strlen(m.results[0].stdout));
		text_add(&c->err, m.results[0].stderr, strlen(m.results[0].stderr));
		more = m.results[0].more;
	}
	arena_release(&a);
	if (f->code || c->tether->closing)
		end_page(c);
	else if (more && c->out.len + c->err.len > before &&
		 c->out.len + c->err.len < OUTPUT_MOST)
		ask_part(c);
	else
		store(c);
}

/* --- pages ------------------------------------------------------------------------ */

static void store_rest(struct collect *c)
{
	const struct daemon_result *r;

	c->out.len = c->err.len = 0;
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
	c->n = m->n_results;
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

	if (answer && packet_decode(answer, &m, &a, f) == 0)
		copy_page(c, &m);
	arena_release(&a);
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
