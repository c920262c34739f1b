/*
 * starter - environment variables that tell cadre which program started it.
 *
 * Such variables are marks of a git hook, an agent's client or a terminal. A host, a guest or
 * an agent's program does not belong to the program that started it, so the started process
 * must not keep these marks. Otherwise git would act on the hook's repository, and a client
 * would refuse to start or report to another session. A person's settings are kept: folders,
 * keys, providers, proxies, names of authors.
 */
#ifndef CORE_MACHINE_STARTER_H
#define CORE_MACHINE_STARTER_H

#include <stdbool.h>

/* Removes the marks of git and of agents' clients from this process's environment; if this
 * process `outlives` the terminal, also removes the terminal's marks. */
void starter_forget(bool outlives);

#endif
