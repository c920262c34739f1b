#include "core/home/known_sum.h"

#include <string.h>

#include "core/home/tracked.h"

/* The sum of a made state is of its settings alone: where git tracks anything in it, the
 * state does not count anyway. */
void known_take_sum(enum known_how how, const char *path, char sum[TRACKED_SUM + 1])
{
	if (how == KNOWN_TRUSTED)
		tracked_sum(path, sum);
	else
		tracked_sum_settings(path, sum);
}

/* An older cadre noted no sum of what was made, and "-" of what was trusted while git
 * tracked nothing in it. */
static bool has_sum(const struct known *noted)
{
	return noted->sum[0] && strcmp(noted->sum, "-") != 0;
}

/* Where there is no repository it is the user who edits the settings. */
bool known_is_changed(const struct known *noted, const char *path)
{
	char sum[TRACKED_SUM + 1];

	if (noted->how == KNOWN_TRACKED || !tracked_may_be(path))
		return false;
	if (!has_sum(noted))
		return noted->sum[0] && tracked_look(path) != TRACKED_NOTHING;
	known_take_sum(noted->how, path, sum);
	return strcmp(sum, noted->sum) != 0;
}

bool known_wants_sum(const struct known *noted, const char *path)
{
	char sum[TRACKED_SUM + 1];

	if (noted->how == KNOWN_TRACKED)
		return false;
	if (!has_sum(noted))
		return true;
	if (tracked_may_be(path))
		return false;
	known_take_sum(noted->how, path, sum);
	return strcmp(sum, noted->sum) != 0;
}
