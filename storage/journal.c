#include "storage/journal.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/store_inside.h"

enum {
	HEADER = 28,
	SECTOR_SIZE = 20, /* offset of the header's size */
	PAGE_SIZE = 24, /* offset of the page size */
	RECORD_PAGE = 4, /* offset of the page in a record, behind its number */
	RECORD_SUM = 4, /* bytes of the checksum behind the page */
	ONE_PAGE = 4096,
};

/* Whether page 1 is among the records, with the mark.  Page 1 comes first where the file
 * grew or its schema changed, else last: a transaction that was killed before its COMMIT
 * may have none. */
static bool has_mark(int fd, const unsigned char header[HEADER], uint32_t mark)
{
	const off_t step =
		RECORD_PAGE + (off_t)number_at(header + PAGE_SIZE) + RECORD_SUM;
	unsigned char record[RECORD_PAGE + HEADER_MARK + 4];
	const ssize_t size = sizeof(record);

	for (off_t at = number_at(header + SECTOR_SIZE);
	     step > size && pread(fd, record, sizeof(record), at) == size &&
	     number_at(record);
	     at += step)
		if (number_at(record) == 1)
			return mark &&
			       number_at(record + RECORD_PAGE + HEADER_MARK) == mark;
	return false;
}

/* Whether the journal belongs to another file.  SQLite ignores one that begins with a
 * zero. */
static bool is_strange(int fd, uint32_t mark)
{
	unsigned char header[HEADER] = { 0 };

	return pread(fd, header, sizeof(header), 0) > 0 && header[0] &&
	       !has_mark(fd, header, mark);
}

bool journal_is_of_other(const char *path, uint32_t mark)
{
	char journal[4096];
	struct stat st;
	bool strange;
	int fd;

	if (snprintf(journal, sizeof(journal), "%s-journal", path) >=
		    (int)sizeof(journal) ||
	    stat(path, &st) || st.st_size <= ONE_PAGE)
		return false;
	fd = open(journal, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	strange = is_strange(fd, mark);
	close(fd);
	return strange;
}
