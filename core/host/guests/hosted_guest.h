/*
 * hosted_guest - a guest as its host knows it: its control and relay connections.
 *
 * It dials both until they answer with the workspace's id, again and again
 * with growing pauses, until it is closed.  Their messages are
 * in hosted_push.c (relay), hosted_daemon.c and hosted_ask.c (control).
 */
#ifndef CORE_HOST_GUESTS_HOSTED_GUEST_H
#define CORE_HOST_GUESTS_HOSTED_GUEST_H

#include "core/host/guests/guest_conn.h"
#include "core/host/queue.h"
#include "core/host/log.h"

struct host;
struct host_event_row;

enum { FUTILE_FIRST_MS = 1000, FUTILE_MOST_MS = 30000 };

/* Begins zeroed: no pause. */
struct futile {
	int64_t until; /* the pause's end */
	int64_t ms; /* its length; 0: the last try brought something */
};

/* Pushes: see hosted_push.c. */
struct pushing {
	bool reading; /* a page is under way, from its reading to its mark */
	bool again; /* look once more when this is done */
	bool stale; /* the page was read for a guest that has gone since */
	bool anew; /* another guest than before: all again, from `after` */
	bool no_texts; /* the guest has no room for messages, until `retry_at` */
	bool no_work; /* ... for assignments */
	bool tight; /* a single message asks then whether there is room again */
	int64_t after;
	struct job *page; /* whose rows are being told */
	struct job *mark; /* the page's messages that the guest took or refused */
	size_t open; /* of them without an answer */
	int64_t retry_at; /* 0: none */
	struct futile futile; /* after pages without a taken delivery */
};

/* State of the guest's command daemon as the host knows it: see hosted_daemon.c. */
struct daemon {
	int64_t heard_at; /* last heartbeat */
	uint64_t beat_hash; /* of what runs, as last written down */
	bool known; /* a heartbeat since the guest is up */
	bool works, offline;
	int under_way; /* heartbeats that are being stored */
	struct job *newer; /* the newest heartbeat, not being stored yet */
	bool polling, poll_again;
	bool told; /* it has said since that there are results */
	struct collect *collect; /* results that are being stored, or were */
	struct futile futile; /* after pages without a stored result */
};

struct hosted_guest {
	struct host *host;
	struct hosted_guest *next, **at;
	int64_t workspace, team, agent; /* rows; agent 0: none */
	char id[40]; /* the workspace's */
	struct link_address address;
	char token[256]; /* "" where the transport needs none */
	/* The workspace's agent and the agent's token. */
	char team_name[72], agent_name[72], agent_token[72];
	struct uplink *uplink; /* NULL: it has not asked for anything */
	struct link_ear *ear; /* listener that its machine dials; NULL: none */
	char trouble[256]; /* why it was not reached, as last logged */
	char boot_id[72]; /* of the guest that answers */
	char boot_told[72]; /* of the guest that was told last */
	/* The spool of the guest that answers; before that, of the row.  "": none. */
	char spool[72];
	int64_t spool_seq; /* as last heard; -1: it does not say */
	bool respooled; /* the row is to hear of it before the guest is told anything */
	struct guest_conn control, relay;
	int64_t dial_at, pause_ms;
	char http[80]; /* the guest's address of its door for teammates; "": none */
	char ip[48]; /* of a VM; "": not known */
	int64_t pid; /* of the process at the other end; 0: not known */
	bool up, closing;
	/* Halting: see guest_conn.c. */
	bool halt; /* its commands are to stand still */
	bool halted; /* the guest said that commands stand still */
	bool halt_said; /* `halted` of the host's last Hello */
	bool knows_halt, halting, halt_noting;
	bool knows_turns; /* it takes TurnStart */
	int64_t halt_since; /* while it is halted */
	bool old; /* it speaks, or is tried in, the older dialect: see guest_conn.c */
	int kept; /* handles and jobs that will still use it */
	struct log_pause wrong, lost, stray, refused; /* answers, results, pushes */
	struct pushing push;
	struct daemon daemon;
};

struct guest_wanted {
	int64_t workspace, team, agent;
	int64_t spool_seq;
	const char *id, *address, *token, *boot_told, *spool;
	const char *team_name, *agent_name, *agent_token;
	const char *ip; /* of a VM; may be NULL */
	bool halt;
};

/* All guests of the host. */
struct guests {
	struct hosted_guest *first;
	struct chain
		unlinked; /* calls that wait for the link to their guest: hosted_ask.c's */
	struct link_ear *vm_ear; /* listener that all VMs dial; NULL: none */
	size_t n_linked; /* guests that answer */
};

/* Begins to hold a guest; NULL when its address is invalid. */
struct hosted_guest *hosted_guest_open(struct host *host, const struct guest_wanted *to,
				       struct fault *f);
void hosted_guest_close(struct hosted_guest *t); /* it frees itself; NULL is fine */
/* Calls from guest_conn.c.  greeted: the guest has answered a Hello or, in the older
 * dialect, a Ping; trouble: it was not reached, for this reason; down: its connections
 * are to go. */
void hosted_guest_greeted(struct guest_conn *conn, const char *boot_id);
/* NULL, -1: the guest does not say. */
void hosted_guest_hear_spool(struct hosted_guest *t, const char *spool, int64_t seq);
void hosted_guest_trouble(struct hosted_guest *t, const struct fault *f);
void hosted_guest_down(struct hosted_guest *t);
/* The same for a guest that breaks the rules: it is dialled again after the
 * longest pause. */
void hosted_guest_punish(struct hosted_guest *t);
/* A pending callback holds its hosted guest: each keep needs one let_go, and the last frees
 * it. */
void hosted_guest_keep(struct hosted_guest *t);
void hosted_guest_let_go(struct hosted_guest *t);
struct hosted_guest *hosted_guest_of(struct host *host, int64_t workspace); /* or NULL */

/* Dials, ends what took too long, calls that wait for a link too; called by the host's
 * tick. */
void hosted_guests_tick(struct host *host);
/* The host, or the machine, stood still for so long. */
void hosted_guests_leap(struct host *host, int64_t ms);

/* Dials at another address from now on: the folder of the sockets may have moved. */
void hosted_guest_move(struct hosted_guest *t, const char *address);
/* Dials soon, and again as if it had begun just now. */
void hosted_guest_hurry(struct hosted_guest *t);
/* Takes the names that the guest's team and agent have now. */
void hosted_guest_rename(struct hosted_guest *t, const char *team, const char *agent);

/* Takes what a workspace's row says: whether its team is stopped, and what was last written
 * down of its guest, which is told where it does otherwise. */
void halt_want(struct hosted_guest *t, bool stopped, bool written);

/* A try brought nothing: a pause begins, which is short again where the last one
 * was over for long. */
void futile_note(struct futile *f, int64_t now);

/* A try brought something. */
void futile_end(struct futile *f);

/* Whether the pause goes on; it does not last long when the clock went back. */
bool futile_waits(const struct futile *f, int64_t now);

#endif
