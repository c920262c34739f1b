#include "guest/guest_serve.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "core/access/token.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "guest/guest_ask.h"
#include "guest/guest_door.h"
#include "guest/guest_http.h"
#include "guest/guest_inside.h"
#include "guest/machine.h"

/* --- commands of a dead guest ------------------------------------------------ */

/*
 * Commands may go on running after their guest was killed. The host counts the commands of a
 * killed guest as interrupted, so these commands must not go on. A new guest kills the commands
 * of an earlier guest before it begins any work. A guest that ends in order kills its own
 * commands before its end. When a host halts running commands, the guest also halts processes
 * that earlier commands have left behind. A process belongs to a command if its environment
 * names the spool's workspace and this guest's folder, even if the process has made a session
 * of its own. The environment of a turn's process names the turn, too.
 *
 * SIGKILL does not end a process at once. A killed process holds its locks and ports until the
 * kernel has closed the files of the process. The guest waits for the end of a killed process
 * by a process descriptor (pidfd), because the kernel may soon give the process number to
 * another process.
 */

struct groups {
	pid_t *all;
	size_t n;
};

static char *read_environment(const char *pid, size_t *len)
{
	char path[64], *buf = NULL;
	size_t room = 0;
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%.20s/environ", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	*len = 0;
	do {
		char *more = realloc(buf, room += 8192);

		if (!more)
			break;
		buf = more;
		n = read(fd, buf + *len, room - *len - 1);
		*len += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	close(fd);
	if (buf)
		buf[*len] = '\0';
	return buf;
}

static const char *orphan_find(const char *environment, size_t len, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = environment; p < environment + len; p += strlen(p) + 1)
		if (strncmp(p, name, n) == 0)
			return p + n;
	return NULL;
}

/* Whether a process with the given environment belongs to a command of this workspace. If
 * `turn` is not 0, the process must belong to the turn `turn`. */
static bool orphan_is_ours(const struct guest *g, const char *environment, size_t len,
			   int64_t turn)
{
	const char *workspace = orphan_find(environment, len, "CADRE_WORKSPACE=");
	const char *state = orphan_find(environment, len, "CADRE_GUEST=");
	const char *number = orphan_find(environment, len, "CADRE_TURN=");

	return workspace && strcmp(workspace, spool_owner(g->spool)) == 0 && state &&
	       strcmp(state, g->state) == 0 &&
	       (!turn || (number && strtoll(number, NULL, 10) == turn));
}

/* Whether a command of the process group `group` is still running. */
static bool runs(const struct guest *g, pid_t group)
{
	for (const struct proc *run = g->runs; run; run = run->next)
		if (run->group == group && !run->exited)
			return true;
	return false;
}

static bool orphan_has_group(const struct groups *in, pid_t group)
{
	for (size_t i = 0; i < in->n; i++)
		if (in->all[i] == group)
			return true;
	return false;
}

static void orphan_add_group(struct groups *to, pid_t group)
{
	if (orphan_has_group(to, group))
		return;
	to->all = xreallocarray(to->all, to->n + 1, sizeof(*to->all));
	to->all[to->n++] = group;
}

/* If a process belongs to a command of this workspace, sends `signal` to the process's group.
 * The guest's own process group gets no signal. The process group of a command that still runs
 * gets no signal except SIGKILL. */
static void orphan_look_at(const struct guest *g, const char *pid, int signal,
			   int64_t turn, struct groups *told)
{
	pid_t process = (pid_t)strtol(pid, NULL, 10), group = getpgid(process);
	char *environment;
	size_t len;

	if (group <= 1 || group == getpgrp() || (signal != SIGKILL && runs(g, group)))
		return;
	environment = read_environment(pid, &len);
	if (environment && orphan_is_ours(g, environment, len, turn)) {
		kill(-group, signal);
		orphan_add_group(told, group);
	}
	free(environment);
}

/* Sends a signal to all processes that belong to commands of this workspace. Returns false if
 * the processes of this machine could not be listed. */
