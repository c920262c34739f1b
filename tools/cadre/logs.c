#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tools/cadre/cli.h"

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

/* Copies what is there from `at` on; returns where it ended. */
static off_t copy_from(int fd, off_t at)
{
	char data[65536];
	ssize_t n;

	while ((n = pread(fd, data, sizeof(data), at)) > 0) {
		fwrite(data, 1, (size_t)n, stdout);
		at += n;
	}
	fflush(stdout);
	return at;
}

/* Goes on in the new file after a rotation. */
static void follow(const char *path, int fd, off_t at)
{
	const struct timespec pause = { .tv_nsec = LOOK_EVERY_MS * 1000000L };
	struct stat old, now;
	int next;

	while (!ferror(stdout)) {
		nanosleep(&pause, NULL);
		at = copy_from(fd, at);
		if (stat(path, &now) || fstat(fd, &old) || now.st_ino == old.st_ino)
			continue;
		next = open(path, O_RDONLY | O_CLOEXEC);
		if (next < 0)
			continue;
		copy_from(fd, at);
		close(fd);
		fd = next;
		at = 0;
	}
}

int logs_main(struct cli *cli, int argc, char **argv)
{
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
	st.st_size =
		copy_from(fd, lines ? find_start(fd, st.st_size, lines) : st.st_size);
	signal(SIGPIPE, SIG_DFL);
	if (follows)
		follow(path, fd, st.st_size);
	close(fd);
	return 0;
}
