/*
 * floor - measures the speed of an MCP server on two pipes, and of a minimal server (the echo)
 * for comparison.
 *
 *	floor --echo BYTES        answers each line with BYTES bytes.
 *	floor COMMAND...          measures a server's start, up to its first answer, and its calls.
 *
 * The second form measures the command, and then the echo, in the same run. For command and
 * echo the program prints the p50 of the time from spawn to first answer. The program also
 * prints the p50 and p99 of the time of a call. The calls are sequential, and use the tool
 * `task` with the action `list`.
 *
 *	gcc -O2 -D_GNU_SOURCE -o build/floor tests/mcp/floor.c
 *	build/floor build/cadre mcp
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SPAWNS = 41, WARM = 200, CALLS = 4000, ANSWER_MAX = 1 << 20 };

#define HELLO                                                                     \
	"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"    \
	"\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{" \
	"\"name\":\"floor\",\"version\":\"1\"}}}\n"

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e6 + ts.tv_nsec / 1e3;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* --- the floor ----------------------------------------------------------------- */

static void put(int fd, const char *data, size_t len)
{
	for (ssize_t n; len; data += n, len -= (size_t)n)
		if ((n = write(fd, data, len)) < 0)
			die("write");
}

static int echo(size_t bytes)
{
	static char in[1 << 16], out[ANSWER_MAX];
	ssize_t n;

	if (bytes < 1 || bytes > sizeof(out))
		return 2;
	memset(out, 'x', bytes);
	out[bytes - 1] = '\n';
	while ((n = read(0, in, sizeof(in))) > 0)
		for (ssize_t i = 0; i < n; i++)
			if (in[i] == '\n')
				put(1, out, bytes);
	return 0;
}

/* --- the clock ------------------------------------------------------------------ */

struct server {
	pid_t pid;
	int in, out;
};

static struct server spawn(char **argv)
{
	int in[2], out[2];
	struct server s;

	if (pipe(in) || pipe(out))
		die("pipe");
	s.pid = fork();
	if (s.pid < 0)
		die("fork");
	if (s.pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		for (int fd = 3; fd < 20; fd++)
			close(fd);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	s.in = in[1];
	s.out = out[0];
	return s;
}

static void end(struct server *s)
{
	close(s->in);
	close(s->out);
	waitpid(s->pid, NULL, 0);
}

/* Sends a line and reads the answer up to its newline. Returns the answer's length. */
static size_t ask(const struct server *s, const char *line)
{
	static char answer[ANSWER_MAX];
	size_t len = 0;
	ssize_t n;

	put(s->in, line, strlen(line));
	do {
		n = read(s->out, answer + len, sizeof(answer) - len);
		if (n <= 0)
			die("no answer");
		len += (size_t)n;
	} while (answer[len - 1] != '\n');
	return len;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double percentile(double *v, int n, int p)
{
	qsort(v, (size_t)n, sizeof(*v), compare);
	return v[n * p / 100];
}

static double time_spawn(char **argv)
{
	double spent[SPAWNS];

	for (int i = 0; i < SPAWNS; i++) {
		double began = now_us();
		struct server s = spawn(argv);

		ask(&s, HELLO);
		spent[i] = now_us() - began;
		end(&s);
	}
	return percentile(spent, SPAWNS, 50);
}

static size_t time_calls(char **argv, double spent[CALLS])
{
	struct server s = spawn(argv);
	char line[200];
	size_t len = 0;

	ask(&s, HELLO);
	for (int i = -WARM; i < CALLS; i++) {
		double began;

		snprintf(
			line, sizeof(line),
			"{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{"
			"\"name\":\"task\",\"arguments\":{\"action\":\"list\"}}}\n",
			i + WARM);
		began = now_us();
		len = ask(&s, line);
		if (i >= 0)
			spent[i] = now_us() - began;
	}
	end(&s);
	return len;
}

static size_t report(const char *name, char **argv)
{
	static double spent[CALLS];
	double first = time_spawn(argv);
	size_t len = time_calls(argv, spent);
	double p50 = percentile(spent, CALLS, 50);

	printf("%-8s first answer p50 %6.2f ms   call p50 %6.1f us  p99 %6.1f us   %zu bytes\n",
	       name, first / 1e3, p50, percentile(spent, CALLS, 99), len);
	return len;
}

int main(int argc, char **argv)
{
	char bytes[24];
	char *floor_argv[] = { argv[0], (char *)"--echo", bytes, NULL };

	if (argc == 3 && strcmp(argv[1], "--echo") == 0)
		return echo(strtoul(argv[2], NULL, 10));
	if (argc < 2)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	snprintf(bytes, sizeof(bytes), "%zu", report("server", argv + 1));
	report("floor", floor_argv);
	return 0;
}
