/*
 * parts - answers that never end, that cannot be true, or that are too large.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "core/host/guests/hosted_answer.h"
#include "tests/answer/cases.h"
#include "tests/answer/scene.h"

static long peak_kib(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

/* Makes a call. The guest answers with the messages that make() makes. */
static json_t *ask_made(struct scene *s, const char *op, const char *args,
			const char *type, json_t *(*make)(struct scene *s))
{
	json_t *answer;

	s->asked = type;
	s->make = make;
	s->answers = s->nth = 0;
	answer = rig_ask(&s->rig, op, json_loads(args, 0, NULL), PATIENCE_MS);
	if (!answer)
		fail_msg("%s: no end after %d parts", op, s->answers);
	s->make = NULL;
	return answer;
}

static void expect_refused(json_t *answer, const char *why)
{
	const char *text = json_string_value(json_object_get(answer, "message"));

	assert_string_equal(json_string_value(json_object_get(answer, "code")),
			    "IoError");
	if (!strstr(text, why))
		fail_msg("'%s' does not say '%s'", text, why);
	json_decref(answer);
}

static const char exec[] = "{\"workspace\":\"w\",\"command\":\"x\"}";
static const char list[] = "{\"workspace\":\"w\"}";

static json_t *make_output(struct scene *s, const char *text)
{
	const char *type = strcmp(s->asked, "Exec") ? "BackgroundStatus" : "ExecResult";
	json_t *m = json_pack("{sssssssbsisisb}", "type", type, "stdout", text, "stderr",
			      "", "more", 1, "job_id", 1, "exit_code", 0, "running", 1);

	s->asked = NULL; /* the next request has another type */
	return m;
}

static json_t *make_small(struct scene *s)
{
	json_t *m = make_output(s, "z");

	s->asked = "ExecPoll";
	return m;
}

static json_t *make_empty(struct scene *s)
{
	json_t *m = make_output(s, "");

	s->asked = "ExecPoll";
	return m;
}

static json_t *make_names(struct scene *s)
{
	json_t *entries = json_array();
	char name[220];

	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "%08d%0200d", s->nth++, 0);
		json_array_append_new(entries,
				      json_pack("{sssssisssi}", "name", name, "kind",
						"file", "size", 1, "permissions",
						"rw-r--r--", "modified", 1));
	}
	return json_pack("{sssosb}", "type", "DirListing", "entries", entries, "more", 1);
}

static json_t *make_names_again(struct scene *s)
{
	s->nth = 0;
	return make_names(s);
}

static json_t *make_lie(struct scene *s)
{
	(void)s;
	return json_pack("{sssssisb}", "type", "FileContent", "content", "QUJD", "size",
			 2000000000, "more", 1);
}

static json_t *make_longer(struct scene *s)
{
	(void)s;
	return json_pack("{sssssi}", "type", "FileContent", "content", "QUJD", "size", 3);
}

void test_endless(void **state)
{
	struct scene *s = scene_open(place_unix, false);
	json_t *answer;
	long before = peak_kib();

	(void)state;
	expect_refused(ask_made(s, "workspace.exec", exec, "Exec", make_small),
		       "more than 64 parts");
	assert_int_equal(s->answers, ANSWER_PARTS_MOST + 1);
	expect_refused(ask_made(s, "workspace.exec", exec, "Exec", make_empty),
		       "and sends none");
	expect_refused(ask_made(s, "workspace.list_dir", list, "ListDir",
				make_names_again),
		       "lists a name twice");
	answer = ask_made(s, "workspace.list_dir", list, "ListDir", make_names);
	assert_true(
		json_is_true(json_object_get(json_object_get(answer, "result"), "more")));
	json_decref(answer);
	expect_refused(ask_made(s, "workspace.file_read",
				"{\"workspace\":\"w\",\"path\":\"p\"}", "FileRead",
				make_lie),
		       "says 2000000000 bytes and sends 3");
	expect_refused(ask_made(s, "workspace.file_read",
				"{\"workspace\":\"w\",\"path\":\"p\",\"length\":2}",
				"FileRead", make_longer),
		       "sends 3 bytes of the 2");
	if (peak_kib() - before > 256 << 10)
		fail_msg("%ld KiB for answers of 4 MiB", peak_kib() - before);
	assert_true(s->rig.guest->up);
	scene_close(s);
}

