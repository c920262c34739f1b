#include "tests/lib/net_fake.h"

#include <assert.h>
#include <string.h>

static int fake_apply(void *self, const struct net_plan *plan, struct fault *f)
{
	struct net_fake *fake = self;

	if (fake->fail)
		return fault_set(f, FAULT_IO, "", "told to fail");
	assert(plan->n_members <= NET_FAKE_MEMBERS);
	assert(plan->n_forwards <= NET_FAKE_FORWARDS);
	fake->plan = *plan;
	fake->plan.members = fake->members;
	fake->plan.forwards = fake->forwards;
	for (size_t i = 0; i < plan->n_members; i++) {
		fake->members[i] = plan->members[i];
		fake->members[i].ports = NULL;
	}
	for (size_t i = 0; i < plan->n_forwards; i++)
		fake->forwards[i] = plan->forwards[i];
	fake->applied++;
	fake->present = true;
	fake->lost = false;
	return 0;
}

static bool fake_intact(void *self)
{
	struct net_fake *fake = self;

	return !fake->lost;
}

static int fake_remove(void *self, const char *tag, struct fault *f)
{
	struct net_fake *fake = self;

	(void)tag;
	(void)f;
	fake->plan = (struct net_plan){ 0 };
	fake->removed++;
	fake->present = false;
	return 0;
}

static bool fake_present(void *self, const char *tag)
{
	struct net_fake *fake = self;

	(void)tag;
	return fake->present;
}

static const struct net_member *member_at(const struct net_fake *fake, uint32_t ip)
{
	for (size_t i = 0; i < fake->plan.n_members; i++)
		if (fake->members[i].ip == ip)
			return &fake->members[i];
	return NULL;
}

bool net_fake_reaches(const struct net_fake *fake, uint32_t from, uint32_t to)
{
	const struct net_member *a = member_at(fake, from), *b = member_at(fake, to);

	if (!a || !b || !a->inter_vm || !b->inter_vm)
		return false;
	return a->team == b->team || a->parent == b->team || b->parent == a->team;
}

void net_fake_init(struct net_fake *fake)
{
	*fake = (struct net_fake){
		.network = { .self = fake,
			     .apply = fake_apply,
			     .intact = fake_intact,
			     .remove = fake_remove,
			     .present = fake_present },
	};
}
