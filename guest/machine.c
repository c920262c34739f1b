#include "guest/machine.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <net/route.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PREFIX = 16, NAME_MOST = 63 };

/* A file that is missing its folder, or is a link out of it, is not written:
 * the machine works without. */
static void machine_write_line(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0)
		return;
	if (write(fd, text, strlen(text)) < 0)
		fprintf(stderr, "cadre: %s: %s\n", path, strerror(errno));
	close(fd);
}

/* --- name ---------------------------------------------------------------------- */

static bool machine_is_name(const char *name)
{
	size_t n = strlen(name);

	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '-')
			return false;
	return n > 0 && n <= NAME_MOST && name[0] != '-' && name[n - 1] != '-';
}

int machine_check_name(const char *name, struct fault *f)
{
	if (machine_is_name(name))
		return 0;
	return fault_set(f, FAULT_INVALID, "/hostname",
			 "1 to %d of a-z A-Z 0-9 -, the - not first or last", NAME_MOST);
}

int machine_set_name(const char *name, struct fault *f)
{
	char text[256];

	if (machine_check_name(name, f))
		return f->code;
	if (sethostname(name, strlen(name)))
		return fault_set(f, FAULT_IO, "", "cannot name the machine: %s",
				 strerror(errno));
	snprintf(text, sizeof(text), "%s\n", name);
	machine_write_line("/etc/hostname", text);
	snprintf(text, sizeof(text),
		 "127.0.0.1 localhost\n127.0.1.1 %s\n::1 localhost ip6-localhost\n",
		 name);
	machine_write_line("/etc/hosts", text);
	return 0;
}

/* --- address ------------------------------------------------------------------- */

struct net {
	int fd; /* any socket: the ioctls need one */
	char name[IFNAMSIZ];
	struct in_addr address, gateway, mask;
};

static int machine_ask(const struct net *net, unsigned long what, const void *arg,
		       struct fault *f)
{
	if (ioctl(net->fd, what, arg) == 0)
		return 0;
	return fault_set(f, FAULT_IO, "", "network interface %s: %s", net->name,
			 strerror(errno));
}

static int raise_interface(const struct net *net, struct fault *f)
{
	struct ifreq r = { 0 };
	int rc;

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", net->name);
	rc = machine_ask(net, SIOCGIFFLAGS, &r, f);
	r.ifr_flags |= IFF_UP | IFF_RUNNING;
	return rc ? rc : machine_ask(net, SIOCSIFFLAGS, &r, f);
}

static int set_number(const struct net *net, unsigned long what, struct in_addr number,
		      struct fault *f)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = number };
	struct ifreq r = { 0 };

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", net->name);
	memcpy(&r.ifr_addr, &at, sizeof(at));
	return machine_ask(net, what, &r, f);
}

static int set_route(const struct net *net, struct fault *f)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct sockaddr_in out = { .sin_family = AF_INET, .sin_addr = net->gateway };
	struct rtentry route = { .rt_flags = RTF_UP | RTF_GATEWAY };

	memcpy(&route.rt_dst, &any, sizeof(any));
	memcpy(&route.rt_genmask, &any, sizeof(any));
	while (ioctl(net->fd, SIOCDELRT, &route) == 0)
		;
	memcpy(&route.rt_gateway, &out, sizeof(out));
	return machine_ask(net, SIOCADDRT, &route, f);
}

/* The first interface that is not the loopback. */
static int find_interface(struct net *net, struct fault *f)
{
	struct if_nameindex *all = if_nameindex(), *i = all;

	while (i && i->if_name && !strcmp(i->if_name, "lo"))
		i++;
	if (i && i->if_name)
		snprintf(net->name, sizeof(net->name), "%s", i->if_name);
	if_freenameindex(all);
	return net->name[0] ? 0
			    : fault_set(f, FAULT_IO, "",
					"the machine has no network interface");
}

static int machine_parse(struct net *net, const char *address, const char *gateway,
			 struct fault *f)
{
	char text[32];
	const char *slash = strchr(address, '/');
	size_t n = slash ? (size_t)(slash - address) : strlen(address);
	char *end = NULL;
	long prefix = slash ? strtol(slash + 1, &end, 10) : PREFIX;

	snprintf(text, sizeof(text), "%.*s", (int)(n < 31 ? n : 31), address);
	if (inet_pton(AF_INET, text, &net->address) != 1 || (end && *end) || prefix < 1 ||
	    prefix > 32)
		return fault_set(f, FAULT_INVALID, "/ip_address",
				 "not an IPv4 address: %.40s", address);
	if (inet_pton(AF_INET, gateway, &net->gateway) != 1)
		return fault_set(f, FAULT_INVALID, "/gateway",
				 "not an IPv4 address: %.40s", gateway);
	net->mask.s_addr = htonl(0xffffffffu << (32 - prefix));
	return 0;
}

static int write_servers(const char *const *dns, size_t n, struct fault *f)
{
	char text[512];
	size_t len = 0;
	struct in_addr ignored;

	for (size_t i = 0; i < n && i < 3; i++) {
		if (inet_pton(AF_INET, dns[i], &ignored) != 1)
			return fault_set(f, FAULT_INVALID, "/dns",
					 "not an IPv4 address: %.40s", dns[i]);
		len += (size_t)snprintf(text + len, sizeof(text) - len, "nameserver %s\n",
					dns[i]);
	}
	if (n)
		machine_write_line("/etc/resolv.conf", text);
	return 0;
}

int machine_set_address(const char *address, const char *gateway, const char *const *dns,
			size_t n_dns, struct fault *f)
{
	struct net net = { .fd = -1 };
	int rc;

	if ((rc = machine_parse(&net, address, gateway, f)) ||
	    (rc = write_servers(dns, n_dns, f)))
		return rc;
	net.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (net.fd < 0)
		return fault_set(f, FAULT_IO, "", "no socket: %s", strerror(errno));
	if (!(rc = find_interface(&net, f)) &&
	    !(rc = set_number(&net, SIOCSIFADDR, net.address, f)) &&
	    !(rc = set_number(&net, SIOCSIFNETMASK, net.mask, f)) &&
	    !(rc = raise_interface(&net, f)))
		rc = set_route(&net, f);
	close(net.fd);
	return rc;
}

void machine_raise_loopback(void)
{
	struct net net = { .fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0),
			   .name = "lo" };
	struct fault ignored = { 0 };

	if (net.fd < 0)
		return;
	raise_interface(&net, &ignored);
	close(net.fd);
}
