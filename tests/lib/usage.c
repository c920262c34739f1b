#include "tests/lib/usage.h"

#include <dirent.h>
#include <stdio.h>

long memory_of(pid_t pid)
{
	char path[40], line[200];
	long kib = -1;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	in = fopen(path, "re");
	while (in && fgets(line, sizeof(line), in))
		if (sscanf(line, "RssAnon: %ld", &kib) == 1)
			break;
	if (in)
		fclose(in);
	return kib;
}

long descriptors_of(pid_t pid)
{
	char path[40];
	long n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}
