#include "tests/lib/locks.h"

#include <stdio.h>
#include <sys/stat.h>

bool locks_waited_for(int fd)
{
	FILE *in = fopen("/proc/locks", "r");
	unsigned long inode;
	char line[200];
	bool found = false;
	struct stat st;

	if (fstat(fd, &st) < 0)
		st.st_ino = 0;
	/* Each line with an arrow (->) shows a process that waits for a lock. */
	while (in && fgets(line, sizeof(line), in))
		found |= sscanf(line, "%*d: -> %*s %*s %*s %*s %*[^:]:%*[^:]:%lu",
				&inode) == 1 &&
			 inode == st.st_ino;
	if (in)
		fclose(in);
	return found;
}
