#include "guest/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/op/op.h"
#include "guest/guest_door.h"
#include "guest/guest_http.h"
#include "guest/guest_inside.h"
#include "guest/guest_serve.h"
#include "storage/durable.h"

/* --- the environment --------------------------------------------------------- */

struct env {
	char **items;
	size_t n;
	struct arena *arena;
};

int guest_env_check(const char *name, const char *where, struct fault *f)
{
	static const char *const blocked[] = { "PATH", "IFS", "ENV", "BASH_ENV" };

	if (!*name || strchr(name, '='))
		return fault_set(f, FAULT_INVALID, where,
				 "not a variable's name: '%.64s'", name);
	for (size_t i = 0; i < sizeof(blocked) / sizeof(blocked[0]); i++)
		if (strcmp(name, blocked[i]) == 0)
			return fault_set(f, FAULT_INVALID, where,
					 "variable %s may not be set", name);
	if (strncmp(name, "LD_", 3) == 0)
		return fault_set(f, FAULT_INVALID, where, "variable %.64s may not be set",
				 name);
	return 0;
}

static void env_set(struct env *e, char *item)
{
	size_t n = strcspn(item, "=") + 1;
	char **place;

	for (size_t i = 0; i < e->n; i++) {
		if (strncmp(e->items[i], item, n) == 0) {
			e->items[i] = item;
			return;
		}
	}
	place = arena_push(e->arena, &e->items, &e->n, sizeof(*place));
	*place = item;
}

static int add_stored(struct guest *g, struct env *e, struct fault *f)
{
	const char *name = "", *value;
	int rc;

	while ((rc = spool_env(g->spool, name, e->arena, &name, &value, f)) > 0)
		env_set(e, arena_printf(e->arena, "%s=%s", name, value));
	return rc;
}

static bool guest_env_has(const struct env *e, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < e->n; i++)
		if (strncmp(e->items[i], name, n) == 0 && e->items[i][n] == '=')
			return true;
	return false;
}

/* Adds the variables that tell commands the path of the door's socket, the team and the agent.
 * If CADRE_SOCKET is set already, these variables are not added. */
static void add_door(struct guest *g, struct env *e)
{
	if (guest_env_has(e, "CADRE_SOCKET"))
		return;
	env_set(e, arena_printf(e->arena, "CADRE_SOCKET=%s", g->door));
	if (*g->team)
		env_set(e, arena_printf(e->arena, "CADRE_TEAM=%s", g->team));
	if (*g->agent)
		env_set(e, arena_printf(e->arena, "CADRE_AGENT=%s", g->agent));
}

int guest_env(struct guest *g, const struct pair *more, size_t n, struct arena *a,
	      char ***out, struct fault *f)
{
	const char *const *own = g->options->env;
	struct env e = { .arena = a };
	char **end;
	int rc;

	for (char **p = environ; *p; p++)
		env_set(&e, *p);
	for (; own && *own; own++)
		env_set(&e, arena_strdup(a, *own));
	add_door(g, &e);
	rc = add_stored(g, &e, f);
	for (size_t i = 0; i < n && !rc; i++) {
		rc = guest_env_check(more[i].key, "/env", f);
		env_set(&e, arena_printf(a, "%s=%s", more[i].key, more[i].value));
	}
	if (rc)
		return rc;
	env_set(&e, arena_printf(a, "CADRE_WORKSPACE=%s", spool_owner(g->spool)));
	env_set(&e, arena_printf(a, "CADRE_GUEST=%s", g->state));
	end = arena_push(a, &e.items, &e.n, sizeof(*end));
	*end = NULL;
	*out = e.items;
	return 0;
}

/*
 * sockets - the sockets at which the guest listens.
 *
 * The system may remove the folder of the guest's Unix sockets while the guest runs, for
 * example when the user's last login session ends. The guest's sockets lie beside the sockets
 * of its host, and the file host.lock names the present path of the host's socket.
 */

/* Reads the path of the host's socket from the file host.lock, which is two folders above the
 * guest's own folder. The file host.lock contains `PID START SOCKET`. */
static bool sockets_read_place(const struct guest *g, char place[200])
{
	struct arena a = { 0 };
	int fd = open(arena_printf(&a, "%s/../../host.lock", g->state),
		      O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char line[256] = "";
	bool found = fd >= 0 && read(fd, line, sizeof(line) - 1) > 0 &&
		     sscanf(line, "%*d %*d %199[^\n]", place) == 1;

	if (fd >= 0)
		close(fd);
	arena_release(&a);
	return found;
}

/* Cuts the last name off a path, and returns this name. */
static const char *sockets_cut(char *path)
{
	char *end = strrchr(path, '/');

	if (!end)
		return "";
	*end = '\0';
	return end + 1;
}

/* Whether a folder belongs to this user, and no other user has rights to the folder. */
static bool sockets_is_own(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & 077);
}

