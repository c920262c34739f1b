/*
 * notifier - the thread of a host that runs the command `notify.command` of the configuration.
 *
 * The command runs for mail to the operator and for the events that the configuration lists in
 * `notify.events`. The thread reads the events behind the number in HOME/notify.cursor, so a
 * new host continues after the last event that the earlier host has handled. An event is
 * reported twice only if the host ended while the command for this event ran. Without
 * HOME/notify.cursor the thread begins after the newest event. One command runs at a time.
 * Events that are logged while a command runs are reported after the command has ended. If more
 * than SINGLY of the events that are read at a time have to be reported, one command reports
 * all of them. No other thread waits for a command. Failures of commands are logged, at most
 * one line a minute.
 *
 * The command's text is taken only from the configuration. The command reads the event's data
 * from its environment and its standard input.
 */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/near.h"
#include "core/event/event.h"
#include "core/home/home.h"
#include "core/host/host_inside.h"
#include "core/host/log.h"
#include "core/host/sleeper.h"
#include "core/machine/child.h"
#include "storage/durable.h"
#include "ops.gen.h"

/* --- run --------------------------------------------------------------------- */

/* run - runs notify.command once. */

enum { PATIENCE_S = 30 };

extern char **environ;

static void notifier_run_add(struct arena *a, char ***env, size_t *n, char *line)
{
	arena_add(a, *env, *n, line);
}

/* Makes a line such as CADRE_EVENT=task.failed. */
static char *variable(struct arena *a, const char *name, const json_t *value)
{
	char *line =
		json_is_string(value)
			? arena_printf(a, "CADRE_%s=%s", name, json_string_value(value))
			: arena_printf(a, "CADRE_%s=%lld", name,
				       (long long)json_integer_value(value));

	for (char *p = line; *p && *p != '='; p++)
		*p = (char)toupper((unsigned char)*p);
	return line;
}

/* The command's environment: the host's variables except CADRE_ variables, then CADRE_HOME and
 * the variables of the notice. */
static char **environment(struct arena *a, const struct home *home, json_t *notice)
{
	char **env = NULL;
	size_t n = 0;
	const char *name;
	json_t *value;

	for (char **e = environ; *e; e++)
		if (strncmp(*e, "CADRE_", 6) != 0)
			notifier_run_add(a, &env, &n, *e);
	notifier_run_add(a, &env, &n, arena_printf(a, "CADRE_HOME=%s", home->dir));
	json_object_foreach(notice, name, value) {
		notifier_run_add(a, &env, &n, variable(a, name, value));
	}
	notifier_run_add(a, &env, &n, NULL);
	return env;
}

