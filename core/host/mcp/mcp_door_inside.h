/*
 * mcp_door_inside - MCP over Streamable HTTP, at /mcp of the host's HTTP door.
 *
 * Clients of MCP revisions up to 2025-11-25 begin a session with `initialize`. The row of an
 * MCP session (session.op) remains after the host's end. A client with a session may use GET to
 * open a stream of notifications. A client that opens its stream again gets the events after
 * the last event that it received. Requests of MCP revision 2026-07-28 need no session.
 * Requests without a session share a peer if their tokens and options are equal, which costs
 * less than a peer per request.
 *
 * The answer to a request is JSON. If other messages are sent before the answer, the answer is
 * the last event of a stream. Source: modelcontextprotocol.io, the pages about transports of
 * the revisions 2025-11-25 and 2026-07-28.
 *
 * This file declares the peers of MCP over HTTP, and the requests that the peers have not
 * answered yet.
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
	uv_timer_t alive; /* ticks while the host has any peer */
};

enum { NAME_SIZE = 65 }; /* SHA-256 in hex, NUL included */

/* Options of a client, which select its tools. */
struct mcp_wants {
	const char *toolsets; /* NULL: the default toolsets */
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
	char name[NAME_SIZE]; /* SHA-256 of the session's id, or of token and options */
	char proof[NAME_SIZE]; /* SHA-256 of the token; "" at the Unix socket */
	bool has_session, structured;
	bool kept; /* the session has a row */
	unsigned changes_kept; /* mcp_changes() when the row was last written */
	uint64_t kept_at; /* loop time when the row was last written */
	int keeping; /* number of writes of the row that are under way */
	struct identity who;
	char *bearer, *toolsets, *team, *agent; /* owned texts, which `who` and `mcp`
						   use */
	uint64_t checked; /* loop time when the token was last found valid; 0: not
			     valid */
	uint64_t used; /* loop time of the last request */
	uint64_t requests; /* number of requests and answers so far */
	struct exchange *exchanges;
	struct exchange *listener; /* the stream for notifications, or NULL */
	struct peer_call *calls;
};

/* Writes the SHA-256 of a text in hex. */
void mcp_name(const char *text, char out[NAME_SIZE]);
/* The peer with the name `name`; NULL: no peer has this name. */
struct mcp_peer *peer_find(struct host *host, const char *name);
/* Makes a peer for the caller `who`. The texts of `who` are copied. Returns NULL and sets `f`
 * if the host has too many peers, or if a toolset is unknown. */
struct mcp_peer *peer_new(struct host *host, const char *name, const char *proof,
			  const struct identity *who, bool session,
			  const struct mcp_wants *wants, struct fault *f);
/* Ends a peer and all its requests. */
void peer_end(struct mcp_peer *p);
/* Sets the timer that calls mcp_step(). `now`: the timer calls mcp_step() without delay. */
void peer_rouse(struct mcp_peer *p, bool now);
/* Writes the row of a session if the session `begins`, if the session has changed, or if the
 * row was last written an hour ago or earlier. Returns true if the answer to a request has to
 * wait until the row of a new or changed session is written. exchanges_release() sends an
 * answer that waits. */
bool peer_keep(struct mcp_peer *p, bool begins);

extern const struct client_way peer_way; /* how peers make calls; way_arg: the peer */

/* --- exchanges ------------------------------------------------------------------------- */

/* An HTTP request that a peer has taken and not answered yet. */
struct exchange {
	struct exchange *next, **at; /* in peer->exchanges */
	struct mcp_peer *peer;
	/* The HTTP request. exchange_new() sets the members `owner` and `gone` of the request.
	 * NULL: the client is gone or has received its answer. */
	struct http *x;
	char id[NAME_SIZE]; /* id of the session that the request begins, or "" */
	struct text held; /* the answer, while it waits for the session's row */
	bool flows; /* the answer is a stream */
	bool taking; /* mcp_take() is reading the request */
	bool over; /* the answer was sent during mcp_take() */
};

struct exchange *exchange_new(struct mcp_peer *p, struct http *x);
void exchange_end(struct exchange *e);
/* Makes `e` the peer's stream for notifications, and ends the peer's former stream. `place`:
 * the last event that the client received; NULL: the client names no event. */
void exchange_listen(struct exchange *e, const char *place);
/* Accepts (with 202) a message that needs no answer, such as a notification or an answer of the
 * client. */
void exchange_accept(struct exchange *e);

#endif
