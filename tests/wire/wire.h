/*
 * wire - tests of a host whose clients break the protocol.
 *
 * The host must stay healthy, no matter how one connection behaves. A healthy host answers
 * another client at once, and frees the memory and descriptors of closed connections.
 */
#ifndef TESTS_WIRE_WIRE_H
#define TESTS_WIRE_WIRE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/types.h>

#include "core/home/home.h"
#include "tests/lib/raw.h"
#include "tests/lib/usage.h"

enum { AT_ONCE_MS = 3000, ANSWER_MS = 30000 };

struct scene {
	char base[64], home[100], log[100];
	struct home found;
	pid_t host;
};

/* --- the scene (scene.c) -------------------------------------------------- */

int scene_open(void **state); /* starts a host with a team `red` of ann and bob */
int scene_close(void **state);
/* After each test: checks that the host runs and answers at once. */
int scene_is_healthy(void **state);

void healthy(struct scene *s);
/* Opens a connection and sends Hello as `agent`. If `agent` is NULL, the caller is the
 * operator. */
void dial(struct scene *s, struct raw *r, const char *agent);
/* Makes a call and returns the answer; `args` is JSON text with single quotes. */
json_t *call(struct raw *r, int id, const char *op, const char *args);
/* Sends one frame of text and expects an Error with the code `code`. */
void refused(struct raw *r, const char *body, size_t len, const char *code);
const char *text_at(const json_t *json, const char *name);

/* --- cases ------------------------------------------------------------------ */

void test_half_frames(void **state);
void test_garbage(void **state);
void test_lengths(void **state);
void test_deep_json(void **state);
void test_wrong_types(void **state);
void test_ids(void **state);
void test_stops_in_a_frame(void **state);
/* flood.c: cases of floods */
void test_connects(void **state);
void test_no_descriptors(void **state);
void test_never_reads(void **state);
void test_never_confirms(void **state);
void test_waits_and_leaves(void **state);
void test_slow_guest(void **state);
void test_heartbeats_at_once(void **state);
/* lines.c: cases of the MCP door */
void test_mcp_garbage(void **state);
void test_mcp_long_and_deep(void **state);
void test_mcp_never_reads(void **state);
void test_mcp_half_a_line(void **state);

#endif
