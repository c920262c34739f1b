/* mcp_peer_calls - operations that a peer calls, in this process. */
#include "core/host/mcp/mcp_door_inside.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/host/handout.h"

struct peer_call {
	struct peer_call *next, **at; /* in peer->calls */
	struct mcp_peer *peer;
	struct client *client;
	int64_t number; /* of the client */
	bool confirms;
	struct conn *conn;
};

static void call_free(struct peer_call *pc)
{
	*pc->at = pc->next;
	if (pc->next)
		pc->next->at = pc->at;
	free(pc);
}

void peer_end_trust(struct mcp_peer *p)
{
	p->checked = 0;
	if (p->listener)
		exchange_end(p->listener);
}

static void mcp_peer_calls_told(struct conn *c, struct job *job)
{
	struct peer_call *pc = c->owner;
	struct mcp_peer *p = pc->peer;
	struct client *client = pc->client;
	struct call *call = &job->call;
	const int64_t number = pc->number;
	const bool settles = pc->confirms && call->given.agent && !call->fault.code;
	struct text out = { 0 };

	web_note_use(c->host, call);
	job->arrived =
		settles; /* it is not settled here: the peer says what became of it */
	call_free(pc);
	if (call->fault.code && strcmp(call->fault.where, "/token") == 0)
		peer_end_trust(p);
	if (!call->fault.code)
		call_encode(call, &out);
	client_answer(client, number,
		      call->fault.code ? NULL
		      : out.data       ? out.data
				       : "{}",
		      &call->fault, settles ? &call->given : NULL);
	text_release(&out);
	peer_rouse(p, mcp_watches(p->mcp));
}

struct identity peer_identity(const struct mcp_peer *p, struct arena *a)
{
	struct identity who = p->who;

	who.bearer = arena_strdup(a, p->bearer);
	who.session = arena_printf(a, "mcp:%.16s", p->name);
	who.agent = NULL; /* the token says it */
	who.team = arena_strdup(a, p->bearer ? NULL : p->team);
	return who;
}

static int mcp_peer_calls_start(void *arg, struct client *client, int64_t number,
				const struct op *op, json_t *args, struct form form,
				bool confirms, struct fault *f)
{
	struct mcp_peer *p = arg;
	struct job *job = job_new(&p->host->jobs);
	struct call *call = &job->call;
	struct peer_call *pc = xcalloc(1, sizeof(*pc));

	job->packet.json = json_copy(args);
	job->confirms = confirms;
	call->identity = peer_identity(p, &call->arena);
	call->settings = &p->host->settings;
	call->form = form;
	call->settles = confirms;
	pc->conn = call_decode(call, op, (json_t *)job->packet.json) == 0
			   ? conn_single(p->host, mcp_peer_calls_told, pc)
			   : NULL;
	if (!pc->conn) {
		if (!call->fault.code)
			fault_set(&call->fault, FAULT_UNAVAILABLE, "",
				  "there is no memory for the call");
		*f = call->fault;
		job_free(job);
		free(pc);
		return f->code;
	}
	job_own(job);
	pc->peer = p;
	pc->client = client;
	pc->number = number;
	pc->confirms = confirms;
	pc->next = p->calls;
	pc->at = &p->calls;
	if (pc->next)
		pc->next->at = &pc->next;
	p->calls = pc;
	conn_call(pc->conn, job);
	return 0;
}

static void mcp_peer_calls_cancel(void *arg, int64_t number)
{
	struct mcp_peer *p = arg;

	for (struct peer_call *pc = p->calls; pc; pc = pc->next)
		if (pc->number == number) {
			conn_close(pc->conn);
			call_free(pc);
			return;
		}
}

static void mcp_peer_calls_settle(void *arg, const struct given *given, bool arrived)
{
	struct mcp_peer *p = arg;

	handout_settle(p->host, given, arrived);
}

const struct client_way peer_way = { mcp_peer_calls_start, mcp_peer_calls_cancel,
				     mcp_peer_calls_settle };
