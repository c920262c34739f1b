/*
 * hosted_guest - a guest as its host knows it: its control and relay connections.
 *
 * The host dials both connections, with growing pauses, until the guest answers with the
 * workspace's id. The host dials lost connections again, until hosted_guest_close() is called.
 * hosted_push.c handles the messages of the relay connection. hosted_daemon.c and hosted_ask.c
 * handle the messages of the control connection.
 */
#ifndef CORE_HOST_GUESTS_HOSTED_GUEST_H
#define CORE_HOST_GUESTS_HOSTED_GUEST_H

#include "core/host/guests/guest_conn.h"
#include "core/host/queue.h"
#include "core/host/log.h"

struct host;
struct host_event_row;

enum { FUTILE_FIRST_MS = 1000, FUTILE_MOST_MS = 30000 };

/* A pause after a failed try; zeroed: there is no pause. */
struct futile {
	int64_t until; /* the pause's end */
	int64_t ms; /* the pause's length; 0: the last try succeeded */
};

/* State of the pushes to a guest: see hosted_push.c. */
struct pushing {
	bool reading; /* a page is being read, sent or marked as notified */
	bool again; /* read the next page when this page has ended */
	bool stale; /* the page was read for an earlier run of the guest */
	bool anew; /* the guest is new: send all deliveries behind `after` again */
	bool no_texts; /* the guest has no room for messages, until `retry_at` */
	bool no_work; /* the guest has no room for assignments, until `retry_at` */
	bool tight; /* the next page has only one message, to test whether there is
		       room */
	int64_t after;
	struct job *page; /* the page that is being sent */
	struct job *mark; /* lists the page's messages that were taken or refused */
	size_t open; /* pushes of the page that are not answered yet */
	int64_t retry_at; /* time of the next try; 0: not set */
	struct futile futile; /* pauses after pages of which the guest took no delivery */
};

/* State of the guest's command daemon as the host knows it: see hosted_daemon.c. */
struct daemon {
	int64_t heard_at; /* time of the last heartbeat */
	uint64_t beat_hash; /* hash of the last stored heartbeat */
	bool known; /* a heartbeat has arrived since the last greeting */
	bool works, offline;
	int under_way; /* heartbeats that are being stored */
	struct job *newer; /* newest heartbeat, which waits to be stored */
	bool polling, poll_again;
	bool told; /* the guest has reported results since the last page was asked for */
	struct collect *collect; /* page of results that is not acknowledged yet */
	struct futile futile; /* pauses after pages of which no result was stored */
};

struct hosted_guest {
	struct host *host;
	struct hosted_guest *next, **at;
	int64_t workspace, team, agent; /* row numbers; agent 0: the workspace has no
					   agent */
	char id[40]; /* id of the workspace */
	struct link_address address;
	char token[256]; /* "": the transport needs no token */
	/* The workspace's agent and the agent's token. */
	char team_name[72], agent_name[72], agent_token[72];
	struct uplink *uplink; /* NULL: the guest has sent no request */
	struct link_ear *ear; /* listener for the guest's machine; may be NULL */
	char trouble[256]; /* last logged reason why the guest could not be reached */
	char boot_id[72]; /* boot id of the guest that answers */
	char boot_told[72]; /* boot id of the last guest that got all waiting
			       deliveries */
	/* Id of the guest's spool. The id is first read from the workspace's row, and then from
	 * the Hello with which the guest answers. "": there is no spool. */
	char spool[72];
	int64_t spool_seq; /* last sequence number that the guest reported; -1: not
			      reported */
	bool respooled; /* the spool's id or the guest is new; the spool's id has to be
			   stored before any push */
	struct guest_conn control, relay;
	int64_t dial_at, pause_ms;
	char http[80]; /* address of the guest's door for teammates; "": no door */
	char ip[48]; /* address of a VM; "": not known */
	int64_t pid; /* process at the other end of the control connection; 0: not
			known */
	bool up, closing;
	/* Halting: see guest_conn.c. */
	bool halt; /* the guest's commands have to be halted */
	bool halted; /* the guest reported that its commands are halted */
	bool halt_said; /* the host's last Hello had `halted` */
	bool knows_halt, halting, halt_noting;
	bool knows_turns; /* the guest takes TurnStart */
	int64_t halt_since; /* if `halted`: time when the commands were halted */
	bool old; /* the guest speaks the older dialect: see guest_conn.c */
	int kept; /* number of callbacks that still need this struct */
	struct log_pause wrong, lost, stray, refused; /* used by log_seldom() */
	struct pushing push;
	struct daemon daemon;
};

