#include "core/home/known_sum.h"

#include <string.h>

#include "core/home/tracked.h"

/* The sum of a state made here covers its settings alone: if git tracked anything in it,
 * the state would not count anyway. */
void known_take_sum(enum known_how how, const char *path, char sum[TRACKED_SUM + 1])
{
	if (how == KNOWN_TRUSTED)
		tracked_sum(path, sum);
	else
		tracked_sum_settings(path, sum);
}

/* Whether the note has a sum.  An older cadre noted none for a state made here, and "-"
 * for one that was trusted while git tracked nothing in it. */
static bool has_sum(const struct known *noted)
{
	return noted->sum[0] && strcmp(noted->sum, "-") != 0;
}

/* Without a repository, only the user can have edited the settings: such an edit is no
 * change. */
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
