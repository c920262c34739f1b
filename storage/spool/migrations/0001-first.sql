-- The spool: all that a guest must not forget.  See ../spool.h.

-- The workspace that the spool belongs to: one row.
CREATE TABLE spool (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	workspace TEXT NOT NULL
) STRICT;

-- Messages that came before.
CREATE TABLE had (
	message_id TEXT PRIMARY KEY,
	at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE assignment (
	seq INTEGER PRIMARY KEY AUTOINCREMENT,
	message_id TEXT NOT NULL UNIQUE,
	content TEXT NOT NULL,
	task_id TEXT NOT NULL DEFAULT '',
	started_at INTEGER -- NULL: it waits
) STRICT;
CREATE INDEX assignment_waiting ON assignment(seq) WHERE started_at IS NULL;

CREATE TABLE result (
	seq INTEGER PRIMARY KEY AUTOINCREMENT,
	message_id TEXT NOT NULL UNIQUE,
	task_id TEXT NOT NULL,
	success INTEGER NOT NULL,
	exit_code INTEGER NOT NULL,
	interrupted INTEGER NOT NULL,
	elapsed_secs INTEGER NOT NULL,
	out TEXT NOT NULL,
	err TEXT NOT NULL
) STRICT;

-- Variables that all commands get.
CREATE TABLE env (
	name TEXT PRIMARY KEY,
	value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
