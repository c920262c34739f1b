-- Teams that are stopped, and workspaces whose commands stand still.
ALTER TABLE team ADD COLUMN stopped_at INTEGER; -- NULL: it is not
ALTER TABLE team ADD COLUMN stopped_by INTEGER; -- the agent who did it; NULL: the operator
ALTER TABLE workspace ADD COLUMN halted INTEGER NOT NULL DEFAULT 0; -- as its guest said last

-- A lease that stands still has no end to tell.
DROP VIEW v_board;
CREATE VIEW v_board AS
SELECT t.name AS team, printf('%03d', k.number) AS id,
	(SELECT word FROM word WHERE list = 'task_state' AND n = CASE
		WHEN k.lease_until <= (SELECT ms FROM v_now) THEN k.after_lapse
		ELSE k.state END) AS status,
	k.priority,
	CASE WHEN k.lease_until > (SELECT ms FROM v_now) OR k.state = {task_state.blocked}
		THEN o.name END AS owner,
	k.epoch, s.name AS assignee, k.title,
	(SELECT group_concat(printf('%03d', x.number), ' ') FROM task_dep d
		JOIN task x ON x.id = d.dep WHERE d.task = k.id) AS depends_on,
	(SELECT group_concat(printf('%03d', x.number), ' ') FROM task_dep d
		JOIN task x ON x.id = d.dep WHERE d.task = k.id AND x.state <> {task_state.completed})
		AS blocked_by,
	(SELECT group_concat(tag, ' ') FROM task_tag WHERE task = k.id) AS tags,
	k.attempts, c.name AS created_by, k.description, k.result,
	CASE WHEN k.lease_until > (SELECT ms FROM v_now) AND t.stopped_at IS NULL
		THEN strftime('%Y-%m-%dT%H:%M:%fZ', k.lease_until / 1000.0, 'unixepoch') END
		AS lease_until,
	strftime('%Y-%m-%dT%H:%M:%fZ', k.created_at / 1000.0, 'unixepoch') AS created_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', k.updated_at / 1000.0, 'unixepoch') AS updated_at,
	CASE WHEN k.ended_at IS NOT NULL OR (k.lease_until <= (SELECT ms FROM v_now)
		AND k.after_lapse = {task_state.failed}) THEN o.name END AS ended_by,
	strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(k.ended_at, CASE WHEN
		k.lease_until <= (SELECT ms FROM v_now) AND k.after_lapse = {task_state.failed}
		THEN k.lease_until END) / 1000.0, 'unixepoch') AS ended_at
FROM task k JOIN team t ON t.id = k.team JOIN agent c ON c.id = k.created_by
LEFT JOIN agent o ON o.id = coalesce(k.owner, k.ended_by) LEFT JOIN agent s ON s.id = k.assignee
ORDER BY t.name, k.number;

DROP VIEW v_team;
CREATE VIEW v_team AS
SELECT t.name AS team,
	CASE
	WHEN t.destroyed_at IS NOT NULL THEN 'destroyed'
	WHEN EXISTS (SELECT 1 FROM workspace w
		WHERE w.team = t.id AND w.state IN {workspace_state.creating failed}
			AND w.was_up = 0) THEN 'creating'
	WHEN EXISTS (SELECT 1 FROM task k WHERE k.team = t.id AND k.state IN {task_state.claimed in_progress}
		AND k.lease_until > (SELECT ms FROM v_now)) THEN 'working'
	WHEN EXISTS (SELECT 1 FROM task k WHERE k.team = t.id AND k.state = {task_state.blocked})
		THEN 'working'
	WHEN EXISTS (SELECT 1 FROM assignment x
		WHERE x.team = t.id AND x.state IN {assignment_state.open} AND x.state = {assignment_state.running}) THEN 'working'
	WHEN NOT EXISTS (SELECT 1 FROM task k WHERE k.team = t.id
		AND k.state BETWEEN {task_state.open})
		AND EXISTS (SELECT 1 FROM result r
		WHERE r.team = t.id AND r.collected_at IS NULL) THEN 'completing'
	ELSE 'ready' END AS state,
	(SELECT count(*) FROM agent a
		WHERE a.team = t.id AND a.gone = 0 AND a.kind = {agent_kind.member}) AS members,
	(SELECT count(*) FROM task k
		WHERE k.team = t.id AND k.state BETWEEN {task_state.open}) AS open_tasks,
	t.inbox_capacity, t.max_vms,
	(SELECT p.name FROM team p WHERE p.id = t.parent) AS parent,
	strftime('%Y-%m-%dT%H:%M:%fZ', t.created_at / 1000.0, 'unixepoch') AS created_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', t.destroyed_at / 1000.0, 'unixepoch')
		AS destroyed_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', t.stopped_at / 1000.0, 'unixepoch')
		AS stopped_at,
	printf('%08x-%04x-7%03x-%04x-%012x', t.created_at >> 16, t.created_at & 65535,
		s.id_a, 32768 | (2 << 10) | s.id_b,
		(((t.id + t.created_at * 2442737) & 281474976710655) | s.id_c)
		- (((t.id + t.created_at * 2442737) & 281474976710655) & s.id_c)) AS id
FROM team t JOIN state s ON s.one = 1;
