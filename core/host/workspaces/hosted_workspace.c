#include "core/host/workspaces/hosted_workspace.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/steps.h"
#include "core/host/conn.h"
#include "core/host/host_inside.h"
#include "core/link/link.h"
#include "core/machine/pid.h"
#include "core/machine/trash.h"
#include "ops.gen.h"

static void hosted_worked(struct hosted_workspace *p);

/* Called when the row was updated. Rows that were read before the update are stale. Once an
 * update has stored that a restore is done, the row may ask for another restore. */
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

/* Starts an update of the workspace's row; returns before the row is written. */
#define note_row(p, ...)                                                          \
	((p)->noting++,                                                           \
	 host_ask((p)->host, workspace_note, hosted_workspace_note_on_noted, (p), \
		  .workspace = (p)->row, __VA_ARGS__))

/* Writes the workspace's process into the row, or writes that no process runs. `restarted`: the
 * process was started again. */
static void hosted_note_process(struct hosted_workspace *p, bool restarted)
{
	p->noted = p->process.pid != 0;
	note_row(p, .has_pid = true, .has_pid_start = true, .pid = p->process.pid,
		 .pid_start = p->process.start, .cid = p->process.cid,
		 .machine_boot = p->process.pid ? p->process.boot : NULL,
		 .restarted = restarted);
}

/* Writes into the row that the workspace is made and ready. If somebody has stopped the
 * workspace meanwhile, the row stays `stopped`. */
static void hosted_note_ready(struct hosted_workspace *p)
{
	hosted_become(p, WORKSPACE_STATE_READY, BY_HOST);
	note_row(p, .has_state = true, .state = WORKSPACE_STATE_READY);
}

/* Writes into the row that the failed workspace is made again. If somebody has stopped the
 * workspace meanwhile, the row stays `stopped`. */
static void hosted_note_again(struct hosted_workspace *p)
{
	hosted_become(p, WORKSPACE_STATE_CREATING, BY_HOST);
	log_line(p->host->log, LOG_LEVEL_INFO, "a workspace's missing files are back",
		 LOG_TEXT("workspace", p->spec.name));
	note_row(p, .has_state = true, .state = WORKSPACE_STATE_CREATING);
}

/* Writes into the row that the workspace failed for the reason `why`. `died`: the VM has ended,
 * so the leases of its agent's tasks end. */
