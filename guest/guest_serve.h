/*
 * guest_serve - the table of the host's messages, and the functions that serve these messages.
 *
 * A service is a function that serves requests of one type. The service answers the request by
 * guest_request_answer(), or fills `f` and returns the negative code of `f`. If a service
 * returns a negative code, the caller of the service answers with the fault. A service that
 * needs time sets q->gone, returns 0 and answers later.
 */
#ifndef GUEST_GUEST_SERVE_H
#define GUEST_GUEST_SERVE_H

#include "guest/guest_peer.h"
#include "ops.gen.h"

typedef int guest_service(struct guest_request *q, struct fault *f);

/* services of guest_exec.c */
guest_service answer_exec, answer_background, answer_poll, answer_kill;
guest_service answer_turn, answer_turn_stop;
void jobs_free(struct guest *g);

/* services of guest_file.c */
guest_service answer_read, answer_download, answer_write, answer_upload, answer_edit;
guest_service answer_list;

/* services of guest_daemon.c */
guest_service answer_message, answer_push, answer_results;
/* Starts waiting assignments while fewer than four run, and sends the hosts a heartbeat. */
void guest_assignment_work(struct guest *g);
void guest_assignment_beat(struct guest *g); /* sends the hosts a heartbeat */
void guest_assignment_call_off(struct guest *g); /* ends all running assignments */

/*
 * upload - receives a file that is sent in parts, in any order. When all parts have arrived,
 * the file is put in its place.
 */

enum { UPLOADS = 64 };

struct upload;

struct upload_part {
	const char *id; /* id of the upload, which is the same for all parts */
	const char *path, *where;
	int64_t offset;
	bool has_size, has_mode; /* has_size: the part is the last part */
	int64_t size, mode;
};

/* file_uploads_tick() drops the uploads that have received no part for too long.
 * file_uploads_free() drops all uploads. */
void file_uploads_tick(struct guest *g);
void file_uploads_free(struct guest *g);

#endif
