/*
 * guest_serve - which message of the host is whose, as a table.
 *
 * A service answers the request (guest_request_answer) or returns a negative fault
 * code with `f` filled, and is answered for.  A service that needs time returns 0,
 * answers later and has set q->gone.
 */
#ifndef GUEST_GUEST_SERVE_H
#define GUEST_GUEST_SERVE_H

#include "guest/guest_peer.h"
#include "ops.gen.h"

typedef int guest_service(struct guest_request *q, struct fault *f);

/* guest_exec.c */
guest_service answer_exec, answer_background, answer_poll, answer_kill;
guest_service answer_turn, answer_turn_stop;
void jobs_free(struct guest *g);

/* guest_file.c */
guest_service answer_read, answer_download, answer_write, answer_upload, answer_edit;
guest_service answer_list;

/* guest_daemon.c */
guest_service answer_message, answer_push, answer_results;
/* Starts what waits while fewer than four run, and tells the hosts what runs and what is there. */
void guest_assignment_work(struct guest *g);
void guest_assignment_beat(struct guest *g); /* tells it without starting anything */
void guest_assignment_call_off(struct guest *g); /* all that runs */

/*
 * upload - a file that comes in parts, in any order, and is there when all are.
 */

enum { UPLOADS = 64 };

struct upload;

struct upload_part {
	const char *id; /* the same for all parts; upload_take() needs one */
	const char *path, *where;
	int64_t offset;
	bool has_size, has_mode; /* has_size: this part is the last one */
	int64_t size, mode;
};

/* Drop uploads: those without a part for too long, or all of them. */
void file_uploads_tick(struct guest *g);
void file_uploads_free(struct guest *g);

#endif
