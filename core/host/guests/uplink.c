#include "core/host/guests/uplink.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/host/conn.h"
#include "core/host/host_inside.h"
#include "ops.gen.h"

enum { WAITING_MOST = 4 << 20 /* bytes of requests that are not taken yet */ };

/* The end of a socket pair that belongs to the guest's connection; a conn has the other. */
struct uplink {
	struct hosted_guest *guest;
	uv_pipe_t pipe;
	struct frame_reader reader;
	struct flow flow;
	bool paused; /* the guest does not read its answers */
};

/* --- who ------------------------------------------------------------------------ */

/* The token finds the agent though it or its team was renamed, and no other that has its
 * name now. */
static struct identity identity_of(const struct hosted_guest *t)
{
	return (struct identity){
		.level = WHO_OBSERVER,
		.team = t->team_name,
		.agent = t->agent_name,
		.token = t->agent_token,
		.inside = true,
		.kept = true,
	};
}

bool uplink_wants(const struct packet *p)
{
	return p->wire && p->wire->ports && strcmp(p->type, "Hello") != 0;
}

/* --- closing -------------------------------------------------------------------- */

static void uplink_on_closed(uv_handle_t *handle)
{
	struct uplink *u = handle->data;

	frame_release(&u->reader);
	flow_release(&u->flow);
	free(u);
}

static void uplink_drop(struct uplink *u)
{
	if (u->guest)
		u->guest->uplink = NULL;
	u->guest = NULL;
	if (!uv_is_closing((uv_handle_t *)&u->pipe))
		uv_close((uv_handle_t *)&u->pipe, uplink_on_closed);
}

void uplink_close(struct hosted_guest *t)
{
	if (t->uplink)
		uplink_drop(t->uplink);
}

/* --- answers -------------------------------------------------------------------- */

static void uplink_take_bytes(struct uplink *u, const char *data, size_t len)
{
	struct fault f = { 0 };

	while (len > 0 && u->guest) {
		size_t used;
		int rc = frame_read(&u->reader, data, len, &used, &f);

		data += used;
		len -= used;
		if (rc < 0)
			uplink_drop(u);
		else if (rc > 0 && !guest_conn_pass(&u->guest->control, u->reader.body,
						    u->reader.size))
			u->paused = true;
	}
	if (u->guest && u->paused)
		uv_read_stop((uv_stream_t *)&u->pipe);
}

static void uplink_on_bytes(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct uplink *u = stream->data;

	if (n < 0)
		uplink_drop(u);
	else
		uplink_take_bytes(u, buf->base, (size_t)n);
}

static void uplink_on_room(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	struct uplink *u = handle->data;

	(void)size;
	*buf = u->guest ? uv_buf_init(u->guest->host->buffer,
				      sizeof(u->guest->host->buffer))
			: uv_buf_init(NULL, 0);
}

void uplink_resume(struct hosted_guest *t)
{
	struct uplink *u = t->uplink;

	if (!u || !u->paused)
		return;
	u->paused = false;
	uv_read_start((uv_stream_t *)&u->pipe, uplink_on_room, uplink_on_bytes);
}

/* --- requests -------------------------------------------------------------------- */

static void send_now(struct uplink *u)
{
	if (flow_send(&u->flow))
		uplink_drop(u);
}

static void uplink_on_wrote(struct flow *flow, int status)
{
	struct uplink *u = flow->arg;

	if (status < 0)
		uplink_drop(u);
	else if (u->guest)
		send_now(u);
}

static struct uplink *uplink_open(struct hosted_guest *t)
{
	const struct identity who = identity_of(t);
	struct uplink *u = calloc(1, sizeof(*u));
	int ends[2];

