/*
 * power - proves that acknowledged data outlives a power failure.
 *
 *	power [N [SEED]] [--fs=ext4|xfs|btrfs] [--keep]
 *
 * The clients of tests/crash work on a state in a file system on a loop device. Another process
 * forks, restores and snapshots workspaces. At random times the power of the device fails, N
 * times in all. The file systems whose mkfs is installed (e2fsprogs, xfsprogs, btrfs-progs) are
 * tested one after the other. After each failure, every workspace and snapshot whose row says
 * `ready` must be whole. At the end no acknowledged call may be missing, and no call may have
 * been done twice. Exits with 77 if the program does not run as root, or if there are no loop
 * devices.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/home/home.h"
#include "tests/crash/crash.h"
#include "tests/lib/child.h"
#include "tests/lib/place.h"
#include "tests/power/box.h"
#include "tests/power/trees.h"

enum { SKIP = 77, LIFE_MS = 2000, BOOT_MS = 60000, END_MS = 300000 };

/* If this machine cannot test a file system, the next file systems get a larger share of the
 * power failures. */
static const char *const kinds[] = { "btrfs", "xfs", "ext4" };

/* Memory shared by the test and the processes of the machine. */
struct proof {
	struct scene scene;
	struct trees trees;
	struct box box;
	volatile bool up; /* the host has answered, and work has begun */
	volatile bool cut; /* the test wants the power to fail */
	volatile bool failed; /* the power has failed */
	int findings, cuts;
};

static struct proof *share(void)
{
	void *p = mmap(NULL, sizeof(struct proof), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

/* --- runs of the machine ------------------------------------------------------------ */

/* Clears the ids of the host and the clients, since no process survives a power failure. */
static void forget_processes(struct scene *s)
{
	s->host = (struct part){ .lives = s->host.lives };
	for (int i = 0; i < CLIENTS; i++) {
		s->clients[i].pid = s->clients[i].in = 0;
		s->clients[i].respawn_at = 0;
	}
	s->db = NULL;
}

static int first_life(void *arg)
{
	struct proof *p = arg;
	int rc = scene_begin(&p->scene) || trees_make(&p->trees, &p->scene);

	if (p->scene.host.pid > 0)
		child_end(p->scene.host.pid, 10000);
	sync();
	return rc;
}

static void work_on_trees(struct proof *p)
{
	uint64_t seed = dice_roll(&p->scene.dice);

	fflush(NULL);
	if (fork() == 0) {
		trees_work(&p->trees, &p->scene, seed);
		_exit(0);
	}
}

/* Stops all processes before the power fails. In a real power failure no interrupted fsync()
 * returns. After a shutdown of the file system, however, Linux lets some interrupted fsync()
 * calls return success (ext4, 6.18). */
static void fail_now(struct proof *p)
{
	if (getpid() != 1)
		abort(); /* kill(-1) would stop processes outside the box */
	kill(-1, SIGSTOP);
	p->failed = box_fail(&p->box) == 0;
	pause();
}

static int working_life(void *arg)
{
	struct proof *p = arg;
	struct scene *s = &p->scene;

	forget_processes(s);
	s->host.pid = host_start(s->home, NULL, s->log, BOOT_MS);
	if (s->host.pid < 0 || scene_look(s) < 0)
		return 1;
	work_on_trees(p);
	p->up = true;
	while (!p->cut) {
		scene_tend(s, true);
		pause_for(1);
	}
	fail_now(p);
	return 0;
}

static int last_life(void *arg)
{
	struct proof *p = arg;
	struct scene *s = &p->scene;

	forget_processes(s);
	scene_start_host(s);
	if (scene_look(s) < 0)
		return 1;
	scene_work_on(s);
	scene_settle(s);
	p->findings += trees_settle(&p->trees, s);
	if (s->host.pid > 0)
		s->faults += child_end(s->host.pid, 10000) != 0;
	p->findings += judge(s);
	child_end_all();
	return 0;
}

/* --- failures ------------------------------------------------------------------------- */

/* Empties the runtime folder, since a real machine loses this folder's files at a boot. */
static void empty_runtime(const struct scene *s)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/runtime", s->base);
	temp_remove(path);
	mkdir(path, 0700);
}

static bool await(const volatile bool *what)
{
	int64_t until = clock_steady_ms() + BOOT_MS;

	while (!*what && clock_steady_ms() < until)
		pause_for(1);
	return *what;
}

static void boot(struct proof *p, int (*live)(void *arg))
{
	p->up = p->cut = p->failed = false;
	box_boot(&p->box, live, p);
}

static bool live_and_fail(struct proof *p)
{
	boot(p, working_life);
	if (!await(&p->up)) {
		printf("  ! the host does not come up after failure %d; see %s\n",
		       p->cuts, p->scene.log);
		p->findings++;
		return false;
	}
	pause_for(dice_below(&p->scene.dice, LIFE_MS));
	p->cut = true;
	if (!await(&p->failed) || box_recover(&p->box)) {
		printf("  ! this machine cannot go on after failure %d\n", p->cuts);
		p->findings++;
		return false;
	}
	p->cuts++;
	empty_runtime(&p->scene);
	p->findings += trees_judge(&p->trees, p->scene.home);
	return true;
}

/* --- a state that was just made ---------------------------------------------------------- */

static int make_state(void *arg)
{
	struct proof *p = arg;
	char home[120];
	const char *const argv[] = { cadre_path(), "--home", home, "init", NULL };
	const struct child c = { .argv = argv, .log = p->scene.log, .in = -1, .fd3 = -1 };
	pid_t pid;

	snprintf(home, sizeof(home), "%s/a/b/c", p->scene.home);
	pid = child_start(&c);
	p->up = child_wait(pid, BOOT_MS) == 0;
	p->failed = box_fail(&p->box) == 0;
	pause();
	return 0;
}

/* Makes the power fail as soon as `cadre init` has succeeded, and looks for the state's files. */
static void judge_birth(struct proof *p)
{
	static const char *const files[] = { "state.db", "secret", ".gitignore" };
	char path[200];
	struct stat st;

	boot(p, make_state);
	p->findings += !await(&p->failed) || !p->up || box_recover(&p->box);
	p->cuts++;
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/a/b/c/%s", p->scene.home, files[i]);
		if (stat(path, &st) == 0 && st.st_size > 0)
			continue;
		printf("  ! of a state that was made %s is missing\n", files[i]);
		p->findings++;
	}
	snprintf(path, sizeof(path), "%s/a", p->scene.home);
	temp_remove(path);
}