static void hosted_note_failed(struct hosted_workspace *p, const char *why, bool died)
{
	const bool again = p->look_at != 0;

	hosted_become(p, WORKSPACE_STATE_FAILED, BY_HOST);
	log_line(p->host->log, LOG_LEVEL_ERROR, "workspace failed",
		 LOG_TEXT("workspace", p->spec.name), LOG_TEXT("error", why));
	note_row(p, .has_state = true, .state = WORKSPACE_STATE_FAILED, .detail = why,
		 .died = died, .again = again);
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

/* Stores a snapshot's state; `made` is the snapshot's row. Then answers the call in the job
 * `asking`. */
static void hosted_note_snapshot(struct job *asking, int64_t made, int64_t state)
{
	host_ask(asking->conn->host, workspace_snapshot_note, on_snapshot_noted, asking,
		 .snapshot = made, .state = state);
}

enum { SYNC_S = 60 };

/* --- work on a thread of the pool -------------------------------------------------- */

static const char *snapshot_of(const struct job *job)
{
	const struct workspace_snapshot_out *kept = job->call.out;
	const struct workspace_snapshot_remove_out *removed = job->call.out;

	return job->call.op == op_workspace_snapshot ? kept->snapshot.id
						     : removed->snapshot.id;
}

/* Moves the workspace's content into the trash, unless the content is larger than the whole
 * trash may be. Returns 0, or a negative number if the move failed. After a failed move the
 * caller must not remove the content. */
static int keep_work(struct hosted_workspace *p, const struct trash_bounds *bounds)
{
	int rc = p->backend->keep(&p->spec, clock_wall_ms(), bounds, &p->fault);

	if (rc == TRASH_TOO_LARGE)
		log_line(
			p->host->log, LOG_LEVEL_WARN,
			"a workspace is removed for good: it is too large for the trash (workspace.trash_mb)",
			LOG_TEXT("workspace", p->spec.name));
	return rc < 0 ? rc : 0;
}

/* Does work that moves content of a workspace into the trash: WORK_FORGET, WORK_RESTORE or
 * WORK_DESTROY. Then removes old entries of the trash until the trash is within its bounds. */
static void work_on_trash(struct hosted_workspace *p)
{
	const struct settings *s = &p->host->home->settings;
	struct trash_bounds bounds = { settings_keep_ms(s), settings_trash_bytes(s) };
	const struct backend *b = p->backend;

	p->spec.trash = &bounds;
	if (p->work == WORK_FORGET)
		b->forget(&p->spec, snapshot_of(p->asking), &p->fault);
	else if (p->work == WORK_RESTORE)
		b->restore(&p->spec, p->restore, &p->fault);
	else if (!b->keep || keep_work(p, &bounds) == 0)
		b->destroy(&p->spec, &p->fault);
	p->spec.trash = NULL;
	if (trash_trim(p->spec.home, clock_wall_ms(), &bounds))
		backend_qemu.sweep(p->spec.home, NULL, 0);
}

static void work_on(uv_work_t *request)
{
	struct hosted_workspace *p = request->data;
	const struct backend *b = p->backend;
	bool copy = p->spec.source || p->spec.parent;

	switch (p->work) {
	case WORK_MAKE:
		(copy ? b->fork : b->make)(&p->spec, &p->fault);
		break;
	case WORK_START:
		b->start(&p->spec, &p->process, &p->fault);
		break;
	case WORK_SNAPSHOT:
		b->snapshot(&p->spec, snapshot_of(p->asking), &p->fault);
		break;
	case WORK_DESTROY:
	case WORK_FORGET:
	case WORK_RESTORE:
		work_on_trash(p);
		break;
	}
}

/* --- begin and end of work ---------------------------------------------------------- */

/* Whether the work may copy many bytes. Only a few workspaces may do slow work at once. This
 * limit does not apply to the start of a guest. */
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

/* Answers a call when the work for this call has ended. The state of a new snapshot is stored
 * in the snapshot's row before the answer. */
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
		[WORK_SNAPSHOT] = 0, /* allowed in any state */
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
	/* A copy without a sync is like a disk after a power failure, and such a copy is good
	 * enough. So a workspace can be copied even if its guest has ended or has no command
	 * `sync`. */
	if (why.code)
		log_line(p->host->log, LOG_LEVEL_INFO,
			 "a workspace is copied without a sync",
			 LOG_TEXT("workspace", p->spec.name), LOG_FAULT(&why));
	queue_work(p);
}

/* If the workspace `whose` is a VM, its guest first writes cached data to the disk. Then queues
 * the work of `p`. */
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

/* Forks the VM `parent` in its present state. During the fork, the host takes no step for
 * `parent`. Returns false if the fork cannot begin now. */
static bool fork_living(struct hosted_workspace *p, struct hosted_workspace *parent)
{
	if (parent->busy || !begin_work(p, WORK_MAKE))
		return false;
	parent->busy = true;
	p->fork_source = parent;
	sync_first(p, parent);
	return true;
}

/* Starts work in the thread pool. Returns false if the maximum number of workspaces do slow
 * work already, or if the VM to be forked is busy. */
static bool hosted_work(struct hosted_workspace *p, enum work work)
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

/* Serves the first call that waits for the workspace, if the workspace can serve the call now. */
static void hosted_serve(struct hosted_workspace *p, int64_t now)
{
	bool over = p->state == HOSTED_OVER || p->state == WORKSPACE_STATE_FAILED ||
		    p->state == WORKSPACE_STATE_DESTROYED;
	struct job *job = p->asked.first;

	if (!job)
		return;
	if (now > job->due)
		hosted_workspace_work_refuse(chain_pop(&p->asked), FAULT_TIMEOUT,
					     "the workspace was busy");
	else if (job->call.op == op_workspace_fork)
		serve_fork(p, over);
	else if (!p->busy)
		serve_snapshot(p, job->call.op == op_workspace_snapshot ? WORK_SNAPSHOT
									: WORK_FORGET);
}

enum {
	PAUSE_FIRST_MS = 100,
	PAUSE_MOST_MS = 30000,
	SETTLED_MS = 60000, /* a guest that ran for longer than this time did not fail at
			       its start */
	DEATHS_MOST = 8,
	PATIENCE_MS = 5000, /* time between the steps that end a guest */
	UNREACHED_MS = 60000, /* longest time for a guest to be out of reach */
	BOOT_MS = 300000, /* time to boot; a VM inside a VM boots for two minutes */
};

