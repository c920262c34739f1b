/*
 * replay - main() of a fuzzer that is built without clang's own main(). This main() runs the
 * seeds, and then changed copies of the seeds.
 *
 *	NAME CHANGED DICE DICTIONARY KEPT [FILE...]
 *
 * Runs the empty input and each FILE. Then makes up to CHANGED inputs from the seeds and runs
 * them, for at most three seconds of processor time. A change sets, cuts out or doubles bytes,
 * inserts words of DICTIONARY, or joins two seeds. DICTIONARY is a file in libFuzzer's format,
 * or - for no dictionary. The number DICE chooses the changes, and the same number always makes
 * the same inputs. The file KEPT holds the input that runs now. The file KEPT is removed at the
 * end, but remains after a crash.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "tests/lib/dice.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MOST = 65536, WORDS_MOST = 256, CPU_MOST = 3 * CLOCKS_PER_SEC };

struct piece {
	uint8_t *bytes;
	size_t size;
};

struct replay {
	struct dice dice;
	struct piece *seeds, words[WORDS_MOST];
	size_t n_seeds, n_words;
	uint8_t *kept; /* INPUT_MOST mapped bytes of the file KEPT */
	int file;
};

static void give_up(const char *path)
{
	perror(path);
	exit(2);
}

static struct piece read_piece(const char *path)
{
	struct piece p = { .bytes = xmalloc(INPUT_MOST) };
	FILE *f = fopen(path, "r");

	if (!f)
		give_up(path);
	p.size = fread(p.bytes, 1, INPUT_MOST, f);
	fclose(f);
	return p;
}

/* Reads lines of the form name="text". The text may have the escapes \" \\ and \xHH. */
static void read_words(struct replay *r, const char *path)
{
	char line[1000];
	FILE *f = strcmp(path, "-") ? fopen(path, "r") : NULL;

	while (f && r->n_words < WORDS_MOST && fgets(line, sizeof(line), f)) {
		const char *at = strchr(line, '"');
		struct piece p = { .bytes = xmalloc(sizeof(line)) };

		for (at = at ? at + 1 : ""; *at && *at != '"'; at++) {
			unsigned c = (unsigned char)*at;

			if (c == '\\' && sscanf(at, "\\x%2x", &c) == 1)
				at += 3;
			else if (c == '\\' && at[1])
				c = (unsigned char)*++at;
			p.bytes[p.size++] = (uint8_t)c;
		}
		if (p.size)
			r->words[r->n_words++] = p;
		else
			free(p.bytes);
	}
	if (f)
		fclose(f);
}

/* Replaces `cut` bytes of an input with `size` other bytes. */
static void put(struct piece *p, size_t at, size_t cut, const void *bytes, size_t size)
{
	if (p->size - cut + size > INPUT_MOST)
		return;
	memmove(p->bytes + at + size, p->bytes + at + cut, p->size - at - cut);
	memcpy(p->bytes + at, bytes, size);
	p->size += size - cut;
}

static size_t below(struct replay *r, size_t n)
{
	return n ? (size_t)dice_below(&r->dice, (int)n) : 0;
}

static void change(struct replay *r, struct piece *p)
{
	static const uint8_t telling[] = { 0,    1,    0x7f, 0x80, 0xff, '"',
					   '\\', '\n', '\r', ' ',  '0',  '9' };
	uint8_t copy[256];
	size_t at = below(r, p->size + 1), n = 1 + below(r, sizeof(copy));
	struct piece *other = &r->seeds[below(r, r->n_seeds)];

	n = n < p->size - at ? n : p->size - at;
	switch (below(r, 6)) {
	case 0:
		put(p, at, n > 0, &telling[below(r, sizeof(telling))], 1);
		break;
	case 1:
		copy[0] = (uint8_t)below(r, 256);
		put(p, at, n > 0, copy, 1);
		break;
	case 2:
		put(p, at, n, "", 0);
		break;
	case 3:
		memcpy(copy, p->bytes + at, n);
		put(p, below(r, p->size + 1), 0, copy, n);
		break;
	case 4:
		if (r->n_words) {
			struct piece *word = &r->words[below(r, r->n_words)];

			put(p, at, below(r, 2) ? n : 0, word->bytes, word->size);
		}
		break;
	default:
		n = below(r, other->size + 1);
		put(p, at, p->size - at, other->bytes + n, other->size - n);
	}
}

static void run(struct replay *r, const struct piece *p)
{
	/* The copy has exactly the input's size, so that a read past the input is out of
	 * bounds. */
	uint8_t *bytes = memcpy(xmalloc(p->size + !p->size), p->bytes, p->size);

	if (ftruncate(r->file, (off_t)p->size) == 0)
		memcpy(r->kept, p->bytes, p->size);
	LLVMFuzzerTestOneInput(bytes, p->size);
	free(bytes);
}

int main(int argc, char **argv)
{
	static struct replay r; /* static, so that its memory does not count as a leak */
	static struct piece changed;
	long n;

	if (argc < 5) {
		fprintf(stderr, "usage: %s CHANGED DICE DICTIONARY KEPT [FILE...]\n",
			argv[0]);
		return 2;
	}
	changed.bytes = xmalloc(INPUT_MOST);
	r.dice.state = strtoull(argv[2], NULL, 10);
	read_words(&r, argv[3]);
	r.file = open(argv[4], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	r.kept = mmap(NULL, INPUT_MOST, PROT_READ | PROT_WRITE, MAP_SHARED, r.file, 0);
	if (r.kept == MAP_FAILED)
		give_up(argv[4]);
	r.n_seeds = (size_t)argc - 4;
	r.seeds = xcalloc(r.n_seeds, sizeof(*r.seeds));
	r.seeds[0].bytes = xmalloc(1);
	for (size_t i = 1; i < r.n_seeds; i++)
		r.seeds[i] = read_piece(argv[4 + i]);
	for (size_t i = 0; i < r.n_seeds; i++)
		run(&r, &r.seeds[i]);
	for (n = strtol(argv[1], NULL, 10); n > 0 && clock() < CPU_MOST; n--) {
		const struct piece *seed = &r.seeds[below(&r, r.n_seeds)];

		memcpy(changed.bytes, seed->bytes, seed->size);
		changed.size = seed->size;
		for (size_t k = 1 + below(&r, 4); k > 0; k--)
			change(&r, &changed);
		run(&r, &changed);
	}
	unlink(argv[4]);
	printf("%zu seeds and %s changed ones, less %ld for want of time\n", r.n_seeds,
	       argv[1], n);
	return 0;
}
