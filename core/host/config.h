/*
 * config - cadre.toml and the environment, as settings.
 *
 * cadre.toml is looked for from the working directory upward, then in the
 * user's config folder; CADRE_SECTION_KEY in the environment wins over it.  An
 * unknown key is a fault that names the nearest known one and its line.
 */
#ifndef CONFIG_H
#define CONFIG_H

#include "core/host/home.h"

/* Fills h->settings and h->vault; texts go behind `*used` of h->texts. */
int config_load(struct home *h, size_t *used, struct fault *f);

#endif
