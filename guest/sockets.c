#include "guest/sockets.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest/guest_door.h"
#include "storage/durable.h"

/* The host's socket as its lock names it, two folders above the guest's own: `PID START SOCKET`. */
static bool sockets_read_place(const struct guest *g, char place[200])
{
	struct arena a = { 0 };
	int fd = open(arena_printf(&a, "%s/../../host.lock", g->state),
		      O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char line[256] = "";
	bool found = fd >= 0 && read(fd, line, sizeof(line) - 1) > 0 &&
		     sscanf(line, "%*d %*d %199[^\n]", place) == 1;

	if (fd >= 0)
		close(fd);
	arena_release(&a);
	return found;
}

/* Cuts the last part off a path, and returns that. */
static const char *sockets_cut(char *path)
{
	char *end = strrchr(path, '/');

	if (!end)
		return "";
	*end = '\0';
	return end + 1;
}

/* Whether a folder is this user's alone. */
static bool sockets_is_own(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & 077);
}

/* Sets the folder to that of the same name beside the host's socket, where the host has moved: its
 * folder is named after the state wherever it is. */
static void follow_host(const struct guest *g, struct link_address *at)
{
	char host[200], place[200], state[200], run[sizeof(at->path)];
	const char *own;

	if (!sockets_read_place(g, host))
		return;
	snprintf(run, sizeof(run), "%s", at->path);
	own = sockets_cut(run);
	snprintf(place, sizeof(place), "%s", host);
	sockets_cut(place);
	snprintf(state, sizeof(state), "%s", place);
	if (strcmp(sockets_cut(state), sockets_cut(run)) != 0 || !sockets_is_own(place))
		return;
	snprintf(at->path, sizeof(at->path), "%s/%s", place, own);
	if (getenv("CADRE_SOCKET")) /* commands reach the host itself */
		setenv("CADRE_SOCKET", host, 1);
}

int guest_listen(struct guest *g, struct fault *f)
{
	const struct guest_options *o = g->options;
	struct arena a = { 0 };
	struct link_address at;
	int rc = link_parse(o->listen ? o->listen : arena_printf(&a, "unix:%s", g->state),
			    "", &at, f);

	arena_release(&a);
	if (!rc && at.kind == LINK_TCP && !(o->token && *o->token)) {
		fault_set(f, FAULT_DENIED, "", "a guest at %s needs a token", o->listen);
		rc = fault_hint(f, "Give one with --token-file FILE or in "
				   "CADRE_LINK_TOKEN.");
	}
	if (rc)
		return rc;
	if (at.kind == LINK_UNIX) {
		follow_host(g, &at);
		dir_have(at.path, 0700);
	}
	rc = door_open(g, at.kind == LINK_UNIX ? at.path : g->state, f);
	if (!rc)
		rc = peer_listen_open(&g->listeners[0], g, WIRE_CONTROL, &at, f);
	return rc ? rc : peer_listen_open(&g->listeners[1], g, WIRE_RELAY, &at, f);
}

void guest_sockets_look(struct guest *g)
{
	bool open = true, there = true;
	struct fault f = { 0 };

	for (int i = 0; i < 3; i++) {
		open = open && g->listeners[i].ear;
		there = there && link_heard(g->listeners[i].ear);
	}
	if (g->stopping || there)
		return;
	for (int i = 0; i < 3; i++)
		peer_listen_close(&g->listeners[i]);
	if (guest_listen(g, &f) == 0)
		fprintf(stderr,
			"cadre guest: its sockets were gone and are made anew: %s\n",
			g->door);
	else if (open)
		fprintf(stderr, "cadre guest: its sockets are gone: %s\n", f.text);
}
