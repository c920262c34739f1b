#include "guest/proc.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/op/op.h"
#include "guest/outbuf.h"
#include "storage/durable.h"

/* --- outbuf ------------------------------------------------------------------ */

enum { IN_MEMORY = 64 << 10 };

static const char marker[] = "\n"
			     "[cadre: output beyond 2 MiB was dropped]\n";
static const char unknown[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Makes an empty buffer; `folder` is borrowed until the buffer is released. */
static void outbuf_init(struct outbuf *o, const char *folder)
{
	*o = (struct outbuf){ .folder = folder };
}

static void outbuf_release(struct outbuf *o)
{
	free(o->data);
	if (o->fd)
		close(o->fd);
	*o = (struct outbuf){ .folder = o->folder };
}

/* --- keeping ------------------------------------------------------------------ */

/* Moves the kept output from memory to a file. If no file can be made, the output stays in
 * memory. */
static void move_to_file(struct outbuf *o)
{
	int fd = open(o->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		return;
	if (fd_write_all(fd, o->data, o->len)) {
		close(fd);
		return;
	}
	free(o->data);
	o->data = NULL;
	o->room = 0;
	o->fd = fd;
}

static bool outbuf_make_room(struct outbuf *o, size_t need)
{
	size_t room = o->room ? o->room : 1024;
	char *data;

	if (need <= o->room)
		return true;
	while (room < need)
		room *= 2;
	data = realloc(o->data, room);
	if (!data)
		return false;
	o->data = data;
	o->room = room;
	return true;
}

static void outbuf_keep(struct outbuf *o, const char *data, size_t len)
{
	if (!o->fd && o->len + len > IN_MEMORY && o->room < 2 * IN_MEMORY)
		move_to_file(o);
	if (o->fd) {
		if (fd_write_all(o->fd, data, len)) {
			/* The failed write may have put a part of `data` into the file. `len`
			 * does not count these bytes, and the next write replaces them. */
			lseek(o->fd, (off_t)o->len, SEEK_SET);
			o->cut = true;
			return;
		}
	} else if (!outbuf_make_room(o, o->len + len)) {
		o->cut = true;
		return;
	} else {
		memcpy(o->data + o->len, data, len);
	}
	o->len += len;
}

static size_t most(const struct outbuf *o)
{
	/* The higher limit `most` holds only for output that is in a file. If no file could be
	 * made, the output stays in memory, with the limit OUTBUF_MAX. */
	return o->most && (o->fd || o->len <= IN_MEMORY) ? o->most : OUTBUF_MAX;
}

static void outbuf_cut(struct outbuf *o)
{
	o->cut = true;
	outbuf_keep(o, marker, sizeof(marker) - 1);
}

/* Keeps one character of `len` bytes. The output may be cut before or after a character, but
 * not inside a character. */
static void keep_character(struct outbuf *o, const char *data, size_t len)
{
	o->all += len;
	if (o->cut)
		return;
	if (o->len + len > most(o))
		outbuf_cut(o);
	else
		outbuf_keep(o, data, len);
}

static void keep_plain(struct outbuf *o, const char *data, size_t len)
{
	size_t room = most(o) - o->len;

	o->all += len;
	if (o->cut)
		return;
	outbuf_keep(o, data, len < room ? len : room);
	if (len > room && !o->cut)
		outbuf_cut(o);
}

/* --- characters ------------------------------------------------------------------ */

/* Returns the length of the UTF-8 sequence that begins with `first`, and sets the lowest and
 * highest value of the sequence's second byte. Returns 0 if no sequence begins with `first`. */
static size_t sequence(unsigned char first, unsigned char *lo, unsigned char *hi)
{
	*lo = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
	*hi = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
	if (first >= 0xc2 && first <= 0xdf)
		return 2;
	if (first >= 0xe0 && first <= 0xef)
		return 3;
	return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

static bool outbuf_continues(const struct outbuf *o, unsigned char c)
{
	unsigned char lo, hi;

	sequence(o->part[0], &lo, &hi);
	return o->n_part == 1 ? c >= lo && c <= hi : (c & 0xc0) == 0x80;
}

/* Called at the end of the output, and when a byte does not continue a character. Turns an
 * incomplete character into U+FFFD. */
static void outbuf_end(struct outbuf *o)
{
	if (o->n_part) {
		keep_character(o, unknown, sizeof(unknown) - 1);
		o->replaced = true;
	}
	o->n_part = 0;
}

static void add_byte(struct outbuf *o, unsigned char c)
{
	unsigned char lo, hi;

	if (o->n_part && !outbuf_continues(o, c))
		outbuf_end(o);
	if (!o->n_part && c && c < 0x80) {
		keep_character(o, (const char *)&c, 1);
		return;
	}
	o->part[o->n_part++] = c;
	if (sequence(o->part[0], &lo, &hi) == 0) {
		outbuf_end(o);
	} else if (o->n_part == sequence(o->part[0], &lo, &hi)) {
		keep_character(o, (const char *)o->part, o->n_part);
		o->n_part = 0;
	}
}

static size_t plain_run(const char *data, size_t len)
{
	size_t n = 0;

	while (n < len && data[n] > 0)
		n++;
	return n;
}

static void outbuf_add(struct outbuf *o, const char *data, size_t len)
{
	while (len > 0) {
		size_t n = o->n_part ? 0 : plain_run(data, len);

		if (n > 0)
			keep_plain(o, data, n);
		else
			add_byte(o, (unsigned char)data[n++]);
		data += n;
		len -= n;
	}
}

/* Frees the file's space for the bytes before `offset`, because these bytes will not be read
 * again. */
static void outbuf_seen(struct outbuf *o, size_t offset)
{
	if (o->fd && offset <= o->len)
		(void)!fallocate(o->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
				 (off_t)offset);
}

/* --- reading ---------------------------------------------------------------------- */

const char *outbuf_read(const struct outbuf *o, size_t offset, size_t len,
			struct arena *a, size_t *got)
{
	char *to;

	if (offset > o->len)
		offset = o->len;
	if (len > o->len - offset)
		len = o->len - offset;
	to = arena_alloc(a, len + 1);
	*got = len;
	if (!o->fd) {
		if (len)
			memcpy(to, o->data + offset, len);
		return to;
	}
	for (size_t at = 0; at < len;) {
		ssize_t n = pread(o->fd, to + at, len - at, (off_t)(offset + at));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return NULL;
		at += (size_t)n;
	}
	return to;
}

static const char cut_marker[] = "\n[cadre: cut here to fit a frame]\n";

bool output_parts_read(struct output_parts *p, const struct outbuf *out,
		       const struct outbuf *err, struct arena *a)
{
	const struct outbuf *streams[] = { out, err };

	for (int i = 0; i < 2; i++) {
		p->size[i] = streams[i]->len;
		p->written[i] = streams[i]->cut ? streams[i]->all : 0;
		p->replaced |= streams[i]->replaced;
		p->text[i] = outbuf_read(streams[i], p->offset[i], OUTBUF_MAX * 2, a,
					 &p->len[i]);
		if (!p->text[i])
			return false;
	}
	return true;
}

void output_parts_take(struct output_parts *p, const char *out, size_t out_size,
		       const char *err, size_t err_size)
{
	const char *texts[] = { out, err };

	p->size[0] = out_size;
	p->size[1] = err_size;
	for (int i = 0; i < 2; i++) {
		size_t at = p->offset[i] < p->size[i] ? p->offset[i] : p->size[i];

		p->text[i] = texts[i] + at;
		p->len[i] = p->size[i] - at;
	}
}

int output_parts_bad_offset(const struct output_parts *p)
{
	for (int i = 0; i < 2; i++)
		if (p->offset[i] > p->size[i] ||
		    (p->len[i] && ((unsigned char)*p->text[i] & 0xc0) == 0x80))
			return i;
	return -1;
}

static void output_parts_cut(struct output_parts *p, int i, size_t len, bool marked,
			     struct arena *a)
{
	if (len == p->len[i])
		return;
	p->more = true;
	p->text[i] = marked ? arena_printf(a, "%.*s%s", (int)len, p->text[i], cut_marker)
			    : arena_strndup(a, p->text[i], len);
	p->len[i] = len;
}

void output_parts_fit(struct output_parts *p, size_t *room, bool marked, struct arena *a)
{
	size_t reserve = marked ? 4 * sizeof(cut_marker) : 0;
	size_t left = *room > reserve ? *room - reserve : 0;
	size_t half = left / 2, first = half, out, err;

	text_json_fit(p->text[0], p->len[0], &first);
	left -= half - first; /* subtracts the bytes that stdout uses of its half */
	err = text_json_fit(p->text[1], p->len[1], &left);
	left += half - first;
	out = text_json_fit(p->text[0], p->len[0], &left);
	output_parts_cut(p, 0, out, marked, a);
	output_parts_cut(p, 1, err, marked, a);
	*room = left;
}

enum {
	GRACE_MS = 2000,
	LOOK_MS = 20, /* time between two checks of a process group that is ending */
	CHUNK = 16 << 10,
	LAST_READS = 32, /* reads after the command's exit; together they take more bytes
			    than a pipe can hold */
	WINDOW = 1 << 20, /* with `waits`, the guest stops reading the command's output
			     when the reader is this many bytes behind */
};

/* --- the child's side ----------------------------------------------------------- */

static void reset_signals(void)
{
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In a child that waits at its gate, closes all descriptors except 0 to 2, the gate and the
 * working directory. Without this call, the child would keep the guest's listening sockets open
 * after the guest's death. The child would also keep the guest's ends of the gates open. */
static void keep_only(int *gate, int *dir)
{
	int high[2] = { fcntl(*gate, F_DUPFD, 10), fcntl(*dir, F_DUPFD, 10) };

	*gate = dup3(high[0], 3, O_CLOEXEC);
	*dir = dup3(high[1], 4, O_CLOEXEC);
	close_range(5, ~0u, 0);
}

static void child(const struct proc_spec *spec, const int out[2], const int err[2],
		  int gate)
{
	int failure, dir = spec->dir;
	char go;

	setpgid(0, 0);
	reset_signals();
	dup2(spec->input ? spec->input : open("/dev/null", O_RDWR | O_CLOEXEC), 0);
	dup2(out[1], 1);
	dup2(err[1], 2);
	keep_only(&gate, &dir);
	if (read(gate, &go, 1) != 1)
		_exit(126);
	if (fchdir(dir) == 0)
		execvpe(spec->argv[0], (char *const *)spec->argv, spec->envp);
	failure = errno;
	if (write(gate, &failure, sizeof(failure)) < 0)
		_exit(126);
	_exit(127);
}

static pid_t make_child(const struct proc_spec *spec, int fd[3][2])
{
	sigset_t all, old;
	pid_t pid;

	/* Blocks all signals. A signal in the child before reset_signals() would run the signal
	 * handlers of the guest's event loop. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	pid = fork();
	if (pid == 0)
		child(spec, fd[0], fd[1], fd[2][1]);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return pid;
}

/* --- start ------------------------------------------------------------------------ */

static void proc_let_go(struct proc *run)
{
	if (--run->handles > 0)
		return;
	for (int i = 0; i < 2; i++)
		outbuf_release(&run->streams[i].kept);
	free(run);
}

/* The open timer keeps the struct proc alive. Only proc_free() closes the timer, so the struct
 * is not freed earlier. */
static void proc_timer_closed(uv_handle_t *handle)
{
	proc_let_go(handle->data);
}

static void stream_closed(uv_handle_t *handle)
{
	struct proc_stream *s = handle->data;

	proc_let_go(s->run);
}

static void close_pair(int fd[2])
{
	for (int i = 0; i < 2; i++)
		if (fd[i] >= 0)
			close(fd[i]);
}

static int make_pipes(int fd[3][2])
{
	if (pipe2(fd[0], O_CLOEXEC) || pipe2(fd[1], O_CLOEXEC))
		return -1;
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd[2]);
}

static void readable(uv_poll_t *poll, int status, int events);

static void proc_watch(struct proc *run, int i, int fd, const char *folder)
{
	struct proc_stream *s = &run->streams[i];

	s->run = run;
	s->fd = fd;
	outbuf_init(&s->kept, folder);
	if (run->waits)
		s->kept.most = SIZE_MAX;
	uv_poll_init(run->loop, &s->poll, fd); /* makes `fd` non-blocking */
	s->poll.data = s;
	uv_poll_start(&s->poll, UV_READABLE, readable);
	run->handles++;
}

static void proc_enlist(struct proc *run, struct proc **list)
{
	run->next = *list;
	run->place = list;
	if (run->next)
		run->next->place = &run->next;
	*list = run;
}

int proc_new(struct proc **out, struct proc **list, uv_loop_t *loop,
	     const struct proc_spec *spec, struct fault *f)
{
	int fd[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
	struct proc *run = calloc(1, sizeof(*run));
	pid_t pid = -1;

	if (run && make_pipes(fd) == 0)
		pid = make_child(spec, fd);
	if (pid < 0) {
		fault_set(f, FAULT_UNAVAILABLE, "", "cannot start: %s", strerror(errno));
		for (int i = 0; i < 3; i++)
			close_pair(fd[i]);
		free(run);
		return f->code;
	}
	setpgid(pid, pid); /* the child makes the same call; only the first of the two
			      calls has an effect */
	for (int i = 0; i < 3; i++)
		close(fd[i][1]);
	run->loop = loop;
	run->pid = run->group = pid;
	run->gate = fd[2][0];
	run->timeout_ms = spec->timeout_ms;
	run->waits = spec->waits;
	proc_watch(run, 0, fd[0][0], spec->folder);
	proc_watch(run, 1, fd[1][0], spec->folder);
	uv_timer_init(loop, &run->timer);
	run->timer.data = run;
	run->handles++;
	proc_enlist(run, list);
	*out = run;
	return 0;
}

/* --- output ------------------------------------------------------------------------- */

static void stop_stream(struct proc_stream *s)
{
	if (s->fd < 0)
		return;
	/* uv_close() precedes close(), since libuv must forget the descriptor's number before
	 * the number is used again. */
	uv_close((uv_handle_t *)&s->poll, stream_closed);
	close(s->fd);
	s->fd = -1;
	outbuf_end(&s->kept);
}

/* Makes one read from the stream. Returns false if no more bytes can be read now. */
static bool read_some(struct proc_stream *s)
{
	char buf[CHUNK];
	ssize_t n;

	if (s->fd < 0)
		return false;
	n = read(s->fd, buf, sizeof(buf));
	if (n > 0) {
		outbuf_add(&s->kept, buf, (size_t)n);
		return true;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return errno == EINTR;
	stop_stream(s);
	return false;
}

static bool is_ahead(const struct proc_stream *s)
{
	return s->run->waits && s->kept.len >= s->seen + WINDOW;
}

static void readable(uv_poll_t *poll, int status, int events)
{
	struct proc_stream *s = poll->data;

	(void)status, (void)events;
	if (is_ahead(s)) {
		uv_poll_stop(poll);
		return;
	}
	if (read_some(s) && s->run->printed)
		s->run->printed(s->run);
}

void proc_seen(struct proc *run, int stream, size_t offset)
{
	struct proc_stream *s = &run->streams[stream];

	if (!run->waits || offset <= s->seen || offset > s->kept.len)
		return;
	s->seen = offset;
	outbuf_seen(&s->kept, offset);
	if (s->fd >= 0 && !is_ahead(s))
		uv_poll_start(&s->poll, UV_READABLE, readable);
}

/* Reads the output that a command printed before its end. All output of the ended command is in
 * the pipe already. A process that the command left behind may keep the pipe open.
 * read_the_rest() does not wait for the output of such a process. */
static void read_the_rest(struct proc *run)
{
	for (int i = 0; i < 2; i++) {
		for (int n = 0; n < LAST_READS; n++)
			if (!read_some(&run->streams[i]))
				break;
		stop_stream(&run->streams[i]);
	}
}

/* --- end ------------------------------------------------------------------------------ */

static void proc_finish(struct proc *run)
{
	if (run->over)
		return;
	run->over = true;
	uv_timer_stop(&run->timer);
	read_the_rest(run);
	run->done(run);
}

static bool group_lives(const struct proc *run)
{
	return kill(-run->group, 0) == 0 || errno == EPERM;
}

/* Called every LOOK_MS for a command that is ending. After GRACE_MS, kills the command's
 * process group. */
static void proc_look(uv_timer_t *timer)
{
	struct proc *run = timer->data;
	int64_t since = (int64_t)uv_now(run->loop) - run->killed_at;

	if (run->exited && !group_lives(run)) {
		proc_finish(run);
	} else if (since >= GRACE_MS) {
		kill(-run->group, SIGKILL);
		if (run->exited)
			proc_finish(run);
	}
}

void proc_end(struct proc *run)
{
	if (run->over || run->killed_at)
		return;
	run->killed_at = (int64_t)uv_now(run->loop);
	kill(-run->group, SIGTERM);
	kill(-run->group, SIGCONT); /* a stopped process cannot handle SIGTERM */
	uv_timer_start(&run->timer, proc_look, LOOK_MS, LOOK_MS);
}

static void proc_time_is_up(uv_timer_t *timer)
{
	struct proc *run = timer->data;

	run->timed_out = true;
	proc_end(run);
}

static void note_exit(struct proc *run, int status)
{
	int failure = 0;

	run->exited = true;
	run->pid = 0;
	run->status = status;
	if (run->gate >= 0) {
		if (recv(run->gate, &failure, sizeof(failure), MSG_DONTWAIT) ==
		    sizeof(failure))
			run->start_errno = failure;
		close(run->gate);
		run->gate = -1;
	}
	if (run->waits && run->signalled && !run->killed_at && group_lives(run)) {
		run->killed_at = (int64_t)uv_now(run->loop);
		uv_timer_start(&run->timer, proc_look, LOOK_MS, LOOK_MS);
	} else if (!run->killed_at || !group_lives(run)) {
		proc_finish(run);
	}
}

bool proc_reap(struct proc **list)
{
	bool ended = false;
	int status;
	pid_t pid;

	/* Reaps every ended child, also a child that the guest did not start. In a VM, the
	 * guest may become the parent of such a process. */
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		struct proc *run = *list;

		while (run && run->pid != pid)
			run = run->next;
		if (!run)
			continue;
		ended = true;
		note_exit(run, status);
	}
	return ended;
}

void proc_go(struct proc *run)
{
	uint64_t ms = (uint64_t)run->timeout_ms;

	assert(run->done);
	uv_update_time(run->loop);
	run->started = uv_now(run->loop);
	if (ms)
		uv_timer_start(&run->timer, proc_time_is_up, ms, 0);
	/* If the process was killed before the gate opened, send() fails. In this case
	 * proc_reap() notices the exit of the process later. */
	if (send(run->gate, "g", 1, MSG_NOSIGNAL) < 0)
		errno = 0;
}

/* Stops or continues a command. Does nothing if the command has exited or is already ending. */
void proc_halt(struct proc *run, bool on)
{
	if (run->halted == on || run->exited || run->killed_at)
		return;
	run->halted = on;
	if (on) {
		run->left_ms = uv_is_active((uv_handle_t *)&run->timer)
				       ? uv_timer_get_due_in(&run->timer) + 1
				       : 0;
		uv_timer_stop(&run->timer);
	} else if (run->left_ms) {
		uv_timer_start(&run->timer, proc_time_is_up, run->left_ms, 0);
	}
	kill(-run->group, on ? SIGSTOP : SIGCONT);
}

void proc_kill(struct proc *run, int signal)
{
	if (run->over || (run->exited && !run->waits))
		return;
	run->signalled = true;
	kill(-run->group, signal);
}

int proc_exit_code(const struct proc *run)
{
	if (WIFSIGNALED(run->status))
		return 128 + WTERMSIG(run->status);
	return WEXITSTATUS(run->status);
}

void proc_free(struct proc *run)
{
	if (!run || run->freed)
		return;
	run->freed = true;
	if (!run->exited)
		kill(-run->group, SIGKILL);
	if (run->gate >= 0)
		close(run->gate);
	run->gate = -1;
	*run->place = run->next;
	if (run->next)
		run->next->place = run->place;
	for (int i = 0; i < 2; i++)
		stop_stream(&run->streams[i]);
	uv_close((uv_handle_t *)&run->timer, proc_timer_closed);
}
