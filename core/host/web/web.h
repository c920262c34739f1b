/*
 * web - the host's HTTP door: every operation of schema/ by its route, health, and who calls.
 *
 * It listens at http.address, the first free port from http.port on, where a client shows a
 * token (`Authorization: Bearer`), for anybody on the machine can connect there; and at a Unix
 * socket beside the host's own, whose clients are this user and so the operator.  The file
 * `endpoint` in the state folder holds the URL.
 *
 * A page in a browser may be anybody's, and sends what its visitor's browser can reach: a
 * request whose Host is not one of ours, or with an Origin of another place, is refused.
 */
#ifndef CORE_HOST_WEB_WEB_H
#define CORE_HOST_WEB_WEB_H

#include "core/http/http.h"

struct host;

enum { WEB_NOTED = 32 };

/* A place where it listens. */
struct web_door {
	struct host *host;
	struct http_server *server; /* NULL: none */
	bool local; /* the Unix socket: its clients are the operator */
};

struct scraper;
struct web_group;

/* Clients who follow the event log. */
struct web_feed {
	struct web_group *groups; /* one per team and kind of events */
	int64_t position; /* events up to this one are told */
	int64_t wanted; /* the newest event so far that somebody may want */
	bool reading;
	uv_timer_t alive; /* runs while there are groups */
	char incarnation[40]; /* of the state, as event.list tells it */
};

/* The host's. */
struct web {
	int logins; /* codes that are being exchanged */
	struct web_door tcp, local;
	struct host_socket listener; /* of `local` */
	/* Tokens whose use was written down of late. */
	struct {
		int64_t row, at;
	} noted[WEB_NOTED];
	unsigned noted_turn;
	char *openapi; /* made on first request; NULL: not yet */
	struct scraper *scrapers; /* clients that wait for the rows */
	bool scraping; /* the rows are being read */
};

#endif