	if (!u ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends)) {
		free(u);
		return NULL;
	}
	uv_pipe_init(&t->host->loop, &u->pipe, 0);
	u->pipe.data = u;
	u->guest = t;
	u->flow.stream = (uv_stream_t *)&u->pipe;
	u->flow.wrote = uplink_on_wrote;
	u->flow.arg = u;
	t->uplink = u;
	conn_adopt(t->host, ends[1], &who, !t->old);
	if (uv_pipe_open(&u->pipe, ends[0]) == 0 &&
	    uv_read_start((uv_stream_t *)&u->pipe, uplink_on_room, uplink_on_bytes) == 0)
		return u;
	uplink_drop(u);
	return NULL;
}

static int uplink_check(const struct guest_conn *conn, const struct packet *p,
			struct fault *f)
{
	const struct hosted_guest *t = conn->guest;
	int rc = packet_belongs(p, SIDE_GUEST, WIRE_CONTROL, f);

	if (rc)
		return rc;
	if (conn->port != LINK_CONTROL)
		return fault_set(f, FAULT_INVALID, "/type",
				 "from a guest %s belongs on port %d", p->type,
				 LINK_CONTROL);
	if (!t->agent)
		return fault_set(f, FAULT_DENIED, "",
				 "no agent works in this workspace: nobody asks");
	if (t->uplink && flow_left(&t->uplink->flow) > WAITING_MOST)
		return fault_set(f, FAULT_EXHAUSTED, "",
				 "too many requests wait for an answer");
	return 0;
}

bool uplink_take(struct guest_conn *conn, const struct packet *p)
{
	struct hosted_guest *t = conn->guest;
	struct fault f = { 0 };
	size_t start;

	if (!uplink_check(conn, p, &f) && !t->uplink && !uplink_open(t))
		fault_set(&f, FAULT_UNAVAILABLE, "", "the host has no room for this");
	if (f.code) {
		guest_conn_pass_fault(conn, &f, p->id);
		return false;
	}
	start = frame_open(&t->uplink->flow.out);
	text_add(&t->uplink->flow.out, conn->reader.body, conn->reader.size);
	frame_close(&t->uplink->flow.out, start, &f);
	send_now(t->uplink);
	return true;
}

/* --- what a guest's machine dials ---------------------------------------------------- */

static void on_vm(void *arg, int fd, const struct link_caller *who)
{
	struct host *host = arg;
	struct hosted_guest *t = host->guests->first;
	struct identity id;

	while (t && (t->address.kind != LINK_VSOCK || t->address.number != who->cid))
		t = t->next;
	if (!t || !t->agent) {
		close(fd);
		return;
	}
	id = identity_of(t);
	conn_adopt(host, fd, &id, false);
}

static void on_vmm(void *arg, int fd, const struct link_caller *who)
{
	struct hosted_guest *t = arg;
	struct identity id = identity_of(t);

	(void)who;
	if (t->agent)
		conn_adopt(t->host, fd, &id, false);
	else
		close(fd);
}

/* The port may be taken by another host of this machine: then guests use the connection
 * that their host dialled. */
void uplink_listen(struct hosted_guest *t)
{
	const struct link_address any = { .kind = LINK_VSOCK, .number = LINK_CID_ANY };
	struct host *host = t->host;
	struct fault f = { 0 };

	if (t->address.kind == LINK_VSOCK && !host->guests->vm_ear)
		host->guests->vm_ear =
			link_listen(&host->loop, &any, LINK_CONTROL, on_vm, host, &f);
	else if (t->address.kind == LINK_HYBRID)
		t->ear = link_listen(&host->loop, &t->address, LINK_CONTROL, on_vmm, t,
				     &f);
	if (f.code)
		log_line(host->log, LOG_LEVEL_WARN, "a workspace cannot dial its host",
			 LOG_TEXT("workspace", t->id), LOG_FAULT(&f));
}

void uplink_deafen(struct hosted_guest *t)
{
	link_deafen(t->ear);
	t->ear = NULL;
}

void uplinks_close(struct host *host)
{
	link_deafen(host->guests->vm_ear);
	host->guests->vm_ear = NULL;
}
