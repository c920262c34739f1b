/*
 * logs - shows the host's log: on a terminal by the clock of this place and wrapped at words,
 * elsewhere as it is.
 */
#include <fcntl.h>
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

/* Where the last `lines` lines of the first `size` bytes begin. */
static off_t find_start(int fd, off_t size, long lines)
{
	char data[65536];
	off_t at = size;

	while (at > 0) {
		size_t n = at < (off_t)sizeof(data) ? (size_t)at : sizeof(data);

		at -= (off_t)n;
		if (pread(fd, data, n, at) != (ssize_t)n)
			return at;
		for (size_t i = n; i-- > 0;) {
			/* The newline that ends the file ends no line before it. */
			if (data[i] != '\n' || at + (off_t)i + 1 == size)
				continue;
			if (--lines == 0)
				return at + (off_t)i + 1;
		}
	}
	return 0;
}

/* The log as it is shown. */
struct shown {
	const struct cli *cli;
	struct text line; /* the beginning of one that is not whole yet */
};

/* Prints a line, `TIME LEVEL TEXT`, as a person reads it. */
static void put_line(const struct cli *cli, const char *line)
{
	struct arena a = { 0 };
	const char *plain = cli_plain(&a, line, false), *rest = plain, *time = "";
	const size_t stamp = strcspn(plain, " ");
	size_t level = 0;

	if (time_parse(arena_strndup(&a, plain, stamp)) >= 0) {
		time = arena_printf(&a, "%s  ",
				    screen_time(cli, &a,
						arena_strndup(&a, plain, stamp)));
		rest = plain + stamp + strspn(plain + stamp, " ");
		level = strcspn(rest, " ");
		level += strspn(rest + level, " ");
	}
	printf("%s%s%s%.*s", screen_dim(cli), time, screen_plain(cli), (int)level, rest);
	cli_item(cli, rest + level, (int)(cli_width(time) + level));
	arena_release(&a);
}

/* Shows bytes of the log; of a line that is not whole the rest comes later. */
static void put_bytes(struct shown *s, const char *data, size_t n)
{
	const char *end;

	if (!s->cli->terminal) {
		fwrite(data, 1, n, stdout);
		return;
	}
	while ((end = memchr(data, '\n', n))) {
		text_add(&s->line, data, (size_t)(end - data));
		text_add(&s->line, "", 1);
		put_line(s->cli, s->line.data);
		s->line.len = 0;
		n -= (size_t)(end + 1 - data);
		data = end + 1;
	}
	text_add(&s->line, data, n);
}

/* Shows what is there from `at` on; returns where it ended. */
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

/* Goes on in the new file after a rotation. */
static void follow(struct shown *s, const char *path, int fd, off_t at)
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

int logs_main(struct cli *cli, int argc, char **argv)
{
	struct shown s = { .cli = cli };
	struct fault f = { 0 };
	long lines = LINES;
	bool follows = false;
	char path[4200], *end = NULL;
	struct stat st;
	int fd;

	for (int i = 1; i < argc; i++) {
		const char *value = cli_option(argc, argv, &i, "-n");

		follows |= !strcmp(argv[i], "-f");
		if (value)
			lines = strtol(value, &end, 10);
		if (value ? !*value || *end || lines < 0 : strcmp(argv[i], "-f") != 0)
			return cli_usage(cli, "`logs` takes -n LINES and -f");
	}
	if (cli_folder(cli, HOME_LOOK, &f) < 0)
		return cli_fault(cli, &f);
	snprintf(path, sizeof(path), "%s/log/host.log", cli->home.dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		fault_set(&f, FAULT_NOT_FOUND, "", "%.150s: %m", path);
		fault_hint(&f, "a host writes it: cadre up");
		return cli_fault(cli, &f);
	}
	cli->clock = true;
	st.st_size =
		show_from(&s, fd, lines ? find_start(fd, st.st_size, lines) : st.st_size);
	signal(SIGPIPE, SIG_DFL);
	if (!follows && s.line.len) { /* the last one is not ended */
		text_add(&s.line, "", 1);
		put_line(cli, s.line.data);
	}
	if (follows)
		follow(&s, path, fd, st.st_size);
	text_release(&s.line);
	close(fd);
	return 0;
}
