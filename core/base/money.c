#include "core/base/money.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { DOLLAR = 1000000, DECIMALS = 6 };

void money_write(int64_t millionths, char out[32])
{
	const char *sign = millionths < 0 ? "-" : "";
	const uint64_t all = millionths < 0 ? -(uint64_t)millionths
					    : (uint64_t)millionths;
	const unsigned rest = (unsigned)(all % DOLLAR);
	char digits[DECIMALS + 1];
	int n = DECIMALS;

	snprintf(digits, sizeof(digits), "%06u", rest);
	while (n > 2 && digits[n - 1] == '0')
		n--;
	snprintf(out, 32, "%s$%" PRIu64 "%s%.*s", sign, all / DOLLAR, rest ? "." : "",
		 rest ? n : 0, digits);
}

bool money_read(const char *text, int64_t *millionths)
{
	const bool before = *text == '$';
	const char *s = text + before;
	int64_t n = 0;
	int decimals = -1; /* -1: the point was not read yet */

	if (!isdigit((unsigned char)*s))
		return false;
	for (; (isdigit((unsigned char)*s) && decimals < DECIMALS) ||
	       (*s == '.' && decimals < 0);
	     s++) {
		if (n > INT64_MAX / 10 - 1)
			return false;
		if (*s != '.')
			n = n * 10 + (*s - '0');
		if (*s == '.' || decimals >= 0)
			decimals++;
	}
	for (int i = decimals < 0 ? 0 : decimals; i < DECIMALS; i++) {
		if (n > INT64_MAX / 10)
			return false;
		n *= 10;
	}
	*millionths = n;
	return before ? !*s : !strcmp(s, "$");
}
