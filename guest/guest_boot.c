#include "guest/guest_boot.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <net/if.h>
#include <net/route.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "guest/guest.h"
#include "guest/machine.h"

/* --- machine ----------------------------------------------------------------- */

enum { PREFIX = 16, NAME_MOST = 63 };

/* Writes `text` into the file `path`. If the file cannot be opened, for example because its
 * folder is missing, nothing is written, since the machine works without this file. */
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
			 "use 1 to %d of a-z A-Z 0-9 -, without - first or last",
			 NAME_MOST);
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
	int fd; /* any socket, needed for the ioctls */
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

/* Finds the first interface that is not the loopback. */
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

/* Brings the loopback interface up, if the machine has a loopback interface. */
static void machine_raise_loopback(void)
{
	struct net net = { .fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0),
			   .name = "lo" };
	struct fault ignored = { 0 };

	if (net.fd < 0)
		return;
	raise_interface(&net, &ignored);
	close(net.fd);
}

enum {
	DISK_MS = 10000, /* longest wait for the disk */
	PORTS_MS = 3000,
	STEP_MS = 5,
	END_MS = 300, /* time from SIGTERM to SIGKILL */
	AGAIN_MS = 1000,
	LATE_MS = 2000, /* time between the guest's start and the loading of late
			   modules */
	DEATHS_MOST = 5, /* after this many early deaths of the guest in a row, the
			    machine powers off; early: within SETTLED_MS of the start */
	SETTLED_MS = 60000,
};

/* The kernel must not initialize unused inode tables, since the written tables would make every
 * copy of the disk larger. */
#define OPTIONS "noinit_itable"

/* Settings from the kernel's command line; NULL: the command line lacks the setting. */
struct words {
	char line[4096];
	const char *workspace, *name, *team, *agent, *listen, *ip, *gateway, *dns, *http,
		*probe, *restores;
};

static void guest_boot_pause_ms(int ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	nanosleep(&t, NULL);
}

__attribute__((format(printf, 1, 2))) static void guest_boot_say(const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "cadre: %s\n", text);
}

/* --- end ------------------------------------------------------------------------ */

static _Noreturn void power_off(void)
{
	kill(-1, SIGTERM);
	guest_boot_pause_ms(END_MS);
	kill(-1, SIGKILL);
	sync();
	mount(NULL, "/", NULL, MS_REMOUNT | MS_RDONLY, NULL);
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

/* --- the command line ------------------------------------------------------------ */

static void guest_boot_take_word(struct words *w, char *word)
{
	const struct {
		const char *name;
		const char **value;
	} known[] = {
		{ "cadre.workspace", &w->workspace }, { "cadre.name", &w->name },
		{ "cadre.team", &w->team },           { "cadre.agent", &w->agent },
		{ "cadre.listen", &w->listen },       { "cadre.ip", &w->ip },
		{ "cadre.gateway", &w->gateway },     { "cadre.dns", &w->dns },
		{ "cadre.http", &w->http },           { "cadre.probe", &w->probe },
		{ "cadre.restores", &w->restores },
	};
	size_t n = strcspn(word, "=");

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strlen(known[i].name) == n && !strncmp(known[i].name, word, n))
			*known[i].value = word + n + (word[n] == '=');
}

