/*
 * glob - decides whether two globs can match the same path, without looking into any folder.
 *
 * A glob is read into tokens. A token takes characters, or may be skipped, or both. Two globs
 * can match the same path if a walk can go through both token lists in parallel, from their
 * beginnings to their ends. Each step of the walk takes a character that both tokens allow, or
 * skips tokens. A place of the walk is a pair of indexes, one for each list, and no step makes
 * an index smaller. So one pass over all pairs of indexes, in order, finds every place that the
 * walk can reach. A path is a glob that has only characters.
 */
#include "core/reservation/glob.h"

#include <stdint.h>
#include <string.h>

/* The kinds of tokens. A token that is not negative is a character. */
enum token {
	ONE = -1, /* one character of a name */
	SOME = -2, /* any number of characters of a name, or no character */
	ALL = -3, /* any number of any characters, or no character */
	/* FOLDERS and BELOW say that the tokens after them may be skipped. */
	FOLDERS = -4, /* stands before ALL and a slash, both of which may be skipped */
	BELOW = -5, /* stands before a slash, ONE and ALL at the end of a list */
	END = -6, /* the end of the list, which takes no character */
};

enum {
	/* The two bytes of a `*` and a slash become three tokens. Up to four tokens follow the
	 * last name. */
	TOKENS = GLOB_BYTES * 3 / 2 + 8,
	JUMP = 4, /* maximum number of tokens that one step can skip */
};

/* --- tidying ---------------------------------------------------------------------------- */

static bool is_wild(char c)
{
	return c == '*' || c == '?';
}

/* Returns the number of bytes of `given` that name the folder `root`, or 0 if the absolute path
 * `given` is not in the folder `root`. */
static size_t glob_below(const char *given, const char *root)
{
	size_t n = root ? strlen(root) : 0;

	while (n && root[n - 1] == '/')
		n--;
	if (!root || root[0] != '/' || strncmp(given, root, n) != 0 ||
	    (given[n] && given[n] != '/'))
		return 0;
	return n ? n : 1;
}

/* Removes the last name from the path. Returns NULL, or the reason why the name cannot be
 * removed. */
static const char *glob_go_up(char *out, size_t *n)
{
	if (!*n)
		return "the path leads out of the project";
	while (*n && out[*n - 1] != '/')
		if (is_wild(out[--*n]))
			return "`..` may not follow a `*` or `?`";
	*n -= *n > 0; /* the slash before the removed name */
	return NULL;
}

const char *glob_tidy(const char *given, const char *root, char out[GLOB_PATH])
{
	size_t n = 0;

	if (*given == '/') {
		size_t skip = glob_below(given, root);

		if (!skip)
			return "the path is not in the project";
		given += skip;
	}
	while (*given) {
		size_t len = strcspn(given, "/");
		const char *why = NULL;

		if (len == 2 && !memcmp(given, "..", 2)) {
			why = glob_go_up(out, &n);
		} else if (len && !(len == 1 && *given == '.')) {
			if (n + len + 2 > GLOB_PATH)
				return "the path is too long";
			if (n)
				out[n++] = '/';
			memcpy(out + n, given, len);
			n += len;
		}
		if (why)
			return why;
		given += len + (given[len] == '/');
	}
	out[n] = '\0';
	return NULL;
}

/* Whether a shell would expand braces in the glob. Braces that no shell expands are characters
 * of a name. */
static bool glob_has_choice(const char *glob)
{
	const char *open = strchr(glob, '{'), *close = strrchr(glob, '}');
	size_t n = open && close > open ? (size_t)(close - open) : 0;

	return n && (memchr(open, ',', n) || memmem(open, n, "..", 2));
}

const char *glob_fault(const char *glob)
{
	if (!*glob)
		return "write `**` for the whole project";
	if (strlen(glob) > GLOB_BYTES)
		return "the path is longer than 255 bytes";
	if (glob_has_choice(glob))
		return "`{a,b}` has no meaning here: name each glob by itself";
	if (strchr(glob, '\\'))
		return "`\\` has no meaning here, and a path with it cannot "
		       "be reserved";
	return NULL;
}

const char *glob_stem(struct arena *a, const char *glob)
{
	size_t n = 0, len;

	while ((len = strcspn(glob + n, "/")) <= strcspn(glob + n, "*?") && glob[n + len])
		n += len + 1;
	if (len > strcspn(glob + n, "*?"))
		len = 0;
	n += len;
	return arena_strndup(a, glob, n && glob[n - 1] == '/' ? n - 1 : n);
}

/* --- reading ---------------------------------------------------------------------------- */

/* Takes the next character of UTF-8. A byte of invalid UTF-8 counts as one character. */
static int32_t take_char(const char **s)
{
	const unsigned char *p = (const unsigned char *)*s;
	int more = p[0] >= 0xf0 ? 3 : p[0] >= 0xe0 ? 2 : p[0] >= 0xc0 ? 1 : 0;
	int32_t c = more ? p[0] & (0x3f >> more) : p[0];
	int i;

	for (i = 1; i <= more && (p[i] & 0xc0) == 0x80; i++)
		c = c << 6 | (p[i] & 0x3f);
	if (i <= more) {
		i = 1;
		c = p[0];
	}
	*s += i;
	return c;
}

/* Reads a name other than `**` into tokens. The number of tokens is at most the number of the
 * name's bytes plus one. Returns the number of tokens. */
