/*
 * stdio - MCP over stdin and stdout: stdout gets one message per line, and nothing else.
 */
#include "mcp/mcp.h"

#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mcp/rpc.h"

static const char usage[] =
	"usage: cadre mcp [--toolsets core,workspace] [--output-schemas] [--operator] "
	"[--direct]\n"
	"       cadre mcp --cost [--toolsets core,workspace] [--output-schemas]\n"
	"Serves the Model Context Protocol on standard input and output.  --cost prints how\n"
	"many tokens of a model's context the list of tools takes, for each set and for all\n"
	"sets together; 4 bytes count as a token.\n";

enum {
	OUT_MOST = 1 << 20, /* if a round has this many bytes of output, they are written
			       before the end of the round */
	UNREAD_MOST_MS = 1000,
};

struct stdio {
	struct mcp *mcp;
	struct lines in;
	struct text out;
	uint64_t sent; /* bytes that the client had sent before the last write */
	bool broken; /* nobody reads stdout any more */
	int unread_ms; /* time to the next check of unread output; 0: no check */
};

/* The number of bytes that the client has sent so far, including the bytes that this process
 * has not read. */
static uint64_t sent_by_now(const struct stdio *s)
{
	int waiting = 0;

	if (ioctl(STDIN_FILENO, FIONREAD, &waiting) || waiting < 0)
		waiting = 0;
	return s->in.total + (uint64_t)waiting;
}

/* Writes all output. While the client does not read, the function blocks, and no input of the
 * client is read. */
static void stdio_write_out(struct stdio *s)
{
	size_t done = 0;

	if (s->out.len) {
		s->sent = sent_by_now(s);
		s->unread_ms = 1;
	}
	while (done < s->out.len && !s->broken) {
		ssize_t n = write(STDOUT_FILENO, s->out.data + done, s->out.len - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno == EAGAIN)
			poll(&(struct pollfd){ .fd = STDOUT_FILENO, .events = POLLOUT },
			     1, -1);
		else if (errno != EINTR)
			s->broken = true;
	}
	s->out.len = 0;
}

/* Appends a message to the output. The answers of one round are written together, unless they
 * exceed OUT_MOST bytes. */
static void keep_message(void *arg, const struct mcp_message *message)
{
	struct stdio *s = arg;

	text_add(&s->out, message->text, message->len);
	if (s->out.len >= OUT_MOST)
		stdio_write_out(s);
}

/* Returns the number of bytes of output that the client has not read. Returns -1 if the number
 * is not known: for a file, a terminal, or a connection to another machine. */
