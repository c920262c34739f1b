/*
 * editor - texts that a person writes in an editor: `cadre send ann` on a terminal.
 *
 * A person's text is not lost.  The file is removed once its text is used, or if nothing was typed.
 * In all other cases the file's path is printed.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/home/paths.h"
#include "tools/cadre/cli.h"

/* --- the file -------------------------------------------------------------------------- */

/* Whether a folder is this user's, and nobody else may look into it. */
static bool is_private(const char *path)
{
	struct stat st;

	return path && path[0] == '/' && !stat(path, &st) && S_ISDIR(st.st_mode) &&
	       st.st_uid == geteuid() && !(st.st_mode & 077);
}

/* Where the file is made: it is 0600 in any case. */
static const char *choose_folder(const struct cli *cli)
{
	const char *runtime = paths_env("XDG_RUNTIME_DIR"), *temp = paths_env("TMPDIR");

	if (is_private(runtime))
		return runtime;
	if (cli->home.dir[0])
		return cli->home.dir;
	return temp && temp[0] == '/' ? temp : "/tmp";
}

static bool editor_write_all(int fd, const char *data, size_t len)
{
	for (ssize_t n; len; data += n, len -= (size_t)n) {
		n = write(fd, data, len);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n < 0)
			return false;
	}
	return true;
}

static int editor_make_file(const struct cli *cli, struct scratch *d, const char *name,
			    const struct text *text, struct fault *f)
{
	int fd;

	snprintf(d->path, sizeof(d->path), "%s/cadre-%s-XXXXXX.md", choose_folder(cli),
		 name);
	fd = mkostemps(d->path, 3, O_CLOEXEC);
	if (fd < 0) {
		fault_set(f, FAULT_IO, "", "cannot make %.150s: %m", d->path);
		d->path[0] = '\0';
		return f->code;
	}
	if (!editor_write_all(fd, text->data, text->len)) {
		fault_set(f, FAULT_IO, "", "cannot write %.150s: %m", d->path);
		scratch_end(d, false);
	}
	close(fd);
	return f->code;
}

void scratch_end(struct scratch *d, bool keep)
{
	if (d->path[0] && keep && access(d->path, F_OK) == 0)
		fprintf(stderr, "what you wrote is kept: %s\n", d->path);
	else if (d->path[0])
		unlink(d->path);
	d->path[0] = '\0';
}

/* --- the editor ------------------------------------------------------------------------ */

static const char *editor_command(void)
{
	const char *visual = paths_env("VISUAL"), *editor = paths_env("EDITOR");

	return visual ? visual : editor ? editor : "vi";
}

/* Runs the editor, which may be a command with arguments, with the file as one more:
 * its wait status, or -1.  The signals of the keyboard are for the editor meanwhile. */
static int run_editor(const char *command, char *path)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, was[2];
	struct arena arena = { 0 };
	char *words = arena_printf(&arena, "%s \"$@\"", command);
	int status = -1;
	pid_t pid;

	fflush(NULL);
	sigaction(SIGINT, &ignore, &was[0]);
	sigaction(SIGQUIT, &ignore, &was[1]);
	pid = fork();
	if (pid == 0) {
		sigaction(SIGINT, &was[0], NULL);
		sigaction(SIGQUIT, &was[1], NULL);
		signal(SIGXFSZ, SIG_DFL);
		execl("/bin/sh", "sh", "-c", words, command, path, (char *)NULL);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	sigaction(SIGINT, &was[0], NULL);
	sigaction(SIGQUIT, &was[1], NULL);
	arena_release(&arena);
	return status;
}

static int editor_failed(const char *command, int status, struct fault *f)
{
	if (WIFSIGNALED(status))
		fault_set(f, FAULT_INVALID, "",
			  "the editor `%.60s` was ended by signal %d: nothing is done",
			  command, WTERMSIG(status));
	else
		fault_set(f, FAULT_INVALID, "",
			  "the editor `%.60s` ended with status %d: nothing is done",
			  command, status < 0 ? 127 : WEXITSTATUS(status));
	return fault_hint(f, "Say which editor to use in VISUAL or EDITOR.");
}

bool scratch_can(const struct cli *cli)
{
	return cli->terminal && isatty(STDIN_FILENO) && !cli->json;
}

int scratch_edit(struct cli *cli, struct scratch *d, const char *name,
		 const struct text *text, struct text *out, struct fault *f)
{
	const char *command = editor_command();
	int status;

	client_close(cli->client); /* nothing is held open while somebody writes */
	cli->client = NULL;
	if (editor_make_file(cli, d, name, text, f) < 0)
		return f->code;
	status = run_editor(command, d->path);
	if (status)
		editor_failed(command, status, f);
	/* Also what an editor that failed has left may be somebody's work. */
	if (fetch_file(d->path, out, f) == 0 && f->code && out->len == text->len &&
	    !memcmp(out->data, text->len ? text->data : "", text->len))
		scratch_end(d, false);
	return f->code;
}

/* --- the text of an operation ---------------------------------------------------------- */

/* Whether the words are right but for the text, so that nobody writes one in vain. */
static int editor_check_rest(const struct op *op, json_t *args, struct fault *f)
{
	json_t *all = json_copy(args);
	struct arena arena = { 0 };
	void *in = arena_alloc(&arena, op->in->size);
	int rc;

	json_object_set_new(all, op->editor->name, json_string("text"));
	rc = op_decode(op->in, all, in, DECODE_STRICT, &arena, f);
	arena_release(&arena);
	json_decref(all);
	return rc;
}

/* Empty lines at the end are the editor's. */
static void editor_trim(struct text *text)
{
	while (text->len && strchr(" \t\r\n", text->data[text->len - 1]))
		text->data[--text->len] = '\0';
}

int editor_take(struct cli *cli, const struct op *op, json_t *args, struct scratch *d,
		struct fault *f)
{
	struct text none = { 0 }, text = { 0 };
	const char *name;

	if (!op->editor || json_object_get(args, field_spelling(op->editor, args)) ||
	    !scratch_can(cli))
		return 0;
	if (editor_check_rest(op, args, f) < 0 || cli_client(cli, HOME_WRITE, f) < 0)
		return f->code;
	name = op->editor->name;
	if (scratch_edit(cli, d, op->cli[0], &none, &text, f) == 0) {
		editor_trim(&text);
		if (text.len) {
			json_object_set_new(args, name,
					    json_stringn(text.data, text.len));
		} else {
			scratch_end(d, false);
			fault_set(f, FAULT_INVALID, "",
				  "the %s is empty: nothing is done", name);
		}
	}
	text_release(&text);
	return f->code;
}
