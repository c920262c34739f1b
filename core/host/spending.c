/*
 * spending - writes the buckets of limits to rows soon after agents have spent.
 *
 * Every RATE_KEEP_MS a transaction of the writer also writes the buckets (batch.c).  If the
 * writer has no transaction, a timer starts one for the buckets.
 */
#include "core/host/host_inside.h"
#include "core/host/rates.h"

struct spending {
	struct rates *rates;
	uv_timer_t timer; /* writes what they owe */
};

static void spending_keep(struct host *host)
{
	if (rates_owe(host->spending->rates))
		host_submit(host, host_job(host, op_limit_keep, job_free, NULL));
}

static void spending_on_timer(uv_timer_t *t)
{
	spending_keep(t->data);
}

static void spending_make(struct host *host)
{
	host->spending->rates = rates_new();
	host->settings.rates = rates_keeper(host->spending->rates);
	uv_timer_init(&host->loop, &host->spending->timer);
	host->spending->timer.data = host;
}

/* Sets the timer where something was spent. */
static void spending_look(struct host *host)
{
	uv_timer_t *t = &host->spending->timer;

	if (!host->stopping && !uv_is_active((uv_handle_t *)t) &&
	    rates_owe(host->spending->rates))
		uv_timer_start(t, spending_on_timer, RATE_KEEP_MS, 0);
}

/* Writes what is left, and ends the timer. */
static void spending_close(struct host *host)
{
	spending_keep(host);
	uv_close((uv_handle_t *)&host->spending->timer, NULL);
}

static void spending_release(struct host *host)
{
	rates_free(host->spending->rates);
}

const struct host_room room_spending = {
	.size = sizeof(struct spending),
	.make = spending_make,
	.look = spending_look,
	.close = spending_close,
	.release = spending_release,
};
