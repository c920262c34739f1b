/*
 * guests_end - the guests of a state that run on without a host: how many there are, and their
 * end.
 */
#include <dirent.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/machine/backend.h"
#include "core/machine/net/net_linux.h"
#include "tools/cadre/cli.h"

/* Backends whose guests are processes of this machine, and the state's folder that has one
 * for each of them. */
static const struct {
	const struct backend *backend;
	const char *folder;
} kinds[] = {
	{ &backend_process, "guests" },
	{ &backend_qemu, "disks" },
};

/* Called for each running guest. */
typedef void visit_guest(const struct backend *b, const struct process *p, void *with);

static size_t visit_guests(const char *home, visit_guest *visit, void *with)
{
	struct arena a = { 0 };
	struct process p;
	struct dirent *e;
	size_t n = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const struct backend *b = kinds[i].backend;
		DIR *dir = opendir(arena_printf(&a, "%s/%s", home, kinds[i].folder));

		while (dir && (e = readdir(dir))) {
			if (e->d_name[0] == '.' || !b->seek(b->self, home, e->d_name, &p))
				continue;
			n++;
			if (visit)
				visit(b, &p, with);
		}
		if (dir)
			closedir(dir);
	}
	arena_release(&a);
	return n;
}

size_t guests_running(const char *home)
{
	return visit_guests(home, NULL, NULL);
}

static void stop_guest(const struct backend *b, const struct process *p, void *with)
{
	struct fault ignored = { 0 };

	b->stop(b->self, p, *(bool *)with, &ignored); /* who is left is counted */
}

size_t guests_end(const char *home, int seconds, size_t *ended)
{
	int64_t began = clock_steady_ms(), until = began + (int64_t)seconds * 1000;
	const struct timespec pause = { .tv_nsec = 50000000 };
	bool now = false;
	size_t left = visit_guests(home, stop_guest, &now), all = left;

	while (left && clock_steady_ms() < until) {
		nanosleep(&pause, NULL);
		/* A guest that has not ended by half of the time is ended at once. */
		now = clock_steady_ms() - began > (int64_t)seconds * 500;
		left = visit_guests(home, now ? stop_guest : NULL, &now);
	}
	*ended = all > left ? all - left : 0;
	return left;
}

int guests_end_network(const struct home *home, struct fault *f)
{
	const char *tag = home->settings.tag;
	struct net_linux net;
	int rc = 0;

	net_linux_init(&net);
	if (tag && net.network.present(net.network.self, tag))
		rc = net.network.remove(net.network.self, tag, f) < 0 ? (int)f->code : 1;
	net_linux_release(&net);
	return rc;
}
