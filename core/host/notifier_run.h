/* notifier_run - a person's command is run once. */
#ifndef CORE_HOST_NOTIFIER_RUN_H
#define CORE_HOST_NOTIFIER_RUN_H

#include "core/home/home.h"
#include "core/host/log.h"
#include "core/host/sleeper.h"
#include "ops.gen.h"

/* Runs notify.command in the state's folder: the parts of `notice` are its variables
 * CADRE_EVENT and so on, and a line of JSON on its standard input.  It gets half a minute;
 * then, or when it has ended, its whole process group is killed, a second later also where
 * the host was killed before, if the command itself still runs.  A failure is logged.
 * False: the host ends, and so did the command. */
bool notifier_run(const struct home *home, const struct notice *notice,
		  struct sleeper *sleeper, struct log *log, struct log_pause *failed);

#endif
