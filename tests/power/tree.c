#include "tests/power/tree.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { FOLDERS = 6, CONTENT = 9000 };

static size_t content_of(char out[CONTENT], int version, int i)
{
	size_t len = 0, want = 100 + (size_t)(i * 37 % 8000);

	while (len < want)
		len += (size_t)snprintf(out + len, CONTENT - len,
					"version %d of file %d\n", version, i);
	return len;
}

static void path_of(char out[300], const char *path, int i)
{
	snprintf(out, 300, "%s/d%d/f%d", path, i % FOLDERS, i);
}

int tree_write(const char *path, int version)
{
	char name[300], content[CONTENT];

	mkdir(path, 0700);
	for (int i = 0; i < FOLDERS; i++) {
		snprintf(name, sizeof(name), "%s/d%d", path, i);
		mkdir(name, 0700);
	}
	for (int i = 0; i < TREE_FILES; i++) {
		size_t len = content_of(content, version, i), n;
		FILE *out;

		path_of(name, path, i);
		out = fopen(name, "we");
		n = out ? fwrite(content, 1, len, out) : 0;
		if (!out || fclose(out) || n != len)
			return -1;
	}
	return 0;
}

static void look_at_file(const char *path, int i, struct tree_look *out)
{
	char name[300], content[CONTENT], there[CONTENT];
	bool known = false;
	size_t n;
	FILE *in;

	path_of(name, path, i);
	in = fopen(name, "re");
	n = in ? fread(there, 1, sizeof(there), in) : 0;
	for (int version = 0; version < 2; version++) {
		bool same = in && n == content_of(content, version, i) &&
			    memcmp(there, content, n) == 0;

		known |= same;
		if (!same)
			out->holds &= ~(1u << version);
	}
	out->there += in != NULL;
	out->empty += in && n == 0;
	out->strange += in && n && !known;
	if (in)
		fclose(in);
}

static int count(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	int n = 0;

	while (dir && (e = readdir(dir)))
		n += e->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return n;
}

void tree_look(const char *path, struct tree_look *out)
{
	char name[300];
	int n = count(path) - FOLDERS;

	*out = (struct tree_look){ .holds = 3 };
	for (int i = 0; i < TREE_FILES; i++)
		look_at_file(path, i, out);
	for (int i = 0; i < FOLDERS; i++) {
		snprintf(name, sizeof(name), "%s/d%d", path, i);
		n += count(name);
	}
	if (n != TREE_FILES)
		out->holds = 0;
}
