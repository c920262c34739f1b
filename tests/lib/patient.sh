# patient - gives `cadre hook` a minute instead of a second. A story sources this file after
# story.sh.
#
# A hook ends after a second, even if it still waits for an answer. A busy machine may need a
# second for work that takes an idle machine some milliseconds. Therefore stories give a hook a
# minute, unless they test the hook's time limit.
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
# hook WORD...: runs `cadre hook`, which may take a minute.
hook() { with patient "$CADRE" hook "$@"; }
# lapse: ends the leases of all received messages.
lapse() {
	sqlite3 -cmd '.timeout 60000' "$CADRE_HOME/state.db" \
		'UPDATE delivery SET due_at = due_at - 1000000 WHERE due_at IS NOT NULL' || bad "lapse"
}
