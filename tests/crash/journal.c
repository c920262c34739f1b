#include "tests/crash/journal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "tests/lib/place.h"

struct tail {
	long number;
	off_t whole; /* bytes of complete lines */
};

static void look(void *arg, const char *line, json_t *json)
{
	struct tail *t = arg;
	const char *key = json_string_value(json_object_get(json, "try"));
	const char *dash = key ? strrchr(key, '-') : NULL;

	t->whole += (off_t)strlen(line) + 1;
	if (dash)
		t->number = strtol(dash + 1, NULL, 10);
}

int journal_open(struct journal *j, const char *path)
{
	struct tail t = { 0 };

	journal_read(path, look, &t);
	j->number = t.number;
	j->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	/* If a kill cut off the last line, this line counts as never written. */
	if (j->fd >= 0 && ftruncate(j->fd, t.whole) == 0 &&
	    lseek(j->fd, t.whole, SEEK_SET) == t.whole)
		return 0;
	perror(path);
	return -1;
}

void journal_close(struct journal *j)
{
	close(j->fd);
}

void journal_write(struct journal *j, const char *word, const char *key, const char *what,
		   json_t *more)
{
	int try = !strcmp(word, "try");
	json_t *line = json_pack("{sssIss}", word, key, "at", (json_int_t)clock_wall_ms(),
				 try ? "op" : "code", what);
	const char *name = try ? "args" : !strcmp(what, "ok") ? "result" : "text";
	char *text;
	size_t len;

	if (more)
		json_object_set_new(line, name, more);
	text = json_dumps(line, JSON_COMPACT);
	json_decref(line);
	len = strlen(text);
	text[len] = '\n';
	if (write(j->fd, text, len + 1) != (ssize_t)len + 1 || fdatasync(j->fd)) {
		perror("journal");
		abort(); /* a line that is not on the disk would make the proof worthless */
	}
	free(text);
}

size_t journal_read(const char *path,
		    void (*each)(void *arg, const char *line, json_t *json), void *arg)
{
	FILE *in = fopen(path, "re");
	char *line = NULL;
	size_t room = 0, n = 0;
	ssize_t len;

	while (in && (len = getline(&line, &room, in)) > 0) {
		json_t *json;

		if (line[len - 1] != '\n')
			break;
		line[len - 1] = '\0';
		json = json_loads(line, 0, NULL);
		if (!json)
			break;
		each(arg, line, json);
		json_decref(json);
		n++;
	}
	free(line);
	if (in)
		fclose(in);
	return n;
}