/* If the host's socket has moved, changes the path in `at` to a folder beside the host's
 * socket. The new folder has the name of the old folder. A host's own folder has the same name
 * at every place, since this name is made from the state. If the names of the old and the new
 * host folder differ, `at` stays unchanged. */
static void follow_host(const struct guest *g, struct link_address *at)
{
	char host[200], place[200], state[200], run[sizeof(at->path)];
	const char *own;

	if (!sockets_read_place(g, host))
		return;
	snprintf(run, sizeof(run), "%s", at->path);
	own = sockets_cut(run);
	snprintf(place, sizeof(place), "%s", host);
	sockets_cut(place);
	snprintf(state, sizeof(state), "%s", place);
	if (strcmp(sockets_cut(state), sockets_cut(run)) != 0 || !sockets_is_own(place))
		return;
	snprintf(at->path, sizeof(at->path), "%s/%s", place, own);
	if (getenv("CADRE_SOCKET")) /* commands use the host's own socket */
		setenv("CADRE_SOCKET", host, 1);
}

/* Opens the sockets for hosts and for commands of the workspace. Returns 0 or a fault. */
static int guest_listen(struct guest *g, struct fault *f)
{
	const struct guest_options *o = g->options;
	struct arena a = { 0 };
	struct link_address at;
	int rc = link_parse(o->listen ? o->listen : arena_printf(&a, "unix:%s", g->state),
			    "", &at, f);

	arena_release(&a);
	if (!rc && at.kind == LINK_TCP && !(o->token && *o->token)) {
		fault_set(f, FAULT_DENIED, "", "a guest at %s needs a token", o->listen);
		rc = fault_hint(f, "Give the token with --token-file FILE or in "
				   "CADRE_LINK_TOKEN.");
	}
	if (rc)
		return rc;
	if (at.kind == LINK_UNIX) {
		follow_host(g, &at);
		dir_have(at.path, 0700);
	}
	rc = door_open(g, at.kind == LINK_UNIX ? at.path : g->state, f);
	if (!rc)
		rc = peer_listen_open(&g->listeners[0], g, WIRE_CONTROL, &at, f);
	return rc ? rc : peer_listen_open(&g->listeners[1], g, WIRE_RELAY, &at, f);
}

/* Opens the guest's sockets again if somebody has removed the files of the sockets. */
static void guest_sockets_look(struct guest *g)
{
	bool open = true, there = true;
	struct fault f = { 0 };

	for (int i = 0; i < 3; i++) {
		open = open && g->listeners[i].ear;
		there = there && link_heard(g->listeners[i].ear);
	}
	if (g->stopping || there)
		return;
	for (int i = 0; i < 3; i++)
		peer_listen_close(&g->listeners[i]);
	if (guest_listen(g, &f) == 0)
		fprintf(stderr,
			"cadre guest: its sockets were gone and are made again: %s\n",
			g->door);
	else if (open)
		fprintf(stderr, "cadre guest: its sockets are gone: %s\n", f.text);
}

enum { END_MS = 2000, ANSWER_MS = 50, FILES = 8192 };

/* --- end ----------------------------------------------------------------------- */

static void end_now(uv_timer_t *timer)
{
	struct guest *g = timer->data;

	guest_kill_orphans(g, 0, 0);
	uv_stop(&g->loop);
}

static bool anything_runs(const struct guest *g)
{
	for (const struct proc *run = g->runs; run; run = run->next)
		if (!run->exited)
			return true;
	return false;
}

static void end_soon(struct guest *g)
{
	if (!anything_runs(g)) /* the last answer is sent before the event loop ends */
		uv_timer_start(&g->end, end_now, ANSWER_MS, 0);
}

void guest_stop(struct guest *g)
{
	if (g->stopping)
		return;
	g->stopping = true;
	uv_timer_stop(&g->again);
	uv_timer_stop(&g->beat);
	for (int i = 0; i < 3; i++)
		peer_listen_close(&g->listeners[i]);
	guest_http_close(g);
	for (struct proc *run = g->runs; run; run = run->next) {
		proc_kill(run, SIGTERM);
		proc_kill(run, SIGCONT);
	}
	uv_timer_start(&g->end, end_now, END_MS, 0);
	end_soon(g);
}