static void guest_boot_read_words(struct words *w)
{
	int fd = open("/proc/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, w->line, sizeof(w->line) - 1);
	char *at = w->line;

	if (fd >= 0)
		close(fd);
	w->line[n > 0 ? n : 0] = '\0';
	while (*(at += strspn(at, " \n"))) {
		size_t len = strcspn(at, " \n");
		char *next = at + len + (at[len] != '\0');

		at[len] = '\0';
		guest_boot_take_word(w, at);
		at = next;
	}
}

/* --- mounts ----------------------------------------------------------------------- */

static void mount_at(const char *type, const char *path, unsigned long flags,
		     const char *options)
{
	mkdir(path, 0755);
	if (mount(type, path, type, flags, options) && errno != EBUSY)
		guest_boot_say("%s: %s", path, strerror(errno));
}

static void mount_first(void)
{
	int console;

	mount_at("devtmpfs", "/dev", MS_NOSUID, "mode=755");
	mount_at("proc", "/proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	mount_at("sysfs", "/sys", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	console = open("/dev/console", O_RDWR | O_NOCTTY);
	for (int fd = 0; fd < 3 && console >= 0; fd++)
		dup2(console, fd);
	if (console > 2)
		close(console);
}

static void mount_rest(void)
{
	mount_at("devpts", "/dev/pts", MS_NOSUID | MS_NOEXEC, "mode=620,ptmxmode=666");
	mount_at("tmpfs", "/dev/shm", MS_NOSUID | MS_NODEV, "mode=1777");
	mount_at("tmpfs", "/tmp", MS_NOSUID | MS_NODEV, "mode=1777");
	if (symlink("/proc/self/fd", "/dev/fd") && errno != EEXIST)
		guest_boot_say("/dev/fd: %s", strerror(errno));
}

/* --- modules ------------------------------------------------------------------------ */

static void load_module(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST))
		guest_boot_say("%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	unlink(path); /* frees the memory that the file uses */
}

/* Loads the modules whose file names begin with `when`, in the order of the names.
 * tools/cadre/image/image.c gives the files their names. */
static void load_modules(const char *folder, char when)
{
	struct dirent **names = NULL;
	int n = scandir(folder, &names, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		char path[300];

		snprintf(path, sizeof(path), "%s/%.200s", folder, names[i]->d_name);
		if (names[i]->d_name[0] == when)
			load_module(path);
		free(names[i]);
	}
	free(names);
}

/* --- the root ------------------------------------------------------------------------ */

/* Whether the root file system has a shell. `/bin/sh` may be an absolute link, which is broken
 * until this file system is the root. So has_shell() does not follow the link. */
static bool has_shell(const char *root)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "%s/bin/sh", root);
	if (lstat(path, &st) == 0)
		return true;
	snprintf(path, sizeof(path), "%s/usr/bin/sh", root);
	return lstat(path, &st) == 0;
}

/* Mounts the disk's root file system at /root. The root file system is on the whole disk, or on
 * one of the disk's partitions. */
static bool mount_disk(void)
{
	char path[32];

	mkdir("/root", 0755);
	for (int i = 0; i < 16; i++) {
		/* With precision 0, printf() writes nothing for the number 0. So the first path
		 * names the whole disk. */
		snprintf(path, sizeof(path), "/dev/vda%.*d", i > 0, i);
		if (access(path, F_OK) ||
		    mount(path, "/root", "ext4", MS_NOATIME | MS_SILENT, OPTIONS))
			continue;
		if (has_shell("/root"))
			return true;
		umount("/root");
	}
	return false;
}

/* Grows the file system to the size of its disk. EXT4_IOC_RESIZE_FS is defined in no header, so
 * the number of this ioctl is built here. */
static void grow_root(void)
{
	const unsigned long resize = _IOW('f', 16, uint64_t);
	struct stat st;
	uint64_t bytes = 0, blocks;
	char path[64];
	int fd = open("/root", O_RDONLY | O_DIRECTORY | O_CLOEXEC), disk;

	if (fd < 0 || fstat(fd, &st))
		return;
	snprintf(path, sizeof(path), "/disk");
	mknod(path, S_IFBLK | 0600, st.st_dev);
	disk = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	if (disk >= 0 && ioctl(disk, BLKGETSIZE64, &bytes) == 0) {
		blocks = bytes / (uint64_t)st.st_blksize;
		if (ioctl(fd, resize, &blocks))
			guest_boot_say("the disk keeps its size: %s", strerror(errno));
	}
	if (disk >= 0)
		close(disk);
	close(fd);
}

/* Makes the program visible below BOOT_RUN, too. The program's file stays in the memory of the
 * initrd. */
