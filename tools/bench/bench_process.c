/*
 * Measures a process of ours: a message sent through the host, or straight into the
 * file, and a look at the board.  Each stands beside a process that is linked with
 * the same libraries, opens a file and commits, or reads, one row.  Syncs that the
 * host makes for its client are made behind the latter.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/bench/floor.h"
#include "tools/bench/stage.h"

enum { ROUNDS = 5, SPAWNS = 30, WORDS = 8 };

struct command {
	const char *name;
	bool hosted;
	const char *floor; /* what its process does */
	const char *words[WORDS];
};

static const struct command commands[] = {
	{ "process-host", true, "read", { "send", "a1", "hello", "--team", "t" } },
	{ "process-direct", false, "commit", { "send", "a1", "hello", "--team", "t" } },
	{ "process-read", false, "read", { "task", "list", "--team", "t" } },
	{ "process-prime", true, "read", { "prime", "--team", "t", "--as", "a0" } },
	{ "process-hook",
	  true,
	  "read",
	  { "hook", "claude", "--team", "t", "--as", "a0" } },
};

/* An event of a client, as its hook reads it; the other commands read nothing. */
static int open_event(const struct stage *s)
{
	static const char event[] = "{\"hook_event_name\":\"PostToolUse\",\"session_id\":"
				    "\"s\",\"cwd\":\"/\",\"tool_name\":\"Bash\"}";
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%.250s/event", s->dir);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd >= 0 &&
	    (load_write_all(fd, event, sizeof(event) - 1) || lseek(fd, 0, SEEK_SET))) {
		close(fd);
		return -1;
	}
	return fd;
}

static double time_command(struct stage *s, const struct command *c)
{
	const char *argv[WORDS + 4] = { s->ground->self, "--home", s->dir };
	struct start start = { .argv = argv, .in = -1, .out = -1, .extra = -1 };
	int64_t begun = bench_now();
	pid_t pid;
	int status;

	for (int i = 0; i < WORDS; i++)
		argv[3 + i] = c->words[i];
	start.in = open_event(s);
	pid = bench_start_program(&start);
	if (start.in >= 0)
		close(start.in);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return bench_fail("cadre %s failed", c->words[0]);
	return (double)(bench_now() - begun) / 1e6;
}

/* The process, and what the host does for it. */
static double bench_process_time_floor(const struct command *c, const char *file,
				       struct floor_page *page)
{
	double ms = floor_process(c->floor, file), sync = 0;

	if (c->hosted)
		sync = floor_page_sync(page);
	return ms < 0 || sync < 0 ? -1 : ms + sync;
}

static int bench_process_play_round(struct stage *s, const struct command *c,
				    const char *file, struct floor_page *page,
				    struct judge *j)
{
	double ours[SPAWNS], base[SPAWNS];
	int n = s->ground->fast ? SPAWNS / 4 : SPAWNS;

	for (int i = 0; i < n; i++)
		if ((base[i] = bench_process_time_floor(c, file, page)) < 0 ||
		    (ours[i] = time_command(s, c)) < 0)
			return -1;
	judge_round(j, judge_median(ours, (size_t)n), judge_median(base, (size_t)n));
	return 0;
}

static int bench_process_measure(struct bench_ground *g, const struct command *c,
				 const char *file)
{
	struct stage *s = stage_new(g, c->name, 2, 0, c->hosted);
	struct judge j = { 0 };
	struct floor_page page = { 0 };
	int rc = s ? floor_page_open(&page, g, "sync") : -1;

	if (s) { /* a process that writes directly is alone */
		client_close(s->client);
		s->client = NULL;
	}
	for (int i = 0; i < ROUNDS && rc == 0; i++)
		rc = bench_process_play_round(s, c, file, &page, &j);
	floor_page_close(&page);
	stage_free(s);
	if (rc == 0)
		score_rounds(g, c->name, &j);
	return rc;
}

int bench_process(struct bench_ground *g)
{
	char file[300];
	int rc = floor_process_file(g, file);

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]) && rc == 0; i++)
		if (score_due(g, commands[i].name))
			rc = bench_process_measure(g, &commands[i], file);
	return rc;
}