void hosted_become(struct hosted_workspace *p, int64_t state, enum whence whence)
{
	/* Each state as a bit. HOSTED_OVER has the lowest bit. */
	enum {
		OVER = STEP(HOSTED_OVER + 1),
		CREATING = STEP(WORKSPACE_STATE_CREATING + 1),
		READY = STEP(WORKSPACE_STATE_READY + 1),
		STOPPED = STEP(WORKSPACE_STATE_STOPPED + 1),
		FAILED = STEP(WORKSPACE_STATE_FAILED + 1),
		DESTROYED = STEP(WORKSPACE_STATE_DESTROYED + 1),
		ANY = CREATING | READY | STOPPED | FAILED | DESTROYED,
	};
	static const unsigned by_host[] = {
		[WORKSPACE_STATE_CREATING] = READY | FAILED,
		[WORKSPACE_STATE_READY] = FAILED,
		/* FAILED: the failed workspace fails again, for another reason. CREATING: the
		 * workspace is made again. */
		[WORKSPACE_STATE_FAILED] = FAILED | CREATING,
		[WORKSPACE_STATE_DESTROYED] = OVER,
	};
	static const unsigned by_row[] = {
		[WORKSPACE_STATE_CREATING] = ANY,        [WORKSPACE_STATE_READY] = ANY,
		[WORKSPACE_STATE_STOPPED] = ANY,         [WORKSPACE_STATE_FAILED] = ANY,
		[WORKSPACE_STATE_DESTROYED] = DESTROYED,
	};
	static const unsigned *const steps[] = { [BY_HOST] = by_host, [BY_ROW] = by_row };

	step_check(p->state == HOSTED_OVER ? 0 : steps[whence][p->state], (int)state + 1);
	p->state = state;
	if (state != WORKSPACE_STATE_FAILED)
		p->look_at = 0;
}

void hosted_hold_source(struct hosted_workspace *p)
{
	bool making = p->state == WORKSPACE_STATE_CREATING ||
		      (p->state == WORKSPACE_STATE_FAILED && p->look_at);
	bool needed = making && !p->made && p->spec.source;

	if (needed && p->source_held < 0) {
		p->source_held = trash_hold(p->spec.home, p->spec.source);
	} else if (!needed && p->source_held >= 0) {
		close(p->source_held);
		p->source_held = -1;
	}
}

/* --- results of work --------------------------------------------------------------- */

static void started(struct hosted_workspace *p)
{
	bool again = p->ran;

	p->ran = true;

	p->started_at = clock_boot_ms();
	log_line(p->host->log, LOG_LEVEL_INFO,
		 again ? "guest restarted" : "guest started",
		 LOG_TEXT("workspace", p->spec.name), LOG_NUMBER("pid", p->process.pid));
	hosted_note_process(p, again);
}

void hosted_look_again(struct hosted_workspace *p)
{
	p->look_ms = PAUSE_FIRST_MS;
	p->look_at = clock_boot_ms() + p->look_ms;
}

static void hosted_workspace_made(struct hosted_workspace *p)
{
	p->made = true;
	if (p->state == WORKSPACE_STATE_FAILED)
		hosted_note_again(p);
}

static void destroyed(struct hosted_workspace *p)
{
	if (p->fault.code)
		log_line(p->host->log, LOG_LEVEL_WARN,
			 "a workspace's files cannot be removed",
			 LOG_TEXT("workspace", p->spec.name), LOG_FAULT(&p->fault));
	if (p->noted) {
		p->process.pid = 0;
		hosted_note_process(p, false);
	}
	p->made = false;
	hosted_become(p, HOSTED_OVER, BY_HOST);
}

/* Acts on failed work. If a folder, a disk or an image is missing, the host tries the work
 * again, after longer and longer pauses. If a snapshot is missing, the host does not try again. */
static void hosted_work_failed(struct hosted_workspace *p)
{
	if (p->state == WORKSPACE_STATE_FAILED) {
		p->look_ms = p->look_ms * 2 > PAUSE_MOST_MS ? PAUSE_MOST_MS
							    : p->look_ms * 2;
		p->look_at = clock_boot_ms() + p->look_ms;
		return;
	}
	if (p->fault.code == FAULT_NOT_FOUND && p->work != WORK_RESTORE &&
	    !p->spec.snapshot)
		hosted_look_again(p);
	hosted_note_failed(p, p->fault.text, false);
}

