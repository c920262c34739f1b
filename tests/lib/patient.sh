# patient - hooks of clients that have the time that they need; a story sources it behind story.sh.
#
# A hook ends after a second, whatever it waits for; a busy machine needs as much for what takes
# an idle one some milliseconds.  In stories that test no time of a hook that second is a minute.
. "$(dirname "$0")/../lib/preload.sh"
preload patient <<-'END'
	#include <sys/syscall.h>
	#include <time.h>
	#include <unistd.h>
	int nanosleep(const struct timespec *want, struct timespec *left)
	{
		struct timespec t = *want;

		if (t.tv_sec == 1 && t.tv_nsec == 0)
			t.tv_sec = 60;
		return (int)syscall(SYS_nanosleep, &t, left);
	}
END
# hook WORD...: `cadre hook` that may take a minute.
hook() { with patient "$CADRE" hook "$@"; }
# lapse: the leases of messages that were received have ended.
lapse() {
	sqlite3 -cmd '.timeout 60000' "$CADRE_HOME/state.db" \
		'UPDATE delivery SET due_at = due_at - 1000000 WHERE due_at IS NOT NULL' || bad "lapse"
}
