/*
 * mcp_door_inside - MCP over Streamable HTTP, at /mcp of the host's HTTP door.
 *
 * Clients of revisions up to 2025-11-25 begin a session with `initialize`; its row (session.op)
 * outlives the host.  They may open a stream with GET for what they have subscribed to, and open
 * it again behind the last event that they have.  Requests of 2026-07-28 need no session.
 * Requests with the same token still share a peer, to save the cost of a peer per request.
 *
 * A request is answered as JSON, or as a stream of events if something comes before its answer.
 * Source: modelcontextprotocol.io, the transports of both revisions.
 *
 * Here are peers of MCP over HTTP, and the requests that they are at.
 */
#ifndef CORE_HOST_MCP_MCP_DOOR_INSIDE_H
#define CORE_HOST_MCP_MCP_DOOR_INSIDE_H

#include "core/host/web/web.h"
#include "mcp/mcp.h"

enum { MCP_BUCKETS = 256 };

/* The host's. */
struct mcp_door {
	struct mcp_peer *peers[MCP_BUCKETS];
	int n_peers;
	uv_timer_t alive; /* runs while there are peers */
};

enum { NAME_SIZE = 65 }; /* SHA-256 in hex, NUL included */

/* How a client wants its tools. */
struct mcp_wants {
	const char *toolsets; /* NULL: as mcp_options has it */
	bool structured;
};

/* --- mcp_peer.c ------------------------------------------------------------------------ */

struct peer_call;
struct exchange;

struct mcp_peer {
	struct mcp_peer *next; /* in its bucket */
	struct host *host;
	struct mcp *mcp;
	uv_timer_t timer; /* for mcp_step() */
	char name[NAME_SIZE]; /* SHA-256 of the session's id, or of token and wants */
	char proof[NAME_SIZE]; /* SHA-256 of the token; "" at the Unix socket */
	bool has_session, structured;
	bool kept; /* it has a row ... */
	unsigned changes_kept; /* ... of when it had so many changes ... */
	uint64_t kept_at; /* ... and this loop time */
	int keeping; /* rows that are being written */
	struct identity who;
	char *bearer, *toolsets, *team, *agent; /* owned */
	uint64_t checked; /* loop time at which its token was found good */
	uint64_t used; /* loop time */
	uint64_t requests; /* that came until now */
	struct exchange *exchanges;
	struct exchange *listener; /* the stream for notifications, or NULL */
	struct peer_call *calls;
};

/* Writes the SHA-256 of a text in hex. */
void mcp_name(const char *text, char out[NAME_SIZE]);
/* The peer of that name, or NULL. */
struct mcp_peer *peer_find(struct host *host, const char *name);
/* Makes a peer for the caller `who`, whose texts are copied: NULL and a fault if there are too
 * many, or a toolset is unknown. */
struct mcp_peer *peer_new(struct host *host, const char *name, const char *proof,
			  const struct identity *who, bool session,
			  const struct mcp_wants *wants, struct fault *f);
/* Ends a peer with all that is under way. */
void peer_end(struct mcp_peer *p);
/* Has mcp_step() called when that is due; `now`: in this turn of the loop. */
void peer_rouse(struct mcp_peer *p, bool now);
/* Writes the row of a session: of one that `begins`, or that has changed since, or is in use still.
 * Whether the answer that is due now says something that is so only once the row is written: then
 * exchanges_release() comes behind it. */
bool peer_keep(struct mcp_peer *p, bool begins);

extern const struct client_way peer_way; /* way_arg: the peer */

/* --- exchanges ------------------------------------------------------------------------- */

/* A request of HTTP at a peer, from when it is understood until its answer is out. */
struct exchange {
	struct exchange *next, **at; /* in peer->exchanges */
	struct mcp_peer *peer;
	struct http *
		x; /* its `owner` and `gone` are the exchange's; NULL: the client is gone, or
			   answered */
	char id[NAME_SIZE]; /* of the session that it begins, or "" */
	struct text held; /* the answer, until a row says what it says */
	bool flows; /* it is answered as a stream */
	bool taking; /* mcp_take() is reading it */
	bool over; /* it was answered meanwhile */
};

struct exchange *exchange_new(struct mcp_peer *p, struct http *x);
void exchange_end(struct exchange *e);
/* Makes the exchange the peer's stream for notifications; one that was is ended. */
void exchange_listen(struct exchange *e, const char *place);
/* Answers what needs none: a notification, or an answer. */
void exchange_accept(struct exchange *e);

#endif
