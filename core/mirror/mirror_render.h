/*
 * mirror_render - rows as the text that people read.
 *
 * Pure: a view in, a page out, the same bytes for the same rows.  Strings in
 * the frontmatter are always quoted; a line of somebody's text that would read
 * as a section of its own gets a backslash before it.  A printed file must not control
 * the reader's terminal: control characters and marks of direction are question marks in
 * a file, and escaped in frontmatter and JSON.  The state keeps the original characters.
 */
#ifndef CORE_MIRROR_MIRROR_RENDER_H
#define CORE_MIRROR_MIRROR_RENDER_H

#include "core/vault/vault_page.h"
#include "core/mirror/mirror_rows.h"

/* Renders a task into `p`, which is empty ({ 0 }) or was rendered before: it is emptied
 * first. */
void render_task(const struct task_view *v, struct page *p);
void render_card(const struct agent_view *v, struct page *p);
void render_team(const struct team_view *v, struct page *p);
void render_board(const struct board_view *v, struct page *p); /* INDEX.md */

/* Appends a message as the log shows it; appends the beginning of a day's file. */
void render_mail(const struct mirror_mail_row *row, struct text *out);
void render_mail_header(const char *team, int64_t day, struct text *out);

#endif
