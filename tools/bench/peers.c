/*
 * Redis and PostgreSQL: the bench starts these servers on Unix sockets, each in a new folder,
 * and speaks their protocols. The servers are configured to be as durable as cadre. The Redis
 * server holds a stream for each client, and each stream has one group. The PostgreSQL server
 * holds a board of tasks. The acts use the statements that suit PostgreSQL best (SKIP LOCKED).
 */
#include <arpa/inet.h>
#include <glob.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/bench/load.h"

/* Returns a client's connection, or -1. The first client starts the peer by a script that gets
 * the folder, and waits until the peer accepts a connection. */
static int peer_join(struct speaker *s, const char *script, const char *socket, uid_t uid)
{
	struct bench_peer *p = &s->scene->peer;
	const char *const argv[] = { "sh", "-c", script, p->dir, NULL };
	const bool first = !p->pid;
	int fd = -1;

	if (first) {
		if (ground_folder(s->scene->ground, "peer", p->dir) ||
		    (uid && chown(p->dir, uid, (gid_t)-1)))
			return bench_fail("%s: %m", p->dir);
		snprintf(p->socket, sizeof(p->socket), "%s/%s", p->dir, socket);
		p->pid = bench_start_program(
			&(struct start){ .argv = argv, .uid = uid, .quiet = true });
	}
	for (int i = 0; i < 6000 && (fd = load_connect(p->socket)) < 0; i++)
		bench_rest(0.01);
	if (first && fd >= 0) { /* PostgreSQL refuses clients just after it has started */
		close(fd);
		bench_rest(1);
		fd = load_connect(p->socket);
	}
	return fd < 0 ? bench_fail("no peer: see tools/setup --peers") : fd;
}

void peer_close(struct bench_peer *p)
{
	bench_stop_program(p->pid, SIGINT);
	if (p->dir[0])
		bench_remove_tree(p->dir);
}

/* --- Redis -------------------------------------------------------------------------- */

static int redis_join(struct speaker *s)
{
	return peer_join(
		s,
		"exec redis-server --port 0 --unixsocket \"$0/redis.sock\" --dir \"$0\""
		" --appendonly yes --appendfsync always --save ''"
		" --auto-aof-rewrite-percentage 0 --daemonize no",
		"redis.sock", 0);
}

/* The length of a whole RESP2 value. The function skips the parts of an array without
 * recursion. */
static size_t redis_whole(const struct speaker *s, const char *data, size_t size)
{
	size_t at = 0;
	long left = 1;

	(void)s;
	for (; left > 0; left--) {
		const char *end = at < size ? memchr(data + at, '\n', size - at) : NULL;
		long n;

		if (!end)
			return 0;
		n = strtol(data + at + 1, NULL, 10);
		if (data[at] == '*' && n > 0)
			left += n;
		at = (size_t)(end - data) + 1 +
		     (data[at] == '$' && n >= 0 ? (size_t)n + 2 : 0);
		if (at > size)
			return 0;
	}
	return at;
}

/* Whether an answer is good. An error that says that a group exists already is good, too. An
 * answer is a failure if it reports that zero entries were read or acknowledged. */
static bool redis_good(const char *data, size_t size)
{
	return (data[0] != '-' || !strncmp(data, "-BUSYGROUP", 10)) && size > 1 &&
	       strncmp(data, "*-1", 3) && strncmp(data, ":0", 2);
}

const struct door door_redis = {
	.join = redis_join,
	.hello = { "*6\r\n$6\r\nXGROUP\r\n$6\r\nCREATE\r\n~N\r\n$1\r\ng\r\n$1\r\n$\r\n"
		   "$8\r\nMKSTREAM\r\n" },
	.whole = redis_whole,
	.good = redis_good,
};

/* --- PostgreSQL ------------------------------------------------------------------------ */

