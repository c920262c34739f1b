#include "core/host/host.h"

#include <fcntl.h>
#include <malloc.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/version.h"
#include "core/home/home_config.h"
#include "core/host/host_inside.h"
#include "core/mirror/mirror.h"

/* --- log_level --------------------------------------------------------------- */

/* log_level - applies a new log.level of the configuration while the host runs. */

struct log_watch {
	enum log_level level; /* level of the host's log */
	struct config_watch configured;
};

static void log_watch_make(struct host *host)
{
	host->log_watch->level = (enum log_level)host->settings.config.log_level;
}

/* Sets the log's level if log.level has changed in the configuration. */
static void log_level_tick(struct host *host)
{
	enum log_level level = LOG_LEVEL_INFO;
	struct fault f = { 0 };

	if (!config_watch_look(&host->log_watch->configured, host->home))
		return;
	if (config_watch_level(host->home, &level, &f) < 0) {
		log_line(host->log, LOG_LEVEL_WARN,
			 "the configuration cannot be read again", LOG_FAULT(&f));
		return;
	}
	if (level == host->log_watch->level)
		return;
	/* The line below has only the level info. While the line is written, the log has the
	 * former level or the new level, whichever writes more lines. */
	if (level > host->log_watch->level)
		log_set_level(host->log, level);
	log_line(host->log, LOG_LEVEL_INFO, "the log's level has changed",
		 LOG_TEXT("to", log_level_name(level)));
	log_set_level(host->log, level);
	host->log_watch->level = level;
}

const struct host_room room_log_watch = {
	.size = sizeof(struct log_watch),
	.make = log_watch_make,
	.tick = log_level_tick,
};

/* --- notify ------------------------------------------------------------------ */

/*
 * notify - tells the service manager that the host is ready or stops, as sd_notify() does.
 */

/* Sends `state`, such as "READY=1", to $NOTIFY_SOCKET. Does nothing if $NOTIFY_SOCKET is unset. */
static void notify_service(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	socklen_t size;
	int fd;

	if (!path || strlen(path) >= sizeof(to.sun_path))
		return;
	memcpy(to.sun_path, path, strlen(path));
	size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	if (to.sun_path[0] == '@') /* an abstract socket name */
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	/* Nothing can be done if the service manager does not listen. */
	(void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL,
		      (const struct sockaddr *)&to, size);
	close(fd);
}

enum {
	STOP_MS = 10000, /* how long a host that stops waits for calls */
	STARTS = 12, /* threads that start VMs, in addition to the threads that copy
			files */
};

static const struct {
	const struct host_room *room;
	size_t at; /* offset of the room's pointer in struct host */
} rooms[] = {
#define ROOM(x) { &room_##x, offsetof(struct host, x) },
	HOST_ROOMS(ROOM)
#undef ROOM
};

enum { ROOMS = sizeof(rooms) / sizeof(*rooms) };

/* Calls a hook of each room that has the hook. */
#define EACH_ROOM(hook, ...)             \
	for (int i = 0; i < ROOMS; i++)  \
		if (rooms[i].room->hook) \
	rooms[i].room->hook(__VA_ARGS__)

/* Calls a hook of each room that has the hook, in the reverse order of HOST_ROOMS. */
#define EACH_ROOM_BACK(hook, host)           \
	for (int i = ROOMS - 1; i >= 0; i--) \
		if (rooms[i].room->hook)     \
	rooms[i].room->hook(host)

/* The next number of splitmix64, whose first state is a random number. splitmix64 needs no
 * system call. */
