/*
 * settings - a state's configuration, network and secret.
 */
#include "core/home/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/nic.h"
#include "core/home/home_config.h"
#include "storage/durable.h"

const char *home_keep(struct home *h, const char *text)
{
	size_t n = strlen(text) + 1;
	char *at = h->texts + h->texts_used;

	if (n > sizeof(h->texts) - h->texts_used)
		return NULL;
	memcpy(at, text, n);
	h->texts_used += n;
	return at;
}

/* --- the configuration -------------------------------------------------- */

static void settings_keep_texts(struct home *h, struct fault *f)
{
	for (size_t i = 0; i < record_config.n_fields; i++) {
		const struct field *key = &record_config.fields[i];
		const char **at = (const char **)((char *)&h->settings.config + key->at);

		if (key->type->kind == KIND_TEXT && *at && !(*at = home_keep(h, *at)))
			fault_set(f, FAULT_INVALID, "", "%s is too long", key->name);
	}
}

/* Checks the address range, which its pattern alone does not. */
static int settings_check_range(struct config_set *set, const struct config *c,
				struct fault *f)
{
	const struct field *key = field_find(&record_config, "network.range");
	struct fault why = { 0 };
	struct nic_range range;

	if (!c->network_range || nic_range_parse(c->network_range, &range, &why) == 0)
		return 0;
	fault_set(f, FAULT_INVALID, "", "%.100s: %s", config_whence(set, key), why.text);
	return fault_hint(f, "%s", why.hint);
}

/* The vault is in the state folder unless the configuration names another. */
static int load_config(struct home *h, const char *const *flags, struct fault *f)
{
	struct config *c = &h->settings.config;
	struct config_set set = { 0 };

	h->flags = flags;
	if (config_load(&set, h->dir, flags, f) == 0) {
		config_read(&set, c);
		settings_check_range(&set, c, f);
		settings_keep_texts(h, f);
	}
	config_release(&set);
	if (c->vault_root)
		snprintf(h->vault, sizeof(h->vault), "%s", c->vault_root);
	else
		snprintf(h->vault, sizeof(h->vault), "%s/vault", h->dir);
	return f->code;
}

/* Names that the state gives to parts of the machine end in the last digits of its id,
 * which is that of place_run().  A state without a configured range gets a network of its
 * own: one of the 1,024 in 10.64.0.0/10 that hold 4,093 VMs. */
static int find_network(struct home *h, struct fault *f)
{
	struct settings *s = &h->settings;
	char text[32];
	struct stat st;
	unsigned tag;

	if (stat(h->dir, &st))
		return fault_set(f, FAULT_IO, "", "%.150s: %m", h->dir);
	tag = (unsigned)st.st_ino & 0xffff;
	snprintf(text, sizeof(text), "%04x", tag);
	s->tag = home_keep(h, text);
	s->network_range = s->config.network_range;
	if (!s->network_range) {
		snprintf(text, sizeof(text), "10.%u.%u.0/20", 64 + (tag >> 4 & 63),
			 (tag & 15) << 4);
		s->network_range = home_keep(h, text);
	}
	if (!s->tag || !s->network_range)
		return fault_set(f, FAULT_INVALID, "", "texts are too long");
	return 0;
}

/* --- the secret ----------------------------------------------------------------- */

static int read_secret(int fd, uint8_t secret[32], const char *path, struct fault *f)
{
	ssize_t n = read(fd, secret, 32);

	if (n == 32)
		return 0;
	fault_set(f, FAULT_IO, "", "%.150s has %zd bytes instead of 32", path, n);
	return fault_hint(f,
			  "put it back (a backup has it as FILE.secret), or remove it, "
			  "and: cadre restore FILE");
}

/* Writes the secret whole under another name first: processes that start together agree
 * on one secret, and a crash never leaves half of one. */
static int make_secret(const char *path, struct fault *f)
{
	char temp[4300];
	uint8_t secret[32];
	int fd, rc = 0;

	snprintf(temp, sizeof(temp), "%s.%d", path, getpid());
	fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return fault_set(f, FAULT_IO, "", "cannot make %.150s: %m", temp);
	if (getrandom(secret, 32, 0) != 32 || write(fd, secret, 32) != 32 || fsync(fd) ||
	    (link(temp, path) && errno != EEXIST) || dir_sync_above(path))
		rc = fault_set(f, FAULT_IO, "", "cannot make %.150s: %m", path);
	close(fd);
	unlink(temp);
	return rc;
}

/* The only way in which a program comes by the secret, which hosts that share a state
 * must have in common.  The secret is not a row of the state: a reader of a copy of
 * state.db would have the tokens of all agents. */
static int load_secret(struct home *h, bool create, struct fault *f)
{
	char path[4200];
	int fd, rc;

	snprintf(path, sizeof(path), "%s/secret", h->dir);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		if (!create) {
			fault_set(f, FAULT_NOT_FOUND, "/home",
				  "there is no state at %.150s", h->dir);
			return fault_hint(f, "make one: cadre init; a state.db brought "
					     "here needs its `secret` as well");
		}
		if (make_secret(path, f) < 0)
			return f->code;
		fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	}
	if (fd < 0)
		return fault_set(f, FAULT_IO, "", "cannot read %.150s: %m", path);
	rc = read_secret(fd, h->settings.secret, path, f);
	close(fd);
	return rc;
}

int settings_renew(struct home *h, struct fault *f)
{
	return load_secret(h, false, f);
}

/* --- all of them ------------------------------------------------------------ */

int settings_load(struct home *h, const char *const *flags, bool create, struct fault *f)
{
	if (load_config(h, flags, f) < 0 || find_network(h, f) < 0)
		return f->code;
	/* A lost state may have lost its secret too; no new one is made for it. */
	return h->gone ? 0 : load_secret(h, create, f);
}
