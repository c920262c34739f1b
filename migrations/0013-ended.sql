-- Who ended a task, and when, as columns: its owner is gone by then, and notes move its
-- updated_at.
ALTER TABLE task ADD COLUMN ended_by INTEGER; -- agent that ended it, or held it last
ALTER TABLE task ADD COLUMN ended_at INTEGER; -- completed, failed or cancelled

-- For those that are over the log knows, as far as it goes back.
UPDATE task SET ended_at = coalesce((SELECT max(e.at) FROM event e WHERE e.subject = task.id
		AND e.kind BETWEEN {events.task}
		AND e.kind IN ({event.task_completed}, {event.task_failed}, {event.task_cancelled})),
		updated_at),
	ended_by = (SELECT CASE WHEN e.actor > 0 THEN e.actor ELSE nullif(e.target, 0) END
		FROM event e WHERE e.seq = (SELECT max(l.seq) FROM event l
			WHERE l.subject = task.id AND l.kind BETWEEN {events.task}
			AND l.kind IN ({event.task_completed}, {event.task_failed}, {event.task_cancelled})))
WHERE state IN {task_state.completed failed cancelled};

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
	CASE WHEN k.lease_until > (SELECT ms FROM v_now)
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

-- An agent that holds a task is at work, also where nobody said so.
DROP VIEW v_agent;
CREATE VIEW v_agent AS
SELECT t.name AS team, a.name AS agent, a.role,
	(SELECT word FROM word WHERE list = 'agent_status' AND n = CASE
		WHEN a.status IN {agent_status.ready idle} AND EXISTS (SELECT 1 FROM task k
			WHERE k.owner = a.id AND (k.lease_until IS NULL
				OR k.lease_until > (SELECT ms FROM v_now)))
		THEN {agent_status.working} ELSE a.status END) AS status,
	(SELECT printf('%03d', k.number) FROM task k WHERE k.owner = a.id
		AND (k.lease_until IS NULL OR k.lease_until > (SELECT ms FROM v_now))
		ORDER BY k.updated_at DESC LIMIT 1) AS task,
	i.queued + coalesce((SELECT sum((u.until > (SELECT ms FROM v_now)) - u.waits)
		FROM inbox_due u WHERE +u.agent = a.id
		AND u.due_at <= (SELECT ms FROM v_now)), 0) AS queued,
	i.leased - (SELECT count(*) FROM inbox_due u WHERE +u.agent = a.id AND u.held
		AND u.due_at <= (SELECT ms FROM v_now)) AS leased,
	i.assignments, a.generation,
	(SELECT group_concat(skill, ' ') FROM agent_skill WHERE agent = a.id) AS skills,
	w.name AS workspace, a.project, a.description,
	strftime('%Y-%m-%dT%H:%M:%fZ', a.active_at / 1000.0, 'unixepoch') AS last_active,
	a.gone
FROM agent a JOIN team t ON t.id = a.team JOIN agent_inbox i ON i.agent = a.id
LEFT JOIN workspace w ON w.id = a.workspace;
