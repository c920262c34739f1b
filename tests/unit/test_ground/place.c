#include "tests/unit/test_ground/place.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/lib/folder.h"

int ground_place_make(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	const char *temp = getenv("TMPDIR");

	snprintf(p->dir, sizeof(p->dir), "%s/ground.XXXXXX", temp ? temp : "/tmp");
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->path, sizeof(p->path), "%s/state.db", p->dir);
	snprintf(p->wal, sizeof(p->wal), "%s/state.db-wal", p->dir);
	snprintf(p->kept, sizeof(p->kept), "%s/kept", p->dir);
	*state = p;
	return 0;
}

int ground_place_clear(void **state)
{
	struct place *p = *state;

	folder_remove(p->dir);
	free(p);
	return 0;
}

struct store *open_it(struct place *p)
{
	struct store *s = NULL;

	assert_int_equal(store_open(&s, p->dir, STORE_CREATE, NULL, &p->fault), 0);
	return s;
}

int add(struct store *s, struct fault *f)
{
	struct sql_event_add_in event = { .now = 1, .kind = 120 };

	if (store_begin(s, true, f) < 0)
		return f->code;
	event.seq = store_new_id(s, sql_event_new_id, f);
	assert_true(store_run(s, sql_late_event_add, &event, f) >= 0);
	return store_commit(s, f);
}

void add_many(struct store *s, struct fault *f, int n)
{
	for (int i = 0; i < n; i++)
		assert_int_equal(add(s, f), 0);
}

int64_t count(struct store *s)
{
	struct fault f = { 0 };

	return store_number(s, "SELECT count(*) FROM event", &f);
}

void crash(struct place *p, int n)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		add_many(open_it(p), &p->fault, n);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(access(p->wal, F_OK), 0);
}

enum { ROOM = 4 << 20 };

static size_t read_all(const char *path, char *data, size_t room)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, data, room);

	close(fd);
	assert_true(n >= 0 && (size_t)n < room);
	return (size_t)n;
}

void copy_over(const char *from, const char *to)
{
	char *data = malloc(ROOM);
	size_t n = read_all(from, data, ROOM);
	int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, data, n), n);
	close(fd);
	free(data);
}

void assert_same(const char *a, const char *b)
{
	char *x = malloc(ROOM), *y = malloc(ROOM);
	size_t n = read_all(a, x, ROOM);

	assert_int_equal(read_all(b, y, ROOM), n);
	assert_memory_equal(x, y, n);
	free(x);
	free(y);
}
