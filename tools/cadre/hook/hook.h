/*
 * hook - declarations that the files of `cadre hook` and `cadre prime` share.
 *
 * Read hook_event.c first, which reads the input from a client and has the form of the output
 * for each client. Then read hook.c. Its parts are the texts for a model, git's own hook,
 * and the verbs. Then read hook_session.c, which keeps what a hook has to know of its session.
 * Read plugin.c last.
 */
#ifndef TOOLS_CADRE_HOOK_HOOK_H
#define TOOLS_CADRE_HOOK_HOOK_H

#include "tools/cadre/cli.h"

/* The parts of a client's event that are stored. A part that the event does not have is empty. */
struct hook_event {
	char name[64];
	char cwd[4096];
	char tool[256];
	char session[128]; /* name that the client gives its session */
	json_t *paths; /* files that the tool is about to write */
	char inner[64]; /* the client's id of the inner agent that caused the event */
};

/* Reads an event to its end, and stores the parts of struct hook_event. Returns 0 or a fault.
 * An event that is no JSON object, is too large, or does not end in time is a fault. */
int event_read(int fd, struct hook_event *out, struct fault *f);
void event_release(struct hook_event *e);

/* The act of `cadre hook` at an event. */
enum hook_kind {
	HOOK_START, /* tells the agent's identity, and all news */
	HOOK_ALL, /* tells all news */
	HOOK_URGENT, /* tells urgent news */
	HOOK_STOP, /* tells urgent news, or once in a session that the agent still holds a task */
	HOOK_NUDGE, /* tells that urgent messages wait; another event shows these messages */
	/* Refuses a tool in a stopped team, or a write to a file that another agent has reserved. */
	HOOK_TOOL,
	HOOK_END, /* tells nothing, but removes the link of the session */
};

struct hook_rule {
	const char *event; /* NULL ends a table */
	enum hook_kind kind;
	/* JSON in the client's form. `$` stands for the text, `@` for the event's name. */
	const char *form;
};

struct hook_client {
	const char *name, *also;
	const struct hook_rule *rules;
	const char *const *writers; /* tools that write the named files; NULL-terminated */
	int64_t tokens; /* maximum number of tokens that the client passes on; 0: not
			   known */
};

extern const struct hook_client hook_clients[]; /* a NULL name ends the table */

/* Fills the rule's form with the text, and appends the form and a newline to `out`. */
void hook_form_fill(struct text *out, const struct hook_rule *rule, const char *text);

/* Sets the event's folder to the folder in which the event's session began. `begins`: the
 * session begins with this event. Returns false if the folder in which the session began can
 * neither be stored nor read. */
bool session_stay(struct hook_event *e, const char *client, bool begins);
/* Whether the session may be reminded of the task, which is true only once. */
bool session_reminds(const struct hook_event *e, const char *client, const char *task);
/* Removes the links of a session that has ended. */
void session_forget(const struct hook_event *e, const char *client);

extern const char plugin_opencode[];

/* A client waits for its hooks, so time is limited. HOOK_HURRY_MS: longest time for which the
 * hook waits for a silent host. HOOK_MOST_MS: time after which the hook ends. */
enum { HOOK_HURRY_MS = 400, HOOK_MOST_MS = 1000 };

enum {
	HOOK_PATHS = 64, /* paths that message.news takes in one call */
	HOOK_FILES = 1024, /* maximum number of an event's paths that are stored */
};

#endif
