/*
 * editor - lets a person write a text in an editor, as for `cadre send ann` on a terminal.
 *
 * A person's text is not lost. The file with the text is removed once the text is used, or if
 * the person typed nothing. In all other cases the file's path is printed.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/home/paths.h"
#include "core/machine/yaml.h"
#include "core/vault/vault_text.h"
#include "ops.gen.h"
#include "storage/durable.h"
#include "tools/cadre/cli.h"

/* --- the file -------------------------------------------------------------------------- */

/* Whether a folder belongs to this user and is closed to all others. */
static bool is_private(const char *path)
{
	struct stat st;

	return path && path[0] == '/' && !stat(path, &st) && S_ISDIR(st.st_mode) &&
	       st.st_uid == geteuid() && !(st.st_mode & 077);
}

/* Chooses the folder for the file with the text. The file's mode is 0600, whatever the folder's
 * mode is. */
static const char *choose_folder(const struct cli *cli)
{
	const char *runtime = paths_env("XDG_RUNTIME_DIR"), *temp = paths_env("TMPDIR");

	if (is_private(runtime))
		return runtime;
	if (cli->home.dir[0])
		return cli->home.dir;
	return temp && temp[0] == '/' ? temp : "/tmp";
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
	if (fd_write_all(fd, text->data, text->len)) {
		fault_set(f, FAULT_IO, "", "cannot write %.150s: %m", d->path);
		scratch_end(d, false);
	}
	close(fd);
	return f->code;
}

void scratch_end(struct scratch *d, bool keep)
{
	if (d->path[0] && keep && access(d->path, F_OK) == 0)
		fprintf(stderr, "your text is kept: %s\n", d->path);
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

/* Runs the editor on the file. `command` may have arguments; the file's path is added as the
 * last argument. Returns the wait status, or -1. While the editor runs, only the editor handles
 * the signals of the keyboard. */
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
			  "the editor `%.60s` was ended by signal %d: nothing "
			  "was changed",
			  command, WTERMSIG(status));
	else
		fault_set(f, FAULT_INVALID, "",
			  "the editor `%.60s` ended with status %d: nothing was done",
			  command, status < 0 ? 127 : WEXITSTATUS(status));
	return fault_hint(f, "Say which editor to use in VISUAL or EDITOR.");
}

/* Whether a person can edit a text. The command needs a terminal, and must not have the option
 * --json. */
static bool scratch_can(const struct cli *cli)
{
	return cli->terminal && isatty(STDIN_FILENO) && !cli->json;
}

/* Lets a person edit `text` in a file named after `name`. Returns 0 with the edited text in
 * `out`, or a fault. The caller calls scratch_end() for the file afterwards. */
static int scratch_edit(struct cli *cli, struct scratch *d, const char *name,
			const struct text *text, struct text *out, struct fault *f)
{
	const char *command = editor_command();
	int status;

	client_close(cli->client); /* no connection is open while the person writes */
	cli->client = NULL;
	if (editor_make_file(cli, d, name, text, f) < 0)
		return f->code;
	status = run_editor(command, d->path);
	if (status)
		editor_failed(command, status, f);
	/* Even if the editor failed, an edited file may hold a person's work, so the file is
	 * kept. */
	if (fetch_file(d->path, out, f) == 0 && f->code && out->len == text->len &&
	    !memcmp(out->data, text->len ? text->data : "", text->len))
		scratch_end(d, false);
	return f->code;
}

/* --- the text of an operation ---------------------------------------------------------- */

/* Checks all arguments except the text, so that a person does not write the text in vain. */
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

/* Removes the blanks and empty lines that the editor adds at the end of a text. */
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
				  "the %s is empty: nothing was changed", name);
		}
	}
	text_release(&text);
	return f->code;
}

/*
 * `cadre task edit` opens a task in an editor, as a page of Markdown.
 *
 * The page looks like the mirror's file of the task, but has only the parts that may be edited.
 * The edited page is compared with the original page, part by part. Parts that the person did
 * not change are not sent, so that other callers' changes to these parts stay. A part that the
 * person and another caller have both changed is a conflict. Before the changes are sent, the
 * original page is also compared with the current task. The state refuses the changes if the
 * task has changed since this comparison. After a refusal by the state, the changes are
 * compared with the changed task, and are sent again.
 */

/* Maximum number of attempts to send, if other callers keep changing the task. */
enum { TRIES = 10 };

static const char description_at[] = "Description", criteria_at[] = "Acceptance Criteria";

