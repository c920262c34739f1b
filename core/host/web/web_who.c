/* web_who - from where a request comes, and for whom. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/host/web/web_inside.h"

/* --- places ------------------------------------------------------------------------- */

/* The host's name of "NAME:PORT", "[::1]:PORT" or either alone. */
static size_t name_len(const char *authority)
{
	return *authority == '[' ? strcspn(authority, "]") + 1 : strcspn(authority, ":");
}

static bool is_word_of(const char *list, const char *word, size_t n)
{
	while (*list) {
		size_t len = strcspn(list += strspn(list, " ,"), " ,");

		if (len == n && n && strncasecmp(list, word, n) == 0)
			return true;
		list += len;
	}
	return false;
}

/* Whether a request is meant for this door by its Host: a name that leads back to this machine,
 * or one that the configuration says.  A page of elsewhere whose name was made to lead here
 * sends its own. */
static bool is_our_name(const struct host *host, const char *authority)
{
	const struct config *config = &host->settings.config;
	size_t n = name_len(authority);

	return is_word_of("localhost 127.0.0.1 [::1]", authority, n) ||
	       is_word_of(config->http_address, authority, n) ||
	       (config->http_hosts && is_word_of(config->http_hosts, authority, n));
}

/* Whether an Origin is the same place as the Host. */
static bool is_same_origin(const char *origin, const char *authority)
{
	const char *at = strstr(origin, "://");

	return at && strcasecmp(at + 3, authority) == 0;
}

bool web_is_ours(struct http *x, const struct web_door *door, struct fault *f)
{
	const char *authority = http_header(x, "host"),
		   *origin = http_header(x, "origin");

	if (door->local && !origin)
		return true; /* no browser reaches it */
	if (!authority || !is_our_name(door->host, authority)) {
		fault_set(f, FAULT_DENIED, "", "this is no name of the host: %.80s",
			  authority ? authority : "none");
		fault_hint(f, "Call it by its address, or add the name to http.hosts.");
		return false;
	}
	if (origin && !is_same_origin(origin, authority)) {
		fault_set(f, FAULT_DENIED, "", "a page of %.120s may not call here",
			  origin);
		fault_hint(f, "Call it from a page of this host, or from no page.");
		return false;
	}
	return true;
}

#define TOKEN_SIGNS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* --- callers ------------------------------------------------------------------------- */

/* The token that a request shows, or NULL. */
static const char *shown_token(struct http *x)
{
	const char *said = http_header(x, "authorization");
	size_t n;

	if (!said || strncasecmp(said, "Bearer ", 7) != 0)
		return NULL;
	said += 7 + strspn(said + 7, " ");
	n = strspn(said, TOKEN_SIGNS);
	return n > 0 && n <= 128 && said[n] == '\0' ? said : NULL;
}

void web_cookie_name(const struct host *host, char name[WEB_COOKIE])
{
	snprintf(name, WEB_COOKIE, "cadre_%d", http_port(host->web->tcp.server));
}

/* Whether a request that a browser sends by itself, cookie and all, may count for its user: it
 * only reads, or it comes from a page of ours.  Browsers say from where they write. */
static bool is_meant(struct http *x)
{
	const char *site = http_header(x, "sec-fetch-site");

	if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
		return false;
	return strcmp(x->method, "GET") == 0 || strcmp(x->method, "HEAD") == 0 ||
	       http_header(x, "origin");
}

/* The token among the cookies of a header, or NULL. */
static const char *token_among(struct http *x, const char *at, const char *name)
{
	const size_t n = strlen(name);
	size_t len;

	for (; at; at = strchr(at, ';')) {
		at += strspn(at, "; ");
		len = strcspn(at, ";");
		if (strncmp(at, name, n) == 0 && at[n] == '=' && len - n - 1 <= 128 &&
		    strspn(at + n + 1, TOKEN_SIGNS) == len - n - 1)
			return arena_strndup(&x->arena, at + n + 1, len - n - 1);
	}
	return NULL;
}

/* The token that a browser keeps for us as a cookie, or NULL.  A proxy may have made several
 * headers of one. */
static const char *kept_token(struct http *x, const struct host *host)
{
	const char *token = NULL;
	char name[WEB_COOKIE];

	web_cookie_name(host, name);
	for (size_t i = 0; i < x->n_headers && !token && is_meant(x); i++)
		if (strcmp(x->headers[i].name, "cookie") == 0)
			token = token_among(x, x->headers[i].value, name);
	return token;
}

int web_identity(struct http *x, const struct web_door *door, struct identity *who,
		 struct fault *f)
{
	*who = (struct identity){
		.level = WHO_OBSERVER,
		.bearer = shown_token(x),
		.session = "http",
	};
	if (!who->bearer && !door->local && !http_header(x, "authorization"))
		who->bearer = kept_token(x, door->host);
	if (who->bearer)
		return 0;
	if (door->local && !http_header(x, "authorization")) {
		who->level = WHO_OPERATOR;
		who->team = door->host->home->settings.config.team_default;
		return 0;
	}
	fault_set(f, FAULT_DENIED, "/token",
		  "a request says by a token for whom it calls");
	return fault_hint(f,
			  "Send `Authorization: Bearer TOKEN`; the operator makes one: "
			  "cadre token create --agent TEAM/NAME");
}
