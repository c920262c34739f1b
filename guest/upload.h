/*
 * upload - a file that comes in parts, in any order, and is there when all are.
 */
#ifndef GUEST_UPLOAD_H
#define GUEST_UPLOAD_H

#include "guest/guest_peer.h"

enum { UPLOADS = 64 };

struct upload;

struct upload_part {
	const char *id; /* the same for all parts; upload_take() needs one */
	const char *path, *where;
	int64_t offset;
	bool has_size, has_mode; /* has_size: this one ends it */
	int64_t size, mode;
};

/* Takes a part and answers; 0 or a fault, which ends the upload. */
int upload_take(struct guest_request *q, const struct upload_part *part, const char *data,
		size_t len, struct fault *f);

/* Drop uploads: those without a part for too long, or all of them. */
void uploads_tick(struct guest *g);
void uploads_free(struct guest *g);

#endif