/* --- a task as a page --------------------------------------------------------------- */

/* If a line is the heading of a section, such as `## Description`, returns the section's name.
 * Otherwise returns NULL. */
static const char *section_of(const char *line, size_t len)
{
	const char *const names[] = { description_at, criteria_at };

	while (len && strchr(" \t\r", line[len - 1]))
		len--;
	if (len < 3 || memcmp(line, "## ", 3) != 0)
		return NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (len - 3 == strlen(names[i]) && !memcmp(line + 3, names[i], len - 3))
			return names[i];
	return NULL;
}

/* Whether a line would be the heading of a section if the backslashes at its beginning were
 * removed. If such a line is in the description, the page shows the line with one more
 * backslash. */
static bool is_marked(const char *line, size_t len)
{
	size_t n = strspn(line, "\\");

	return n <= len && section_of(line + n, len - n);
}

static void edit_add_prose(struct text *t, const char *s)
{
	while (*s) {
		size_t len = strcspn(s, "\n");

		text_addf(t, "%s", is_marked(s, len) ? "\\" : "");
		text_add(t, s, len);
		text_add(t, "\n", 1);
		s += len + (s[len] == '\n');
	}
}

static void edit_write_page(const json_t *task, struct text *t)
{
	json_t *item;
	size_t i;

	text_addf(t, "---\npriority: %lld\ntags: [", json_int_at(task, "priority"));
	json_array_foreach(json_object_get(task, "tags"), i, item) {
		text_addf(t, "%s", i ? ", " : "");
		text_add_json(t, json_string_value(item));
	}
	text_addf(t, "]\n---\n\n# %s\n\n## %s\n\n", json_text_at(task, "title"),
		  description_at);
	edit_add_prose(t, json_text_at(task, "description"));
	text_addf(t, "\n## %s\n\n", criteria_at);
	json_array_foreach(json_object_get(task, "acceptance_criteria"), i, item)
		text_addf(t, "- [%c] %s\n",
			  json_is_true(json_object_get(item, "done")) ? 'x' : ' ',
			  json_text_at(item, "text"));
}

/* --- a page as the parts of a task -------------------------------------------------- */

/* A page that is being read. Parts of the task that are not on the page stay unchanged. */
struct reading {
	json_t *parts;
	const char *section; /* section of the current line; NULL: no section yet */
	struct text prose;
	struct fault *fault;
};

static int not_understood(struct reading *r, const char *line, size_t len,
			  const char *hint)
{
	fault_set(r->fault, FAULT_INVALID, "",
		  "cadre cannot read this line of the page: %.*s",
		  len > 100 ? 100 : (int)len, line);
	return fault_hint(r->fault, "%s", hint);
}

/* Reads a criterion from a line: `- [ ] text`, `- [x] text` or `- text`. */
static int read_criterion(struct reading *r, const char *line, size_t len)
{
	json_t *list = json_object_get(r->parts, "acceptance_criteria");
	bool done = false;

	if (len < 2 || !strchr("-*", *line) || line[1] != ' ')
		return not_understood(r, line, len,
				      "Write each criterion on a line: - [ ] TEXT.");
	line += 2, len -= 2;
	if (len >= 3 && line[0] == '[' && strchr(" xX", line[1]) && line[2] == ']') {
		done = line[1] != ' ';
		line += 3, len -= 3;
	}
	while (len && *line == ' ')
		line++, len--;
	json_array_append_new(list,
			      json_pack("{s:s%, s:b}", "text", line, len, "done", done));
	return 0;
}

static void begin_section(struct reading *r, const char *name)
{
	r->section = name;
	if (name == criteria_at && !json_object_get(r->parts, "acceptance_criteria"))
		json_object_set_new(r->parts, "acceptance_criteria", json_array());
	else if (name == description_at)
		json_object_set_new(r->parts, "description", json_string(""));
}

static int edit_read_line(struct reading *r, const char *line, size_t len)
{
	const char *section = section_of(line, len);
	size_t end = len;

	while (end && strchr(" \t\r", line[end - 1]))
		end--;
	if (section) {
		begin_section(r, section);
	} else if (r->section == description_at) {
		size_t skip = *line == '\\' && is_marked(line, len);

		text_add(&r->prose, line + skip, len - skip);
		text_add(&r->prose, "\n", 1);
	} else if (end && r->section) {
		return read_criterion(r, line, end);
	} else if (end > 2 && !memcmp(line, "# ", 2) &&
		   !json_object_get(r->parts, "title")) {
		json_object_set_new(r->parts, "title", json_stringn(line + 2, end - 2));
	} else if (end) {
		return not_understood(r, line, end,
				      "Write the text below ## Description.");
	}
	return 0;
}