static bool tell_orphans(const struct guest *g, int signal, int64_t turn,
			 struct groups *told)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;

	while (proc && (e = readdir(proc)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
			orphan_look_at(g, e->d_name, signal, turn, told);
	return proc && closedir(proc) == 0;
}

static void keep_process(struct guest *g, pid_t process)
{
	int fd = pidfd_open(process, 0);

	if (fd < 0)
		return;
	g->dying = xreallocarray(g->dying, g->n_dying + 1, sizeof(*g->dying));
	g->dying[g->n_dying++] = (struct pollfd){ .fd = fd, .events = POLLIN };
}

/* Adds the processes of the process groups in `of` to g->dying. The function finds a process by
 * its process group, because a dying process has no environment any more. */
static void keep_dying(struct guest *g, const struct groups *of)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;

	while (proc && (e = readdir(proc))) {
		pid_t process = (pid_t)strtol(e->d_name, NULL, 10);

		if (process > 0 && orphan_has_group(of, getpgid(process)))
			keep_process(g, process);
	}
	if (proc)
		closedir(proc);
}

void guest_kill_orphans(struct guest *g, int64_t turn, pid_t group)
{
	struct groups killed = { 0 };

	if (group)
		orphan_add_group(&killed, group);
	tell_orphans(g, SIGKILL, turn, &killed);
	if (killed.n)
		keep_dying(g, &killed);
	free(killed.all);
}

/* Removes ended processes from g->dying. After poll(), the `revents` of an ended process is not
 * 0. */
static void forget_ended(struct guest *g)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n_dying; i++)
		if (g->dying[i].revents)
			close(g->dying[i].fd);
		else
			g->dying[n++] = g->dying[i];
	g->n_dying = n;
}

bool guest_orphans_ended(struct guest *g, int64_t ms)
{
	const int64_t until = clock_boot_ms() + ms;
	int64_t left;

	do {
		left = until - clock_boot_ms();
		if (g->n_dying &&
		    poll(g->dying, g->n_dying, left > 0 ? (int)left : 0) > 0)
			forget_ended(g);
	} while (g->n_dying && left > 0);
	return !g->n_dying;
}

/* If `on` is true, stops processes, otherwise continues them. These are processes that ended
 * commands have left behind, and processes that commands have put into other process groups. If
 * no command can have left a process behind, /proc is not read. */
static void guest_halt_orphans(struct guest *g, bool on)
{
	struct groups told = { 0 };

	if (!g->leaves && !g->runs)
		return;
	g->leaves = !tell_orphans(g, on ? SIGSTOP : SIGCONT, 0, &told) || told.n;
	free(told.all);
}

enum { ID_MAX = 128 };

/* Whether the token `given` is the guest's token. Compares the hashes of both tokens in
 * constant time. */
static bool proves(const char *given, const char *token)
{
	uint8_t a[TOKEN_HASH], b[TOKEN_HASH];

	if (!given || !token)
		return false;
	token_hash(given, a);
	token_hash(token, b);
	return token_equal(a, b, sizeof(a));
}

/* Returns true if the host's Hello names a spool other than this guest's spool. Also returns
 * true if this guest's spool is an old copy, which has a lower number than `spool_seq` in the
 * Hello. These numbers are compared only before the guest's first assignment. At that time the
 * host knows all assignments that have begun. */
static bool is_other_spool(const struct guest *g, const struct wire_hello *hello)
{
	if (!hello->spool)
		return false;
	if (strcmp(hello->spool, spool_identity(g->spool)) != 0)
		return true;
	return !g->spool_settled && hello->has_spool_seq &&
	       hello->spool_seq > spool_seq(g->spool);
}

/* Checks that this guest's spool is the spool that the host knows. Another spool, or an old
 * copy of the right spool, may contain assignments that have already run, or that the host has
 * ended. So a spool that the host does not know is emptied, and running commands are called
 * off. A guest that has just started does this check before any other work. */
static int settle_spool(struct peer *peer, const struct wire_hello *hello,
			struct fault *f)
{
	struct guest *g = peer->guest;

