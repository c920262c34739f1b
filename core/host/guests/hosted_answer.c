#include "core/host/guests/hosted_answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "ops.gen.h"

int answer_refuse(struct fault *f, const char *fmt, ...)
{
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fault_set(f, FAULT_IO, "", "the workspace's guest %s", text);
	return fault_hint(f, "The guest breaks the protocol. Update the guest, or "
			     "do not trust the programs in this workspace.");
}

static enum answer read_error(struct packet *p, struct fault *f)
{
	struct wire_error e = { 0 };
	struct arena a = { 0 };
	enum answer is = ANSWER_WRONG;

	if (answer_decode(p, &e, &a, f) == 0) {
		wire_fault(&e, f);
		is = ANSWER_ERROR;
	}
	arena_release(&a);
	return is;
}

enum answer answer_judge(struct packet *p, const struct wire *asked, struct fault *f)
{
	const struct wire *right = wire_answer(asked, SIDE_HOST);

	if (!strcmp(p->type, "Error"))
		return read_error(p, f);
	if (p->wire == right)
		return ANSWER_GOOD;
	answer_refuse(f, "answers %s with '%.64s', not with %s", asked->name, p->type,
		      right->name);
	return ANSWER_WRONG;
}

int answer_decode_as(struct packet *p, const struct record *as, void *dst,
		     struct arena *a, struct fault *f)
{
	struct fault why = { 0 };

	if (packet_decode_as(p, as, dst, a, &why) == 0)
		return 0;
	return answer_refuse(f, "sends a bad %s: %.60s %.80s", as->name, why.where,
			     why.text);
}

int64_t answer_more(struct answer_parts *parts, struct fault *f)
{
	int64_t now = clock_boot_ms(), left;

	if (!parts->until)
		parts->until = now + ANSWER_REST_MS;
	left = parts->until - now;
	if (++parts->n > ANSWER_PARTS_MOST)
		return answer_refuse(f, "sends its answer in more than %d parts",
				     ANSWER_PARTS_MOST);
	if (left <= 0)
		return answer_refuse(f,
				     "takes more than %d s for the parts of its answer",
				     ANSWER_REST_MS / 1000);
	return left < ANSWER_MS ? left : ANSWER_MS;
}