void guest_check(struct guest *g)
{
	if (g->stopping || !spool_is_lost(g->spool))
		return;
	fprintf(stderr,
		"cadre guest: %s: the spool is gone from its folder, or written over, so this guest ends\n",
		g->state);
	g->lost = true;
	guest_stop(g);
}

/* --- signals and timers ------------------------------------------------------------ */

static void child_ended(uv_signal_t *signal, int number)
{
	struct guest *g = signal->data;

	(void)number;
	g->leaves |= proc_reap(&g->runs);
	if (g->stopping)
		end_soon(g);
}

static void told_to_end(uv_signal_t *signal, int number)
{
	(void)number;
	guest_stop(signal->data);
}

static void told_to_look(uv_signal_t *signal, int number)
{
	(void)number;
	guest_sockets_look(signal->data);
}

static void beat(uv_timer_t *timer)
{
	guest_check(timer->data);
	guest_sockets_look(timer->data);
	guest_assignment_beat(timer->data);
	peers_tick(timer->data);
	file_uploads_tick(timer->data);
	guest_orphans_ended(timer->data, 0);
}

static void guest_watch(struct guest *g)
{
	uv_signal_t *signals[] = { &g->on_child, &g->on_term, &g->on_int, &g->on_look };
	uv_timer_t *timers[] = { &g->beat, &g->again, &g->end };

	for (int i = 0; i < 4; i++) {
		uv_signal_init(&g->loop, signals[i]);
		signals[i]->data = g;
	}
	for (int i = 0; i < 3; i++) {
		uv_timer_init(&g->loop, timers[i]);
		timers[i]->data = g;
	}
	uv_signal_start(&g->on_child, child_ended, SIGCHLD);
	uv_signal_start(&g->on_term, told_to_end, SIGTERM);
	uv_signal_start(&g->on_int, told_to_end, SIGINT);
	uv_signal_start(&g->on_look, told_to_look, LINK_LOOK);
	uv_timer_start(&g->beat, beat, BEAT_MS, BEAT_MS);
}

/* --- start ------------------------------------------------------------------------- */

static int make_boot_id(struct guest *g, struct fault *f)
{
	unsigned char r[16];
	char *to = g->boot_id;

	if (uv_random(NULL, NULL, r, sizeof(r), 0, NULL))
		return fault_set(f, FAULT_IO, "", "no randomness");
	r[6] = (unsigned char)((r[6] & 0x0f) | 0x40);
	r[8] = (unsigned char)((r[8] & 0x3f) | 0x80);
	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*to++ = '-';
		to += snprintf(to, 3, "%02x", r[i]);
	}
	return 0;
}

/* Lets job numbers begin at a random number, so that this guest does not use the job numbers of
 * an earlier guest. A caller that asks for a job of a dead guest must not get the output of
 * another command. */
static int number_jobs(struct guest *g, struct fault *f)
{
	enum { FIRST = 1 << 20, STARTS = 1 << 30 }; /* a billion numbers remain */
	unsigned random;

	if (uv_random(NULL, NULL, &random, sizeof(random), 0, NULL))
		return fault_set(f, FAULT_IO, "", "no randomness");
	g->last_job = FIRST + (int)(random % STARTS);
	return 0;
}

static int open_root(struct guest *g, struct fault *f)
{
	g->dir = realpath(g->options->dir, NULL);
	if (g->dir)
		g->root = open(g->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (!g->dir || g->root < 0)
		return fault_set(f, FAULT_NOT_FOUND, "", "workspace %s: %s",
				 g->options->dir, strerror(errno));
	return 0;
}

/* Locks the state folder, so that only one guest at a time uses it. The lock is a POSIX lock,
 * which child processes do not inherit. So the lock is free as soon as the guest is dead. */
static int guest_lock(struct guest *g, struct fault *f)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	const char *state = g->options->state;
	struct arena a = { 0 };
	int fd;

	fd = open(arena_printf(&a, "%s/guest.lock", state), O_RDWR | O_CREAT | O_CLOEXEC,
		  0600);
	arena_release(&a);
	if (fd < 0)
		return fault_set(f, FAULT_IO, "", "state folder %s: %s", state,
				 strerror(errno));
	g->lock = fd;
	if (fcntl(fd, F_SETLK, &all) == 0)
		return 0;
	if (fcntl(fd, F_GETLK, &all) || all.l_type == F_UNLCK)
		all.l_pid = 0;
	return fault_set(f, FAULT_CONFLICT, "", "a guest (pid %d) runs in %s already",
			 (int)all.l_pid, state);
}

/* Raises the limit of open files, since a thousand jobs need more descriptors than the usual
 * limit allows. */