	if (strcmp(hello->role, "host") != 0)
		return 0;
	if (g->spool_settled && peer->port != WIRE_CONTROL)
		return 0; /* after the first check, only a Hello on the control socket may
			     renew the spool */
	if (is_other_spool(g, hello)) {
		if (spool_renew(g->spool, f))
			return f->code;
		guest_assignment_call_off(g);
	}
	g->spool_settled = true;
	return 0;
}

static void halt(struct guest *g, bool on)
{
	const bool was = g->halted;

	g->halted = on;
	for (struct proc *run = g->runs; run; run = run->next)
		proc_halt(run, on);
	if (on || was)
		guest_halt_orphans(g, on);
}

static int answer_halt(struct guest_request *q, struct fault *f)
{
	const struct wire_halt *in = q->body;
	struct guest *g = q->guest;

	(void)f;
	halt(g, in->on);
	guest_request_answer(q, "Ok", NULL); /* frees `q` and `in` */
	guest_assignment_work(g);
	return 0;
}

static int answer_hello(struct guest_request *q, struct fault *f)
{
	static const char *const features[] = { "id",        "ack",  "range",
						"heartbeat", "halt", "turns" };
	const struct wire_hello *hello = q->body;
	struct guest *g = q->guest;
	const struct guest_options *o = g->options;
	const char *workspace = spool_owner(g->spool);
	struct wire_hello own = {
		.version = o->version,
		.has_spool_seq = true,
		.role = "guest",
		.agent = o->agent,
		.workspace = workspace,
		.boot_id = g->boot_id,
		.http = guest_http_address(g),
		.features = (const char **)features,
		.n_features = sizeof(features) / sizeof(features[0]),
	};

	if (q->peer->stranger && !proves(hello->token, o->token)) {
		fault_set(f, FAULT_DENIED, "/token", "not the token of this guest");
		fault_hint(f, "Give the token with which the guest was started.");
		guest_request_refuse(q, f);
		return 0;
	}
	q->peer->stranger = false;
	q->peer->hello = true;
	if (hello->workspace && !*workspace && spool_adopt(g->spool, hello->workspace, f))
		return f->code;
	if (hello->workspace && strcmp(hello->workspace, workspace) != 0) {
		fault_set(f, FAULT_CONFLICT, "/workspace",
			  "this is the guest of workspace %s", workspace);
		return fault_hint(f,
				  "A guest serves one workspace: start another guest, or "
				  "start this guest with a new state folder.");
	}
	if (strcmp(hello->role, "host") == 0 && q->peer->port == WIRE_CONTROL)
		halt(g, hello->halted);
	if (settle_spool(q->peer, hello, f))
		return f->code;
	own.spool = spool_identity(g->spool);
	own.spool_seq = spool_seq(g->spool);
	door_host_came(q->peer, hello);
	guest_request_answer(q, "Hello", &own); /* Hello must be the first message */
	guest_assignment_work(g);
	return 0;
}

static int answer_ping(struct guest_request *q, struct fault *f)
{
	struct guest *g = q->guest;
	struct wire_pong pong = {
		.has_hello = true,
		.hello = true,
		.version = g->options->version,
		.uptime_secs = (int64_t)((uv_now(&g->loop) - g->started) / 1000),
	};

	(void)f;
	guest_request_answer(q, "Pong", &pong);
	return 0;
}

/* Checks the name of a variable that all commands get. A shell must accept the name. */
static int guest_serve_check_name(const char *name, struct fault *f)
{
	bool good = isalpha((unsigned char)*name) || *name == '_';

	for (const char *p = name; *p && good; p++)
		good = isalnum((unsigned char)*p) || *p == '_';
	if (!good)
		return fault_set(f, FAULT_INVALID, "/vars",
				 "not a variable's name: '%.64s'", name);
	return guest_env_check(name, "/vars", f);
}

