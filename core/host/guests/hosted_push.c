#include "core/host/guests/hosted_push.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/host/guests/hosted_door.h"
#include "core/host/host_inside.h"
#include "ops.gen.h"

enum {
	PAGE = 100,
	PUSH_MS = 10000,
	FULL_MS = 1000, /* a guest without room is tried again */
};

static void hosted_push_look(struct hosted_guest *t);

/* The page is done with: on to the next one, if there is any. */
static void hosted_push_end_page(struct hosted_guest *t, bool more)
{
	struct pushing *p = &t->push;
	const struct delivery_waiting_out *out = p->page->call.out;
	bool any = out->n_pushes > 0, told = p->n_told + p->n_recalled > 0;

	job_free(p->page);
	p->page = NULL;
	p->reading = false;
	if (t->closing || !t->up || p->held)
		return;
	if (p->full || !any || told)
		futile_end(&p->futile);
	else
		futile_note(&p->futile, clock_boot_ms());
	if (p->full)
		p->retry_at = clock_boot_ms() + FULL_MS;
	else if (p->futile.ms && !p->again)
		p->retry_at = p->futile.until;
	else if (more || p->again)
		hosted_push_look(t);
}

static void on_boot_noted(struct job *job)
{
	job_free(job);
}

/* Notes that this guest knows the deliveries of the guest before it. */
static void end_anew(struct hosted_guest *t)
{
	struct job *job = host_job(t->host, op_workspace_note, on_boot_noted, t);
	struct workspace_note_in *in = job->call.in;

	memcpy(t->boot_told, t->boot_id, sizeof(t->boot_told));
	t->push.anew = false;
	t->push.after = 0;
	in->workspace = t->workspace;
	in->guest_boot = arena_strdup(&job->call.arena, t->boot_id);
	in->http = door_url(t, &job->call.arena);
	host_submit(t->host, job);
}

/* Whether the page was read for a guest that has gone since. */
static bool is_void(const struct hosted_guest *t, const struct job *page)
{
	return page->number != t->push.round;
}

static void hosted_push_finish(struct hosted_guest *t)
{
	const struct delivery_waiting_out *out = t->push.page->call.out;
	bool more = out->n_pushes == PAGE;

	if (is_void(t, t->push.page)) {
		t->push.again = true;
		more = false;
	} else if (t->push.anew && !more && !t->push.full && t->up) {
		end_anew(t);
	}
	hosted_push_end_page(t, more);
}

static void on_marked(struct job *job)
{
	struct hosted_guest *t = job->owner;

	/* A mark that failed is made when the guest says Ok once more. */
	job_free(job);
	hosted_push_finish(t);
	hosted_guest_let_go(t);
}

static int64_t *copy_rows(struct arena *arena, const int64_t *rows, size_t n)
{
	int64_t *copy = arena_alloc(arena, (n + 1) * sizeof(*copy));

	memcpy(copy, rows, n * sizeof(*copy));
	return copy;
}

static void hosted_push_mark(struct hosted_guest *t)
{
	struct pushing *p = &t->push;
	struct job *job;
	struct delivery_notified_in *in;

	if (p->n_told + p->n_recalled + p->n_refused == 0) {
		hosted_push_finish(t);
		return;
	}
	job = host_job(t->host, op_delivery_notified, on_marked, t);
	in = job->call.in;
	in->agent = t->agent;
	in->messages = copy_rows(&job->call.arena, p->told, p->n_told);
	in->n_messages = p->n_told;
	in->recalled = copy_rows(&job->call.arena, p->recalled, p->n_recalled);
	in->n_recalled = p->n_recalled;
	in->refused = copy_rows(&job->call.arena, p->refused, p->n_refused);
	in->n_refused = p->n_refused;
	hosted_guest_keep(t);
	host_submit(t->host, job);
}

