/* doctor_clients - clients that `cadre setup` has told of cadre, here and in the user's files. */
#include "tools/cadre/doctor/doctor.h"
#include "tools/cadre/setup/setup.h"

static void doctor_clients_tell(void *arg, bool ok, const struct setup_client *c,
				const char *found, const char *todo)
{
	doctor_say(arg, ok ? VERDICT_OK : VERDICT_WARN, c->name, todo, "%s", found);
}

void check_clients(struct doctor *d)
{
	struct setup_plan project = { 0 }, user = { 0 };

	if (setup_plan_begin(&project)) {
		setup_plan_all(&project);
		setup_check(&project, false, doctor_clients_tell, d);
	}
	setup_plan_begin(&user);
	user.project[0] = '\0';
	setup_plan_all(&user);
	setup_check(&user, false, doctor_clients_tell, d);
	setup_plan_release(&project);
	setup_plan_release(&user);
}
