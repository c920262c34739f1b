/*
 * notify - tells the service manager (sd_notify) how the host stands.
 */
#ifndef NOTIFY_H
#define NOTIFY_H

/* Sends `state`, such as "READY=1", to $NOTIFY_SOCKET; nothing without one. */
void notify_service(const char *state);

#endif
