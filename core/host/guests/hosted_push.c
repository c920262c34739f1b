#include "core/host/guests/hosted_push.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/host/guests/hosted_door.h"
#include "core/host/host_inside.h"
#include "ops.gen.h"

enum {
	PAGE = 100,
	PUSH_MS = 10000,
	FULL_MS = 1000, /* pause if the guest has no room */
};

static void hosted_push_look(struct hosted_guest *t);

/* Stores the boot id of a new guest. The new guest now has all deliveries that the former guest
 * had. */
static void hosted_push_note_boot(struct hosted_guest *t)
{
	struct job *job = host_job(t->host, op_workspace_note, job_free, t);
	struct workspace_note_in *in = job->call.in;

	memcpy(t->boot_told, t->boot_id, sizeof(t->boot_told));
	t->push.anew = false;
	t->push.after = 0;
	in->workspace = t->workspace;
	in->guest_boot = arena_strdup(&job->call.arena, t->boot_id);
	in->http = door_url(t, &job->call.arena);
	host_submit(t->host, job);
}

/* --- the end of a page ----------------------------------------------------------------- */

/* Whether the page was read for a guest that is gone. */
static bool hosted_push_is_stale(const struct hosted_guest *t)
{
	return t->closing || !t->up || t->push.stale;
}

/* Whether the guest has no room for messages, or no room for assignments. */
static bool hosted_push_is_full(const struct pushing *p)
{
	return p->no_texts || p->no_work;
}

/* Ends a page. `taken`: the guest has taken deliveries of the page. The next page is read at
 * once, after a pause, or when there is a new delivery. A guest without room for one kind of
 * deliveries gets the other kind at once. */
static void hosted_push_end(struct hosted_guest *t, bool taken)
{
	struct pushing *p = &t->push;
	const struct delivery_waiting_in *in = p->page->call.in;
	const struct delivery_waiting_out *out = p->page->call.out;
	bool turned = in->assignments != p->no_texts || in->texts != p->no_work;
	bool futile = out->n_pushes > 0 && !taken && (!turned || !hosted_push_is_full(p));
	bool more = (int64_t)out->n_pushes == in->limit || turned;

	if (p->anew && !more && !hosted_push_is_full(p) && !hosted_push_is_stale(t))
		hosted_push_note_boot(t);
	job_free(p->page);
	p->page = NULL;
	p->reading = false;
	if (t->closing || !t->up)
		return;
	if (p->stale) {
		p->no_texts = p->no_work = p->tight = false;
		hosted_push_look(t);
		return;
	}
	if (futile)
		futile_note(&p->futile, clock_boot_ms());
	else
		futile_end(&p->futile);
	if (hosted_push_is_full(p) && !p->retry_at)
		p->retry_at = clock_boot_ms() + FULL_MS;
	if (futile && !p->again)
		p->retry_at = p->futile.until;
	else if (more || p->again)
		hosted_push_look(t);
}

static void on_marked(struct job *job)
{
	struct hosted_guest *t = job->owner;
	const struct delivery_notified_in *in = job->call.in;
	bool taken = in->n_messages + in->n_recalled > 0;

	/* If the mark could not be stored, the host repeats the push later. The guest then
	 * answers Ok again, and the host stores the mark after this second Ok. */
	job_free(job);
	hosted_push_end(t, taken);
	hosted_guest_let_go(t);
}

/* Counts one answered push. After the page's last answer, the mark with all answers is stored. */
static void hosted_push_count(struct hosted_guest *t)
{
	struct job *mark = t->push.mark;
	const struct delivery_notified_in *in = mark->call.in;

	if (--t->push.open > 0)
		return;
	t->push.mark = NULL;
	if (t->closing || in->n_messages + in->n_recalled + in->n_refused == 0) {
		job_free(mark);
		hosted_push_end(t, false);
		return;
	}
	hosted_guest_keep(t);
	host_submit(t->host, mark);
}

