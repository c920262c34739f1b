/* The table of speed: each line stands here once, for `bench --help` and docs/speed.md. */
#include "tools/bench/bench.h"

#define READS_ROW "a C program that opens the file and reads a row"
#define RAW_ROWS "SQLite: raw rows of one message, 64 a commit"

/* clang-format off */
const struct bench bench_table[] = {
	{ "send-1", bench_send_one, ANY_CORE, {
		{ "send-1", "sends/s", AT_LEAST, 0.45,
		  "durable messages a second, one client that waits for each",
		  "SQLite: the same rows, a commit each" } } },
	{ "rows", bench_rows, ANY_CORE, {
		{ "rows", "sends/s", AT_LEAST, 0.35,
		  "every statement of a message, reads included, a second",
		  "SQLite: the same bytes in four inserts" } } },
	{ "send-64", bench_send_many, ANY_CORE, {
		{ "send-64", "sends/s", AT_LEAST, 0.2,
		  "messages a second of 64 clients that wait for each",
		  "SQLite: the same rows in one process, 64 a commit" },
		{ "send-64-redis", "sends/s", AT_LEAST, 0.55,
		  "messages a second of 64 clients that wait for each",
		  "Redis, which syncs each write" } } },
	{ "send-64x16", bench_send_deep, ANY_CORE, {
		{ "send-64x16", "sends/s", AT_LEAST, 0.3,
		  "messages a second of 64 clients, 16 under way for each",
		  "SQLite: the same rows in one process, 256 a commit" } } },
	{ "limits", bench_limits, ANY_CORE, {
		{ "limits-1", "sends/s", AT_LEAST, 0.95,
		  "messages a second of one client whose calls are counted",
		  "the same with limits off" },
		{ "limits-64", "us", AT_MOST_OVER, 5,
		  "time of each message of 64 clients whose calls are counted",
		  "the same with limits off" } } },
	{ "cycle-64", bench_cycle, ANY_CORE, {
		{ "cycle-64", "cycles/s", AT_LEAST, 0.09,
		  "send, receive and acknowledge by 64 clients, a second", RAW_ROWS },
		{ "cycle-64-redis", "cycles/s", AT_LEAST, 0.55,
		  "send, receive and acknowledge by 64 clients, a second",
		  "Redis streams, which sync each write" } } },
	{ "claim-64", bench_claim, ANY_CORE, {
		{ "claim-64", "pairs/s", AT_LEAST, 0.1,
		  "claim and complete a task by 64 clients, a second", RAW_ROWS },
		{ "claim-64-postgresql", "pairs/s", AT_LEAST, 4,
		  "claim and complete a task by 64 clients, a second",
		  "PostgreSQL, `FOR UPDATE SKIP LOCKED`" } } },
	{ "broadcast", bench_broadcast, ANY_CORE, {
		{ "broadcast", "ms", AT_MOST, 25,
		  "time of a broadcast to 1,000 full inboxes",
		  "a raw insert of 1,000 rows and one fsync" } } },
	{ "tail", bench_tail, ANY_CORE, {
		{ "tail-max", "ms", AT_MOST, 8,
		  "the slowest message of a long run",
		  "the slowest bare `fdatasync` of that run" },
		{ "tail-p99-redis", "ms", AT_MOST, 2.5,
		  "the slowest hundredth of the messages of a long run",
		  "Redis', which syncs each write" },
		{ "tail-p99.9-redis", "ms", AT_MOST, 2.5,
		  "the slowest thousandth of the messages of a long run",
		  "Redis', which syncs each write" } } },
	{ "direct", bench_direct, ANY_CORE, {
		{ "direct", "ms", AT_MOST, 10,
		  "8 processes that write the file beside a busy host, the slowest hundredth",
		  "8 processes that take a lock, insert a row and sync" } } },
	{ "growth", bench_growth, ANY_CORE, {
		{ "growth-claim", "pairs/s", AT_LEAST, 0.77,
		  "claims a second on a board of 1,000,000 tasks", "on one of 1,000" },
		{ "growth-send", "us", AT_MOST, 1.3,
		  "time of a message behind 1,000,000 others", "in an empty state" } } },
	{ "reads", bench_reads, ANY_CORE, {
		{ "growth-list", "us", AT_MOST, 1.3,
		  "time of a page of tasks, of 100,000", "of 1,000" },
		{ "growth-pending", "us", AT_MOST, 1.3,
		  "time of a page of pending tasks, of 100,000", "of 1,000" },
		{ "growth-ready", "us", AT_MOST, 1.3,
		  "time of a page of ready tasks, of 100,000", "of 1,000" },
		{ "growth-status", "us", AT_MOST, 1.3,
		  "time of a team's counts, of 100,000 tasks", "of 1,000" },
		{ "growth-search", "us", AT_MOST, 1.3,
		  "time of a search in 100,000 tasks", "in 1,000" } } },
	{ "process", bench_process, ANY_CORE, {
		{ "process-host", "ms", AT_MOST, 2,
		  "time of `cadre send` with a host", READS_ROW ", and a sync" },
		{ "process-direct", "ms", AT_MOST, 3,
		  "time of `cadre send` without a host",
		  "a C program that opens the file and commits a row" },
		{ "process-read", "ms", AT_MOST, 3,
		  "time of `cadre task list` without a host", READS_ROW },
		{ "process-prime", "ms", AT_MOST, 3,
		  "time of `cadre prime` with a host", READS_ROW ", and a sync" },
		{ "process-hook", "ms", AT_MOST, 3,
		  "time of `cadre hook claude` with a host", READS_ROW ", and a sync" } } },
	{ "mcp", bench_mcp, ONE_CORE, {
		{ "mcp-start", "ms", AT_MOST, 1.5, "time until `cadre mcp` answers", READS_ROW },
		{ "mcp-read", "us", AT_MOST, 8,
		  "time of a read over MCP", "a pipe that echoes as many bytes" } } },
	{ "web", bench_web, ONE_CORE, {
		{ "http-get", "us", AT_MOST_OVER, 60,
		  "time of a request over HTTP", "a server that parses it and says a constant" },
		{ "http-mcp", "us", AT_MOST_OVER, 60,
		  "time of a tool of MCP over HTTP", "a request of the same operation" } } },
	{ "web-many", bench_web_many, ANY_CORE, {
		{ "http-send-64", "sends/s", AT_LEAST, 0.9,
		  "messages a second of 64 clients over HTTP", "the same at the host's socket" } } },
	{ "followers", bench_followers, ANY_CORE, {
		{ "http-follow", "sends/s", AT_LEAST, 0.95,
		  "messages a second beside 10,000 silent followers of events", "without them" },
		{ "http-follow-memory", "MiB", AT_MOST_ALONE, 100,
		  "memory of 10,000 followers of events", NULL } } },
	{ "strangers", bench_strangers, ANY_CORE, {
		{ "stranger-mib", "ms", AT_MOST, 2,
		  "time of a core for a MiB of a body without a token",
		  "a server that reads and drops as many bytes" },
		{ "stranger-p99", "ms", AT_MOST, 2,
		  "the slowest hundredth of sends beside 64 strangers, each with a MiB a second",
		  "without them" } } },
	{ "mirror", bench_mirror, ANY_CORE, {
		{ "mirror", "s", AT_MOST, 1.5,
		  "time to show 10,000 tasks as files", "as many plain files" } } },
	{ "file", bench_file, ANY_CORE, {
		{ "file-read", "MB/s", AT_LEAST, 0.2,
		  "a file read from a workspace, a second", "a copy with fsync" },
		{ "file-write", "MB/s", AT_LEAST, 0.1,
		  "a file written to a workspace, a second", "a copy with fsync" } } },
	{ "push", bench_push, ANY_CORE, {
		{ "push-p50", "ms", AT_MOST, 3,
		  "time from a call to its message in a workspace",
		  "two bare `fdatasync` and two round trips" },
		{ "push-p99", "ms", AT_MOST, 4,
		  "time from a call to its message in a workspace, the slowest hundredth",
		  "two bare `fdatasync` and two round trips" } } },
	{ "turns", bench_turns, ANY_CORE, {
		{ "turn-p50", "ms", AT_MOST_OVER, 5,
		  "time from a message to the first thing that its runner does",
		  "two bare `fdatasync`" } } },
	{ "fanout", bench_fanout, ANY_CORE, {
		{ "fanout", "ms", AT_MOST, 12,
		  "time of a message to 200 workspaces", "200 round trips" } } },
	{ "boot", bench_boot, ANY_CORE, {
		{ "boot", "s", AT_MOST, 2.5,
		  "time until a VM answers", "the same kernel until its first program" } } },
	{ "memory", bench_memory, ANY_CORE, {
		{ "memory-idle", "MiB", AT_MOST_ALONE, 12, "memory of an idle host", NULL },
		{ "memory-200", "MiB", AT_MOST_ALONE, 30,
		  "memory of a host with 200 workspaces", NULL },
		{ "memory-runners", "MiB", AT_MOST_ALONE, 5,
		  "memory that runners add to 200 workspaces", NULL },
		{ "memory-1000", "MiB", AT_MOST_ALONE, 60,
		  "memory of a host with 1,000 workspaces", NULL } } },
	{ .name = NULL },
};
/* clang-format on */
