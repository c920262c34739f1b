/*
 * The table of speed: all lines with their acts. The driver, `bench --help` and docs/speed.md
 * use this table.
 */
#include "tools/bench/bench.h"
#include "tools/bench/load.h"

#define READS_ROW "a C program that opens the database and reads a row"
#define RAW_ROWS "SQLite: the rows of one message, 64 messages in a commit"

/* --- scripts --------------------------------------------------------------------------- */

#define SEND(to, key)                                                               \
	LOAD_CALL("message.send", "{\"to\":[\"" to "\"],\"idempotency_key\":\"" key \
				  "\",\"content\":\"~b\"}")
#define CLAIM LOAD_CALL("task.claim", "{}")
#define CLAIMED(op) LOAD_CALL(op, "{\"task\":\"~i\",\"epoch\":~e}")
#define TAKES_CLAIM .take = { "\"id\":\"", "\"epoch\":" }
#define XADD \
	"*7\r\n$4\r\nXADD\r\n~N\r\n$1\r\n*\r\n$4\r\nfrom\r\n$2\r\na1\r\n$7\r\ncontent\r\n$256\r\n~b\r\n"

#define SCRIPT(of, way, ...) \
	static const struct script of = { .door = &(way), __VA_ARGS__ }
#define ASKS(...) .asks = { __VA_ARGS__ }

SCRIPT(send, door_host, ASKS(SEND("a~>", "~k")));
SCRIPT(send_half_random, door_host, ASKS(SEND("a~>", "~K")));
SCRIPT(send_by_token, door_tokens, ASKS(SEND("a~>", "~k")));
SCRIPT(send_to_all, door_host, ASKS(SEND("*", "~k")));
SCRIPT(cycle, door_host,
       ASKS(SEND("a~#", "~k"), LOAD_CALL("message.receive", "{\"limit\":1}"),
	    LOAD_CALL("message.ack", "{\"message_ids\":[\"~i\"]}")),
       .take_at = 1, .take = { "\"message_id\":\"" });
SCRIPT(claim, door_host, ASKS(CLAIM, CLAIMED("task.complete")), TAKES_CLAIM);
SCRIPT(borrow, door_host, ASKS(CLAIM, CLAIMED("task.release")), TAKES_CLAIM);
SCRIPT(redis_send, door_redis, ASKS(XADD));
SCRIPT(redis_cycle, door_redis,
       ASKS(XADD,
	    "*9\r\n$10\r\nXREADGROUP\r\n$5\r\nGROUP\r\n$1\r\ng\r\n$1\r\nc\r\n$5\r\nCOUNT\r\n"
	    "$1\r\n1\r\n$7\r\nSTREAMS\r\n~N\r\n$1\r\n>\r\n",
	    "*4\r\n$4\r\nXACK\r\n~N\r\n$1\r\ng\r\n~I\r\n"),
       .take = { "\r\n" });
SCRIPT(postgres_claim, door_postgres,
       ASKS("Q~qEXECUTE claim(~#)~0", "Q~qEXECUTE complete(~#, ~i)~0"), .take = { "\"" });
SCRIPT(list, door_host, ASKS(LOAD_CALL("task.list", "{\"limit\":20}")));
SCRIPT(pending, door_host,
       ASKS(LOAD_CALL("task.list", "{\"limit\":20,\"status\":\"pending\"}")));
SCRIPT(ready, door_host, ASKS(LOAD_CALL("task.ready", "{\"limit\":20}")));
SCRIPT(status, door_host, ASKS(LOAD_CALL("team.status", "{}")));
SCRIPT(search, door_host,
       ASKS(LOAD_CALL("search.find", "{\"query\":\"task\",\"limit\":20}")));

#define HTTP(ask, headers, body)                                                         \
	ask " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" headers \
	    "Content-Length: ~l\r\n\r\n" body
#define WHOAMI HTTP("GET /api/whoami", "", "")
#define PEEK                                                                   \
	"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{" \
	"\"name\":\"inbox\",\"arguments\":{\"action\":\"peek\",\"agent\":\"a1\"}}}\n"

