#include "core/machine/fake.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static int place_of(struct fake *fake, const char *name)
{
	for (int i = 0; i < fake->n; i++)
		if (!strcmp(fake->places[i].name, name))
			return i;
	assert(fake->n < FAKE_PLACES);
	snprintf(fake->places[fake->n].name, sizeof(fake->places[0].name), "%s", name);
	return fake->n++;
}

static int fake_make(void *self, const struct spot *spot, struct fault *f)
{
	struct fake *fake = self;

	if (fake->fail_make)
		return fault_set(f, FAULT_IO, "", "told to fail");
	fake->made++;
	fake->places[place_of(fake, spot->name)].made = true;
	return 0;
}

static int fake_fork(void *self, const struct spot *spot, struct fault *f)
{
	struct fake *fake = self;

	fake->forked++;
	return fake_make(self, spot, f);
}

static int fake_start(void *self, const struct spot *spot, struct process *process,
		      struct fault *f)
{
	struct fake *fake = self;

	if (fake->fail_start)
		return fault_set(f, FAULT_IO, "", "told to fail");
	fake->started++;
	*process = (struct process){ .pid = ++fake->next_pid, .start = 1 };
	snprintf(process->boot, sizeof(process->boot), "fake");
	fake->places[place_of(fake, spot->name)].pid = process->pid;
	return 0;
}

void fake_kill(struct fake *fake, int64_t pid)
{
	for (int i = 0; i < fake->n; i++)
		if (fake->places[i].pid == pid)
			fake->places[i].pid = 0;
}

static int fake_stop(void *self, const struct process *process, bool now, struct fault *f)
{
	struct fake *fake = self;

	(void)now;
	(void)f;
	fake->stopped++;
	fake_kill(fake, process->pid);
	return 0;
}

static bool fake_alive(void *self, const struct process *process)
{
	struct fake *fake = self;

	for (int i = 0; i < fake->n; i++)
		if (process->pid && fake->places[i].pid == process->pid)
			return true;
	return false;
}

static void fake_find(void *self, int64_t pid, struct process *process)
{
	(void)self;
	*process = (struct process){ .pid = pid, .start = 1 };
}

static int fake_destroy(void *self, const struct spot *spot, struct fault *f)
{
	struct fake *fake = self;

	(void)f;
	fake->destroyed++;
	fake->places[place_of(fake, spot->name)].made = false;
	return 0;
}

void fake_init(struct fake *fake)
{
	*fake = (struct fake){
		.machine = {
			.name = "fake",
			.self = fake,
			.make = fake_make,
			.fork = fake_fork,
			.start = fake_start,
			.stop = fake_stop,
			.alive = fake_alive,
			.find = fake_find,
			.destroy = fake_destroy,
		},
	};
}
