#include "core/host/guests/results.h"

#include <string.h>

#include "ops.gen.h"

void result_fail(struct daemon_result *r, const struct fault *why, struct arena *a)
{
	const char *err = r->stderr ? r->stderr : "";

	r->success = false;
	if (r->exit_code == 0)
		r->exit_code = -1;
	r->stdout = r->stdout ? r->stdout : "";
	r->stderr = arena_printf(a,
				 "%s%scadre: this result cannot be read as it came: "
				 "%.80s %.160s\n",
				 err, *err ? "\n" : "", why->where, why->text);
	r->has_more = r->more = false;
}

/* Codes are a process's; ids go back to the guest in its next question. */
static int results_check(const struct daemon_result *r, struct fault *f)
{
	if (strlen(r->source_message_id) > RESULT_ID_MOST)
		return fault_set(f, FAULT_INVALID, "/source_message_id",
				 "is longer than an id");
	if (r->exit_code < INT32_MIN || r->exit_code > INT32_MAX)
		return fault_set(f, FAULT_INVALID, "/exit_code",
				 "is none of a process: %lld", (long long)r->exit_code);
	return 0;
}

/* The id of a result of which nothing else can be read; NULL: not that either. */
static const char *results_id_of(const json_t *json)
{
	const json_t *id = json_object_get(json, "source_message_id");
	const char *s = json_string_value(id);

	return s && *s && strlen(s) == json_string_length(id) &&
			       strlen(s) <= RESULT_ID_MOST
		       ? s
		       : NULL;
}

static void note_bad(struct results *page, const struct fault *why)
{
	if (page->n_bad++ == 0)
		page->why = *why;
}

/* Reads one result of a page.  False: there is nothing of it to store. */
static bool read_one(struct results *page, json_t *json, struct daemon_result *r,
		     struct arena *a)
{
	struct fault why = { 0 };

	if (op_decode(&record_daemon_result, json, r, DECODE_LENIENT, a, &why) == 0 &&
	    results_check(r, &why) == 0)
		return true;
	note_bad(page, &why);
	*r = (struct daemon_result){ .source_message_id = results_id_of(json) };
	result_fail(r, &why, a);
	return r->source_message_id != NULL;
}

/* The texts of an answer die with it: the page outlives it. */
static void results_keep(struct daemon_result *r, struct arena *a)
{
	r->task_id = arena_strdup(a, r->task_id);
	r->stdout = arena_strdup(a, r->stdout);
	r->stderr = arena_strdup(a, r->stderr);
	r->source_message_id = arena_strdup(a, r->source_message_id);
}

int results_read(struct results *page, const struct packet *answer, size_t most,
		 struct arena *a, struct fault *f)
{
	json_t *list = json_object_get(answer->json, "results");
	size_t n = json_array_size(list);

	*page = (struct results){ 0 };
	if (!json_is_array(list))
		return answer_refuse(f, "sends a bad DaemonResults: no list of results");
	if (n > most)
		n = most;
	page->all = arena_alloc(a, (n + 1) * sizeof(*page->all));
	for (size_t i = 0; i < n; i++) {
		struct daemon_result *r = &page->all[page->n];

		if (read_one(page, json_array_get(list, i), r, a))
			results_keep(&page->all[page->n++], a);
		else
			*r = (struct daemon_result){ 0 };
	}
	return 0;
}