SCRIPT(mcp_read, door_mcp, ASKS(PEEK));
SCRIPT(mcp_echo, door_echo, ASKS(PEEK), .answer = 300);
SCRIPT(whoami, door_http, ASKS(WHOAMI));
SCRIPT(whoami_echo, door_echo, ASKS(WHOAMI), .answer = 120);
SCRIPT(teams, door_http, ASKS(HTTP("GET /api/teams", "", "")));
/* Calls an MCP tool that runs the same operation as the script `teams`. */
SCRIPT(tool, door_http,
       ASKS(HTTP(
	       "POST /mcp",
	       "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: team\r\n",
	       "{\"jsonrpc\":\"2.0\",\"id\":~#,\"method\":\"tools/call\",\"params\":{\"name\":"
	       "\"team\",\"arguments\":{\"action\":\"list\"},\"_meta\":{"
	       "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
	       "\"io.modelcontextprotocol/clientCapabilities\":{}}}}")));
SCRIPT(http_send, door_http,
       ASKS(HTTP("POST /api/messages", "",
		 "{\"team\":\"t\",\"agent\":\"a~#\",\"to\":\"a~>\",\"content\":\"~b\"}")));
SCRIPT(file_read, door_guest,
       ASKS("~4{\"type\":\"FileRead\",\"id\":1,\"path\":\"file\",\"offset\":~o,"
	    "\"limit\":1572864}"));
SCRIPT(file_write, door_guest,
       ASKS("~4{\"type\":\"FileWrite\",\"id\":1,\"path\":\"written\",\"upload\":\"b~u\","
	    "\"offset\":~o~z,\"content\":\"~c\"}"));

/* --- commands ---------------------------------------------------------------------------- */

static const char *const words_send[] = { "send", "a1", "hello", "--team", "t", NULL };
static const char *const words_list[] = { "task", "list", "--team", "t", NULL };
static const char *const words_prime[] = { "prime", "--team", "t", "--as", "a0", NULL };
static const char *const words_hook[] = { "hook", "claude", "--team", "t",
					  "--as", "a0",     NULL };

/* --- lines ------------------------------------------------------------------------------- */

#define LOAD(of, n, ...)                                               \
	{                                                              \
		act_load, .script = &(of), .clients = (n), __VA_ARGS__ \
	}
#define ROWS(n)                        \
	{                              \
		act_rows, .batch = (n) \
	}
/* The same load at the scene's first host, and at the second host. */
#define BOTH(of, n, ...) \
	.ours = LOAD(of, n, __VA_ARGS__), .base = LOAD(of, n, .stage = 1, __VA_ARGS__)
#define MEDIAN(n) .times = (n), .share = 0.5

