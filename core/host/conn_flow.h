/*
 * conn_flow - bytes on their way out of a stream.
 *
 * Bytes are gathered in `out`, and the kernel gets them at once where it takes
 * them.  The loop sends the rest later; new bytes are gathered meanwhile.
 */
#ifndef CORE_HOST_CONN_FLOW_H
#define CORE_HOST_CONN_FLOW_H

#include <uv.h>

#include "core/op/op.h"

struct flow {
	uv_stream_t *stream;
	struct text out; /* to be sent */
	struct text sending; /* with the kernel, in part */
	uv_write_t write;
	bool busy;
	/* A write that had to wait is over: 0 or a libuv error. */
	void (*wrote)(struct flow *flow, int status);
	void *arg;
};

/* Sends what is there; 0 or a libuv error, after which the stream is to be
 * closed. */
int flow_send(struct flow *flow);
size_t flow_left(const struct flow *flow); /* bytes not sent */
size_t flow_memory(const struct flow *flow); /* bytes of the buffers that hold them */
void flow_release(struct flow *flow); /* once the stream is closed */

/* Empties `t`, and gives its memory back if that is much. */
void flow_empty(struct text *t);

#endif
