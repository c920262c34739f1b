/* vault_path - resolves a caller's path in the vault, and checks the caller's access. */
#include <string.h>
#include <strings.h>

#include "core/vault/vault_page.h"
#include "core/vault/vault_inside.h"

enum { PART_MOST = 200 }; /* bytes of a name (file systems allow 255 bytes) */

struct walker {
	struct call *call;
	const char *where;
	char path[NOTE_PATH + 1];
	size_t len;
	int parts;
};

static int vault_path_refuse(struct walker *w, enum fault_code code, const char *what)
{
	return fault_set(&w->call->fault, code, w->where, "%s", what);
}

/* Refuses a name of a path for all callers, whatever their rights are. */
static int refuse_name(struct walker *w, const char *what)
{
	vault_path_refuse(w, FAULT_DENIED, what);
	return fault_hint(&w->call->fault, "Use another path.");
}

/* --- spelling ------------------------------------------------------------------ */

static bool vault_path_is_plain(const char *part, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)part[i] < ' ' || part[i] == 0x7f)
			return false;
	return true;
}

/* `teams/.archive` is the only hidden folder that a path may contain. */
static bool is_archive(const struct walker *w, const char *part, size_t n)
{
	return w->parts == 1 && strcmp(w->path, "teams") == 0 && n == 8 &&
	       memcmp(part, ".archive", 8) == 0;
}

static int vault_path_add_part(struct walker *w, const char *part, size_t n)
{
	if (n == 0 || (n == 1 && *part == '.'))
		return 0;
	if (n == 2 && memcmp(part, "..", 2) == 0)
		return refuse_name(w, "a path may not have `..`");
	if (!vault_path_is_plain(part, n))
		return vault_path_refuse(w, FAULT_INVALID,
					 "a path may not have control characters");
	if (*part == '.' && !is_archive(w, part, n))
		return refuse_name(w, "names that begin with a dot are hidden");
	if (n > PART_MOST || w->len + n + 1 > NOTE_PATH || w->parts == NOTE_DEPTH)
		return vault_path_refuse(w, FAULT_INVALID, "the path is too long");
	if (w->len)
		w->path[w->len++] = '/';
	memcpy(w->path + w->len, part, n);
	w->len += n;
	w->path[w->len] = '\0';
	w->parts++;
	return 0;
}

static int add_parts(struct walker *w, const char *s)
{
	while (*s) {
		size_t n = strcspn(s, "/");
		int rc = vault_path_add_part(w, s, n);

		if (rc < 0)
			return rc;
		s += n + (s[n] == '/');
	}
	return 0;
}

static bool is_agent(const struct call *call)
{
	return call->identity.agent != NULL;
}

static bool from_root(const struct call *call, const char *given)
{
	return !is_agent(call) || *given == '/' || strncmp(given, "teams/", 6) == 0 ||
	       strcmp(given, "teams") == 0;
}

static int vault_path_resolve(struct walker *w, const char *given)
{
	int rc = 0;

	if (!from_root(w->call, given) && (rc = vault_path_add_part(w, "teams", 5)) == 0)
		rc = add_parts(w, w->call->caller.team_name);
	return rc < 0 ? rc : add_parts(w, given);
}

/* --- kinds of paths -------------------------------------------------------------- */

bool vault_is_note(const struct call *call, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');

	if (!dot || dot == name || !dot[1])
		return false;
	for (const char *e = call->settings->config.vault_extensions; *e;) {
		size_t n = strcspn(e, " ");

		if (strlen(dot + 1) == n && strncasecmp(dot + 1, e, n) == 0)
			return true;
		e += n + (e[n] == ' ');
	}
	return false;
}

/* Finds the team whose folder is or contains the path. Returns the length of the team's name,
 * or 0 if the path is in no team's folder. */
