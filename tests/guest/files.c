#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/wire/base64.h"
#include "tests/guest/cases.h"

static mode_t mode_of(const struct fixture *x, const char *name)
{
	struct stat st = { 0 };
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", x->dir, name);
	stat(path, &st);
	return st.st_mode & 07777;
}

static void write_plain(const struct fixture *x, const char *name, const char *text)
{
	char path[200];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", x->dir, name);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static void expect_text(const struct fixture *x, const char *name, const char *want)
{
	char *text = read_text(x, name);

	assert_string_equal(text, want);
	free(text);
}

void test_read_and_write(void **state)
{
	struct fixture *x = *state;
	int fd = dial(x, "control.sock");
	json_t *a;

	expect_ok(ask(fd, "{\"type\":\"FileWrite\",\"path\":\"a/b/c.txt\","
			  "\"content\":\"aGVsbG8=\",\"mode\":null}"));
	expect_text(x, "a/b/c.txt", "hello");
	assert_int_equal(mode_of(x, "a/b/c.txt"), 0644);
	expect_ok(askf(fd,
		       "{\"type\":\"FileUpload\",\"guest_path\":"
		       "\"%s/a/b/c.txt\",\"data\":\"\",\"mode\":493}",
		       x->dir));
	assert_int_equal(mode_of(x, "a/b/c.txt"), 0755);
	expect_ok(ask(fd, "{\"type\":\"FileWrite\",\"path\":\"a/./b/../b/c.txt\""
			  ",\"content\":\"AAEC/w==\"}"));
	assert_int_equal(mode_of(x, "a/b/c.txt"), 0755);
	a = ask(fd, "{\"type\":\"FileRead\",\"path\":\"a/b/c.txt\"}");
	assert_string_equal(text_at(a, "content"), "AAEC/w==");
	assert_int_equal(int_at(a, "size"), 4);
	json_decref(a);
	a = ask(fd, "{\"type\":\"FileDownload\",\"guest_path\":\"a/b/c.txt\"}");
	assert_string_equal(text_at(a, "type"), "FileData");
	assert_string_equal(text_at(a, "data"), "AAEC/w==");
	json_decref(a);
	expect_error(ask(fd, "{\"type\":\"FileRead\",\"path\":\"none\"}"), "NotFound");
	expect_error(ask(fd, "{\"type\":\"FileRead\",\"path\":\"a\"}"), "InvalidRequest");
	expect_error(ask(fd, "{\"type\":\"FileWrite\",\"path\":\"a\","
			     "\"content\":\"\"}"),
		     "InvalidRequest");
	expect_error(ask(fd, "{\"type\":\"FileWrite\",\"path\":\"n\","
			     "\"content\":\"a\"}"),
		     "InvalidRequest");
	expect_error(ask(fd, "{\"type\":\"FileWrite\",\"path\":\"n\","
			     "\"content\":\"\",\"mode\":99999}"),
		     "InvalidRequest");
	close(fd);
}

/* A file larger than a frame is written and read in ranges. */
void test_ranges(void **state)
{
	enum { SIZE = 7000000, PIECE = 3000000 };
	struct fixture *x = *state;
	int fd = dial_hello(x, "control.sock");
	char *data = malloc(SIZE), *back = malloc(SIZE + 8), *text;
	size_t at = 0;
	json_t *a;
	bool more = true;

	for (size_t i = 0; i < SIZE; i++)
		data[i] = (char)(i * 7 + i / 251);
	text = malloc(base64_size(PIECE) + 1);
	for (; at < SIZE; at += PIECE) {
		base64_encode(text, data + at, SIZE - at < PIECE ? SIZE - at : PIECE);
		expect_ok(askf(fd,
			       "{\"type\":\"FileWrite\",\"path\":\"big\","
			       "\"offset\":%s%zu,\"content\":\"%s\"}",
			       at ? "" : "null,\"unused\":", at, text));
	}
	for (at = 0; more; json_decref(a)) {
		const char *s;

		a = askf(fd,
			 "{\"type\":\"FileRead\",\"path\":\"big\","
			 "\"offset\":%zu}",
			 at);
		s = text_at(a, "content");
		assert_int_equal(int_at(a, "total"), SIZE);
		at += (size_t)base64_decode(back + at, s, strlen(s));
		more = true_at(a, "more");
	}
	assert_int_equal(at, SIZE);
	assert_memory_equal(data, back, SIZE);
	free(text);
	free(data);
	free(back);
	close(fd);
}

void test_ranges_that_are_not(void **state)
{
	struct fixture *x = *state;
	int fd = dial_hello(x, "control.sock"), old = dial(x, "control.sock");
	json_t *a;

	json_decref(ask(fd, "{\"type\":\"Exec\",\"command\":"
			    "\"head -c 7000000 /dev/zero > big\"}"));
	expect_error(ask(old, "{\"type\":\"FileRead\",\"path\":\"big\"}"),
		     "InvalidRequest");
	a = ask(old, "{\"type\":\"FileRead\",\"path\":\"big\",\"offset\":7,"
		     "\"limit\":3}");
	assert_int_equal(int_at(a, "size"), 3);
	json_decref(a);
	expect_error(ask(fd, "{\"type\":\"FileWrite\",\"path\":\"big\","
			     "\"offset\":7000001,\"content\":\"\"}"),
		     "InvalidRequest");
	expect_error(ask(fd, "{\"type\":\"FileRead\",\"path\":\"big\","
			     "\"offset\":-1}"),
		     "InvalidRequest");
	close(fd);
	close(old);
}

/* Parts may arrive in any order. The file exists only after all parts have arrived. */
void test_upload(void **state)
{
	static const char part[] = "{\"type\":\"FileWrite\",\"path\":\"d/up\",\"upload\":"
				   "\"u1\",\"content\":\"%s\",\"offset\":%d%s}";
	struct fixture *x = *state;
	int fd = dial_hello(x, "control.sock");
	char *text;

	expect_ok(askf(fd, part, "ZGVm", 3, "")); /* def */
	expect_error(ask(fd, "{\"type\":\"FileRead\",\"path\":\"d/up\"}"), "NotFound");
	expect_ok(askf(fd, part, "YWJj", 0, ",\"mode\":448,\"size\":6"));
	text = read_text(x, "d/up");
	assert_string_equal(text, "abcdef");
	free(text);
	/* The old file stays until the new file is complete. If the new file is never
	 * completed, the old file stays for ever. */
	expect_ok(askf(fd, part, "eHh4", 0, ""));
	text = read_text(x, "d/up");
	assert_string_equal(text, "abcdef");
	free(text);
	expect_error(askf(fd, part, "eHh4", 3, ",\"size\":99"), "InvalidRequest");
	text = read_text(x, "d/up");
	assert_string_equal(text, "abcdef");
	free(text);
	/* The guest refuses bad parts, and keeps no bytes of them. */
	expect_error(askf(fd, part, "ZGVm", 1 << 30, ""), "InvalidRequest");
	expect_error(askf(fd, part, "ZGVm", -1, ""), "InvalidRequest");
	expect_error(ask(fd, "{\"type\":\"FileWrite\",\"path\":\"../up\",\"upload\":"
			     "\"u2\",\"content\":\"\",\"size\":0}"),
		     "PermissionDenied");
	expect_error(ask(fd, "{\"type\":\"FileWrite\",\"path\":\"e\",\"upload\":"
			     "\"\",\"content\":\"\"}"),
		     "InvalidRequest");
	for (int i = 0; i < 64; i++)
		expect_ok(askf(fd,
			       "{\"type\":\"FileWrite\",\"path\":\"p%d\",\"upload\":"
			       "\"p%d\",\"content\":\"\"}",
			       i, i));
	expect_error(ask(fd, "{\"type\":\"FileWrite\",\"path\":\"p\",\"upload\":\"p\","
			     "\"content\":\"\"}"),
		     "Exhausted");
	expect_ok(ask(fd, "{\"type\":\"Shutdown\"}"));
	guest_kill(x, 0);
	guest_start(x);
	close(fd);
	fd = dial_hello(x, "control.sock");
	text = NULL;
	json_decref(ask(fd, "{\"type\":\"Exec\",\"command\":\"ls -A . d > list\"}"));
	text = read_text(x, "list");
	assert_null(strstr(text, ".cadre-"));
	free(text);
	close(fd);
}

void test_edit(void **state)
{
	struct fixture *x = *state;
	int fd = dial(x, "control.sock");

	write_plain(x, "e", "one two one");
	expect_ok(ask(fd, "{\"type\":\"EditFile\",\"path\":\"e\",\"old_string\":"
			  "\"one\",\"new_string\":\"1\"}"));
	expect_text(x, "e", "1 two one");
	expect_error(ask(fd, "{\"type\":\"EditFile\",\"path\":\"e\","
			     "\"old_string\":\"no\",\"new_string\":\"1\"}"),
		     "InvalidRequest");
	expect_error(ask(fd, "{\"type\":\"EditFile\",\"path\":\"e\","
			     "\"old_string\":\"\",\"new_string\":\"1\"}"),
		     "InvalidRequest");
	expect_error(ask(fd, "{\"type\":\"EditFile\",\"path\":\"none\","
			     "\"old_string\":\"a\",\"new_string\":\"1\"}"),
		     "NotFound");
	expect_text(x, "e", "1 two one");
	close(fd);
}

static void expect_entry(json_t *list, size_t i, const char *name, const char *kind,
			 const char *permissions)
{
	json_t *e = json_array_get(json_object_get(list, "entries"), i);

	assert_string_equal(text_at(e, "name"), name);
	assert_string_equal(text_at(e, "kind"), kind);
	assert_string_equal(text_at(e, "permissions"), permissions);
	assert_true(int_at(e, "modified") > 0);
}

void test_list(void **state)
{
	struct fixture *x = *state;
	int fd = dial_hello(x, "control.sock");
	char after[400] = "";
	size_t n = 0;
	bool more = true;
	json_t *a;

	a = ask(fd, "{\"type\":\"Exec\",\"command\":\"echo abc > b; chmod 750 b; "
		    "mkdir -m 700 a; ln -s b c; cd a; "
		    "seq -f %.0f$(printf %0240d 0) 16000 | xargs touch\"}");
	assert_int_equal(int_at(a, "exit_code"), 0);
	json_decref(a);
	a = ask(fd, "{\"type\":\"ListDir\",\"path\":\".\"}");
	assert_int_equal(json_array_size(json_object_get(a, "entries")), 3);
	expect_entry(a, 0, "a", "dir", "rwx------");
	expect_entry(a, 1, "b", "file", "rwxr-x---");
	expect_entry(a, 2, "c", "symlink", "rwxrwxrwx");
	json_decref(a);
	while (more) { /* the list is larger than a frame */
		json_t *list;

		a = askf(fd,
			 "{\"type\":\"ListDir\",\"path\":\"a\",\"after\":"
			 "\"%s\"}",
			 after);
		list = json_object_get(a, "entries");
		n += json_array_size(list);
		more = true_at(a, "more");
		snprintf(after, sizeof(after), "%s",
			 text_at(json_array_get(list, json_array_size(list) - 1),
				 "name"));
		json_decref(a);
	}
	assert_int_equal(n, 16000);
	expect_error(ask(fd, "{\"type\":\"ListDir\",\"path\":\"b\"}"), "InvalidRequest");
	close(fd);
}

void test_escapes(void **state)
{
	static const char *const out[] = { "../x", "/etc/passwd", "a/../../x", "up/x",
					   "link", "..",          "//etc/x",   "inner/x" };
	struct fixture *x = *state;
	int fd = dial(x, "control.sock");
	char outside[100];
	struct stat st;

	json_decref(ask(fd, "{\"type\":\"Exec\",\"command\":\"mkdir a real; "
			    "ln -s .. up; ln -s /etc/passwd link; "
			    "ln -s real inner; echo x > real/x; "
			    "echo x > ../x\"}"));
	for (size_t i = 0; i < sizeof(out) / sizeof(out[0]); i++) {
		expect_error(askf(fd, "{\"type\":\"FileRead\",\"path\":\"%s\"}", out[i]),
			     "PermissionDenied");
		expect_error(askf(fd,
				  "{\"type\":\"FileWrite\",\"path\":\"%s\","
				  "\"content\":\"AA==\"}",
				  out[i]),
			     "PermissionDenied");
		expect_error(askf(fd,
				  "{\"type\":\"EditFile\",\"path\":\"%s\","
				  "\"old_string\":\"x\",\"new_string\":\"y\"}",
				  out[i]),
			     "PermissionDenied");
	}
	expect_error(ask(fd, "{\"type\":\"ListDir\",\"path\":\"up\"}"),
		     "PermissionDenied");
	expect_error(askf(fd, "{\"type\":\"FileRead\",\"path\":\"%s2/x\"}", x->dir),
		     "PermissionDenied");
	expect_error(ask(fd, "{\"type\":\"Exec\",\"command\":\"true\","
			     "\"workdir\":\"up\"}"),
		     "PermissionDenied");
	snprintf(outside, sizeof(outside), "%s/x", x->base);
	assert_int_equal(stat(outside, &st), 0);
	assert_int_equal(st.st_size, 2);
	close(fd);
}
