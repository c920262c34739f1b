/*
 * feed - the event log of one team, read by a call that waits; all watches of
 * the team share it.
 *
 * A feed opens by asking where the log ends.  Then one call after another waits
 * for what comes and gives it to the watches.
 */
#ifndef MCP_FEED_H
#define MCP_FEED_H

#include "mcp/mcp_peer.h"

enum feed_state {
	FEED_OPENING, /* nobody knows yet where the log ends */
	FEED_LIVE,
	FEED_BROKEN, /* the team is not there, or not for this caller, or it
			could not be opened */
};

struct mcp_feed {
	struct mcp_feed *next;
	struct mcp *mcp;
	enum feed_state state;
	char team[65]; /* "": events of all teams that the caller sees */
	int64_t after;
	int64_t number; /* of the call under way */
	bool busy;
	int64_t due; /* when to call next */
	struct fault fault; /* why it is broken */
};

/* The feed of a team that is not broken, made if there is none; it goes by
 * itself when no watch uses it. */
struct mcp_feed *feed_get(struct mcp *m, const char *team);
void feeds_run(struct mcp *m, int64_t now); /* starts the calls that are due */
void feeds_release(struct mcp *m);

/* subscription.c: gives events, borrowed, to the watches of a feed.  NULL: events were
 * missed, so that anything may have changed. */
void subscriptions_tell(struct mcp_feed *feed, json_t *events);
/* Whether a watch uses the feed. */
bool subscriptions_use(const struct mcp_feed *feed);

#endif
