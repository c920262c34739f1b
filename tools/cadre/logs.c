/*
 * logs - shows the last lines of the host's log, or the lines of a level and of more important
 * levels.
 *
 * On a terminal the times are local clock times, and lines are wrapped at words. Elsewhere the
 * lines are printed unchanged.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tools/cadre/cli.h"
#include "tools/cadre/screen/screen.h"

enum { LINES = 100, LOOK_EVERY_MS = 250 };

/* Takes the first `size` bytes of the log. Returns the offset at which the last `lines` lines
 * in these bytes begin. */
static off_t logs_find_start(int fd, off_t size, long lines)
{
	char data[65536];
	off_t at = size;

	while (at > 0) {
		size_t n = at < (off_t)sizeof(data) ? (size_t)at : sizeof(data);

		at -= (off_t)n;
		if (pread(fd, data, n, at) != (ssize_t)n)
			return at;
		for (size_t i = n; i-- > 0;) {
			/* The newline at the file's end belongs to the last line. */
			if (data[i] != '\n' || at + (off_t)i + 1 == size)
				continue;
			if (--lines == 0)
				return at + (off_t)i + 1;
		}
	}
	return 0;
}

/* The settings and the progress of the output of a log. */
struct shown {
	const struct cli *cli;
	int64_t least; /* an enum log_level; less important lines are left out */
	struct text line; /* beginning of a line whose end is not read yet */
};

/* The value of `key` in a line of the log, in the arena; NULL: the line has no such key. *end
 * points behind the value. */
static const char *find_value(struct arena *a, const char *line, const char *key,
			      const char **end)
{
	const size_t n = strlen(key);
	const char *at = line;
	char *value, *to;

	while (strncmp(at, key, n) != 0 || at[n] != '=') {
		at += strcspn(at, " ");
		if (!*at++)
			return NULL;
	}
	at += n + 1;
	if (*at != '"') {
		*end = at + strcspn(at, " ");
		return arena_strndup(a, at, (size_t)(*end - at));
	}
	value = to = arena_alloc(a, strlen(at));
	for (at++; *at && *at != '"'; at++)
		*to++ = *at == '\\' && at[1] ? *++at : *at;
	*end = *at ? at + 1 : at;
	return value;
}

/* The level with that name, or -1. */
static int64_t logs_level_named(const char *word)
{
	for (int64_t i = LOG_LEVEL_ERROR; i <= LOG_LEVEL_DEBUG; i++)
		if (strcmp(word, field_choice(&record_config, "log.level", i)) == 0)
			return i;
	return -1;
}

/* The level of a line. A line without a level counts as error, the most important level. */
static int64_t logs_level_of(struct arena *a, const char *line)
{
	const char *end, *word = find_value(a, line, "level", &end);
	int64_t level = word ? logs_level_named(word) : -1;

	return level < 0 ? LOG_LEVEL_ERROR : level;
}

/* A line of the log for a person. */
struct logs_record {
	const char *time, *level, *subject, *what;
	const char *rest; /* the fields that the other parts do not show */
};

/* Takes the field `KEY=VALUE` with which a text begins. Returns the key, or NULL if the text begins
 * with no field. *end points to the next field. */
static const char *logs_field(struct arena *a, const char *at, const char **value,
			      const char **end)
{
	const char *key = arena_strndup(a, at, strcspn(at, "= "));

	*value = *key ? find_value(a, at, key, end) : NULL;
	if (!*value || *end == at)
		return NULL;
	*end += strspn(*end, " ");
	return key;
}

/* Adds the fields behind the message to the record's parts. The line is about the agent, else about
 * the workspace, else about the team. */
