/*
 * here_session - the sessions of clients in a place, each known by a process of its client.
 *
 * A client starts its server of MCP, its hooks and its shells, so the process that started
 * the one tells the session of the others.  A file is kept for it, which counts as long as
 * the process lives.
 */
#include "core/home/here_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/machine/pid.h"

enum { ABOVE = 64 /* processes, in which a session is looked for */ };

static const char ending[] = ".session";

static void name_session(const char *place, pid_t pid, char out[HERE_NAME + 24])
{
	char file[HERE_NAME];

	here_name(place, file);
	snprintf(out, HERE_NAME + 24, "%s.%d%s", file, (int)pid, ending);
}

/* Names a process by its start, as here_birth() does a directory: false where there is
 * none. */
static bool process_birth(pid_t pid, char out[HERE_BIRTH])
{
	struct process p;

	pid_find(pid, &p);
	snprintf(out, HERE_BIRTH, "%lld %s", (long long)p.start, p.boot);
	return p.start != 0;
}

pid_t here_session_pid(const char *name)
{
	const char *dot = strchr(name, '.');
	char *end;
	long pid = dot ? strtol(dot + 1, &end, 10) : 0;

	return pid > 0 && !strcmp(end, ending) ? (pid_t)pid : 0;
}

bool here_session_lives(int dir, const char *name, struct here *k)
{
	char was[HERE_BIRTH], now[HERE_BIRTH];
	bool there;

	return !here_file(dir, name, k, was, &there) && there &&
	       process_birth(here_session_pid(name), now) && strcmp(was, now) == 0;
}

static bool here_session_is_same(const struct here *a, const struct here *b)
{
	return strcmp(a->token, b->token) == 0 ||
	       (strcmp(a->agent, b->agent) == 0 && strcmp(a->team, b->team) == 0);
}

/* The number of levels that process `pid` is above this process: 1 for the parent; 0 for a
 * child of the parent, since a script may have started the server; ABOVE: the process is of
 * another session. */
static int height_of(pid_t pid)
{
	int64_t at = getppid();
	int n = 1;

	if (at > 1 && pid_parent(pid) == at)
		return 0;
	while (at > 1 && at != pid && n < ABOVE) {
		at = pid_parent(at);
		n++;
	}
	return at == pid ? n : ABOVE;
}

void here_sessions(const char *state, const struct here *place, struct here_sessions *out)
{
	char file[HERE_NAME];
	struct fault none = { 0 };
	int fd = here_open(state, &none), nearest = ABOVE, height;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct here k;
	pid_t pid;

	*out = (struct here_sessions){ 0 };
	here_name(place->place, file);
	while (dir && (e = readdir(dir))) {
		if (strncmp(e->d_name, file, HERE_NAME - 1) != 0 ||
		    !(pid = here_session_pid(e->d_name)) ||
		    !here_session_lives(fd, e->d_name, &k))
			continue;
		height = height_of(pid);
		if (height < nearest) {
			nearest = height;
			out->own = pid;
			out->who = k;
		} else if (height == ABOVE && here_session_is_same(&k, place)) {
			out->other = pid;
		}
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	out->differs = out->own && !here_session_is_same(&out->who, place);
}

int here_session_keep(const char *state, const struct here *k, bool over, struct fault *f)
{
	char name[HERE_NAME + 24], birth[HERE_BIRTH];
	const pid_t client = getppid();
	int dir = here_make(state, f);
	struct here was;

	if (dir < 0)
		return f->code;
	flock(dir, LOCK_EX);
	here_sweep(dir);
	name_session(k->place, client, name);
	if (!over && here_session_lives(dir, name, &was) &&
	    !here_session_is_same(&was, k))
		fault_set(f, FAULT_CONFLICT, "", "process %d is %s of team %s",
			  (int)client, was.agent, was.team);
	else if (client <= 1 || !process_birth(client, birth) ||
		 !here_put(dir, name, k, birth))
		fault_set(f, FAULT_IO, "", "who this session is cannot be kept");
	close(dir);
	return f->code;
}

void here_session_forget(const char *state, const char *place)
{
	struct here at = { 0 };
	struct here_sessions s;
	char name[HERE_NAME + 24];
	struct fault none = { 0 };
	int dir;

	snprintf(at.place, sizeof(at.place), "%s", place);
	here_sessions(state, &at, &s);
	if (!s.own || (dir = here_open(state, &none)) < 0)
		return;
	name_session(place, s.own, name);
	unlinkat(dir, name, 0);
	close(dir);
}
