/*
 * settings - a state's configuration, network and secret.
 */
#ifndef CORE_HOME_SETTINGS_H
#define CORE_HOME_SETTINGS_H

#include "core/home/home.h"

/* Fills h->settings and h->vault for the state in h->dir: 0 or a fault.  `flags` as for
 * config_load(); `create`: a missing secret is made. */
int settings_load(struct home *h, const char *const *flags, bool create, struct fault *f);

/* A copy of a text that lives as long as `h`; NULL when there is no room. */
const char *home_keep(struct home *h, const char *text);

/* Reads the secret again: the folder may hold another state by now. */
int settings_renew(struct home *h, struct fault *f);

#endif