static void guest_allow_files(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur >= FILES)
		return;
	r.rlim_cur = r.rlim_max < FILES ? r.rlim_max : FILES;
	setrlimit(RLIMIT_NOFILE, &r);
}

/* Opens the guest's HTTP door. If the opening fails, the guest runs without an HTTP door. */
static void open_front(struct guest *g)
{
	struct fault f = { 0 };

	if (g->options->http && guest_http_open(g, g->options->http, &f))
		fprintf(stderr, "cadre guest: %s\n", f.text);
}

static int open_spool(struct guest *g, struct fault *f)
{
	const struct guest_options *o = g->options;
	const struct spool_place place = {
		.dir = g->state,
		.workspace = o->workspace,
		.restores = o->restores ? strtoll(o->restores, NULL, 10) : -1,
	};

	return spool_open(&g->spool, &place, clock_wall_ms(), f);
}

/* Refuses a state folder inside the workspace, since commands of the workspace must not reach
 * the guest's own files. The option `state_inside` allows such a folder. */
static int guest_check_state(struct guest *g, bool made, struct fault *f)
{
	if (!guest_state_inside(g) || g->options->state_inside)
		return 0;
	if (made)
		rmdir(g->state);
	fault_set(f, FAULT_INVALID, "", "the guest's own folder %.100s lies in %.100s",
		  g->state, g->dir);
	return fault_hint(f, "git, copies and commands would reach the guest's "
			     "files: name another --state, or give --state-inside.");
}

static int open_state(struct guest *g, struct fault *f)
{
	const char *state = g->options->state;
	bool made = access(state, F_OK) != 0;

	if (dir_make(state, 0700) || !(g->state = realpath(state, NULL)))
		return fault_set(f, FAULT_IO, "", "state folder %s: %s", state,
				 strerror(errno));
	if (guest_check_state(g, made, f) || guest_lock(g, f))
		return f->code;
	return open_spool(g, f);
}

static int guest_open(struct guest *g, struct fault *f)
{
	int rc = open_root(g, f);

	if (!rc)
		rc = make_boot_id(g, f);
	if (!rc)
		rc = number_jobs(g, f);
	if (!rc)
		rc = open_state(g, f);
	if (rc)
		return rc;
	guest_kill_orphans(g, 0, 0); /* needs the workspace's uuid from the spool */
	rc = guest_listen(g, f);
	if (!rc)
		open_front(g);
	return rc;
}

static void guest_close_handle(uv_handle_t *handle, void *unused)
{
	(void)unused;
	if (!uv_is_closing(handle))
		uv_close(handle, NULL);
}

static void guest_close(struct guest *g)
{
	g->stopping = true;
	guest_http_close(g);
	while (g->peers)
		peer_close(g->peers);
	jobs_free(g);
	file_uploads_free(g);
	for (int i = 0; i < AT_ONCE; i++) {
		proc_free(g->duties[i].run);
		free(g->duties[i].message_id);
		free(g->duties[i].task_id);
	}
	uv_walk(&g->loop, guest_close_handle, NULL);
	uv_run(&g->loop, UV_RUN_DEFAULT);
	uv_loop_close(&g->loop);
	spool_close(g->spool);
	if (g->root >= 0)
		close(g->root);
	if (g->lock >= 0)
		close(g->lock);
	while (g->n_dying)
		close(g->dying[--g->n_dying].fd);
	free(g->dying);
	free(g->dir);
	free(g->state);
}

int guest_main(const struct guest_options *options)
{
	struct guest *g = calloc(1, sizeof(*g));
	struct fault f = { 0 };
	int status = 0;

	if (!g || uv_loop_init(&g->loop)) {
		fputs("cadre guest: no memory\n", stderr);
		free(g);
		return 1;
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	/* The guest itself reaps the orphans of its commands, so that the guest notices when
	 * all processes of a group have ended. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	guest_allow_files();
	g->options = options;
	g->root = g->lock = -1;
	g->started = uv_now(&g->loop);
	guest_watch(g);
	if (guest_open(g, &f)) {
		char hint[HINT_SIZE];

		fprintf(stderr, "cadre guest: %s\n", f.text);
		if (f.code == FAULT_INVALID)
			fprintf(stderr, "hint: %s\n", hint_plain(f.hint, hint));
		status = f.code == FAULT_CONFLICT ? fault_info(f.code)->exit_status : 1;
	} else {
		uv_run(&g->loop, UV_RUN_DEFAULT);
		status = g->lost;
	}
	guest_close(g);
	free(g);
	return status;
}
