/*
 * Sockets of this machine.  Only their own user and root may use them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/link/link_inside.h"

/* A folder with a long name is reached through its descriptor. */
int unix_name(const char *folder, const char *name, struct sockaddr_storage *at,
	      socklen_t *size)
{
	struct sockaddr_un *un = (struct sockaddr_un *)at;
	int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int n;

	if (fd < 0)
		return -1;
	*un = (struct sockaddr_un){ .sun_family = AF_UNIX };
	*size = sizeof(*un);
	n = snprintf(un->sun_path, sizeof(un->sun_path), "/proc/self/fd/%d/%s", fd, name);
	if (n < (int)sizeof(un->sun_path))
		return fd;
	close(fd);
	errno = ENAMETOOLONG;
	return -1;
}

bool unix_admit(int fd, struct link_caller *who)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	(void)who;
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

int unix_bind(const char *folder, const char *name, struct fault *f)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_storage at;
	socklen_t size;
	int dir = unix_name(folder, name, &at, &size), rc = -1;

	if (dir >= 0 && fd >= 0) {
		unlinkat(dir, name, 0);
		/* No umask: a umask would hold for all threads.  Until the socket listens
		 * nobody can connect to it, and its folder is ours and 0700. */
		rc = bind(fd, (struct sockaddr *)&at, size);
		if (rc == 0)
			rc = fchmodat(dir, name, 0600, 0);
	}
	if (rc)
		fault_set(f, FAULT_IO, "", "cannot listen at %.300s/%s: %s", folder, name,
			  strerror(errno));
	if (dir >= 0)
		close(dir);
	if (rc && fd >= 0)
		close(fd);
	return rc ? -1 : fd;
}

static const char *unix_name_of(unsigned port)
{
	return port == LINK_CONTROL ? "control.sock"
	       : port == LINK_RELAY ? "relay.sock"
				    : "door.sock";
}

static void unix_on_connected(struct link_dial *d)
{
	if (dial_connected(d))
		dial_done(d);
	else
		dial_failed(d);
}

void unix_dial_at(struct link_dial *d, const char *folder, const char *name,
		  void (*step)(struct link_dial *d))
{
	struct sockaddr_storage at;
	socklen_t size;
	int dir = unix_name(folder, name, &at, &size);

	if (dir < 0)
		dial_errno(d, errno);
	if (dir < 0 || dial_connect(d, &at, size, step))
		dial_failed(d);
	if (dir >= 0)
		close(dir);
}

static void unix_dial(struct link_dial *d)
{
	unix_dial_at(d, d->to.path, unix_name_of(d->port), unix_on_connected);
}

static bool unix_look_at(const struct link_ear *ear, struct stat *st)
{
	char path[sizeof(ear->at.path) + 32];

	snprintf(path, sizeof(path), "%s/%s", ear->at.path, unix_name_of(ear->port));
	return lstat(path, st) == 0;
}

bool unix_heard(const struct link_ear *ear)
{
	struct stat st;

	return unix_look_at(ear, &st) && st.st_dev == ear->dev && st.st_ino == ear->ino;
}

static int unix_listen(struct link_ear *ear, struct fault *f)
{
	struct stat st;

	ear->fd = unix_bind(ear->at.path, unix_name_of(ear->port), f);
	if (ear->fd < 0 || !unix_look_at(ear, &st))
		return ear->fd < 0 ? f->code : 0; /* it is gone again: see unix_heard() */
	ear->dev = st.st_dev;
	ear->ino = st.st_ino;
	return 0;
}

const struct transport link_unix = { unix_dial, unix_listen, unix_admit };
