/*
 * hosted_answer - whether what a guest sent is what it was asked for.
 *
 * A guest is believed in nothing: not in the type of an answer, not in its
 * sizes, not in the end of its parts.  A wrong answer is the guest's fault: the
 * caller gets FAULT_IO, and the host goes on.
 */
#ifndef CORE_HOST_GUESTS_HOSTED_ANSWER_H
#define CORE_HOST_GUESTS_HOSTED_ANSWER_H

#include "core/wire/wire.h"

/* The bounds of one request to a guest, whatever it is.  An honest guest fills
 * each frame, so that the largest answer has some 20 parts. */
enum {
	ANSWER_MS = 60000, /* for one part */
	ANSWER_REST_MS = 120000, /* for all parts behind the first one */
	ANSWER_PARTS_MOST = 64,
	ANSWER_ROOM = (4 << 20) - (4 << 10), /* JSON of what a caller is answered */
	RESULT_MOST = 4 << 20, /* bytes of a stored result */
	STREAM_MOST = 4 << 20, /* bytes of one stream of output; a guest keeps 2 MiB */
	BEAT_RUNNING_MOST = 1000, /* assignments named in one heartbeat */
};

enum answer {
	ANSWER_GOOD,
	ANSWER_ERROR, /* the guest could not, or would not: the fault is its own */
	ANSWER_WRONG, /* no answer to this: the fault says what came */
};

/* Judges an answer to a request of type `asked`; fills the fault unless it is
 * good. */
enum answer answer_judge(struct packet *p, const struct wire *asked, struct fault *f);

/* Fills the zeroed struct of a message from a good answer.  A fault is
 * the guest's: its text names the guest's fields, not the caller's arguments. */
#define answer_decode(p, dst, a, f) answer_decode_as(p, wire_record_of(dst), dst, a, f)
int answer_decode_as(struct packet *p, const struct record *as, void *dst,
		     struct arena *a, struct fault *f);

/* The guest breaks the rules of the wire; returns the code. */
int answer_refuse(struct fault *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* How far an answer of several parts has come; begins zeroed. */
struct answer_parts {
	int n;
	int64_t until; /* 0: there was one part */
};

/* Counts one more part, which is about to be asked for: returns how long it may take, in
 * ms, or negative and a fault when it must not be asked for. */
int64_t answer_more(struct answer_parts *parts, struct fault *f);

#endif