/* Makes a file in memory that contains the line, so that the host need not write to a pipe. */
static int line_file(const struct text *line)
{
	int fd = memfd_create("notice", MFD_CLOEXEC);

	if (fd >= 0 && (write(fd, line->data, line->len) != (ssize_t)line->len ||
			lseek(fd, 0, SEEK_SET) != 0)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Starts the command under `timeout`, in a process group of its own. If the host is killed,
 * nobody waits for the command. If the command itself then still runs after PATIENCE_S + 1
 * seconds, `timeout` kills the process group. */
static int notifier_run_start(pid_t *pid, const struct home *home, struct arena *a,
			      const struct text *line)
{
	const char *seconds = arena_printf(a, "%d", PATIENCE_S + 1);
	const char *words[] = { "timeout",
				"-s",
				"KILL",
				seconds,
				"sh",
				"-c",
				home->settings.config.notify_command,
				NULL };
	json_t *notice = json_loadb(line->data, line->len, 0, NULL);
	int rc, in = line_file(line);
	posix_spawn_file_actions_t files;

	if (in < 0) {
		json_decref(notice);
		return EIO;
	}
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, in, 0);
	posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addchdir_np(&files, home->dir);
	rc = child_spawn(pid, "timeout", words, environment(a, home, notice), &files,
			 true);
	json_decref(notice);
	close(in);
	return rc;
}

/* Waits until the command ends, until the command's time ends, or until the host ends. Then
 * kills the whole process group. The number of the group stays valid until waitpid() has
 * returned. Returns the command's status, or -1 if the command still ran and was killed. */
static int notifier_run_await(pid_t pid, struct sleeper *sleeper)
{
	int fd = pidfd_open(pid, 0), status = 0;
	struct pollfd ended = { .fd = fd, .events = POLLIN };
	int64_t until = clock_steady_ms() + PATIENCE_S * 1000, left;
	bool late;

	/* The wait is a loop, since a signal to the host can end sleeper_rest() early. */
	while ((late = poll(&ended, 1, 0) <= 0) && !sleeper_ends(sleeper) &&
	       (left = until - clock_steady_ms()) > 0)
		sleeper_rest(sleeper, fd, (int)left);
	kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (fd >= 0)
		close(fd);
	return late ? -1 : status;
}

/* Runs notify.command in the state's folder. The command reads the members of `notice` from
 * environment variables such as CADRE_EVENT, and from one line of JSON on standard input. When
 * the command ends, or after PATIENCE_S, the command's whole process group is killed. If the
 * host is killed, only `timeout` limits the command: it kills the process group of a command
 * that still runs one second after PATIENCE_S. A failure of the command is logged. Returns
 * false if the host ends and the command was killed. */
static bool notifier_run(const struct home *home, const struct notice *notice,
			 struct sleeper *sleeper, struct log *log,
			 struct log_pause *failed)
{
	struct arena a = { 0 };
	struct text line = { 0 };
	int rc, status = 0;
	pid_t pid = 0;

	op_encode(&record_notice, notice, &line);
	text_add(&line, "\n", 1);
	rc = notifier_run_start(&pid, home, &a, &line);
	text_release(&line);
	arena_release(&a);
	if (rc == 0)
		status = notifier_run_await(pid, sleeper);
	if (rc)
		log_seldom(log, failed, LOG_LEVEL_WARN, "notify.command cannot be run",
			   LOG_TEXT("error", strerror(rc)));
	else if (status == -1 && sleeper_ends(sleeper))
		return false;
	else if (status == -1)
		log_seldom(log, failed, LOG_LEVEL_WARN,
			   "notify.command took too long and was ended",
			   LOG_NUMBER("seconds", PATIENCE_S));
	else if (status)
		log_seldom(log, failed, LOG_LEVEL_WARN, "notify.command failed",
			   LOG_NUMBER("status", WIFSIGNALED(status)
							? 128 + WTERMSIG(status)
							: WEXITSTATUS(status)));
	return true;
}

enum {
	NET_MS = 5000, /* longest sleep, in case a bell was missed */
	RETRY_MS = 2000, /* pause after a failure */
	PAGE = 1000, /* maximum number of events that are read at a time */
	SINGLY = 4, /* if more than this number of events wait, one command reports all of
		       them */
	TEXT_BYTES = 200,
	EVENTS_MOST = 1000, /* greater than the code of each kind of event */
};

struct notifier {
	const struct home *home;
	struct log *log;
	struct store *store;
	struct sleeper sleeper;
	uv_thread_t thread;
	bool chosen[EVENTS_MOST]; /* indexed by the number of a kind of event */
	char incarnation[40]; /* incarnation to which `position` belongs; "": unknown */
	bool fresh; /* `incarnation` is not in HOME/notify.cursor yet */
	_Atomic int64_t position; /* number of the last event that was handled */
	struct log_pause failed;
};

/* --- which events ------------------------------------------------------------------- */

static int notifier_refuse(const char *word, size_t n, struct fault *f)
{
	char name[64];
	size_t near = 0;

	snprintf(name, sizeof(name), "%.*s", (int)n, word);
	for (size_t i = 1; i < event_count; i++)
		if (near_distance(name, event_table[i].name) <
		    near_distance(name, event_table[near].name))
			near = i;
	fault_set(f, FAULT_INVALID, "", "notify.events: there is no event '%s'", name);
	return fault_hint(f, "Did you mean '%s'?", event_table[near].name);
}

/* Marks the kinds of events that `words` name. */
static int notifier_choose(struct notifier *n, const char *words, struct fault *f)
{
	for (size_t len; *(words += strspn(words, " ,")); words += len) {
		bool found = false;

		len = strcspn(words, " ,");
		for (size_t i = 0; i < event_count; i++) {
			if (!event_kind_is(&event_table[i], words, len))
				continue;
			assert(event_table[i].number < EVENTS_MOST);
			n->chosen[event_table[i].number] = found = true;
		}
		if (!found)
			return notifier_refuse(words, len, f);
	}
	return 0;
}

static bool notifier_is_wanted(struct notifier *n, struct call *call,
			       const struct event_line_row *row)
{
	struct notify_mail_row r = { 0 };

	return n->chosen[row->kind] ||
	       (row->kind == EVENT_MESSAGE_SENT &&
		sql_row(call, notify_mail, &r, .message = row->subject) > 0 && r.mail);
}

/* --- the cursor ----------------------------------------------------------------------- */

static void cursor_path(const struct home *home, const char *end, char out[4200])
{
	snprintf(out, 4200, "%s/notify.cursor%s", home->dir, end);
}

/* Reads HOME/notify.cursor. A cursor file that cannot be read counts as missing. */
static void notifier_read_cursor(struct notifier *n)
{
	char path[4200];
	int64_t position;
	FILE *file;

	cursor_path(n->home, "", path);
	file = fopen(path, "re");
	if (!file)
		return;
	if (fscanf(file, "%39[0-9a-f].%" SCNd64, n->incarnation, &position) == 2)
		n->position = position;
	else
		n->incarnation[0] = '\0';
	fclose(file);
}

static void notifier_write_cursor(struct notifier *n)
{
	char path[4200], half[4200];
	bool whole;
	int fd;

	cursor_path(n->home, "", path);
	cursor_path(n->home, ".new", half);
	fd = open(half, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	whole = fd >= 0 &&
		dprintf(fd, "%s.%" PRId64 "\n", n->incarnation, n->position) > 0 &&
		fsync(fd) == 0 && rename(half, path) == 0 &&
		dir_sync_path(n->home->dir) == 0;
	if (fd >= 0)
		close(fd);
	if (!whole)
		log_seldom(n->log, &n->failed, LOG_LEVEL_WARN,
			   "the cursor of notifications cannot be written",
			   LOG_TEXT("file", path), LOG_TEXT("error", strerror(errno)));
}

/* Removes HOME/notify.cursor if no command is configured. So a command that is configured later
 * gets no old events. */
static void forget_cursor(const struct home *home)
{
	char path[4200];

	cursor_path(home, "", path);
	unlink(path);
}

/* --- notices --------------------------------------------------------------------------- */

static const char *notifier_text_of(struct call *call, const struct event_line_row *row)
{
	struct notify_message_row message;
	struct notify_task_row task;
	const char *text = row->detail;

	if (events_of(row->kind) == EVENTS_MESSAGE &&
	    sql_row(call, notify_message, &message, .id = row->subject) > 0)
		text = message.content;
	else if (!text && events_of(row->kind) == EVENTS_TASK &&
		 sql_row(call, notify_task, &task, .id = row->subject) > 0)
		text = task.result ? task.result : task.title;
	return text;
}

/* At most the first TEXT_BYTES of a text. The last character is left out if it does not fit
 * whole. */
static const char *beginning(struct call *call, const char *text)
{
	size_t n = 0;

	while (text && text[n]) {
		size_t wide = text_wide(text + n);

		if (n + (wide ? wide : 1) > TEXT_BYTES)
			break;
		n += wide ? wide : 1;
	}
	return text ? arena_strndup(&call->arena, text, n) : NULL;
}

static int notifier_describe(struct call *call, const struct event_line_row *row,
			     int64_t count, struct notice *out)
{
	struct event e;

	if (event_show(call, row, &e) < 0)
		return -1;
	*out = (struct notice){ .count = count,
				.seq = e.seq,
				.at = e.at,
				.event = e.event,
				.team = e.team,
				.by = e.by,
				.subject = e.subject,
				.from = e.from ? e.from : e.by,
				.target = e.target,
				.text = beginning(call, notifier_text_of(call, row)) };
	if (!e.has_message)
		out->from = NULL;
	return call->fault.code ? -1 : 0;
}

/* Reads the events behind n->position. Stores the notices of the wanted events in `*out`, and
 * the number of the last event that was read in `*end`. No notices are made if n->incarnation
 * is unknown, or if the state has another incarnation (after a restore). */
static int read_notices(struct notifier *n, struct call *call, struct notice **out,
			size_t *n_out, int64_t *end)
{
	struct event_line_row *rows = NULL;
	struct event_last_row last;
	struct state_keys_row state;
	size_t n_rows = 0, n_wanted = 0;

	if (sql_row(call, state_keys, &state) < 0 || sql_row(call, event_last, &last) < 0)
		return -1;
	*end = last.seq;
	if (strcmp(state.incarnation, n->incarnation) != 0) {
		snprintf(n->incarnation, sizeof(n->incarnation), "%s", state.incarnation);
		n->fresh = true;
		return 0;
	}
	if (sql_all(call, events_after, &rows, &n_rows, .after = n->position,
		    .limit = PAGE) < 0)
		return -1;
	for (size_t i = 0; i < n_rows; i++)
		if (notifier_is_wanted(n, call, &rows[i]))
			rows[n_wanted++] = rows[i];
	if (n_rows == PAGE)
		*end = rows[n_rows - 1].seq;
	for (size_t i = n_wanted > SINGLY ? n_wanted - 1 : 0; i < n_wanted; i++)
		if (notifier_describe(
			    call, &rows[i], n_wanted > SINGLY ? (int64_t)n_wanted : 1,
			    arena_push(&call->arena, out, n_out, sizeof(**out))) < 0)
			return -1;
	return call->fault.code ? -1 : 0;
}

/* Sets the position to the event `seq`. `keep`: also writes HOME/notify.cursor. For events
 * without a command the file need not be written, since such events can be read again. */
static void pass(struct notifier *n, int64_t seq, bool keep)
{
	n->position = seq;
	if (keep)
		notifier_write_cursor(n);
	n->fresh = false;
}

/* Runs the command for new events. Returns for how many ms the thread should sleep afterwards. */
static int notifier_tell(struct notifier *n)
{
	struct call call = { .store = n->store,
			     .settings = &n->home->settings,
			     .identity = { .level = WHO_HOST } };
	struct notice *notices = NULL;
	bool failed = true;
	size_t n_notices = 0, told = 0;
	int64_t end = 0, before = n->position;

	if (call_begin(&call, false) >= 0) {
		failed = read_notices(n, &call, &notices, &n_notices, &end) < 0;
		store_rollback(n->store);
	}
	if (failed)
		log_seldom(n->log, &n->failed, LOG_LEVEL_WARN,
			   "notifications cannot be read", LOG_FAULT(&call.fault));
	while (!failed && told < n_notices &&
	       notifier_run(n->home, &notices[told], &n->sleeper, n->log, &n->failed))
		pass(n, notices[told++].seq, true);
	if (!failed && told == n_notices)
		pass(n, end, n->fresh);
	arena_release(&call.arena);
	return failed ? RETRY_MS : n->position > before ? 0 : NET_MS;
}

/* --- the thread -------------------------------------------------------------------------- */

static void notifier_loop(void *arg)
{
	struct notifier *n = arg;

	pthread_setname_np(pthread_self(), "cadre-notify");
	while (!sleeper_ends(&n->sleeper)) {
		int ms;

		sleeper_heard(&n->sleeper);
		ms = notifier_tell(n);
		if (ms > 0)
			sleeper_sleep(&n->sleeper, -1, ms);
	}
}

int64_t notifier_position(const struct notifier *n)
{
	return atomic_load_explicit(&n->position, memory_order_relaxed);
}

static void notifier_release(struct notifier *n)
{
	store_close(n->store);
	sleeper_release(&n->sleeper);
	free(n);
}

static int notifier_open(struct host *host, struct fault *f)
{
	const struct home *home = host->home;
	const struct config *config = &home->settings.config;
	struct notifier *n;
	int rc;

	if (!config->notify_command) {
		forget_cursor(home);
		return 0;
	}
	n = xcalloc(1, sizeof(*n));
	n->home = home;
	n->log = host->log;
	rc = sleeper_open(&n->sleeper, home->dir, f);
	if (rc == 0)
		rc = notifier_choose(n, config->notify_events, f);
	if (rc == 0)
		rc = store_open(&n->store, home->dir, STORE_READ, NULL, f);
	notifier_read_cursor(n);
	if (rc == 0 && uv_thread_create(&n->thread, notifier_loop, n))
		rc = fault_set(f, FAULT_UNAVAILABLE, "", "no thread");
	if (rc) {
		notifier_release(n);
		return rc;
	}
	host->notifier = n;
	return 0;
}

/* Ends the thread and its running command. */
static void notifier_end(struct host *host)
{
	struct notifier *n = host->notifier;

	if (!n)
		return;
	sleeper_end(&n->sleeper);
	uv_thread_join(&n->thread);
	if (n->incarnation[0])
		notifier_write_cursor(n);
	notifier_release(n);
}

const struct host_room room_notifier = {
	.open = notifier_open,
	.release = notifier_end,
};