uint64_t host_seed(struct host *host)
{
	uint64_t z = host->seed += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* --- rooms -------------------------------------------------------------------------- */

static void **host_place_of(struct host *host, int room)
{
	return (void **)((char *)host + rooms[room].at);
}

void host_make_rooms(struct host *host)
{
	for (int i = 0; i < ROOMS; i++)
		if (rooms[i].room->size)
			*host_place_of(host, i) = xcalloc(1, rooms[i].room->size);
}

void host_free_rooms(struct host *host)
{
	for (int i = 0; i < ROOMS; i++)
		if (rooms[i].room->size)
			free(*host_place_of(host, i));
}

void host_event(struct host *host, const struct host_event_row *e)
{
	EACH_ROOM(event, host, e);
}

void host_caught_up(struct host *host, bool missed)
{
	EACH_ROOM(caught_up, host, missed);
}

void host_tick(struct host *host)
{
	EACH_ROOM(tick, host);
}

enum follows host_follows(const struct host *host)
{
	enum follows most = FOLLOWS_NOT;

	for (int i = 0; i < ROOMS; i++)
		if (rooms[i].room->follows && rooms[i].room->follows(host) > most)
			most = rooms[i].room->follows(host);
	return most;
}

static void host_look(struct host *host)
{
	EACH_ROOM(look, host);
}

static bool host_is_busy(const struct host *host)
{
	bool busy = false;

	for (int i = 0; i < ROOMS; i++)
		busy |= rooms[i].room->is_busy && rooms[i].room->is_busy(host);
	return busy;
}

/* --- the loop --------------------------------------------------------------------- */

static void on_before_poll(uv_prepare_t *h)
{
	host_look(h->data);
}

static void on_after_poll(uv_check_t *h)
{
	host_look(h->data);
}

static void on_signal(uv_signal_t *h, int number)
{
	struct host *host = h->data;

	log_line(host->log, LOG_LEVEL_INFO, "the host stops",
		 LOG_NUMBER("signal", number));
	host_stop(host);
}

/* --- end ---------------------------------------------------------------------------- */

static void host_close_handle(void *handle)
{
	uv_handle_t *h = handle;

	if (h->type && !uv_is_closing(h))
		uv_close(h, NULL);
}

/* Begins to stop: turns new clients away, and answers waiting calls. After host_stop(), drain()
 * waits for the calls that still run. */
void host_stop(struct host *host)
{
	if (host->stopping)
		return;
	host->stopping = true;
	notify_service("STOPPING=1");
	EACH_ROOM_BACK(close, host);
	host_close_handle(&host->term);
	host_close_handle(&host->interrupt);
	uv_stop(&host->loop);
}

/* Runs the loop until the threads have ended their calls, for STOP_MS at most, so that the
 * callers get answers. */
static void drain(struct host *host)
{
	uint64_t end = uv_now(&host->loop) + STOP_MS;

	while (host_is_busy(host) && uv_now(&host->loop) < end)
		uv_run(&host->loop, UV_RUN_ONCE);
	host_look(host);
}

static void close_loop(struct host *host)
{
	EACH_ROOM_BACK(end, host);
	host_close_handle(&host->before_poll);
	host_close_handle(&host->after_poll);
	uv_run(&host->loop, UV_RUN_DEFAULT);
	uv_loop_close(&host->loop);
}

/* --- start --------------------------------------------------------------------------- */

/* Opens the loop, its own handles, and the handles for signals. */
static void open_loop(struct host *host)
{
	uv_loop_init(&host->loop);
	uv_prepare_init(&host->loop, &host->before_poll);
	uv_check_init(&host->loop, &host->after_poll);
	uv_signal_init(&host->loop, &host->term);
	uv_signal_init(&host->loop, &host->interrupt);
	host->before_poll.data = host->after_poll.data = host;
	host->term.data = host->interrupt.data = host;
	uv_prepare_start(&host->before_poll, on_before_poll);
	uv_check_start(&host->after_poll, on_after_poll);
	uv_signal_start(&host->term, on_signal, SIGTERM);
	uv_signal_start(&host->interrupt, on_signal, SIGINT);
	signal(SIGPIPE, SIG_IGN);
}

static void say_ready(struct host *host)
{
	int fd = host->options->ready_fd;

	notify_service("READY=1");
	log_line(host->log, LOG_LEVEL_INFO, "the host serves",
		 LOG_TEXT("state", host->home->dir),
		 LOG_TEXT("socket", host->home->socket),
		 LOG_TEXT("version", CADRE_VERSION), LOG_NUMBER("pid", host->pid));
	if (fd < 0)
		return;
	if (write(fd, "ready\n", 6) != 6)
		log_line(host->log, LOG_LEVEL_WARN, "no process reads ready_fd",
			 LOG_NOTHING);
	close(fd);
}

/* Limits the number of malloc's arenas. Only one thread at a time allocates much, so more
 * arenas would only cost memory. */
static void spare_memory(void)
{
	mallopt(M_ARENA_MAX, 2);
	mallopt(M_TRIM_THRESHOLD, 1 << 20);
	mallopt(M_MMAP_THRESHOLD, 128 << 10); /* free() gives large blocks back to the
						 system */
}

/* Sets the size of libuv's thread pool, which libuv makes only once. The threads of this pool
 * copy files and start VMs. */
static void widen_pool(const struct config *config)
{
	char threads[24];

	snprintf(threads, sizeof(threads), "%lld",
		 (long long)config->limits_max_concurrent_forks + STARTS);
	setenv("UV_THREADPOOL_SIZE", threads, 0);
}

static int open_rooms(struct host *host, struct fault *f)
{
	EACH_ROOM(make, host);
	for (int i = 0; i < ROOMS && !f->code; i++)
		if (rooms[i].room->open)
			rooms[i].room->open(host, f);
	return f->code;
}

static void start_rooms(struct host *host)
{
	struct store *store = NULL;
	struct fault f = { 0 };

	if (store_open(&store, host->home->dir, STORE_READ, NULL, &f) == 0)
		EACH_ROOM(survey, host, store);
	store_close(store);
	EACH_ROOM(start, host);
}

static int host_serve(struct host *host, struct fault *f)
{
	int rc;

	open_loop(host);
	host_make_rooms(host);
	rc = open_rooms(host, f);
	if (rc == 0) {
		start_rooms(host);
		say_ready(host);
		uv_run(&host->loop, UV_RUN_DEFAULT);
		drain(host);
	} else
		host_stop(host);
	close_loop(host);
	EACH_ROOM_BACK(release, host);
	job_pool_release(&host->jobs);
	host_free_rooms(host);
	if (host->lost.code)
		*f = host->lost;
	return rc ? rc : (int)f->code;
}

int host_run(const struct host_options *options, struct fault *f)
{
	struct host *host;
	int lock, folder, rc;

	spare_memory();
	widen_pool(&options->home->settings.config);
	lock = home_hold(options->home, f);
	if (lock < 0)
		return lock;
	/* The socket's name contains the inode of the state folder. While the host has the
	 * state folder open, no other folder gets this inode. */
	folder = open(options->home->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	host = xcalloc(1, sizeof(*host));
	host->options = options;
	host->home = options->home;
	mirror_attend(options->home);
	host->settings = options->home->settings;
	host->seed = home_random();
	host->pid = getpid();
	host->lock = lock;
	snprintf(host->boot_id, sizeof(host->boot_id), "%016llx%016llx",
		 (unsigned long long)home_random(), (unsigned long long)home_random());
	rc = home_make_run(options->home, f);
	home_sweep_runs(options->home);
	if (rc == 0)
		rc = log_open(&host->log, options->home->dir,
			      (enum log_level)host->settings.config.log_level,
			      options->ready_fd < 0, f);
	if (rc == 0)
		rc = host_serve(host, f);
	log_close(host->log);
	free(host);
	home_leave_run(options->home);
	close(lock);
	if (folder >= 0)
		close(folder);
	return rc;
}
