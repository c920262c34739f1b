/*
 * conn_flow - bytes that wait to be sent through a stream.
 *
 * New bytes are gathered in `out`. flow_send() gives the kernel as many bytes as the kernel
 * takes without waiting. The loop sends the other bytes later, while further bytes are
 * gathered.
 */
#ifndef CORE_HOST_CONN_FLOW_H
#define CORE_HOST_CONN_FLOW_H

#include <uv.h>

#include "core/op/op.h"

struct flow {
	uv_stream_t *stream;
	struct text out; /* bytes to be sent next */
	struct text sending; /* bytes of which the kernel has taken a part */
	uv_write_t write;
	bool busy;
	/* Called when a write that had to wait has ended. `status` is 0 or a libuv error. */
	void (*wrote)(struct flow *flow, int status);
	void *arg;
};

/* Sends the gathered bytes. Returns 0 or a libuv error. After an error the stream must be
 * closed. */
int flow_send(struct flow *flow);
size_t flow_left(const struct flow *flow); /* bytes not sent */
size_t flow_memory(const struct flow *flow); /* bytes of memory that the buffers take */
void flow_release(struct flow *flow); /* call when the stream is closed */

/* Empties `t`. Frees the memory of `t` if the memory is large. */
void flow_empty(struct text *t);

#endif
