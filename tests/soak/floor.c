#include "tests/soak/floor.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/child.h"

enum { WORK = 100000, BLOCK = 4096 };

/* --- times ------------------------------------------------------------------------ */

double mono_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double slot_ms(int slot)
{
	double ms = 0.01;

	while (slot-- > 0)
		ms *= 1.02;
	return ms;
}

void times_add(struct times *t, double ms)
{
	int slot = 0;

	for (double at = 0.01; at < ms && slot < TIMES_SLOTS - 1; at *= 1.02)
		slot++;
	t->n[slot]++;
}

long times_count(const struct times *t)
{
	long n = 0;

	for (int i = 0; i < TIMES_SLOTS; i++)
		n += t->n[i];
	return n;
}

double times_quantile(const struct times *t, double q)
{
	long left = (long)(q * (double)times_count(t));
	int i = 0;

	while (i < TIMES_SLOTS - 1 && (left -= t->n[i]) >= 0)
		i++;
	return slot_ms(i);
}

/* --- the machine -------------------------------------------------------------------- */

static void work(void)
{
	volatile uint32_t x = 1;

	for (int i = 0; i < WORK; i++)
		x = x * 1664525 + 1013904223;
}

static _Noreturn void answer(int from, int file)
{
	char block[BLOCK] = "", what;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(from, &what, 1) == 1) {
		work();
		if (what == FLOOR_WRITE &&
		    (pwrite(file, block, BLOCK, 0) != BLOCK || fdatasync(file)))
			break;
		if (write(from, &what, 1) != 1)
			break;
	}
	_exit(0);
}

int floor_open(struct soak_floor *f, const char *dir)
{
	char path[200];
	int ends[2];

	snprintf(path, sizeof(path), "%s/floor", dir);
	f->file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (f->file < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -1;
	fflush(NULL);
	f->other = fork();
	if (f->other == 0) {
		close(ends[0]);
		answer(ends[1], f->file);
	}
	close(ends[1]);
	f->to = ends[0];
	return f->other < 0 ? -1 : 0;
}

void floor_close(struct soak_floor *f)
{
	close(f->to);
	close(f->file);
	child_wait(f->other, 20000);
}

static void step(struct soak_floor *f, enum floor_kind kind, struct times *t)
{
	char what = (char)kind;
	double from = mono_ms();

	if (write(f->to, &what, 1) == 1 && read(f->to, &what, 1) == 1)
		times_add(t, mono_ms() - from);
}

void floor_step(struct soak_floor *f, struct times *reads, struct times *writes)
{
	step(f, FLOOR_READ, reads);
	step(f, FLOOR_WRITE, writes);
}