struct guest_wanted {
	int64_t workspace, team, agent;
	int64_t spool_seq;
	const char *id, *address, *token, *boot_told, *spool;
	const char *team_name, *agent_name, *agent_token;
	const char *ip; /* address of a VM; may be NULL */
	bool halt;
};

/* All guests of the host. */
struct guests {
	struct hosted_guest *first;
	struct chain unlinked; /* calls that wait for a link: see hosted_ask.c */
	struct link_ear *vm_ear; /* listener for all VMs; may be NULL */
	size_t n_linked; /* number of guests that answer */
};

/* Starts to dial a guest. Returns NULL if the guest's address is invalid. */
struct hosted_guest *hosted_guest_open(struct host *host, const struct guest_wanted *to,
				       struct fault *f);
void hosted_guest_close(struct hosted_guest *t); /* frees `t` later; `t` may be NULL */
/* guest_conn.c calls the three functions that this comment names. hosted_guest_greeted(): the
 * guest has answered a Hello or, in the older dialect, a Ping. hosted_guest_trouble(): `f` says
 * why the guest could not be reached. hosted_guest_down(): the guest's connections have to be
 * closed. */
void hosted_guest_greeted(struct guest_conn *conn, const char *boot_id);
/* Takes the id and the sequence number of the spool from the guest's Hello. NULL: the Hello has
 * no spool id. -1: the Hello has no sequence number. */
void hosted_guest_hear_spool(struct hosted_guest *t, const char *spool, int64_t seq);
void hosted_guest_trouble(struct hosted_guest *t, const struct fault *f);
void hosted_guest_down(struct hosted_guest *t);
/* Closes the connections of a guest that breaks the rules. The host dials the guest again after
 * the longest pause. */
void hosted_guest_punish(struct hosted_guest *t);
/* A pending callback keeps its hosted guest in memory. Each hosted_guest_keep() needs one
 * hosted_guest_let_go(). The last hosted_guest_let_go() of a closed guest frees the guest. */
void hosted_guest_keep(struct hosted_guest *t);
void hosted_guest_let_go(struct hosted_guest *t);
struct hosted_guest *hosted_guest_of(struct host *host, int64_t workspace); /* or NULL */

/* Called by the host's tick. Dials guests that are not connected. Ends requests that took too
 * long, and calls that waited too long for a link. */
void hosted_guests_tick(struct host *host);
/* Moves the deadlines of all guests by `ms`, the time for which the host or the machine stood
 * still. */
void hosted_guests_leap(struct host *host, int64_t ms);

/* Changes the address that the host dials from now on, since the folder of the sockets may have
 * moved. */
void hosted_guest_move(struct hosted_guest *t, const char *address);
/* Dials the guest soon, and makes the pauses between tries short again. */
void hosted_guest_hurry(struct hosted_guest *t);
/* Sets the names of the guest's team and agent, which may have been renamed. */
void hosted_guest_rename(struct hosted_guest *t, const char *team, const char *agent);

/* `stopped`: the workspace's team is stopped. If the team is stopped and the guest's commands
 * are not halted, or the reverse, the host sends the guest a Halt. `written`: the workspace's
 * row says that the guest's commands are halted. If the row is wrong, the host corrects the
 * row. */
void halt_want(struct hosted_guest *t, bool stopped, bool written);

/* A try failed: begins a pause. The pause is short if the last pause ended long ago. */
void futile_note(struct futile *f, int64_t now);

/* A try succeeded: ends the pause. */
void futile_end(struct futile *f);

/* Whether the pause lasts at `now`. Even if the clock was set back, the pause is not longer
 * than FUTILE_MOST_MS. */
bool futile_waits(const struct futile *f, int64_t now);

#endif
