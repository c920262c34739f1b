-- Tasks that were called off while others wait for them need somebody, as those that failed do.
UPDATE task SET awaited = -1 WHERE state = {task_state.cancelled} AND awaited = 1
	AND team IN (SELECT id FROM team WHERE destroyed_at IS NOT NULL);
CREATE INDEX task_called_off ON task(team, coalesce(ended_at, updated_at) DESC, number)
	WHERE state = {task_state.cancelled} AND awaited = 1;

-- A pending task that waits, itself or through others, for one that failed or was called off.
ALTER TABLE task ADD COLUMN stuck INTEGER NOT NULL DEFAULT 0;
UPDATE task SET stuck = 1 WHERE state = {task_state.pending} AND id IN (
	WITH RECURSIVE held(id) AS (
		SELECT d.task FROM task k JOIN task_dep d ON d.dep = k.id
		WHERE k.state IN {task_state.failed cancelled}
		UNION SELECT d.task FROM held h JOIN task_dep d ON d.dep = h.id)
	SELECT id FROM held);
CREATE INDEX task_stuck ON task(team, number) WHERE stuck = 1;
DROP VIEW board_line;
CREATE VIEW board_line AS
SELECT k.id, k.team, k.number, k.title, k.priority, k.state, k.after_lapse, k.epoch, k.updated_at,
	k.open_deps, k.stuck, k.lease_until, k.ended_at, o.name AS holder_name, s.name AS assignee_name
FROM task k LEFT JOIN agent o ON o.id = coalesce(k.owner, k.ended_by)
LEFT JOIN agent s ON s.id = k.assignee;
