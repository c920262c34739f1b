/*
 * scene - a host whose guest answers whatever a test likes.
 */
#ifndef TESTS_ANSWER_SCENE_H
#define TESTS_ANSWER_SCENE_H

#include "tests/lib/rig.h"

enum { PATIENCE_MS = 20000 };

struct scene {
	char base[64], guest[80], listen[160], dial[160];
	pid_t between;
	struct rig rig;
	const char *asked; /* the request that is answered wrongly */
	json_t *answer; /* by this, or ... */
	const char *raw; /* ... by these bytes; NULL: honestly */
	size_t raw_size;
	json_t *(*make)(
		struct scene *
			s); /* ... or by the message that this function makes, each time */
	int answers, nth;
	bool honest_too; /* then comes the right answer as well */
};

/* Kinds of link, for scene_open(). */
void place_unix(struct scene *s);
void place_tcp(struct scene *s);
void place_hybrid(struct scene *s);
void place_serial(struct scene *s);

/* A host that is linked with its guest over a link of this kind, in the older
 * dialect or the newer one. */
struct scene *scene_open(void (*place)(struct scene *s), bool old);
void scene_close(struct scene *s);

/* The clock of a pause is the test's: it does not end meanwhile, or is just over. */
void scene_hold(struct futile *pause);
void scene_elapse(struct futile *pause);

#endif
