/*
 * notify - tells the service manager (sd_notify) how the host stands.
 */
#ifndef CORE_HOST_NOTIFY_H
#define CORE_HOST_NOTIFY_H

/* Sends `state`, such as "READY=1", to $NOTIFY_SOCKET; nothing without one. */
void notify_service(const char *state);

#endif