static void guest_boot_share_program(void)
{
	int fd;

	mount("tmpfs", "/root/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755");
	mkdir("/root" BOOT_RUN, 0755);
	mkdir("/root" BOOT_RUN "/bin", 0755);
	fd = open("/root" BOOT_RUN "/bin/cadre", O_CREAT | O_WRONLY | O_CLOEXEC, 0755);
	if (fd >= 0)
		close(fd);
	if (mount("/init", "/root" BOOT_RUN "/bin/cadre", NULL, MS_BIND, NULL))
		guest_boot_say("no command `cadre` in here: %s", strerror(errno));
	mkdir("/root" BOOT_RUN "/modules", 0700);
	mount("/modules", "/root" BOOT_RUN "/modules", NULL, MS_BIND, NULL);
}

static void enter_root(void)
{
	static const char *const moved[] = { "/dev", "/proc", "/sys" };
	static const char *const folders[] = { "/root/dev", "/root/proc", "/root/sys",
					       "/root/run", "/root/tmp" };

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		mkdir(folders[i], 0755);
	guest_boot_share_program();
	for (size_t i = 0; i < sizeof(moved) / sizeof(*moved); i++) {
		char to[64];

		snprintf(to, sizeof(to), "/root%s", moved[i]);
		if (mount(moved[i], to, NULL, MS_MOVE, NULL))
			guest_boot_say("%s: %s", to, strerror(errno));
	}
	if (chdir("/root") || mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") ||
	    chdir("/")) {
		guest_boot_say("the disk is not a root file system: %s", strerror(errno));
		power_off();
	}
}

static void guest_boot_find_root(void)
{
	for (int waited = 0; access("/dev/vda", F_OK); waited += STEP_MS) {
		if (waited > DISK_MS) {
			guest_boot_say("there is no disk");
			power_off();
		}
		guest_boot_pause_ms(STEP_MS);
	}
	if (!mount_disk()) {
		guest_boot_say("no ext4 file system with a /bin/sh is on the disk");
		power_off();
	}
	grow_root();
	enter_root();
}

/* --- virtio-serial ------------------------------------------------------------------- */

static int link_ports(void)
{
	DIR *dir = opendir("/sys/class/virtio-ports");
	struct dirent *e;
	int n = 0;

	while (dir && (e = readdir(dir))) {
		char path[300], name[64] = "", to[128], from[300];
		FILE *file;

		snprintf(path, sizeof(path), "/sys/class/virtio-ports/%.200s/name",
			 e->d_name);
		file = e->d_name[0] == '.' ? NULL : fopen(path, "re");
		if (!file)
			continue;
		if (fscanf(file, "%63[a-z.]", name) == 1) {
			snprintf(to, sizeof(to), BOOT_PORTS "/%s", name);
			snprintf(from, sizeof(from), "/dev/%.200s", e->d_name);
			n += symlink(from, to) == 0 || errno == EEXIST;
		}
		fclose(file);
	}
	if (dir)
		closedir(dir);
	return n;
}

/* Links the serial ports by name. The kernel sets the name of a port a short time after it
 * makes the port, so name_ports() waits. */
static void name_ports(void)
{
	mkdir(BOOT_PORTS, 0755);
	for (int waited = 0; link_ports() < 2; waited += STEP_MS) {
		if (waited > PORTS_MS) {
			guest_boot_say("the serial ports are not there");
			power_off();
		}
		guest_boot_pause_ms(STEP_MS);
	}
}

/* --- the machine ---------------------------------------------------------------------- */

static void guest_boot_set_address(struct words *w)
{
	char dns[256];
	const char *servers[3];
	struct fault f = { 0 };
	size_t n = 0;

	machine_raise_loopback();
	if (!w->ip || !w->gateway)
		return;
	snprintf(dns, sizeof(dns), "%s", w->dns ? w->dns : "");
	for (char *at = dns; *at && n < 3;) {
		size_t len = strcspn(at, ",");
		bool last = at[len] == '\0';

		at[len] = '\0';
		servers[n++] = at;
		at += len + !last;
	}
	if (machine_set_address(w->ip, w->gateway, servers, n, &f))
		guest_boot_say("%s", f.text);
}

