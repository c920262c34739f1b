#include "core/host/conn_flow.h"

enum { KEEP_ROOM = 64 << 10 };

void flow_empty(struct text *t)
{
	t->len = 0;
	if (t->room > KEEP_ROOM)
		text_release(t);
}

static void conn_flow_on_written(uv_write_t *write, int status)
{
	struct flow *flow = write->data;

	flow->busy = false;
	flow_empty(&flow->sending);
	flow->wrote(flow, status);
}

/* Gives libuv the bytes from offset `sent` on. `sending` keeps the bytes until libuv has
 * written them. */
static int send_rest(struct flow *flow, size_t sent)
{
	struct text swap = flow->sending;
	uv_buf_t buf;

	flow->sending = flow->out;
	flow->out = swap;
	buf = uv_buf_init(flow->sending.data + sent,
			  (unsigned)(flow->sending.len - sent));
	flow->write.data = flow;
	flow->busy = true;
	return uv_write(&flow->write, flow->stream, &buf, 1, conn_flow_on_written);
}

int flow_send(struct flow *flow)
{
	uv_buf_t buf = uv_buf_init(flow->out.data, (unsigned)flow->out.len);
	int n;

	if (flow->busy || flow->out.len == 0)
		return 0;
	n = uv_try_write(flow->stream, &buf, 1);
	if (n < 0 && n != UV_EAGAIN)
		return n;
	if (n == (int)flow->out.len) {
		flow_empty(&flow->out);
		return 0;
	}
	return send_rest(flow, n < 0 ? 0 : (size_t)n);
}

size_t flow_left(const struct flow *flow)
{
	return flow->out.len + (flow->busy ? flow->sending.len : 0);
}

size_t flow_memory(const struct flow *flow)
{
	return (flow->out.len ? flow->out.room : 0) +
	       (flow->busy ? flow->sending.room : 0);
}

void flow_release(struct flow *flow)
{
	text_release(&flow->out);
	text_release(&flow->sending);
}
