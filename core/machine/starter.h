/*
 * starter - environment variables that tell cadre which program started it.
 *
 * Git, an agent's client or a terminal sets variables that mark each process it starts. A host,
 * a guest or an agent's program does not belong to its starter. So the started program must
 * remove these variables. Otherwise git would act on the hook's repository, and a client would
 * refuse to start or would report to another session. Variables with a person's settings are
 * kept: folders, keys, providers, proxies, names of authors.
 */
#ifndef CORE_MACHINE_STARTER_H
#define CORE_MACHINE_STARTER_H

#include <stdbool.h>

/* Removes the variables of git and of agents' clients from this process's environment. If this
 * process `outlives` the terminal, also removes the terminal's variables. */
void starter_forget(bool outlives);

#endif
