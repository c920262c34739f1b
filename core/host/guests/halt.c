#include "core/host/guests/halt.h"

#include "core/base/clock.h"
#include "core/host/guests/hosted_push.h"
#include "core/host/host_inside.h"
#include "core/host/workspaces/reconcile.h"
#include "ops.gen.h"

enum { HALT_MS = 10000 };

static void halt_on_noted(struct job *job)
{
	struct hosted_guest *t = job->owner;

	t->halt_noting = false;
	job_free(job);
	hosted_guest_let_go(t);
}

/* Writes down what the guest does, for who asks. */
static void halt_note(struct hosted_guest *t)
{
	struct job *job;
	struct workspace_note_in *in;

	if (t->halt_noting)
		return;
	job = host_job(t->host, op_workspace_note, halt_on_noted, t);
	in = job->call.in;
	in->workspace = t->workspace;
	in->has_halted = true;
	in->halted = t->halted;
	t->halt_noting = true;
	hosted_guest_keep(t);
	host_submit(t->host, job);
}

/* Answers of commands that stood still come later by as much. */
static void halt_go_on(struct hosted_guest *t)
{
	guest_conn_leap(&t->control, clock_boot_ms() - t->halt_since);
	push_poke(t); /* assignments that waited */
}

static void halt_become(struct hosted_guest *t, bool halted)
{
	if (halted == t->halted)
		return;
	t->halted = halted;
	if (halted)
		t->halt_since = clock_boot_ms();
	else
		halt_go_on(t);
}

static void halt_tell(struct hosted_guest *t);

static void on_halted(void *arg, struct packet *answer, struct fault *f)
{
	struct hosted_guest *t = arg;

	t->halting = false;
	if (!answer) {
		log_seldom(t->host->log, &t->refused, LOG_LEVEL_WARN,
			   "a workspace does not stand still",
			   LOG_TEXT("workspace", t->id), LOG_FAULT(f));
		return; /* once more at the next reading of the rows */
	}
	halt_become(t, !t->halted);
	halt_tell(t);
	halt_note(t);
}

static void halt_tell(struct hosted_guest *t)
{
	const struct wire_halt m = { .on = t->halt };

	if (!t->up || t->halting || t->halt == t->halted || !t->knows_halt)
		return;
	t->halting = true;
	guest_conn_ask(&t->control, "Halt", &m, HALT_MS, on_halted, t);
}

void halt_want(struct hosted_guest *t, bool stopped, bool written)
{
	if (stopped && !t->halt && t->up && !t->knows_halt)
		log_line(t->host->log, LOG_LEVEL_WARN,
			 "a guest cannot be stopped, so commands there run on",
			 LOG_TEXT("workspace", t->id));
	t->halt = stopped;
	halt_tell(t);
	if (t->up && !t->halting && written != t->halted)
		halt_note(t);
}

void halt_greeted(struct hosted_guest *t, bool knows_halt)
{
	t->knows_halt = knows_halt;
	t->halting = false;
	halt_become(t, t->halt_said && knows_halt);
}
