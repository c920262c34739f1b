/*
 * mcp_door - MCP over Streamable HTTP, at /mcp of the host's HTTP door.
 *
 * Clients of revisions up to 2025-11-25 begin a session with `initialize`; its row (session.op)
 * outlives the host.  They may open a stream with GET for what they have subscribed to, and open
 * it again behind the last event that they have.  Requests of 2026-07-28 need no session.
 * Requests with the same token still share a peer, to save the cost of a peer per request.
 *
 * A request is answered as JSON, or as a stream of events if something comes before its answer.
 * Source: modelcontextprotocol.io, the transports of both revisions.
 */
#ifndef CORE_HOST_MCP_MCP_DOOR_H
#define CORE_HOST_MCP_MCP_DOOR_H

#include <uv.h>

struct host;
struct http;
struct mcp_peer;

enum { MCP_BUCKETS = 256 };

/* The host's. */
struct mcp_door {
	struct mcp_peer *peers[MCP_BUCKETS];
	int n_peers;
	uv_timer_t alive; /* runs while there are peers */
};

/* Begins a request at /mcp: http_service.begin. */
void mcp_door_request(struct http *x);

#endif
