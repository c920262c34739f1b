/*
 * PostgreSQL: a board with the statements that it is best at (SKIP LOCKED), in
 * version 3 of its protocol, prepared once per connection.
 */
#include <arpa/inet.h>
#include <glob.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "tools/bench/rival.h"

static const char board[] =
	"CREATE TABLE task (id bigserial PRIMARY KEY, number int, priority int,"
	" title text, state int NOT NULL DEFAULT 0, owner int, epoch int NOT NULL"
	" DEFAULT 0, open_deps int NOT NULL DEFAULT 0, lease_until timestamptz,"
	" updated_at timestamptz, result text);"
	"CREATE TABLE event (seq bigserial PRIMARY KEY, at timestamptz DEFAULT now(),"
	" kind int, actor int, subject bigint);"
	"INSERT INTO task (number, priority, title)"
	" SELECT n, 3, 'A task to be done' FROM generate_series(1, %ld) n;"
	"CREATE INDEX task_ready ON task (priority, number)"
	" WHERE state = 0 AND open_deps = 0;"
	"VACUUM ANALYZE task";

static const char claim[] =
	"WITH c AS (UPDATE task SET state = 1, owner = $1::int, epoch = epoch + 1,"
	" lease_until = now() + interval '15 min', updated_at = now()"
	" WHERE id = (SELECT id FROM task WHERE state = 0 AND open_deps = 0"
	"  ORDER BY priority, number LIMIT 1 FOR UPDATE SKIP LOCKED)"
	" RETURNING id), e AS (INSERT INTO event (kind, actor, subject)"
	"  SELECT 201, $1::int, id FROM c) SELECT id FROM c";

static const char complete[] =
	"WITH c AS (UPDATE task SET state = 4, owner = NULL, lease_until = NULL,"
	" updated_at = now() WHERE id = $2::bigint AND owner = $1::int AND state = 1"
	" RETURNING id), e AS (INSERT INTO event (kind, actor, subject)"
	"  SELECT 205, $1::int, id FROM c) SELECT id FROM c";

/* --- messages -------------------------------------------------------------------------- */

struct message {
	char data[2048];
	size_t size;
};

static void postgres_put(struct message *m, const void *data, size_t size)
{
	if (m->size + size > sizeof(m->data))
		abort();
	memcpy(m->data + m->size, data, size);
	m->size += size;
}

static void put_int(struct message *m, uint32_t v, size_t bytes)
{
	uint32_t big = htonl(bytes == 2 ? v << 16 : v);

	postgres_put(m, &big, bytes);
}

/* Begins a message; returns where its length goes, for postgres_put_end(). */
static size_t put_begin(struct message *m, char type)
{
	if (type)
		postgres_put(m, &type, 1);
	put_int(m, 0, 4);
	return m->size - 4;
}

static void postgres_put_end(struct message *m, size_t at)
{
	uint32_t big = htonl((uint32_t)(m->size - at));

	memcpy(m->data + at, &big, 4);
}

static size_t message_size(const char *data, size_t size)
{
	uint32_t big;

	if (size < 5)
		return 0;
	memcpy(&big, data + 1, 4);
	return 1 + ntohl(big) <= size ? 1 + ntohl(big) : 0;
}

/* The size of an answer: all messages up to ReadyForQuery. */
static size_t answer_whole(const char *data, size_t size)
{
	size_t at = 0, n;

	while ((n = message_size(data + at, size - at))) {
		at += n;
		if (data[at - n] == 'Z')
			return at;
	}
	return 0;
}

/* The first message of a type in an answer; NULL if there is none. */
static const char *postgres_find(const char *data, size_t size, char type)
{
	for (size_t at = 0, n; (n = message_size(data + at, size - at)); at += n)
		if (data[at] == type)
			return data + at;
	return NULL;
}

/* --- a client --------------------------------------------------------------------------- */

static int ask_now(int fd, struct message *m)
{
	char *answer = xmalloc(LOAD_IN);
	ssize_t n;
	const char *error;
	int rc = -1;

	if (load_write_all(fd, m->data, m->size) == 0 &&
	    (n = load_read_answer(fd, answer, LOAD_IN, answer_whole)) > 0) {
		error = postgres_find(answer, (size_t)n, 'E');
		rc = error ? bench_fail("PostgreSQL: %.80s", strchr(error + 5, 'M')) : 0;
	}
	free(answer);
	m->size = 0;
	return rc;
}

static int postgres_greet(int fd)
{
	static const char words[] = "user\0cadre\0database\0postgres\0";
	struct message m = { .size = 0 };
	size_t at = put_begin(&m, 0);

	put_int(&m, 196608, 4);
	postgres_put(&m, words, sizeof(words));
	postgres_put_end(&m, at);
	return ask_now(fd, &m);
}

static int query(int fd, const char *text)
{
	struct message m = { .size = 0 };
	size_t at = put_begin(&m, 'Q');

	postgres_put(&m, text, strlen(text) + 1);
	postgres_put_end(&m, at);
	return ask_now(fd, &m);
}

static void put_sync(struct message *m)
{
	postgres_put_end(m, put_begin(m, 'S'));
}

static int postgres_prepare(int fd, const char *name, const char *text)
{
	struct message m = { .size = 0 };
	size_t at = put_begin(&m, 'P');

	postgres_put(&m, name, strlen(name) + 1);
	postgres_put(&m, text, strlen(text) + 1);
	put_int(&m, 0, 2);
	postgres_put_end(&m, at);
	put_sync(&m);
	return ask_now(fd, &m);
}

