/*
 * status - exit statuses of `cadre` that do not mean a fault.
 */
#ifndef TOOLS_CADRE_STATUS_H
#define TOOLS_CADRE_STATUS_H

/* each entry: a name, an exit status, and the meaning of the status */
#define STATUS_LIST(X)                                                        \
	X(NOTHING, 8,                                                         \
	  "There was nothing to take, as for a claim when no task is ready.") \
	X(OTHERWISE, 9,                                                       \
	  "What was waited for ended otherwise: it failed, was called off, or is gone.")

enum {
#define X(id, status, doc) STATUS_##id = status,
	STATUS_LIST(X)
#undef X
};

#endif