/* Argument of the callback for the guest's answer to a push. */
struct told {
	struct hosted_guest *guest;
	int64_t message;
	bool cancelled, first; /* first: no guest was told it before */
};

/* Whether the guest has surely not taken the push; after a failed write it may have. */
static bool is_refusal(enum fault_code code)
{
	return code == FAULT_EXHAUSTED || code == FAULT_CONFLICT ||
	       code == FAULT_INVALID || code == FAULT_DENIED;
}

/* Counts one answered push; the page of pushes is over when none is open. */
static void end_one(struct hosted_guest *t)
{
	if (--t->push.open > 0)
		return;
	if (t->closing)
		hosted_push_end_page(t, false);
	else
		hosted_push_mark(t);
}

static void hosted_push_on_told(void *arg, struct packet *answer, struct fault *f)
{
	struct told *told = arg;
	struct hosted_guest *t = told->guest;
	struct pushing *p = &t->push;

	if (answer && told->cancelled)
		p->recalled[p->n_recalled++] = told->message;
	else if (answer)
		p->told[p->n_told++] = told->message;
	else if (f->code == FAULT_EXHAUSTED || f->code == FAULT_TIMEOUT)
		p->full = true;
	else if (f->code != FAULT_UNAVAILABLE)
		log_seldom(t->host->log, &t->refused, LOG_LEVEL_WARN,
			   "a guest refuses a message", LOG_TEXT("workspace", t->id),
			   LOG_FAULT(f));
	if (!answer && told->first && is_refusal(f->code))
		p->refused[p->n_refused++] = told->message;
	if (answer && !p->full && p->anew && !told->cancelled && !is_void(t, p->page))
		p->after = told->message;
	end_one(t);
}

static void hosted_push_tell(struct hosted_guest *t, const struct push *row,
			     struct told *told)
{
	struct wire_team_message m = { 0 };

	record_copy(&record_push, row, &record_wire_team_message, &m);
	/* The older dialect has the sender in the recipient's place. */
	if (t->old)
		m.to = row->from;
	told->guest = t;
	told->message = row->message;
	told->cancelled = row->cancelled;
	told->first = row->unoffered;
	guest_conn_ask(&t->relay, "TeamMessage", &m, PUSH_MS, hosted_push_on_told, told);
}

static void hosted_push_tell_page(struct hosted_guest *t,
				  const struct delivery_waiting_out *out,
				  struct arena *arena)
{
	struct pushing *p = &t->push;
	struct told *told = arena_alloc(arena, out->n_pushes * sizeof(*told));

	p->told = arena_alloc(arena, out->n_pushes * sizeof(*p->told));
	p->recalled = arena_alloc(arena, out->n_pushes * sizeof(*p->recalled));
	p->refused = arena_alloc(arena, out->n_pushes * sizeof(*p->refused));
	p->n_told = p->n_recalled = p->n_refused = 0;
	p->open = 1; /* this walk: a write that fails ends all that was asked, at once */
	for (size_t i = 0; i < out->n_pushes; i++) {
		const struct push *row = &out->pushes[i];

		/* The older dialect calls nothing off: it would run this. */
		if (t->old && row->cancelled) {
			p->recalled[p->n_recalled++] = row->message;
			continue;
		}
		p->open++;
		hosted_push_tell(t, row, &told[i]);
	}
	end_one(t);
}

static void on_offered(struct job *job)
{
	struct hosted_guest *t = job->owner;
	struct job *page = t->push.page;
	bool failed = job->call.fault.code;

	job_free(job);
	t->push.full |= failed; /* the disk, perhaps: it is tried again */
	if (failed || t->closing || !t->up)
		hosted_push_end_page(t, false);
	else if (is_void(t, page))
		hosted_push_finish(t);
	else
		hosted_push_tell_page(t, page->call.out, &page->call.arena);
	hosted_guest_let_go(t);
}

/* Starts to write into the rows of assignments that these may run in the guest, which has
 * to be done before it is told of them.  False when all rows say so already. */
