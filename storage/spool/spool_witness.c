#include "storage/spool/spool_witness.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/durable.h"

enum { LINE = 96 }; /* of a file, less than a block: it is written whole or not */

static int spool_witness_open_file(const char *dir, int flags)
{
	char path[4200];

	if (snprintf(path, sizeof(path), "%s.seq", dir) >= (int)sizeof(path))
		return -1;
	return open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
}

bool spool_witness_read(const char *dir, struct spool_witness *w)
{
	char line[LINE + 1] = "";
	struct stat st;
	int fd = spool_witness_open_file(dir, O_RDONLY);
	bool whole;

	if (fd < 0)
		return false;
	whole = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		pread(fd, line, LINE, 0) == LINE;
	close(fd);
	return whole && sscanf(line, "%63s %" SCNd64, w->identity, &w->seq) == 2;
}

void spool_witness_write(const char *dir, const char *identity, int64_t seq)
{
	char line[LINE + 1], path[4200];
	struct stat st;
	int fd = spool_witness_open_file(dir, O_WRONLY | O_CREAT);

	if (fd < 0)
		return;
	snprintf(line, sizeof(line), "%-64s %-30" PRId64 "\n", identity, seq);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    pwrite(fd, line, LINE, 0) == LINE && fdatasync(fd) == 0 && !st.st_size) {
		snprintf(path, sizeof(path), "%s.seq", dir);
		dir_sync_above(path);
	}
	close(fd);
}
