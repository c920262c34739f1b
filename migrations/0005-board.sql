-- What lists of a board ask for, without reading the whole of it: how many of its tasks
-- are over or wait for others, and their order.

CREATE TABLE board (
	team INTEGER PRIMARY KEY REFERENCES team(id),
	waiting INTEGER NOT NULL DEFAULT 0 CHECK (waiting >= 0), -- pending, behind others
	completed INTEGER NOT NULL DEFAULT 0 CHECK (completed >= 0),
	failed INTEGER NOT NULL DEFAULT 0 CHECK (failed >= 0),
	cancelled INTEGER NOT NULL DEFAULT 0 CHECK (cancelled >= 0)
) STRICT;

INSERT INTO board (team, waiting, completed, failed, cancelled)
SELECT t.id, count(k.id) FILTER (WHERE k.state = {task_state.pending} AND k.open_deps > 0),
	count(k.id) FILTER (WHERE k.state = {task_state.completed}), count(k.id) FILTER (WHERE k.state = {task_state.failed}),
	count(k.id) FILTER (WHERE k.state = {task_state.cancelled})
FROM team t LEFT JOIN task k ON k.team = t.id GROUP BY t.id;

CREATE INDEX task_order ON task(team, priority, number);
CREATE INDEX task_tag_of ON task_tag(tag, task);
