/*
 * config - finds what configures this process.
 *
 * cadre.toml is looked for from the working directory upward, then in the
 * user's config folder ($XDG_CONFIG_HOME/cadre, ~/.config/cadre); the first one
 * counts, and one that is neither the user's nor root's is passed over.  Then
 * the environment is read, then flags: see core/config.h.
 */
#ifndef HOST_CONFIG_H
#define HOST_CONFIG_H

#include "core/config.h"

/* `flags` are texts `section.key=value` that end with a NULL; NULL: none.  Fills
 * `s`, which is empty and in any case the caller's to release. */
int config_load(struct config_set *s, const char *const *flags, struct fault *f);

#endif