static int answer_set_env(struct guest_request *q, struct fault *f)
{
	const struct wire_set_env *in = q->body;
	struct spool *spool = q->guest->spool;
	struct wire_set_env_result out = { .count = (int64_t)in->n_vars };
	int rc = 0;

	for (size_t i = 0; i < in->n_vars; i++)
		if (guest_serve_check_name(in->vars[i].key, f))
			return f->code;
	if (in->n_vars && spool_begin(spool, f))
		return f->code;
	for (size_t i = 0; i < in->n_vars && !rc; i++)
		rc = spool_set_env(spool, in->vars[i].key, in->vars[i].value, f);
	if (in->n_vars && (spool_end(spool, !rc, f) || rc))
		return f->code;
	guest_request_answer(q, "SetEnvResult", &out);
	return 0;
}

/* --- the machine of a guest in a VM ------------------------------------------------- */

static int check_machine(const struct guest_request *q, struct fault *f)
{
	if (q->guest->options->vm)
		return 0;
	return fault_set(f, FAULT_INVALID, "/type",
			 "%s is for VMs; this workspace is a directory", q->packet.type);
}

static int answer_name(struct guest_request *q, struct fault *f)
{
	const struct wire_set_hostname *in = q->body;

	if (check_machine(q, f) || machine_set_name(in->hostname, f))
		return f->code;
	guest_request_answer(q, "Ok", NULL);
	return 0;
}

/* Sets the VM's address. If the host sends no `dns`, the VM gets the default name servers. If
 * `dns` is empty, /etc/resolv.conf stays unchanged. */
static int guest_serve_set_address(struct guest_request *q, const char *address,
				   const char *gateway, const char **dns, size_t n_dns,
				   struct fault *f)
{
	static const char *const usual[] = { "1.1.1.1", "8.8.8.8" };

	return packet_has(&q->packet, "dns")
		       ? machine_set_address(address, gateway, dns, n_dns, f)
		       : machine_set_address(address, gateway, usual, 2, f);
}

static int answer_network(struct guest_request *q, struct fault *f)
{
	const struct wire_configure_network *in = q->body;

	if (check_machine(q, f) || guest_serve_set_address(q, in->ip_address, in->gateway,
							   in->dns, in->n_dns, f))
		return f->code;
	guest_request_answer(q, "Ok", NULL);
	return 0;
}

/* Sets the address and the name of the VM. The name is checked first, so that a request with an
 * invalid name does not change the address. */
static int answer_workspace(struct guest_request *q, struct fault *f)
{
	const struct wire_configure_workspace *in = q->body;

	if (check_machine(q, f) || machine_check_name(in->hostname, f) ||
	    guest_serve_set_address(q, in->ip_address, in->gateway, in->dns, in->n_dns,
				    f) ||
	    machine_set_name(in->hostname, f))
		return f->code;
	guest_request_answer(q, "Ok", NULL);
	return 0;
}

static int answer_shutdown(struct guest_request *q, struct fault *f)
{
	struct guest *g = q->guest;

	(void)f;
	guest_request_answer(q, "Ok", NULL);
	guest_stop(g);
	return 0;
}

static const struct service {
	const char *type;
	unsigned ports;
	guest_service *serve;
} services[] = {
	{ "ConfigureNetwork", WIRE_CONTROL, answer_network },
	{ "ConfigureWorkspace", WIRE_CONTROL, answer_workspace },
	{ "EditFile", WIRE_CONTROL, answer_edit },
	{ "Exec", WIRE_CONTROL, answer_exec },
	{ "ExecBackground", WIRE_CONTROL, answer_background },
	{ "ExecKill", WIRE_CONTROL, answer_kill },
	{ "ExecPoll", WIRE_CONTROL, answer_poll },
	{ "FileDownload", WIRE_CONTROL, answer_download },
	{ "FileRead", WIRE_CONTROL, answer_read },
	{ "FileUpload", WIRE_CONTROL, answer_upload },
	{ "FileWrite", WIRE_CONTROL, answer_write },
	{ "Halt", WIRE_CONTROL, answer_halt },
	{ "Hello", WIRE_CONTROL | WIRE_RELAY, answer_hello },
	{ "ListDir", WIRE_CONTROL, answer_list },
	{ "Ping", WIRE_CONTROL | WIRE_RELAY, answer_ping },
	{ "PollDaemonResults", WIRE_CONTROL, answer_results },
	{ "SetEnv", WIRE_CONTROL, answer_set_env },
	{ "SetHostname", WIRE_CONTROL, answer_name },
	{ "Shutdown", WIRE_CONTROL, answer_shutdown },
	{ "TeamMessage", WIRE_RELAY, answer_message },
	{ "TeamMessagePush", WIRE_RELAY, answer_push },
	{ "TurnStart", WIRE_CONTROL, answer_turn },
	{ "TurnStop", WIRE_CONTROL, answer_turn_stop },
};