/* Acts on the result of work that has ended. */
static void hosted_worked(struct hosted_workspace *p)
{
	if (p->work == WORK_DESTROY)
		destroyed(p);
	else if (p->fault.code)
		hosted_work_failed(p);
	else if (p->work == WORK_MAKE)
		hosted_workspace_made(p);
	else if (p->work == WORK_START)
		started(p);
	else if (p->work == WORK_RESTORE) {
		p->restored = true;
		note_row(p, .restored = p->restore); /* `restored` is the snapshot's id */
	}
	hosted_hold_source(p);
}

/* --- steps towards the row's state ------------------------------------------------ */

/* Plans the next start of a guest that has ended. The pause doubles if the guest ended soon
 * after its start, unless this host ended the guest. */
static void hosted_workspace_plan_restart(struct hosted_workspace *p, int64_t now)
{
	bool early = !p->killed && p->started_at && now - p->started_at < SETTLED_MS;

	p->deaths = early ? p->deaths + 1 : !p->killed;
	p->pause_ms = early && p->pause_ms ? p->pause_ms * 2 : PAUSE_FIRST_MS;
	if (p->pause_ms > PAUSE_MOST_MS)
		p->pause_ms = PAUSE_MOST_MS;
	p->start_at = now + p->pause_ms;
	p->ran = true; /* the guest ran, perhaps under an earlier host */
	p->process = (struct process){ 0 };
	p->killed = false;
	p->unreached_at = 0;
	if (p->backend->vm) {
		/* The next guest may have another address. */
		hosted_guest_close(p->guest);
		p->guest = NULL;
	}
	if (p->deaths >= DEATHS_MOST)
		hosted_note_failed(p, "its guest keeps dying", false);
}

static void hosted_workspace_hold(struct hosted_workspace *p)
{
	const struct backend *b = p->backend;
	char address[ADDRESS_SIZE];
	struct guest_wanted to = {
		.workspace = p->row,
		.team = p->team_row,
		.agent = p->agent_row,
		.id = p->spec.id,
		.address = p->spec.address,
		.token = p->spec.link_token,
		.team_name = p->spec.team,
		.agent_name = p->spec.agent,
		.agent_token = p->spec.token,
		.ip = p->spec.tap ? p->spec.ip : NULL,
		.boot_told = p->boot_told,
		.spool = p->spool,
		.spool_seq = p->spool_seq,
		.halt = p->stopped,
	};

	struct fault f = { 0 };

	if (p->guest)
		return;
	if (b->address) {
		b->address(&p->spec, &p->process, address);
		to.address = address;
	}
	if (!(p->guest = hosted_guest_open(p->host, &to, &f)))
		hosted_note_failed(p, f.text, false);
}

/* Writes into the row that the workspace failed, because its VM has ended by itself. The host
 * does not start the VM again, since the VM's agent has to know of the end. Somebody else has
 * to start the VM. */
static void die(struct hosted_workspace *p)
{
	const struct backend *b = p->backend;
	char why[200] = "";

	if (b->last_words)
		b->last_words(&p->spec, why);
	if (!*why)
		snprintf(why, sizeof(why), "its VM ended");
	hosted_guest_close(p->guest);
	p->guest = NULL;
	p->process = (struct process){ 0 };
	hosted_note_failed(p, why, true);
}

bool hosted_workspace_kill(struct host *host, int64_t row, const char *why)
{
	struct hosted_workspace *p = reconcile_place(host, row);
	struct fault f = { 0 };

	if (!p || !p->process.pid)
		return false;
	log_line(host->log, LOG_LEVEL_WARN, why, LOG_TEXT("workspace", p->spec.name),
		 LOG_NUMBER("pid", p->process.pid));
	p->killed = true;
	p->backend->stop(&p->process, true, &f);
	return true;
}

static void end_slow_boot(struct hosted_workspace *p)
{
	const struct backend *b = p->backend;
	struct fault f = { 0 };

	b->stop(&p->process, true, &f);
	hosted_note_failed(p, "its guest did not answer in five minutes", false);
}

/* Finds the VM's tap. The VM gets no tap if this host makes no network. Returns false if the VM
 * has to wait for its tap. */
