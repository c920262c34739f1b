#include "core/host/config.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum value { VALUE_INT, VALUE_TEXT, VALUE_PATH };

struct key {
	const char *name;
	enum value value;
	size_t at; /* in struct settings, or struct home for a path */
	int64_t scale; /* of an int: seconds here are milliseconds inside */
	int64_t max;
};

#define AT(field) offsetof(struct settings, field)

static const struct key keys[] = {
	{ "inbox.capacity", VALUE_INT, AT(inbox_capacity), 1, 1000000 },
	{ "inbox.lease_seconds", VALUE_INT, AT(receive_lease_s), 1, 86400 },
	{ "assignments.max_open", VALUE_INT, AT(assignments_open), 1, 1000000 },
	{ "task.lease_seconds", VALUE_INT, AT(lease_ms), 1000, 86400 },
	{ "task.max_attempts", VALUE_INT, AT(max_attempts), 1, 1000 },
	{ "team.default", VALUE_TEXT, AT(default_team), 0, 64 },
	{ "team.max_vms", VALUE_INT, AT(max_vms), 1, 1000 },
	{ "limits.max_vms_per_team", VALUE_INT, AT(max_vms_per_team), 1, 1000 },
	{ "limits.max_total_vms", VALUE_INT, AT(max_total_vms), 1, 100000 },
	{ "network.range", VALUE_TEXT, AT(network_range), 0, 32 },
	{ "keep_days", VALUE_INT, AT(keep_days), 1, 36500 },
	{ "vault.extensions", VALUE_TEXT, AT(vault_extensions), 0, 64 },
	{ "vault.root", VALUE_PATH, offsetof(struct home, vault), 0, 4000 },
};

enum { N_KEYS = sizeof(keys) / sizeof(keys[0]), FILE_MAX = 64 << 10 };

struct reader {
	struct home *home;
	size_t *used;
	const char *where; /* a path, or the variable */
	int line; /* 0: a variable */
	struct fault *fault;
};

static int refuse(struct reader *r, const char *what, const char *key)
{
	char line[16] = "";

	if (r->line)
		snprintf(line, sizeof(line), ":%d", r->line);
	return fault_set(r->fault, FAULT_INVALID, "", "%.120s%s: %s: %.60s", r->where,
			 line, what, key);
}

/* How many characters must change; small words only. */
static int distance(const char *a, const char *b)
{
	int row[80];
	size_t n = strlen(b);

	if (n >= 80)
		return 80;
	for (size_t j = 0; j <= n; j++)
		row[j] = (int)j;
	for (size_t i = 0; a[i]; i++) {
		int corner = row[0]++;

		for (size_t j = 0; j < n; j++) {
			int best = corner + (a[i] != b[j]);

			corner = row[j + 1];
			best = best < corner + 1 ? best : corner + 1;
			row[j + 1] = best < row[j] + 1 ? best : row[j] + 1;
		}
	}
	return row[n];
}

static int refuse_key(struct reader *r, const char *name)
{
	const struct key *nearest = keys;

	for (size_t i = 1; i < N_KEYS; i++)
		if (distance(name, keys[i].name) < distance(name, nearest->name))
			nearest = &keys[i];
	refuse(r, "unknown key", name);
	return fault_hint(r->fault, "did you mean %s?", nearest->name);
}

static int set_int(struct reader *r, const struct key *key, const char *text)
{
	char digits[32], *end;
	size_t n = 0;
	long long value;

	/* TOML allows 1_000. */
	for (const char *s = text; *s && n < sizeof(digits) - 1; s++)
		if (*s != '_')
			digits[n++] = *s;
	digits[n] = '\0';
	value = strtoll(digits, &end, 10);
	if (end == digits || *end || value < 0 || value > key->max)
		return refuse(r, "not a number from 0 to its limit", key->name);
	memcpy((char *)&r->home->settings + key->at, &(int64_t){ value * key->scale },
	       sizeof(int64_t));
	return 0;
}

static int set_text(struct reader *r, const struct key *key, const char *text)
{
	size_t n = strlen(text) + 1;
	char *at = r->home->texts + *r->used;

	if (n > (size_t)key->max || n > sizeof(r->home->texts) - *r->used)
		return refuse(r, "too long", key->name);
	memcpy(at, text, n);
	*r->used += n;
	memcpy((char *)&r->home->settings + key->at, &at, sizeof(at));
	return 0;
}

static int set_path(struct reader *r, const struct key *key, const char *text)
{
	char *out = (char *)r->home + key->at;

	if (text[0] != '/')
		return refuse(r, "not an absolute path", key->name);
	if (strlen(text) > (size_t)key->max)
		return refuse(r, "too long", key->name);
	snprintf(out, sizeof(r->home->vault), "%s", text);
	return 0;
}

