#include <inttypes.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/steps.h"
#include "core/host/conn.h"
#include "core/host/host_inside.h"
#include "core/host/workspaces/hosted_workspace.h"
#include "core/machine/trash.h"
#include "ops.gen.h"

enum { SYNC_S = 60 };

/* --- on a thread ------------------------------------------------------------------- */

static const char *snapshot_of(const struct job *job)
{
	const struct workspace_snapshot_out *kept = job->call.out;
	const struct workspace_snapshot_remove_out *removed = job->call.out;

	return job->call.op == op_workspace_snapshot ? kept->snapshot.id
						     : removed->snapshot.id;
}

/* Moves what the workspace holds into the trash, and makes room there: 0, or negative when
 * it stays where it is, since nothing may be lost. */
static int keep_work(struct hosted_workspace *p, const struct trash_bounds *bounds)
{
	int rc = p->backend->keep(p->backend->self, &p->spec, clock_wall_ms(), bounds,
				  &p->fault);

	if (rc == TRASH_TOO_LARGE)
		log_line(
			p->host->log, LOG_LEVEL_WARN,
			"a workspace is removed for good: it holds more than the trash may (workspace.trash_mb)",
			LOG_TEXT("workspace", p->spec.name));
	return rc < 0 ? rc : 0;
}

/* Work that takes something away puts it into the trash, and makes room there. */
static void work_on_trash(struct hosted_workspace *p)
{
	const struct settings *s = &p->host->home->settings;
	struct trash_bounds bounds = { settings_keep_ms(s), settings_trash_bytes(s) };
	const struct backend *b = p->backend;

	p->spec.trash = &bounds;
	if (p->work == WORK_FORGET)
		b->forget(b->self, &p->spec, snapshot_of(p->asking), &p->fault);
	else if (p->work == WORK_RESTORE)
		b->restore(b->self, &p->spec, p->restore, &p->fault);
	else if (!b->keep || keep_work(p, &bounds) == 0)
		b->destroy(b->self, &p->spec, &p->fault);
	p->spec.trash = NULL;
	if (trash_trim(p->spec.home, clock_wall_ms(), &bounds))
		backend_qemu.sweep(backend_qemu.self, p->spec.home, NULL, 0);
}

static void work_on(uv_work_t *request)
{
	struct hosted_workspace *p = request->data;
	const struct backend *b = p->backend;
	bool copy = p->spec.source || p->spec.parent;

	switch (p->work) {
	case WORK_MAKE:
		(copy ? b->fork : b->make)(b->self, &p->spec, &p->fault);
		break;
	case WORK_START:
		b->start(b->self, &p->spec, &p->process, &p->fault);
		break;
	case WORK_SNAPSHOT:
		b->snapshot(b->self, &p->spec, snapshot_of(p->asking), &p->fault);
		break;
	case WORK_DESTROY:
	case WORK_FORGET:
	case WORK_RESTORE:
		work_on_trash(p);
		break;
	}
}

/* --- to and fro --------------------------------------------------------------------- */

/* Whether work copies bytes: it is limited to a few workspaces at once; a start is
 * not. */
static bool hosted_workspace_work_is_slow(enum work work)
{
	return work != WORK_START;
}

static void hosted_workspace_work_end(struct hosted_workspace *p)
{
	p->busy = false;
	p->host->reconcile->busy--;
	p->host->reconcile->slow -= hosted_workspace_work_is_slow(p->work);
	if (p->fork_source)
		p->fork_source->busy = false;
	p->fork_source = NULL;
}

/* A snapshot's row knows what became of it before anybody is told. */
static void hosted_workspace_work_answer(struct job *job, const struct fault *why)
{
	struct workspace_snapshot_out *out = job->call.out;

	if (why->code)
		job->call.fault = *why;
	if (job->call.op != op_workspace_snapshot || job->conn->host->stopping) {
		conn_answer(job);
		return;
	}
	out->snapshot.state = why->code ? SNAPSHOT_STATE_FAILED : SNAPSHOT_STATE_READY;
	hosted_note_snapshot(job, job->call.made, out->snapshot.state);
}

static void end_asking(struct hosted_workspace *p)
{
	struct job *job = p->asking;
	struct workspace_snapshot_out *out = job->call.out;

	p->asking = NULL;
	if (job->call.op == op_workspace_snapshot && !p->fault.code) {
		out->has_left_out = true;
		out->left_out = p->left_out;
	}
	hosted_workspace_work_answer(job, &p->fault);
}

static void on_worked(uv_work_t *request, int status)
{
	struct hosted_workspace *p = request->data;

	(void)status;
	hosted_workspace_work_end(p);
	if (p->left_out)
		log_line(
			p->host->log, LOG_LEVEL_INFO,
			"sockets, pipes, devices or folders of states are left out of a copy",
			LOG_TEXT("workspace", p->spec.name),
			LOG_NUMBER("left_out", p->left_out));
	if (p->asking)
		end_asking(p);
	else
		hosted_worked(p);
	reconcile_poke(p->host);
}

static void queue_work(struct hosted_workspace *p)
{
	p->request.data = p;
	uv_queue_work(&p->host->loop, &p->request, work_on, on_worked);
}

