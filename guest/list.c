#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/guest_serve.h"

enum { ENTRY_ROOM = 160 /* an entry in JSON beside its name */ };

static const char *list_kind_of(mode_t mode)
{
	if (S_ISDIR(mode))
		return "dir";
	return S_ISLNK(mode) ? "symlink" : "file";
}

static const char *permissions_of(mode_t mode, struct arena *a)
{
	char *s = arena_strdup(a, "rwxrwxrwx");

	for (int i = 0; i < 9; i++)
		if (!(mode & (0400u >> i)))
			s[i] = '-';
	return s;
}

static int list_by_name(const void *a, const void *b)
{
	return strcmp(((const struct dir_entry *)a)->name,
		      ((const struct dir_entry *)b)->name);
}

static void read_entries(DIR *dir, const char *after, struct arena *a,
			 struct wire_dir_listing *out)
{
	struct dirent *e;
	struct stat st;

	while ((e = readdir(dir))) {
		struct dir_entry *to;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		    (after && strcmp(e->d_name, after) <= 0) ||
		    fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		to = arena_push(a, &out->entries, &out->n_entries, sizeof(*to));
		*to = (struct dir_entry){
			.name = arena_strdup(a, e->d_name),
			.kind = list_kind_of(st.st_mode),
			.size = st.st_size,
			.permissions = permissions_of(st.st_mode, a),
			.modified = st.st_mtime,
			.has_modified = true,
		};
	}
}

/* Cuts a listing to as many whole entries as fit a frame. */
static void list_fit(struct wire_dir_listing *out)
{
	size_t room = FRAME_ROOM, n = 0;

	for (; n < out->n_entries; n++) {
		const char *name = out->entries[n].name;
		size_t len = strlen(name);

		if (room < ENTRY_ROOM || text_json_fit(name, len, &room) < len)
			break;
		room -= room < ENTRY_ROOM ? room : ENTRY_ROOM;
	}
	out->more = out->has_more = n < out->n_entries;
	out->n_entries = n;
}

int answer_list(struct guest_request *q, struct fault *f)
{
	const struct wire_list_dir *in = q->body;
	struct wire_dir_listing out = { 0 };
	const char *clean;
	DIR *dir;
	int fd;

	if (guest_path(q->guest, in->path, "/path", &q->arena, &clean, f))
		return f->code;
	fd = guest_path_open(q->guest->root, clean, O_RDONLY | O_DIRECTORY, "/path", f);
	if (fd < 0)
		return fd;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return guest_path_fault(errno, "/path", clean, f);
	}
	read_entries(dir, in->after, &q->arena, &out);
	closedir(dir);
	if (out.n_entries)
		qsort(out.entries, out.n_entries, sizeof(*out.entries), list_by_name);
	list_fit(&out);
	guest_request_answer(q, "DirListing", &out);
	return 0;
}
