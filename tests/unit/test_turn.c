/*
 * The queue of writers, as another process sees it: the locked bytes of state.lock during a
 * write, and the order of the waiting writers.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "storage/store.h"
#include "storage/writer_queue.h"
#include "tests/lib/locks.h"
#include "tests/lib/place.h"

struct bench {
	char dir[64];
	struct store *store;
	int beside; /* state.lock, opened as by another process */
	struct fault fault;
};

static int set_up(void **state)
{
	struct bench *b = test_calloc(1, sizeof(*b));
	char path[100];

	assert_int_equal(temp_make(b->dir, "turn"), 0);
	assert_int_equal(store_open(&b->store, b->dir, STORE_CREATE, NULL, &b->fault), 0);
	snprintf(path, sizeof(path), "%s/state.lock", b->dir);
	b->beside = open(path, O_RDWR | O_CLOEXEC);
	assert_true(b->beside >= 0);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	store_close(b->store);
	close(b->beside);
	temp_remove(b->dir);
	test_free(b);
	return 0;
}

static struct flock byte_of(enum writer_queue_byte byte, short type)
{
	return (struct flock){
		.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1
	};
}

static bool is_taken(const struct bench *b, enum writer_queue_byte byte)
{
	struct flock l = byte_of(byte, F_WRLCK);

	assert_int_equal(fcntl(b->beside, F_OFD_GETLK, &l), 0);
	return l.l_type != F_UNLCK;
}

static void set_beside(const struct bench *b, enum writer_queue_byte byte, short type)
{
	struct flock l = byte_of(byte, type);

	assert_int_equal(fcntl(b->beside, F_OFD_SETLK, &l), 0);
}

static void begin(struct bench *b, bool write)
{
	assert_int_equal(store_begin(b->store, write, &b->fault), 0);
}

/* A writer holds WRITER_QUEUE_WRITE until its transaction is committed or rolled back. While a
 * writer writes, WRITER_QUEUE_NEXT is free for the next writer. A reader holds neither
 * WRITER_QUEUE_WRITE nor WRITER_QUEUE_NEXT. */
static void a_writer_holds_the_turn(void **state)
{
	struct bench *b = *state;

	assert_false(is_taken(b, WRITER_QUEUE_WRITE));
	begin(b, true);
	assert_true(is_taken(b, WRITER_QUEUE_WRITE));
	assert_false(is_taken(b, WRITER_QUEUE_NEXT));
	assert_int_equal(store_commit(b->store, &b->fault), 0);
	assert_false(is_taken(b, WRITER_QUEUE_WRITE));
	begin(b, true);
	store_rollback(b->store);
	assert_false(is_taken(b, WRITER_QUEUE_WRITE));
	begin(b, false);
	assert_false(is_taken(b, WRITER_QUEUE_WRITE));
	store_rollback(b->store);
}

struct writer {
	struct bench *bench;
	pthread_t thread;
	int64_t now;
	atomic_bool in;
};

static void *write_once(void *arg)
{
	struct writer *w = arg;
	struct fault f = { 0 };

	if (store_begin(w->bench->store, true, &f) == 0) {
		w->now = store_now(w->bench->store);
		atomic_store(&w->in, true);
		store_commit(w->bench->store, &f);
	}
	return NULL;
}

static void start(struct writer *w, struct bench *b)
{
	*w = (struct writer){ .bench = b };
	assert_int_equal(pthread_create(&w->thread, NULL, write_once, w), 0);
}

static void end(struct writer *w)
{
	assert_int_equal(pthread_join(w->thread, NULL), 0);
	assert_true(atomic_load(&w->in));
}

/* While another process writes, the writer that waits holds WRITER_QUEUE_NEXT. The test can see
 * this lock, and so knows that the writer has not begun. The other process holds no lock of
 * SQLite, so SQLite alone would let the writer write. A transaction reads its time after its
 * wait. Therefore no row that another process committed during the wait has a later time than
 * this transaction. */