static const struct service *find_service(const char *type)
{
	for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++)
		if (strcmp(services[i].type, type) == 0)
			return &services[i];
	return NULL;
}

/* Checks the id of a request. A request whose id is too long is refused by an answer without an
 * id. */
static int guest_serve_check_id(struct packet *p, struct fault *f)
{
	const json_t *id = p->id;

	if (!id || json_is_integer(id) ||
	    (json_is_string(id) && json_string_length(id) <= ID_MAX))
		return 0;
	p->id = NULL;
	return fault_set(f, FAULT_INVALID, "/id",
			 "an id is a number or a text of at most %d bytes", ID_MAX);
}

/* Lets waiting assignments begin if the request `q` is the first request of a host of the older
 * dialect. Such a host sends no Hello and knows no spools. A Ping does not count as the first
 * request, since a host of the newer dialect may send a Ping before its Hello, to learn whether
 * this guest supports Hello. */
static void note_old_host(struct guest_request *q,
			  int (*asked)(struct guest_request *, struct fault *))
{
	struct guest *g = q->guest;

	if (g->spool_settled || q->peer->hello || asked == answer_hello ||
	    asked == answer_ping)
		return;
	g->spool_settled = true;
	guest_assignment_work(g);
}

static int guest_serve_loop(struct guest_request *q, struct fault *f)
{
	const struct service *s;
	void *body;

	if (guest_serve_check_id(&q->packet, f))
		return f->code;
	if (q->peer->port == WIRE_DOOR)
		return door_serve(q, f);
	if (packet_belongs(&q->packet, SIDE_HOST, q->peer->port, f))
		return f->code;
	s = find_service(q->packet.wire->name);
	if (!s)
		return fault_set(f, FAULT_INVALID, "/type",
				 "this guest does not serve %s", q->packet.type);
	/* The host must send each message on the port of the service that serves this message.
	 * The protocol allows some types on both ports. For example, guests also send a
	 * TeamMessage, but from the host a TeamMessage is a push, which belongs to one port. */
	if (!(s->ports & q->peer->port))
		return fault_set(f, FAULT_INVALID, "/type",
				 "from the host %s belongs on port %s", q->packet.type,
				 s->ports == WIRE_RELAY ? "5001" : "5000");
	if (q->guest->stopping)
		return fault_set(f, FAULT_UNAVAILABLE, "", "the guest is stopping");
	body = arena_alloc(&q->arena, q->packet.wire->record->size + 1);
	if (packet_decode_as(&q->packet, q->packet.wire->record, body, &q->arena, f))
		return f->code;
	q->body = body;
	note_old_host(q, s->serve);
	return s->serve(q, f);
}

void guest_request_serve(struct guest_request *q)
{
	struct fault f = { 0 };

	if (q->peer->stranger && guest_serve_check_id(&q->packet, &f)) {
		guest_request_refuse(q, &f);
		return;
	}
	if (q->peer->stranger && (!q->packet.type || strcmp(q->packet.type, "Hello"))) {
		fault_set(&f, FAULT_DENIED, "/type", "send Hello with the token first");
		guest_request_refuse(q, &f);
		return;
	}
	if (q->peer->port == WIRE_CONTROL && ask_hear(q))
		guest_request_free(q);
	else if (guest_serve_loop(q, &f) < 0)
		guest_request_fail(q, &f);
}