static void set_environment(void)
{
	clearenv();
	setenv("PATH",
	       BOOT_RUN
	       "/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	       1);
	setenv("HOME", "/root", 1);
	setenv("USER", "root", 1);
	setenv("SHELL", "/bin/sh", 1);
	setenv("LANG", "C.UTF-8", 1);
}

static void name_machine(const struct words *w)
{
	struct fault f = { 0 };
	char name[64];
	size_t n;

	snprintf(name, sizeof(name), "%s", w->name ? w->name : "cadre");
	for (n = strlen(name); n > 1 && name[n - 1] == '-';)
		name[--n] = '\0'; /* the name must not end with a hyphen */
	if (machine_set_name(name, &f))
		guest_boot_say("%s", f.text);
}

/* --- the guest ------------------------------------------------------------------------- */

static pid_t guest_boot_start(const struct words *w, const char *version)
{
	char http[64];
	const struct guest_options o = {
		.workspace = w->workspace,
		.name = w->name ? w->name : w->workspace,
		.dir = "/workspace",
		.state = "/var/lib/cadre",
		.restores = w->restores,
		.listen = w->listen ? w->listen : "serial:" BOOT_PORTS,
		.team = w->team,
		.agent = w->agent,
		.http = w->ip && w->http ? http : NULL,
		.vm = true,
		.version = version,
	};
	pid_t pid = fork();

	if (pid)
		return pid;
	if (o.http)
		snprintf(http, sizeof(http), "%.*s:%s", (int)strcspn(w->ip, "/"), w->ip,
			 w->http);
	setsid();
	_exit(chdir(o.dir) ? 1 : guest_main(&o));
}

/* Loads the modules that are not needed at the start, such as other file systems and
 * randomness. A separate process loads these modules. */
static void load_late(void)
{
	if (fork())
		return;
	guest_boot_pause_ms(LATE_MS);
	load_modules(BOOT_RUN "/modules", 'z');
	_exit(0);
}

/* Waits for the end of the guest. Also reaps processes whose parents have ended, since such
 * processes become children of the boot process. */
static int guest_boot_wait_for(pid_t guest)
{
	int status;

	for (;;) {
		pid_t pid = waitpid(-1, &status, 0);

		if (pid == guest)
			return status;
		if (pid < 0 && errno == ECHILD)
			return -1;
	}
}

static _Noreturn void guest_boot_keep(const struct words *w, const char *version)
{
	int deaths = 0;

	while (deaths < DEATHS_MOST) {
		int64_t began = clock_steady_ms();
		int status = guest_boot_wait_for(guest_boot_start(w, version));

		if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
			power_off();
		guest_boot_say("the guest ended with status %#x", (unsigned)status);
		deaths = clock_steady_ms() - began < SETTLED_MS ? deaths + 1 : 1;
		guest_boot_pause_ms(AGAIN_MS);
	}
	power_off();
}

int boot_is_wanted(void)
{
	return getpid() == 1;
}

void boot_main(const char *version)
{
	static struct words w;

	mount_first();
	guest_boot_read_words(&w);
	if (w.probe) {
		guest_boot_say("alive");
		power_off();
	}
	load_modules("/modules", 'a');
	if (w.ip)
		load_modules("/modules", 'n');
	if (w.listen && !strncmp(w.listen, "vsock:", 6))
		load_modules("/modules", 'v');
	if (!w.workspace) {
		guest_boot_say("the kernel's command line has no cadre.workspace");
		power_off();
	}
	guest_boot_find_root();
	mount_rest();
	set_environment();
	name_machine(&w);
	guest_boot_set_address(&w);
	if (!w.listen || !strncmp(w.listen, "serial:", 7))
		name_ports();
	mkdir("/workspace", 0755);
	mkdir("/var", 0755);
	mkdir("/var/lib", 0755);
	load_late();
	guest_boot_keep(&w, version);
}
