/*
 * message - sends messages. Other parts of core/ send their messages by these functions.
 */
#ifndef CORE_MESSAGE_MESSAGE_H
#define CORE_MESSAGE_MESSAGE_H

#include "core/access/who.h"
#include "core/event/event.h"

/* A message that is to be stored. Its texts are borrowed. */
struct draft {
	int64_t sender; /* agent */
	const char *content, *type, *thread, *metadata;
	int64_t reply_to; /* the message that is answered, or 0 */
	int64_t priority; /* enum priority */
	int64_t expires_at; /* time of expiry; 0: the message never expires */
	int64_t chain; /* see core/turn/chain.h; 0: the chain of the caller */
	bool ack_required, to_all;
	bool abroad; /* an agent of another team receives the message */
	bool said; /* an agent sends the message: core/access/pair.h may limit its pace */
	bool paced; /* the pace applies as if the message started a turn */
	bool delays; /* a message that is too soon is delayed, not refused */
	struct skips *skips; /* gets the receivers that are skipped because the message is
				too soon, and the reached receivers. NULL: a message that
				is too soon is refused */
	struct drops *drops; /* gets the copies that were dropped to make room for this
				message; NULL: the caller needs no list */
};

/* An older copy that a full inbox dropped to make room for a new message. */
struct drop {
	int64_t message, agent;
};

/* Dropped copies in the order in which they were dropped. The array is in the call's arena. */
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

/* Stores a message, but no copies for its recipients. Returns the row number of the message, or
 * a negative fault. */
int64_t message_store(struct call *call, const struct draft *d);

/* Stores one recipient's copy, and keeps the recipient's inbox within its capacity. Returns 0
 * if the copy was added and no other copy was dropped. Returns 1 if the inbox was full, or if
 * the copy was delayed or skipped. Returns a negative number after a fault. */
int message_deliver(struct call *call, int64_t message, const struct draft *d,
		    const struct agent_row *to);

/* Stores a copy for every living member except the member `except`, as message_deliver() does
 * for one recipient. If `except` is 0, no member is left out. Usually each step is one SQL
 * statement, whatever the size of the team. */
int message_deliver_all(struct call *call, int64_t message, const struct draft *d,
			int64_t except);

/* Puts delayed copies that are due into the inboxes of their recipients, at most `most` copies.
 * If `agent` is not 0, handles only copies for `agent`. Returns the number of copies, or a
 * negative fault. */
int message_delayed_come(struct call *call, int64_t agent, int64_t most);
/* Turns all delayed messages to the agent `agent`, and to all agents of the team `team`, into
 * queued deliveries. An `agent` or `team` of 0 names nobody. After this step, all messages to
 * these agents are deliveries, and the caller can end all of them in the same way. The caller
 * updates the counters and writes the events of these deliveries. */
int message_delayed_give_up(struct call *call, int64_t agent, int64_t team);

/* Finds the message of the call's team that `text` names: by `#102` or `102`, by its id or by
 * the beginning of its id. Returns 1 if the message was found, 0 if there is no such message,
 * or a fault at `where`. */
int message_named(struct call *call, const char *text, const char *where,
		  struct message_head_row *m);
/* Whether a text has the form `#102`. No other name of a message has this form. */
bool message_is_number(const char *text);
/* Does the same as message_named(), but fails with not_found at `where` if the message does not
 * exist. Returns 0 or a negative fault. */
int message_find(struct call *call, const char *id, const char *where,
		 struct message_head_row *m);
/* Fails with not_found at `where`: no message has the name `id`. */
int message_none(struct call *call, const char *id, const char *where);

/* A page of the recipients of a message, sorted by name. */
struct delivery_page {
	int64_t message;
	const char *after; /* the page begins after this name; NULL: the page begins at
			      the first name */
	int64_t limit;
	const struct drops
		*drops; /* each dropped copy is shown at the recipient whose inbox dropped
			   the copy; may be NULL */
};

/* Finds the delivery of a message to each recipient of the page. Fills `*out`, in the call's
 * arena, and `*n`. Returns 0 or a negative fault. */
int message_deliveries(struct call *call, const struct delivery_page *page,
		       struct delivery **out, size_t *n);

/* Removes a copy from its recipient's inbox. Sets the copy's state to `state`, counts the inbox
 * anew, and writes the event. */
int delivery_leave(struct call *call, const struct inbox_lapsed_row *d, int64_t state);

/* Finds the leases and messages in the inbox of `agent` whose time has run out, and stores
 * their ends. Returns the number of deliveries that changed. */
int inbox_settle(struct call *call, int64_t agent);

/* Puts all messages that an agent holds into the agent's inbox again, because the agent's
 * generation has ended. */
int inbox_unlease(struct call *call, int64_t agent);

/* Stores the end of a lease that ran out, or of a message whose time to live has passed. */
int delivery_expire(struct call *call, const struct inbox_lapsed_row *d);

struct copies {
	const char *to; /* the recipients as lists show them; `*`: the whole team */
	int64_t read; /* READ_MARK_… */
	int64_t n, acked; /* recipients, at most 100 are counted */
};

/* Finds the recipients of a message, and how far they have read the message. `all`: the message
 * went to the whole team. Returns 1, 0 if the message has no copies, or a fault code. */
int message_copies(struct call *call, int64_t message, bool all, struct copies *out);

#endif
