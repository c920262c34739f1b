/*
 * speech - the meaning of each message of a client; see dialect.h.
 */
#ifndef CORE_HOST_SPEECH_H
#define CORE_HOST_SPEECH_H

#include "core/host/dialect.h"

struct speech {
	const char *type;
	enum heard (*hear)(struct conn *c, struct job *job, struct fault *f);
	/* Appends the answer to c->flow.out; a fault is answered by the caller. */
	void (*answer)(struct conn *c, struct job *job, struct fault *f);
	bool tells_conflicts; /* its answer has a place for them */
};

/* A text of a message; an empty one is none. */
const char *speech_text(const json_t *json, const char *key);

/* Arguments for the operation that an older message stands for; they live in the
 * message's own object. */
json_t *speech_args(struct job *job);
/* Copies a member of `from`, unless it is absent, null or "". */
void speech_copy(json_t *args, const char *to, const json_t *from, const char *key);
enum heard speech_decode(struct conn *c, struct job *job, const struct op *op,
			 json_t *args, struct fault *f);

/* speech_vault.c */
enum heard hear_vault_list(struct conn *c, struct job *job, struct fault *f);
enum heard hear_vault_search(struct conn *c, struct job *job, struct fault *f);
enum heard hear_vault_read(struct conn *c, struct job *job, struct fault *f);
enum heard hear_vault_write(struct conn *c, struct job *job, struct fault *f);
enum heard hear_sub_team(struct conn *c, struct job *job, struct fault *f);
void answer_vault_list(struct conn *c, struct job *job, struct fault *f);
void answer_vault_search(struct conn *c, struct job *job, struct fault *f);
void answer_vault_read(struct conn *c, struct job *job, struct fault *f);
void answer_vault_write(struct conn *c, struct job *job, struct fault *f);
void answer_sub_team(struct conn *c, struct job *job, struct fault *f);

#endif