static int edit_read_body(struct reading *r, const char *at)
{
	const char *text;
	size_t len;

	while (*at) {
		len = strcspn(at, "\n");
		if (edit_read_line(r, at, len) < 0)
			return r->fault->code;
		at += len + (at[len] == '\n');
	}
	if (!json_object_get(r->parts, "description") || !r->prose.len)
		return 0;
	text = r->prose.data + strspn(r->prose.data, "\n");
	len = strlen(text);
	while (len && text[len - 1] == '\n')
		len--;
	return json_object_set_new(r->parts, "description", json_stringn(text, len));
}

/* Reads priority and tags at the beginning of the page. Any other key is a fault. */
static int read_front(struct reading *r, const struct text *page, size_t size)
{
	const char *start = strchr(page->data, '\n') + 1, *end = page->data + size - 1;
	struct arena arena = { 0 };
	json_t *map = NULL, *value;
	const char *key;
	int rc;

	while (end > start && end[-1] != '\n')
		end--;
	rc = yaml_read(start, (size_t)(end - start), &map, NULL, &arena, r->fault);
	arena_release(&arena);
	if (rc == FAULT_CONFLICT) {
		r->fault->code = rc = FAULT_INVALID;
		fault_hint(r->fault, "The lines between the --- are YAML, such as: tags: "
				     "[docs, api].");
	}
	json_object_foreach(map, key, value) {
		if (strcmp(key, "priority") != 0 && strcmp(key, "tags") != 0) {
			fault_set(r->fault, FAULT_INVALID, "",
				  "%.60s cannot be edited here: only priority and tags "
				  "can",
				  key);
			rc = r->fault->code;
			break;
		}
		if (json_is_null(value))
			value = json_array();
		else
			json_incref(value);
		json_object_set_new(r->parts, key, value);
	}
	json_decref(map);
	return rc;
}

/* Reads the parts of the task from a page. Returns NULL with the fault filled if the page
 * cannot be read. */
static json_t *edit_read_page(const struct text *page, struct fault *f)
{
	struct reading r = { .parts = json_object(), .fault = f };
	size_t size = vault_note_front(page->data, page->len);
	int rc = size ? read_front(&r, page, size) : 0;

	if (rc == 0)
		rc = edit_read_body(&r, page->data + size);
	text_release(&r.prose);
	if (rc < 0)
		json_decref(r.parts);
	return rc < 0 ? NULL : r.parts;
}

/* --- the task ------------------------------------------------------------------------- */

/* Reads the rest of a list or text of a task, because the earlier answer had only the beginning
 * of the list or text. */
static int read_rest(struct cli *cli, const char *id, json_t *task, const char *part,
		     struct fault *f)
{
	bool is_text = !strcmp(part, "description");
	json_t *all = is_text ? NULL : json_array(), *answer = NULL;
	json_t *args = json_pack("{s:s, s:s, s:s*}", "task", id, "part", part, "team",
				 cli->team);
	struct text text = { 0 };

	do {
		json_decref(answer);
		answer = run_op(cli, op_task_part, args, f);
		if (is_text)
			text_addf(&text, "%s", json_text_at(answer, "text"));
		else
			json_array_extend(all,
					  json_object_get(answer, !strcmp(part, "tags")
									  ? "entries"
									  : part));
		json_object_set(args, "offset", json_object_get(answer, "next"));
	} while (json_is_true(json_object_get(answer, "more")));
	if (answer)
		json_object_set_new(task, part,
				    is_text ? json_stringn(text.data, text.len)
					    : json_incref(all));
	text_release(&text);
	json_decref(answer);
	json_decref(args);
	json_decref(all);
	return f->code;
}

/* Writes the task as a page. `*at` becomes the time of the task's last change, unless `at` is
 * NULL. Returns 0, or a fault. */
static int fetch_page(struct cli *cli, const char *id, struct text *page, json_t **at,
		      struct fault *f)
{
	static const char *const parts[] = { "description", "acceptance_criteria",
					     "tags" };
	json_t *answer = run_args(cli, op_task_show,
				  json_pack("{s:s, s:s*}", "task", id, "team", cli->team),
				  f);
	json_t *task = json_object_get(answer, "task");

