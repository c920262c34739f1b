/*
 * status - exit statuses of `cadre` that do not mean a fault.
 */
#ifndef TOOLS_CADRE_STATUS_H
#define TOOLS_CADRE_STATUS_H

/* each entry: a name, an exit status, and the meaning of the status */
#define STATUS_LIST(X)                                                             \
	X(NOTHING, 8, "There was nothing to take, such as a ready task to claim.") \
	X(OTHERWISE, 9,                                                            \
	  "The wait cannot succeed: the awaited object failed, was cancelled, or is gone.")

enum {
#define X(id, status, doc) STATUS_##id = status,
	STATUS_LIST(X)
#undef X
};

#endif
