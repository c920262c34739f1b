# kill_at - kills a host while the host makes or ends a team.
#
# Stories that have a state in CADRE_HOME source this file.

# kill_at TEAM N WORD: kills the host as soon as N of the team's workspaces are WORD (`ready` or
# `destroyed`), or after 300 seconds. A destroyed workspace counts only if its guest has ended.
# Prints the number of the team's workspaces that are WORD.
kill_at() {
	/usr/bin/python3 - "$CADRE_HOME" "$@" <<'PY'
import os, signal, sqlite3, sys, time
home, team, most, word = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
pid = int(open(home + "/host.lock").read().split()[0])
db = sqlite3.connect("file:%s/state.db?mode=ro" % home, uri=True)
newest = "(SELECT max(id) FROM team WHERE name = ?)"
there = """SELECT (SELECT count(*) FROM workspace w WHERE w.team = t.id
	AND (SELECT word FROM word WHERE list = 'workspace_state' AND n = w.state) = ?
		AND (t.destroyed_at IS NULL OR w.pid IS NULL))
	FROM team t WHERE t.id = %s AND (? = 'ready' OR t.destroyed_at IS NOT NULL)""" % newest
until, n = time.time() + 300, None
while time.time() < until and (n is None or n < most):
    row = db.execute(there, (word, team, word)).fetchone()
    n = row[0] if row else None
os.kill(pid, signal.SIGKILL)
print(n)
PY
}