	if (json_is_true(json_object_get(task, "more")))
		for (size_t i = 0; i < 3 && !f->code; i++)
			read_rest(cli, id, task, parts[i], f);
	if (!f->code)
		edit_write_page(task, page);
	if (!f->code && at)
		*at = json_incref(json_object_get(task, "updated_at"));
	json_decref(answer);
	return f->code;
}

/* Returns the parts of `now` that differ from the parts of `was` with the same names. */
static json_t *changes_of(json_t *was, json_t *now)
{
	json_t *changes = json_object(), *value;
	const char *key;

	json_object_foreach(now, key, value) {
		if (!json_equal(value, json_object_get(was, key)))
			json_object_set(changes, key, value);
	}
	return changes;
}

/* Returns a fault if another caller has meanwhile changed a part that is in `changes`. If there
 * is no fault, `*at` is the time of the task's last change. */
static int check_meanwhile(struct cli *cli, const char *id, json_t *was, json_t *changes,
			   json_t **at, struct fault *f)
{
	struct text page = { 0 };
	json_t *now = NULL, *value;
	const char *key;

	if (fetch_page(cli, id, &page, at, f) == 0)
		now = edit_read_page(&page, f);
	json_object_foreach(changes, key, value) {
		if (!now ||
		    json_equal(json_object_get(now, key), json_object_get(was, key)))
			continue;
		fault_set(f, FAULT_CONFLICT, "", "the %s of task %s changed meanwhile",
			  key, id);
		fault_hint(f, "Edit the task again, and copy your changes from the kept "
			      "text.");
	}
	text_release(&page);
	json_decref(now);
	return f->code;
}

/* Compares the changes with the current task, and sends the changes. Returns the answer, or
 * NULL with a fault. The fault names the argument /updated_at if the task changed between
 * comparison and sending. */
static json_t *send_once(struct cli *cli, const char *id, json_t *was, json_t *changes,
			 struct fault *f)
{
	json_t *args, *at = NULL, *answer = NULL;

	if (check_meanwhile(cli, id, was, changes, &at, f) == 0) {
		args = json_pack("{s:s, s:O, s:s*}", "task", id, "updated_at", at, "team",
				 cli->team);
		json_object_update(args, changes);
		answer = run_args(cli, op_task_update, args, f);
	}
	json_decref(at);
	return answer;
}

/* Sends the changed parts, and returns the answer. Returns NULL with a fault if the call
 * failed, and NULL without a fault if the person changed no part. */
static json_t *send_changes(struct cli *cli, const char *id, json_t *was,
			    const struct text *after, struct fault *f)
{
	json_t *now = edit_read_page(after, f), *answer = NULL;
	json_t *changes = now ? changes_of(was, now) : NULL;

	for (int i = 0; i < TRIES && json_object_size(changes) && !answer; i++) {
		if (i && strcmp(f->where, "/updated_at") != 0)
			break;
		*f = (struct fault){ 0 };
		answer = send_once(cli, id, was, changes, f);
	}
	json_decref(changes);
	json_decref(now);
	return answer;
}

static int edit_text(struct cli *cli, const char *id, struct fault *f)
{
	struct text before = { 0 }, after = { 0 };
	struct scratch scratch = { "" };
	json_t *was = NULL, *answer = NULL;

	if (fetch_page(cli, id, &before, NULL, f) == 0)
		was = edit_read_page(&before, f);
	if (was && scratch_edit(cli, &scratch, "task", &before, &after, f) == 0)
		answer = send_changes(cli, id, was, &after, f);
	scratch_end(&scratch, f->code);
	if (answer)
		print_answer(cli, op_task_update, answer);
	else if (!f->code)
		cli_say("nothing changed");
	json_decref(answer);
	json_decref(was);
	text_release(&before);
	text_release(&after);
	return f->code;
}

int edit_main(struct cli *cli, int argc, char **argv)
{
	struct fault f = { 0 };

	if (argc != 2 || argv[1][0] == '-')
		return cli_usage(cli, "`task edit` needs a task");
	cli->op = op_task_update;
	if (!scratch_can(cli)) {
		fault_set(&f, FAULT_INVALID, "", "an editor needs a terminal");
		fault_hint(&f,
			   "Say what to change: cadre task update %.40s --title TEXT …",
			   argv[1]);
		return cli_fault(cli, &f);
	}
	return edit_text(cli, argv[1], &f) < 0 ? cli_fault(cli, &f) : 0;
}
