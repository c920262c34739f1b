/*
 * Sockets between a VM and its host.  The kernel says which VM a caller is.
 */
#include <errno.h>
#include <linux/vm_sockets.h>
#include <string.h>
#include <unistd.h>

#include "core/link/link_inside.h"

static struct sockaddr_vm address(const struct link_address *a, unsigned port)
{
	return (struct sockaddr_vm){
		.svm_family = AF_VSOCK,
		.svm_port = port,
		.svm_cid = a->number == LINK_CID_ANY ? VMADDR_CID_ANY
						     : (unsigned)a->number,
	};
}

static void vsock_on_connected(struct link_dial *d)
{
	if (dial_connected(d))
		dial_done(d);
	else
		dial_failed(d);
}

static void vsock_dial(struct link_dial *d)
{
	struct sockaddr_vm at = address(&d->to, d->port);

	if (d->to.number == LINK_CID_ANY)
		fault_set(&d->fault, FAULT_INVALID, "", "any CID cannot be dialled");
	if (d->fault.code || dial_connect(d, &at, sizeof(at), vsock_on_connected))
		dial_failed(d);
}

static int vsock_listen(struct link_ear *ear, struct fault *f)
{
	struct sockaddr_vm at = address(&ear->at, ear->port);

	ear->fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (ear->fd < 0 || bind(ear->fd, (struct sockaddr *)&at, sizeof(at)))
		return fault_set(f, FAULT_IO, "", "cannot listen at vsock port %u: %s",
				 ear->port, strerror(errno));
	return 0;
}

static bool vsock_admit(int fd, struct link_caller *who)
{
	struct sockaddr_vm peer;
	socklen_t size = sizeof(peer);

	if (getpeername(fd, (struct sockaddr *)&peer, &size))
		return false;
	who->cid = peer.svm_cid;
	return true;
}

const struct transport link_vsock = { vsock_dial, vsock_listen, vsock_admit };