static size_t team_in(const char *path, bool folder, const char **team)
{
	size_t n;

	if (strncmp(path, "teams/", 6) != 0)
		return 0;
	*team = path + 6;
	n = strcspn(*team, "/");
	return (*team)[n] == '/' || folder ? n : 0;
}

static bool vault_path_is_own(const struct call *call, const char *team, size_t n)
{
	const char *own = call->caller.team_name;

	return strlen(own) == n && memcmp(own, team, n) == 0;
}

/* --- access ---------------------------------------------------------------------- */

static int check_reach(struct walker *w, bool folder, enum vault_access access)
{
	const char *team = "";
	size_t n = team_in(w->path, folder, &team);

	if (!is_agent(w->call) || (n && vault_path_is_own(w->call, team, n)))
		return 0;
	if (n && *team == '.')
		return vault_path_refuse(w, FAULT_DENIED,
					 "only the operator may use the archive");
	if (n)
		return fault_set(&w->call->fault, FAULT_DENIED, w->where,
				 "teams/%.*s is another team's folder", (int)n, team);
	if (access == VAULT_READ)
		return 0;
	fault_set(&w->call->fault, FAULT_DENIED, w->where,
		  "an agent can write only in its own team's folder");
	return fault_hint(&w->call->fault, "Use a path below teams/%s/.",
			  w->call->caller.team_name);
}

static bool is_task(const char *name)
{
	size_t n = strspn(name, "0123456789");

	return strcmp(name, "INDEX.md") == 0 ||
	       (n && name[n] == '-' && !strstr(name, ".conflict"));
}

static bool is_card(const char *name)
{
	return !strstr(name, ".conflict") && strlen(name) > 5 &&
	       strcmp(name + strlen(name) - 5, ".json") == 0;
}

static bool is_team_page(const char *name)
{
	return strcmp(name, "TEAM.md") == 0;
}

static bool is_day(const char *name)
{
	size_t n = strspn(name, "0123456789-");

	return n >= 10 && strcmp(name + n, ".md") == 0;
}

/* Kinds of files that the mirror keeps equal to rows, each with a hint at the commands that
 * change these rows. */
static const struct mirrored {
	const char *folder; /* path below the team's folder; "" means the team's folder */
	bool (*is)(const char *name);
	const char *hint;
} mirrored[] = {
	{ "tasks/", is_task, "Change the task instead: task update, note, tick, …" },
	{ "cards/", is_card,
	  "Write the whole card (`vault write`), or: agent update, status." },
	{ "messages/", is_day, "Send a message instead." },
	{ "", is_team_page, "This file shows the team; write a note beside it." },
};

/* The kind of a mirrored file, or NULL if the file shows no row. */
static const struct mirrored *mirrored_find(const char *path)
{
	const char *team = "";
	size_t n = team_in(path, false, &team);
	const char *rest = team + n + (n > 0);

	for (size_t i = 0; n && i < sizeof(mirrored) / sizeof(*mirrored); i++) {
		size_t len = strlen(mirrored[i].folder);

		if (*team != '.' && strncmp(rest, mirrored[i].folder, len) == 0 &&
		    !strchr(rest + len, '/') && mirrored[i].is(rest + len))
			return &mirrored[i];
	}
	return NULL;
}

const char *vault_edited(struct call *call, const char *path, const char *data,
			 size_t len)
{
	const struct mirrored *m = mirrored_find(path);

	return m && !page_sealed(data, len)
		       ? arena_printf(
				 &call->arena,
				 "this file shows a row, but was edited by hand and may "
				 "differ from the row. %s",
				 m->hint)
		       : NULL;
}

bool vault_is_shown_folder(const char *path)
{
	const char *team = "";
	size_t n = team_in(path, false, &team), len;

	for (size_t i = 0; n && i < sizeof(mirrored) / sizeof(*mirrored); i++) {
		len = strlen(mirrored[i].folder);
		if (*team != '.' && len && team[n] == '/' &&
		    strncmp(team + n + 1, mirrored[i].folder, len - 1) == 0 &&
		    (team[n + len] == '/' || !team[n + len]))
			return true;
	}
	return false;
}

