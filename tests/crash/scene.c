/* The state, the team and the processes of the crash proof. */
#include "tests/crash/crash.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/client/client.h"
#include "core/mirror/mirror.h"
#include "tests/lib/child.h"
#include "tests/lib/place.h"

const char *const client_names[CLIENTS] = { "lead", "c1", "c2", "c3",
					    "c4",   "c5", "c6", "c7" };
const char *const daemon_names[DAEMONS] = { "d1", "d2", "d3" };

/* --- processes ---------------------------------------------------------------------- */

void scene_start_host(struct scene *s)
{
	const char *const argv[] = { cadre_path(), "--home", s->home,
				     "--create",   "serve",  NULL };
	const struct child c = { .argv = argv, .log = s->log, .in = -1, .fd3 = -1 };

	s->host.pid = child_start(&c);
	s->host.killed = false;
	s->host.lives++;
}

void scene_start_client(struct scene *s, int i, const char *how)
{
	struct part *p = &s->clients[i];
	char token[120], agent[40], session[60], seed[24];
	const char *const env[] = { "CADRE_TEAM=crash", agent, token, session, NULL };
	const char *const argv[] = {
		"/proc/self/exe", "--worker", s->base, client_names[i], seed, how, NULL
	};
	struct child c = { .argv = argv, .env = env, .log = s->log, .fd3 = -1 };
	int ends[2];

	snprintf(token, sizeof(token), "CADRE_TOKEN=%s", p->token);
	snprintf(agent, sizeof(agent), "CADRE_AGENT=%s", client_names[i]);
	snprintf(session, sizeof(session), "CADRE_SESSION=%s.%d", client_names[i],
		 ++p->lives);
	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)dice_roll(&s->dice));
	if (pipe2(ends, O_CLOEXEC))
		abort();
	c.in = ends[0];
	p->pid = child_start(&c);
	p->in = ends[1];
	p->killed = false;
	close(ends[0]);
}

static struct part *part_of(struct scene *s, pid_t pid, const char **name)
{
	*name = "the host";
	if (s->host.pid == pid)
		return &s->host;
	for (int i = 0; i < CLIENTS; i++)
		if (s->clients[i].pid == pid) {
			*name = client_names[i];
			return &s->clients[i];
		}
	return NULL;
}

bool scene_kill(struct part *p)
{
	if (p->pid <= 0 || p->killed)
		return false;
	p->killed = true;
	return kill(p->pid, SIGKILL) == 0;
}

/* Returns how many ms a killed process stays down. A client sometimes stays down until its
 * leases have ended. */
static int absence(struct scene *s, const struct part *p)
{
	if (p == &s->host)
		return dice_below(&s->dice, 400);
	return dice_percent(&s->dice, 8) ? (CLAIM_S + 1) * 1000
					 : dice_below(&s->dice, 150);
}

/* Records the end of a child process. Guests of killed hosts are also children, but the ends of
 * guests are ignored. */
static void bury(struct scene *s, pid_t pid, int status, bool respawn)
{
	const char *name;
	struct part *p = part_of(s, pid, &name);

	if (pid == s->stop.pid)
		scene_stop_ended(s);
	if (!p)
		return;
	p->pid = 0;
	p->respawn_at = clock_steady_ms() + absence(s, p);
	if (p->in)
		close(p->in);
	p->in = 0;
	if (p->killed || (!respawn && status == 0))
		return;
	printf("%s ended by itself: status %d; see %s\n", name, status, s->log);
	s->faults++;
}

void scene_tend(struct scene *s, bool respawn)
{
	char how[] = "d\0";
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		bury(s, pid, status, respawn);
	scene_stop_tend(s);
	if (!respawn)
		return;
	if (!s->direct_only && !s->host.pid && clock_steady_ms() >= s->host.respawn_at)
		scene_start_host(s);
	for (int i = 0; i < CLIENTS; i++) {
		if (s->clients[i].pid || clock_steady_ms() < s->clients[i].respawn_at)
			continue;
		/* If there is a host, half of the clients use the host's socket. */
		snprintf(how, sizeof(how), "%s%s", s->direct_only || i % 2 ? "d" : "",
			 s->direct_only ? "" : "r");
		scene_start_client(s, i, how);
	}
}

/* --- reading the state ----------------------------------------------------------------- */

static sqlite3_stmt *first_row(struct scene *s, const char *sql)
{
	sqlite3_stmt *st = NULL;

	if (sqlite3_prepare_v2(s->db, sql, -1, &st, NULL) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW)
		return st;
	sqlite3_finalize(st);
	return NULL;
}

int64_t scene_number(struct scene *s, const char *sql)
{
	sqlite3_stmt *st = first_row(s, sql);
	int64_t n = st ? sqlite3_column_int64(st, 0) : -1;

	sqlite3_finalize(st);
	return n;
}

bool scene_await(struct scene *s, const char *sql, int ms)
{
	int64_t until = clock_steady_ms() + patience_ms(ms);

	while (scene_number(s, sql) != 0) {
		scene_tend(s, false);
		if (clock_steady_ms() >= until)
			return false;
		pause_for(20);
	}
	return true;
}

int64_t scene_mirror_lag(struct scene *s, int ms)
{
	int64_t until = clock_steady_ms() + patience_ms(ms), lag = -1;
	struct home *home = calloc(1, sizeof(*home));
	struct store *store = NULL;
	struct fault f = { 0 };

	if (home_find(home, s->home, HOME_LOOK, &f) == 0)
		store_open(&store, home->dir, STORE_READ, NULL, &f);
	while (store && lag != 0 && clock_steady_ms() < until && !f.code) {
		pause_for(20);
		mirror_lag(home, store, &lag, &f);
	}
	store_close(store);
	free(home);
	return lag;
}

