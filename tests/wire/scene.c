#include "tests/wire/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "core/base/clock.h"
#include "tests/lib/child.h"
#include "tests/lib/place.h"

const char *text_at(const json_t *json, const char *name)
{
	const char *s = json_string_value(json_object_get(json, name));

	return s ? s : "";
}

void dial(struct scene *s, struct raw *r, const char *agent)
{
	json_t *hello;

	assert_true(raw_dial(r, s->found.socket));
	assert_true(raw_say(r, raw_hello("red", agent)));
	hello = raw_hear(r, ANSWER_MS);
	assert_string_equal(text_at(hello, "type"), "Hello");
	json_decref(hello);
}

json_t *call(struct raw *r, int id, const char *op, const char *args)
{
	char *text = strdup(args);
	json_t *json, *answer;

	for (char *p = text; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	json = json_loads(text, 0, NULL);
	free(text);
	assert_non_null(json);
	answer = raw_ask(r, raw_call(id, op, json), ANSWER_MS);
	if (!answer)
		fail_msg("no answer to %s", op);
	return answer;
}

static void expect_result(struct raw *r, const char *op, const char *args)
{
	json_t *answer = call(r, 1, op, args);

	if (!json_object_get(answer, "result"))
		fail_msg("%s: %s", op, json_dumps(answer, 0));
	json_decref(answer);
}

void refused(struct raw *r, const char *body, size_t len, const char *code)
{
	json_t *answer;

	assert_true(raw_frame(r, body, len, ANSWER_MS));
	answer = raw_hear(r, ANSWER_MS);
	if (strcmp(text_at(answer, "type"), "Error") ||
	    strcmp(text_at(answer, "code"), code))
		fail_msg("%.60s: %s", body, answer ? json_dumps(answer, 0) : "silence");
	json_decref(answer);
}

void healthy(struct scene *s)
{
	int64_t began = clock_steady_ms();
	struct raw r;
	int status;

	if (waitpid(s->host, &status, WNOHANG) == s->host) {
		s->host = 0;
		fail_msg("the host ended with status %d", status);
	}
	dial(s, &r, NULL);
	expect_result(&r, "state.status", "{}");
	expect_result(&r, "message.send", "{'to':['ann'],'content':'x'}");
	raw_hang_up(&r);
	assert_in_range(clock_steady_ms() - began, 0, patience_ms(AT_ONCE_MS));
}

/* --- beginning and end ------------------------------------------------------------- */

int scene_open(void **state)
{
	/* The sanitizer keeps little freed memory, so that the test can measure memory. */
	static const char *const env[] = {
		"ASAN_OPTIONS=quarantine_size_mb=2:abort_on_error=0", NULL
	};
	struct scene *s = test_calloc(1, sizeof(*s));
	struct fault f = { 0 };
	struct raw r;

	assert_int_equal(temp_make(s->base, "wire"), 0);
	snprintf(s->home, sizeof(s->home), "%s/s", s->base);
	snprintf(s->log, sizeof(s->log), "%s/log", s->base);
	setenv("XDG_RUNTIME_DIR", s->base, 1);
	setenv("HOME", s->base, 1);
	setenv("CADRE_HOME", s->home, 1);
	assert_int_equal(home_find(&s->found, s->home, HOME_MAKE, &f), 0);
	child_adopt();
	s->host = host_start(s->home, env, s->log, 30000);
	assert_true(s->host > 0);
	dial(s, &r, NULL);
	expect_result(&r, "team.create",
		      "{'name':'red','roles':[{'name':'ann'},{'name':'bob'}]}");
	raw_hang_up(&r);
	*state = s;
	return 0;
}

static void show_log(const struct scene *s)
{
	char line[400];
	FILE *in = fopen(s->log, "re");

	while (in && fgets(line, sizeof(line), in))
		fputs(line, stderr);
	if (in)
		fclose(in);
}

int scene_is_healthy(void **state)
{
	healthy(*state);
	return 0;
}

int scene_close(void **state)
{
	struct scene *s = *state;
	int status = s->host ? child_end(s->host, 30000) : -1;

	if (status)
		show_log(s);
	child_end_all();
	temp_remove(s->base);
	test_free(s);
	return status ? -1 : 0;
}
