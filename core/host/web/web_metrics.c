/*
 * web_metrics - GET /metrics: the host's counters, for Prometheus.
 *
 * Only the operator and observers of all teams may read metrics, since metrics name teams.  A
 * request that comes while the rows are read shares the result: many requests cost no more than
 * one.  After a time with very many events, counting continues after the answer.
 */
#include "core/host/metrics/metrics.h"
#include "core/host/web/web.h"

/* A client that asks; in the arena of its exchange. */
struct scraper {
	struct http *x;
	struct conn *call; /* asks for the caller's rights; NULL: they are known */
	struct scraper *next, **at; /* of those who wait for the rows; NULL: not yet */
};

static void web_metrics_leave(struct scraper *s)
{
	if (!s->at)
		return;
	*s->at = s->next;
	if (s->next)
		s->next->at = s->at;
	s->at = NULL;
}

static void web_metrics_on_gone(struct http *x)
{
	struct scraper *s = x->owner;

	if (s->call)
		conn_close(s->call);
	web_metrics_leave(s);
}

static void web_metrics_read_rows(struct host *host);

static void web_metrics_on_read(struct job *job)
{
	static const char type[] = "text/plain; version=0.0.4; charset=utf-8";
	struct host *host = job->owner;
	struct web *web = host->web;
	const struct fault *why = &job->call.fault;
	struct text text = { 0 };
	bool more = false;

	web->scraping = false;
	if (!why->code)
		more = metrics_write(job, &text);
	while (web->scrapers) {
		struct scraper *s = web->scrapers;

		web_metrics_leave(s);
		if (why->code)
			web_refuse(s->x, 0, why);
		else
			http_answer(s->x, 200, type, text.data, text.len);
	}
	text_release(&text);
	job_free(job);
	if (more && !host->stopping)
		web_metrics_read_rows(host);
}

static void web_metrics_read_rows(struct host *host)
{
	struct job *job;

	if (host->web->scraping)
		return;
	host->web->scraping = true;
	job = job_new(&host->jobs);
	job->owner = host;
	job->number = metrics_counted_to(host->metrics);
	job->read = metrics_read;
	job->done = web_metrics_on_read;
	host_read(host, job);
}

/* Whether the caller may look at every team. */
static bool sees_all(const struct call *call)
{
	const struct token_who_out *who = call->out;

	return who->level == CALLER_LEVEL_OPERATOR || call->identity.looks;
}

static void web_metrics_on_known(struct conn *c, struct job *job)
{
	struct http *x = c->owner;
	struct scraper *s = x->owner;
	struct web *web = c->host->web;
	struct fault *f = &job->call.fault;

	s->call = NULL;
	web_note_use(c->host, &job->call);
	if (!f->code && !sees_all(&job->call)) {
		fault_set(f, FAULT_DENIED, "", "/metrics is for who sees all teams");
		fault_hint(f, "Send a token of an observer: cadre token create "
			      "prometheus --observer");
	}
	if (f->code) {
		web_refuse_call(x, f);
		return;
	}
	s->next = web->scrapers;
	s->at = &web->scrapers;
	if (s->next)
		s->next->at = &s->next;
	web->scrapers = s;
	web_metrics_read_rows(c->host);
}

void web_metrics(struct http *x)
{
	struct scraper *s = arena_alloc(&x->arena, sizeof(*s));

	*s = (struct scraper){ .x = x };
	x->owner = s;
	x->gone = web_metrics_on_gone;
	s->call = web_start(x, op_token_who, json_object(), web_metrics_on_known);
}
