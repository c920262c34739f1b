/* Unfinished changes of a vault's files. Wherever a crash interrupts a change, the change is
 * completed later. No text that a person typed meanwhile is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/machine/notes_disk.h"
#include "core/machine/notes_inside.h"
#include "storage/byte_lock.h"
#include "tests/lib/folder.h"
#include "tests/lib/locks.h"

struct bed {
	char folder[64], root[80];
	struct notes_disk disk;
	const struct notes *notes;
	struct arena arena;
	struct fault fault;
};

static int set_up(void **state)
{
	struct bed *b = calloc(1, sizeof(*b));

	snprintf(b->folder, sizeof(b->folder), "/tmp/cadre-notes-XXXXXX");
	assert_non_null(mkdtemp(b->folder));
	snprintf(b->root, sizeof(b->root), "%s/vault", b->folder);
	notes_disk_init(&b->disk, b->root, b->folder);
	b->notes = &b->disk.notes;
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bed *b = *state;

	arena_release(&b->arena);
	folder_remove(b->folder);
	free(b);
	return 0;
}

/* --- actions of a person -------------------------------------------------------- */

static const char *at(struct bed *b, const char *path)
{
	return arena_printf(&b->arena, "%s/%s", b->root, path);
}

/* Writes a file as many editors do: writes the text to a new file, and renames this file. */
static void type(struct bed *b, const char *path, const char *text)
{
	const char *fresh = at(b, "typed.tmp");
	FILE *f;

	mkdir(b->root, 0777);
	f = fopen(fresh, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(rename(fresh, at(b, path)), 0);
}

static const char *shown(struct bed *b, const char *path)
{
	FILE *f = fopen(at(b, path), "r");
	char *text = arena_alloc(&b->arena, 100);

	if (!f)
		return "(none)";
	text[fread(text, 1, 99, f)] = '\0';
	fclose(f);
	return text;
}

/* --- actions of cadre ------------------------------------------------------------- */

static struct note_move staged(struct bed *b, const char *path, const char *text)
{
	struct text t = { .data = (char *)(uintptr_t)text, .len = strlen(text) };
	struct note_move m = { 0 };

	if (b->notes->look(b->notes->self, path, &m.was, &b->fault) == 0)
		m.was = (struct note_stamp){ 0 };
	assert_int_equal(
		b->notes->stage(b->notes->self, path, &t, &m, &b->arena, &b->fault), 0);
	return m;
}

static void make(struct bed *b, const struct note_move *m)
{
	if (b->notes->make(b->notes->self, m, &b->fault) < 0)
		fail_msg("%s", b->fault.text);
}

static int count(void *with, const struct note_entry *e, struct fault *f)
{
	(void)e;
	(void)f;
	++*(int *)with;
	return NOTES_ENTER;
}

static int n_staged(struct bed *b)
{
	int n = 0;

	b->notes->staged(b->notes->self, count, &n, &b->fault);
	return n;
}

/* --- stories ------------------------------------------------------------------------ */

static void test_staged_is_not_there(void **state)
{
	struct bed *b = *state;
	struct note_move m = staged(b, "a/b/note.md", "new");
	int n = 0;

	assert_string_equal(shown(b, "a/b/note.md"), "(none)");
	assert_false(b->notes->made(b->notes->self, &m));
	assert_int_equal(n_staged(b), 1);
	assert_int_equal(b->notes->walk(b->notes->self, "", NULL, count, &n, &b->fault),
			 1);
	assert_int_equal(n, 2); /* the folders a and a/b; the stage is hidden */
	b->notes->drop(b->notes->self, m.from, &b->fault);
	assert_int_equal(n_staged(b), 0);
	assert_string_equal(shown(b, "a/b/note.md"), "(none)");
}

static void test_made_once(void **state)
{
	struct bed *b = *state;
	struct note_move first, second;

	type(b, "note.md", "old");
	first = staged(b, "note.md", "new");
	make(b, &first);
	assert_true(b->notes->made(b->notes->self, &first));
	assert_string_equal(shown(b, "note.md"), "new");
	second = staged(b, "note.md", "newer");
	make(b, &second);
	/* A late writer that makes the first change again changes no file. */
	make(b, &first);
	assert_string_equal(shown(b, "note.md"), "newer");
	assert_string_equal(shown(b, "note.conflict.md"), "(none)");
	assert_int_equal(n_staged(b), 0);
}

/* The process is killed after the new file was exchanged with the former file, and before the
 * former file was removed. */
static void test_killed_behind_the_exchange(void **state)
{
	struct bed *b = *state;
	struct note_move m;

	type(b, "note.md", "old");
	m = staged(b, "note.md", "new");
	assert_int_equal(renameat2(AT_FDCWD, at(b, m.from), AT_FDCWD, at(b, "note.md"),
				   RENAME_EXCHANGE),
			 0);
	assert_true(b->notes->made(b->notes->self, &m));
	make(b, &m);
	assert_string_equal(shown(b, "note.md"), "new");
	assert_string_equal(shown(b, "note.conflict.md"), "(none)");
	assert_int_equal(n_staged(b), 0);
}

static void test_a_person_was_quicker(void **state)
{
	struct bed *b = *state;
	struct note_move m;

	type(b, "note.md", "old");
	m = staged(b, "note.md", "new");
	type(b, "note.md", "typed");
	make(b, &m);
	assert_string_equal(shown(b, "note.md"), "new");
	assert_string_equal(shown(b, "note.conflict.md"), "typed");

	/* A person's text is also kept if the note did not exist when the change was staged. */
	m = staged(b, "fresh.md", "new");
	type(b, "fresh.md", "typed");
	make(b, &m);
	assert_string_equal(shown(b, "fresh.md"), "new");
	assert_string_equal(shown(b, "fresh.conflict.md"), "typed");
	m = staged(b, "fresh.md", "newer");
	type(b, "fresh.md", "typed again");
	make(b, &m);
	assert_string_equal(shown(b, "fresh.conflict-2.md"), "typed again");

	/* The change is also made if a person removed the note after the change was staged. */
	m = staged(b, "note.md", "newest");
	unlink(at(b, "note.md"));
	make(b, &m);
	assert_string_equal(shown(b, "note.md"), "newest");
	assert_int_equal(n_staged(b), 0);
}

/* A program has opened the note to write into the existing file, but has not written yet. */
static void test_an_editor_is_writing(void **state)
{
	struct bed *b = *state;
	struct note_move m;
	int fd;

	type(b, "note.md", "old");
	m = staged(b, "note.md", "new");
	fd = open(at(b, "note.md"), O_WRONLY);
	make(b, &m);
	assert_int_equal(write(fd, "typed", 5), 5);
	close(fd);
	assert_string_equal(shown(b, "note.md"), "new");
	assert_string_equal(shown(b, "note.conflict.md"), "typed");
}

static struct note_move moved(struct bed *b, const char *from, const char *to)
{
	struct note_move m = { .from = from, .to = to };

	assert_int_equal(b->notes->look(b->notes->self, from, &m.is, &b->fault), 1);
	return m;
}

static void test_moved_and_deleted(void **state)
{
	struct bed *b = *state;
	struct note_move m;

	type(b, "note.md", "text");
	m = moved(b, "note.md", "new/place.md");
	make(b, &m);
	type(b, "note.md", "another");
	make(b, &m); /* a repeated move does not touch the new file */
	assert_string_equal(shown(b, "note.md"), "another");
	assert_string_equal(shown(b, "new/place.md"), "text");

	/* A person made a file at the target of the move meanwhile. */
	m = moved(b, "note.md", "taken.md");
	type(b, "taken.md", "typed");
	make(b, &m);
	assert_string_equal(shown(b, "taken.md"), "another");
	assert_string_equal(shown(b, "taken.conflict.md"), "typed");
	assert_string_equal(shown(b, "note.md"), "(none)");

	/* A file that changed after the deletion was prepared is not deleted. */
	m = moved(b, "taken.md", NULL);
	type(b, "taken.md", "typed later");
	make(b, &m);
	assert_string_equal(shown(b, "taken.md"), "typed later");
	m = moved(b, "taken.md", NULL);
	make(b, &m);
	make(b, &m);
	assert_string_equal(shown(b, "taken.md"), "(none)");
}

/* The team's folder was archived after the change was staged and before the change was made. */
static void test_folder_gone(void **state)
{
	struct bed *b = *state;
	struct note_move m = staged(b, "teams/a/note.md", "new");

	assert_int_equal(rename(at(b, "teams"), at(b, "archive")), 0);
	make(b, &m);
	assert_string_equal(shown(b, "teams/a/note.md"), "new");
}

static void test_one_writer_at_a_time(void **state)
{
	struct bed *b = *state;
	const struct notes *n = b->notes;
	int held = n->lock(n->self, "a.md", "b.md", true, &b->fault);
	struct note_move m;

	assert_true(held >= 0);
	m = staged(b, "b.md", "new");
	assert_true(n->lock(n->self, "b.md", NULL, false, &b->fault) < 0);
	assert_int_equal(b->fault.code, FAULT_UNAVAILABLE);
	assert_true(n->lock_staged(n->self, m.from, &b->fault) < 0);
	n->unlock(n->self, held);
	held = n->lock_staged(n->self, m.from, &b->fault);
	assert_true(held >= 0);
	assert_true(n->lock(n->self, "b.md", NULL, false, &b->fault) < 0);
	n->unlock(n->self, held);
}

struct writer {
	const struct notes *notes;
	struct fault fault;
	atomic_bool in;
};

static void *write_once(void *arg)
{
	struct writer *w = arg;
	int held = w->notes->lock(w->notes->self, "a.md", NULL, true, &w->fault);

	if (held >= 0) {
		atomic_store(&w->in, true);
		w->notes->unlock(w->notes->self, held);
	}
	return NULL;
}

/* A new writer queues behind a writer that already waits, even if the note is free. So a writer
 * that locks the note again at once does not overtake the writer that waits. */
static void test_a_writer_overtakes_nobody(void **state)
{
	struct bed *b = *state;
	struct writer w = { .notes = b->notes };
	const int64_t until = clock_steady_ms() + 10000;
	int other = open(arena_printf(&b->arena, "%s/vault.lock", b->folder),
			 O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	const int64_t queue = (int64_t)notes_lock_byte("a.md") | 1;
	pthread_t thread;

	assert_true(other >= 0);
	assert_int_equal(byte_lock(other, queue, F_WRLCK), 0);
	assert_int_equal(pthread_create(&thread, NULL, write_once, &w), 0);
	while (!locks_waited_for(other) && !atomic_load(&w.in) &&
	       clock_steady_ms() < until)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	assert_false(atomic_load(&w.in));
	assert_true(locks_waited_for(other));
	assert_int_equal(byte_lock(other, queue, F_UNLCK), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(atomic_load(&w.in));
	close(other);
}

/* A process is stopped while it holds the lock of a note. The fault of a writer that waits for
 * this lock names the stopped process. */
static void test_a_stopped_writer_is_named(void **state)
{
	struct bed *b = *state;
	int said;
	pid_t child = fork();

	if (child == 0) {
		if (b->notes->lock(b->notes->self, "a.md", NULL, true, &b->fault) >= 0)
			raise(SIGSTOP);
		_exit(0);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &said, WUNTRACED), child);
	assert_true(WIFSTOPPED(said));
	assert_true(b->notes->lock(b->notes->self, "a.md", NULL, true, &b->fault) < 0);
	kill(child, SIGKILL);
	waitpid(child, &said, 0);
	assert_int_equal(b->fault.code, FAULT_UNAVAILABLE);
	assert_non_null(strstr(b->fault.text,
			       arena_printf(&b->arena, "process %d (", (int)child)));
	assert_non_null(strstr(b->fault.text, "which is stopped"));
	assert_non_null(strstr(b->fault.hint, "kill -CONT"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(test_staged_is_not_there),
		TEST(test_made_once),
		TEST(test_killed_behind_the_exchange),
		TEST(test_a_person_was_quicker),
		TEST(test_an_editor_is_writing),
		TEST(test_moved_and_deleted),
		TEST(test_folder_gone),
		TEST(test_one_writer_at_a_time),
		TEST(test_a_writer_overtakes_nobody),
		TEST(test_a_stopped_writer_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