static int count_unread(void)
{
	int domain = 0, n = -1;
	socklen_t len = sizeof(domain);
	struct stat st;

	if (getsockopt(STDOUT_FILENO, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0)
		return domain == AF_UNIX && ioctl(STDOUT_FILENO, SIOCOUTQ, &n) == 0 ? n
										    : -1;
	/* For a terminal, FIONREAD would return the number of bytes that this process can read,
	 * so FIONREAD is used only for a pipe. */
	if (fstat(STDOUT_FILENO, &st) || !S_ISFIFO(st.st_mode))
		return -1;
	return ioctl(STDOUT_FILENO, FIONREAD, &n) == 0 ? n : -1;
}

/* Checks whether the client has read all output. The first check is soon after an answer. Each
 * pause between checks is twice as long as the pause before, up to UNREAD_MOST_MS. */
static void check_unread(struct stdio *s)
{
	int unread = mcp_has_unread(s->mcp) ? count_unread() : -1;

	if (unread == 0)
		mcp_was_read(s->mcp, sent_by_now(s));
	if (unread <= 0)
		s->unread_ms = 0;
	else
		s->unread_ms = s->unread_ms * 2 < UNREAD_MOST_MS ? s->unread_ms * 2
								 : UNREAD_MOST_MS;
}

static void stdio_flush(struct stdio *s)
{
	stdio_write_out(s);
	mcp_wrote(s->mcp, !s->broken, s->sent);
	if (s->unread_ms)
		check_unread(s);
}

static int until_due(const struct stdio *s)
{
	int due = mcp_timeout(s->mcp);

	return s->unread_ms && (due < 0 || s->unread_ms < due) ? s->unread_ms : due;
}

/* Handles the lines received so far, but stops as soon as mcp_full() returns true. */
static void take_lines(struct stdio *s)
{
	enum line got;
	char *line;
	size_t len;

	while (!mcp_full(s->mcp) && (got = lines_next(&s->in, &line, &len))) {
		if (got == LINE_TAKEN)
			mcp_handle_at(s->mcp, line, len, s->in.at);
		else
			mcp_refuse_long(s->mcp, NULL);
	}
}

static int wait_input(struct stdio *s)
{
	struct pollfd fds[2] = {
		{ .fd = s->in.ended || mcp_full(s->mcp) ? -1 : STDIN_FILENO,
		  .events = POLLIN },
		{ .fd = mcp_fd(s->mcp), .events = POLLIN },
	};
	int timeout = until_due(s);
	int n = poll(fds, 2, timeout);

	if (n < 0)
		return errno == EINTR ? 0 : -1;
	if (fds[0].revents && !lines_read(&s->in, STDIN_FILENO))
		s->in.ended = true;
	if (n == 0 || fds[1].revents || timeout == 0)
		mcp_step(s->mcp);
	return 0;
}

/* Serves until the input has ended and all requests are answered, or until nobody reads stdout
 * any more. */
static void stdio_serve(struct stdio *s)
{
	bool told = false;

	while (!s->broken) {
		if (wait_input(s))
			break;
		take_lines(s);
		if (s->in.ended && !told && !mcp_full(s->mcp)) {
			mcp_end(s->mcp);
			told = true;
		}
		stdio_flush(s);
		if (told && mcp_idle(s->mcp))
			break;
	}
}

static int bad_usage(const char *word)
{
	fprintf(stderr, "cadre mcp: unknown argument %s\n%s", word, usage);
	return fault_info(FAULT_INVALID)->exit_status;
}

/* Returns the value of the option --NAME=VALUE or --NAME VALUE at argv[*i]. Returns NULL if
 * argv[*i] is another option. */
static const char *option(const char *name, char **argv, int *i)
{
	size_t n = strlen(name);

	if (strncmp(argv[*i], name, n) != 0)
		return NULL;
	if (argv[*i][n] == '=')
		return argv[*i] + n + 1;
	if (argv[*i][n] || !argv[*i + 1])
		return NULL;
	return argv[++*i];
}

static int print_cost(struct mcp_options o, const char *sets, bool *told, struct fault *f)
{
	struct mcp *m;
	size_t tools, bytes;

	o.toolsets = sets;
	if (mcp_open(&m, &o, f) < 0)
		return f->code;
	if (!*told)
		printf("%-24s  %5s  %6s\n", "TOOLSETS", "TOOLS", "TOKENS");
	*told = true;
	tools = mcp_cost(m, &bytes);
	printf("%-24s  %5zu  %6zu\n", sets, tools, (bytes + 3) / 4);
	mcp_close(m);
	return 0;
}

/* Prints the size of the list of tools for the sets that the options name. If the options name
 * no set, prints the size for each set, and for all sets together. */
static int print_costs(const struct mcp_options *o, struct fault *f)
{
	const char *set = "";
	bool told = false;

	if (o->toolsets)
		return print_cost(*o, o->toolsets, &told, f);
	for (size_t i = 0; i < tool_count; i++) {
		if (strcmp(tool_table[i].set, set) == 0 || tool_table[i].unlisted)
			continue;
		set = tool_table[i].set;
		if (print_cost(*o, set, &told, f) < 0)
			return f->code;
	}
	return print_cost(*o, "all", &told, f);
}

static int stdio_refuse(const struct fault *f)
{
	char hint[HINT_SIZE];

	fprintf(stderr, "cadre mcp: %s\n%s\n", f->text, hint_plain(f->hint, hint));
	return fault_info(f->code)->exit_status;
}

static int read_options(int argc, char **argv, struct mcp_options *o, bool *cost)
{
	const char *sets;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--output-schemas") == 0)
			o->output_schemas = true;
		else if (strcmp(argv[i], "--direct") == 0)
			o->direct = true;
		else if (strcmp(argv[i], "--operator") == 0)
			o->acts_as_operator = true;
		else if (strcmp(argv[i], "--cost") == 0)
			*cost = true;
		else if ((sets = option("--toolsets", argv, &i)))
			o->toolsets = sets;
		else
			return bad_usage(argv[i]);
	}
	return 0;
}

int mcp_main(int argc, char **argv, struct home *home)
{
	struct stdio s = { 0 };
	struct mcp_options o = { .home = home, .send = keep_message, .arg = &s };
	struct fault f = { 0 };
	bool cost = false;
	int status = read_options(argc, argv, &o, &cost);

	if (status)
		return status;
	if (cost)
		return print_costs(&o, &f) < 0 ? stdio_refuse(&f) : 0;
	signal(SIGPIPE, SIG_IGN);
	if (mcp_open(&s.mcp, &o, &f))
		return stdio_refuse(&f);
	stdio_serve(&s);
	mcp_close(s.mcp);
	lines_release(&s.in);
	text_release(&s.out);
	return 0;
}