static void a_writer_waits_as_the_next(void **state)
{
	struct bench *b = *state;
	int64_t until = clock_steady_ms() + patience_ms(60000), let_in;
	struct writer w;

	set_beside(b, WRITER_QUEUE_WRITE, F_WRLCK);
	start(&w, b);
	while (!is_taken(b, WRITER_QUEUE_NEXT) && !atomic_load(&w.in) &&
	       clock_steady_ms() < until)
		pause_for(1);
	assert_true(is_taken(b, WRITER_QUEUE_NEXT));
	assert_false(atomic_load(&w.in));
	pause_for(5);
	let_in = clock_wall_ms();
	set_beside(b, WRITER_QUEUE_WRITE, F_UNLCK);
	end(&w);
	assert_true(w.now >= let_in);
	assert_false(is_taken(b, WRITER_QUEUE_NEXT));
	assert_false(is_taken(b, WRITER_QUEUE_WRITE));
}

/* A new writer queues behind a writer that is already next, even if no process writes. */
static void a_writer_overtakes_nobody(void **state)
{
	struct bench *b = *state;
	int64_t until = clock_steady_ms() + patience_ms(2000);
	struct writer w;

	set_beside(b, WRITER_QUEUE_NEXT, F_WRLCK);
	start(&w, b);
	while (!locks_waited_for(b->beside) && !atomic_load(&w.in) &&
	       clock_steady_ms() < until)
		pause_for(1);
	assert_false(is_taken(b, WRITER_QUEUE_WRITE));
	assert_false(atomic_load(&w.in));
	set_beside(b, WRITER_QUEUE_NEXT, F_UNLCK);
	end(&w);
}

/* If a process waits in vain for exclusive access to the state, the fault names the processes
 * that have the state open. */
static void those_who_are_there_are_named(void **state)
{
	struct bench *b = *state;
	struct writer_queue t;
	struct fault f = { 0 };
	int dir = open(b->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(writer_queue_open(&t, dir, &f), 0);
	assert_int_equal(writer_queue_alone_for(&t, 0, "it is to go", &f),
			 FAULT_UNAVAILABLE);
	assert_non_null(strstr(f.text, "it is to go, but state.db is open in: "));
	assert_non_null(strstr(f.text, " (test_turn)"));
	writer_queue_close(&t);
	close(dir);
}

struct refused {
	struct store *store;
	struct fault fault;
	int64_t took_ms;
	pthread_t thread;
};

static void *be_refused(void *arg)
{
	struct refused *r = arg;
	int64_t began = clock_steady_ms();

	store_begin(r->store, true, &r->fault);
	r->took_ms = clock_steady_ms() - began;
	return NULL;
}

/* Several writers that wait for a stopped writer are all refused at the same time. A writer
 * that begins to wait later is refused after a shorter wait. */
static void a_standstill_is_waited_for_once(void **state)
{
	struct bench *b = *state;
	struct refused r[2] = { { .store = b->store }, { 0 } }, again = { 0 };
	struct fault f = { 0 };
	int64_t least, most;

	assert_int_equal(store_open(&r[1].store, b->dir, 0, NULL, &f), 0);
	set_beside(b, WRITER_QUEUE_WRITE, F_WRLCK);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&r[i].thread, NULL, be_refused, &r[i]),
				 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pthread_join(r[i].thread, NULL), 0);
		assert_int_equal(r[i].fault.code, FAULT_UNAVAILABLE);
		assert_non_null(strstr(r[i].fault.text, " (test_turn) keeps "));
		assert_true(r[i].took_ms >= 7000);
	}
	least = r[0].took_ms < r[1].took_ms ? r[0].took_ms : r[1].took_ms;
	most = r[0].took_ms + r[1].took_ms - least;
	/* If one writer waited after the other, the waits would take twice as long. */
	assert_true(most < least * 3 / 2);
	again.store = b->store;
	be_refused(&again);
	assert_int_equal(again.fault.code, FAULT_UNAVAILABLE);
	assert_true(again.took_ms < least * 3 / 4);
	set_beside(b, WRITER_QUEUE_WRITE, F_UNLCK);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(store_begin(r[i].store, true, &f), 0);
		store_rollback(r[i].store);
	}
	store_close(r[1].store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_writer_holds_the_turn, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_writer_waits_as_the_next, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_writer_overtakes_nobody, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_standstill_is_waited_for_once, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(those_who_are_there_are_named, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
