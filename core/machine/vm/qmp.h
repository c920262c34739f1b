/*
 * qmp - a command to a running QEMU, over its monitor's socket.
 *
 * Each call connects, says it and closes: the socket takes one caller at a
 * time.  Blocking, 10 s at most: never from a loop.
 */
#ifndef CORE_MACHINE_VM_QMP_H
#define CORE_MACHINE_VM_QMP_H

#include <jansson.h>

#include "core/base/fault.h"

/* `args` is taken (it may be NULL); `answer`, if not NULL, gets what came back
 * and is the caller's.  FAULT_UNAVAILABLE: nobody answers there. */
int qmp_ask(const char *socket, const char *command, json_t *args, json_t **answer,
	    struct fault *f);

#endif
