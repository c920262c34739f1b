/*
 * hosted_answer - checks of the answers that a guest sends.
 *
 * The host trusts no part of an answer. The host checks the type, the sizes, and the number of
 * parts. If an answer is wrong, the caller gets FAULT_IO, and the host continues to run.
 */
#ifndef CORE_HOST_GUESTS_HOSTED_ANSWER_H
#define CORE_HOST_GUESTS_HOSTED_ANSWER_H

#include "core/wire/wire.h"

/* Bounds of each single request to a guest. An honest guest fills each frame, so the largest
 * answer has some 20 parts. */
enum {
	ANSWER_MS = 60000, /* time for one part */
	ANSWER_REST_MS = 120000, /* time for all parts behind the first part */
	ANSWER_PARTS_MOST = 64,
	ANSWER_ROOM = (4 << 20) - (4 << 10), /* bytes of JSON in the caller's answer */
	RESULT_MOST = 4 << 20, /* bytes of a stored result */
	STREAM_MOST = 4 << 20, /* bytes of one stream of output; a guest itself keeps at
				  most 2 MiB of a stream */
	BEAT_RUNNING_MOST = 1000, /* assignments named in one heartbeat */
};

enum answer {
	ANSWER_GOOD,
	ANSWER_ERROR, /* the guest failed or refused; `f` is the guest's fault */
	ANSWER_WRONG, /* the packet does not answer the request; `f` names the packet */
};

/* Judges an answer to a request of type `asked`. Sets `f` unless the answer is good. */
enum answer answer_judge(struct packet *p, const struct wire *asked, struct fault *f);

/* Fills the zeroed struct of a message from a good answer. The text of a fault names fields of
 * the guest's message, not arguments of the caller. */
#define answer_decode(p, dst, a, f) answer_decode_as(p, wire_record_of(dst), dst, a, f)
int answer_decode_as(struct packet *p, const struct record *as, void *dst,
		     struct arena *a, struct fault *f);

/* Sets the fault of a guest that breaks the rules of the wire. Returns the fault's code. */
int answer_refuse(struct fault *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Counts the parts of an answer. The struct must be zeroed before its first use. */
struct answer_parts {
	int n;
	int64_t until; /* deadline for all parts after the first part; 0: not set yet */
};

/* Counts one more part before the host asks for the part. Returns the time in ms that the part
 * may take. Returns a negative number and sets a fault if the part must not be asked for. */
int64_t answer_more(struct answer_parts *parts, struct fault *f);

#endif
