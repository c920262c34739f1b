#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/cadre/image/image.h"

static void archive_fail(struct archive *ar, const char *name)
{
	fault_set(ar->fault, FAULT_IO, "", "%.120s: %s", name, strerror(errno));
}

int archive_open(struct archive *ar, const char *path, struct fault *f)
{
	*ar = (struct archive){ .file = fopen(path, "we"), .fault = f };
	if (!ar->file)
		archive_fail(ar, path);
	return f->code;
}

static void pad(struct archive *ar)
{
	while (ar->file && ftell(ar->file) % 4)
		fputc(0, ar->file);
}

/* Thirteen numbers of eight hexadecimal digits behind the magic, then the
 * name, to a multiple of four. */
static void head(struct archive *ar, const char *name, unsigned mode, size_t size,
		 unsigned major, unsigned minor)
{
	if (!ar->file)
		return;
	fprintf(ar->file, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		++ar->entries, mode, 0u, 0u, 1u, 0u, (unsigned)size, 0u, 0u, major, minor,
		(unsigned)strlen(name) + 1, 0u);
	fwrite(name, 1, strlen(name) + 1, ar->file);
	pad(ar);
}

void archive_folder(struct archive *ar, const char *name)
{
	head(ar, name, S_IFDIR | 0755, 0, 0, 0);
}

void archive_device(struct archive *ar, const char *name, unsigned mode, unsigned major,
		    unsigned minor)
{
	head(ar, name, S_IFCHR | mode, 0, major, minor);
}

void archive_file(struct archive *ar, const char *name, unsigned mode, const char *from)
{
	FILE *in = ar->file ? fopen(from, "re") : NULL;
	char buf[65536];
	struct stat st;
	size_t n;

	if (!ar->file)
		return;
	if (!in || fstat(fileno(in), &st)) {
		archive_fail(ar, from);
	} else {
		head(ar, name, S_IFREG | mode, (size_t)st.st_size, 0, 0);
		while ((n = fread(buf, 1, sizeof(buf), in)) > 0)
			fwrite(buf, 1, n, ar->file);
		pad(ar);
	}
	if (in)
		fclose(in);
}

int archive_close(struct archive *ar)
{
	head(ar, "TRAILER!!!", 0, 0, 0, 0);
	if (ar->file && (fflush(ar->file) || ferror(ar->file)))
		archive_fail(ar, "initrd");
	if (ar->file)
		fclose(ar->file);
	ar->file = NULL;
	return ar->fault->code;
}
