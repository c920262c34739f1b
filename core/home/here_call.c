/*
 * here_call - calls under way by which a place is to become an agent's.
 *
 * Each call has a file with its key, and its process locks the file.  An unlocked file
 * means that the process was killed.  A locked file means that the process still lives, so
 * that two sessions of a place are two agents.
 */
#include "core/home/here_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/home/home.h"

enum { CALLS = 64 /* at once in a place; a call beyond gets a new key after a kill */ };

static void name_call(const char *place, int number, struct here_call *c)
{
	char file[HERE_NAME];

	here_name(place, file);
	snprintf(c->file, sizeof(c->file), "%s.%d.key", file, number);
}

/* A sum of what a key is for: the place as it is now, and the words of the call. */
static void here_call_sum_of(const char *place, const char *words, char out[HERE_SUM])
{
	char birth[HERE_BIRTH] = "";
	SHA2_CTX c;

	here_birth(place, birth);
	SHA256Init(&c);
	SHA256Update(&c, (const uint8_t *)birth, strlen(birth) + 1);
	SHA256Update(&c, (const uint8_t *)words, strlen(words));
	SHA256End(&c, out);
}

/* Opens and locks a file for a call: a descriptor, or -1 where it is another's. */
static int here_call_hold(int dir, const char *name)
{
	int fd = openat(dir, name,
			O_RDWR | O_CREAT | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC,
			0600);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Takes the key of a call with the same sum that is not settled; a file that is empty gets a
 * new one.  False: it is another call's. */
static bool here_call_take_key(struct here_call *c, const char *sum)
{
	char text[HERE_ROOM], *at = text;

	if (here_private(c->fd, text))
		return false;
	memcpy(c->sum, sum, sizeof(c->sum));
	if (*text)
		return here_line(&at, "sum ", c->sum, sizeof(c->sum)) &&
		       here_line(&at, "key ", c->key, sizeof(c->key)) &&
		       strcmp(c->sum, sum) == 0;
	return dprintf(c->fd, "sum %s\nkey %s\n", sum, c->key) > 0;
}

static void new_key(struct here_call *c)
{
	snprintf(c->key, sizeof(c->key), "%016llx%016llx",
		 (unsigned long long)home_random(), (unsigned long long)home_random());
}

/* Finds the call a file, or leaves it without one. */
static void here_call_begin(int dir, const char *place, const char *sum,
			    struct here_call *c)
{
	for (int i = 0; i < CALLS; i++) {
		name_call(place, i, c);
		new_key(c);
		c->fd = here_call_hold(dir, c->file);
		if (c->fd >= 0 && here_call_take_key(c, sum)) {
			c->held = true;
			return;
		}
		if (c->fd >= 0)
			close(c->fd);
	}
	new_key(c);
}

int here_begin(const char *state, const char *place, const char *words,
	       struct here_call *c, struct fault *f)
{
	char sum[HERE_SUM];
	int dir;

	here_call_sum_of(place, words, sum);
	if (c->held && strcmp(c->sum, sum) == 0)
		return 0;
	here_settle(state, c);
	if ((dir = here_make(state, f)) < 0)
		return f->code;
	flock(dir, LOCK_EX);
	here_call_begin(dir, place, sum, c);
	close(dir);
	return 0;
}

void here_settle(const char *state, struct here_call *c)
{
	struct fault f = { 0 };
	struct stat st;
	int dir;

	if (!c->held)
		return;
	dir = here_open(state, &f);
	if (dir >= 0) {
		flock(dir, LOCK_EX);
		if (!fstat(c->fd, &st) && st.st_nlink > 0)
			unlinkat(dir, c->file, 0);
		close(dir);
	}
	close(c->fd);
	*c = (struct here_call){ 0 };
}

void here_give_up(const char *state, const char *place)
{
	struct fault f = { 0 };
	struct here_call c;
	int dir = here_open(state, &f);

	if (dir < 0)
		return;
	for (int i = 0; i < CALLS; i++) {
		name_call(place, i, &c);
		unlinkat(dir, c.file, 0);
	}
	close(dir);
}
