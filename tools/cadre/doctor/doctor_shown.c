/* doctor_shown - checks of the copies made from rows (the vault's files and the search index), and
 * of the trash. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/machine/trash.h"
#include "core/mirror/mirror.h"
#include "core/vault/vault_trash.h"
#include "ops.gen.h"
#include "storage/search/search.h"
#include "tools/cadre/doctor/doctor.h"

enum { LAG_MOST = 1000, SAMPLE = 50, FIX_MS = 60000, STEP_MS = 200 };

static void say_lag(struct doctor *d, const char *what, int64_t behind)
{
	bool hosted = home_holder(&d->cli->home);

	if (behind > LAG_MOST)
		doctor_say(d, VERDICT_WARN, what,
			   hosted ? "see `cadre logs`"
				  : DOCTOR_FIX "start a host: cadre up",
			   "%lld events behind", (long long)behind);
	else
		doctor_say(d, VERDICT_OK, what, NULL, "%lld events behind",
			   (long long)behind);
}

/* The number of the newest event, negative where that cannot be told. */
static int64_t newest_event(struct doctor *d, struct fault *f)
{
	json_t *status = doctor_ask(d, op_state_status, f);
	int64_t newest = status ? json_integer_value(json_object_get(status, "event_seq"))
				: -1;

	json_decref(status);
	return newest;
}

/* --- the vault ----------------------------------------------------------------------- */

/* Whether the vault's files agree with their rows.  A host brings back missing files; a person's
 * edits stay until the row of the file changes. */
static void check_files(struct doctor *d)
{
	struct text report = { 0 };
	struct fault f = { 0 };
	int edited = 0, n = mirror_verify(&d->cli->home, d->store, &report, &edited, &f);

	if (n < 0)
		doctor_say(d, VERDICT_WARN, "vault", "see `cadre logs`", "%s", f.text);
	else if (n > edited)
		doctor_say(d, VERDICT_WARN, "vault",
			   home_holder(&d->cli->home)
				   ? "the host brings them back in a minute"
				   : DOCTOR_FIX "start a host: cadre up",
			   "%d files are not as their rows: %.*s%s", n - edited,
			   (int)strcspn(report.data, "\n"), report.data,
			   n - edited > 1 ? ", …" : "");
	else if (n > 0)
		doctor_say(d, VERDICT_WARN, "vault",
			   "move the file away: cadre writes it anew from its row",
			   "%d file%s edited by hand and may differ from %s: %.*s%s", n,
			   n > 1 ? "s were" : " was", n > 1 ? "their rows" : "its row",
			   (int)strcspn(report.data, ":\n"), report.data,
			   n > 1 ? ", …" : "");
	else
		doctor_say(d, VERDICT_OK, "vault", NULL, "whole");
	text_release(&report);
}

/* The vault shows nothing of the state, or does not say up to which event. */
static void say_unmade(struct doctor *d, struct fault *f)
{
	int64_t newest = newest_event(d, f);

	if (newest > 0)
		doctor_say(d, VERDICT_WARN, "mirror",
			   home_holder(&d->cli->home)
				   ? "the host makes it; see `cadre logs`"
				   : DOCTOR_FIX "start a host: cadre up",
			   "the vault does not show the state, or not how far it does");
	else if (newest == 0)
		doctor_say(d, VERDICT_OK, "mirror", NULL, "not made yet");
}

void check_mirror(struct doctor *d)
{
	const struct home *home = &d->cli->home;
	int64_t behind = -1;
	struct fault f = { 0 };

	/* A vault that is not there would be made by a look into it. */
	if (access(home->vault, F_OK) == 0)
		mirror_lag(home, d->store, &behind, &f);
	if (!f.code && behind < 0)
		say_unmade(d, &f);
	else if (!f.code)
		say_lag(d, "mirror", behind);
	if (f.code)
		doctor_say(d, VERDICT_WARN, "mirror", "see `cadre logs`", "%s", f.text);
	else if (behind >= 0 && behind <= LAG_MOST)
		check_files(d);
}

/* Lets the mirror look at each file, as that of a host does. */
static int mirror_all(struct doctor *d, struct store *store, const char *attic,
		      struct fault *f)
{
	int64_t until = clock_steady_ms() + FIX_MS;
	struct mirror *m = NULL;
	bool more = true;
	int64_t due = 0;
	int rc = mirror_open(&m, &d->cli->home, f);

