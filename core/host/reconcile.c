#include "core/host/reconcile.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/host/running.h"
#include "core/machine/copy.h"
#include "core/token.h"
#include "ops.gen.h"

enum {
	QUICK_MS = 25, /* while something is under way */
	SLOW_MS = 500,
	IDLE_MS = 2000, /* without a workspace */
	READ_MS = 5000, /* rows are read anyway: others write them too */
};

/* --- places ---------------------------------------------------------------------- */

static struct place *place_of(struct reconcile *r, int64_t row)
{
	struct place *p = r->places;

	while (p && p->row != row)
		p = p->next;
	return p;
}

/* A path of a row is below the state folder unless it says otherwise. */
static const char *absolute(struct arena *a, const char *home, const char *path)
{
	if (!path || path[0] == '/')
		return path;
	return arena_printf(a, "%s/%s", home, path);
}

/* The texts of a place in one piece, which it owns. */
static void keep_texts(struct place *p, const struct spot *from)
{
	const char *const *in[] = { &from->id,         &from->name,    &from->path,
				    &from->source,     &from->sockets, &from->address,
				    &from->link_token, &from->team,    &from->agent,
				    &from->token };
	const char **out[] = { &p->spot.id,         &p->spot.name,    &p->spot.path,
			       &p->spot.source,     &p->spot.sockets, &p->spot.address,
			       &p->spot.link_token, &p->spot.team,    &p->spot.agent,
			       &p->spot.token };
	size_t room = 0;
	char *at;

	for (size_t i = 0; i < sizeof(in) / sizeof(*in); i++)
		room += *in[i] ? strlen(*in[i]) + 1 : 0;
	at = malloc(room);
	if (!at)
		abort();
	free(p->texts);
	p->texts = at;
	for (size_t i = 0; i < sizeof(in) / sizeof(*in); i++) {
		size_t size = *in[i] ? strlen(*in[i]) + 1 : 0;

		*out[i] = *in[i] ? at : NULL;
		if (size)
			memcpy(at, *in[i], size);
		at += size;
	}
}

static void set_spot(struct place *p, const struct host_workspace *w, struct arena *a)
{
	const struct home *home = p->host->home;
	char token[TOKEN_SIZE] = "";
	struct spot spot = {
		.id = w->id,
		.name = w->name,
		.path = absolute(a, home->dir, w->path),
		.source = absolute(a, home->dir, w->source),
		.sockets = arena_printf(a, "%s/w%lld", home->run, (long long)w->row),
		.team = w->team,
		.agent = w->agent,
	};

	spot.address = w->address ? w->address : arena_printf(a, "unix:%s", spot.sockets);
	spot.link_token = w->link_token;
	if (w->has_agent_row)
		token_make(home->settings.secret, w->agent_row, w->generation, token);
	spot.token = token;
	keep_texts(p, &spot);
	p->spot.home = home->dir;
	p->spot.door = home->socket;
	p->spot.program = p->host->options->program;
}

static const struct machine *const machines[] = {
	[BACKEND_KIND_PROCESS] = &machine_process,
	[BACKEND_KIND_ATTACH] = &machine_attach,
};

static struct place *place_new(struct host *host, const struct host_workspace *w)
{
	struct place *p = calloc(1, sizeof(*p));

	if (!p)
		abort();
	p->host = host;
	p->row = w->row;
	p->machine = machines[w->backend];
	p->generation = w->generation;
	p->process.pid = w->pid;
	p->process.start = w->pid_start;
	snprintf(p->process.boot, sizeof(p->process.boot), "%s",
		 w->machine_boot ? w->machine_boot : "");
	snprintf(p->boot_told, sizeof(p->boot_told), "%s",
		 w->guest_boot ? w->guest_boot : "");
	p->next = host->reconcile.places;
	host->reconcile.places = p;
	return p;
}

/* The old one's token is worth nothing: its guest makes room for a new one. */
static void change_generation(struct place *p, int64_t generation)
{
	const struct machine *b = p->machine;
	struct fault f = { 0 };

	if (p->process.pid && b->stop)
		b->stop(b->self, &p->process, false, &f);
	p->generation = generation;
}

static void take_row(struct host *host, const struct host_workspace *w, struct arena *a)
{
	struct place *p = place_of(&host->reconcile, w->row);

	if (!p)
		p = place_new(host, w);
	p->listed = true;
	p->noted = w->has_pid;
	if (p->busy || p->state < 0)
		return;
	if (p->state == WORKSPACE_STATE_FAILED && w->state == WORKSPACE_STATE_CREATING)
		p->deaths = 0; /* somebody wants it tried again */
	p->state = w->state;
	p->team_row = w->team_row;
	p->agent_row = w->agent_row;
	set_spot(p, w, a);
	if (p->generation != w->generation)
		change_generation(p, w->generation);
}