/* --- a page ---------------------------------------------------------------------------- */

/* Argument of the callback for the guest's answer to a push. */
struct told {
	struct hosted_guest *guest;
	const struct push *row;
};

/* Whether the fault proves that the guest has not taken the push. After a failed write the
 * guest may have taken the push. */
static bool is_refusal(enum fault_code code)
{
	return code == FAULT_EXHAUSTED || code == FAULT_CONFLICT ||
	       code == FAULT_INVALID || code == FAULT_DENIED;
}

static void hosted_push_refused(struct hosted_guest *t, const struct push *row,
				const struct fault *f)
{
	struct delivery_notified_in *mark = t->push.mark->call.in;
	struct pushing *p = &t->push;

	if (f->code == FAULT_EXHAUSTED || f->code == FAULT_TIMEOUT)
		*(row->has_unread ? &p->no_texts : &p->no_work) = true;
	else if (f->code != FAULT_UNAVAILABLE)
		log_seldom(t->host->log, &t->refused, LOG_LEVEL_WARN,
			   "a guest refuses a message", LOG_TEXT("workspace", t->id),
			   LOG_FAULT(f));
	if (row->unoffered && is_refusal(f->code))
		mark->refused[mark->n_refused++] = row->message;
}

static void hosted_push_on_told(void *arg, struct packet *answer, struct fault *f)
{
	const struct told *told = arg;
	const struct push *row = told->row;
	struct hosted_guest *t = told->guest;
	struct pushing *p = &t->push;
	const struct delivery_waiting_in *page = p->page->call.in;
	struct delivery_notified_in *mark = p->mark->call.in;

	if (!answer) {
		hosted_push_refused(t, row, f);
	} else if (row->cancelled) {
		mark->recalled[mark->n_recalled++] = row->message;
	} else {
		mark->messages[mark->n_messages++] = row->message;
		if (page->again && !hosted_push_is_full(p) && !p->stale)
			p->after = row->message;
	}
	hosted_push_count(t);
}

static void hosted_push_tell(struct told *told)
{
	struct hosted_guest *t = told->guest;
	struct wire_team_message m = { 0 };

	record_copy(&record_push, told->row, &record_wire_team_message, &m);
	/* In the older dialect `to` names the sender. */
	if (t->old)
		m.to = told->row->from;
	guest_conn_ask(&t->relay, "TeamMessage", &m, PUSH_MS, hosted_push_on_told, told);
}

static void hosted_push_tell_page(struct hosted_guest *t)
{
	struct pushing *p = &t->push;
	const struct delivery_waiting_out *out = p->page->call.out;
	size_t n = out->n_pushes;
	struct told *told = arena_alloc(&p->page->call.arena, n * sizeof(*told));
	struct delivery_notified_in *mark;
	struct arena *arena;

	p->mark = host_job(t->host, op_delivery_notified, on_marked, t);
	mark = p->mark->call.in;
	arena = &p->mark->call.arena;
	mark->agent = t->agent;
	mark->messages = arena_alloc(arena, n * sizeof(*mark->messages));
	mark->recalled = arena_alloc(arena, n * sizeof(*mark->recalled));
	mark->refused = arena_alloc(arena, n * sizeof(*mark->refused));
	p->open = 1; /* counts this loop, so that failed pushes do not end the page during
			the loop */
	for (size_t i = 0; i < n; i++) {
		const struct push *row = &out->pushes[i];

		/* The older dialect cannot cancel an assignment: the guest would run the
		 * assignment. */
		if (t->old && row->cancelled) {
			mark->recalled[mark->n_recalled++] = row->message;
			continue;
		}
		p->open++;
		told[i] = (struct told){ t, row };
		hosted_push_tell(&told[i]);
	}
	hosted_push_count(t);
}

