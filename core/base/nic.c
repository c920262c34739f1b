#include "core/base/nic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PREFIX_LEAST = 8, PREFIX_MOST = 28, ID_DIGITS = 36 };

void nic_address(uint32_t ip, char text[16])
{
	snprintf(text, 16, "%u.%u.%u.%u", ip >> 24, ip >> 16 & 255, ip >> 8 & 255,
		 ip & 255);
}

/* Reads a decimal number up to `most` at *s, and moves *s behind the number and the character
 * `end`. */
static int nic_read_part(const char **s, char end, int most)
{
	char *after;
	long n;

	if (**s < '0' || **s > '9')
		return -1;
	n = strtol(*s, &after, 10);
	if (n > most || *after != end)
		return -1;
	*s = after + (end != '\0');
	return (int)n;
}

int nic_range_parse(const char *text, struct nic_range *range, struct fault *f)
{
	static const char ends[] = { '.', '.', '.', '/' };
	const char *s = text;
	char proper[16];
	uint32_t ip = 0, host;
	int part = 0, prefix;

	for (size_t i = 0; i < 4 && part >= 0; i++) {
		part = nic_read_part(&s, ends[i], 255);
		ip = ip << 8 | (uint32_t)part;
	}
	prefix = part < 0 ? -1 : nic_read_part(&s, '\0', 32);
	if (prefix < PREFIX_LEAST || prefix > PREFIX_MOST) {
		fault_set(f, FAULT_INVALID, "/network/range",
			  "network.range is not a range of IPv4 addresses: %.40s", text);
		return fault_hint(f,
				  "Write the range as 10.99.0.0/16, with a prefix from "
				  "%d to %d.",
				  PREFIX_LEAST, PREFIX_MOST);
	}
	host = UINT32_MAX >> prefix;
	if (ip & host) {
		nic_address(ip & ~host, proper);
		fault_set(f, FAULT_INVALID, "/network/range",
			  "network.range has bits set behind its prefix: %.40s", text);
		return fault_hint(f, "Did you mean %s/%d?", proper, prefix);
	}
	*range = (struct nic_range){ ip, prefix };
	return 0;
}

int64_t nic_slots(const struct nic_range *range)
{
	return ((int64_t)1 << (32 - range->prefix)) - 2;
}

static uint8_t hex_byte(const char *digits)
{
	char two[3] = { digits[0], digits[1], '\0' };

	return (uint8_t)strtoul(two, NULL, 16);
}

/* Two ids differ in their last 12 digits, even if both are made at the same time. The rightmost
 * digits change most often from id to id, so the names of interfaces contain the last 8 digits. */
void nic_of(const struct nic_range *range, const char *tag, const char *id, int64_t slot,
	    struct nic *nic)
{
	const char *end = id + strnlen(id, ID_DIGITS);
	uint8_t *m;

	*nic = (struct nic){
		.mac = { 2 },
		.ip = range->base + (uint32_t)slot,
		.prefix = range->prefix,
	};
	m = nic->mac;
	for (int i = 1; i < 6; i++)
		m[i] = hex_byte(end - 12 + 2 * i);
	snprintf(nic->tap, sizeof(nic->tap), "cd%.8s-%.4s", end - 8, tag);
	snprintf(nic->mac_text, sizeof(nic->mac_text), "%02x:%02x:%02x:%02x:%02x:%02x",
		 m[0], m[1], m[2], m[3], m[4], m[5]);
	nic_address(nic->ip, nic->address);
	nic_address(range->base + 1, nic->gateway);
}