static void logs_sort_fields(struct arena *a, const char *at, struct logs_record *r)
{
	static const char *const who[] = { "agent", "workspace", "team" };
	size_t best = sizeof(who) / sizeof(*who);
	const char *key, *value, *end, *field = NULL; /* field: the one with r->subject */

	at += strspn(at, " ");
	for (const char *s = at; (key = logs_field(a, s, &value, &end)); s = end)
		for (size_t i = 0; i < best; i++)
			if (!strcmp(key, who[i])) {
				best = i;
				r->subject = value;
				field = s;
			}
	for (; (key = logs_field(a, at, &value, &end)); at = end)
		if (!strcmp(key, "error") || !strcmp(key, "hint"))
			r->what = arena_printf(a, "%s: %s", r->what, value);
		else if (at != field)
			r->rest = arena_printf(a, "%s%s%.*s", r->rest,
					       *r->rest ? " " : "",
					       (int)(end - at) - (end[-1] == ' '), at);
	if (*at)
		r->rest = arena_printf(a, "%s%s%s", r->rest, *r->rest ? " " : "", at);
}

/* Prints a record in columns: the time, the level, the subject and the text. A narrow terminal
 * shows the text below the others. */
static void logs_put_record(const struct cli *cli, struct arena *a,
			    const struct logs_record *r)
{
	enum { LEVEL = 5, SUBJECT = 16, NARROW = 72 };
	const bool narrow = cli->width && cli->width < NARROW;
	const char *subject = r->subject ? r->subject : "host";
	const size_t has = cli_width(subject);
	const size_t fit = has > SUBJECT ? cli_fit(subject, SUBJECT - 1) : 0;
	const int at = narrow ? INDENT
			      : (int)cli_width(r->time) + LEVEL + SUBJECT + 3 * INDENT;

	if (fit && !narrow)
		subject = arena_printf(a, "%.*s…", (int)fit, subject);
	printf("%s%s%s  %s%*s  %s%*s", screen_dim(cli), r->time, screen_plain(cli),
	       cli_colored(cli, a, r->level),
	       LEVEL - (int)strlen(r->level) > 0 ? LEVEL - (int)strlen(r->level) : 0, "",
	       subject, narrow || has > SUBJECT ? 0 : (int)(SUBJECT - has), "");
	printf("%s%*s", narrow ? "\n" : "", INDENT, "");
	if (*r->rest && (!cli->width ||
			 at + (int)(cli_width(r->what) + INDENT + cli_width(r->rest)) <=
				 cli->width)) {
		printf("%s  %s%s%s\n", r->what, screen_dim(cli), r->rest,
		       screen_plain(cli));
		return;
	}
	cli_item(cli, r->what, at);
	if (*r->rest) {
		fputs(screen_dim(cli), stdout);
		cli_prose(cli, r->rest, at);
		fputs(screen_plain(cli), stdout);
	}
}

/* Prints a line of the log, `time=… level=… msg=… KEY=VALUE…`, in a form for people. */
static void logs_put_plain(const struct cli *cli, struct arena *a, const char *line)
{
	const char *plain = cli_plain(a, line, false), *end, *rest = NULL;
	struct logs_record r = {
		.time = find_value(a, plain, "time", &end),
		.level = find_value(a, plain, "level", &end),
		.what = find_value(a, plain, "msg", &rest),
		.rest = "",
	};

	if (!r.time || !r.level || !r.what || time_parse(r.time) < 0) {
		cli_item(cli, plain, 0);
		return;
	}
	r.time = screen_time(cli, a, r.time);
	logs_sort_fields(a, rest, &r);
	logs_put_record(cli, a, &r);
}

/* Prints a line of the log as a JSON object. */
static void logs_put_json(struct arena *a, const char *line)
{
	json_t *out = json_object();
	const char *at = line, *end, *key, *value;

	for (; (key = logs_field(a, at, &value, &end)); at = end)
		json_object_set_new(out, key, json_text(value));
	if (*at)
		json_object_set_new(out, "rest", json_text(at));
	print_json_new(out);
}

static void logs_put_line(const struct shown *s, const char *line)
{
	struct arena a = { 0 };

	if (logs_level_of(&a, line) <= s->least) {
		if (s->cli->json)
			logs_put_json(&a, line);
		else if (s->cli->terminal)
			logs_put_plain(s->cli, &a, line);
		else
			puts(line);
	}
	arena_release(&a);
}