/* --- the folder -------------------------------------------------------------------- */

static bool is_known(struct reconcile *r, const char *name)
{
	for (struct place *p = r->places; p; p = p->next) {
		const char *slash = p->spot.path ? strrchr(p->spot.path, '/') : NULL;

		if (slash && !strcmp(slash + 1, name))
			return true;
	}
	return false;
}

struct sweep {
	uv_work_t work;
	size_t n;
	char *paths[256];
};

static void sweep(uv_work_t *work)
{
	struct sweep *s = work->data;
	struct fault f = { 0 };

	for (size_t i = 0; i < s->n; i++)
		tree_remove(s->paths[i], &f);
}

static void on_swept(uv_work_t *work, int status)
{
	struct sweep *s = work->data;

	(void)status;
	for (size_t i = 0; i < s->n; i++)
		free(s->paths[i]);
	free(s);
}

/* Directories of workspaces that were destroyed, or half made, when the host
 * before died.  Only this host makes any, so none can be too new. */
static void sweep_folder(struct host *host)
{
	struct sweep *s = calloc(1, sizeof(*s));
	char folder[4200];
	struct dirent *e;
	DIR *dir;

	snprintf(folder, sizeof(folder), "%s/workspaces", host->home->dir);
	dir = opendir(folder);
	while (s && dir && s->n < 256 && (e = readdir(dir)))
		if (e->d_name[0] != '.' && !is_known(&host->reconcile, e->d_name) &&
		    asprintf(&s->paths[s->n], "%s/%s", folder, e->d_name) > 0)
			s->n++;
	if (dir)
		closedir(dir);
	if (!s)
		return;
	s->work.data = s;
	uv_queue_work(&host->loop, &s->work, sweep, on_swept);
}

/* --- rounds ------------------------------------------------------------------------ */

/* What is no longer listed is destroyed, and forgotten when that is done. */
static void drop_unlisted(struct reconcile *r)
{
	struct place **at = &r->places;

	while (*at) {
		struct place *p = *at;

		if (!p->listed && !p->busy && p->state < 0) {
			*at = p->next;
			place_free(p);
			continue;
		}
		if (!p->listed && !p->busy)
			p->state = WORKSPACE_STATE_DESTROYED;
		at = &p->next;
	}
}

static void on_timer(uv_timer_t *timer);

static void step_all(struct host *host)
{
	struct reconcile *r = &host->reconcile;
	int64_t now = home_now();
	bool soon = r->busy > 0;

	for (struct place *p = r->places; p; p = p->next)
		soon |= place_step(p, now);
	tethers_tick(host);
	uv_timer_start(&r->timer, on_timer,
		       soon        ? QUICK_MS
		       : r->places ? SLOW_MS
				   : IDLE_MS,
		       0);
}

static void on_rows(struct job *job)
{
	struct host *host = job->owner;
	struct reconcile *r = &host->reconcile;
	const struct workspace_rows_out *out = job->call.out;

	r->reading = false;
	if (!host->stopping && !job->call.fault.code) {
		for (struct place *p = r->places; p; p = p->next)
			p->listed = false;
		for (size_t i = 0; i < out->n_rows; i++)
			take_row(host, &out->rows[i], &job->call.arena);
		drop_unlisted(r);
		if (!r->swept)
			sweep_folder(host);
		r->swept = true;
		step_all(host);
	}
	job_free(job);
	if (r->again)
		reconcile_poke(host);
}

void reconcile_poke(struct host *host)
{
	struct reconcile *r = &host->reconcile;

	if (host->stopping)
		return;
	r->again = r->reading;
	if (r->reading)
		return;
	r->reading = true;
	r->read_at = home_now();
	host_submit(host, host_job(host, op_workspace_rows, on_rows, host));
}

static void on_timer(uv_timer_t *timer)
{
	struct host *host = timer->data;

	if (home_now() - host->reconcile.read_at > READ_MS)
		reconcile_poke(host);
	step_all(host);
}

void reconcile_init(struct host *host)
{
	host->reconcile = (struct reconcile){ 0 };
	uv_timer_init(&host->loop, &host->reconcile.timer);
	host->reconcile.timer.data = host;
}

void reconcile_start(struct host *host)
{
	reconcile_poke(host);
}

void reconcile_close(struct host *host)
{
	uv_close((uv_handle_t *)&host->reconcile.timer, NULL);
}

void reconcile_release(struct host *host)
{
	while (host->reconcile.places) {
		struct place *p = host->reconcile.places;

		host->reconcile.places = p->next;
		free(p->texts);
		free(p);
	}
}