pid_t scene_guest(struct scene *s)
{
	sqlite3_stmt *st =
		first_row(s, "SELECT pid, pid_start FROM workspace WHERE state < 4 "
			     "AND pid > 1 ORDER BY random() LIMIT 1");
	pid_t pid = st ? sqlite3_column_int(st, 0) : 0;
	long long born = st ? sqlite3_column_int64(st, 1) : 0;

	sqlite3_finalize(st);
	return pid && child_born(pid) == born ? pid : 0;
}

/* --- the operator ------------------------------------------------------------------------ */

json_t *scene_ask(struct scene *s, const char *name, json_t *args, struct fault *f)
{
	struct home *home = calloc(1, sizeof(*home));
	struct client_options o = { .home = home, .direct = s->direct_only };
	struct client *client = NULL;
	struct text out = { 0 };
	json_t *answer = NULL;

	if (home_find(home, s->home, HOME_MAKE, f) == 0) {
		o.identity = home->identity;
		client_open(&client, &o, f);
	}
	if (client && client_call(client, op_find(name), args, &out, f) == 0)
		answer = json_loadb(out.data, out.len, 0, NULL);
	client_close(client);
	text_release(&out);
	json_decref(args);
	free(home);
	return answer;
}

static json_t *operator_call(struct scene *s, const char *name, json_t *args)
{
	struct fault f = { 0 };
	json_t *answer = scene_ask(s, name, args, &f);

	if (f.code)
		printf("%s: %s\n", name, f.text);
	return answer;
}

static json_t *roles(const struct scene *s)
{
	json_t *list = json_array();

	for (int i = 0; i < CLIENTS; i++)
		json_array_append_new(list, json_pack("{sssb}", "name", client_names[i],
						      "nests", 1));
	for (int i = 0; i < DAEMONS; i++)
		json_array_append_new(list, json_pack("{sssb}", "name", daemon_names[i],
						      "workspace", !s->direct_only));
	return list;
}

static int make_team(struct scene *s)
{
	json_t *team = operator_call(s, "team.create",
				     json_pack("{sssosisi}", "name", "crash", "roles",
					       roles(s), "inbox_capacity", 0,
					       "max_tokens", 20000000)),
	       *member;
	size_t i;

	if (!team)
		return -1;
	json_array_foreach(json_object_get(team, "members"), i, member)
		for (int k = 0; k < CLIENTS; k++)
			if (!strcmp(json_string_value(json_object_get(member, "name")),
				    client_names[k]))
				snprintf(s->clients[k].token, sizeof(s->clients[k].token),
					 "%s",
					 json_string_value(
						 json_object_get(member, "token")));
	json_decref(team);
	return 0;
}

void scene_revive(struct scene *s)
{
	sqlite3_stmt *st = NULL;

	sqlite3_prepare_v2(s->db, "SELECT name FROM workspace WHERE state = 3", -1, &st,
			   NULL);
	while (sqlite3_step(st) == SQLITE_ROW)
		json_decref(operator_call(s, "workspace.start",
					  json_pack("{ssss}", "workspace",
						    sqlite3_column_text(st, 0), "team",
						    "crash")));
	sqlite3_finalize(st);
}

/* --- beginning and end ---------------------------------------------------------------------- */

int scene_place(struct scene *s)
{
	static const char *const names[] = { "state", "runtime", "journal", "runs" };
	char path[128];

	s->dice.state = s->seed;
	if (temp_make(s->base, "crash") < 0)
		return -1;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", s->base, names[i]);
		if (mkdir(path, 0700) < 0)
			return -1;
	}
	snprintf(s->home, sizeof(s->home), "%s/state", s->base);
	snprintf(s->log, sizeof(s->log), "%s/log", s->base);
	snprintf(path, sizeof(path), "%s/runtime", s->base);
	setenv("XDG_RUNTIME_DIR", path, 1);
	setenv("HOME", s->base, 1);
	setenv("XDG_CONFIG_HOME", s->base, 1);
	return 0;
}

int scene_look(struct scene *s)
{
	char path[128];
	sqlite3 *db = NULL;

	snprintf(path, sizeof(path), "%s/state.db", s->home);
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		return -1;
	sqlite3_busy_timeout(db, 5000);
	sqlite3_exec(db, "PRAGMA query_only = ON", NULL, NULL, NULL);
	s->db = db;
	return 0;
}

int scene_begin(struct scene *s)
{
	if (!s->direct_only) {
		s->host.pid = host_start(s->home, NULL, s->log, 15000);
		if (s->host.pid < 0)
			return -1;
	}
	if (make_team(s) < 0 || scene_look(s) < 0)
		return -1;
	if (!s->direct_only &&
	    !scene_await(s, "SELECT count(*) FROM workspace WHERE state NOT IN (1, 4)",
			 15000)) {
		printf("the guests do not come up\n");
		return -1;
	}
	return 0;
}

int scene_open(struct scene *s)
{
	child_adopt();
	return scene_place(s) < 0 ? -1 : scene_begin(s);
}

int scene_close(struct scene *s, bool remove)
{
	int left;

	sqlite3_close(s->db);
	if (s->host.pid > 0)
		child_end(s->host.pid, 5000);
	left = child_end_all();
	if (remove)
		temp_remove(s->base);
	else if (s->base[0])
		printf("kept: %s\n", s->base);
	return left;
}