static int set_key(struct reader *r, const struct key *key, const char *text)
{
	switch (key->value) {
	case VALUE_INT:
		return set_int(r, key, text);
	case VALUE_TEXT:
		return set_text(r, key, text);
	case VALUE_PATH:
		return set_path(r, key, text);
	}
	return 0;
}

/* --- the file ------------------------------------------------------------------ */

static char *trim(char *s)
{
	char *end = s + strlen(s);

	while (end > s && strchr(" \t\r", end[-1]))
		*--end = '\0';
	return s + strspn(s, " \t");
}

/* Cuts the value out of what is behind `=`: a number, or a quoted text without
 * escapes.  NULL when it is neither. */
static char *read_value(char *s)
{
	char quote = *s, *end;

	if (quote != '"' && quote != '\'') {
		s[strcspn(s, "#")] = '\0';
		return trim(s);
	}
	end = strchr(++s, quote);
	if (!end || (quote == '"' && memchr(s, '\\', (size_t)(end - s))))
		return NULL;
	*end++ = '\0';
	end += strspn(end, " \t\r");
	return *end && *end != '#' ? NULL : s;
}

static int read_pair(struct reader *r, const char *section, char *line)
{
	char name[128], *value = strchr(line, '=');

	if (!value)
		return refuse(r, "neither a [section] nor key = value", line);
	*value++ = '\0';
	snprintf(name, sizeof(name), "%s%s%s", section, *section ? "." : "", trim(line));
	value = read_value(trim(value));
	if (!value)
		return refuse(r, "not a value that is understood", name);
	for (size_t i = 0; i < N_KEYS; i++)
		if (!strcmp(keys[i].name, name))
			return set_key(r, &keys[i], value);
	return refuse_key(r, name);
}

static int read_section(struct reader *r, char section[64], char *line)
{
	char *end = strchr(line, ']');

	if (!end || end - line > 60)
		return refuse(r, "a section without its end", line);
	*end = '\0';
	snprintf(section, 64, "%s", trim(line + 1));
	return 0;
}

static int read_lines(struct reader *r, char *text)
{
	char section[64] = "", *next;
	int rc = 0;

	for (char *line = text; line && rc >= 0; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		r->line++;
		line = trim(line);
		if (*line == '[')
			rc = read_section(r, section, line);
		else if (*line && *line != '#')
			rc = read_pair(r, section, line);
	}
	return rc;
}

static int read_file(struct reader *r, int fd)
{
	struct stat st;
	char *text;
	ssize_t n;
	int rc;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
		return refuse(r, "not a file of at most 64 KiB", "");
	text = malloc((size_t)st.st_size + 1);
	n = text ? read(fd, text, (size_t)st.st_size) : -1;
	if (n < 0)
		return free(text), refuse(r, "cannot be read", "");
	text[n] = '\0';
	rc = read_lines(r, text);
	free(text);
	return rc;
}

/* Opens the nearest cadre.toml and leaves its path in `path`; -1: none. */
static int find_file(char path[4200])
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char dir[4096], *slash;
	int fd = -1;

	slash = getcwd(dir, sizeof(dir)) ? dir + strlen(dir) : NULL;
	for (; fd < 0 && slash; slash = strrchr(dir, '/')) {
		*slash = '\0';
		snprintf(path, 4200, "%s/cadre.toml", dir);
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (fd >= 0)
		return fd;
	if (config && *config)
		snprintf(path, 4200, "%s/cadre/cadre.toml", config);
	else if (home)
		snprintf(path, 4200, "%s/.config/cadre/cadre.toml", home);
	else
		return -1;
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* --- the environment --------------------------------------------------------------- */

static int read_variables(struct reader *r)
{
	char name[64];
	const char *value;

	for (size_t i = 0; i < N_KEYS; i++) {
		int n = snprintf(name, sizeof(name), "CADRE_%s", keys[i].name);

		for (int k = 6; k < n; k++)
			name[k] = (char)(name[k] == '.' ? '_' : toupper(name[k]));
		r->where = name;
		value = getenv(name);
		if (value && *value && set_key(r, &keys[i], value) < 0)
			return r->fault->code;
	}
	return 0;
}

int config_load(struct home *h, size_t *used, struct fault *f)
{
	char path[4200];
	struct reader r = { h, used, path, 0, f };
	int fd = find_file(path), rc = 0;

	if (fd >= 0) {
		rc = read_file(&r, fd);
		close(fd);
	}
	r.line = 0;
	return rc < 0 ? rc : read_variables(&r);
}
