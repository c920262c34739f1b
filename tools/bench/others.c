#include "tools/bench/others.h"

#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double others_seconds_of(int who)
{
	struct rusage u;

	if (getrusage(who, &u))
		return 0;
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

void others_init(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void others_now(struct others *o)
{
	/* user, nice, system, idle, iowait, irq, softirq, steal */
	double ticks[8] = { 0 }, rate = (double)sysconf(_SC_CLK_TCK);
	FILE *f = fopen("/proc/stat", "re");

	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	*o = (struct others){ .ours = others_seconds_of(RUSAGE_SELF) +
				      others_seconds_of(RUSAGE_CHILDREN) };
	if (!f)
		return;
	if (fscanf(f, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &ticks[0], &ticks[1],
		   &ticks[2], &ticks[3], &ticks[4], &ticks[5], &ticks[6], &ticks[7]) == 8)
		for (int i = 0; i < 8; i++) {
			o->all += ticks[i] / rate;
			o->busy += i == 3 || i == 4 ? 0 : ticks[i] / rate;
		}
	fclose(f);
}

double others_since(const struct others *from)
{
	struct others now;
	double theirs;

	others_now(&now);
	theirs = (now.busy - from->busy) - (now.ours - from->ours);
	return theirs > 0 && now.all > from->all ? theirs / (now.all - from->all) : 0;
}