/* clang-format off */
const struct bench bench_table[] = {
	{ "send", NULL, .stages = 1, .agents = 64, .lines = {
		{ "send-1", "sends/s", AT_LEAST, 0.45,
		  "durable messages per second, one client, one request in flight",
		  "SQLite: the same rows, one message in a commit",
		  .ours = LOAD(send, 1), .base = ROWS(1) },
		{ "send-64", "sends/s", AT_LEAST, 0.2,
		  "messages per second, 64 clients, one request in flight each",
		  "SQLite: the same rows in one process, 64 messages in a commit",
		  .ours = LOAD(send, 64), .base = ROWS(64) },
		{ "send-64-redis", "sends/s", AT_LEAST, 0.55,
		  "messages per second, 64 clients, one request in flight each",
		  "Redis, which syncs each write", .peer = true,
		  .ours = LOAD(send, 64), .base = LOAD(redis_send, 64) },
		{ "send-64x16", "sends/s", AT_LEAST, 0.3,
		  "messages per second, 64 clients, 16 requests in flight each",
		  "SQLite: the same rows in one process, 256 messages in a commit",
		  .ours = LOAD(send, 64, .window = 16), .base = ROWS(256) } } },
	{ "limits", scene_limits, .agents = 64, .lines = {
		{ "limits-1", "sends/s", AT_LEAST, 0.95,
		  "messages per second, one client with rate limits on",
		  "with rate limits off", .rounds = 8, BOTH(send_by_token, 1) },
		{ "limits-64", "us", AT_MOST_OVER, 5,
		  "time per message, 64 clients with rate limits on",
		  "with rate limits off", .rounds = 8, BOTH(send_by_token, 64) } } },
	{ "cycle", NULL, .stages = 1, .agents = 64, .lines = {
		{ "cycle-64", "cycles/s", AT_LEAST, 0.09,
		  "messages sent, received and acknowledged per second, 64 clients", RAW_ROWS,
		  .ours = LOAD(cycle, 64), .base = ROWS(64) },
		{ "cycle-64-redis", "cycles/s", AT_LEAST, 0.55,
		  "messages sent, received and acknowledged per second, 64 clients",
		  "Redis streams, which sync each write", .peer = true,
		  .ours = LOAD(cycle, 64), .base = LOAD(redis_cycle, 64) } } },
	/* The board has more tasks than all rounds can claim, even on a fast machine that
	 * claims 40,000 tasks a second. */
	{ "claim", NULL, .stages = 1, .agents = 64, .tasks = { 600000 }, .lines = {
		{ "claim-64", "pairs/s", AT_LEAST, 0.1,
		  "tasks claimed and completed per second, 64 clients", RAW_ROWS,
		  .ours = LOAD(claim, 64), .base = ROWS(64) },
		{ "claim-64-postgresql", "pairs/s", AT_LEAST, 4,
		  "tasks claimed and completed per second, 64 clients",
		  "PostgreSQL, `FOR UPDATE SKIP LOCKED`", .peer = true,
		  .ours = LOAD(claim, 64), .base = LOAD(postgres_claim, 64) } } },
	{ "broadcast", scene_broadcast, .stages = 1, .agents = 1000, .capacity = 100, .lines = {
		{ "broadcast", "ms", AT_MOST, 25,
		  "time of a broadcast to 1,000 full inboxes",
		  "a raw insert of 1,000 rows and one fsync", .share = 0.5,
		  .ours = LOAD(send_to_all, 1), .base = ROWS(0) } } },
	{ "tail", NULL, .stages = 1, .agents = 64, .lines = {
		/* The line has a single long round, because the slowest call of a short run
		 * says little. */
		{ "tail-max", "ms", AT_MOST, 8,
		  "slowest message of a long run",
		  "slowest bare `fdatasync` of the same run", .rounds = 1, .share = 1,
		  .ours = { act_beside },
		  .base = { act_crowd, .script = &send, .clients = 64, .seconds = 20,
			    .crowd = &crowd_syncs } },
		{ "tail-p99-redis", "ms", AT_MOST, 2.5,
		  "99th percentile time per message, long run",
		  "Redis, which syncs each write", .peer = true, .share = 0.99,
		  .ours = LOAD(send, 64, .seconds = 4), .base = LOAD(redis_send, 64, .seconds = 4) },
		{ "tail-p99.9-redis", "ms", AT_MOST, 2.5,
		  "99.9th percentile time per message, long run",
		  "Redis, which syncs each write", .peer = true, .share = 0.999 } } },
	{ "direct", NULL, .stages = 1, .agents = 64, .lines = {
		{ "direct", "ms", AT_MOST, 10,
		  "99th percentile time per write, 8 processes beside a busy host",
		  "8 processes that take a lock, insert a row and sync", .rounds = 4, .share = 0.99,
		  .ours = { act_crowd, .script = &send, .clients = 64, .seconds = 2,
			    .crowd = &crowd_direct },
		  .base = { act_crowd, .crowd = &crowd_locked } } } },
	{ "growth-claim", NULL, .stages = 2, .agents = 64, .tasks = { 1000000, 1000 }, .lines = {
		{ "growth-claim", "pairs/s", AT_LEAST, 0.77,
		  "claims per second, 1,000,000 tasks", "with 1,000 tasks",
		  .rounds = 4, BOTH(borrow, 64) } } },
	{ "growth-send", NULL, .stages = 2, .agents = 64, .messages = { 1000000 }, .lines = {
		{ "growth-send", "us", AT_MOST, 1.3,
		  "time per message, 1,000,000 messages in the state", "in an empty state",
		  .rounds = 3, BOTH(send_half_random, 64, .seconds = 2) } } },
	{ "reads", scene_search, .stages = 2, .agents = 4, .tasks = { 100000, 1000 }, .lines = {
		{ "growth-list", "us", AT_MOST, 1.3,
		  "time of a page of tasks, 100,000 tasks", "with 1,000 tasks", .rounds = 3, BOTH(list, 4) },
		{ "growth-pending", "us", AT_MOST, 1.3,
		  "time of a page of pending tasks, 100,000 tasks", "with 1,000 tasks",
		  .rounds = 3, BOTH(pending, 4) },
		{ "growth-ready", "us", AT_MOST, 1.3,
		  "time of a page of ready tasks, 100,000 tasks", "with 1,000 tasks",
		  .rounds = 3, BOTH(ready, 4) },
		{ "growth-status", "us", AT_MOST, 1.3,
		  "time of a team's status, 100,000 tasks", "with 1,000 tasks",
		  .rounds = 3, BOTH(status, 4) },
		{ "growth-search", "us", AT_MOST, 1.3,
		  "time of a search in 100,000 tasks", "in 1,000 tasks",
		  .rounds = 3, BOTH(search, 4) } } },
	{ "process", NULL, .stages = 2, .agents = 2, .hostless = 1, .lines = {
		{ "process-host", "ms", AT_MOST, 2,
		  "time of `cadre send` with a host", READS_ROW ", plus one sync", MEDIAN(30),
		  .ours = { act_command, .words = words_send },
		  .base = { act_bare, .text = "read", .syncs = 1 } },
		{ "process-direct", "ms", AT_MOST, 3,
		  "time of `cadre send` without a host",
		  "a C program that opens the database and commits a row", MEDIAN(30),
		  .ours = { act_command, .words = words_send, .stage = 1 },
		  .base = { act_bare, .text = "commit" } },
		{ "process-read", "ms", AT_MOST, 3,
		  "time of `cadre task list` without a host", READS_ROW, MEDIAN(30),
		  .ours = { act_command, .words = words_list, .stage = 1 },
		  .base = { act_bare, .text = "read" } },
		{ "process-prime", "ms", AT_MOST, 3,
		  "time of `cadre prime` with a host", READS_ROW ", plus one sync", MEDIAN(30),
		  .ours = { act_command, .words = words_prime },
		  .base = { act_bare, .text = "read", .syncs = 1 } },
		{ "process-hook", "ms", AT_MOST, 3,
		  "time of `cadre hook claude` with a host", READS_ROW ", plus one sync", MEDIAN(30),
		  .ours = { act_command, .words = words_hook },
		  .base = { act_bare, .text = "read", .syncs = 1 } } } },
	{ "mcp", NULL, ONE_CORE, .stages = 1, .agents = 2, .lines = {
		{ "mcp-start", "ms", AT_MOST, 1.5, "time until `cadre mcp` answers", READS_ROW,
		  MEDIAN(30), .ours = { act_greet, .script = &mcp_read },
		  .base = { act_bare, .text = "read" } },
		{ "mcp-read", "us", AT_MOST, 8,
		  "time of a read over MCP", "a pipe that echoes the same number of bytes", .share = 0.5,
		  .ours = LOAD(mcp_read, 1), .base = LOAD(mcp_echo, 1) } } },
	{ "web", NULL, ONE_CORE, .stages = 1, .agents = 1, .lines = {
		{ "http-get", "us", AT_MOST_OVER, 60,
		  "time of a request over HTTP", "a server that always sends the same answer", .share = 0.5,
		  .ours = LOAD(whoami, 1), .base = LOAD(whoami_echo, 1) },
		{ "http-mcp", "us", AT_MOST_OVER, 60,
		  "time of an MCP tool call over HTTP", "an HTTP request for the same operation", .share = 0.5,
		  .ours = LOAD(tool, 1), .base = LOAD(teams, 1) } } },
	{ "web-many", NULL, .stages = 1, .agents = 64, .lines = {
		{ "http-send-64", "sends/s", AT_LEAST, 0.9,
		  "messages per second over HTTP, 64 clients", "the same over the host's socket",
		  .ours = LOAD(http_send, 64), .base = LOAD(send, 64) } } },
	{ "followers", scene_followers, .stages = 2, .agents = 64, .lines = {
		{ "http-follow-memory", "MiB", AT_MOST_ALONE, 100,
		  "memory added by 10,000 followers of events", .rounds = 1,
		  .ours = { act_resident } },
		/* From one second to the next, the disk's speed changes by more than the limit.
		 * So a round is the sum of many short runs. */
		{ "http-follow", "sends/s", AT_LEAST, 0.95,
		  "messages per second with 10,000 idle followers of events", "without the followers",
		  .times = 8, BOTH(send, 64, .seconds = 0.3) } } },
	{ "mirror", NULL, .lines = {
		{ "mirror", "s", AT_MOST, 1.5,
		  "time to write 10,000 tasks as Markdown files", "10,000 plain files", .rounds = 3,
		  .share = 0.5, .ours = { act_mirror, .batch = 10000 },
		  .base = { act_plain_files, .batch = 10000 } } } },
	{ "file", scene_file, .lines = {
		{ "file-read", "MB/s", AT_LEAST, 0.2,
		  "reading a file from a workspace, bytes per second", "a copy with fsync", .rounds = 3,
		  .ours = LOAD(file_read, 1, .window = 4, .scale = LOAD_PART / 1e6),
		  .base = { act_copy } },
		{ "file-write", "MB/s", AT_LEAST, 0.1,
		  "writing a file to a workspace, bytes per second", "a copy with fsync", .rounds = 3,
		  .ours = LOAD(file_write, 1, .window = 4, .scale = LOAD_PART / 1e6),
		  .base = { act_copy } } } },
	{ "push", scene_push, .stages = 1, .agents = 1, .lines = {
		{ "push-p50", "ms", AT_MOST, 3,
		  "median time from a call to its message in a workspace",
		  "two bare `fdatasync` and two round trips", MEDIAN(200),
		  .ours = { act_push }, .base = { act_bare, .syncs = 2, .trips = 2 } },
		{ "push-p99", "ms", AT_MOST, 4,
		  "99th percentile time from a call to its message in a workspace",
		  "two bare `fdatasync` and two round trips", .share = 0.99 } } },
	{ "turns", scene_turns, .stages = 1, .lines = {
		{ "turn-p50", "ms", AT_MOST_OVER, 5,
		  "median time from a message to the start of its runner",
		  "two bare `fdatasync`", MEDIAN(40),
		  .ours = { act_turn }, .base = { act_bare, .syncs = 2 } } } },
	{ "fanout", scene_fanout, .stages = 1, .agents = 200, .lines = {
		{ "fanout", "ms", AT_MOST, 12,
		  "time until 200 workspaces have a message", "200 round trips between processes", MEDIAN(5),
		  .ours = { act_push }, .base = { act_bare, .trips = 200 } } } },
	{ "boot", scene_boot, .stages = 1, .agents = 1, .lines = {
		{ "boot", "s", AT_MOST, 2.5,
		  "time until a VM answers", "the same kernel until its first program starts", .rounds = 3,
		  .share = 0.5, .ours = { act_boot }, .base = { act_bare_boot } } } },
	{ "memory-idle", NULL, .stages = 1, .lines = {
		{ "memory-idle", "MiB", AT_MOST_ALONE, 12, "memory of an idle host", .rounds = 1,
		  .ours = { act_resident } } } },
	/* A thousand guest processes would load the machine too much. Therefore light guests
	 * are used, which all live in one process. */
	{ "memory-1000", scene_fanout, .stages = 1, .agents = 1000, .lines = {
		{ "memory-1000", "MiB", AT_MOST_ALONE, 60,
		  "memory of a host with 1,000 workspaces", .rounds = 1,
		  .ours = { act_resident } } } },
	{ .name = NULL },
};
/* clang-format on */