/* --- the whole proof ------------------------------------------------------------------------ */

static int report(struct proof *p, const char *kind)
{
	const struct trees *t = &p->trees;
	int bad = p->findings + p->scene.faults;

	printf("power: %s: %d restores, %d forks, %d snapshots and %d removed, %d forks"
	       " destroyed, %d backups, %d notes; %d directories looked at\n",
	       kind, t->restored, t->forked, t->taken, t->removed, t->destroyed,
	       t->backed_up, t->noted, t->judged);
	printf("power: %s: seed %llu, %d power failures, %s\n", kind,
	       (unsigned long long)p->scene.seed, p->cuts,
	       bad ? "FAILED" : "nothing lost, nothing twice, all ready is whole");
	return bad;
}

static int prove(const char *kind, int n, uint64_t seed, bool keep)
{
	struct proof *p = share();
	struct box *b = &p->box;
	int bad = 1;

	p->scene.seed = seed;
	if (scene_place(&p->scene) < 0)
		return 1;
	if (box_open(b, kind, p->scene.base, p->scene.home)) {
		printf("power: %s cannot fail on this machine\n", kind);
		temp_remove(p->scene.base);
		return SKIP;
	}
	judge_birth(p);
	boot(p, first_life);
	if (box_join(b, END_MS) == 0) {
		empty_runtime(&p->scene);
		while (p->cuts < n && live_and_fail(p))
			;
		boot(p, last_life);
		p->findings += box_join(b, END_MS) != 0;
		bad = report(p, kind) != 0;
	}
	box_close(b);
	if (bad || keep)
		printf("kept: %s\n", p->scene.base);
	else
		temp_remove(p->scene.base);
	munmap(p, sizeof(*p));
	return bad;
}

/* Divides the failures among the file systems that this machine can test. */
static int prove_all(int n, uint64_t seed, const char *only, bool keep)
{
	int bad = 0, proved = 0, left = n, kinds_left = only ? 1 : 3;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		int share_of = (left + kinds_left - 1) / kinds_left, rc;

		if (only && strcmp(only, kinds[i]))
			continue;
		rc = prove(kinds[i], share_of, seed, keep);
		kinds_left--;
		if (rc == SKIP)
			continue;
		left -= share_of;
		proved++;
		bad |= rc;
	}
	return proved ? bad : SKIP;
}

int main(int argc, char **argv)
{
	uint64_t seed = (uint64_t)clock_wall_ms() % 1000000;
	const char *only = NULL;
	bool keep = false;
	long n = 10;

	if (argc > 1 && !strcmp(argv[1], "--worker"))
		return worker_main(argc, argv);
	for (int i = 1, words = 0; i < argc; i++) {
		if (!strncmp(argv[i], "--fs=", 5))
			only = argv[i] + 5;
		else if (!strcmp(argv[i], "--keep"))
			keep = true;
		else if (words++ == 0)
			n = strtol(argv[i], NULL, 10);
		else
			seed = strtoull(argv[i], NULL, 10);
	}
	if (n < 1 || n > 1000000) {
		fprintf(stderr, "usage: power [N [SEED]] [--fs=ext4|xfs|btrfs] [--keep],"
				" N failures, 1 or more\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (geteuid() || access("/dev/loop-control", W_OK) || box_begin()) {
		puts("power: it needs root and loop devices");
		return SKIP;
	}
	return prove_all((int)n, seed, only, keep);
}