static int join_postgres(struct speaker *s)
{
	int fd = load_join(s->load->socket);

	if (fd >= 0 && postgres_greet(fd) == 0 &&
	    postgres_prepare(fd, "claim", claim) == 0 &&
	    postgres_prepare(fd, "complete", complete) == 0)
		return fd;
	return -1;
}

static void postgres_ask(struct speaker *s, int step)
{
	const char *const values[] = { s->own, s->id };
	const char *name = step == 0 ? "claim" : "complete";
	struct message m = { .size = 0 };
	size_t at = put_begin(&m, 'B');
	char me[16];

	snprintf(me, sizeof(me), "%d", s->number);
	postgres_put(&m, "", 1);
	postgres_put(&m, name, strlen(name) + 1);
	put_int(&m, 0, 2);
	put_int(&m, (uint32_t)step + 1, 2);
	for (int i = 0; i <= step; i++) {
		const char *v = i == 0 ? me : values[i];

		put_int(&m, (uint32_t)strlen(v), 4);
		postgres_put(&m, v, strlen(v));
	}
	put_int(&m, 0, 2);
	postgres_put_end(&m, at);
	at = put_begin(&m, 'E');
	postgres_put(&m, "", 1);
	put_int(&m, 0, 4);
	postgres_put_end(&m, at);
	put_sync(&m);
	load_say(s, m.data, m.size);
}

/* Takes an answer: that of either step holds the task's id. */
static bool postgres_heard(struct speaker *s, int step, const char *data, size_t size)
{
	const char *row = postgres_find(data, size, 'D');
	uint32_t big;

	(void)step;
	if (!row || postgres_find(data, size, 'E'))
		return false;
	memcpy(&big, row + 7, 4);
	s->n_id = ntohl(big);
	if (s->n_id >= LOAD_ID)
		return false;
	memcpy(s->id, row + 11, s->n_id);
	s->id[s->n_id] = '\0';
	return true;
}

const struct script script_postgres = {
	.n_steps = 2,
	.join = join_postgres,
	.ask = postgres_ask,
	.whole = answer_whole,
	.heard = postgres_heard,
};

/* --- the server --------------------------------------------------------------------------- */

/* The user to run PostgreSQL as, 0 for this one: it refuses to run as root. */
static uid_t other_user(void)
{
	static const char *const names[] = { "postgres", "nobody" };
	struct passwd p, *found = NULL;
	char texts[1024];

	if (geteuid() != 0)
		return 0;
	for (size_t i = 0; i < 2 && !found; i++)
		if (getpwnam_r(names[i], &p, texts, sizeof(texts), &found))
			found = NULL;
	return found ? found->pw_uid : 0;
}

static int find_programs(char dir[200])
{
	glob_t found = { 0 };
	int rc = glob("/usr/lib/postgresql/*/bin", 0, NULL, &found);

	if (rc == 0)
		snprintf(dir, 200, "%s", found.gl_pathv[found.gl_pathc - 1]);
	globfree(&found);
	return rc ? bench_fail("there is no PostgreSQL: see tools/setup --peers") : 0;
}

static int make_cluster(const char *programs, const char *data, uid_t uid)
{
	char initdb[256];
	const char *argv[] = { initdb,  "-D", data,   "-A",         "trust",     "-U",
			       "cadre", "-E", "UTF8", "--locale=C", "--no-sync", NULL };
	struct start start = {
		.argv = argv, .in = -1, .out = -1, .extra = -1, .uid = uid, .quiet = true
	};
	int status;
	pid_t pid;

	snprintf(initdb, sizeof(initdb), "%s/initdb", programs);
	pid = bench_start_program(&start);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return bench_fail("initdb failed");
	return 0;
}

/* Until it lets somebody in. */
static int connect_soon(struct rival *p)
{
	static const struct timespec pause = { .tv_nsec = 50 * 1000 * 1000 };

	for (int i = 0; i < 200; i++) {
		int fd = access(p->socket, F_OK) ? -1 : load_join(p->socket);

		if (fd >= 0 && postgres_greet(fd) == 0)
			return fd;
		if (fd >= 0)
			close(fd);
		nanosleep(&pause, NULL);
	}
	return bench_fail("PostgreSQL did not start");
}

static int make_board(struct rival *p, long tasks)
{
	int fd = connect_soon(p), rc = -1;
	char *text = NULL;
	char *part, *rest;

	if (fd < 0 || asprintf(&text, board, tasks) < 0)
		return -1;
	/* VACUUM has to be alone in its query. */
	rest = text;
	while ((part = strsep(&rest, ";")))
		if ((rc = query(fd, part)))
			break;
	free(text);
	close(fd);
	return rc;
}

int postgres_open(struct rival *p, struct bench_ground *g, long tasks)
{
	char programs[200], server[256], data[300];
	const char *argv[] = {
		server, "-D",   data, "-k", p->dir, "-c", "listen_addresses=",
		"-p",   "5432", NULL
	};
	struct start start = { .argv = argv,
			       .in = -1,
			       .out = -1,
			       .extra = -1,
			       .uid = other_user(),
			       .quiet = true };

	*p = (struct rival){ 0 };
	if (find_programs(programs) || ground_folder(g, "postgres", p->dir))
		return -1;
	if (start.uid && chown(p->dir, start.uid, (gid_t)-1))
		return bench_fail("%s: %m", p->dir);
	snprintf(server, sizeof(server), "%s/postgres", programs);
	snprintf(data, sizeof(data), "%s/data", p->dir);
	snprintf(p->socket, sizeof(p->socket), "%s/.s.PGSQL.5432", p->dir);
	if (make_cluster(programs, data, start.uid))
		return -1;
	p->pid = bench_start_program(&start);
	return p->pid < 0 ? -1 : make_board(p, tasks);
}