static bool find_tap(struct hosted_workspace *p)
{
	const struct settings *s = &p->host->home->settings;
	enum tap tap = p->slot ? network_tap(p->host, p->row) : TAP_NONE;
	struct fault f = { 0 };
	struct nic_range range;

	p->spec.tap = NULL;
	if (tap == TAP_READY && nic_range_parse(s->network_range, &range, &f) == 0) {
		nic_of(&range, s->tag, p->spec.id, p->slot, &p->nic);
		p->spec.tap = p->nic.tap;
		p->spec.mac = p->nic.mac_text;
		p->spec.ip = p->nic.address;
		p->spec.gateway = p->nic.gateway;
		p->spec.prefix = p->nic.prefix;
	}
	return tap != TAP_LATER;
}

/* Whether a VM was started and its guest is not up yet. */
static bool is_booting(const struct hosted_workspace *p, int64_t now)
{
	if (!p->backend->vm || (p->guest && p->guest->up))
		return false;
	return (p->busy && p->work == WORK_START) ||
	       (p->process.pid && p->started_at && now - p->started_at < BOOT_MS);
}

bool hosted_boots(const struct host *host, int64_t row)
{
	const struct hosted_workspace *p = host->reconcile->places;

	while (p && p->row != row)
		p = p->next;
	return p && is_booting(p, clock_boot_ms());
}

/* Whether the guest may be started now. A boot keeps a processor busy for seconds. So the
 * number of VMs that boot at once is limited, by the same setting as the number of copies at
 * once. */
static bool may_start(const struct hosted_workspace *p, int64_t now)
{
	int64_t n = 0;

	if (!p->backend->vm)
		return true;
	for (const struct hosted_workspace *q = p->host->reconcile->places; q;
	     q = q->next)
		n += is_booting(q, now);
	return n < p->host->home->settings.config.limits_max_concurrent_forks;
}

/* Acts on a guest that has ended. A VM is started again if the machine was rebooted or if this
 * host ended the VM. In all other cases an ended VM makes its workspace fail. */
static bool hosted_workspace_tend_gone(struct hosted_workspace *p, int64_t now)
{
	if (!p->backend->vm) {
		hosted_workspace_plan_restart(p, now);
		return true; /* the host dials, since a guest whose pid is not known may
				be running */
	}
	if (p->killed || pid_rebooted(&p->process))
		hosted_workspace_plan_restart(p, now);
	else
		die(p);
	return false;
}

/* Makes a guest check its socket files now. Without the signal LINK_LOOK the guest checks every
 * few seconds. */
static void wake(struct hosted_workspace *p)
{
	struct fault f = { 0 };

	pid_send(&p->process, LINK_LOOK, &f);
	if (p->guest)
		hosted_guest_hurry(p->guest);
}

/* Kills a running guest that was out of reach for a minute. A guest is out of reach if a signal
 * has suspended the guest, or if the guest's socket files are missing. */
static void end_unreached(struct hosted_workspace *p, int64_t now)
{
	const struct backend *b = p->backend;
	bool deaf = b->deaf && b->deaf(&p->spec, &p->process);

	if (!deaf && (b->vm || !pid_stopped(&p->process))) {
		p->unreached_at = 0;
	} else if (!p->unreached_at) {
		p->unreached_at = now;
		if (deaf && !b->vm)
			wake(p);
	} else if (now - p->unreached_at > UNREACHED_MS) {
		hosted_workspace_kill(p->host, p->row,
				      deaf ? "a guest without sockets is ended"
					   : "a guest stands still and is ended");
	}
}

/* Starts the guest, or checks a running guest. Returns false if there is no guest to dial. */
static bool hosted_workspace_keep_guest(struct hosted_workspace *p, int64_t now)
{
	const struct backend *b = p->backend;
	bool up = p->guest && p->guest->up;

	if (!b->start)
		return true;
	/* A guest that is connected runs, even if its pid is not known. */
	if (!p->process.pid && !up) {
		if (now >= p->start_at && may_start(p, now) && find_tap(p))
			hosted_work(p, WORK_START);
		return false;
	}
	if (p->process.pid && !b->alive(&p->process))
		return hosted_workspace_tend_gone(p, now);
	if (b->tend)
		b->tend(&p->spec);
	if (up)
		p->unreached_at = 0;
	else
		end_unreached(p, now);
	if (!b->vm || up || p->state != WORKSPACE_STATE_CREATING)
		return true;
	if (!p->started_at)
		p->started_at = now; /* an earlier host started the guest */
	if (now - p->started_at > BOOT_MS) {
		end_slow_boot(p);
		return false;
	}
	return true;
}

