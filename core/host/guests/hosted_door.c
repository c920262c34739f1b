#include "core/host/guests/hosted_door.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "core/access/access_door.h"
#include "core/host/conn.h"
#include "core/host/guests/hosted_guest.h"

/* --- address ----------------------------------------------------------------------- */

static bool is_ip(const char *s)
{
	unsigned char ip[16];

	return inet_pton(AF_INET, s, ip) == 1 || inet_pton(AF_INET6, s, ip) == 1;
}

/* The port of ADDRESS:PORT or [ADDRESS]:PORT; 0: `address` has another form. */
static int split_port(const char *address)
{
	char ip[48];
	const char *colon = strrchr(address, ':');
	size_t n = colon ? (size_t)(colon - address) : 0;
	long port = colon ? strtol(colon + 1, NULL, 10) : 0;

	if (n > 2 && *address == '[' && address[n - 1] == ']') {
		address++;
		n -= 2;
	}
	if (n == 0 || n >= 48 || port < 1 || port > 65535)
		return 0;
	memcpy(ip, address, n);
	ip[n] = '\0';
	return is_ip(ip) ? (int)port : 0;
}

void door_hear(struct hosted_guest *t, const char *address)
{
	snprintf(t->http, sizeof(t->http), "%s", address ? address : "");
}

/* The IP address of the guest's machine, from the host's own data; NULL: unknown. Programs in
 * the machine may not choose this address, since teammates send their tokens to this address. */
static const char *known_ip(const struct hosted_guest *t)
{
	if (*t->ip)
		return t->ip;
	if (t->address.kind == LINK_UNIX)
		return "127.0.0.1";
	return t->address.kind == LINK_TCP ? t->address.path : NULL;
}

const char *door_url(const struct hosted_guest *t, struct arena *a)
{
	int port = split_port(t->http);
	const char *ip = known_ip(t);

	if (!port || !ip)
		return "";
	return arena_printf(a, strchr(ip, ':') ? "http://[%s]:%d" : "http://%s:%d", ip,
			    port);
}

/* --- who ---------------------------------------------------------------------------- */

static bool hosted_door_is_name(const struct op *op, const char *key)
{
	const struct field *field = field_find(op->in, key);

	return field && strcmp(field->name, key) == 0;
}

/* If an argument is named by an alias of its field, gives the argument the field's own name.
 * Without the renaming, the call could read an alias instead of the value that this file sets
 * under the field's name. */
static void spell(const struct op *op, json_t *args)
{
	for (size_t i = 0; i < op->in->n_fields; i++) {
		const struct field *field = &op->in->fields[i];

		for (const char *const *alias = field->aliases; alias && *alias;
		     alias++) {
			json_t *value = json_object_get(args, *alias);

			if (!value || hosted_door_is_name(op, *alias))
				continue;
			json_object_set(args, field->name, value);
			json_object_del(args, *alias);
		}
	}
}

/* Sets the inbox's owner, and drops the flag that would make the call wait. A call at a door
 * never waits. */
static void set_owner(const struct conn *c, const struct op *op, json_t *args)
{
	json_t *name = json_string(c->identity.agent);

	if (op->owner->flags & FIELD_LIST)
		name = json_pack("[o]", name);
	json_object_set_new(args, op->owner->name, name);
	json_object_del(args, "team");
	if (op->when)
		json_object_del(args, op->when->name);
}

/* Refuses a sender other than the token's agent. At a door even a lead cannot send for other
 * agents. */
static int check_sender(const json_t *args, const char *token, struct fault *f)
{
	json_t *said = json_object_get(args, "from");
	const char *from = json_string_value(said);
	size_t n = strcspn(token, ".");

	if (!said || json_is_null(said) ||
	    (from && strlen(from) == n && strncmp(from, token, n) == 0))
		return 0;
	fault_set(f, FAULT_DENIED, "/from", "the sender must be the token's agent: %.*s",
		  n > 64 ? 64 : (int)n, token);
	return fault_hint(f, "Leave `from` out.");
}

int door_limit(const struct conn *c, const struct op *op, json_t *args, const char *token,
	       struct fault *f)
{
	if (!c->pinned || !c->identity.agent || !c->identity.token)
		return fault_set(f, FAULT_INVALID, "/door", "only a guest has a door");
	if (!json_is_object(args))
		return fault_set(f, FAULT_INVALID, "/args", "no object");
	spell(op, args);
	if (!op->owner)
		return fault_set(f, FAULT_DENIED, "/op",
				 "%s cannot be called through a door", op->name);
	set_owner(c, op, args);
	return check_sender(args, token, f);
}

void door_identify(const struct conn *c, struct call *call, const char *token)
{
	struct identity who = {
		.level = WHO_OBSERVER,
		.team = c->identity.team,
		.agent = "",
		.token = "",
		.door = arena_strdup(&call->arena, c->identity.token),
		.kept = true,
	};
	const char *kept = arena_strdup(&call->arena, token);

	door_split(&call->arena, kept, &who.agent, &who.token);
	call->identity = who;
}
