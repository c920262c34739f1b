#include "core/host/spending.h"

#include "core/host/host_inside.h"
#include "core/host/rates.h"

static void spending_keep(struct host *host)
{
	if (rates_owe(host->rates))
		host_submit(host, host_job(host, op_limit_keep, job_free, NULL));
}

static void spending_on_timer(uv_timer_t *t)
{
	spending_keep(t->data);
}

void spending_open(struct host *host)
{
	host->rates = rates_new();
	host->settings.rates = rates_keeper(host->rates);
	uv_timer_init(&host->loop, &host->spending);
	host->spending.data = host;
}

void spending_look(struct host *host)
{
	uv_timer_t *t = &host->spending;

	if (!host->stopping && !uv_is_active((uv_handle_t *)t) && rates_owe(host->rates))
		uv_timer_start(t, spending_on_timer, RATE_KEEP_MS, 0);
}

void spending_close(struct host *host)
{
	spending_keep(host);
	uv_close((uv_handle_t *)&host->spending, NULL);
}
