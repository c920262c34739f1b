/* A host's log under many threads, and the log's rotation. */
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
		log_line(w->log, LOG_LEVEL_INFO, "x", LOG_NUMBER("who", w->who),
			 LOG_NUMBER("n", i), LOG_TEXT("fill", fill),
			 LOG_TEXT("last", "x end"));
	return NULL;
}

/* Reads one file of the log, and checks that each line is whole and is its writer's next line.
 * `next` has the number of each writer's next line, or -1 before the writer's first line.
 * Returns the file's size. */
static off_t read_log(const char *path, int next[WRITERS])
{
	char line[FILL + 200];
	FILE *file = fopen(path, "re");
	struct stat st;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	while (fgets(line, sizeof(line), file)) {
		char *at = strstr(line, " level=info msg=x ");
		int who, number;

		assert_non_null(at);
		assert_int_equal(sscanf(at + 18, "who=%d n=%d fill=x", &who, &number), 2);
		assert_in_range(who, 0, WRITERS - 1);
		assert_string_equal(line + strlen(line) - 14, " last=\"x end\"\n");
		assert_true(next[who] < 0 || number == next[who]);
		next[who] = number + 1;
	}
	fclose(file);
	return st.st_size;
}

/* Many threads write more lines than the log keeps. Five files of at most 8 MiB each stay, with
 * the newest lines. Between these lines none is missing, and no line is cut at the end of a
 * file. */
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
	assert_int_equal(log_open(&log, root, LOG_LEVEL_INFO, false, &f), 0);
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

/* Returns the line that the log writes for `what` and `text`, without the line's time and
 * level. */
static const char *written(const char *root, struct log *log, const char *what,
			   const char *text, char line[5000])
{
	char path[100];
	FILE *file;

	snprintf(path, sizeof(path), "%s/log/host.log", root);
	assert_int_equal(truncate(path, 0), 0);
	log_line(log, LOG_LEVEL_WARN, what, LOG_TEXT("none", NULL), LOG_TEXT("key", text),
		 LOG_NUMBER("n", -7));
	file = fopen(path, "re");
	assert_non_null(file);
	assert_non_null(fgets(line, 5000, file));
	assert_int_equal(strncmp(line, "time=", 5), 0);
	assert_null(fgets(line + strlen(line) + 1, 100, file));
	fclose(file);
	return strstr(line, " msg=") + 1;
}

/* Any text stays on one line, and no part of the text looks like a field. */
static void test_log_quotes(void **state)
{
	char line[5000], root[64], longest[6000];
	struct fault f = { 0 };
	struct log *log = NULL;

	(void)state;
	assert_int_equal(temp_make(root, "log"), 0);
	assert_int_equal(log_open(&log, root, LOG_LEVEL_WARN, false, &f), 0);
#define WRITTEN(what, text) written(root, log, what, text, line)
	assert_string_equal(WRITTEN("plain", "word"), "msg=plain key=word n=-7\n");
	assert_string_equal(WRITTEN("two words", ""),
			    "msg=\"two words\" key=\"\" n=-7\n");
	assert_string_equal(WRITTEN("a", "x\nlevel=error\033[31m"),
			    "msg=a key=\"x level=error [31m\" n=-7\n");
	assert_string_equal(WRITTEN("a", "say \"it\" \\"),
			    "msg=a key=\"say \\\"it\\\" \\\\\" n=-7\n");
	assert_string_equal(WRITTEN("a", "gr\303\274n"), "msg=a key=gr\303\274n n=-7\n");
	assert_string_equal(WRITTEN("a", "a=b"), "msg=a key=\"a=b\" n=-7\n");
	/* A value that is too long is cut, and its quotes are closed. */
	memset(longest, '"', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	WRITTEN("a", longest);
	assert_in_range(strlen(line), 4000, 4096);
	assert_string_equal(line + strlen(line) - 4, "\\\"\"\n");
#undef WRITTEN
	log_close(log);
	temp_remove(root);
}

/* Even a very long line contains the number of lines that were left out before it. */
static void test_log_left_out(void **state)
{
	struct log_pause pause = { .until = 1, .n = 7 };
	char line[5000], path[100], root[64], longest[6000];
	struct fault f = { 0 };
	struct log *log = NULL;
	FILE *file;

	(void)state;
	assert_int_equal(temp_make(root, "log"), 0);
	assert_int_equal(log_open(&log, root, LOG_LEVEL_WARN, false, &f), 0);
	memset(longest, 'x', sizeof(longest));
	longest[4030] = '\0';
	log_seldom(log, &pause, LOG_LEVEL_WARN, "again", LOG_TEXT("key", longest));
	log_close(log);
	snprintf(path, sizeof(path), "%s/log/host.log", root);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	fclose(file);
	assert_non_null(strstr(line, " left_out_like_this=7"));
	temp_remove(root);
}

/* Lines below the log's level are left out, and the level may be changed while the log is open.
 * The log counts the written lines. */
static void test_log_levels(void **state)
{
	struct log_pause pause = { 0 };
	struct fault f = { 0 };
	struct log *log = NULL;
	char root[64];

	(void)state;
	assert_int_equal(temp_make(root, "log"), 0);
	assert_int_equal(log_open(&log, root, LOG_LEVEL_WARN, false, &f), 0);
	log_line(log, LOG_LEVEL_INFO, "left out", LOG_NOTHING);
	assert_int_equal(log_lines(log, LOG_LEVEL_INFO), 0);
	assert_false(log_takes(log, LOG_LEVEL_DEBUG));
	log_set_level(log, LOG_LEVEL_DEBUG);
	assert_true(log_takes(log, LOG_LEVEL_DEBUG));
	log_line(log, LOG_LEVEL_INFO, "written", LOG_NOTHING);
	for (int i = 0; i < 3; i++)
		log_seldom(log, &pause, LOG_LEVEL_ERROR, "again", LOG_NOTHING);
	assert_int_equal(log_lines(log, LOG_LEVEL_INFO), 1);
	assert_int_equal(log_lines(log, LOG_LEVEL_ERROR), 1);
	assert_int_equal(pause.n, 2);
	/* A line below the level is not counted, and starts no pause for the next line. */
	pause = (struct log_pause){ 0 };
	log_set_level(log, LOG_LEVEL_WARN);
	for (int i = 0; i < 2; i++)
		log_seldom(log, &pause, LOG_LEVEL_INFO, "again", LOG_NOTHING);
	assert_int_equal(pause.until, 0);
	assert_int_equal(pause.n, 0);
	assert_false(log_takes(NULL, LOG_LEVEL_ERROR));
	log_line(NULL, LOG_LEVEL_ERROR, "nowhere", LOG_NOTHING);
	log_close(log);
	temp_remove(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_log_rotates),
		cmocka_unit_test(test_log_quotes),
		cmocka_unit_test(test_log_left_out),
		cmocka_unit_test(test_log_levels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
