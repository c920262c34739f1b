/*
 * starter - marks in the environment of being inside whoever started cadre.
 *
 * A host, a guest or an agent's program is not inside the git hook, the agent's client or the
 * terminal that happened to start it: git would act on that hook's repository, a client would
 * refuse to start or report to another session.  Settings of a person stay: folders, keys,
 * providers, proxies, names of authors.
 */
#ifndef CORE_MACHINE_STARTER_H
#define CORE_MACHINE_STARTER_H

#include <stdbool.h>

/* Removes the marks of git and of agents' clients from this process's environment; those of a
 * terminal too if this process `outlives` it. */
void starter_forget(bool outlives);

#endif