	if (rc == 0) {
		mirror_watch(m);
		mirror_keep(m, attic);
	}
	while (rc >= 0 && (more || due >= 0)) {
		if (clock_steady_ms() >= until) {
			rc = fault_set(f, FAULT_TIMEOUT, "",
				       "not all files were looked at in %d s",
				       FIX_MS / 1000);
			fault_hint(f, "run it again, or start a host: cadre up");
			break;
		}
		rc = mirror_step(m, store, STEP_MS, &more, f);
		due = mirror_due(m);
		if (!more && due >= 0)
			poll(NULL, 0, due < STEP_MS ? (int)due : STEP_MS);
	}
	mirror_close(m);
	return rc < 0 ? (int)f->code : 0;
}

int fix_mirror(struct doctor *d, struct fault *f)
{
	struct store *store = NULL;
	char attic[4400];

	snprintf(attic, sizeof(attic), "%s/vault", doctor_aside(d));
	if (doctor_open(d, &store, f) == 0 && mirror_all(d, store, attic, f) == 0)
		doctor_did(
			d,
			"files of the vault were written anew from their rows; those that "
			"people edited are as they were");
	store_close(store);
	if (access(attic, F_OK) == 0)
		doctor_did(d, "files of the vault that no row knows are in %s", attic);
	return f->code;
}

/* --- the search index ---------------------------------------------------------------------- */

/* The longest word between blanks that is of plain letters and digits, in the arena; NULL: there
 * is none worth a search. */
static const char *plain_word(struct arena *a, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	enum { SHORTEST = 4, LONGEST = 40 };
	size_t best = SHORTEST - 1, n;
	const char *at = NULL;

	for (; text && *text; text += n + (text[n] != '\0')) {
		n = strcspn(text, " \n");
		if (n > best && n <= LONGEST && strspn(text, plain) >= n) {
			best = n;
			at = text;
		}
	}
	return at ? arena_printf(a, "%.*s", (int)best, at) : NULL;
}

/* Whether the index finds a message by a word of its own. */
static bool is_found(struct search *search, int64_t id, const char *body, struct arena *a,
		     struct fault *f)
{
	struct search_scope scope = { .place = SEARCH_MESSAGES,
				      .before = id + 1,
				      .limit = 1 };
	const char *word = plain_word(a, body);
	struct search_query query;
	int64_t row = 0;
	int n;

	if (!word || search_parse(search, word, &query, a, f) < 0)
		return true;
	n = search_match(search, &query, &scope, &row, f);
	return n < 0 || (n == 1 && row == id);
}

/* Looks for the newest messages in the index: how many it does not have. */
static int count_missing(struct doctor *d, struct search *search, struct fault *f)
{
	struct search_messages_row row;
	struct search_head_row head;
	struct arena a = { 0 };
	struct query q;
	int missing = 0;

	if (store_row(d->store, sql_search_head, &(struct sql_search_head_in){ 0 }, &head,
		      sizeof(head), &a, f) <= 0)
		return 0;
	store_query(d->store, &q, sql_search_messages,
		    &(struct sql_search_messages_in){ .after = head.last_message - SAMPLE,
						      .upto = head.last_message,
						      .limit = SAMPLE });
	while (store_next(&q, &row, sizeof(row), &a, f) > 0)
		missing += !is_found(search, row.id, row.body, &a, f);
	query_end(&q);
	arena_release(&a);
	return missing;
}

/* A search step of 0 ms tells how far the index is.  If the index is complete, looks for messages
 * that the index lacks. */
static void doctor_shown_look_into(struct doctor *d, int64_t *indexed, int *missing,
				   struct fault *f)
{
	struct search *search = NULL;
	bool more = true;

	if (store_begin(d->store, false, f) < 0)
		return;
	if (search_open(&search, d->cli->home.dir, f) == 0 &&
	    search_step(search, d->store, 0, indexed, &more, f) == 0 && !more)
		*missing = count_missing(d, search, f);
	search_close(search);
	store_rollback(d->store);
}

