#include "guest/guest_follow.h"

#include "core/base/alloc.h"

enum {
	GATHER_MS = 10, /* from the first output on */
	PLENTY = 64 << 10, /* bytes that are told at once */
};

struct follower {
	struct guest_request *q;
	struct proc *run;
	size_t offset[2];
	uv_timer_t timer;
	bool gathering;
	follow_tell *tell;
	struct follower *next, **place; /* in run->followers */
};

static void guest_follow_timer_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void guest_follow_drop(struct follower *w)
{
	*w->place = w->next;
	if (w->next)
		w->next->place = w->place;
	w->q->owner = NULL;
	w->q->gone = NULL;
	uv_close((uv_handle_t *)&w->timer, guest_follow_timer_closed);
}

static void guest_follow_tell(struct follower *w)
{
	struct guest_request *q = w->q;
	struct proc *run = w->run;
	follow_tell *how = w->tell;

	guest_follow_drop(w);
	how(q, run);
}

static void guest_follow_time_is_up(uv_timer_t *timer)
{
	guest_follow_tell(timer->data);
}

/* Bytes that are there behind the offsets. */
static size_t pending(const struct follower *w)
{
	size_t n = 0;

	for (int i = 0; i < 2; i++)
		if (w->run->streams[i].kept.len > w->offset[i])
			n += w->run->streams[i].kept.len - w->offset[i];
	return n;
}

static void guest_follow_gather(struct follower *w)
{
	if (w->gathering || !pending(w))
		return;
	w->gathering = true;
	uv_timer_start(&w->timer, guest_follow_time_is_up, GATHER_MS, 0);
}

static void guest_follow_gone(struct guest_request *q)
{
	follow_end(q);
	guest_request_free(q);
}

void follow_begin(struct guest_request *q, struct proc *run, const size_t offset[2],
		  int64_t ms, follow_tell *how)
{
	struct follower *w = xcalloc(1, sizeof(*w));

	*w = (struct follower){ .q = q,
				.run = run,
				.offset = { offset[0], offset[1] },
				.tell = how,
				.next = run->followers,
				.place = &run->followers };
	if (w->next)
		w->next->place = &w->next;
	run->followers = w;
	q->owner = w;
	q->gone = guest_follow_gone;
	uv_timer_init(run->loop, &w->timer);
	w->timer.data = w;
	uv_timer_start(&w->timer, guest_follow_time_is_up, (uint64_t)ms, 0);
	guest_follow_gather(w);
}

struct proc *follow_end(struct guest_request *q)
{
	struct follower *w = q->owner;

	guest_follow_drop(w);
	return w->run;
}

void follow_printed(struct proc *run)
{
	struct follower *next;

	for (struct follower *w = run->followers; w; w = next) {
		next = w->next;
		if (pending(w) < PLENTY) {
			guest_follow_gather(w);
			continue;
		}
		guest_follow_tell(w);
		next = run->followers; /* a lost peer's other followers are freed too */
	}
}

void follow_over(struct proc *run)
{
	while (run->followers)
		guest_follow_tell(run->followers);
}
