/*
 * diff - how a file changes, as `diff -u` writes it.
 *
 * Lines that both begin and end with are passed over; for those between, the shortest way
 * from one to the other is sought (Myers, An O(ND) Difference Algorithm and Its Variations,
 * 1986), whose rounds are few, since setup changes little.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tools/cadre/setup/setup.h"

enum { CONTEXT = 3, ROUNDS = 2000 };

struct half {
	const char **lines; /* and the end behind the last */
	int n;
};

struct diff {
	struct arena arena;
	struct half a, b;
	bool *gone, *come; /* of the lines of a, of b */
};

static struct half diff_split(struct arena *arena, const struct text *t, bool there)
{
	struct half s = { 0 };
	const char *at = t->data, *end = t->data + t->len;
	size_t n = 0;

	while (there && at < end) {
		const char *line = memchr(at, '\n', (size_t)(end - at));

		*(const char **)arena_push(arena, &s.lines, &n, sizeof(*s.lines)) = at;
		at = line ? line + 1 : end;
	}
	s.n = (int)n;
	*(const char **)arena_push(arena, &s.lines, &n, sizeof(*s.lines)) = end;
	return s;
}

static bool diff_same(const struct diff *d, int i, int k)
{
	size_t n = (size_t)(d->a.lines[i + 1] - d->a.lines[i]);

	return n == (size_t)(d->b.lines[k + 1] - d->b.lines[k]) &&
	       !memcmp(d->a.lines[i], d->b.lines[k], n);
}

/* --- the shortest way ---------------------------------------------------------------------- */

/* The furthest x on each diagonal k (from -round to round, at index k + round) after a round. */
static int *go(struct diff *d, const int *before, int round, int lo, int n, int m)
{
	int *v = arena_alloc(&d->arena, (size_t)(2 * round + 1) * sizeof(*v));

	for (int k = -round; k <= round; k += 2) {
		/* `before` is of one round less. */
		int right = k > -round ? before[k - 1 + round - 1] + 1 : -1;
		int down = k < round ? before[k + 1 + round - 1] : -1;
		int x = right > down ? right : down;

		while (x < n && x - k < m && diff_same(d, lo + x, lo + x - k))
			x++;
		v[k + round] = x;
	}
	return v;
}

/* Marks what the way back from the end takes out and puts in. */
static void diff_mark(struct diff *d, int **rounds, int round, int lo, int n, int m)
{
	int x = n, y = m;

	for (; round > 0; round--) {
		const int *v = rounds[round - 1];
		int k = x - y, prev;
		int right = k > -round ? v[k - 1 + round - 1] + 1 : -1;
		int down = k < round ? v[k + 1 + round - 1] : -1;

		prev = right > down ? k - 1 : k + 1;
		x = v[prev + round - 1];
		y = x - prev;
		if (prev < k)
			d->gone[lo + x] = true;
		else
			d->come[lo + y] = true;
	}
}

static void diff_compare(struct diff *d)
{
	int lo = 0, n = d->a.n, m = d->b.n, *rounds[ROUNDS];

	d->gone = arena_alloc(&d->arena, (size_t)n + 1);
	d->come = arena_alloc(&d->arena, (size_t)m + 1);
	while (lo < n && lo < m && diff_same(d, lo, lo))
		lo++;
	while (n > lo && m > lo && diff_same(d, n - 1, m - 1))
		n--, m--;
	n -= lo;
	m -= lo;
	for (int round = 0; round < ROUNDS; round++) {
		if (round) {
			rounds[round] = go(d, rounds[round - 1], round, lo, n, m);
		} else {
			rounds[0] = arena_alloc(&d->arena, sizeof(int));
			while (rounds[0][0] < n && rounds[0][0] < m &&
			       diff_same(d, lo + rounds[0][0], lo + rounds[0][0]))
				rounds[0][0]++;
		}
		if (n - m >= -round && n - m <= round && (n - m + round) % 2 == 0 &&
		    rounds[round][n - m + round] >= n) {
			diff_mark(d, rounds, round, lo, n, m);
			return;
		}
	}
	memset(d->gone + lo, true, (size_t)n);
	memset(d->come + lo, true, (size_t)m);
}

/* --- as text --------------------------------------------------------------------------------- */

static void diff_add_line(struct text *out, char sign, const struct half *s, int i)
{
	size_t n = (size_t)(s->lines[i + 1] - s->lines[i]);
	bool ended = n && s->lines[i][n - 1] == '\n';

	text_add(out, &sign, 1);
	text_add(out, s->lines[i], n);
	if (!ended)
		text_addf(out, "\n\\ No newline at end of file\n");
}

/* Goes from the lines *i and *k over those that are the same, to the next that changes. */
static bool next_change(const struct diff *d, int *i, int *k)
{
	while (*i < d->a.n && *k < d->b.n && !d->gone[*i] && !d->come[*k])
		++*i, ++*k;
	return *i < d->a.n || *k < d->b.n;
}

/* Moves *i and *k from a change to the end of its hunk: behind the lines that follow the last
 * change of the hunk.  A hunk goes on while the next change is near enough. */
static void hunk_end(const struct diff *d, int *i, int *k)
{
	int at = *i, bt = *k;

	do {
		while ((at < d->a.n && d->gone[at]) || (bt < d->b.n && d->come[bt])) {
			at += at < d->a.n && d->gone[at];
			bt += bt < d->b.n && d->come[bt];
		}
		*i = at;
		*k = bt;
	} while (next_change(d, &at, &bt) && at - *i <= 2 * CONTEXT);
	for (int n = 0; n < CONTEXT && *i < d->a.n && *k < d->b.n; n++)
		++*i, ++*k;
}

static void add_hunk(const struct diff *d, struct text *out, int i, int k, int to_i,
		     int to_k)
{
	/* An empty side stands behind the line before it. */
	text_addf(out, "@@ -%d,%d +%d,%d @@\n", to_i > i ? i + 1 : i, to_i - i,
		  to_k > k ? k + 1 : k, to_k - k);
	while (i < to_i || k < to_k) {
		if (i < to_i && d->gone[i]) {
			diff_add_line(out, '-', &d->a, i++);
		} else if (k < to_k && d->come[k]) {
			diff_add_line(out, '+', &d->b, k++);
		} else {
			diff_add_line(out, ' ', &d->a, i++);
			k++;
		}
	}
}

void setup_diff(const struct setup_target *t, struct text *out)
{
	struct diff d = { .arena = { 0 } };
	int i = 0, k = 0;

	if (!setup_target_changed(t))
		return;
	d.a = diff_split(&d.arena, &t->before, t->was);
	d.b = diff_split(&d.arena, &t->draft.text, t->draft.there);
	diff_compare(&d);
	text_addf(out, "--- %s\n+++ %s\n", t->was ? t->shown : "/dev/null",
		  t->draft.there ? t->shown : "/dev/null");
	while (next_change(&d, &i, &k)) {
		int back = i < CONTEXT ? i : CONTEXT, from_i, from_k;

		back = k < back ? k : back;
		from_i = i - back;
		from_k = k - back;
		hunk_end(&d, &i, &k);
		add_hunk(&d, out, from_i, from_k, i, k);
	}
	arena_release(&d.arena);
}
