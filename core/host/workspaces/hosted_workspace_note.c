#include "core/host/conn.h"
#include "core/host/host_inside.h"
#include "core/host/workspaces/hosted_workspace.h"
#include "ops.gen.h"

/* Rows that were read before this note was written are stale.  A restore is over when
 * its row says so; another one that was asked for meanwhile is in the next rows. */
static void hosted_workspace_note_on_noted(struct job *job)
{
	const struct workspace_note_in *in = job->call.in;
	struct hosted_workspace *p = job->owner;
	struct reconcile *r = p->host->reconcile;
	bool ready = in->has_state && in->state == WORKSPACE_STATE_READY;

	if (in->restored) {
		p->restored = false;
		p->restore = job->call.fault.code ? p->restore : NULL;
	}

	if (job->call.fault.code)
		log_line(p->host->log, LOG_LEVEL_WARN,
			 "the state of a workspace is not noted",
			 LOG_TEXT("workspace", p->spec.name),
			 LOG_FAULT(&job->call.fault));
	job_free(job);
	p->noting--;
	if (r->reading)
		p->stale_round = r->round;
	reconcile_poke(p->host);
	if (ready)
		turns_poke(p->host);
}

static struct job *hosted_workspace_note_job(struct hosted_workspace *p)
{
	struct job *job =
		host_job(p->host, op_workspace_note, hosted_workspace_note_on_noted, p);
	struct workspace_note_in *in = job->call.in;

	in->workspace = p->row;
	p->noting++;
	return job;
}

void hosted_note_process(struct hosted_workspace *p, bool restarted)
{
	struct job *job = hosted_workspace_note_job(p);
	struct workspace_note_in *in = job->call.in;

	in->has_pid = in->has_pid_start = true;
	in->pid = p->process.pid;
	in->pid_start = p->process.start;
	in->cid = p->process.cid;
	if (p->process.pid)
		in->machine_boot = arena_strdup(&job->call.arena, p->process.boot);
	in->restarted = restarted;
	p->noted = p->process.pid != 0;
	host_submit(p->host, job);
}

void hosted_note_ready(struct hosted_workspace *p)
{
	struct job *job = hosted_workspace_note_job(p);
	struct workspace_note_in *in = job->call.in;

	in->has_state = true;
	in->state = WORKSPACE_STATE_READY;
	hosted_become(p, WORKSPACE_STATE_READY, BY_HOST);
	host_submit(p->host, job);
}

void hosted_note_again(struct hosted_workspace *p)
{
	struct job *job = hosted_workspace_note_job(p);
	struct workspace_note_in *in = job->call.in;

	in->has_state = true;
	in->state = WORKSPACE_STATE_CREATING;
	hosted_become(p, WORKSPACE_STATE_CREATING, BY_HOST);
	log_line(p->host->log, LOG_LEVEL_INFO, "what a workspace lacked is there",
		 LOG_TEXT("workspace", p->spec.name));
	host_submit(p->host, job);
}

void hosted_note_failed(struct hosted_workspace *p, const char *why, bool died)
{
	struct job *job = hosted_workspace_note_job(p);
	struct workspace_note_in *in = job->call.in;

	in->has_state = true;
	in->state = WORKSPACE_STATE_FAILED;
	in->detail = arena_strdup(&job->call.arena, why);
	in->died = died;
	in->again = p->look_at != 0;
	hosted_become(p, WORKSPACE_STATE_FAILED, BY_HOST);
	log_line(p->host->log, LOG_LEVEL_ERROR, "workspace failed",
		 LOG_TEXT("workspace", p->spec.name), LOG_TEXT("error", why));
	host_submit(p->host, job);
}

void hosted_note_restored(struct hosted_workspace *p)
{
	struct job *job = hosted_workspace_note_job(p);
	struct workspace_note_in *in = job->call.in;

	in->restored = arena_strdup(&job->call.arena, p->restore);
	host_submit(p->host, job);
}

/* --- snapshots ------------------------------------------------------------------- */

static void on_snapshot_noted(struct job *job)
{
	struct job *asking = job->owner;

	if (job->call.fault.code && !asking->call.fault.code)
		asking->call.fault = job->call.fault;
	job_free(job);
	conn_answer(asking);
}

void hosted_note_snapshot(struct job *asking, int64_t made, int64_t state)
{
	struct job *job = host_job(asking->conn->host, op_workspace_snapshot_note,
				   on_snapshot_noted, asking);
	struct workspace_snapshot_note_in *in = job->call.in;

	in->snapshot = made;
	in->state = state;
	host_submit(asking->conn->host, job);
}