static bool be_down(struct hosted_workspace *p, int64_t now);

static bool be_up(struct hosted_workspace *p, int64_t now)
{
	const struct backend *b = p->backend;

	/* The restore is done before all other work, since an interrupted restore may have
	 * moved the workspace's folder away. */
	if (p->restore) {
		if (!p->restored && be_down(p, now))
			hosted_work(p, WORK_RESTORE);
		return true;
	}
	if (!p->made) {
		hosted_work(p, WORK_MAKE);
		return true;
	}
	if (!hosted_workspace_keep_guest(p, now))
		return true;
	hosted_workspace_hold(p);
	if (!p->guest)
		return true;
	if (b->find && !p->process.pid && p->guest->up && p->guest->pid) {
		b->find(p->guest->pid, &p->process);
		hosted_note_process(p, false);
	}
	if (p->guest->up && p->state == WORKSPACE_STATE_CREATING)
		hosted_note_ready(p);
	return !p->guest->up;
}

static void ignore(void *arg, struct packet *answer, struct fault *f)
{
	(void)arg;
	(void)answer;
	(void)f;
}

/* Ends a guest by SIGTERM, and after a pause by SIGKILL. Before SIGTERM, a guest in a VM gets a
 * request to end. A VM whose disk will be removed is killed at once, since the VM need not
 * write anything to the disk. */
static void end_guest(struct hosted_workspace *p, int64_t now)
{
	const struct backend *b = p->backend;
	struct hosted_guest *t = b->vm ? p->guest : NULL;
	struct fault f = { 0 };

	if (!p->stop_at) {
		p->stop_at = now + PATIENCE_MS;
		if (b->vm && p->state == WORKSPACE_STATE_DESTROYED)
			b->stop(&p->process, true, &f);
		else if (t && t->up)
			guest_conn_ask(&t->control, "Shutdown", NULL, PATIENCE_MS, ignore,
				       NULL);
		else
			b->stop(&p->process, false, &f);
	} else if (now >= p->stop_at + (t ? PATIENCE_MS : 0)) {
		b->stop(&p->process, true, &f);
	} else if (now >= p->stop_at) {
		b->stop(&p->process, false, &f);
	}
}

/* Ends the workspace's guest. Returns true when no guest runs any more. */
static bool be_down(struct hosted_workspace *p, int64_t now)
{
	const struct backend *b = p->backend;

	if (!b->vm) {
		hosted_guest_close(p->guest);
		p->guest = NULL;
	}
	p->deaths = 0;
	p->start_at = p->started_at = p->pause_ms = 0;
	p->ran = false;
	if (p->process.pid && b->alive(&p->process)) {
		end_guest(p, now);
		return false;
	}
	hosted_guest_close(p->guest);
	p->guest = NULL;
	p->stop_at = 0;
	p->process = (struct process){ 0 };
	p->killed = false;
	return true;
}

bool hosted_step(struct hosted_workspace *p, int64_t now)
{
	hosted_serve(p, now);
	if (p->busy || p->state == HOSTED_OVER)
		return p->asked.first != NULL;
	switch ((enum workspace_state)p->state) {
	case WORKSPACE_STATE_CREATING:
	case WORKSPACE_STATE_READY:
		return be_up(p, now);
	case WORKSPACE_STATE_STOPPED:
	case WORKSPACE_STATE_FAILED:
		if (!be_down(p, now))
			return true;
		if (p->noted)
			hosted_note_process(p, false);
		if (p->state == WORKSPACE_STATE_FAILED && p->look_at && now >= p->look_at)
			hosted_work(p, WORK_MAKE);
		return false;
	case WORKSPACE_STATE_DESTROYED:
		if (!reconcile_is_forked(p->host, p->row) && be_down(p, now))
			hosted_work(p, WORK_DESTROY);
		return true;
	}
	return false;
}

void hosted_free(struct hosted_workspace *p)
{
	hosted_refuse(&p->asked, FAULT_CONFLICT, "the workspace is gone");
	hosted_guest_close(p->guest);
	if (p->source_held >= 0)
		close(p->source_held);
	free(p->texts);
	free(p);
}