bool vault_is_mirrored(const char *path)
{
	return mirrored_find(path) != NULL;
}

int vault_is_persons(const struct notes *notes, const struct note_entry *entry,
		     struct fault *f)
{
	const struct note_part whole = { 0, entry->stamp.size };
	struct note_stamp stamp;
	struct text text = { 0 };
	int rc;

	if (entry->closed)
		return fault_set(f, FAULT_IO, "", "cannot open %.180s of the vault: %s",
				 entry->path, strerror(entry->closed));
	if (entry->folder || !vault_is_mirrored(entry->path))
		return !entry->folder;
	rc = notes->read(notes->self, entry->path, whole, &text, &stamp, f);
	if (rc > 0)
		rc = text.len > 0 && !page_sealed(text.data, text.len);
	text_release(&text);
	return rc;
}

static int check_mirrored(struct walker *w)
{
	const struct mirrored *m = mirrored_find(w->path);

	if (!m)
		return 0;
	fault_set(&w->call->fault, FAULT_CONFLICT, w->where,
		  "%.200s shows a part of the state, and cannot be "
		  "written by hand",
		  w->path);
	return fault_hint(&w->call->fault, "%s", m->hint);
}

static int check_note(struct walker *w, const char *given)
{
	if (w->parts == 0 || given[strlen(given) - 1] == '/')
		return vault_path_refuse(w, FAULT_INVALID,
					 "the path names a folder, not a note");
	if (vault_is_note(w->call, w->path))
		return 0;
	fault_set(&w->call->fault, FAULT_INVALID, w->where,
		  "a note's name cannot end like this");
	return fault_hint(&w->call->fault, "Notes end with one of: %s.",
			  w->call->settings->config.vault_extensions);
}

int vault_note(struct call *call, const char *given, const char *where,
	       enum vault_access access, const char **out)
{
	struct walker w = { .call = call, .where = where };
	int rc;

	if ((rc = vault_path_resolve(&w, given)) < 0 ||
	    (rc = check_note(&w, given)) < 0 ||
	    (rc = check_reach(&w, false, access)) < 0 ||
	    (access == VAULT_WRITE && (rc = check_mirrored(&w)) < 0))
		return rc;
	*out = arena_strdup(&call->arena, w.path);
	return 0;
}

int vault_card_named(struct call *call, const char *given, struct vault_card *card)
{
	struct walker w = { .call = call, .where = "/path" };
	const char *team = "", *name;
	size_t n;
	int rc;

	if ((rc = vault_path_resolve(&w, given)) < 0)
		return rc;
	n = team_in(w.path, false, &team);
	name = team + n + 1;
	if (!n || *team == '.' || strncmp(name, "cards/", 6) != 0 ||
	    strchr(name + 6, '/') || !is_card(name + 6))
		return 0;
	if ((rc = check_reach(&w, false, VAULT_WRITE)) < 0)
		return rc;
	card->path = arena_strdup(&call->arena, w.path);
	card->team = arena_strndup(&call->arena, team, n);
	card->agent = arena_strndup(&call->arena, name + 6, strlen(name + 6) - 5);
	return 1;
}

int vault_folder(struct call *call, const char *given, const char *where,
		 const char **out)
{
	struct walker w = { .call = call, .where = where };
	int rc;

	if ((rc = vault_path_resolve(&w, given ? given : "")) < 0 ||
	    (rc = check_reach(&w, true, VAULT_READ)) < 0)
		return rc;
	*out = arena_strdup(&call->arena, w.path);
	return 0;
}

bool vault_sees(struct call *call, const struct note_entry *entry)
{
	const char *team = "";
	size_t n = team_in(entry->path, entry->folder, &team);

	return !is_agent(call) || n == 0 || vault_path_is_own(call, team, n);
}
