/*
 * load - clients of a server, driven by one thread with epoll.
 *
 * Each connection is a speaker that repeats the steps of a script, with `window` cycles under
 * way at a time. A request is a text with words that load_say() replaces. A door knows the
 * protocol. The load shares the machine's cores with the server. Therefore a request is made
 * cheaply, by little more than a copy of its text.
 */
#ifndef TOOLS_BENCH_LOAD_H
#define TOOLS_BENCH_LOAD_H

#include "tools/bench/stage.h"

enum {
	LOAD_WINDOW = 64,
	LOAD_ROOM = 64 << 10,
	LOAD_TAKEN = 64,
	LOAD_STEPS = 3,
	LOAD_BODY = 256
};

/* LOAD_PART: bytes of a part of a file. LOAD_PARTS: number of parts of a file. */
enum { LOAD_PART = 3 << 19, LOAD_PARTS = 43 };

struct speaker {
	struct scene *scene;
	const struct act *act;
	const struct script *script;
	int fd, number, next; /* `next`: number of the next speaker, or 0 for the last
				 speaker */
	pid_t child; /* process at the other end, if only this speaker uses it */
	int step; /* the step that waits for its answer */
	uint64_t random;
	char taken[2][LOAD_TAKEN]; /* texts that load_take() copied from the last
				      answer */
	int64_t asked; /* number of requests so far */
	struct text out;
	char *in;
	size_t room, n_in;
	unsigned head, tail; /* indexes in `begun`, the ring of cycles under way */
	int64_t begun[LOAD_WINDOW];
};

/* How a speaker connects to a door and reads the door's answers. */
struct door {
	/* Connects, and returns the socket, or -1. */
	int (*join)(struct speaker *s);
	const char *hello[3]; /* the client's first messages; the door answers each
				 message */
	/* The length of the answer at `data`; 0 if more bytes are needed. */
	size_t (*whole)(const struct speaker *s, const char *data, size_t size);
	/* Whether an answer reports success. */
	bool (*good)(const char *data, size_t size);
	size_t room; /* size of the buffer for answers; 0: LOAD_ROOM */
};
extern const struct door door_host; /* the host's own socket, as agent aN of team t */
extern const struct door door_tokens; /* the host's own socket, with the token of each
					 agent */
extern const struct door door_http; /* the host's HTTP socket */
extern const struct door door_mcp; /* a process that runs `cadre mcp` */
extern const struct door door_guest; /* a guest's control connection */
extern const struct door door_echo; /* a child that answers with script.answer bytes */
extern const struct door door_redis, door_postgres;

struct script {
	const struct door *door;
	const char *asks[LOAD_STEPS]; /* the request of each step */
	/* load_take() copies the texts behind the words of `take` from the answer to step
	 * `take_at`. In later requests load_say() replaces ~i and ~e by the copied texts. */
	int take_at;
	const char *take[2];
	size_t answer;
};

/* A request to the host, which is a frame with a call. */
#define LOAD_CALL(op, args) \
	"~4{\"type\":\"Call\",\"id\":1,\"op\":\"" op "\",\"args\":" args "}"

/* Acts of the table: act_load measures a load. act_greet starts the script's process once, and
 * waits for the first answer. */
act_run act_load, act_greet;

/* Appends a request, and replaces the words of its text:
 * ~#  the speaker's number          ~>  the neighbour's number
 * ~k  a new key, a UUIDv7           ~K  a new key, every second time a UUIDv4
 * ~b  the body of a message         ~s  the agent's token
 * ~i  the first text that was taken ~e  the second text that was taken
 * ~4  the length of a frame         ~q  the length of a message to PostgreSQL
 * ~l  the length of an HTTP body    ~0  a NUL
 * ~N  a stream of Redis             ~I  for Redis, the first text that was taken
 * ~o  the offset of a file's part   ~u  the upload of the part
 * ~c  the part's bytes              ~z  in the last part, the size of the file
 */
void load_say(struct speaker *s, const char *text);

/* Starts a child that answers each input with `answer` bytes. *fd gets the connection to the
 * child. Returns the child's process id, or -1. */
pid_t load_echo(int *fd, size_t answer);
int load_connect(const char *path); /* connects to a Unix socket; returns -1 on failure */
int load_listen(const char *path); /* listens at a Unix socket; returns -1 on failure */
int load_write_all(int fd, const char *data, size_t size);

#endif
