#include "tests/lib/notes.h"

#include <stdio.h>
#include <string.h>

#include "core/machine/yaml.h"

#define STAGE ".cadre-notes/"

static struct fake_notes *fake_of(const void *self)
{
	return (struct fake_notes *)(uintptr_t)self;
}

static struct fake_note *find(const void *self, const char *path)
{
	struct fake_notes *fake = fake_of(self);

	for (int i = 0; i < FAKE_NOTES; i++)
		if (strcmp(fake->files[i].path, path) == 0)
			return &fake->files[i];
	return NULL;
}

/* --- reading ----------------------------------------------------------------------- */

static int look(const void *self, const char *path, struct note_stamp *out,
		struct fault *f)
{
	const struct fake_note *note = find(self, path);

	(void)f;
	if (note)
		*out = note->stamp;
	return note != NULL;
}

static int read_note(const void *self, const char *path, struct note_part part,
		     struct text *out, struct note_stamp *stamp, struct fault *f)
{
	const struct fake_note *note = find(self, path);
	int64_t left;

	if (!look(self, path, stamp, f))
		return 0;
	left = note->stamp.size - part.offset;
	if (left > 0)
		text_add(out, note->data + part.offset,
			 (size_t)(left < part.most ? left : part.most));
	return 1;
}

/* Whether the note is below the folder. `child` gets the path of the note, or of the folder's
 * subfolder that holds the note. */
static bool child_of(const struct fake_note *note, const char *folder,
		     char child[FAKE_PATH], bool *is_folder)
{
	size_t n = strlen(folder), end;

	if (!*note->path || (*note->path == '.' && *folder != '.'))
		return false;
	if (n && (strncmp(note->path, folder, n) != 0 || note->path[n++] != '/'))
		return false;
	end = n + strcspn(note->path + n, "/");
	*is_folder = note->path[end] != '\0';
	snprintf(child, FAKE_PATH, "%.*s", (int)end, note->path);
	return true;
}

static bool seen_before(const struct fake_notes *fake, int i, const char *folder,
			const char *child)
{
	char other[FAKE_PATH];
	bool is_folder;

	while (--i >= 0)
		if (child_of(&fake->files[i], folder, other, &is_folder) &&
		    strcmp(other, child) == 0)
			return true;
	return false;
}

static int walk(const void *self, const char *folder, notes_skip *skip, notes_each *each,
		void *with, struct fault *f)
{
	const struct fake_notes *fake = self;
	bool any = !*folder;

	for (int i = 0; i < FAKE_NOTES; i++) {
		char child[FAKE_PATH];
		struct note_entry e = { .path = child };
		int rc;

		if (!child_of(&fake->files[i], folder, child, &e.folder))
			continue;
		any = true;
		if (seen_before(fake, i, folder, child) || (skip && skip(child)))
			continue;
		e.stamp = fake->files[i].stamp;
		rc = each(with, &e, f);
		if (rc == NOTES_ENTER && e.folder)
			rc = walk(self, child, skip, each, with, f) < 0 ? -1 : 0;
		if (rc < 0)
			return rc;
	}
	return any;
}

/* --- writing ----------------------------------------------------------------------- */

static int lock(const void *self, const char *path, const char *other, bool wait,
		struct fault *f)
{
	(void)self, (void)path, (void)other, (void)wait, (void)f;
	return 0;
}

static int lock_teams(const void *self, const char *team, const char *other, bool alone,
		      struct fault *f)
{
	(void)self, (void)team, (void)other, (void)alone, (void)f;
	return 0;
}

static void unlock(const void *self, int held)
{
	(void)self, (void)held;
}

static int lock_staged(const void *self, const char *staged, struct fault *f)
{
	(void)self, (void)staged, (void)f;
	return 0;
}

static int stage(const void *self, const char *path, const struct text *content,
		 struct note_move *out, struct arena *a, struct fault *f)
{
	struct fake_notes *fake = fake_of(self);
	struct fake_note *note = find(self, "");

	if (!note || content->len >= FAKE_BYTES)
		return fault_set(f, FAULT_UNAVAILABLE, "", "the disk is full");
	note->stamp = (struct note_stamp){ ++fake->last_ino, fake->now * 1000000,
					   (int64_t)content->len };
	snprintf(note->path, sizeof(note->path), STAGE "%d", (int)fake->last_ino);
	memcpy(note->data, content->data, content->len);
	out->from = arena_strdup(a, note->path);
	out->to = path;
	out->is = note->stamp;
	return 0;
}

static bool same(const struct note_stamp *a, const struct note_stamp *b)
{
	return a->ino == b->ino && a->mtime_ns == b->mtime_ns && a->size == b->size;
}

static bool made(const void *self, const struct note_move *move)
{
	const struct fake_note *note = find(self, move->from);

	return !note || !same(&note->stamp, &move->is);
}

static int make(const void *self, const struct note_move *move, struct fault *f)
{
	struct fake_note *note = find(self, move->from);
	struct fake_note *old = move->to ? find(self, move->to) : NULL;

	if (made(self, move))
		return 0;
	if (fake_of(self)->fail_make > 0) {
		fake_of(self)->fail_make--;
		return fault_set(f, FAULT_IO, "", "the disk failed");
	}
	if (old)
		*old = (struct fake_note){ 0 };
	if (move->to)
		snprintf(note->path, sizeof(note->path), "%s", move->to);
	else
		*note = (struct fake_note){ 0 };
	return 0;
}

static int staged(const void *self, notes_each *each, void *with, struct fault *f)
{
	struct fake_notes *fake = fake_of(self);

	for (int i = 0; i < FAKE_NOTES; i++) {
		char path[FAKE_PATH];
		const struct note_entry entry = { .path = path };

		snprintf(path, sizeof(path), "%s", fake->files[i].path);
		if (strncmp(path, STAGE, strlen(STAGE)) == 0)
			each(with, &entry, f);
	}
	return 0;
}

static int drop(const void *self, const char *path, struct fault *f)
{
	struct fake_note *note = find(self, path);

	(void)f;
	if (note)
		*note = (struct fake_note){ 0 };
	return 0;
}

static int forget(const void *self, const char *name, struct fault *f)
{
	struct fake_notes *fake = fake_of(self);
	char folder[FAKE_PATH];
	size_t n;

	(void)f;
	n = (size_t)snprintf(folder, sizeof(folder), NOTES_TRASH "/%s/", name);
	for (int i = 0; i < FAKE_NOTES; i++)
		if (strncmp(fake->files[i].path, folder, n) == 0)
			fake->files[i] = (struct fake_note){ 0 };
	return 0;
}

static int64_t clock_ms(void)
{
	return 0;
}

void notes_point(struct fake_notes *fake)
{
	fake->notes = (struct notes){
		.self = fake,
		.lock = lock,
		.lock_teams = lock_teams,
		.unlock = unlock,
		.look = look,
		.read = read_note,
		.stage = stage,
		.make = make,
		.made = made,
		.staged = staged,
		.lock_staged = lock_staged,
		.drop = drop,
		.forget = forget,
		.walk = walk,
		.yaml = yaml_read,
		.clock_ms = clock_ms,
	};
}
