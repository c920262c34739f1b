#include "core/base/link_address.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A form of address: its name, an example address for the fault's text, and the function that
 * reads the text behind the colon. */
struct form {
	const char *name, *example;
	bool (*read)(const char *text, struct link_address *out);
};

static bool link_address_read_path(const char *text, struct link_address *out)
{
	size_t n = strlen(text);

	if (text[0] != '/' || n >= sizeof(out->path))
		return false;
	memcpy(out->path, text, n + 1);
	return true;
}

/* Reads a number between `least` and `most` that is written in decimal digits only. */
static bool link_address_read_number(const char *text, int64_t least, int64_t most,
				     int64_t *out)
{
	size_t n = strspn(text, "0123456789");

	if (n == 0 || n > 10 || text[n])
		return false;
	*out = strtoll(text, NULL, 10);
	return *out >= least && *out <= most;
}

/* Reads `any` or a CID: 1 is this machine itself and 2 is the machine's host. 0, which is the
 * hypervisor, is refused. */
static bool read_cid(const char *text, struct link_address *out)
{
	if (!strcmp(text, "any")) {
		out->number = LINK_CID_ANY;
		return true;
	}
	return link_address_read_number(text, 1, UINT32_MAX - 1, &out->number);
}

static bool read_tcp(const char *text, struct link_address *out)
{
	const char *colon = strrchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : 0;

	if (n == 0 || !link_address_read_number(colon + 1, 1, 65534, &out->number))
		return false;
	if (text[0] == '[') {
		if (n < 3 || text[n - 1] != ']')
			return false;
		text++;
		n -= 2;
	} else if (memchr(text, ':', n)) {
		return false;
	}
	if (n >= sizeof(out->path) || strcspn(text, " \t\r\n/") < n)
		return false;
	memcpy(out->path, text, n);
	out->path[n] = '\0';
	return true;
}

static const struct form forms[LINK_KINDS] = {
	[LINK_UNIX] = { "unix", "unix:/FOLDER", link_address_read_path },
	[LINK_VSOCK] = { "vsock", "vsock:CID", read_cid },
	[LINK_SERIAL] = { "serial", "serial:/FOLDER", link_address_read_path },
	[LINK_HYBRID] = { "hybrid", "hybrid:/PATH", link_address_read_path },
	[LINK_TCP] = { "tcp", "tcp:HOST:PORT", read_tcp },
};

int link_parse(const char *text, const char *where, struct link_address *out,
	       struct fault *f)
{
	size_t n = strcspn(text, ":");

	*out = (struct link_address){ 0 };
	for (int kind = 0; kind < LINK_KINDS; kind++) {
		const struct form *form = &forms[kind];

		if (strncmp(text, form->name, n) || form->name[n])
			continue;
		out->kind = (enum link_kind)kind;
		if (text[n] && form->read(text + n + 1, out))
			return 0;
		return fault_set(f, FAULT_INVALID, where, "'%.100s' is not like %s", text,
				 form->example);
	}
	fault_set(f, FAULT_INVALID, where, "'%.100s' is not the address of a guest",
		  text);
	return fault_hint(f, "Write it as unix:/FOLDER, vsock:CID, serial:/FOLDER, "
			     "hybrid:/PATH or tcp:HOST:PORT.");
}