static size_t glob_read_name(const char *s, const char *end, int32_t *out)
{
	bool empty = true; /* the tokens so far can match an empty name */
	size_t n = 0;

	while (s < end)
		if (*s == '*') {
			s += strspn(s, "*");
			out[n++] = SOME;
		} else {
			int32_t c = take_char(&s);

			out[n++] = c == '?' ? ONE : c;
			empty = false;
		}
	if (empty) /* a name has at least one character */
		out[n++] = ONE;
	return n;
}

/* Reads a glob into tokens. Returns the number of tokens. */
static size_t read_glob(const char *glob, int32_t out[TOKENS])
{
	size_t n = 0;

	for (;;) {
		const char *end = glob + strcspn(glob, "/");
		bool deep = end - glob == 2 && !memcmp(glob, "**", 2), wild = false;

		if (!deep)
			n += glob_read_name(glob, end, out + n);
		for (; glob < end; glob++)
			wild |= is_wild(*glob);
		if (*end && deep) {
			out[n++] = FOLDERS;
			out[n++] = ALL;
		} else if (deep) {
			out[n++] = ONE;
			out[n++] = ALL;
		} else if (!*end && !wild) {
			out[n++] = BELOW;
			out[n++] = '/';
			out[n++] = ONE;
			out[n++] = ALL;
		}
		if (!*end)
			return n;
		out[n++] = '/';
		glob = end + 1;
	}
}

/* --- deciding --------------------------------------------------------------------------- */

/* Whether a token may take more than one character. */
static bool glob_stays(int32_t token)
{
	return token == SOME || token == ALL;
}

/* Returns the number of tokens that one step can skip at this token, or 0 if the token has to
 * take a character. */
static size_t jump_of(int32_t token)
{
	return token == FOLDERS ? 3 : token == BELOW ? JUMP : glob_stays(token) ? 1 : 0;
}

/* Whether there is a character that both tokens can take. */
static bool shares(int32_t a, int32_t b)
{
	if (a <= FOLDERS || b <= FOLDERS) /* END, FOLDERS and BELOW take no character */
		return false;
	if (a == ALL || b == ALL)
		return true;
	if (a < 0 || b < 0)
		return a != '/' && b != '/';
	return a == b;
}

/* The places (i, j) that the walk can reach, with a row of flags for each i. A step increases i
 * by at most JUMP, so JUMP + 1 rows are enough. */
struct walk {
	bool at[JUMP + 1][TOKENS + JUMP];
	size_t last; /* the highest i among the reached places */
	size_t steps;
};

static bool *glob_row_of(struct walk *w, size_t i)
{
	return w->at[i % (JUMP + 1)];
}

static void glob_mark(struct walk *w, size_t i, size_t j)
{
	glob_row_of(w, i)[j] = true;
	w->last = i > w->last ? i : w->last;
}

/* Marks all places that one step from the place (i, j) can reach. */
static void glob_step(struct walk *w, const int32_t *a, const int32_t *b, size_t i,
		      size_t j)
{
	const int32_t s = a[i], t = b[j];

	w->steps++;
	if (jump_of(s)) {
		glob_mark(w, i + 1, j);
		glob_mark(w, i + jump_of(s), j);
	}
	if (jump_of(t)) {
		glob_mark(w, i, j + 1);
		glob_mark(w, i, j + jump_of(t));
	}
	if (shares(s, t))
		glob_mark(w, i + !glob_stays(s), j + !glob_stays(t));
}

/* Whether a walk reaches the ends of both token lists. */
static bool meets(const int32_t *a, const int32_t *b, size_t *steps)
{
	struct walk w = { 0 };
	bool met = false;

	glob_mark(&w, 0, 0);
	for (size_t i = 0, j; i <= w.last && !met; i++) {
		for (j = 0; b[j] != END; j++)
			if (glob_row_of(&w, i)[j])
				glob_step(&w, a, b, i, j);
		if (glob_row_of(&w, i)[j])
			glob_step(&w, a, b, i, j);
		met = a[i] == END && glob_row_of(&w, i)[j];
		memset(glob_row_of(&w, i), 0, sizeof(w.at[0]));
		w.steps += j / 8; /* eight looks at places count as one step */
	}
	*steps += w.steps;
	return met;
}

/* Whether the two globs differ in a character before their first `*` or `?`. Most globs of a
 * project differ before their first `*` or `?`. */
static bool parts_early(const char *a, const char *b)
{
	while (*a && *a == *b && !is_wild(*a))
		a++, b++;
	return *a && *b && *a != *b && !is_wild(*a) && !is_wild(*b);
}

bool glob_meets(const char *a, const char *b, size_t *steps)
{
	int32_t left[TOKENS], right[TOKENS];

	if (parts_early(a, b))
		return false;
	left[read_glob(a, left)] = END;
	right[read_glob(b, right)] = END;
	return meets(left, right, steps);
}

bool glob_matches(const char *glob, const char *path, size_t *steps)
{
	int32_t left[GLOB_PATH + 1], right[TOKENS];
	size_t n = 0;

	if (strlen(path) >= GLOB_PATH || *path == '\0' || parts_early(glob, path))
		return false;
	while (*path)
		left[n++] = take_char(&path);
	left[n] = END;
	right[read_glob(glob, right)] = END;
	return meets(left, right, steps);
}
