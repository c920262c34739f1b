/*
 * agent - the members of a team, their cards and generations.
 */
#ifndef CORE_AGENT_AGENT_H
#define CORE_AGENT_AGENT_H

#include "core/event/event.h"
#include "ops.gen.h"

/* An agent to add; agent_add() fills `id`. */
struct newcomer {
	const char *name; /* NULL: a name is picked and stored here */
	const char *role; /* NULL: the role is the agent's name */
	const char *description, *project;
	const char **skills;
	size_t n_skills;
	bool is_operator; /* the operator's place, which is not a member */
	bool nests; /* the agent may make teams below the agent's own team */
	int64_t holder; /* the holder of this place, an agent of the team above; 0: no
			   holder */
	int64_t id;
};

/* Adds an agent to the call's team, and makes the agent's token. Returns 0 or a fault at
 * `where`. */
int agent_add(struct call *call, struct newcomer *n, const char *where);

/* Begins the next generation of each lead's place that an agent holds in a lower team. This
 * includes each lead's place that the agent holds through another lead's place. This function
 * is called when a generation of the agent begins, or when a lead's place gets another holder.
 * So the earlier holder no longer leads the lower team. Returns 0 or negative. */
int agent_renew_seats(struct call *call, int64_t agent);

/* Whether the caller's token was made for a client of an agent. A caller with a client's token
 * gets no other token, because the other token would outlive the client's token. */
bool agent_is_client(const struct call *call);
/* The token of an agent's present generation, in the call's arena. */
const char *agent_token(struct call *call, const struct agent_row *a);

/* Changes an agent's card, and tells the teammates if in->notify is set. The caller is the
 * agent or leads the agent. Returns 0 or negative. `*was` gets the agent's former name; `was`
 * may be NULL. */
int agent_change(struct call *call, const struct agent_update_in *in, const char **was);

/* Fills an agent's card from the agent's rows, as far as the answer has room. The texts are in
 * the call's arena. */
int card_tell(struct call *call, const struct agent_row *a, struct card *card);
/* Fills the whole card of an agent, even if the answer has no room for the card. */
int card_tell_whole(struct call *call, const struct agent_row *a, struct card *card);
/* The names of the fields in which two cards differ, such as "description, skills"; "" if the
 * cards do not differ. */
const char *card_differences(struct call *call, const struct card *a,
			     const struct card *b);
/* The endpoints of an agent. `http` is borrowed. `cid` is the context id of the agent's VM,
 * which the host knows. If `cid` is 0, the context id is read from `address`. `address` is the
 * address of a guest that no host started, or NULL. */
struct endpoints card_endpoints(const char *http, int64_t cid, const char *address);

/* The status of an agent in answers. An agent that holds a task is shown as working, even if
 * its row says `ready` or `idle`. */
enum agent_status agent_status_now(int64_t status, bool holds);

/* Appends to `*doing` (NULL: nothing yet) what the member `only` does, and when the member was
 * last seen. If `only` is NULL, appends this for the first members that hold a task, without
 * the caller. Returns 0 or negative. */
int agent_tell_doing(struct call *call, const char *only, const char **doing);

/* Stores the status of an agent. runner_rest() may change the status first. If the stored
 * status changes, an event is written in the agent's team. Returns 0 or negative. */
int agent_say_status(struct call *call, const struct agent_row *a, int64_t status);
/* Stores the status `ready` for an agent that is offline and has no workspace. The guest of a
 * workspace reports its agent's status. Returns 0 or negative. */
int agent_come_back(struct call *call, const struct agent_row *a);

/* Whether a name is reserved, so that no agent or team may have it. */
bool agent_reserved(const char *name);

/*
 * Functions that find from rows whether the daemons of agents make progress.
 */

/* Stores that a daemon began or ended a command. A daemon that began or ended a command is not
 * stuck. */
int agent_daemon_moves(struct call *call, const struct assignment_row *x);

/* Stores which daemons are stuck now. For each stuck daemon, one message is sent to the lead of
 * the daemon's team. */
int agent_daemons_settle(struct call *call);

#endif
