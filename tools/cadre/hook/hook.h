/*
 * hook - declarations that the files of `cadre hook` and `cadre prime` share.
 *
 * Read the files in this order: hook_event.c (the input from a client, the output for each
 * client), hook.c (the place where a client's session began, the texts for a model, git's own
 * hook, the verbs), plugin.c.
 */
#ifndef TOOLS_CADRE_HOOK_HOOK_H
#define TOOLS_CADRE_HOOK_HOOK_H

#include "tools/cadre/cli.h"

/* Parts of what a client says on standard input; "" where it does not. */
struct hook_event {
	char name[64];
	char cwd[4096];
	char tool[256];
	char session[128]; /* of the client */
	json_t *paths; /* files that the tool is about to touch */
	char inner[64]; /* id of the agent within the client that it happened in */
};

/* Reads an event to its end, of which only these parts are kept: 0, or a fault where it is no
 * JSON object, too large, or does not end in time. */
int event_read(int fd, struct hook_event *out, struct fault *f);
void event_release(struct hook_event *e);

/* The thing to do at an event. */
enum hook_kind {
	HOOK_START, /* the agent's identity, and all news */
	HOOK_ALL, /* all news */
	HOOK_URGENT, /* urgent news */
	HOOK_NUDGE, /* that something urgent waits: another event shows it */
	HOOK_TOOL, /* a tool is about to run: not in a stopped team, and not to write what
		      another agent has reserved */
	HOOK_END, /* nothing, but the place where the session began is forgotten */
};

struct hook_rule {
	const char *event; /* NULL ends a table */
	enum hook_kind kind;
	/* JSON that the client takes: $ stands for the text, @ for the event's name. */
	const char *form;
};

struct hook_client {
	const char *name, *also;
	const struct hook_rule *rules;
	const char *const
		*writers; /* tools that write files in their arguments; ends with NULL */
	int64_t tokens; /* the most that the client passes on; 0: nobody has said */
};

extern const struct hook_client hook_clients[]; /* ends with a NULL name */

/* Appends a form that is filled in, and a newline. */
void hook_form_fill(struct text *out, const struct hook_rule *rule, const char *text);

extern const char plugin_opencode[];

/* A client waits for its hooks: a host that is silent so long is passed over, and after that time
 * a hook ends. */
enum { HOOK_HURRY_MS = 400, HOOK_MOST_MS = 1000 };

enum {
	HOOK_PATHS = 64, /* that message.news takes at once */
	HOOK_FILES = 1024, /* that are kept of an event */
};

#endif
