#include "core/machine/vm/qmp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"

/* QEMU is not trusted: a guest may have broken out into it. */
enum { PATIENCE_S = 10, LINE_MOST = 1 << 20, LINES_MOST = 1000 };

static FILE *qmp_dial(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct timeval patience = { .tv_sec = PATIENCE_S };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	FILE *file;

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	if (fd < 0)
		return NULL;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	file = connect(fd, (struct sockaddr *)&to, sizeof(to)) ? NULL : fdopen(fd, "re");
	if (!file)
		close(fd);
	return file;
}

/* A line of at most LINE_MOST bytes; false when it is longer, or takes longer. */
static bool qmp_read_line(FILE *file, char *line, int64_t until)
{
	size_t n = 0;
	int c = 0;

	while (c != '\n' && n < LINE_MOST - 1 && (c = getc(file)) != EOF) {
		line[n++] = (char)c;
		if (clock_steady_ms() > until)
			return false;
	}
	line[n] = '\0';
	return c == '\n';
}

/* Reads the next line that is no event. */
static json_t *qmp_hear(FILE *file)
{
	char *line = malloc(LINE_MOST);
	int64_t until = clock_steady_ms() + PATIENCE_S * 1000;
	json_t *said = NULL;

	for (int i = 0; line && !said && i < LINES_MOST && clock_steady_ms() <= until;
	     i++) {
		if (!qmp_read_line(file, line, until))
			break;
		said = json_loads(line, 0, NULL);
		if (said && (!json_is_object(said) || json_object_get(said, "event"))) {
			json_decref(said);
			said = NULL;
		}
	}
	free(line);
	return said;
}

static json_t *qmp_say(FILE *file, const char *command, json_t *args)
{
	json_t *said = json_pack("{ss,so*}", "execute", command, "arguments", args);
	char *text = said ? json_dumps(said, JSON_COMPACT) : NULL;
	size_t n = text ? strlen(text) : 0;
	int sent = text && send(fileno(file), text, n, MSG_NOSIGNAL) == (ssize_t)n &&
		   send(fileno(file), "\n", 1, MSG_NOSIGNAL) == 1;

	free(text);
	json_decref(said);
	return sent ? qmp_hear(file) : NULL;
}

static int qmp_judge(const char *command, const json_t *said, struct fault *f)
{
	const json_t *error = json_object_get(said, "error");
	const char *why = json_string_value(json_object_get(error, "desc"));

	if (!said)
		return fault_set(f, FAULT_UNAVAILABLE, "", "QEMU does not answer %s",
				 command);
	if (error)
		return fault_set(f, FAULT_IO, "", "QEMU: %s: %.180s", command,
				 why ? why : "refused");
	return 0;
}

int qmp_ask(const char *socket, const char *command, json_t *args, json_t **answer,
	    struct fault *f)
{
	FILE *file = qmp_dial(socket);
	json_t *said = NULL;
	int rc;

	if (!file) {
		json_decref(args);
		return fault_set(f, FAULT_UNAVAILABLE, "", "QEMU's monitor: %s",
				 strerror(errno));
	}
	json_decref(qmp_hear(file)); /* its greeting */
	json_decref(qmp_say(file, "qmp_capabilities", NULL));
	said = qmp_say(file, command, args);
	rc = qmp_judge(command, said, f);
	if (rc == 0 && answer)
		*answer = json_incref(json_object_get(said, "return"));
	json_decref(said);
	fclose(file);
	return rc;
}
