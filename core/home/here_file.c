#include "core/home/here_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/home/found.h"

const char here_folder[] = "here";

/* --- places --------------------------------------------------------------------- */

bool here_birth(const char *place, char out[HERE_BIRTH])
{
	struct statx st;

	if (statx(AT_FDCWD, place, AT_SYMLINK_NOFOLLOW,
		  STATX_TYPE | STATX_INO | STATX_BTIME, &st) ||
	    !S_ISDIR(st.stx_mode))
		return false;
	if (!(st.stx_mask & STATX_BTIME))
		st.stx_btime = (struct statx_timestamp){ 0 };
	snprintf(out, HERE_BIRTH, "%llx %llx.%08x", (unsigned long long)st.stx_ino,
		 (unsigned long long)st.stx_btime.tv_sec, st.stx_btime.tv_nsec);
	return true;
}

void here_name(const char *place, char out[HERE_NAME])
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	SHA2_CTX c;

	SHA256Init(&c);
	SHA256Update(&c, (const uint8_t *)place, strlen(place));
	SHA256Final(digest, &c);
	for (int i = 0; i < HERE_NAME / 2; i++)
		snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

/* --- the folder ----------------------------------------------------------------- */

int here_refuse(const char *state, const char *name, const char *why, struct fault *f)
{
	fault_set(
		f, FAULT_DENIED, "",
		"who this directory is was kept in %.150s/%s%s%s, which %s: it is not used",
		state, here_folder, *name ? "/" : "", name, why);
	return fault_hint(f,
			  "forget it with `cadre whoami --forget`, and register again");
}

int here_open(const char *state, struct fault *f)
{
	int top = found_open(state), dir;
	struct stat st;

	if (top < 0)
		return -1;
	dir = openat(top, here_folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 && errno != ENOENT)
		here_refuse(state, "", "is no folder", f);
	close(top);
	if (dir < 0)
		return f->code ? -2 : -1;
	if (fstat(dir, &st) || st.st_uid != geteuid() || st.st_mode & 077) {
		here_refuse(state, "", "is open to others", f);
		close(dir);
		return -2;
	}
	return dir;
}

int here_make(const char *state, struct fault *f)
{
	int top = found_open(state), dir;

	if (top < 0 || (mkdirat(top, here_folder, 0700) && errno != EEXIST))
		fault_set(f, FAULT_IO, "", "cannot make %.150s/%s: %m", state,
			  here_folder);
	if (top >= 0)
		close(top);
	if (f->code)
		return f->code;
	dir = here_open(state, f);
	if (dir == -1)
		return fault_set(f, FAULT_IO, "", "%.150s/%s: %m", state, here_folder);
	return dir;
}

/* --- a file --------------------------------------------------------------------- */

bool here_line(char **at, const char *word, char *out, size_t room)
{
	size_t n = strlen(word), len = strcspn(*at, "\n");

	if (strncmp(*at, word, n) != 0 || !(*at)[len] || len - n >= room)
		return false;
	snprintf(out, room, "%.*s", (int)(len - n), *at + n);
	*at += len + 1;
	return true;
}

static bool here_file_parse(char *text, struct here *k, char birth[HERE_BIRTH])
{
	char *at = text;

	return here_line(&at, "place ", k->place, sizeof(k->place)) &&
	       here_line(&at, "birth ", birth, HERE_BIRTH) &&
	       here_line(&at, "team ", k->team, sizeof(k->team)) &&
	       here_line(&at, "agent ", k->agent, sizeof(k->agent)) &&
	       here_line(&at, "token ", k->token, sizeof(k->token)) && !*at && *k->team &&
	       *k->agent && *k->token;
}

const char *here_private(int fd, char text[HERE_ROOM])
{
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return errno == ELOOP ? "is a link" : "cannot be read";
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_nlink != 1)
		return "is no plain file";
	if (st.st_uid != geteuid())
		return "is another user's";
	if ((st.st_mode & 07777) != 0600)
		return "is open to others";
	n = read(fd, text, HERE_ROOM - 1);
	if (n < 0 || memchr(text, '\0', (size_t)n))
		return "cannot be read";
	text[n] = '\0';
	return NULL;
}

const char *here_file(int dir, const char *name, struct here *k, char birth[HERE_BIRTH],
		      bool *there)
{
	int fd = openat(dir, name,
			O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	const char *why;
	char text[HERE_ROOM];

	*there = true;
	if (fd < 0 && errno == ENOENT) {
		*there = false;
		return NULL;
	}
	why = here_private(fd, text);
	if (fd >= 0)
		close(fd);
	return why || here_file_parse(text, k, birth) ? why : "is not what cadre wrote";
}

bool here_put(int dir, const char *name, const struct here *k, const char *birth)
{
	char temp[HERE_NAME + 16];
	bool done;
	int fd;

	snprintf(temp, sizeof(temp), "%s.%d", name, (int)gettid());
	unlinkat(dir, temp, 0);
	fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return false;
	done = !fchmod(fd, 0600) &&
	       dprintf(fd, "place %s\nbirth %s\nteam %s\nagent %s\ntoken %s\n", k->place,
		       birth, k->team, k->agent, k->token) > 0 &&
	       !fsync(fd) && !renameat(dir, temp, dir, name) && !fsync(dir);
	close(fd);
	if (!done)
		unlinkat(dir, temp, 0);
	return done;
}
