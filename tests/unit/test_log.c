/* A host's log under many threads, and how it is put aside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/host/log.h"
#include "tests/lib/place.h"

enum { WRITERS = 4, LINES = 3500, FILL = 3800, KEPT = 8 << 20 };

struct writer {
	struct log *log;
	int who;
};

static void *write_lines(void *arg)
{
	const struct writer *w = arg;
	char fill[FILL + 1];

	memset(fill, 'x', FILL);
	fill[FILL] = '\0';
	for (int i = 0; i < LINES; i++)
		log_line(w->log, LOG_LEVEL_NOTE, "%d %d %s end", w->who, i, fill);
	return NULL;
}

/* Reads one file of the log: each line is whole and the next of its writer, whose
 * number in `next` is -1 before his first; returns the file's size. */
static off_t read_log(const char *path, int next[WRITERS])
{
	char line[FILL + 200];
	FILE *file = fopen(path, "re");
	struct stat st;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	while (fgets(line, sizeof(line), file)) {
		char *at = strstr(line, " note  ");
		int who, number;

		assert_non_null(at);
		assert_int_equal(sscanf(at + 7, "%d %d x", &who, &number), 2);
		assert_in_range(who, 0, WRITERS - 1);
		assert_string_equal(line + strlen(line) - 6, "x end\n");
		assert_true(next[who] < 0 || number == next[who]);
		next[who] = number + 1;
	}
	fclose(file);
	return st.st_size;
}

/* Many threads fill it several times over: five files of at most 8 MiB stay, with the
 * newest lines, of which none is lost or cut where one file ends. */
static void test_log_rotates(void **state)
{
	int next[WRITERS] = { -1, -1, -1, -1 };
	struct writer writers[WRITERS];
	pthread_t threads[WRITERS];
	struct fault f = { 0 };
	struct log *log = NULL;
	char path[100], root[64];

	(void)state;
	assert_int_equal(temp_make(root, "log"), 0);
	assert_int_equal(log_open(&log, root, LOG_LEVEL_NOTE, false, &f), 0);
	for (int i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){ log, i };
		assert_int_equal(
			pthread_create(&threads[i], NULL, write_lines, &writers[i]), 0);
	}
	for (int i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	log_close(log);
	for (int n = 4; n >= 0; n--) {
		snprintf(path, sizeof(path), n ? "%s/log/host.log.%d" : "%s/log/host.log",
			 root, n);
		assert_in_range(read_log(path, next), n ? KEPT - FILL - 200 : 1, KEPT);
	}
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(next[i], LINES);
	snprintf(path, sizeof(path), "%s/log/host.log.5", root);
	assert_int_not_equal(access(path, F_OK), 0);
	temp_remove(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_log_rotates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