static const struct {
	const char *type, *op, *args, *answer, *why;
} lies[] = {
	{ "FileRead", "workspace.file_read", "{\"workspace\":\"w\",\"path\":\"p\"}",
	  "{\"type\":\"FileContent\",\"content\":\"!!!!\",\"size\":3}", "not base64" },
	{ "FileRead", "workspace.file_read", "{\"workspace\":\"w\",\"path\":\"p\"}",
	  "{\"type\":\"FileContent\",\"content\":\"\",\"size\":0,"
	  "\"more\":true}",
	  "and sends none" },
	{ "ListDir", "workspace.list_dir", list,
	  "{\"type\":\"DirListing\",\"entries\":[{\"name\":\"..\",\"kind\":"
	  "\"dir\",\"size\":1,\"permissions\":\"r\"}]}",
	  "no directory can hold" },
	{ "ListDir", "workspace.list_dir", list,
	  "{\"type\":\"DirListing\",\"entries\":[{\"name\":\"a\",\"kind\":"
	  "\"file\",\"size\":-1,\"permissions\":\"r\"}]}",
	  "no directory can hold" },
	{ "ListDir", "workspace.list_dir", list,
	  "{\"type\":\"DirListing\",\"entries\":[{\"name\":\"a\",\"kind\":"
	  "\"other\",\"size\":1,\"permissions\":\"r\"}]}",
	  "no directory can hold" },
	{ "Exec", "workspace.exec", exec,
	  "{\"type\":\"ExecResult\",\"exit_code\":0,\"stdout\":\"abc\","
	  "\"stderr\":\"\",\"stdout_size\":9223372036854775807}",
	  "3 bytes of output, but gives 9223372036854775807" },
	{ "Exec", "workspace.exec", exec,
	  "{\"type\":\"ExecResult\",\"exit_code\":0,\"stdout\":\"\","
	  "\"stderr\":\"abc\",\"stderr_size\":2}",
	  "3 bytes of output, but gives 2" },
	{ "Exec", "workspace.exec", exec,
	  "{\"type\":\"ExecResult\",\"exit_code\":0,\"stdout\":\"abc\","
	  "\"stderr\":\"\",\"stdout_size\":-1}",
	  "3 bytes of output, but gives -1" },
	{ "Exec", "workspace.exec", exec,
	  "{\"type\":\"ExecResult\",\"exit_code\":0,\"stdout\":\"abc\","
	  "\"stderr\":\"\",\"stdout_written\":-5}",
	  "wrote -5 bytes" },
	{ "Exec", "workspace.exec", exec,
	  "{\"type\":\"ExecResult\",\"exit_code\":4294967296,\"stdout\":\"\","
	  "\"stderr\":\"\"}",
	  "ended with 4294967296" },
	{ "Exec", "workspace.exec",
	  "{\"workspace\":\"w\",\"command\":\"x\",\"follow\":true}",
	  "{\"type\":\"ExecResult\",\"exit_code\":0,\"stdout\":\"\","
	  "\"stderr\":\"\",\"running\":true}",
	  "runs on, and names no job" },
	{ "ExecBackground", "workspace.exec_background", exec,
	  "{\"type\":\"BackgroundStarted\",\"job_id\":2147483648}", "job" },
	{ "SetEnv", "workspace.set_env", "{\"workspace\":\"w\",\"vars\":{\"A\":\"b\"}}",
	  "{\"type\":\"SetEnvResult\",\"count\":-1}", "variables" },
};

/* The host does not pass on answers that are well formed but cannot be true. */
void test_lies(void **state)
{
	struct scene *s = scene_open(place_unix, false);

	(void)state;
	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		s->answer = json_loads(lies[i].answer, 0, NULL);
		expect_refused(ask_made(s, lies[i].op, lies[i].args, lies[i].type, NULL),
			       lies[i].why);
		json_decref(s->answer);
	}
	s->answer = NULL;
	scene_close(s);
}

/* Makes parts of a command's output. The caller leaves at the third part. The host must then
 * ask for no further output of the command. */
static json_t *make_and_leave(struct scene *s)
{
	if (s->answers == 3)
		rig_forsake(&s->rig);
	return make_small(s);
}

void test_gone(void **state)
{
	struct scene *s = scene_open(place_unix, false);

	(void)state;
	s->asked = "Exec";
	s->make = make_and_leave;
	assert_true(rig_call(&s->rig, "workspace.exec", json_loads(exec, 0, NULL)));
	for (int i = 0; i < 200; i++)
		rig_step(&s->rig, true);
	assert_int_equal(s->answers, 3);
	assert_int_equal(s->rig.conn.n_jobs, 0);
	scene_close(s);
}

/* The host refuses a frame full of very small values before parsing the frame. */
void test_wide(void **state)
{
	struct scene *s = scene_open(place_unix, false);
	struct text body = { 0 };
	long before;
	json_t *answer;

	(void)state;
	text_addf(&body, "{\"type\":\"DirListing\",\"id\":1,\"entries\":[[]");
	while (body.len + 8 < FRAME_MAX)
		text_add(&body, ",[]", 3);
	text_add(&body, "]}", 2);
	before = peak_kib();
	s->asked = "ListDir";
	s->raw = body.data;
	s->raw_size = body.len;
	answer = rig_ask(&s->rig, "workspace.list_dir", json_loads(list, 0, NULL),
			 PATIENCE_MS);
	assert_string_equal(json_string_value(json_object_get(answer, "code")),
			    "Unavailable");
	json_decref(answer);
	if (peak_kib() - before > 48 << 10)
		fail_msg("%ld KiB for a frame of 4 MiB", peak_kib() - before);
	s->raw = NULL;
	text_release(&body);
	scene_close(s);
}