static bool offer(struct hosted_guest *t, const struct delivery_waiting_out *out)
{
	struct job *job = host_job(t->host, op_delivery_offered, on_offered, t);
	struct delivery_offered_in *in = job->call.in;

	in->agent = t->agent;
	in->messages = arena_alloc(&job->call.arena,
				   (out->n_pushes + 1) * sizeof(*in->messages));
	for (size_t i = 0; i < out->n_pushes; i++)
		if (out->pushes[i].unoffered)
			in->messages[in->n_messages++] = out->pushes[i].message;
	if (in->n_messages == 0) {
		job_free(job);
		return false;
	}
	hosted_guest_keep(t);
	host_submit(t->host, job);
	return true;
}

static void hosted_push_on_page(struct job *job)
{
	struct hosted_guest *t = job->owner;
	const struct delivery_waiting_out *out = job->call.out;

	t->push.page = job;
	if (job->call.fault.code || t->closing || !t->up)
		hosted_push_end_page(t, false);
	else if (out->n_pushes == 0 || is_void(t, job))
		hosted_push_finish(t);
	else if (!offer(t, out))
		hosted_push_tell_page(t, out, &job->call.arena);
	hosted_guest_let_go(t);
}

static void hosted_push_look(struct hosted_guest *t)
{
	struct pushing *p = &t->push;
	struct job *job = host_job(t->host, op_delivery_waiting, hosted_push_on_page, t);
	struct delivery_waiting_in *in = job->call.in;

	p->reading = true;
	p->again = p->full = false;
	p->retry_at = 0;
	job->number = p->round;
	in->agent = t->agent;
	in->after = p->anew ? p->after : 0;
	in->again = p->anew;
	in->limit = PAGE;
	hosted_guest_keep(t);
	host_submit(t->host, job);
}

void push_poke(struct hosted_guest *t)
{
	if (!t->up || !t->agent || t->push.held)
		return;
	if (t->push.reading)
		t->push.again = true;
	else if (!t->push.retry_at || t->push.futile.ms)
		hosted_push_look(t); /* a new delivery may be taken after a refusal */
}

static void on_spool_noted(struct job *job)
{
	struct hosted_guest *t = job->owner;
	bool failed = job->call.fault.code;

	job_free(job);
	t->push.held--;
	t->respooled |= failed;
	if (failed)
		hosted_guest_down(t); /* it is told when it comes again */
	else
		push_poke(t);
	hosted_guest_let_go(t);
}

/* Notes the spool of a new guest: assignments that another spool accepted end before
 * this guest is told anything. */
static void hosted_push_note_spool(struct hosted_guest *t)
{
	struct job *job = host_job(t->host, op_workspace_note, on_spool_noted, t);
	struct workspace_note_in *in = job->call.in;

	in->workspace = t->workspace;
	in->spool = arena_strdup(&job->call.arena, t->spool);
	in->has_spool_seq = t->spool_seq >= 0;
	in->spool_seq = in->has_spool_seq ? t->spool_seq : 0;
	t->respooled = false;
	t->push.held++;
	hosted_guest_keep(t);
	host_submit(t->host, job);
}

void push_up(struct hosted_guest *t, bool anew)
{
	t->push.anew = anew;
	t->push.after = 0;
	t->push.retry_at = 0;
	futile_end(&t->push.futile);
	t->push.round++;
	if (anew || t->respooled)
		hosted_push_note_spool(t);
	push_poke(t);
}

void push_tick(struct hosted_guest *t, int64_t now)
{
	int64_t left = t->push.retry_at - now;

	/* A clock that went back by far does not make it wait for long. */
	if (!t->push.retry_at || (left > 0 && left <= FUTILE_MOST_MS))
		return;
	t->push.retry_at = 0;
	push_poke(t);
}

void push_release(struct hosted_guest *t)
{
	job_free(t->push.page);
}
