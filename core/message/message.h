/*
 * message - sending, and what sending shares with the other nouns.
 */
#ifndef CORE_MESSAGE_MESSAGE_H
#define CORE_MESSAGE_MESSAGE_H

#include "core/access/who.h"
#include "core/event/event.h"

/* A message about to be stored; texts are borrowed. */
struct draft {
	int64_t sender; /* agent */
	const char *content, *type, *thread, *metadata;
	int64_t reply_to; /* message, or 0 */
	int64_t priority; /* enum priority */
	int64_t expires_at; /* 0: never */
	int64_t chain; /* see core/turn/chain.h; 0: that of the caller's words */
	bool ack_required, to_all;
	bool abroad; /* an agent of another team receives the message */
	bool said; /* an agent says it to others, who may keep the pace of pairs... */
	bool paced; /* ...and do as if it started a turn */
	bool delays; /* then: it comes later where it would come too soon */
	struct skips
		*skips; /* or: receivers that would get the message too soon are skipped;
			   skipped and reached receivers are noted; NULL: the message is
			   refused */
	struct drops
		*drops; /* gets the copies that made room for this message; NULL: nobody
				asks */
};

/* A copy of an older message that a full inbox dropped. */
struct drop {
	int64_t message, agent;
};

/* In the order in which they went; rows are in the call's arena. */
struct drops {
	struct drop *rows;
	size_t n;
};

/* Names of recipients that went without a message, and of those that got it; in the call's
 * arena. */
struct skips {
	const char **names, **reached;
	size_t n, n_reached;
};

/* Stores the message itself; returns its row, or a negative fault. */
int64_t message_store(struct call *call, const struct draft *d);

/* Stores one recipient's copy (`lane` as in the table), keeps its inbox within
 * capacity: 1 when the copy is not simply queued: others may have left a full inbox, or it
 * comes later. */
int message_deliver(struct call *call, int64_t message, const struct draft *d,
		    const struct agent_row *to);

/* message_deliver() for every living member but `except` (0: all): each step is a single
 * statement, whatever the size of the team. */
int message_deliver_all(struct call *call, int64_t message, const struct draft *d,
			int64_t except);

/* Puts up to `most` delayed copies that come by now into their inboxes, of `agent` (0: of any):
 * how many. */
int message_delayed_come(struct call *call, int64_t agent, int64_t most);
/* Turns all delayed messages of an agent, or of all agents of a team (0: of no team), into open
 * deliveries, so that the caller can end both at once.  The caller makes the counters and events
 * of these deliveries. */
int message_delayed_give_up(struct call *call, int64_t agent, int64_t team);

/* The message of the call's team that `text` names: by `#102` or `102`, by its id or by the
 * beginning of that.  1, 0 where there is none, or a fault at `where`. */
int message_named(struct call *call, const char *text, const char *where,
		  struct message_head_row *m);
/* Whether a text is `#102`, which can be no other name. */
bool message_is_number(const char *text);
/* message_named() where there has to be one: 0 or not_found at `where`. */
int message_find(struct call *call, const char *id, const char *where,
		 struct message_head_row *m);

/* A page of the recipients of a message, by name. */
struct delivery_page {
	int64_t message;
	const char *after; /* name before the first one; NULL: from the start */
	int64_t limit;
	const struct drops
		*drops; /* told at the recipient whose inbox they left; or NULL */
};

/* The delivery of a message to each recipient of the page: fills `*out` (in the arena) and
 * `*n`; 0 or negative. */
int message_deliveries(struct call *call, const struct delivery_page *page,
		       struct delivery **out, size_t *n);

/* Takes a copy out of the inbox as `state`, with its event and counters. */
int delivery_leave(struct call *call, const struct inbox_lapsed_row *d, int64_t state);

/* Writes down what the clock did to an agent's inbox: how many changed. */
int inbox_settle(struct call *call, int64_t agent);

/* Lets an agent's mail that it holds wait again: its generation is over. */
int inbox_unlease(struct call *call, int64_t agent);

/* A lease that ran out, or a life that is over. */
int delivery_expire(struct call *call, const struct inbox_lapsed_row *d);

#endif
