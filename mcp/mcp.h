/*
 * mcp - the Model Context Protocol for one peer, without a transport.
 *
 * Messages go in through mcp_handle() and come out through options.send; the
 * transport owns the bytes in between and a `stream`, a value of its own that
 * comes back with whatever belongs to the request it brought (NULL for what
 * belongs to none).  Both eras are served side by side: `initialize` makes the
 * peer a legacy one, a request whose _meta names a protocol version is modern
 * and needs no state.
 *
 * The state is opened when the first request needs it, so that a client that
 * only looks at the tools has its answer at once.  One thread; the transport
 * polls mcp_fd() for input and calls mcp_step() then and when mcp_timeout() is
 * over.
 *
 * To read: peer.h (a request's life), mcp.c (the methods), legacy.c and
 * modern.c (what differs), then one file per kind of thing that is offered.
 */
#ifndef MCP_MCP_H
#define MCP_MCP_H

#include "core/home/home.h"

struct mcp;

struct mcp_options {
	struct home *home; /* borrowed for the peer's life */
	const char *toolsets; /* "core,workspace" or "all"; NULL: core */
	bool output_schemas; /* list what tools answer, too */
	bool direct; /* never use the host */
	bool acts_as_operator; /* who has no identity is the operator, and not nobody */
	/* Takes one whole message, newline included. */
	void (*send)(void *arg, void *stream, const char *message, size_t len);
	void *arg;
};

/* Makes a peer; texts of `o` are borrowed for its life.  0, or a fault if a toolset is
 * unknown. */
int mcp_open(struct mcp **out, const struct mcp_options *o, struct fault *f);
/* Ends all requests without an answer, and frees the peer; NULL is fine. */
void mcp_close(struct mcp *m);

/* Handles a message, or a batch of them, of `len` bytes of JSON.  Answers come now or
 * later, by options.send. */
void mcp_handle(struct mcp *m, const char *message, size_t len, void *stream);
/* mcp_handle() for a message before which the client had sent `at` bytes. */
void mcp_handle_at(struct mcp *m, const char *message, size_t len, uint64_t at);
/* Says that a message was longer than the transport takes. */
void mcp_refuse_long(struct mcp *m, void *stream);

/* Takes note that all messages sent so far were written whole (`arrived`), or cannot be,
 * since their reader is gone.  The client had sent `sent` bytes before they were
 * written: a request among those says nothing of these answers. */
void mcp_wrote(struct mcp *m, bool arrived, uint64_t sent);

/* Whether there are answers that were written, and that the client may not have read. */
bool mcp_has_unread(const struct mcp *m);
/* Takes note that the client has read all that was written, and has sent `sent` bytes
 * until then: whatever it sends behind those, it has its answers. */
void mcp_was_read(struct mcp *m, uint64_t sent);

/* Takes note that there is no more input: ends subscriptions and waits.  mcp_idle()
 * tells when all that was read is answered. */
void mcp_end(struct mcp *m);
bool mcp_idle(const struct mcp *m);
/* Whether so much is under way that reading more should wait. */
bool mcp_full(const struct mcp *m);

int mcp_fd(const struct mcp *m); /* -1: nothing to poll yet */
int mcp_timeout(const struct mcp *m); /* ms until mcp_step() is due; -1: never */
/* Does what is due: input of mcp_fd(), progress, leases, subscriptions. */
void mcp_step(struct mcp *m);

/* `cadre mcp`: serves stdin and stdout to the end of input.  Returns the exit status. */
int mcp_main(int argc, char **argv, struct home *home);

#endif
