/*
 * scene - a host whose guest gives the answers that a test chooses.
 */
#ifndef TESTS_ANSWER_SCENE_H
#define TESTS_ANSWER_SCENE_H

#include "tests/lib/rig.h"

enum { PATIENCE_MS = 20000 };

struct scene {
	char base[64], guest[80], listen[160], dial[160];
	pid_t between;
	struct rig rig;
	const char *asked; /* the type of request that gets wrong answers */
	json_t *answer; /* the wrong answer, if `raw` and `make` are NULL */
	const char *raw; /* the wrong answer as bytes, or NULL */
	size_t raw_size;
	json_t *(*make)(struct scene *s); /* makes each wrong answer, unless NULL */
	int answers, nth;
	bool honest_too; /* the right answer follows the wrong answer */
};

/* Kinds of link, for scene_open(). */
void place_unix(struct scene *s);
void place_tcp(struct scene *s);
void place_hybrid(struct scene *s);
void place_serial(struct scene *s);

/* Connects a host and a guest by the kind of link that place() sets up. The link uses the older
 * dialect if `old`, and the newer dialect otherwise. */
struct scene *scene_open(void (*place)(struct scene *s), bool old);
void scene_close(struct scene *s);

/* A test controls the pauses of the host. scene_hold() lengthens a pause, and scene_elapse()
 * ends a pause. */
void scene_hold(struct futile *pause);
void scene_elapse(struct futile *pause);

#endif