static bool begin_work(struct hosted_workspace *p, enum work work)
{
	enum {
		UP = STEP(WORKSPACE_STATE_CREATING) | STEP(WORKSPACE_STATE_READY),
		DOWN = STEP(WORKSPACE_STATE_DESTROYED),
	};
	static const unsigned when[] = {
		[WORK_MAKE] = UP | STEP(WORKSPACE_STATE_FAILED),
		[WORK_START] = UP,
		[WORK_RESTORE] = UP,
		[WORK_DESTROY] = DOWN,
		[WORK_SNAPSHOT] = 0, /* in any state */
		[WORK_FORGET] = 0,
	};
	struct reconcile *r = p->host->reconcile;

	if (when[work])
		step_check(when[work], (int)p->state);
	if (hosted_workspace_work_is_slow(work) &&
	    r->slow >= p->host->home->settings.config.limits_max_concurrent_forks)
		return false;
	p->busy = true;
	p->work = work;
	p->fault = (struct fault){ 0 };
	p->left_out = 0;
	p->spec.left_out = &p->left_out;
	r->busy++;
	r->slow += hosted_workspace_work_is_slow(work);
	return true;
}

/* --- after a guest's sync ------------------------------------------------------------- */

static void hosted_workspace_work_on_synced(void *arg, struct packet *answer,
					    struct fault *f)
{
	struct hosted_workspace *p = arg;
	struct fault why = *f;

	(void)answer;
	if (p->host->stopping) {
		fault_set(&p->fault, FAULT_UNAVAILABLE, "", "the host is stopping");
		hosted_workspace_work_end(p);
		if (p->asking)
			end_asking(p);
		return;
	}
	/* A copy without a sync equals a disk after a power failure, which is good
	 * enough: a guest that is gone or has no `sync` can still be copied. */
	if (why.code)
		log_line(p->host->log, LOG_LEVEL_INFO,
			 "a workspace is copied without a sync",
			 LOG_TEXT("workspace", p->spec.name), LOG_FAULT(&why));
	queue_work(p);
}

/* Has the guest write out what it holds in memory, then goes on. */
static void sync_first(struct hosted_workspace *p, struct hosted_workspace *whose)
{
	struct hosted_guest *t = whose->backend->vm ? whose->guest : NULL;
	struct wire_exec sync = { .command = "sync", .timeout_secs = SYNC_S };

	if (t && t->up)
		guest_conn_ask(&t->control, "Exec", &sync, (SYNC_S + 5) * 1000,
			       hosted_workspace_work_on_synced, p);
	else
		queue_work(p);
}

/* A VM that is forked as it is now is left alone meanwhile. */
static bool fork_living(struct hosted_workspace *p, struct hosted_workspace *parent)
{
	if (parent->busy || !begin_work(p, WORK_MAKE))
		return false;
	parent->busy = true;
	p->fork_source = parent;
	sync_first(p, parent);
	return true;
}

bool hosted_work(struct hosted_workspace *p, enum work work)
{
	struct hosted_workspace *parent =
		work == WORK_MAKE && p->backend->vm && !p->spec.snapshot
			? reconcile_place(p->host, p->parent_row)
			: NULL;

	if (parent)
		return fork_living(p, parent);
	if (!begin_work(p, work))
		return false;
	queue_work(p);
	return true;
}

/* --- calls that wait -------------------------------------------------------------------- */

static void hosted_workspace_work_refuse(struct job *job, enum fault_code code,
					 const char *why)
{
	struct fault f = { 0 };

	fault_set(&f, code, "", "%s", why);
	hosted_workspace_work_answer(job, &f);
}

void hosted_refuse(struct chain *asked, enum fault_code code, const char *why)
{
	for (struct job *job; (job = chain_pop(asked));)
		hosted_workspace_work_refuse(job, code, why);
}

static void answer_fork(struct hosted_workspace *p, struct job *job)
{
	struct workspace_fork_out *out = job->call.out;

	out->has_left_out = p->work == WORK_MAKE;
	out->left_out = p->left_out;
	conn_answer(job);
}

static void serve_fork(struct hosted_workspace *p, bool over)
{
	if (p->made)
		answer_fork(p, chain_pop(&p->asked));
	else if (over && p->fault.code)
		hosted_workspace_work_answer(chain_pop(&p->asked), &p->fault);
	else if (over)
		hosted_workspace_work_refuse(chain_pop(&p->asked), FAULT_CONFLICT,
					     "the copy was destroyed");
}

static void serve_snapshot(struct hosted_workspace *p, enum work work)
{
	if (!begin_work(p, work))
		return;
	p->asking = chain_pop(&p->asked);
	if (work == WORK_SNAPSHOT)
		sync_first(p, p);
	else
		queue_work(p);
}

void hosted_serve(struct hosted_workspace *p, int64_t now)
{
	bool over = p->state == HOSTED_OVER || p->state == WORKSPACE_STATE_FAILED ||
		    p->state == WORKSPACE_STATE_DESTROYED;
	struct job *job = p->asked.first;

	if (!job)
		return;
	if (now > job->due)
		hosted_workspace_work_refuse(chain_pop(&p->asked), FAULT_TIMEOUT,
					     "the workspace had other things to do");
	else if (job->call.op == op_workspace_fork)
		serve_fork(p, over);
	else if (!p->busy)
		serve_snapshot(p, job->call.op == op_workspace_snapshot ? WORK_SNAPSHOT
									: WORK_FORGET);
}