static void on_offered(struct job *job)
{
	struct hosted_guest *t = job->owner;
	bool failed = job->call.fault.code;

	job_free(job);
	if (failed)
		t->push.no_texts = t->push.no_work = true; /* begin a pause, since the
							      state's disk may be full */
	if (failed || hosted_push_is_stale(t))
		hosted_push_end(t, false);
	else
		hosted_push_tell_page(t);
	hosted_guest_let_go(t);
}

/* Stores for each assignment of the page that the assignment may run in the guest. This must be
 * stored before the guest gets the assignments. Returns false if no row has to be changed. */
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
	if (job->call.fault.code)
		t->push.no_texts = t->push.no_work = true; /* the host reads the page
							      again after a pause */
	if (job->call.fault.code || hosted_push_is_stale(t) || out->n_pushes == 0)
		hosted_push_end(t, false);
	else if (!offer(t, out))
		hosted_push_tell_page(t);
	hosted_guest_let_go(t);
}

/* --- first steps ------------------------------------------------------------------------ */

static void on_spool_noted(struct job *job)
{
	struct hosted_guest *t = job->owner;
	bool failed = job->call.fault.code;

	job_free(job);
	t->push.reading = false;
	t->respooled |= failed;
	if (failed)
		hosted_guest_down(t); /* the spool is stored after the next greeting */
	else
		push_poke(t);
	hosted_guest_let_go(t);
}

/* Stores the id of the guest's spool, before any push to the guest. The operation
 * workspace.note also ends assignments that another spool accepted. */
static void hosted_push_note_spool(struct hosted_guest *t)
{
	t->respooled = false;
	t->push.reading = true;
	hosted_guest_keep(t);
	host_ask(t->host, workspace_note, on_spool_noted, t, .workspace = t->workspace,
		 .spool = t->spool, .has_spool_seq = t->spool_seq >= 0,
		 .spool_seq = t->spool_seq >= 0 ? t->spool_seq : 0);
}

static void hosted_push_read(struct hosted_guest *t)
{
	struct pushing *p = &t->push;
	const bool probes = p->tight && !p->no_texts, texts = p->no_work || probes;
	const bool again = p->anew && !p->no_texts && !texts;

	p->tight = false;
	p->reading = true;
	hosted_guest_keep(t);
	host_ask(t->host, delivery_waiting, hosted_push_on_page, t, .agent = t->agent,
		 .assignments = p->no_texts, .texts = texts, .again = again,
		 .after = again ? p->after : 0, .limit = probes ? 1 : PAGE);
}

static void hosted_push_look(struct hosted_guest *t)
{
	struct pushing *p = &t->push;

	p->again = p->stale = false;
	if (!hosted_push_is_full(p))
		p->retry_at = 0;
	if (t->respooled)
		hosted_push_note_spool(t);
	else if (t->agent && !(p->no_texts && p->no_work))
		hosted_push_read(t);
}

void push_poke(struct hosted_guest *t)
{
	if (!t->up)
		return;
	if (t->push.reading)
		t->push.again = true;
	else
		/* A guest that has refused a delivery may take a new delivery. */
		hosted_push_look(t);
}

void push_up(struct hosted_guest *t, bool anew)
{
	struct pushing *p = &t->push;

	p->anew = anew;
	t->respooled |= anew;
	p->stale = p->reading;
	p->no_texts = p->no_work = p->tight = false;
	p->after = p->retry_at = 0;
	futile_end(&p->futile);
	push_poke(t);
}

void push_tick(struct hosted_guest *t, int64_t now)
{
	int64_t left = t->push.retry_at - now;

	/* Even if the clock went back by far, the pause is not longer than FUTILE_MOST_MS. */
	if (!t->push.retry_at || (left > 0 && left <= FUTILE_MOST_MS))
		return;
	t->push.retry_at = 0;
	t->push.tight = t->push.no_texts;
	t->push.no_texts = t->push.no_work = false;
	push_poke(t);
}

void push_release(struct hosted_guest *t)
{
	job_free(t->push.page);
	job_free(t->push.mark);
}
