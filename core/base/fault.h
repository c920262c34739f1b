/*
 * fault - the cause of a failure, for the caller that must explain the failure.
 *
 * On success, a function that can fail returns 0 or a count. On failure, the function returns a
 * negative enum fault_code and fills the caller's struct fault. The first failure wins: a
 * filled fault is not changed, so the caller gets the deepest cause. Results go through
 * out-parameters and are written on success only. FAULT_LIST is the only list of fault codes,
 * and all doors use it.
 */
#ifndef CORE_BASE_FAULT_H
#define CORE_BASE_FAULT_H

#include <stdint.h>

/* id, name, CLI exit status, HTTP status, wire code, when the fault happens, hint */
#define FAULT_LIST(X)                                                                    \
	X(INVALID, "invalid", 2, 400, "InvalidRequest",                                  \
	  "An argument is missing or malformed.",                                        \
	  "Correct the argument, and call again.")                                       \
	X(NOT_FOUND, "not_found", 3, 404, "NotFound", "The named thing does not exist.", \
	  "Correct the name, and call again.")                                           \
	X(CONFLICT, "conflict", 4, 409, "Conflict",                                      \
	  "The present state of the named thing forbids the call.",                      \
	  "Look at the present state before you try again.")                             \
	X(DENIED, "denied", 5, 403, "PermissionDenied", "The caller may not do this.",   \
	  "Ask the operator.")                                                           \
	X(RATE_LIMITED, "rate_limited", 6, 429, "RateLimited",                           \
	  "The caller calls too often.", "Wait retry_after_ms, then repeat the call.")   \
	X(EXHAUSTED, "exhausted", 6, 429, "Exhausted",                                   \
	  "A capacity or budget is used up.",                                            \
	  "Free some of the capacity, or ask for a higher limit.")                       \
	X(UNAVAILABLE, "unavailable", 7, 503, "Unavailable",                             \
	  "The call cannot be done now, or its outcome is not known.",                   \
	  "{Repeat the call with the same idempotency_key.|"                             \
	  "See whether the call took effect; if not, repeat it.}")                       \
	X(TIMEOUT, "timeout", 7, 504, "Timeout", "Time ran out.",                        \
	  "Allow more time, or look at the state before you repeat the call.")           \
	X(IO, "io", 1, 500, "IoError", "The machine failed to read or write.",           \
	  "See the log; `cadre doctor` names the cause.")                                \
	X(INTERNAL, "internal", 1, 500, "Internal", "A bug in cadre.",                   \
	  "See the log and report it.")

enum fault_index {
#define X(id, name, exit, http, wire, doc, hint) FAULT_INDEX_##id,
	FAULT_LIST(X)
#undef X
		FAULT_COUNT
};

enum fault_code {
	FAULT_NONE = 0,
#define X(id, name, exit, http, wire, doc, hint) FAULT_##id = -1 - FAULT_INDEX_##id,
	FAULT_LIST(X)
#undef X
};

struct fault_info {
	const char *name;
	int exit_status, http_status;
	const char *wire, *doc, *hint;
};

struct fault {
	enum fault_code code;
	char where[64]; /* JSON pointer into the arguments, or "" */
	char text[256]; /* the cause */
	char hint[200]; /* an action that may help */
	int64_t retry_after_ms; /* 0: unknown */
	char available[160]; /* if the given name does not exist: as many existing names
				as fit, with commas between them; "": unknown */
};

/* Fills `f` unless it is filled already, and returns `code`, so that a caller can write `return
 * fault_set(f, FAULT_CONFLICT, "/task", "held by %s", x);`. The hint is the code's default hint
 * until fault_hint() sets another hint. */
int fault_set(struct fault *f, enum fault_code code, const char *where, const char *fmt,
	      ...) __attribute__((format(printf, 4, 5)));

/* Replaces the hint of a filled fault and returns the fault's code. Use: `return fault_hint(f,
 * "claim it first");` after fault_set(). */
int fault_hint(struct fault *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* An inner step found a fault at its argument `from`. fault_move() makes the fault name the
 * argument `to` of the outer call, and returns the fault's code. */
int fault_move(struct fault *f, const char *from, const char *to);

/* The row of FAULT_LIST for `code`, which is negative. */
const struct fault_info *fault_info(enum fault_code code);

/* The code whose name or wire code is `name`; FAULT_INTERNAL if no code has this name. */
enum fault_code fault_named(const char *name);

#endif