static const char postgres_script[] =
	"cd \"$0\" && PATH=$(ls -d /usr/lib/postgresql/*/bin | tail -1):$PATH &&"
	" initdb -D data -A trust -U cadre -E UTF8 --locale=C --no-sync &&"
	" postgres --single -D data postgres <<'END' &&"
	" exec postgres -D data -k \"$0\" -c listen_addresses= -p 5432\n"
	"CREATE TABLE task (id bigserial PRIMARY KEY, number int, priority int,"
	" title text, state int NOT NULL DEFAULT 0, owner int, epoch int NOT NULL"
	" DEFAULT 0, open_deps int NOT NULL DEFAULT 0, lease_until timestamptz,"
	" updated_at timestamptz, result text)\n"
	"CREATE TABLE event (seq bigserial PRIMARY KEY, at timestamptz DEFAULT now(),"
	" kind int, actor int, subject bigint)\n"
	"INSERT INTO task (number, priority, title)"
	" SELECT n, 3, 'A task to be done' FROM generate_series(1, 200000) n\n"
	"CREATE INDEX task_ready ON task (priority, number)"
	" WHERE state = 0 AND open_deps = 0\n"
	"VACUUM ANALYZE task\n"
	"END\n";

/* The user who runs PostgreSQL, since PostgreSQL refuses to run as root. The value 0 stands for
 * the user of this process. */
static uid_t postgres_user(void)
{
	static const char *const names[] = { "postgres", "nobody" };
	struct passwd p, *found = NULL;
	char texts[1024];

	for (size_t i = 0; i < 2 && !found && geteuid() == 0; i++)
		if (getpwnam_r(names[i], &p, texts, sizeof(texts), &found))
			found = NULL;
	return found ? found->pw_uid : 0;
}

static int postgres_join(struct speaker *s)
{
	return peer_join(s, postgres_script, ".s.PGSQL.5432", postgres_user());
}

static size_t postgres_message(const char *data, size_t size)
{
	uint32_t big;

	if (size < 5)
		return 0;
	memcpy(&big, data + 1, 4);
	return 1 + ntohl(big) <= size ? 1 + ntohl(big) : 0;
}

/* The size of an answer, which is all messages up to ReadyForQuery. */
static size_t postgres_whole(const struct speaker *s, const char *data, size_t size)
{
	size_t at = 0, n;

	(void)s;
	while ((n = postgres_message(data + at, size - at))) {
		at += n;
		if (data[at - n] == 'Z')
			return at;
	}
	return 0;
}

/* Whether an answer has no error. An answer to a query must also have a row. */
static bool postgres_good(const char *data, size_t size)
{
	bool row = data[0] != 'T';

	for (size_t at = 0, n; (n = postgres_message(data + at, size - at)); at += n) {
		if (data[at] == 'E')
			return false;
		row |= data[at] == 'D';
	}
	return row;
}

const struct door door_postgres = {
	.join = postgres_join,
	.hello = { "~q~0\003~0~0user~0cadre~0database~0postgres~0~0",
		   "Q~qPREPARE claim (int) AS "
		   "WITH c AS (UPDATE task SET state = 1, owner = $1, epoch = epoch + 1,"
		   " lease_until = now() + interval '15 min', updated_at = now()"
		   " WHERE id = (SELECT id FROM task WHERE state = 0 AND open_deps = 0"
		   "  ORDER BY priority, number LIMIT 1 FOR UPDATE SKIP LOCKED)"
		   " RETURNING id), e AS (INSERT INTO event (kind, actor, subject)"
		   "  SELECT 201, $1, id FROM c) SELECT '\"' || id || '\"' FROM c~0",
		   "Q~qPREPARE complete (int, bigint) AS "
		   "WITH c AS (UPDATE task SET state = 4, owner = NULL, lease_until = NULL,"
		   " updated_at = now() WHERE id = $2 AND owner = $1 AND state = 1"
		   " RETURNING id), e AS (INSERT INTO event (kind, actor, subject)"
		   "  SELECT 205, $1, id FROM c) SELECT id FROM c~0" },
	.whole = postgres_whole,
	.good = postgres_good,
};
