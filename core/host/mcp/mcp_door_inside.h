/*
 * mcp_door_inside - MCP over Streamable HTTP, at /mcp of the host's HTTP door.
 *
 * Clients of revisions up to 2025-11-25 begin a session with `initialize`; the session's row
 * (session.op) outlives the host. These clients may open a stream of notifications with GET.
 * They may open the stream again, and then get the events after the last event that they
 * received. Requests of 2026-07-28 need no session. But requests with the same token share a
 * peer, which costs less than a peer per request.
 *
 * A request is answered as JSON, or as a stream of events if other messages are sent before its
 * answer. Source: modelcontextprotocol.io, the transports of both revisions.
 *
 * This file declares the peers of MCP over HTTP, and their requests under way.
 */
#ifndef CORE_HOST_MCP_MCP_DOOR_INSIDE_H
#define CORE_HOST_MCP_MCP_DOOR_INSIDE_H

#include "core/host/web/web.h"
#include "mcp/mcp.h"

enum { MCP_BUCKETS = 256 };

/* All peers of the host. */
struct mcp_door {
	struct mcp_peer *peers[MCP_BUCKETS];
	int n_peers;
	uv_timer_t alive; /* ticks while there are peers */
};

enum { NAME_SIZE = 65 }; /* SHA-256 in hex, NUL included */

/* Options of a client, which select its tools. */
struct mcp_wants {
	const char *toolsets; /* NULL: the default of mcp_options */
	bool structured;
};

/* --- mcp_peer.c ------------------------------------------------------------------------ */

struct peer_call;
struct exchange;

struct mcp_peer {
	struct mcp_peer *next; /* next peer of the same bucket */
	struct host *host;
	struct mcp *mcp;
	uv_timer_t timer; /* calls mcp_step() */
	char name[NAME_SIZE]; /* SHA-256 of the session's id, or of token and wants */
	char proof[NAME_SIZE]; /* SHA-256 of the token; "" at the Unix socket */
	bool has_session, structured;
	bool kept; /* the session has a row */
	unsigned changes_kept; /* mcp_changes() when the row was last written */
	uint64_t kept_at; /* loop time when the row was last written */
	int keeping; /* writes of the row that are under way */
	struct identity who;
	char *bearer, *toolsets, *team, *agent; /* memory of the texts in `who` */
	uint64_t checked; /* loop time of the last good check of the token; 0: none good */
	uint64_t used; /* loop time of the last request */
	uint64_t requests; /* number of requests so far */
	struct exchange *exchanges;
	struct exchange *listener; /* the stream for notifications, or NULL */
	struct peer_call *calls;
};

/* Writes the SHA-256 of a text in hex. */
void mcp_name(const char *text, char out[NAME_SIZE]);
/* The peer with the name `name`; NULL: no peer has this name. */
struct mcp_peer *peer_find(struct host *host, const char *name);
/* Makes a peer for the caller `who`, whose texts are copied. Returns NULL and a fault if there
 * are too many peers, or if a toolset is unknown. */
struct mcp_peer *peer_new(struct host *host, const char *name, const char *proof,
			  const struct identity *who, bool session,
			  const struct mcp_wants *wants, struct fault *f);
/* Ends a peer and all its requests. */
void peer_end(struct mcp_peer *p);
/* Sets the timer that calls mcp_step(). `now`: mcp_step() is called in this turn of the loop. */
void peer_rouse(struct mcp_peer *p, bool now);
/* Writes the row of a session if the session `begins`, if the session has changed, or if the
 * row's time of use is an hour old. True if the answer has to wait until the row of a new or
 * changed session is written; exchanges_release() then sends the answer. */
bool peer_keep(struct mcp_peer *p, bool begins);

extern const struct client_way peer_way; /* way_arg: the peer */

/* --- exchanges ------------------------------------------------------------------------- */

/* A request of HTTP at a peer, from the time it was read until its answer is sent. */
struct exchange {
	struct exchange *next, **at; /* in peer->exchanges */
	struct mcp_peer *peer;
	/* The HTTP request, whose `owner` and `gone` the exchange sets.  NULL: the client is gone
	 * or has its answer. */
	struct http *x;
	char id[NAME_SIZE]; /* id of the session that the request begins, or "" */
	struct text held; /* the answer, until the session's row is written */
	bool flows; /* the answer is a stream */
	bool taking; /* mcp_take() is reading it */
	bool over; /* the answer was sent during mcp_take() */
};

struct exchange *exchange_new(struct mcp_peer *p, struct http *x);
void exchange_end(struct exchange *e);
/* Makes the exchange the peer's stream for notifications, and ends the former stream. */
void exchange_listen(struct exchange *e, const char *place);
/* Accepts a message that needs no answer, such as a notification or an answer of the client. */
void exchange_accept(struct exchange *e);

#endif
