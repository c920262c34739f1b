#include "core/machine/net/net_talk.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* Bytes of the socket's buffers. A batch of any length is one datagram, and all answers to the
 * batch wait in the receive buffer. */
enum { BUFFER = 8 << 20 };

int net_refused(int error, const char *what, struct fault *f)
{
	if (error == -EPERM || error == -EACCES) {
		fault_set(f, FAULT_UNAVAILABLE, "",
			  "%s needs CAP_NET_ADMIN, which this host does not have", what);
		return fault_hint(f, "Run the host as root, or give its service the "
				     "capability.");
	}
	if (error == -EOPNOTSUPP || error == -EAFNOSUPPORT || error == -EPROTONOSUPPORT) {
		fault_set(f, FAULT_UNAVAILABLE, "",
			  "%s: this kernel lacks nf_tables or bridges", what);
		return fault_hint(f, "Load them: modprobe -a nf_tables bridge tun.");
	}
	return fault_set(f, FAULT_IO, "", "%s: %s", what, strerror(-error));
}

int net_talk_open(struct net_talk *t, const struct net_lib *lib, int bus, struct fault *f)
{
	int size = BUFFER, fd;

	*t = (struct net_talk){ .lib = lib };
	t->socket = lib->mnl_socket_open(bus);
	if (!t->socket)
		return net_refused(-errno, "a netlink socket", f);
	fd = lib->mnl_socket_get_fd(t->socket);
	/* In a user namespace the buffers are not larger than the system's limits, which are
	 * enough for a small number of VMs. */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)))
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (lib->mnl_socket_bind(t->socket, 0, MNL_SOCKET_AUTOPID)) {
		int error = -errno;

		net_talk_close(t);
		return net_refused(error, "a network for VMs", f);
	}
	return 0;
}

void net_talk_close(struct net_talk *t)
{
	if (t->socket)
		t->lib->mnl_socket_close(t->socket);
	t->socket = NULL;
}

struct answers {
	void (*each)(const struct nlmsghdr *h, void *data);
	void *data;
	int error; /* the first error as a negative errno; 0: no error */
};

static void net_talk_take_answer(struct answers *a, const struct nlmsghdr *h)
{
	const struct nlmsgerr *e = NLMSG_DATA(h);

	if (h->nlmsg_type == NLMSG_ERROR) {
		if (e->error && !a->error)
			a->error = e->error;
	} else if (h->nlmsg_type != NLMSG_DONE && a->each)
		a->each(h, a->data);
}

/* Reads all answers. The kernel queues the answers before sendto() returns, except the later
 * parts of a long dump. It queues these parts while this function reads. */
static int take_answers(int fd, struct answers *a)
{
	char buffer[32 << 10] __attribute__((aligned(8)));
	ssize_t n;

	while ((n = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT)) > 0) {
		const struct nlmsghdr *h = (const void *)buffer;

		for (int left = (int)n; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left))
			net_talk_take_answer(a, h);
	}
	return n < 0 && errno != EAGAIN && errno != EWOULDBLOCK ? -errno : 0;
}

int net_talk(struct net_talk *t, const void *messages, size_t size,
	     void (*each)(const struct nlmsghdr *h, void *data), void *data)
{
	int fd = t->lib->mnl_socket_get_fd(t->socket), rc;
	struct answers a = { .each = each, .data = data };
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	if (sendto(fd, messages, size, 0, (const void *)&kernel, sizeof(kernel)) < 0)
		return -errno;
	rc = take_answers(fd, &a);
	return a.error ? a.error : rc;
}
