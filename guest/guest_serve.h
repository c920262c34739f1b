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

/* guest_exec.c */
int answer_exec(struct guest_request *q, struct fault *f);
/* background.c */
int answer_background(struct guest_request *q, struct fault *f);
int answer_poll(struct guest_request *q, struct fault *f);
int answer_kill(struct guest_request *q, struct fault *f);
void jobs_free(struct guest *g);
/* guest_turn.c */
int answer_turn(struct guest_request *q, struct fault *f);
int answer_turn_stop(struct guest_request *q, struct fault *f);

/* guest_file.c */
int answer_read(struct guest_request *q, struct fault *f);
int answer_download(struct guest_request *q, struct fault *f);
int answer_write(struct guest_request *q, struct fault *f);
int answer_upload(struct guest_request *q, struct fault *f);
int answer_edit(struct guest_request *q, struct fault *f);

int answer_list(struct guest_request *q, struct fault *f);

/* guest_daemon.c */
int answer_message(struct guest_request *q, struct fault *f);
int answer_push(struct guest_request *q, struct fault *f);
int answer_results(struct guest_request *q, struct fault *f);
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