void check_search(struct doctor *d)
{
	struct fault f = { 0 };
	int64_t newest = newest_event(d, &f), indexed = 0;
	int missing = 0;

	if (search_check(d->cli->home.dir, &f) < 0) {
		doctor_say(d, VERDICT_BAD, "search",
			   DOCTOR_FIX "search for something: it is made anew",
			   "search.db is damaged: %s", f.text);
		return;
	}
	if (newest >= 0)
		doctor_shown_look_into(d, &indexed, &missing, &f);
	if (f.code)
		doctor_say(d, VERDICT_BAD, "search",
			   DOCTOR_FIX "remove search.db: it is made anew", "%s", f.text);
	else if (missing)
		doctor_say(d, VERDICT_BAD, "search",
			   DOCTOR_FIX "end all of cadre and remove search.db",
			   "%d of the newest messages are not in the index", missing);
	else
		say_lag(d, "search", newest > indexed ? newest - indexed : 0);
}

/* All that was indexed is in the state and the vault; the former files are kept even so. */
int fix_search(struct doctor *d, struct fault *f)
{
	static const char *const names[] = { "search.db-wal", "search.db-shm",
					     "search.db-journal", "search.db" };
	struct search *search = NULL;
	struct store *store = NULL;
	int64_t indexed = 0;
	bool more = true, kept = false;

	/* An index that is only behind goes on. */
	for (size_t i = 0; d->worst == VERDICT_BAD && i < sizeof(names) / sizeof(*names);
	     i++) {
		int rc = doctor_keep(d, names[i], f);

		if (rc < 0)
			return rc;
		kept |= rc > 0;
	}
	if (doctor_open(d, &store, f) == 0 &&
	    search_open(&search, d->cli->home.dir, f) == 0)
		while (more && !f->code && store_begin(store, false, f) == 0) {
			search_step(search, store, STEP_MS, &indexed, &more, f);
			store_rollback(store);
		}
	search_close(search);
	store_close(store);
	if (!f->code && kept)
		doctor_did(d, "the former index is in %s", d->aside);
	if (!f->code)
		doctor_did(d, "the search index is whole, up to event %lld",
			   (long long)indexed);
	return f->code;
}

/* --- trash ------------------------------------------------------------------------------- */

/* The folders of removed workspaces, which take up space until their time is over. */
void check_trash(struct doctor *d)
{
	const struct config *config = &d->cli->home.settings.config;
	struct arena a = { 0 };
	struct trash_entry *entries;
	size_t n = trash_list(d->cli->home.dir, &a, &entries);
	const char *s = n == 1 ? "" : "s";
	int64_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += entries[i].bytes;
	if (bytes > config->workspace_trash_mb << 20)
		doctor_say(d, VERDICT_WARN, "trash",
			   "the oldest go at the host's next start, or when something is "
			   "removed; workspace.trash_mb keeps more",
			   "%zu removed workspace%s, %lld MiB where %lld are kept", n, s,
			   (long long)(bytes >> 20),
			   (long long)config->workspace_trash_mb);
	else if (n)
		doctor_say(
			d, VERDICT_OK, "trash", NULL,
			"%zu removed workspace%s, %lld MiB of %lld, kept for %lld days: "
			"cadre undo",
			n, s, (long long)(bytes >> 20),
			(long long)config->workspace_trash_mb,
			(long long)config->workspace_keep_days);
	arena_release(&a);
}

/* The notes that were removed, in the vault. */
void check_note_trash(struct doctor *d)
{
	const struct settings *s = &d->cli->home.settings;
	struct vault_trash *entries;
	struct arena a = { 0 };
	struct fault f = { 0 };
	int64_t bytes = 0;
	size_t n = 0;

	if (vault_trash_list(s->notes, &a, &entries, &n, &f) < 0)
		doctor_say(d, VERDICT_WARN, "notes' trash",
			   "move away what stands in the vault as .trash", "%s", f.text);
	for (size_t i = 0; !f.code && i < n; i++)
		bytes += entries[i].bytes;
	if (!f.code && n)
		doctor_say(
			d, VERDICT_OK, "notes' trash", NULL,
			"%zu removals of notes, %lld KiB of %lld MiB, each for %lld days: "
			"cadre undo",
			n, (long long)(bytes >> 10),
			(long long)s->config.workspace_trash_mb,
			(long long)s->config.workspace_keep_days);
	arena_release(&a);
}
