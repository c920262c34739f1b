/*
 * settings - what holds for a state: its configuration, network and secret.
 */
#ifndef CORE_HOME_SETTINGS_H
#define CORE_HOME_SETTINGS_H

#include "core/home/home.h"

/* Fills h->settings and h->vault for the state in h->dir.  `flags` as
 * config_load() takes them; a secret is made on first use if `create`. */
int settings_load(struct home *h, const char *const *flags, bool create, struct fault *f);

/* A copy of a text that lives as long as `h`; NULL when there is no room. */
const char *home_keep(struct home *h, const char *text);

/* Reads the secret once more: the state may be another one by now. */
int settings_renew(struct home *h, struct fault *f);

#endif
