/*
 * message - sends messages, and shares functions of sending with the other nouns.
 */
#ifndef CORE_MESSAGE_MESSAGE_H
#define CORE_MESSAGE_MESSAGE_H

#include "core/access/who.h"
#include "core/event/event.h"

/* A message to be stored; texts are borrowed. */
struct draft {
	int64_t sender; /* agent */
	const char *content, *type, *thread, *metadata;
	int64_t reply_to; /* message, or 0 */
	int64_t priority; /* enum priority */
	int64_t expires_at; /* time of expiry; 0: the message never expires */
	int64_t chain; /* see core/turn/chain.h; 0: the chain of the caller */
	bool ack_required, to_all;
	bool abroad; /* an agent of another team receives the message */
	bool said; /* an agent sends the message, so core/access/pair.h may apply... */
	bool paced; /* ...as if the message started a turn */
	bool delays; /* a message that is too soon is delayed, not refused */
	struct skips *skips; /* receivers for which the message is too soon are skipped; the
			   names of skipped and reached receivers are added. NULL: the
			   message is refused instead */
	struct drops *drops; /* gets the copies that were dropped to make room for this
			   message; NULL: not needed */
};

/* A copy of an older message that a full inbox dropped. */
struct drop {
	int64_t message, agent;
};

/* Dropped copies in the order in which they were dropped. Rows are in the call's arena. */
struct drops {
	struct drop *rows;
	size_t n;
};

/* Names of recipients that were skipped, and of recipients that got the message. The names are
 * in the call's arena. */
struct skips {
	const char **names, **reached;
	size_t n, n_reached;
};

/* Stores the message itself; returns its row, or a negative fault. */
int64_t message_store(struct call *call, const struct draft *d);

/* Stores one recipient's copy (`lane` as in the table), and keeps the recipient's inbox within
 * its capacity. Returns 0, negative, or 1 if the copy is not simply queued: the inbox may have
 * dropped other copies, or the copy is delayed or skipped. */
int message_deliver(struct call *call, int64_t message, const struct draft *d,
		    const struct agent_row *to);

/* Like message_deliver(), for every living member except the member `except` (0: for all
 * members). Each step is a single statement, whatever the size of the team. */
int message_deliver_all(struct call *call, int64_t message, const struct draft *d,
			int64_t except);

/* Puts delayed copies whose time has come into their inboxes, at most `most` copies, only
 * copies for `agent` (0: for any agent). Returns the number of copies. */
int message_delayed_come(struct call *call, int64_t agent, int64_t most);
/* Turns all delayed messages of an agent, or of all agents of a team (0: of no team), into open
 * deliveries. So the caller can end delayed and open deliveries together. The caller updates
 * the counters and writes the events of these deliveries. */
int message_delayed_give_up(struct call *call, int64_t agent, int64_t team);

/* Finds the message of the call's team that `text` names: by `#102` or `102`, by its id or by
 * the beginning of its id. Returns 1 if the message was found, 0 if there is no such message,
 * or a fault at `where`. */
int message_named(struct call *call, const char *text, const char *where,
		  struct message_head_row *m);
/* Whether a text has the form `#102`, which only a message's number can have. */
bool message_is_number(const char *text);
/* Like message_named(), but the message has to exist. Returns 0, or not_found at `where`. */
int message_find(struct call *call, const char *id, const char *where,
		 struct message_head_row *m);

/* A page of the recipients of a message, by name. */
struct delivery_page {
	int64_t message;
	const char *after; /* the page begins after this name; NULL: at the first name */
	int64_t limit;
	const struct drops
		*drops; /* each drop is shown at the recipient whose inbox dropped it;
			   or NULL */
};

/* Finds the delivery of a message to each recipient of the page. Fills `*out` (in the arena)
 * and `*n`; returns 0 or negative. */
int message_deliveries(struct call *call, const struct delivery_page *page,
		       struct delivery **out, size_t *n);

/* Removes a copy from the inbox. The copy gets the state `state`, and its event and counters
 * are written. */
int delivery_leave(struct call *call, const struct inbox_lapsed_row *d, int64_t state);

/* Stores the ends of an agent's leases and messages whose time has run out. Returns the number
 * of changes. */
int inbox_settle(struct call *call, int64_t agent);

/* Makes mail that an agent holds wait again, because the agent's generation has ended. */
int inbox_unlease(struct call *call, int64_t agent);

/* Ends a lease that ran out, or a message whose time to live has passed. */
int delivery_expire(struct call *call, const struct inbox_lapsed_row *d);

#endif
