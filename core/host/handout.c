#include "core/host/handout.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/host/host_inside.h"
#include "core/wire/wire.h"
#include "ops.gen.h"

struct handout {
	struct receipt receipt;
	struct given given;
};

/* Takes an answer back, unless the host stops. A host that stops closes its connections, but
 * the callers may have received their answers before. */
static void undo(struct host *host, const struct given *given, bool sent)
{
	if (!host->stopping)
		host_ask(host, answer_undo, job_free, NULL, .agent = given->agent,
			 .request = given->request, .task = given->task,
			 .epoch = given->epoch, .sent = sent);
}

/* Called when an answer has arrived. If `for_good` is set, the answer's messages count as
 * acknowledged as soon as the answer has arrived. Acknowledges these messages now, even while
 * the host stops. If the answer has no such messages, does nothing. */
static void take_for_good(struct host *host, const struct given *given)
{
	if (given->for_good)
		host_ask(host, answer_take, job_free, NULL, .agent = given->agent,
			 .request = given->request);
}

/* Remembers an answer until the caller confirms the answer. If a connection has too many
 * unconfirmed answers, the oldest answer is taken back, as if the caller had left. */
static void handout_keep(struct conn *c, const struct job *job)
{
	struct handout *g = xcalloc(1, sizeof(*g)), *oldest;

	g->given = job->call.given;
	oldest = receipt_keep(&c->handouts, &g->receipt, job->id);
	if (oldest)
		undo(c->host, &oldest->given, true);
	free(oldest);
}

bool handout_is_undone(const struct job *job)
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

void handout_arrived(struct conn *c, const char *id)
{
	struct handout *g = receipt_take(&c->handouts, id);

	if (g) {
		take_for_good(c->host, &g->given);
		free(g);
		return;
	}
	for (struct job *job = c->jobs; job; job = job->sibling)
		if (wire_id_is(job->id, id))
			job->arrived = true;
}

void handout_lost(struct conn *c, const char *id, bool gone)
{
	struct handout *g = receipt_take(&c->handouts, id);

	if (!g)
		return;
	undo(c->host, &g->given, gone);
	free(g);
}

void handout_close(struct conn *c)
{
	struct handout *g;

	while ((g = receipt_take(&c->handouts, NULL))) {
		undo(c->host, &g->given, true);
		free(g);
	}
}

void handout_settle(struct host *host, const struct given *given, bool arrived, bool sent)
{
	if (arrived)
		take_for_good(host, given);
	else
		undo(host, given, sent);
}