/* Shows bytes of the log. An incomplete line at the end is stored until its rest is read. */
static void put_bytes(struct shown *s, const char *data, size_t n)
{
	const char *end;

	while ((end = memchr(data, '\n', n))) {
		text_add(&s->line, data, (size_t)(end - data));
		text_add(&s->line, "", 1);
		logs_put_line(s, s->line.data);
		s->line.len = 0;
		n -= (size_t)(end + 1 - data);
		data = end + 1;
	}
	text_add(&s->line, data, n);
}

/* Shows the log from the offset `at` on; returns the offset of the log's end. */
static off_t show_from(struct shown *s, int fd, off_t at)
{
	char data[65536];
	ssize_t n;

	while ((n = pread(fd, data, sizeof(data), at)) > 0) {
		put_bytes(s, data, (size_t)n);
		at += n;
	}
	fflush(stdout);
	return at;
}

/* Shows new lines until standard output can no longer be written. After a rotation, continues
 * in the new file. */
static void logs_follow(struct shown *s, const char *path, int fd, off_t at)
{
	const struct timespec pause = { .tv_nsec = LOOK_EVERY_MS * 1000000L };
	struct stat old, now;
	int next;

	while (!ferror(stdout)) {
		nanosleep(&pause, NULL);
		at = show_from(s, fd, at);
		if (stat(path, &now) || fstat(fd, &old) || now.st_ino == old.st_ino)
			continue;
		next = open(path, O_RDONLY | O_CLOEXEC);
		if (next < 0)
			continue;
		show_from(s, fd, at);
		close(fd);
		fd = next;
		at = 0;
	}
}

/* Takes the command's arguments; false: an argument is wrong. */
static bool logs_take_words(struct shown *s, long *lines, bool *follows, int argc,
			    char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *n = cli_option(argc, argv, &i, "-n");
		const char *level = n ? NULL : cli_option(argc, argv, &i, "--level");
		char *end = NULL;

		if (n) {
			*lines = strtol(n, &end, 10);
			if (!*n || *end || *lines < 0)
				return false;
		} else if (level) {
			s->least = logs_level_named(level);
			if (s->least < 0)
				return false;
		} else if (strcmp(argv[i], "-f") == 0) {
			*follows = true;
		} else {
			return false;
		}
	}
	return true;
}

int logs_main(struct cli *cli, int argc, char **argv)
{
	struct shown s = { .cli = cli, .least = LOG_LEVEL_DEBUG };
	struct fault f = { 0 };
	long lines = -1;
	bool follows = false;
	char path[4200];
	struct stat st;
	int fd;

	if (!logs_take_words(&s, &lines, &follows, argc, argv))
		return cli_usage(cli, "`logs` takes -n LINES, -f and --level "
				      "error|warn|info|debug");
	if (cli_folder(cli, HOME_LOOK, &f) < 0)
		return cli_fault(cli, &f);
	snprintf(path, sizeof(path), "%s/log/host.log", cli->home.dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		if (errno == ENOENT)
			fault_set(&f, FAULT_NOT_FOUND, "", "there is no log yet");
		else
			fault_set(&f, FAULT_NOT_FOUND, "", "%.150s: %m", path);
		fault_hint(&f, "A host writes the log. Start a host with: cadre up.");
		return cli_fault(cli, &f);
	}
	if (lines < 0) /* --level leaves few lines, so all of them are shown */
		lines = s.least == LOG_LEVEL_DEBUG ? LINES : LONG_MAX;
	cli->clock = true;
	st.st_size = show_from(
		&s, fd, lines ? logs_find_start(fd, st.st_size, lines) : st.st_size);
	signal(SIGPIPE, SIG_DFL);
	if (!follows && s.line.len) { /* the last line has no newline yet */
		text_add(&s.line, "", 1);
		logs_put_line(&s, s.line.data);
	}
	if (follows)
		logs_follow(&s, path, fd, st.st_size);
	text_release(&s.line);
	close(fd);
	return 0;
}
