#include "core/host/handout.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/host/host_inside.h"
#include "core/wire/wire.h"
#include "ops.gen.h"

/* A caller that promises to confirm and never does costs no more memory than these. */
enum { HANDOUTS_MAX = 1000 };

struct handout {
	struct handout *next;
	json_t *id;
	struct given given;
};

/* Takes an answer back, but not while the host stops: then it closes the connections of
 * live callers, which may have their answers. */
static void undo(struct host *host, const struct given *given, bool sent)
{
	struct answer_undo_in *in;
	struct job *job;

	if (host->stopping)
		return;
	job = host_job(host, op_answer_undo, job_free, NULL);
	in = job->call.in;
	*in = (struct answer_undo_in){ .agent = given->agent,
				       .request = given->request,
				       .task = given->task,
				       .epoch = given->epoch,
				       .sent = sent };
	host_submit(host, job);
}

/* The answer has arrived.  Most that was given is complete with that; a message that is
 * taken for good is acknowledged now, also by a host that stops. */
static void take_for_good(struct host *host, const struct given *given)
{
	struct answer_take_in *in;
	struct job *job;

	if (!given->for_good)
		return;
	job = host_job(host, op_answer_take, job_free, NULL);
	in = job->call.in;
	*in = (struct answer_take_in){ .agent = given->agent, .request = given->request };
	host_submit(host, job);
}

static void handout_free(struct handout *g)
{
	json_decref(g->id);
	free(g);
}

/* The oldest counts as lost, as if its caller had gone: it stands last. */
static void handout_drop_oldest(struct conn *c)
{
	struct handout **at = &c->handouts, *g;

	while ((*at)->next)
		at = &(*at)->next;
	g = *at;
	*at = NULL;
	c->n_handouts--;
	undo(c->host, &g->given, true);
	handout_free(g);
}

static void handout_keep(struct conn *c, const struct job *job)
{
	struct handout *g = xcalloc(1, sizeof(*g));

	if (c->n_handouts == HANDOUTS_MAX)
		handout_drop_oldest(c);
	*g = (struct handout){ c->handouts, json_incref(job->id), job->call.given };
	c->handouts = g;
	c->n_handouts++;
}

/* Whether an answer that could not be sent is taken back: so it is for callers that
 * confirm, waited or receive.  Any other caller repeats its call under the same key and
 * gets the same answer. */
static bool handout_is_undone(const struct job *job)
{
	return job->confirms || job_patience(job) > 0 || job->call.op->flags & OP_REQUEST;
}

void handout_answered(struct conn *c, struct job *job, bool told)
{
	bool asks = job->confirms && job->id;

	if (!job->call.given.agent || job->call.fault.code || job->arrived)
		return;
	if (told && asks && !c->ended)
		handout_keep(c, job);
	else if (told ? job->confirms && c->ended : handout_is_undone(job))
		undo(c->host, &job->call.given, told);
	else if (told)
		take_for_good(c->host, &job->call.given);
}

static struct handout *handout_take(struct conn *c, const char *id)
{
	for (struct handout **at = &c->handouts; *at; at = &(*at)->next) {
		struct handout *g = *at;

		if (!wire_id_is(g->id, id))
			continue;
		*at = g->next;
		c->n_handouts--;
		return g;
	}
	return NULL;
}

void handout_arrived(struct conn *c, const char *id)
{
	struct handout *g = handout_take(c, id);

	if (g) {
		take_for_good(c->host, &g->given);
		handout_free(g);
		return;
	}
	for (struct job *job = c->jobs; job; job = job->sibling)
		if (wire_id_is(job->id, id))
			job->arrived = true;
}

void handout_lost(struct conn *c, const char *id, bool gone)
{
	struct handout *g = handout_take(c, id);

	if (!g)
		return;
	undo(c->host, &g->given, gone);
	handout_free(g);
}

void handout_close(struct conn *c)
{
	struct handout *g;

	c->n_handouts = 0;
	while ((g = c->handouts)) {
		c->handouts = g->next;
		undo(c->host, &g->given, true);
		handout_free(g);
	}
}

void handout_settle(struct host *host, const struct given *given, bool arrived)
{
	if (arrived)
		take_for_good(host, given);
	else
		undo(host, given, false);
}
